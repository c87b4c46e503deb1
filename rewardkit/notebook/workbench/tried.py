"""Probes and Findings: run in the background, shown as in the report, each example opened in Browse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.notebook.display import Show
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.parts import Panel, button, classed
from rewardkit.notebook.workbench.running import Progress, Running
from rewardkit.probes.findings import ProbeFinding
from rewardkit.probes.probing import BUDGET, TIMEOUT, ProbeResult, probe
from rewardkit.probes.shown import one_line

__all__ = ["Findings", "Probes"]

LINE = 90  # characters of an example in the list


class _Examples:
    """A list of examples with a button that opens the chosen one in Browse."""

    def __init__(self, bench: Bench, mark: str) -> None:
        self.bench = bench
        self.list = classed(
            widgets.Select(rows=6, description="", layout={"width": "60em", "max_width": "100%"}),
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
        self.widget.layout.display = "" if numbered else "none"

    def _open(self) -> None:
        if self.list.value is not None:
            self.bench.open(self.list.value)


class Probes(Panel):
    """What bad answers would earn of the reward as it stands."""

    title = "Probes"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.result: ProbeResult | None = None
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
        self.running = Running("Run the probes", "probes", self._probe, self._show, partial=True)
        self.page = classed(widgets.HTML(), "rewardkit-probed")
        self.examples = _Examples(bench, "probes")
        parts = [self.budget, self.running.widget, self.examples.widget, self.page]
        self.widget = classed(widgets.VBox(parts), "rewardkit-probes")

    def _probe(self, progress: Progress) -> ProbeResult:
        bench = self.bench
        return probe(
            bench.reward,
            bench.scored.rollouts,
            label=bench.label,
            timeout=bench.timeout or TIMEOUT,
            budget=self.budget.value,
            seed=bench.seed,
            progress=progress,
        )

    def _show(self, result: ProbeResult) -> None:
        self.result = result
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


def _opened(finding: ProbeFinding, example: Any) -> Opened:
    got = example.said or f"it earned {example.reward:.4g}"
    about = f"{finding.code}: tried on rollout {example.rollout_id}, {got}. {finding.sentence}"
    return Opened(None, example.columns, about, example.case(f"{finding.code}: found by a probe"))


class Findings(Panel):
    """What the rewards as they stand would do to training."""

    title = "Findings"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.result: Diagnosis | None = None
        self.running = Running("Diagnose", "findings", self._diagnose, self._show)
        self.page = classed(widgets.HTML(), "rewardkit-found")
        self.examples = _Examples(bench, "findings")
        self.widget = classed(
            widgets.VBox([self.running.widget, self.examples.widget, self.page]), "rewardkit-findings"
        )

    def _diagnose(self, progress: Progress) -> Diagnosis:
        bench = self.bench
        return diagnose(bench.scores, training=bench.variant.training, label=bench.label, seed=bench.seed)

    def _show(self, result: Diagnosis) -> None:
        self.result = result
        self.page.value = result._repr_html_()
        found = [
            (f"{item.severity} {item.code}: rollout {identity}", Opened(row))
            for item in result.findings
            for identity in item.rollout_ids
            if (row := self.bench.row_of(identity)) is not None
        ]
        self.examples.put(found)
