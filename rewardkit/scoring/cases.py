"""Cases: what a reward is expected to give, written by hand; and the check of a reward against them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.errors import CasesError, RewardError, did_you_mean, preview
from rewardkit.html import cards
from rewardkit.html.blocks import Code
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, Page
from rewardkit.plain import PlainRecord, to_plain
from rewardkit.primitives.messages import assistant_text, turns_before
from rewardkit.reasons import Reason
from rewardkit.rewards.plan import bind
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.files import json_lines
from rewardkit.rollouts.paths import resolve
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.engines import prepare
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import STATUSES, Outcomes
from rewardkit.scoring.printed import caught_prints

TOLERANCE = 0.01
OWN_KEYS = ("name", "why", "reward", "scores", "tolerance")
UNSCORED = ("unscored", *STATUSES[1:])


@dataclass(frozen=True)
class Expected:
    """An expectation: a range [low, high], or a status ("unscored" stands for any but scored)."""

    low: float = math.nan
    high: float = math.nan
    status: str = "scored"
    written: Any = None

    @classmethod
    def read(cls, value: Any, tolerance: float, where: str) -> Expected:
        """From a number (± tolerance), [low, high] or "unscored"/"gated"/"abstained"/"error".

        CasesError: anything else.
        """
        if isinstance(value, str) and value in UNSCORED:
            return cls(status=value, written=value)
        if _is_number(value):
            return cls(value - tolerance, value + tolerance, written=value)
        if (
            isinstance(value, list | tuple)
            and len(value) == 2
            and all(map(_is_number, value))
        ):
            if value[0] <= value[1]:
                return cls(value[0], value[1], written=list(value))
        raise CasesError(
            f"{where} expects {value!r}; write a number, a range [low, high], or one of {', '.join(UNSCORED)}"
        )

    def met_by(self, score: float, status: str) -> bool:
        """Whether a score with this status is what was expected.

        Rounding in the last digits of a float is no miss.
        """
        if self.status == "scored":
            return status == "scored" and self.low - 1e-9 <= score <= self.high + 1e-9
        return (
            status != "scored" if self.status == "unscored" else status == self.status
        )


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


@dataclass(frozen=True)
class Case:
    """One completion with its columns and what a reward is expected to give.

    `reward`, or `scores` by component, or both.
    """

    name: str
    columns: Mapping[str, Any]
    reward: Expected | None = None
    scores: Mapping[str, Expected] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Miss:
    """An expectation that was not met.

    `what` is "reward" or the component; `got` its score, or its status with the reason. `turns` says what a
    transcript has before its completion. `reason` is the record of why there is no score.
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
        """The miss without what a function or the completion said in its reason."""
        if self.reason is None:
            return self
        reason = self.reason.redacted()
        status = self.status.get(self.what, "unscored")
        return replace(self, got=f"{status} ({reason})", reason=reason)

    def quote(self) -> Any:
        """Return what came instead, as it stands on a page."""
        if self.reason is None:
            return self.got
        return UserText(self.got, str(self.redacted().got))

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.fields.items())
        why = f": {UserText(self.why)}" if self.why else ""
        return (
            f"case {self.case!r}: {self.what} expected {self.expected}, got "
            f"{self.quote()} (truth {UserText(repr(self.ground_truth))}; "
            f"{UserText(fields) if fields else 'no fields'}; {UserText(self.turns, '')}"
            f"completion {UserText(repr(self.completion[:200]))}){why}"
        )


CASE_LINE = '{"completion": "...", "ground_truth": "...", "reward": 1.0, "why": "..."}'
"""What a line of a case file may look like."""


