"""Probes and Findings: run in the background, shown as cards, each with what can be done about it."""

from __future__ import annotations

import math
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.rescore import moved_by
from rewardkit.analysis.suggest import suggest
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.errors import Cancelled, InputError
from rewardkit.findings import NAMED, Example, Finding, most
from rewardkit.html.excerpts import one_line
from rewardkit.html.markup import html_of
from rewardkit.notebook.workbench import parts
from rewardkit.notebook.workbench.bench import CASES, Bench, Opened
from rewardkit.notebook.workbench.reading import plain
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.primitives.gates import gate
from rewardkit.probes.probe import BUDGET, TIMEOUT, ProbeResult, probe
from rewardkit.probes.results import rendering
from rewardkit.probes.results.summary import in_short, kind_of_alarm
from rewardkit.probes.subjects.cases import with_cases
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.explain import field_spans

EXCERPT = 330  # characters of a completion on a card
LONGEST = 3600.0  # seconds that a person may wait


Progress = Callable[[float], bool]
"""Is told the share that is done; says whether to go on."""
Work = Callable[[Progress], Any]


class _Tried(parts.Panel):
    """A piece of work on the reward as it stands at the click, in the background, and what it found.

    It runs in a thread, so that the other tabs stay usable; only one runs at a time. What it raises is said
    in the panel, and the last result stays. Work that is cancelled ends with what it has found, or with
    `Cancelled`.
    """

    budget: float | None = None
    """Seconds that the work may take, where these can be chosen."""

    def __init__(self, bench: Bench, label: str, mark: str) -> None:
        self.bench, self.label, self.mark = bench, label, mark
        self.result: Any = None
        self._of: tuple[Variant, int] | None = None  # whose result it is
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
        can_run, can_stop = (
            self.done is None,
            self.done is not None and not self._cancelled.is_set(),
        )
        running = parts.made(
            "running", self.mark, self.label, can_run, can_stop, self.budget
        )
        parts.redraw(self.bar, running)
        self.share.value = parts.made("share", self.done)

    @property
    def busy(self) -> bool:
        """Whether the work is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin the work on the variant and the scores of now, if it is not under way."""
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
        """Ask the work to stop; what it has found till then is its result."""
        self._cancelled.set()
        self.draw_controls()
        self.message.tell("Stopping ...")

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until the work is over. TimeoutError: it is not after so many seconds."""
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
                self.message.tell("Cancelled: this is what was found till then.")
            self._of = of
            self._finished(result)
            self._compare()
        finally:
            self.done = None
            self.draw_controls()

    def _work(self) -> Work:
        raise NotImplementedError

    def _finished(self, result: Any) -> None:
        self.result = result
        self._show(result)

    def _show(self, result: Any) -> None:
        raise NotImplementedError

    def _compare(self, _: Any = None) -> None:
        """Say whether what is shown is of other settings than those of now."""
        if not self.busy:
            self.message.clear()  # of a change before
        if self._of is None or self._of == self.bench.now:
            self.moved.clear()
        else:
            self.moved.tell(
                "The settings have moved since: this is of those before. Run it again for these."
            )


@dataclass(frozen=True, eq=False)
class Hole:
    """A finding of the probes with the completion that shows it most plainly, and a change that closes it."""

    finding: Finding
    reward: Reward
    change: Change | None
    """What closes it in the reward as it stands, where that is known."""

    @cached_property
    def example(self) -> Example | None:
        """The clearest of its examples."""
        return next(iter(rendering.clearest(self.finding)), None)

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
        return self.finding.advice

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
        spans = (
            {}
            if self.finding.family == "hang"
            else field_spans(self.reward, one.columns)
        )
        return plain(one.completion, spans, EXCERPT)

    @property
    def earned(self) -> list[tuple[str, float, float, str]]:
        """What it earned, beside a right and a wrong answer: name, number, length of a bar, kind."""
        one = self.example
        if one is None:
            return []
        best, least = ("a right answer", "a wrong one")
        if one.of_rollouts:
            best, least = ("the best rollout", "the least")
        found = [
            ("this", one.reward, "high"),
            (best, one.right, "good"),
            (least, one.wrong, "info"),
        ]
        known = [
            (name, value, kind) for name, value, kind in found if not math.isnan(value)
        ]
        values = [0.0, *(value for _, value, _ in known)]
        low, wide = min(values), (max(values) - min(values)) or 1.0
        return [
            (name, value, 100 * (value - low) / wide, kind)
            for name, value, kind in known
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
    if reward.routed_by or kind_of_alarm(finding) != "hole":
        return None
    at_fault = finding.evidence.get("components", [finding.component])
    paid = [item for item in reward.components if item.gate is None and item.weight > 0]
    open_ = [
        item.name
        for item in paid
        if item.name in at_fault and item.name not in reward.task
    ]
    span = next(item.range for item in reward.components if item.name == reward.primary)
    if not open_ or span is None or moved_by(reward, gated=open_).why:
        return None
    closed = gate(reward.primary, at_least=float(span[1]))
    return Change(components={name: {"gate": closed} for name in open_})


class Probes(_Tried):
    """What bad answers would earn of the reward as it stands."""

    title = "Probes"

    def __init__(self, bench: Bench) -> None:
        self.holes: list[Hole] = []
        self.budget = BUDGET
        super().__init__(bench, "Run the probes", "probes")
        bench.commands |= {
            "hole": self._open,
            "hole-case": self._case,
            "hole-fix": self._fix,
        }
        bench.commands["budget"] = self._spend

    def _spend(self, seconds: float | None) -> None:
        self.budget = min(max(seconds or BUDGET, 1.0), LONGEST)
        self.draw_controls()

    def _work(self) -> Work:
        bench, timeout = self.bench, self.bench.timeout or TIMEOUT
        options: dict[str, Any] = {
            "label": bench.label,
            "timeout": timeout,
            "budget": self.budget,
            "seed": bench.seed,
        }
        reward, rollouts = (
            bench.reward,
            with_cases(bench.scored.rollouts, bench.cases()),
        )
        return lambda progress: probe(reward, rollouts, **options, progress=progress)

    def _finished(self, result: ProbeResult) -> None:
        super()._finished(result)
        self.bench.probed = result, self._of

    def _show(self, result: ProbeResult) -> None:
        alarms = len(result.alarms)
        minor = [item for item in result.findings if item not in result.alarms]
        found = (*result.alarms, *minor)
        self.holes = [
            Hole(item, result.reward, _gate_on_task(item, self.bench.reward))
            for item in found
        ]
        cards = list(enumerate(self.holes))
        more = html_of(rendering.rest_page(result))
        self.page.value = parts.made(
            "probed", in_short(result), cards[:alarms], cards[alarms:], more
        )

    def _compare(self, _: Any = None) -> None:
        super()._compare()
        if any(
            _gate_on_task(hole.finding, self.bench.reward) != hole.change
            for hole in self.holes
        ):
            self._show(self.result)

    def _open(self, at: int) -> None:
        self.bench.open(self.holes[at].opened())

    def _case(self, at: int) -> None:
        case, path = self.holes[at].opened().case, self.bench.cases_path or CASES
        assert case is not None
        self.message.attempt(lambda: self.bench.write_case(case, path), "Not saved: ")

    def _fix(self, at: int) -> None:
        hole = self.holes[at]
        if (change := hole.change) is not None:
            self.message.attempt(
                lambda: self.bench.apply(change, "", hole.line), "Not applied: "
            )


class Findings(_Tried):
    """What the rewards as they stand would do to training, and which changes answer it."""

    title = "Findings"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "Measure changes", "findings")
        self.changes: tuple[Suggestion, ...] = ()
        bench.commands["try"] = self._try
        bench.observe(lambda change: self._follow(*change["new"]), "diagnosed")

    def _follow(self, found: Diagnosis, of: tuple[Variant, int]) -> None:
        """Show what is found as it stands, until changes are measured: these stay while they are tried."""
        if self.result is None and of == self.bench.now:
            self._show(found)

    def _work(self) -> Work:
        bench, scores, options = (
            self.bench,
            self.bench.scores,
            self.bench.options(self.bench.variant),
        )
        known, of = bench.diagnosed or (None, None)
        known = known if of == bench.now else None  # which the tiles asked for

        def work(progress: Progress) -> tuple[Diagnosis, Suggestions]:
            found = known or diagnose(
                scores, **options, progress=lambda share: progress(share / 2)
            )
            if not progress(0.5):
                raise Cancelled("the diagnosis was cancelled")
            return found, suggest(found)

        return work

    def _finished(self, result: tuple[Diagnosis, Suggestions]) -> None:
        self.changes = result[1].changes
        super()._finished(result[0])

    def _show(self, result: Diagnosis) -> None:
        owners = [_owner(one, result.findings) for one in self.changes]
        cards = [
            {
                "finding": item,
                "rows": [
                    (one_line(identity, 24), row)
                    for identity in item.rollout_ids[:5]
                    if (row := self.bench.row_of.get(identity)) is not None
                ],
                "changes": [
                    (at, self.changes[at])
                    for at, owner in enumerate(owners)
                    if owner is item
                ],
            }
            for item in result.findings
        ]
        others = [
            (at, self.changes[at]) for at, owner in enumerate(owners) if owner is None
        ]
        self.page.value = parts.made("diagnosed", cards, others, str(result.training))

    def _try(self, at: int) -> None:
        one = self.changes[at]
        self.message.attempt(
            lambda: self.bench.apply(one.change, one.part, one.named), "Not applied: "
        )


def _owner(one: Suggestion, findings: Sequence[Finding]) -> Finding | None:
    """The finding that a change is shown with: that it answers, of its component where there is one."""
    found = [
        item for item in findings if item.code == one.answers and item.part == one.part
    ]
    return next(
        (item for item in found if item.component == one.component),
        next(iter(found), None),
    )
