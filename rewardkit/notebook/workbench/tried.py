"""Probes and Findings: run in the background, shown as cards, each with what can be done about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ipywidgets as widgets

from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.rescore import moved_by
from rewardkit.analysis.suggest import suggest
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.errors import Cancelled, InputError
from rewardkit.findings import NAMED, Example, Finding, most, percent
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.parts import Message, Panel, classed, control, made
from rewardkit.notebook.workbench.reading import plain
from rewardkit.notebook.workbench.running import Running, Work
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.primitives.gates import gate
from rewardkit.probes.probe import BUDGET, TIMEOUT, ProbeResult, probe
from rewardkit.probes.results import rendering
from rewardkit.probes.results.sentences import fix_for
from rewardkit.probes.results.summary import in_short, kind_of_alarm
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.explain import field_spans

__all__ = ["Findings", "Probes"]

EXCERPT = 330  # characters of a completion on a card


class _Tried(Panel):
    """A piece of work on the reward as it stands at the click, and what it found."""

    def __init__(self, bench: Bench, label: str, mark: str) -> None:
        self.bench, self.mark = bench, mark
        self.result: Any = None
        self._begun: tuple[Variant, int] | None = None
        self._of: tuple[Variant, int] | None = None
        self.running = Running(label, mark, self._prepare, self._finished)
        self.moved, self.done = Message(), Message()
        self.page = classed(widgets.HTML(made("empty", mark)), f"rewardkit-page-{mark}")
        bench.observe(lambda change: self._compare(), ["variant", "revised"])

    def _laid_out(self) -> Any:
        messages = [self.moved.widget, self.done.widget]
        return classed(widgets.VBox([self.running.widget, *messages, self.page]), f"rewardkit-{self.mark}")

    def _prepare(self) -> Work:
        """The work on the variant and the scores of now."""
        self._begun = self.bench.now
        self.done.clear()
        return self._work()

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
        if self._of is None or self._of == self.bench.now:
            self.moved.clear()
        else:
            self.moved.tell("The settings have moved since: this is of those before. Run it again for these.")

    def _apply(self, change: Change, part: str, what: str) -> None:
        before = self.bench.figures.tied_share
        try:
            self.bench.apply(change, part)
        except InputError as error:
            self.done.warn(f"Not applied: {error}")
        else:
            moved = f"{percent(before)} -> {percent(self.bench.figures.tied_share)}"
            told = f"Applied: {what}. Groups without a signal: {moved}. Undo in Compose takes it back."
            self.done.tell(told)


@dataclass(frozen=True, eq=False)
class Hole:
    """A finding of the probes with the completion that shows it most plainly, and a change that closes it."""

    finding: Finding
    reward: Reward
    change: Change | None
    """What closes it in the reward as it stands, where that is known."""

    @cached_property
    def example(self) -> Example | None:
        """The shortest of its examples."""
        return min(self.finding.examples, key=lambda one: len(one.completion), default=None)

    @property
    def line(self) -> str:
        """What the change does; "" without one."""
        if self.change is None:
            return ""
        names = most([repr(name) for name in self.change.components], NAMED)
        return f"pay {names} only where {self.reward.primary!r} is right"

    @property
    def fix(self) -> str:
        """What to do about it, in words."""
        return fix_for(self.finding)

    @property
    def turns(self) -> str:
        """What comes before the completion, of a transcript."""
        return rendering.turns_of(self.example) if self.example else ""

    @property
    def text(self) -> Any:
        """The completion, what the reward read of it marked; no field is taken from what hangs."""
        one = self.example
        if one is None or not one.completion:
            return "(nothing)"
        spans = {} if self.finding.family == "hang" else field_spans(self.reward, one.columns)
        return plain(one.completion, spans, EXCERPT)

    @property
    def earned(self) -> list[tuple[str, str, float, str]]:
        """What it earned, beside a right and a wrong answer: name, number, length of a bar, kind."""
        one = self.example
        if one is None:
            return []
        best, least = (
            ("the best rollout", "the least") if one.of_rollouts else ("a right answer", "a wrong one")
        )
        found = [("this", one.reward, "high"), (best, one.right, "good"), (least, one.wrong, "info")]
        known = [0.0, *(value for _, value, _ in found if not math.isnan(value))]
        low, wide = min(known), (max(known) - min(known)) or 1.0
        return [
            (name, markup.number(value), 100 * (value - low) / wide, kind)
            for name, value, kind in found
            if not math.isnan(value)
        ]

    def opened(self) -> Opened:
        """It as Browse shows it."""
        one = self.example
        assert one is not None
        got = one.said or f"it earned {one.reward:.4g}"
        about = f"{self.finding.code}: tried on rollout {one.rollout_id}, {got}. {self.finding.sentence}"
        return Opened(None, one.columns, about, one.case(self.finding.sentence))


def _gate_on_task(finding: Finding, reward: Reward) -> Change | None:
    """A gate on the task for what pays for something else; ``None`` where that closes nothing."""
    if reward.routing is not None or kind_of_alarm(finding) != "hole":
        return None
    at_fault = finding.evidence.get("components", [finding.component])
    paid = [item for item in reward.components if item.gate is None and item.weight > 0]
    open_ = [item.name for item in paid if item.name in at_fault and item.name not in reward.task]
    span = next(item.range for item in reward.components if item.name == reward.primary)
    if not open_ or span is None or moved_by(reward, gated=open_).why:
        return None
    closed = gate(reward.primary, at_least=float(span[1]))
    return Change(components={name: {"gate": closed} for name in open_})


class Probes(_Tried):
    """What bad answers would earn of the reward as it stands."""

    title = "Probes"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "Run the probes", "probes")
        self.holes: list[Hole] = []
        self.budget = control(
            widgets.BoundedFloatText,
            "seconds at most",
            "rewardkit-budget",
            value=BUDGET,
            min=1.0,
            max=3600.0,
            width="11em",
        )
        run, cancel, bar = self.running.bar_row.children
        self.running.bar_row.children = (run, cancel, self.budget, bar)
        self.widget = self._laid_out()
        bench.commands |= {"hole": self._open, "hole-case": self._case, "hole-fix": self._fix}

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

    def _finished(self, result: ProbeResult) -> None:
        super()._finished(result)
        self.bench.probed = result, self._of

    def _show(self, result: ProbeResult) -> None:
        alarms = len(result.alarms)
        minor = [item for item in result.findings if item not in result.alarms]
        found = (*result.alarms, *minor)
        self.holes = [Hole(item, result.reward, _gate_on_task(item, self.bench.reward)) for item in found]
        cards = list(enumerate(self.holes))
        more = markup.html_of(rendering.rest_page(result))
        self.page.value = made("probed", in_short(result), cards[:alarms], cards[alarms:], more)

    def _compare(self) -> None:
        super()._compare()
        if [_gate_on_task(hole.finding, self.bench.reward) for hole in self.holes] != [
            hole.change for hole in self.holes
        ]:
            self._show(self.result)

    def _open(self, at: str) -> None:
        self.bench.open(self.holes[int(at)].opened())

    def _case(self, at: str) -> None:
        opened, path = self.holes[int(at)].opened(), self.bench.cases_path or "cases.jsonl"
        assert opened.case is not None
        try:
            added = self.bench.write_case(opened.case, path)
        except (InputError, OSError) as error:
            self.done.warn(f"Not saved: {error}")
        else:
            name = opened.case["name"]
            self.done.tell(f"Saved as {name!r} in {path}." if added else f"This case is in {path} already.")

    def _fix(self, at: str) -> None:
        hole = self.holes[int(at)]
        if hole.change is not None:
            self._apply(hole.change, "", hole.line)


class Findings(_Tried):
    """What the rewards as they stand would do to training, and which changes answer it."""

    title = "Findings"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "Measure changes", "findings")
        self.changes: tuple[Suggestion, ...] = ()
        self.widget = self._laid_out()
        bench.commands["try"] = self._try
        bench.observe(lambda change: self._follow(*change["new"]), "diagnosed")

    def _follow(self, found: Diagnosis, of: tuple[Variant, int]) -> None:
        """Show what is found as it stands, until changes are measured: these stay while they are tried."""
        if self.result is None and of == self.bench.now:
            self._show(found)

    def _work(self) -> Work:
        bench = self.bench
        scores, training = bench.scores, bench.variant.training
        known, of = bench.diagnosed or (None, None)
        known = known if of == bench.now else None  # which the tiles asked for

        def work(progress: Any) -> tuple[Diagnosis, Suggestions]:
            options: dict[str, Any] = {"training": training, "label": bench.label, "seed": bench.seed}
            found = known or diagnose(scores, **options, progress=lambda share: progress(share / 2))
            if not progress(0.5):
                raise Cancelled("the diagnosis was cancelled")
            return found, suggest(found)

        return work

    def _finished(self, result: tuple[Diagnosis, Suggestions]) -> None:
        self.changes = result[1].changes
        super()._finished(result[0])

    def _show(self, result: Diagnosis) -> None:
        owners = [_owner(one, result.findings) for one in self.changes]
        cards = []
        for item in result.findings:
            rows = [(identity, self.bench.row_of(identity)) for identity in item.rollout_ids[:5]]
            cards.append(
                {
                    "severity": item.severity,
                    "code": item.code,
                    "what": item.said,
                    "do": item.advice,
                    "rows": [(one_line(identity, 24), row) for identity, row in rows if row is not None],
                    "changes": [self._change(at) for at, owner in enumerate(owners) if owner is item],
                }
            )
        others = [self._change(at) for at, owner in enumerate(owners) if owner is None]
        self.page.value = made("diagnosed", cards, others, str(result.training))

    def _change(self, at: int) -> dict[str, Any]:
        """A change with what it does, as the template takes it."""
        one = self.changes[at]
        return {"at": at, "line": one.line, "why": one.why, "outcome": one.outcome}

    def _try(self, at: str) -> None:
        one = self.changes[int(at)]
        self._apply(one.change, one.part, one.line)


def _owner(one: Suggestion, findings: Sequence[Finding]) -> Finding | None:
    """The finding that a change is shown with: that it answers, of its component where there is one."""
    found = [item for item in findings if item.code == one.answers and item.part == one.part]
    return next((item for item in found if item.component == one.component), next(iter(found), None))
