"""Failures: rewards that fail on everything, on some of what was tried, or do not come back."""

from __future__ import annotations

import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.answers.marks import find_likely_mark
from rewardkit.findings import Example, Finding
from rewardkit.probes.contract.hang import PATTERNS, of_patterns
from rewardkit.probes.results.evidence import Seen, finding, row_example
from rewardkit.probes.runner import ENDED, FOREVER, Outcome, Tries, same
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import HIGH
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.calls import LATE, OUT_OF_RANGE
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.strategies.strategy import Strategy
from rewardkit.strategies.subject import Row, Subject

OF_LOG, BEYOND = "rollout", "completion"
"""What a row is of that failed: of the log, or of what was tried beyond the probes, by the search for one."""

LONGEST_COMPLETION = 40_000
"""Characters that a policy may write: some ten thousand tokens. A hang on more is for information."""
PATIENCE = 4.0
"""Times the limit that a call may take which was late, so that it can be told from one that never ends."""
WRITTEN = 10_000
"""Characters that a slow completion may have for a policy to write it often. Our choice: 3,000 tokens."""

KINDS = {
    LATE: "hang",
    ENDED: "dies",
    OUT_OF_RANGE: "out_of_range",
    "a score must be finite": "not_finite",
    r"returned \d+ values for \d+ completions": "wrong_length",
    "; a component returns a number|not a list of scores": "wrong_type",
}
"""Pattern of the reason of a failure -> its code."""

ALWAYS = {"hang": "always_late", "raises": "always_errors"}
WRONG_MODES = {"deaf": "ignores_truth", "inverted": "inverted"}


@dataclass(frozen=True)
class Failure:
    """A row on which a component failed: the probe that it is of, what it got, and the reason."""

    probe: str
    row: Row
    outcome: Outcome
    reason: str

    @property
    def error(self) -> str:
        """The type of the error, or what else its reason begins with."""
        return _short(self.reason.partition(":")[0])

    def example(self, shown: Row | None = None) -> Example:
        """It as an example with these columns, or the usual ones."""
        return row_example(
            self.row, self.outcome.reward, self.probe, _short(self.reason), shown
        )


def _kind(reason: str) -> str:
    return next(
        (kind for mark, kind in KINDS.items() if re.search(mark, reason)), "raises"
    )


def _short(reason: str) -> str:
    return reason if len(reason) <= 200 else f"{reason[:197]}..."


# --- on everything


def whole(calibration: Calibration, tries: Tries) -> Iterator[Finding]:
    """The one finding of a reward that fails, abstains or is the same everywhere, or is deaf to the truth."""
    if not calibration.pool:
        return
    outcomes = [outcome for _, outcome in calibration.pool]
    failed = any(outcome.failures for outcome in outcomes)
    if not calibration.rewards:
        reasons = Counter(
            reason for outcome in outcomes for reason in outcome.errors.values()
        )
        (reason, _), *_ = reasons.most_common(1) or [
            ("no component is for these rows", 0)
        ]
        kind = _kind(reason)
        code = ALWAYS.get(kind, kind) if failed else "always_abstains"
        family = "calibration" if code.startswith("always") else "contract"
        yield _of_all(code, family, len(outcomes), calibration, reason=_short(reason))
    elif (
        same(tries.rewards)
        and not failed
        and not {"slow", "unknown"} & {*calibration.modes.values()}
    ):
        count = len(tries.rewards)
        figures = {"value": calibration.rewards[0], "unjudged": tries.calls - count}
        yield _of_all("constant", "calibration", count, calibration, **figures)
    elif calibration.mode in WRONG_MODES:
        yield finding(
            WRONG_MODES[calibration.mode], "calibration", tries.calls, grave="high"
        )


def _of_all(
    code: str, family: str, tried: int, calibration: Calibration, **evidence: Any
) -> Finding:
    """A finding that the first rollout shows as any other would."""
    row, outcome = calibration.pool[0]
    first = Failure(code, row, outcome, next(iter(outcome.errors.values()), ""))
    return finding(
        code, family, tried, grave="high", examples=[first.example()], **evidence
    )


def of_parts(calibration: Calibration, calls: int) -> Iterator[Finding]:
    """The findings of parts that are deaf to the truth, upside down, or of which all earns the same."""
    for part, mode in calibration.modes.items():
        if mode in WRONG_MODES:
            yield finding(
                WRONG_MODES[mode], "calibration", calls, grave="high", part=part
            )
    for part, (value, count) in calibration.constants.items():
        yield finding(
            "constant", "calibration", count, grave="high", part=part, value=value
        )


# --- on some of what was tried