@dataclass(frozen=True, eq=False)
class CheckResult(HasPage, PlainRecord):
    """The outcome of a check: how many cases passed, and every miss. A case may miss in several places."""

    IN_RECORD = (
        "passed",
        "failed",
        "misses",
        "left_out",
    )

    reward: str
    cases: tuple[Case, ...]
    misses: tuple[Miss, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Component -> number of expectations that were left out, because the reward does not have it.

    See `check`.
    """

    @property
    def failed(self) -> int:
        """Number of cases with at least one miss."""
        return len({miss.case for miss in self.misses})

    @property
    def passed(self) -> int:
        """Number of cases that met every expectation."""
        return len(self.cases) - self.failed

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a miss: case, what, expected, got, completion, ground_truth, fields, status, why, turns."""
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

    def __repr__(self) -> str:
        lines = [f"{self.passed} of {len(self.cases)} cases passed for {self.reward!r}"]
        return "\n".join([*lines, *(f"  {miss}" for miss in self.misses)])


CaseSource = str | Path | Iterable[Case | Mapping[str, Any]]


def load_cases(source: CaseSource) -> list[Case]:
    """Cases from a JSONL file, dicts, or "gallery:arithmetic" for the bundled ones.

    Keys: any column (`completion`, `ground_truth` ...), `reward` and `scores` with what is expected (a
    number, a range [low, high], or "unscored", "gated", "abstained", "error"), `tolerance` of the numbers
    (default 0.01), `name` and `why`. CasesError: no such file, a broken line, a case without completion or
    expectation, a name twice.

    >>> load_cases([{"completion": "4", "ground_truth": "4", "reward": 1.0}])[0].reward.low
    0.99
    """
    if isinstance(source, str | Path):
        path = resolve(source, "cases.jsonl")
        if not path.is_file():
            raise CasesError(
                f"there is no case file {str(path)!r}; give a JSONL file with one case a line"
            )
        cases = []
        for place, raw in json_lines(path):
            if not isinstance(raw, Mapping):
                why = (
                    raw
                    if isinstance(raw, ValueError)
                    else f"a row is an object, not {preview(raw)}"
                )
                raise CasesError(
                    f"{path}:{place.line}: {why}; each line is one case as a JSON object"
                )
            cases.append(_case(raw, f"{path}:{place.line}", place.line))
    else:
        path = None
        cases = [
            _case(raw, f"case {line}", line)
            for line, raw in enumerate(_several(source), start=1)
        ]
    if not cases:
        raise CasesError(f"{source!s} has no cases; give one a line")
    ((name, count),) = Counter(case.name for case in cases).most_common(1)
    if count > 1:
        raise CasesError(
            f"{path or 'case'}: two cases are called {name!r}; give each a name of its own"
        )
    return cases


def cases_of(source: CaseSource) -> list[Case]:
    """Cases as they may be given: those of a file, Case objects, or dicts. CasesError as in `load_cases`."""
    given = source if isinstance(source, str | Path) else _several(source)
    if isinstance(given, list) and all(isinstance(case, Case) for case in given):
        return given
    return load_cases(given)


def _several(source: Any) -> list[Any]:
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise CasesError(
            f"cases={preview(source)} are no cases; give a list of them, or the path of a case file"
        )
    return list(source)


def _case(raw: Any, where: str, line: int) -> Case:
    if isinstance(raw, Case):
        return raw
    if not isinstance(raw, Mapping):
        raise CasesError(
            f"{where} is {raw!r}; a case is an object with a completion and what is expected"
        )
    for key in raw:
        near = _near(str(key))
        if near and key not in (*OWN_KEYS, "score"):
            raise CasesError(
                f"{where}: {key!r} is not a key of a case; did you mean {near[0]!r}?"
            )
    tolerance, scores = raw.get("tolerance", TOLERANCE), raw.get("scores", {})
    if not _is_number(tolerance) or tolerance < 0:
        raise CasesError(f"{where}: tolerance={tolerance!r} is not a number from 0")
    raw = {**raw, **_renamed(raw)}
    if "completion" not in raw and "messages" not in raw:
        raise CasesError(
            f"{where}: a case needs a completion; this one has {list(raw)}"
        )
    if not isinstance(scores, Mapping):
        raise CasesError(
            f"{where}: scores={scores!r} is not an object of component: expected"
        )
    if "reward" not in raw and not scores:
        raise CasesError(
            f"{where}: a case needs an expectation, 'reward' or 'scores'; this one has {list(raw)}"
        )
    columns = {str(key): value for key, value in raw.items() if key not in OWN_KEYS}
    columns["completion"] = assistant_text(
        columns.get("completion", columns.get("messages"))
    )
    return Case(
        name=str(raw.get("name", f"line {line}")),
        columns=columns,
        reward=Expected.read(raw["reward"], tolerance, where)
        if "reward" in raw
        else None,
        scores={
            str(name): Expected.read(value, tolerance, f"{where}: {name}")
            for name, value in scores.items()
        },
        why=str(raw.get("why", "")),
    )


def _renamed(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What a case has under another name of a log, as a row of one that is copied has it."""
    text = [] if "messages" in raw else ["completion"]
    lacking = [name for name in ("prompt", *text, "ground_truth") if name not in raw]
    taken = {
        name: next((other for other in ALIASES[name] if other in raw), None)
        for name in lacking
    }
    return {name: raw[other] for name, other in taken.items() if other is not None}


def cases_for(
    reward: Reward, source: CaseSource, ignore: Collection[str] = ()
) -> tuple[list[Case], dict[str, int]]:
    """The cases that a reward can be held to, and how many expectations `ignore` left out, by component.

    RewardError, CasesError: as in `check`.
    """
    if isinstance(ignore, str) or not isinstance(ignore, Collection):
        raise CasesError(f"ignore={ignore!r} is not a list of names of components")
    cases, left_out = without(
        cases_of(source), {name for name in ignore if name not in reward.names}
    )
    unknown = [
        (case, name)
        for case in cases
        for name in case.scores
        if name not in reward.names
    ]
    if unknown:
        case, name = unknown[0]
        rest = sorted({name for _, name in unknown})
        near = did_you_mean(name, reward.names) if len(rest) == 1 else ""
        raise CasesError(
            f"case {case.name!r} expects a score of {name!r}, which reward {reward.name!r} does not have; "
            f"give cases that were written for it, or leave out what these say of "
            f"{', '.join(map(repr, rest))} with ignore=...; it has {list(reward.names)}{near}"
        )
    for case in cases:
        try:
            reward.check_columns(list(case.columns))
        except RewardError as error:
            raise RewardError(f"case {case.name!r}: {error}") from None
    return cases, left_out


@cache
def _near(key: str) -> list[str]:
    """The key of a case that one may be a slip of."""
    return get_close_matches(key, OWN_KEYS, n=1, cutoff=0.8)


def check(
    reward: Reward,
    cases: CaseSource,
    *,
    ignore: Collection[str] = (),
    timeout: float | None = None,
) -> CheckResult:
    """Score every case (or those of a file), each as a group of its own, and compare with what it expects.

    That is the reward before any transform, and group components abstain. Expectations of a component in
    `ignore` are left out where the reward does not have it: one case file then serves several versions.
    `timeout` bounds each call of a function that is not rewardkit's own, as in `score`.
    RewardError: a case lacks a column that the reward asks for; CasesError: one expects a score of a
    component that the reward does not have.
    """
    check_reward(reward, "check")
    cases, left_out = cases_for(reward, cases, ignore)
    if not cases:
        return CheckResult(reward.name, (), (), left_out)
    names = dict.fromkeys(name for case in cases for name in case.columns)
    columns = {name: [case.columns.get(name) for case in cases] for name in names}
    prepare(reward)
    with time_limit(timeout) as limit, caught_prints() as printed:
        outcomes = evaluate(bind(reward, columns, len(cases)), columns, limit=limit)
    printed.show()
    misses = [
        miss for row, case in enumerate(cases) for miss in _misses(case, row, outcomes)
    ]
    return CheckResult(reward.name, tuple(cases), tuple(misses), left_out)


def _misses(case: Case, row: int, outcomes: Outcomes) -> Iterator[Miss]:
    """What a case expects and its row did not give."""
    status = {name: outcomes.status(name, row) for name in outcomes.components}
    whole = {} if case.reward is None else {"": case.reward}  # no component: the reward
    for name, expected in (whole | dict(case.scores)).items():
        value = float(
            outcomes.components[name].scores[row] if name else outcomes.rewards[row]
        )
        how = status[name] if name else "unscored" if math.isnan(value) else "scored"
        if expected.met_by(value, how):
            continue
        reasons = [outcomes.reason(item, row) for item in ([name] if name else status)]
        reason = next(filter(None, reasons), None)
        yield Miss(
            case.name,
            name or "reward",
            expected.written,
            round(value, 6)
            if how == "scored"
            else f"{how} ({reason})"
            if reason
            else how,
            str(case.columns.get("completion", "")),
            case.columns.get("ground_truth"),
            {name: values[row] for name, values in outcomes.fields.items()},
            status,
            case.why,
            turns_before(case.columns.get("messages")),
            None if how == "scored" else reason,
        )


def components_of(cases: Iterable[Case]) -> set[str]:
    """The components of which cases expect a score."""
    return {name for case in cases for name in case.scores}


def without(
    cases: Sequence[Case], ignored: Collection[str]
) -> tuple[list[Case], dict[str, int]]:
    """The cases without what they expect of ignored components, and how many expectations went, by component.

    A case that expects nothing more is left out.
    """
    left_out = Counter(
        name for case in cases for name in case.scores if name in ignored
    )
    kept = [
        replace(
            case,
            scores={
                name: item for name, item in case.scores.items() if name not in ignored
            },
        )
        for case in cases
    ]
    return [case for case in kept if case.scores or case.reward is not None], dict(
        left_out
    )


def assert_cases(reward: Reward, cases: CaseSource) -> None:
    """Raise an AssertionError that lists every miss; for pytest and for notebooks run by nbval."""
    result = check(reward, cases)
    if result.misses:
        raise AssertionError(repr(result))
