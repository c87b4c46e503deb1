"""Probes and Findings: run in the background; a finding has buttons."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.rescore import moved_by
from rewardkit.analysis.suggest import suggest
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.errors import Cancelled, InputError
from rewardkit.findings import NAMED, Finding, most
from rewardkit.html.blocks import Action, Block
from rewardkit.html.excerpts import one_line
from rewardkit.html.pages import More, Page, Point, point_of, quote_of
from rewardkit.notebook.workbench import parts
from rewardkit.notebook.workbench.bench import CASES, Bench, Opened
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.primitives.gates import gate
from rewardkit.probes.options import BUDGET, TIMEOUT
from rewardkit.probes.points import clearest_examples, describe_turns
from rewardkit.probes.probe import probe
from rewardkit.probes.result import ProbeResult, kind_of_alarm
from rewardkit.probes.subjects.log import with_cases
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.explain import field_spans

LONGEST_ON_CARD = 330  # characters of a completion on a card
LONGEST_BUDGET = 3600.0  # seconds that a person may wait

Progress = Callable[[float], bool]
"""Takes the share that is done; returns whether to go on."""
Work = Callable[[Progress], Any]


class _Tried(parts.Panel):
    """Work in the background on the reward as it stood at the click, and its result.

    It runs in a thread, so that the other tabs stay usable; only one runs at a time. An
    error is shown in the panel, and the last result stays. Cancelled work ends with
    what it has found, or with `Cancelled`.
    """

    budget: float | None = None
    """Seconds that the work may take, where a person can choose them."""

    def __init__(self, bench: Bench, label: str, mark: str) -> None:
        self.bench, self.label, self.mark = bench, label, mark
        self.result: Any = None
        self._of: tuple[Variant, int] | None = None  # the settings of the result
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self.done: float | None = None  # the share that is done, while it runs
        self.bar, self.share = (
            parts.html(f"rewardkit-bar-{mark}"),
            parts.html("rewardkit-share"),
        )
        self.message, self.moved = parts.Message(), parts.Message()
        self.page = parts.html(f"rewardkit-page-{mark}", parts.made("empty", mark))
        first = parts.row(self.bar, self.share, mark="rk-bench-bar")
        below = (self.message.widget, self.moved.widget, self.page)
        self.widget = parts.stack(first, *below, mark=f"rewardkit-{mark}")
        bench.commands |= {f"run-{mark}": self.start, f"cancel-{mark}": self.end}
        bench.observe(self._compare, ["variant", "revised"])
        self.draw_controls()

    def draw_controls(self) -> None:
        """Draw the buttons, and how much is done."""
        can_run = self.done is None
        can_stop = not can_run and not self._cancelled.is_set()
        running = parts.made(
            "running", self.mark, self.label, can_run, can_stop, self.budget
        )
        parts.redraw(self.bar, running)
        self.share.value = parts.made("share", self.done)

    @property
    def busy(self) -> bool:
        """Return whether the work is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin the work on the settings of now, unless it is under way."""
        if self.busy:
            return
        try:
            work, of = self._work(), self.bench.now
        except (InputError, OSError) as error:  # of a case file, say
            self.message.warn(str(error))
            return
        self._cancelled.clear()
        self.done = 0.0
        self.draw_controls()
        self.message.tell("Running ...")
        self._thread = threading.Thread(target=self._go, args=(work, of), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ask the work to stop; what it has found until then is its result."""
        self._cancelled.set()
        self.draw_controls()
        self.message.tell("Stopping ...")

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until the work is over.

        Raises:
            TimeoutError: it is not over after so many seconds.
        """
        if self._thread is not None:
            self._thread.join(seconds)
        if self.busy:
            raise TimeoutError(f"not over after {seconds:g} s")

    def _progress(self, share: float) -> bool:
        if (
            self.done is not None and share - self.done >= 0.01
        ):  # no message to the page for every row
            self.done, self.share.value = share, parts.made("share", share)
        return not self._cancelled.is_set()

    def _go(self, work: Work, of: tuple[Variant, int]) -> None:
        try:
            result = work(self._progress)
        except Cancelled:
            self.message.tell("Cancelled.")
        except (InputError, OSError) as error:
            self.message.warn(str(error))
        except Exception as error:  # a thread's error would be seen by no one
            fault = "This is a fault of rewardkit: please report it."
            self.message.warn(f"{type(error).__name__}: {error}. {fault}")
            traceback.print_exc()
        else:
            self.message.clear()
            if self._cancelled.is_set():
                self.message.tell("Cancelled: this is what was found until then.")
            self._of = of
            self._finish(result)
            self._compare()
        finally:
            self.done = None
            self.draw_controls()

    def _work(self) -> Work:
        raise NotImplementedError

    def _finish(self, result: Any) -> None:
        self.result = result
        self._show(result)

    def _show(self, result: Any) -> None:
        raise NotImplementedError

    def _compare(self, _: Any = None) -> None:
        """Say where the result is of other settings than those of now."""
        if not self.busy:
            self.message.clear()
        if self._of is None or self._of == self.bench.now:
            self.moved.clear()
        else:
            self.moved.tell(
                "The settings have moved since. Run it again for those of now."
            )


MOST_READ = 5
"""Rollouts to read that a finding has a button for."""
MOST_TRIED = 3
"""Changes of the reward that a finding has in sight; the others are folded."""


def open_example(finding: Finding) -> Opened:
    """Return the clearest example of a probe's finding as Browse opens it."""
    example = finding.examples[0]
    earned = example.said or f"it earned {example.reward:.4g}"
    place = f"{finding.code}: tried on rollout {example.rollout_id}"
    about = f"{place}, {earned}. {finding.sentence}"
    return Opened(None, example.columns, about, example.case(finding.sentence))


