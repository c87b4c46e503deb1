"""check(): a reward against cases of what it is expected to give."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import pandas as pd

from rewardkit.errors import CasesError, RewardError, did_you_mean
from rewardkit.html import cards
from rewardkit.html.blocks import Code
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, Page
from rewardkit.plain import PlainRecord, to_plain
from rewardkit.primitives.messages import turns_before
from rewardkit.reasons import Reason
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rewards.route import bind
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.scoring.calls import prepare
from rewardkit.scoring.cases import Case, CaseSource, cases_of
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.prints import caught_prints

CASE_LINE: Final = (
    '{"completion": "...", "ground_truth": "...", "reward": 1.0, "why": "..."}'
)
"""What a line of a case file may look like."""

MOST_CHARACTERS: Final = 200
"""Characters of a completion that the text of a miss quotes."""


@dataclass(frozen=True)
class Miss:
    """An expectation that was not met.

    `what` is "reward" or the component; `got` its score, or its status with the reason.
    `turns` says what a transcript has before its completion. `reason` is the record of
    why there is no score.
    """

    case: str
    what: str
    expected: Any
    got: Any
    completion: str
    ground_truth: Any
    fields: Mapping[str, Any]
    status: Mapping[str, str]
    why: str
    turns: str = ""
    reason: Reason | None = None

    def redacted(self) -> Miss:
        """Return the miss without what its reason quotes."""
        if self.reason is None:
            return self
        reason = self.reason.redacted()
        status = self.status.get(self.what, "unscored")
        return replace(self, got=f"{status} ({reason})", reason=reason)

    def quote(self) -> Any:
        """Return what came instead, as it stands on a page."""
        if self.reason is None:
            return str(self.got)
        return UserText(self.got, str(self.redacted().got))

    def __str__(self) -> str:
        fields: Any = "no fields"
        if self.fields:
            pairs = [f"{name}={value!r}" for name, value in self.fields.items()]
            fields = UserText(", ".join(pairs))
        why = f": {UserText(self.why)}" if self.why else ""
        completion = UserText(repr(self.completion[:MOST_CHARACTERS]))
        return (
            f"case {self.case!r}: {self.what} expected {self.expected}, got "
            f"{self.quote()} (truth {UserText(repr(self.ground_truth))}; {fields}; "
            f"{UserText(self.turns, '')}completion {completion}){why}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class CheckResult(HasPage, PlainRecord):
    """The outcome of a check: how many cases passed, and every miss.

    A case may miss in several places. `left_out` counts by component the expectations
    that were ignored because the reward does not have it.
    """

    IN_RECORD = ("passed", "failed", "misses", "left_out")

    reward: str
    cases: tuple[Case, ...]
    misses: tuple[Miss, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Return the number of cases with at least one miss."""
        return len({miss.case for miss in self.misses})

    @property
    def passed(self) -> int:
        """Return the number of cases that met every expectation."""
        return len(self.cases) - self.failed

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return a table with a row a miss, its columns the attributes of `Miss`."""
        return pd.DataFrame(
            map(vars, self.misses),
            columns=list(Miss.__dataclass_fields__),
            dtype=object,
        )

    def page(self) -> Page:
        """Return how many cases passed, and the misses."""
        if not self.cases:
            title = "No cases were given: write down what the reward must give, and why"
            return Page(title, ["Each is one line of a JSONL file:", Code(CASE_LINE)])
        misses = [{**to_plain(miss), "got": miss.quote()} for miss in self.misses]
        return cards.check_page(self.reward, {**self.record(), "misses": misses})


def check(
    reward: Reward,
    cases: CaseSource,
    *,
    ignore: Collection[str] = (),
    timeout: float | None = None,
) -> CheckResult:
    """Score every case and compare it with what it expects.

    Each case is a group of its own, so that group components abstain. The reward is the
    one before any transform.

    Args:
        reward: what is checked.
        cases: cases, dicts, or a case file, as `load_cases` reads them.
        ignore: components whose expectations are left out where the reward does not
            have them: one case file then serves several versions.
        timeout: seconds for each call of a function that is not rewardkit's own.

    Raises:
        RewardError: a case lacks a column that the reward asks for.
        CasesError: a case expects a score of a component that the reward does not have.
    """
    check_reward(reward, "check")
    usable, left_out = cases_for(reward, cases, ignore)
    if not usable:
        return CheckResult(reward.name, (), (), left_out)
    columns = columns_of(usable)
    prepare(reward.functions)
    with time_limit(timeout) as limit, caught_prints() as printed:
        outcomes = evaluate(bind(reward, columns, len(usable)), columns, limit=limit)
    printed.show()
    misses: list[Miss] = []
    for row, case in enumerate(usable):
        misses += _find_misses(case, row, outcomes)
    return CheckResult(reward.name, tuple(usable), tuple(misses), left_out)


def assert_cases(reward: Reward, cases: CaseSource) -> None:
    """Raise an AssertionError that lists every miss; for pytest and for nbval."""
    result = check(reward, cases)
    if result.misses:
        raise AssertionError(result.text(verbose=True))


def columns_of(cases: Sequence[Case]) -> dict[str, list[Any]]:
    """Return the columns of cases; None where a case does not have one."""
    return lists_of_columns([case.columns for case in cases])


def components_of(cases: Iterable[Case]) -> set[str]:
    """Return the components of which cases expect a score."""
    names: set[str] = set()
    for case in cases:
        names.update(case.scores)
    return names


def cases_for(
    reward: Reward, source: CaseSource, ignore: Collection[str] = ()
) -> tuple[list[Case], dict[str, int]]:
    """Return the cases that a reward can be held to.

    Returns:
        The cases, and by component the number of expectations that `ignore` left out.

    Raises:
        RewardError, CasesError: as in `check`.
    """
    if isinstance(ignore, str) or not isinstance(ignore, Collection):
        raise CasesError(f"ignore={ignore!r} is not a list of names of components")
    ignored = {name for name in ignore if name not in reward.names}
    cases, left_out = _leave_out(cases_of(source), ignored)
    unknown = sorted(components_of(cases) - {*reward.names})
    for case in cases:
        for name in case.scores:
            if name in unknown:
                near = did_you_mean(name, reward.names) if len(unknown) == 1 else ""
                raise CasesError(
                    f"case {case.name!r} expects a score of {name!r}, which reward "
                    f"{reward.name!r} does not have; give cases that were written for "
                    f"it, or leave out what these say of "
                    f"{', '.join(map(repr, unknown))} with ignore=...; it has "
                    f"{list(reward.names)}{near}"
                )
    for case in cases:
        try:
            reward.check_columns(list(case.columns))
        except RewardError as error:
            raise RewardError(f"case {case.name!r}: {error}") from None
    return cases, left_out


def _leave_out(
    cases: Iterable[Case], ignored: Collection[str]
) -> tuple[list[Case], dict[str, int]]:
    """Leave out what cases expect of components, and cases that expect nothing else.

    Returns:
        The other cases, and the number of expectations left out by component.
    """
    left_out: Counter[str] = Counter()
    others = []
    for case in cases:
        scores = dict(case.scores)
        for name in ignored & scores.keys():
            del scores[name]
            left_out[name] += 1
        if scores or case.reward is not None:
            others.append(replace(case, scores=scores))
    return others, dict(left_out)


def _find_misses(case: Case, row: int, outcomes: Outcomes) -> Iterator[Miss]:
    """Find what a case expects and its row did not give, the reward first."""
    status = {name: outcomes.status(name, row) for name in outcomes.components}
    reasons = {name: outcomes.reason(name, row) for name in outcomes.components}
    fields = {name: values[row] for name, values in outcomes.fields.items()}

    reward = float(outcomes.rewards[row])
    reward_status = "unscored" if math.isnan(reward) else "scored"
    reward_reason = next(filter(None, reasons.values()), None)
    expectations = []
    if case.reward is not None:
        expectations.append(
            ("reward", case.reward, reward, reward_status, reward_reason)
        )
    for name, expected in case.scores.items():
        score = float(outcomes.components[name].scores[row])
        expectations.append((name, expected, score, status[name], reasons[name]))
    for name, expected, score, kind, reason in expectations:
        if expected.met_by(score, kind):
            continue
        got: Any = round(score, 6)
        if kind == "scored":
            reason = None
        else:
            got = f"{kind} ({reason})" if reason else kind
        yield Miss(
            case.name,
            name,
            expected.written,
            got,
            str(case.columns.get("completion", "")),
            case.columns.get("ground_truth"),
            fields,
            status,
            case.why,
            turns_before(case.columns.get("messages")),
            reason,
        )