def failures(
    trials: Sequence[Trial],
    others: Sequence[tuple[Row, Outcome]],
    calls: int,
    seen: Seen,
) -> Iterator[Finding]:
    """What raised, or gave no score, on what was tried: one finding a component and kind of failure.

    `others` are rows beside those of trials and the log that failed, of so many `calls`.
    """
    tried: list[tuple[str, Row, Outcome]] = [
        (OF_LOG, *pair) for pair in seen.calibration.pool
    ]
    tried += [(BEYOND, *pair) for pair in others]
    for trial in filter(lambda one: seen.has_truth(one.attempt), trials):
        for (text, columns), outcome in zip(
            trial.attempt.rows, trial.outcomes, strict=True
        ):
            if outcome is not None:
                changed = seen.variants.of(trial.subject.columns, text, **columns)
                tried.append((trial.probe.name, changed, outcome))
    found: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for probe, row, outcome in tried:
        for name, reason in outcome.failures.items():
            found[name, _kind(reason)].append(Failure(probe, row, outcome, reason))
    count = len(tried) + calls - len(others)
    for (name, kind), items in _one_cause(found).items():
        own = any(item.probe == OF_LOG for item in items)
        often = len(items) >= HIGH * count
        yield _failing(
            kind,
            count,
            len(items),
            items,
            seen,
            grave="high"
            if own or often or kind in ("hang", "dies", "wrong_length")
            else "warn",
            component=name,
            what=f"{len(items)} of {count} completions that were tried",
        )


def _failing(
    kind: str, tried: int, found: int, items: Sequence[Failure], seen: Seen, **told: Any
) -> Finding:
    """The finding of failures of a kind, with the shortest completion of each type of error."""
    ordered = sorted(
        items, key=lambda item: len(str(item.row.get("completion"))), reverse=True
    )
    shortest = {item.error: item for item in ordered}.values()
    told |= {"examples": [item.example(seen.shown(item.row)) for item in shortest]}
    late = re.search(rf"{LATE} ([\d.]+) s", items[0].reason)
    seconds = float(late[1]) if late else math.nan
    told |= {"reason": _reasons(items), "seconds": seconds}
    return seen.finding(
        kind, "hang" if kind in ("hang", "slow") else "contract", tried, found, **told
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


# --- on what never ends


def last_calls(
    tries: Tries, calibration: Calibration, probes: Sequence[Strategy]
) -> list[Trial]:
    """The trials of what may not come back, the shortest first, until one does not."""
    subject = calibration.stand_in
    if subject is None:
        return []
    if not subject.format.opening:
        subject = replace(subject, format=find_likely_mark(subject.reference).format)
    planned = [
        (probe, attempt) for probe in probes for attempt in probe.attempts(subject)
    ]
    if PATTERNS in probes:
        planned += [
            (PATTERNS, item) for item in of_patterns(tries.reward.functions, subject)
        ]
    planned.sort(key=lambda item: len(item[1].completions[0]))
    rows = [
        tries.variants.of(subject.columns, attempt.completions[0])
        for _, attempt in planned
    ]
    outcomes = tries.outcomes(
        rows, [subject.siblings] * len(rows), until=lambda outcome: outcome.gone
    )
    return [
        Trial(probe, subject, attempt, (out,))
        for (probe, attempt), out in zip(planned, outcomes, strict=True)
    ]


def hangs(trials: Sequence[Trial], seen: Seen, left: float) -> Iterator[Finding]:
    """The first completion on which a call does not come back: one is enough.

    One that comes back after all, in the seconds that are `left`, is slow: a warning where a policy may write
    such a completion.
    """
    done = [trial for trial in trials if trial.tried]
    for trial in done:
        (outcome,), (text,) = trial.outcomes, trial.attempt.completions
        if outcome is None or not outcome.gone:
            continue
        (name, reason), *_ = outcome.failures.items()
        row, kind, length = (
            seen.variants.of(trial.subject.columns, text),
            _kind(reason),
            len(text),
        )
        told: dict[str, Any] = {
            "what": trial.probe.says,
            "length": length,
            "beyond_policy": length > LONGEST_COMPLETION,
            "grave": "high",
        }
        late = re.search(rf"{LATE} ([\d.]+) s", reason)
        limit = float(late[1]) if late else math.nan
        took = (
            _seconds(seen.reward, row, trial.subject, min(PATIENCE * limit, left))
            if late
            else math.inf
        )
        if took < math.inf:
            kind = "slow"
            told |= {"took": took, "grave": "warn"}
        if length > (WRITTEN if kind == "slow" else LONGEST_COMPLETION):
            told |= {
                "what": f"{trial.probe.says}, of {length:,} characters",
                "grave": "info",
            }
        items = [Failure(trial.probe.name, row, outcome, reason)]
        yield _failing(kind, len(done), 1, items, seen, component=name, **told)
        return


def _seconds(reward: Reward, row: Row, subject: Subject, most: float) -> float:
    """How long a call takes, once its process has made another; infinite from `most` on."""
    with TimeLimit(most, processes=1) as limit:
        tries, beside = Tries(reward, limit, FOREVER), [subject.siblings]
        tries.outcomes([subject.columns], beside)
        began = time.monotonic()
        (outcome,) = tries.outcomes([row], beside)
        return math.inf if outcome is None or outcome.gone else time.monotonic() - began
