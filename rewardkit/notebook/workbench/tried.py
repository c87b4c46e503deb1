"""Probes and Findings: run in the background, shown as in the report, each example opened in Browse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.findings import Finding
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.display import Show
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.parts import Message, Panel, button, classed
from rewardkit.notebook.workbench.running import Running, Work
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.probes.probe import BUDGET, TIMEOUT, ProbeResult, probe

__all__ = ["Findings", "Probes"]

LINE = 90  # characters of an example in the list


class _Examples:
    """A list of examples with a button that opens the chosen one in Browse."""

    def __init__(self, bench: Bench, mark: str) -> None:
        self.bench = bench
        self.list = classed(
            widgets.Select(rows=6, description="", layout={"width": "auto", "max_width": "60em"}),
            f"rewardkit-examples-{mark}",
        )
        self.list.tooltip = "completions to read"
        self.open = button(
            "Open in Browse", f"rewardkit-open-{mark}", self._open, "read it with its siblings"
        )
        label = widgets.HTML("<p><b>Completions to read</b></p>")
        self.widget = widgets.VBox([label, self.list, self.open], layout={"display": "none"})

    def put(self, options: Sequence[tuple[str, Opened]]) -> None:
        """Show these, each with its line."""
        numbered = [(f"{place}. {line}", opened) for place, (line, opened) in enumerate(options, 1)]
        self.list.options = numbered
        self.list.index = 0 if numbered else None
        self.widget.layout.display = "" if numbered else "none"

    def _open(self) -> None:
        if self.list.value is not None:
            self.bench.open(self.list.value)


class _Tried(Panel):
    """A piece of work on the reward as it stands at the click, and what it found."""

    def __init__(self, bench: Bench, label: str, mark: str) -> None:
        self.bench = bench
        self.result: Any = None
        self._begun: tuple[Variant, int] | None = None
        self._of: tuple[Variant, int] | None = None
        self.running = Running(label, mark, self._prepare, self._finished)
        self.moved = Message()
        self.page = classed(widgets.HTML(), f"rewardkit-page-{mark}")
        self.examples = _Examples(bench, mark)
        bench.observe(lambda change: self._compare(), ["variant", "revised"])

    def _laid_out(self, *above: Any) -> Any:
        parts = [*above, self.running.widget, self.moved.widget, self.examples.widget, self.page]
        return widgets.VBox(parts)

    def _prepare(self) -> Work:
        """The work on the variant and the scores of now."""
        self._begun = self._now
        return self._work()

    @property
    def _now(self) -> tuple[Variant, int]:
        return self.bench.variant, self.bench.revised

    def _work(self) -> Work:
        raise NotImplementedError

    def _finished(self, result: Any) -> None:
        self._of, self.result = self._begun, result
        self._show(result)
        self._compare()

    def _show(self, result: Any) -> None:
        raise NotImplementedError

    def _compare(self) -> None:
        """Say whether what is shown is of other settings than those of now."""
        if self._of is None or self._of == self._now:
            self.moved.clear()
        else:
            self.moved.tell("The settings have moved since: this is of those before. Run it again for these.")


class Probes(_Tried):
    """What bad answers would earn of the reward as it stands."""

    title = "Probes"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "Run the probes", "probes")
        self.budget = classed(
            widgets.BoundedFloatText(
                value=BUDGET,
                min=1.0,
                max=3600.0,
                description="seconds at most",
                style={"description_width": "auto"},
                layout={"width": "13em"},
            ),
            "rewardkit-budget",
        )
        self.widget = classed(self._laid_out(self.budget), "rewardkit-probes")

    def _work(self) -> Work:
        bench = self.bench
        reward, budget = bench.reward, self.budget.value
        return lambda progress: probe(
            reward,
            bench.scored.rollouts,
            label=bench.label,
            timeout=bench.timeout or TIMEOUT,
            budget=budget,
            seed=bench.seed,
            progress=progress,
        )

    def _show(self, result: ProbeResult) -> None:
        show = Show()
        self.page.value = show.contract(result).data + show.probes(result).data
        self.examples.put(
            [
                (
                    f"{item.severity} {item.code}: {one_line(example.completion)[:LINE]}",
                    _opened(item, example),
                )
                for item in result.findings
                for example in item.examples
            ]
        )


def _opened(finding: Finding, example: Any) -> Opened:
    got = example.said or f"it earned {example.reward:.4g}"
    about = f"{finding.code}: tried on rollout {example.rollout_id}, {got}. {finding.sentence}"
    return Opened(None, example.columns, about, example.case(f"{finding.code}: found by a probe"))


class Findings(_Tried):
    """What the rewards as they stand would do to training."""

    title = "Findings"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "Diagnose", "findings")
        self.widget = classed(self._laid_out(), "rewardkit-findings")

    def _work(self) -> Work:
        bench = self.bench
        scores, training = bench.scores, bench.variant.training
        return lambda progress: diagnose(
            scores, training=training, label=bench.label, seed=bench.seed, progress=progress
        )

    def _show(self, result: Diagnosis) -> None:
        self.page.value = result._repr_html_()
        found = [
            (f"{item.severity} {item.code}: rollout {identity}", Opened(row))
            for item in result.findings
            for identity in item.rollout_ids
            if (row := self.bench.row_of(identity)) is not None
        ]
        self.examples.put(found)
