"""The tabs Probes and Findings: findings with buttons, such as one for a fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.suggest import suggest
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.errors import Cancelled
from rewardkit.findings import NAMED, Finding, most
from rewardkit.html.blocks import Action, Block
from rewardkit.html.excerpts import one_line
from rewardkit.html.pages import More, Page, Point, point_of
from rewardkit.notebook.workbench.bench import CASE_FILE, Bench, Opened
from rewardkit.notebook.workbench.parts import (
    BackgroundPanel,
    Progress,
    Work,
    render,
)
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.primitives.gates import gate
from rewardkit.probes.options import BUDGET, CALL_TIMEOUT
from rewardkit.probes.points import quote_examples
from rewardkit.probes.probe import probe
from rewardkit.probes.result import ProbeResult
from rewardkit.probes.subjects.log import with_cases
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.rescore import moved_by

NOT_APPLIED = "Not applied: "
OLDER_PAGE = "This button is of an earlier result; run it again for those of now."
LONGEST_ON_CARD = 330  # characters of a completion on a card
LONGEST_BUDGET = 3600.0  # seconds
ROLLOUT_BUTTONS = 5
"""Most buttons on a finding that open a rollout."""
MOST_TRIED = 3
"""Most changes shown unfolded on a finding."""


class Probes(BackgroundPanel):
    """The tab that probes the current reward.

    `fixes` has a gate that closes each of the `findings`, or None.
    """

    title = "Probes"

    def __init__(self, bench: Bench) -> None:
        self.findings: list[Finding] = []
        self.fixes: list[Change | None] = []
        self.budget = BUDGET
        super().__init__(bench, "Run the probes", "probes")
        bench.commands["hole"] = self._open
        bench.commands["hole-case"] = self._save_case
        bench.commands["hole-fix"] = self._apply_fix
        bench.commands["budget"] = self._set_budget

    def _set_budget(self, seconds: float | None) -> None:
        self.budget = min(max(seconds or BUDGET, 1.0), LONGEST_BUDGET)
        self.draw_controls()

    def _work(self) -> Work:
        bench = self.bench
        reward = bench.reward
        rollouts = with_cases(bench.scored.rollouts, bench.cases())
        options: dict[str, Any] = {
            "label": bench.label,
            "timeout": bench.timeout or CALL_TIMEOUT,
            "budget": self.budget,
            "seed": bench.seed,
        }
        return lambda progress: probe(reward, rollouts, **options, progress=progress)

    def _finish(self, result: ProbeResult) -> None:
        super()._finish(result)
        self.bench.probed = result, self._settings

    def _show(self, result: ProbeResult) -> None:
        alarms = result.alarms
        minor = [item for item in result.findings if item not in alarms]
        self.findings = [*alarms, *minor]
        self.fixes = self._find_fixes()
        points = []
        for at in range(len(self.findings)):
            points.append(self._make_point(at, result.reward))
        blocks: list[Block] = [*points[: len(alarms)]]
        if not alarms:
            blocks.append("No exploit, loss or broken contract was found.")
        blocks.append(More(f"For information ({len(minor)})", points[len(alarms) :]))
        blocks += result.other_blocks()
        self.page.value = render("cards", result.in_short, Page("", blocks).body)

    def _find_fixes(self) -> list[Change | None]:
        return [gate_on_task(item, self.bench.reward) for item in self.findings]

    def _make_point(self, at: int, reward: Reward) -> Point:
        """Return a finding with the completion that shows it, and buttons."""
        finding = self.findings[at]
        fix = self.fixes[at]
        actions = []
        quotes = quote_examples(finding, reward, longest=LONGEST_ON_CARD)
        if quotes:
            actions.append(Action("Open in Browse", ["hole", at]))
            if open_example(finding).case is not None:
                actions.append(Action("Make it a case", ["hole-case", at]))
        if fix is not None:
            line = describe_gate(fix, self.bench.reward)
            actions.append(Action("Apply the fix", ["hole-fix", at], line, line))
        return point_of(finding, examples=quotes[:1], actions=actions)

    def _compare(self, _: Any = None) -> None:
        super()._compare()
        if self.fixes != self._find_fixes():
            self._show(self.result)

    def _find_example(self, at: int) -> Opened | None:
        """Return the example of a finding; None, with a warning, if it is outdated."""
        if 0 <= at < len(self.findings) and self.findings[at].examples:
            return open_example(self.findings[at])
        self.message.warn(OLDER_PAGE)
        return None

    def _open(self, at: int) -> None:
        opened = self._find_example(at)
        if opened is not None:
            self.bench.open(opened)

    def _save_case(self, at: int) -> None:
        opened = self._find_example(at)
        if opened is None or opened.case is None:
            return
        case = opened.case
        path = self.bench.cases_path or CASE_FILE
        self.message.attempt(lambda: self.bench.write_case(case, path), "Not saved: ")

    def _apply_fix(self, at: int) -> None:
        fix = self.fixes[at] if 0 <= at < len(self.fixes) else None
        if fix is None:
            self.message.warn(OLDER_PAGE)
        else:
            line = describe_gate(fix, self.bench.reward)
            self.message.attempt(lambda: self.bench.apply(fix, "", line), NOT_APPLIED)


def open_example(finding: Finding) -> Opened:
    """Return the clearest example of a probe's finding, to open in Browse."""
    example = finding.examples[0]
    earned = example.outcome or f"it earned {example.reward:.4g}"
    place = f"{finding.code}: tried on rollout {example.rollout_id}"
    about = f"{place}, {earned}. {finding.sentence}"
    return Opened(None, example.columns, about, example.case(finding.sentence))


