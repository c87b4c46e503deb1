"""Rewards that fail, abstain or score the same on everything, or fail on some rows."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.findings import Example, Finding
from rewardkit.probes.results.evidence import Observed, make_finding, row_example
from rewardkit.probes.runner import RowOutcome, Tries, are_equal
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import HIGH_RISK
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.strategies.subject import Row

OF_LOG = "rollout"
"""Name in place of a probe's for rows of the log."""

BEYOND_PROBES = "completion"
"""The same for rows that the search or the contract tried."""

FAILURE_CODES = {
    ReasonCode.LATE: "hang",
    ReasonCode.PROCESS_ENDED: "dies",
    ReasonCode.OUT_OF_RANGE: "out_of_range",
    ReasonCode.NOT_FINITE: "not_finite",
    ReasonCode.WRONG_LENGTH: "wrong_length",
    ReasonCode.WRONG_TYPE: "wrong_type",
    ReasonCode.NOT_A_LIST: "wrong_type",
}
"""Code of the reason of a failure -> code of the finding; of others "raises"."""

ALWAYS_CODES = {"hang": "always_late", "raises": "always_errors"}
MODE_CODES = {"deaf": "ignores_truth", "inverted": "inverted"}

ALWAYS_FAILING = (
    "always_errors",
    "always_abstains",
    "always_late",
    "wrong_length",
    "wrong_type",
    "not_finite",
)
"""Findings of a reward that judges no row."""


@dataclass(frozen=True)
class Failure:
    """A row on which a component failed.

    `probe` is the probe that wrote the row, `outcome` what it got.
    """

    probe: str
    row: Row
    outcome: RowOutcome
    reason: Reason

    @property
    def code(self) -> str:
        """The code of the finding that it is reported by."""
        return FAILURE_CODES.get(self.reason.code, "raises")

    def example(self, columns: Row | None = None) -> Example:
        """Make an example with these columns, or the usual ones."""
        reason = self.reason.shortened()
        example = row_example(
            self.row, self.outcome.reward, self.probe, str(reason), columns
        )
        return replace(example, reason=reason)


# --- on everything


def find_overall(calibration: Calibration, tries: Tries) -> Finding | None:
    """Find that a reward fails, abstains or scores the same everywhere.

    One that is deaf to the truth or upside down is found as well. Such a finding says
    all that there is to say of what is paid.
    """
    if not calibration.pool:
        return None
    outcomes = [outcome for _, outcome in calibration.pool]
    has_failed = any(outcome.failures for outcome in outcomes)
    if not calibration.rewards:
        return _find_unjudged(calibration, has_failed)
    modes = {*calibration.modes.values()}
    if are_equal(tries.rewards) and not has_failed and not modes & {"slow", "unknown"}:
        count = len(tries.rewards)
        return make_finding(
            "constant",
            "calibration",
            count,
            severity="high",
            examples=[_first_example("constant", calibration)],
            value=calibration.rewards[0],
            unjudged=tries.calls - count,
        )
    if calibration.mode in MODE_CODES:
        code = MODE_CODES[calibration.mode]
        return make_finding(code, "calibration", tries.calls, severity="high")
    return None


def _find_unjudged(calibration: Calibration, has_failed: bool) -> Finding:
    """Report a reward that judges no row, by its commonest reason."""
    code, family = "always_abstains", "calibration"
    why: Reason | str = "no component is for these rows"
    reasons: Counter[Reason] = Counter()
    for _, outcome in calibration.pool:
        reasons.update(outcome.errors.values())
    if reasons:
        ((reason, _),) = reasons.most_common(1)
        why = reason.shortened()
        if has_failed:
            code = FAILURE_CODES.get(reason.code, "raises")
            family = "calibration" if code in ALWAYS_CODES else "contract"
            code = ALWAYS_CODES.get(code, code)
    return make_finding(
        code,
        family,
        len(calibration.pool),
        severity="high",
        examples=[_first_example(code, calibration)],
        reason=why,
    )


