"""check(): compare a reward with the expectations of cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rewardkit.errors import CasesError, RewardError
from rewardkit.primitives.messages import turns_before
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rewards.route import bind
from rewardkit.scoring.calls import prepare
from rewardkit.scoring.cases import WHOLE, Case, CaseSource, cases_of
from rewardkit.scoring.check_result import (
    ABOVE,
    BELOW,
    DROPPED,
    EQUAL,
    MORE,
    REWARD,
    SAME,
    CheckResult,
    Miss,
    Undecided,
)
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.expectations import (
    Expectation,
    PartOutcome,
    columns_of,
    expectations_of,
    numbered,
)
from rewardkit.scoring.expected import ROUNDING
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.prints import caught_prints


def check(
    reward: Reward,
    cases: CaseSource,
    *,
    ignore: Collection[str] = (),
    timeout: float | None = None,
) -> CheckResult:
    """Score every case and compare the scores with its expectations.

    Each case is a group of its own, so group components abstain. The reward is compared
    before any transform. A case whose `why` begins with TODO is undecided: it is scored
    and shown, and neither passes nor fails.

    Args:
        reward: The reward to check.
        cases: Cases, dicts, or a case file, as `load_cases` reads them.
        ignore: Components that the reward may lack: their expectations are left out, so
            one case file serves several versions. Expectations of other components that
            the reward lacks are `unknown`.
        timeout: Seconds for each call of a user's function.

    Raises:
        RewardError: A case lacks a column that the reward needs.
        CasesError: The cases cannot be read.
    """
    check_reward(reward, "check")
    usable, left_out, unknown = cases_for(reward, cases, ignore)
    result = CheckResult(
        reward.name,
        tuple(usable),
        (),
        left_out,
        unknown=unknown,
        components=tuple(reward.names),
    )
    if not usable:
        return result
    outcomes = evaluate_cases(reward, usable, timeout)
    misses = []
    for expectation in expectations_of(usable):
        if not expectation.is_met(outcomes):
            misses.append(_describe_miss(expectation, outcomes))
    to_decide = []
    for case, row in numbered(usable):
        if case.is_undecided:
            to_decide.append(_describe_undecided(case, row, outcomes))
    return replace(result, misses=tuple(misses), to_decide=tuple(to_decide))


def evaluate_cases(
    reward: Reward, cases: Sequence[Case], timeout: float | None
) -> Outcomes:
    """Score the completions of cases; the rows are those of `columns_of`."""
    columns = columns_of(cases)
    prepare(reward.functions)
    rows = sum(len(case.rows) for case in cases)
    with time_limit(timeout) as limit, caught_prints() as printed:
        outcomes = evaluate(bind(reward, columns, rows), columns, limit=limit)
    printed.show()
    return outcomes


def assert_cases(reward: Reward, cases: CaseSource) -> None:
    """Raise an AssertionError that lists every miss, for pytest and nbval.

    Cases of a component that the reward lacks are misses, too; undecided cases are not.
    """
    result = check(reward, cases)
    if not result.is_met:
        raise AssertionError(result.text(verbose=True))


def components_of(cases: Iterable[Case]) -> set[str]:
    """Return the components with expectations in cases."""
    names: set[str] = set()
    for case in cases:
        names.update(case.parts)
    return names - {WHOLE}


class UsableCases(NamedTuple):
    """The cases that a reward can be checked with, and what was left out.

    By component that the reward lacks, `left_out` counts the ignored expectations and
    `unknown` names the cases with other expectations.
    """

    cases: list[Case]
    left_out: dict[str, int]
    unknown: dict[str, tuple[str, ...]]


def cases_for(
    reward: Reward, source: CaseSource, ignore: Collection[str]
) -> UsableCases:
    """Return the cases without expectations of components that the reward lacks.

    Cases without other expectations are left out.

    Raises:
        RewardError, CasesError: As in `check`.
    """
    if isinstance(ignore, str) or not isinstance(ignore, Collection):
        raise CasesError(f"ignore={ignore!r} is not a list of names of components")
    left_out: Counter[str] = Counter()
    unknown: dict[str, list[str]] = {}
    usable = []
    for case in cases_of(source):
        missing = set(case.parts) - {WHOLE, *reward.names}
        for name in sorted(missing):
            if name in ignore:
                left_out[name] += 1
            else:
                unknown.setdefault(name, []).append(case.name)
        if not missing:
            usable.append(case)
        elif case.below is None and set(case.parts) - missing:
            scores = {
                name: expected
                for name, expected in case.scores.items()
                if name not in missing
            }
            usable.append(replace(case, scores=scores))
    for case in usable:
        for columns in case.rows:
            try:
                reward.check_columns(list(columns))
            except RewardError as error:
                raise RewardError(f"case {case.name!r}: {error}") from None
    names_by_component = {name: tuple(cases) for name, cases in unknown.items()}
    return UsableCases(usable, dict(left_out), names_by_component)


def _describe_miss(item: Expectation, outcomes: Outcomes) -> Miss:
    """Describe an expectation that the outcomes do not meet."""
    case = item.case
    outcome = PartOutcome.of(outcomes, item.part, item.row)
    got = outcome.value
    reason = outcome.reason
    proposed = _propose(item, outcome)
    below = ""
    expected: Any = SAME if case.is_equal else MORE
    if item.expected is not None:
        expected = item.expected.written
    if item.below is not None:
        other = PartOutcome.of(outcomes, item.part, item.below)
        got = f"{got}, below {other.value}"
        reason = reason or other.reason
        proposed = _propose_order(outcome.score - other.score)
        below = _completion_of(case.rows[1])
    return Miss(
        case.name,
        item.part or REWARD,
        expected,
        got,
        _completion_of(case.columns),
        case.columns.get("ground_truth"),
        {name: values[item.row] for name, values in outcomes.fields.items()},
        {name: outcomes.status(name, item.row) for name in outcomes.components},
        case.why,
        turns_before(case.columns.get("messages")),
        reason,
        below,
        proposed,
    )


def _propose_order(difference: float) -> str | None:
    """Return which of two completions is better by score, None if they tie."""
    if difference > ROUNDING:
        return ABOVE
    return BELOW if difference < -ROUNDING else None


def _propose(item: Expectation, outcome: PartOutcome) -> Any:
    """Return the expectation that the outcome would meet, None for an error."""
    if outcome.is_error or item.expected is None:
        return None
    written = item.expected.written
    if not isinstance(written, list) or outcome.status != "scored":
        return outcome.plain
    half = (item.expected.high - item.expected.low) / 2
    return [round(outcome.score - half, 6), round(outcome.score + half, 6)]


def _describe_undecided(case: Case, row: int, outcomes: Outcomes) -> Undecided:
    """Describe the present scores of an undecided case."""
    outcome = PartOutcome.of(outcomes, case.component, row)
    got, below = outcome.value, ""
    choices: tuple[Any, ...] = (outcome.plain, DROPPED)
    if case.below is not None:
        other = PartOutcome.of(outcomes, case.component, row + 1)
        got = f"{got}, below {other.value}"
        below = _completion_of(case.below)
        choices = (ABOVE, BELOW, EQUAL, DROPPED)
    elif outcome.is_error:
        choices = (DROPPED,)
    return Undecided(
        case.name,
        case.component or REWARD,
        got,
        _completion_of(case.columns),
        below,
        case.columns.get("ground_truth"),
        case.why,
        choices,
    )


def _completion_of(columns: Mapping[str, Any]) -> str:
    return str(columns.get("completion", ""))