def gate_on_task(finding: Finding, reward: Reward) -> Change | None:
    """Return a gate on the task that closes a hole; None if no gate does."""
    if reward.routed_by or finding.fault != "hole":
        return None
    at_fault = finding.evidence.get("components", [finding.component])
    names = []
    for item in reward.components:
        is_paid = item.gate is None and item.weight > 0
        if is_paid and item.name in at_fault and item.name not in reward.task:
            names.append(item.name)
    ranges = {item.name: item.range for item in reward.components}
    span = ranges[reward.primary]
    if not names or span is None or moved_by(reward, gated=names).why:
        return None
    closed = gate(reward.primary, at_least=float(span[1]))
    return Change(components={name: {"gate": closed} for name in names})


def describe_gate(change: Change, reward: Reward) -> str:
    """Describe a gate on the task."""
    names = most([repr(name) for name in change.components], NAMED)
    return f"pay {names} only where {reward.primary!r} is right"


class Findings(BackgroundPanel):
    """The tab with the diagnosis of the current reward, and changes that answer it."""

    title = "Findings"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "Measure changes", "findings")
        self.changes: tuple[Suggestion, ...] = ()
        self.notes: tuple[str, ...] = ()
        bench.commands["try"] = self._try
        bench.observe(lambda change: self._follow(*change["new"]), "diagnosed")

    def _follow(self, diagnosis: Diagnosis, settings: tuple[Variant, int]) -> None:
        """Show a diagnosis of the current settings, unless changes were measured."""
        if self.result is None and settings == self.bench.now:
            self._show(diagnosis)

    def _work(self) -> Work:
        bench = self.bench
        scores = bench.scores
        options = bench.options(bench.variant)
        diagnosed, settings = bench.diagnosed or (None, None)
        if settings != bench.now:
            diagnosed = None

        def work(progress: Progress) -> tuple[Diagnosis, Suggestions]:
            diagnosis = diagnosed
            if diagnosis is None:
                half = lambda share: progress(share / 2)  # noqa: E731
                diagnosis = diagnose(scores, **options, progress=half)
            if not progress(0.5):
                raise Cancelled("the diagnosis was cancelled")
            return diagnosis, suggest(diagnosis)

        return work

    def _finish(self, result: tuple[Diagnosis, Suggestions]) -> None:
        diagnosis, suggestions = result
        self.changes = suggestions.changes
        self.notes = suggestions.notes
        super()._finish(diagnosis)

    def _show(self, diagnosis: Diagnosis) -> None:
        answers: dict[int, list[Action]] = {}  # place of a finding -> changes
        others: list[Action] = []
        for at, change in enumerate(self.changes):
            about = " ".join(filter(None, (change.why, change.outcome)))
            action = Action("Try it", ["try", at], change.line, about)
            owner = find_answered(change, diagnosis.findings)
            if owner is None:
                others.append(action)
            else:
                answers.setdefault(owner, []).append(action)
        blocks: list[Block] = []
        for at, finding in enumerate(diagnosis.findings):
            tries = answers.get(at, [])
            actions = [*self._find_rows_to_read(finding), *tries[:MOST_TRIED]]
            details = tries[MOST_TRIED:]
            blocks.append(point_of(finding, details=details, actions=actions))
        if not diagnosis.findings:
            blocks.append("Nothing was found.")
        blocks.append(More("Other changes that were measured", others, is_open=True))
        blocks += [f"Note: {note}." for note in self.notes]
        summary = f"Advantages as of {diagnosis.training}."
        self.page.value = render("cards", summary, Page("", blocks).body)

    def _find_rows_to_read(self, finding: Finding) -> list[Action]:
        actions = []
        for identity in finding.rollout_ids[:ROLLOUT_BUTTONS]:
            row = self.bench.row_of.get(identity)
            if row is not None:
                name = f"rollout {one_line(identity, 24)}"
                actions.append(Action(name, ["open", row], "open it in Browse"))
        return actions

    def _try(self, at: int) -> None:
        if not 0 <= at < len(self.changes):
            self.message.warn(OLDER_PAGE)
            return
        change = self.changes[at]
        options = (change.change, change.part, change.named)
        self.message.attempt(lambda: self.bench.apply(*options), NOT_APPLIED)


def find_answered(change: Suggestion, findings: Sequence[Finding]) -> int | None:
    """Return the index of the finding that a change answers, or None."""
    answered = None
    for at, item in enumerate(findings):
        if item.code != change.answers or item.part != change.part:
            continue
        if item.component == change.component:
            return at
        if answered is None:
            answered = at
    return answered