def _first_example(code: str, calibration: Calibration) -> Example:
    """Show a finding by the first rollout, as any other would do."""
    row, outcome = calibration.pool[0]
    for reason in outcome.errors.values():
        return Failure(code, row, outcome, reason).example()
    return row_example(row, outcome.reward, code, "")


def find_in_parts(calibration: Calibration, calls: int) -> Iterator[Finding]:
    """Find parts that are deaf to the truth, upside down, or constant."""
    for part, mode in calibration.modes.items():
        if mode in MODE_CODES:
            code = MODE_CODES[mode]
            yield make_finding(code, "calibration", calls, severity="high", part=part)
    for part, (reward, count) in calibration.constants.items():
        yield make_finding(
            "constant", "calibration", count, severity="high", part=part, value=reward
        )


# --- on some of what was tried

Failures = Mapping[tuple[str, str], Sequence[Failure]]
"""Component and code -> the failures."""


def find_failures(
    trials: Sequence[Trial],
    others: Sequence[tuple[Row, RowOutcome]],
    calls: int,
    observed: Observed,
) -> Iterator[Finding]:
    """Find what raised, or gave no score: one finding a component and code.

    Args:
        trials: All trials.
        others: Rows that failed beside those of trials and the log.
        calls: How many calls these rows are of.
        observed: What was observed of the reward.
    """
    rows = [(OF_LOG, *pair) for pair in observed.calibration.pool]
    rows += [(BEYOND_PROBES, *pair) for pair in others]
    for trial in trials:
        if observed.has_truth(trial.attempt):
            rows += _rows_of(trial, observed)
    failures: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for probe, row, outcome in rows:
        for component, reason in outcome.failures.items():
            failure = Failure(probe, row, outcome, reason)
            failures[component, failure.code].append(failure)
    count = len(rows) + calls - len(others)
    for (component, code), group in _drop_passed_on(failures).items():
        in_log = any(failure.probe == OF_LOG for failure in group)
        is_frequent = len(group) >= HIGH_RISK * count
        is_fatal = code in ("hang", "dies", "wrong_length")
        yield report_failures(
            code,
            count,
            len(group),
            group,
            observed,
            severity="high" if in_log or is_frequent or is_fatal else "warn",
            component=component,
            what=f"{len(group)} of {count} completions that were tried",
        )


def _rows_of(trial: Trial, observed: Observed) -> Iterator[tuple[str, Row, RowOutcome]]:
    outcomes = zip(trial.attempt.rows, trial.outcomes, strict=True)
    for (text, columns), outcome in outcomes:
        if outcome is not None:
            row = observed.variants.of(trial.subject.columns, text, **columns)
            yield trial.probe.name, row, outcome


def report_failures(
    code: str,
    tried: int,
    found: int,
    failures: Sequence[Failure],
    observed: Observed,
    **evidence: Any,
) -> Finding:
    """Make a finding, with the shortest completion of each type of error."""
    longest_first = sorted(
        failures,
        key=lambda failure: len(str(failure.row.get("completion"))),
        reverse=True,
    )
    shortest = {failure.reason.title: failure for failure in longest_first}
    titles = Counter(failure.reason.title for failure in failures).most_common(4)
    commonest = next(
        failure.reason for failure in failures if failure.reason.title == titles[0][0]
    )
    return observed.finding(
        code,
        "hang" if code in ("hang", "slow") else "contract",
        tried,
        found,
        examples=[
            failure.example(observed.shown_columns(failure.row))
            for failure in shortest.values()
        ],
        reason=commonest.shortened(),
        errors=titles if len(titles) > 1 else [],
        seconds=failures[0].reason.seconds or math.nan,
        **evidence,
    )


def _drop_passed_on(failures: Failures) -> Failures:
    """Drop failures of components that only pass on what the same field did."""
    origins: dict[tuple[str, str], tuple[str, str]] = {}
    for component, code in failures:
        passed_by = [*failures[component, code][0].reason.passed_by, component]
        origin = passed_by[0] or component
        origins.setdefault((origin, code), (component, code))
    return {key: failures[key] for key in origins.values()}
