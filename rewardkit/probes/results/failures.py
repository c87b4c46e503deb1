"""Failures: rewards that fail on everything, on some of what was tried, or do not come back."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.findings import Example, Finding
from rewardkit.probes.contract.hang import PATTERNS, of_patterns
from rewardkit.probes.results.evidence import EXAMPLES, Seen, finding
from rewardkit.probes.results.sentences import LONGEST
from rewardkit.probes.runner import Outcome, Row, Tries
from rewardkit.probes.strategies.attempts import Probe
from rewardkit.probes.subjects.formats import shell
from rewardkit.probes.subjects.subject import Calibration
from rewardkit.probes.trials import Trial
from rewardkit.scoring.calls import LATE, OUT_OF_RANGE

__all__ = ["ENDED", "failures", "hangs", "of_parts", "whole"]

ENDED = "ended its process"
OF_LOG = "rollout"
KINDS = {
    LATE: "hang",
    ENDED: "dies",
    OUT_OF_RANGE: "out_of_range",
    "a score must be finite": "not_finite",
    r"returned \d+ values for \d+ completions": "wrong_length",
    "; a component returns a number|not a list of scores": "wrong_type",
}
"""Pattern of the reason of a failure -> its code."""

WRONG_MODES = {"deaf": "ignores_truth", "inverted": "inverted"}


@dataclass(frozen=True)
class Failure:
    """A row on which a component failed: the probe that it is of, what it got, and the reason."""

    probe: str
    row: Row
    outcome: Outcome
    reason: str

    @property
    def kind(self) -> str:
        """Its code."""
        return next((kind for mark, kind in KINDS.items() if re.search(mark, self.reason)), "raises")

    @property
    def seconds(self) -> float:
        """The time limit that it broke; NaN where it broke none."""
        found = re.search(rf"{LATE} ([\d.]+) s", self.reason)
        return float(found[1]) if found else math.nan

    @property
    def error(self) -> str:
        """The type of the error, or what else its reason begins with."""
        return _short(self.reason.partition(":")[0])

    def example(self, shown: Mapping[str, Any]) -> Example:
        """It as an example with these columns."""
        outcome, said = self.outcome, _short(self.reason)
        return Example(self.row.get("rollout_id"), shown, outcome.reward, None, probe=self.probe, said=said)


def _short(reason: str) -> str:
    return reason if len(reason) <= 200 else f"{reason[:197]}..."


# --- on everything


def whole(calibration: Calibration, tries: Tries) -> Iterator[Finding]:
    """The one finding of a reward that fails, abstains or is the same everywhere, or is deaf to the truth."""
    if not calibration.pool:
        return
    failed = any(outcome.failures for _, outcome in calibration.pool)
    if not calibration.rewards:
        code, reason = _always(calibration, failed=failed)
        family = "calibration" if code.startswith("always") else "contract"
        shown, count = _first(calibration, code), len(calibration.pool)
        yield finding(code, family, count, grave="high", examples=shown, reason=_short(reason))
    elif tries.extent.constant and "slow" not in calibration.modes.values() and not failed:
        yield finding(
            "constant",
            "calibration",
            tries.extent.count,
            grave="high",
            examples=_first(calibration, "constant"),
            value=calibration.rewards[0],
            unjudged=tries.calls - tries.extent.count,
        )
    elif calibration.mode in WRONG_MODES:
        yield finding(WRONG_MODES[calibration.mode], "calibration", tries.calls, grave="high")


def _first(calibration: Calibration, code: str) -> list[Example]:
    """The first rollout as an example."""
    row, outcome = calibration.pool[0]
    reason = next(iter(outcome.errors.values()), "")
    shown = {name: row[name] for name in ("completion", "ground_truth") if name in row}
    return [Failure(code, row, outcome, reason).example(shown)]


def _always(calibration: Calibration, *, failed: bool) -> tuple[str, str]:
    """The code and the commonest reason of a reward that judged none of the rollouts."""
    every = [
        Failure(OF_LOG, row, outcome, reason)
        for row, outcome in calibration.pool
        for reason in outcome.errors.values()
    ]
    if not every:
        return "always_abstains", "no component is for these rows"
    reason, _ = Counter(item.reason for item in every).most_common(1)[0]
    kind = next(item.kind for item in every if item.reason == reason)
    if all(outcome.late for _, outcome in calibration.pool):
        return "always_late", reason
    if not failed:
        return "always_abstains", reason
    return "always_errors" if kind in ("raises", "hang") else kind, reason


def of_parts(calibration: Calibration, calls: int) -> Iterator[Finding]:
    """The findings of parts that are deaf to the truth, upside down, or of which all earns the same."""
    for part, mode in calibration.modes.items():
        if mode in WRONG_MODES:
            yield finding(WRONG_MODES[mode], "calibration", calls, grave="high", part=part)
        if part in calibration.constants:
            value, count = calibration.constants[part]
            yield finding("constant", "calibration", count, grave="high", part=part, value=value)


# --- on some of what was tried


def failures(trials: Sequence[Trial], calibration: Calibration, seen: Seen) -> Iterator[Finding]:
    """What raised, or gave no score, on what was tried: one finding a component and kind of failure."""
    found: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    tried: list[tuple[str, Row, Outcome]] = [(OF_LOG, *pair) for pair in calibration.pool]
    for trial in trials:
        if seen.has_truth(trial.attempt):
            for text, outcome in zip(trial.attempt.completions, trial.outcomes, strict=True):
                if outcome is not None:
                    row = seen.variants.of(trial.subject.columns, text, **trial.attempt.columns)
                    tried.append((trial.probe.name, row, outcome))
    for probe, row, outcome in tried:
        for name, reason in outcome.failures.items():
            item = Failure(probe, row, outcome, reason)
            found[name, item.kind].append(item)
    for (name, kind), items in _one_cause(found).items():
        own = sum(item.probe == OF_LOG for item in items)
        shown = f"{len(items)} of {len(tried)} completions that were tried"
        yield finding(
            kind,
            "hang" if kind == "hang" else "contract",
            len(tried),
            len(items),
            grave="high" if own or kind in ("hang", "dies", "wrong_length") else "warn",
            component=seen.named(name),
            examples=[item.example(seen.shown(item.row)) for item in _clearest(items)],
            of_rollouts=own,
            reason=_reasons(items),
            what=f"{shown} (where one hangs, the others of its kind are not tried)",
            seconds=items[0].seconds,
        )


def _one_cause(
    found: Mapping[tuple[str, str], list[Failure]],
) -> dict[tuple[str, str], list[Failure]]:
    """The failures without those of components that only pass on what the same field did."""
    kept: dict[tuple[str, str], tuple[str, str]] = {}
    for name, kind in found:
        field = re.match(r"field '(\w+)' failed", found[name, kind][0].reason)
        kept.setdefault((field[1] if field else name, kind), (name, kind))
    return {key: found[key] for key in kept.values()}


def _reasons(items: Sequence[Failure]) -> str:
    """The commonest reason, and what other types of error there are."""
    (first, count), *others = Counter(item.error for item in items).most_common(4)
    reason = next(_short(item.reason) for item in items if item.error == first)
    more = ", ".join(f"{error} ({many})" for error, many in others)
    return f"{reason} ({count}); {more}" if others else reason


def _clearest(items: Sequence[Failure]) -> list[Failure]:
    """The shortest completion of each type of error."""
    ordered = sorted(items, key=lambda item: len(str(item.row.get("completion"))))
    return list({item.error: item for item in reversed(ordered)}.values())[::-1][:EXAMPLES]


# --- on what never ends


def hangs(tries: Tries, calibration: Calibration, seen: Seen, probes: Sequence[Probe]) -> Iterator[Finding]:
    """A completion on which a call does not come back, the shortest there is: one is enough."""
    subject = calibration.stand_in
    if subject is None:
        return
    if not subject.format.opening:
        subject = replace(subject, format=shell(subject.reference))
    planned = [(probe, attempt) for probe in probes for attempt in probe.attempts(subject)]
    if PATTERNS in probes:
        planned += [(PATTERNS, item) for item in of_patterns(seen.reward.functions, subject)]
    planned.sort(key=lambda item: len(item[1].completions[0]))
    rows = [seen.variants.of(subject.columns, attempt.completions[0]) for _, attempt in planned]
    siblings = [subject.siblings] * len(rows) if subject.siblings else []
    outcomes = tries.outcomes(rows, siblings, until=_hangs)
    tried = sum(outcome is not None for outcome in outcomes)
    for (probe, _), row, outcome in zip(planned, rows, outcomes, strict=True):
        if outcome is not None and _hangs(outcome):
            (name, reason), *_ = outcome.failures.items()
            item, length = Failure(probe.name, row, outcome, reason), len(str(row["completion"]))
            long = length > LONGEST
            yield finding(
                item.kind,
                "hang" if item.kind == "hang" else "contract",
                tried,
                1,
                grave="info" if long else "high",
                component=seen.named(name),
                threshold=tries.limit.seconds if tries.limit else None,
                examples=[item.example(seen.shown(row))],
                reason=_short(reason),
                what=f"{probe.says}, of {length:,} characters" if long else probe.says,
                seconds=item.seconds,
                length=length,
            )
            return


def _hangs(outcome: Outcome) -> bool:
    """Whether a call was ended, or ended its process."""
    return outcome.late or any(ENDED in reason for reason in outcome.errors.values())
