"""Failures: rewards that fail on everything, on some of what was tried, or do not come back."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.answers.marks import find_likely_mark
from rewardkit.findings import Example, Finding
from rewardkit.probes.contract.hang import PATTERNS, of_patterns
from rewardkit.probes.results.evidence import Seen, finding, row_example
from rewardkit.probes.runner import FOREVER, Outcome, Tries, same
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import HIGH
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.reward import Reward
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
    ReasonCode.LATE: "hang",
    ReasonCode.PROCESS_ENDED: "dies",
    ReasonCode.OUT_OF_RANGE: "out_of_range",
    ReasonCode.NOT_FINITE: "not_finite",
    ReasonCode.WRONG_LENGTH: "wrong_length",
    ReasonCode.WRONG_TYPE: "wrong_type",
    ReasonCode.NOT_A_LIST: "wrong_type",
}
"""Code of the reason of a failure -> code of the finding; of others "raises"."""

ALWAYS = {"hang": "always_late", "raises": "always_errors"}
WRONG_MODES = {"deaf": "ignores_truth", "inverted": "inverted"}


@dataclass(frozen=True)
class Failure:
    """A row on which a component failed: the probe that it is of, what it got, and the reason."""

    probe: str
    row: Row
    outcome: Outcome
    reason: Reason

    def example(self, shown: Row | None = None) -> Example:
        """It as an example with these columns, or the usual ones."""
        reason = self.reason.shortened()
        example = row_example(
            self.row, self.outcome.reward, self.probe, str(reason), shown
        )
        return replace(example, reason=reason)


def _kind(reason: Reason) -> str:
    return KINDS.get(reason.code, "raises")


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
        said: Reason | str = "no component is for these rows"
        code, family = "always_abstains", "calibration"
        if reasons:
            ((reason, _),) = reasons.most_common(1)
            kind, said = _kind(reason), reason.shortened()
            if failed:
                code = ALWAYS.get(kind, kind)
                family = "calibration" if kind in ALWAYS else "contract"
        yield _of_all(code, family, len(outcomes), calibration, reason=said)
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
    reasons = list(outcome.errors.values())
    example = row_example(row, outcome.reward, code, "")
    if reasons:
        example = Failure(code, row, outcome, reasons[0]).example()
    return finding(code, family, tried, grave="high", examples=[example], **evidence)


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
    shortest = {item.reason.title: item for item in ordered}.values()
    told |= {"examples": [item.example(seen.shown(item.row)) for item in shortest]}
    told |= {**_reasons(items), "seconds": items[0].reason.seconds or math.nan}
    return seen.finding(
        kind, "hang" if kind in ("hang", "slow") else "contract", tried, found, **told
    )


def _one_cause(
    found: Mapping[tuple[str, str], list[Failure]],
) -> dict[tuple[str, str], list[Failure]]:
    """The failures without those of components that only pass on what the same field did."""
    kept: dict[tuple[str, str], tuple[str, str]] = {}
    for name, kind in found:
        passed_by = [*found[name, kind][0].reason.passed_by, name]
        kept.setdefault((passed_by[0] or name, kind), (name, kind))
    return {key: found[key] for key in kept.values()}


def _reasons(items: Sequence[Failure]) -> dict[str, Any]:
    """The commonest reason, and where there are several types of error how often each came."""
    titles = Counter(item.reason.title for item in items).most_common(4)
    first = next(item.reason for item in items if item.reason.title == titles[0][0])
    return {"reason": first.shortened(), "errors": titles if len(titles) > 1 else []}


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
        took = math.inf
        if reason.code is ReasonCode.LATE:
            most = min(PATIENCE * reason.seconds, left)
            took = _seconds(seen.reward, row, trial.subject, most)
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
