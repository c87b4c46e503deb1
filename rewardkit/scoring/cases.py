"""Cases: what a reward is expected to give, written by hand; and the check of a reward against them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.errors import CasesError, RewardError, did_you_mean, preview
from rewardkit.html import cards
from rewardkit.primitives.messages import assistant_text
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.files import json_lines
from rewardkit.rollouts.package_data import resolve
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import STATUSES, Outcomes

__all__ = ["Case", "CheckResult", "Expected", "Miss", "assert_cases", "check", "load_cases"]

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
        if isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value)):
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
        return status != "scored" if self.status == "unscored" else status == self.status


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


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

    `what` is "reward" or the component; `got` its score, or its status with the reason.
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

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return (
            f"case {self.case!r}: {self.what} expected {self.expected}, got {self.got} "
            f"(truth {self.ground_truth!r}; {fields or 'no fields'}; completion {self.completion[:200]!r})"
            + (f": {self.why}" if self.why else "")
        )


@dataclass(frozen=True, eq=False)
class CheckResult:
    """The outcome of a check: how many cases passed, and every miss. A case may miss in several places."""

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
        """One row a miss: case, what, expected, got, completion, ground_truth, fields, status, why."""
        return pd.DataFrame(map(vars, self.misses), columns=list(Miss.__dataclass_fields__), dtype=object)

    def record(self) -> dict[str, Any]:
        """The check as plain data: passed, failed, misses."""
        return {
            "passed": self.passed,
            "failed": self.failed,
            "misses": [{**vars(miss)} for miss in self.misses],
            "left_out": dict(self.left_out),
        }

    def _repr_html_(self) -> str:
        return cards.check(self.reward, self.record())

    def __repr__(self) -> str:
        lines = [f"{self.passed} of {len(self.cases)} cases passed for {self.reward!r}"]
        return "\n".join([*lines, *(f"  {miss}" for miss in self.misses)])


def load_cases(source: str | Path | Iterable[Mapping[str, Any]]) -> list[Case]:
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
            raise CasesError(f"there is no case file {str(path)!r}; give a JSONL file with one case a line")
        numbered, origin = [(place.line, raw) for place, raw in json_lines(path)], f"{path}:"
        for line, raw in numbered:
            if not isinstance(raw, Mapping):
                why = raw if isinstance(raw, ValueError) else f"a row is an object, not {preview(raw)}"
                raise CasesError(f"{path}:{line}: {why}; each line is one case as a JSON object")
    else:
        numbered, origin = list(enumerate(source, start=1)), "case "
        for line, raw in numbered:
            if not isinstance(raw, Mapping):
                raise CasesError(
                    f"case {line} is {raw!r}; a case is an object with a completion and what is expected"
                )
    cases = [_case(raw, f"{origin}{line}", line) for line, raw in numbered]
    if not cases:
        raise CasesError(f"{source!s} has no cases; give one a line")
    for name, count in Counter(case.name for case in cases).items():
        if count > 1:
            raise CasesError(
                f"{origin.rstrip(':')}: two cases are called {name!r}; give each a name of its own"
            )
    return cases


CaseSource = str | Path | Iterable[Case | Mapping[str, Any]]


def cases_of(source: CaseSource) -> list[Case]:
    """Cases as they may be given: those of a file, Case objects, or dicts. CasesError as in `load_cases`."""
    if isinstance(source, str | Path):
        return load_cases(source)
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise CasesError(
            f"cases={preview(source)} are no cases; give a list of them, or the path of a case file"
        )
    given = list(source)
    known = [case for case in given if isinstance(case, Case)]
    if len(known) == len(given):
        return known
    return load_cases(given)  # type: ignore[arg-type]  # which says what is wrong with one that is no dict


def _case(raw: Mapping[str, Any], where: str, line: int) -> Case:
    for key in raw:
        if key in (*OWN_KEYS, "score"):
            continue
        if near := get_close_matches(key, OWN_KEYS, n=1, cutoff=0.8):
            raise CasesError(f"{where}: {key!r} is not a key of a case; did you mean {near[0]!r}?")
    tolerance = raw.get("tolerance", TOLERANCE)
    if not _is_number(tolerance) or tolerance < 0:
        raise CasesError(f"{where}: tolerance={tolerance!r} is not a number from 0")
    if "completion" not in raw and "messages" not in raw:
        raise CasesError(f"{where}: a case needs a completion; this one has {list(raw)}")
    scores = raw.get("scores", {})
    if not isinstance(scores, Mapping):
        raise CasesError(f"{where}: scores={scores!r} is not an object of component: expected")
    if "reward" not in raw and not scores:
        raise CasesError(
            f"{where}: a case needs an expectation, 'reward' or 'scores'; this one has {list(raw)}"
        )
    columns = {key: value for key, value in raw.items() if key not in OWN_KEYS}
    columns["completion"] = assistant_text(columns.get("completion", columns.get("messages")))
    return Case(
        name=str(raw.get("name", f"line {line}")),
        columns=columns,
        reward=Expected.read(raw["reward"], tolerance, where) if "reward" in raw else None,
        scores={
            str(name): Expected.read(value, tolerance, f"{where}: {name}") for name, value in scores.items()
        },
        why=str(raw.get("why", "")),
    )


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
    cases, left_out = without(cases_of(cases), {name for name in ignore if name not in reward.names})
    for case in cases:
        for name in case.scores:
            if name not in reward.names:
                raise CasesError(
                    f"case {case.name!r} expects a score of {name!r}; reward {reward.name!r} has "
                    f"{list(reward.names)}{did_you_mean(name, reward.names)}"
                )
        try:
            reward.check_columns(list(case.columns))
        except RewardError as error:
            raise RewardError(f"case {case.name!r}: {error}") from None
    names = list(dict.fromkeys(name for case in cases for name in case.columns))
    columns = {name: [case.columns.get(name) for case in cases] for name in names}
    if not cases:
        return CheckResult(reward.name, (), (), left_out)
    with time_limit(timeout) as limit:
        found = evaluate(reward.bind(columns, len(cases)), columns, limit=limit)
    misses = [miss for row, case in enumerate(cases) for miss in _misses(case, row, found)]
    return CheckResult(reward.name, tuple(cases), tuple(misses), left_out)


def _misses(case: Case, row: int, found: Outcomes) -> Iterator[Miss]:
    """What a case expects and its row did not give."""
    status = {name: found.status(name, row) for name in found.components}
    whole = [(None, case.reward)] if case.reward is not None else []  # no component: the reward
    for name, expected in (*whole, *case.scores.items()):
        value = float(found.rewards[row] if name is None else found.scores[name][row])
        how = status[name] if name else "unscored" if math.isnan(value) else "scored"
        if expected.met_by(value, how):
            continue
        reasons = [found.reason(item, row) for item in ([name] if name else found.components)]
        reason = next((text for text in reasons if text), None)
        yield Miss(
            case.name,
            name or "reward",
            expected.written,
            round(value, 6) if how == "scored" else f"{how} ({reason})" if reason else how,
            str(case.columns.get("completion", "")),
            case.columns.get("ground_truth"),
            {name: values[row] for name, values in found.fields.items()},
            status,
            case.why,
        )


def without(cases: Sequence[Case], ignored: Collection[str]) -> tuple[list[Case], dict[str, int]]:
    """The cases without what they expect of ignored components, and how many expectations went, by component.

    A case that expects nothing more is left out.
    """
    left_out = Counter(name for case in cases for name in case.scores if name in ignored)
    kept = [
        replace(case, scores={name: item for name, item in case.scores.items() if name not in ignored})
        for case in cases
    ]
    return [case for case in kept if case.scores or case.reward is not None], dict(left_out)


def assert_cases(reward: Reward, cases: CaseSource) -> None:
    """Raise an AssertionError that lists every miss; for pytest and for notebooks run by nbval."""
    result = check(reward, cases)
    if result.misses:
        raise AssertionError(repr(result))