def gate_on_task(finding: Finding, reward: Reward) -> Change | None:
    """Return a gate on the task that closes a hole; None where none does."""
    if reward.routed_by or kind_of_alarm(finding) != "hole":
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
    """Say what a gate on the task does."""
    names = most([repr(name) for name in change.components], NAMED)
    return f"pay {names} only where {reward.primary!r} is right"


class Probes(_Tried):
    """What bad answers would earn of the reward as it stands."""

    title = "Probes"

    def __init__(self, bench: Bench) -> None:
        self.findings: list[Finding] = []
        self.fixes: list[Change | None] = []
        """The gate that closes each finding, where one does."""
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
            "timeout": bench.timeout or TIMEOUT,
            "budget": self.budget,
            "seed": bench.seed,
        }
        return lambda progress: probe(reward, rollouts, **options, progress=progress)

    def _finish(self, result: ProbeResult) -> None:
        super()._finish(result)
        self.bench.probed = result, self._of

    def _show(self, result: ProbeResult) -> None:
        alarms = result.alarms
        minor = [item for item in result.findings if item not in alarms]
        self.findings = [*alarms, *minor]
        self.fixes = self._find_fixes()
        points = [
            self._make_point(at, result.reward) for at in range(len(self.findings))
        ]
        blocks: list[Block] = list(points[: len(alarms)])
        if not alarms:
            blocks.append("No exploit, loss or broken contract was found.")
        blocks.append(More(f"For information ({len(minor)})", points[len(alarms) :]))
        blocks += result.other_blocks()
        self.page.value = parts.made("cards", result.in_short, Page("", blocks).body)

    def _find_fixes(self) -> list[Change | None]:
        return [gate_on_task(item, self.bench.reward) for item in self.findings]

    def _make_point(self, at: int, reward: Reward) -> Point:
        """Return a finding with the completion that shows it, and buttons."""
        finding, fix = self.findings[at], self.fixes[at]
        actions, quotes = [], []
        for example in clearest_examples(finding)[:1]:
            about = f"rollout {example.rollout_id}"
            if example.said:
                about = f"{about}: {example.said}"
            if turns := describe_turns(example):
                about = f"{about}; {turns}"
            # no field is taken from what hangs
            hangs = finding.family == "hang"
            spans = {} if hangs else field_spans(reward, example.columns)
            quotes.append(quote_of(example, about, spans, longest=LONGEST_ON_CARD))
            actions.append(Action("Open in Browse", ["hole", at]))
            if example.expected is not None:
                actions.append(Action("Make it a case", ["hole-case", at]))
        if fix is not None:
            line = describe_gate(fix, self.bench.reward)
            actions.append(Action("Apply the fix", ["hole-fix", at], line, line))
        return point_of(finding, examples=quotes, actions=actions)

    def _compare(self, _: Any = None) -> None:
        super()._compare()
        if self.fixes != self._find_fixes():
            self._show(self.result)

    def _open(self, at: int) -> None:
        self.bench.open(open_example(self.findings[at]))

    def _save_case(self, at: int) -> None:
        case = open_example(self.findings[at]).case
        path = self.bench.cases_path or CASES
        assert case is not None
        self.message.attempt(lambda: self.bench.write_case(case, path), "Not saved: ")

    def _apply_fix(self, at: int) -> None:
        fix = self.fixes[at]
        if fix is None:  # of a page that shows an earlier reward
            return
        line = describe_gate(fix, self.bench.reward)
        self.message.attempt(lambda: self.bench.apply(fix, "", line), "Not applied: ")


class Findings(_Tried):
    """What the rewards of now would do to training, and changes that answer it."""

    title = "Findings"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "Measure changes", "findings")
        self.changes: tuple[Suggestion, ...] = ()
        bench.commands["try"] = self._try
        bench.observe(lambda change: self._follow(*change["new"]), "diagnosed")

    def _follow(self, diagnosis: Diagnosis, of: tuple[Variant, int]) -> None:
        """Show the diagnosis of now until changes are measured, which stay."""
        if self.result is None and of == self.bench.now:
            self._show(diagnosis)

    def _work(self) -> Work:
        bench = self.bench
        scores, options = bench.scores, bench.options(bench.variant)
        made_by_tiles, of = bench.diagnosed or (None, None)
        known = made_by_tiles if of == bench.now else None

        def work(progress: Progress) -> tuple[Diagnosis, Suggestions]:
            diagnosis = known
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
        summary = f"Advantages as of {diagnosis.training}."
        self.page.value = parts.made("cards", summary, Page("", blocks).body)

    def _find_rows_to_read(self, finding: Finding) -> list[Action]:
        actions = []
        for identity in finding.rollout_ids[:MOST_READ]:
            row = self.bench.row_of.get(identity)
            if row is not None:
                name = f"rollout {one_line(identity, 24)}"
                actions.append(Action(name, ["open", row], "open it in Browse"))
        return actions

    def _try(self, at: int) -> None:
        one = self.changes[at]
        self.message.attempt(
            lambda: self.bench.apply(one.change, one.part, one.named), "Not applied: "
        )


def find_answered(change: Suggestion, findings: Sequence[Finding]) -> int | None:
    """Return the place of the finding that a change answers, if any."""
    answered = None
    for at, item in enumerate(findings):
        if item.code != change.answers or item.part != change.part:
            continue
        if item.component == change.component:
            return at
        if answered is None:
            answered = at
    return answered
