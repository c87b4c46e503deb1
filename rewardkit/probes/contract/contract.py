"""Contract: what a trainer takes for granted of a reward, tried through the way in which it is called.

The same rows give the same rewards, in any order, beside any others, again and in another process; arguments
stay as they were; what is needed is asked for by name; the function can be sent to another process.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rewardkit.findings import Example, Finding
from rewardkit.probes.contract.watching import CHANGED, NAN, varied, watching
from rewardkit.probes.results.failures import ENDED
from rewardkit.probes.results.sentences import most
from rewardkit.probes.runner import Row, Tries
from rewardkit.probes.subjects.declared import by_group
from rewardkit.probes.subjects.subject import Calibration
from rewardkit.rewards.plan import ROLLOUT
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.scoring.calls import LATE
from rewardkit.scoring.deadlines import UNTRIED, TimeLimit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.targets import trl
from rewardkit.targets.adapter import FAMILIAR, OF_DATA, Adapter

__all__ = ["contract"]

ROWS = 12
"""On which the contract is tried. Our choice: two of each kind that rewards usually tell apart, and more."""

PASSES = 12
"""Over the rows, at the most, while all is well."""

CANONICAL = (*OF_DATA, "messages", "rollout_id", "prompt_id")


def contract(
    reward: Reward,
    calibration: Calibration,
    tries: Tries,
    *,
    unsendable: str | None,
    timeout: float | None,
    seed: int = 0,
) -> Iterator[Finding]:
    """What of the contract is broken, one finding a cause, on as many rows as there is time for."""
    if unsendable:
        yield _finding(
            "not_picklable",
            "warn",
            f"cannot be sent to another process, as parallel scoring and time limits need: {unsendable}",
        )
    each = 2 * tries.each  # in one process where there were several
    most = ROWS if each * PASSES * ROWS <= tries.left else int(tries.left / (each * PASSES or 1))
    rows = _rows(calibration, seed)[: max(0, most)]
    if len(rows) < 2 or not any(map(TimeLimit.needed, filter(callable, reward.functions))):
        return  # rewardkit's own functions keep the contract
    seconds = None if unsendable else timeout
    with _one_process(seconds) as limit:
        trial = _Trial(reward, rows, limit)
        differing = trial.repeated(seconds)
        if differing is not None:
            yield differing
        else:
            yield from trial.siblings()
        yield from trial.changed()
        yield from trial.nan_for_none(
            [row for row, got in calibration.pool if not got.judged and not got.failures]
        )
        if differing is None:  # what gives something else in any case does not show what it reads
            yield from trial.undeclared()


def _one_process(seconds: float | None) -> AbstractContextManager[TimeLimit | None]:
    """A process in which one call follows the other, so that what one leaves behind meets the next."""
    return nullcontext() if seconds is None else TimeLimit(seconds, processes=1)


def _rows(calibration: Calibration, seed: int) -> list[Row]:
    """Rows that were judged, with as many different rewards as there are."""
    judged = [
        (outcome.reward, row) for row, outcome in calibration.pool if outcome.judged and not outcome.failures
    ]
    order = np.random.default_rng(seed).permutation(len(judged)).tolist()
    by_reward: dict[float, list[Row]] = {}
    for place in order:
        by_reward.setdefault(judged[place][0], []).append(judged[place][1])
    chosen: list[Row] = []
    while len(chosen) < ROWS and any(by_reward.values()):
        for rows in by_reward.values():
            if rows and len(chosen) < ROWS:
                chosen.append(rows.pop())
    return chosen


@dataclass(eq=False)
class _Trial:
    """A reward and rows that it judges, which are scored in several ways."""

    reward: Reward
    rows: list[Row]
    limit: TimeLimit | None

    def evaluated(
        self, groups: Sequence[Sequence[Row]], reward: Reward | None = None, limit: TimeLimit | None = None
    ) -> tuple[list[float], Outcomes]:
        """The rewards of groups of rows, one call behind the other, and what was found of the last."""
        chosen = reward or self.reward
        rewards: list[float] = []
        for group in groups:
            rows = [copy.deepcopy(dict(row)) for row in group]
            names = list(dict.fromkeys(name for row in rows for name in row))
            columns = {name: [row.get(name) for row in rows] for name in names}
            codes = np.zeros(len(rows), dtype=np.intp)
            plan = chosen.bind(columns, len(rows))
            found = evaluate(plan, columns, groups=codes, limit=limit or self.limit)
            rewards += found.rewards.tolist()
        return rewards, found

    def rewards(self, groups: Sequence[Sequence[Row]], limit: TimeLimit | None = None) -> list[float]:
        """The rewards of groups of rows, one behind the other."""
        return self.evaluated(groups, limit=limit)[0]

    def repeated(self, seconds: float | None) -> Finding | None:
        """What is found where the same rows earn something else afterwards, here or in another process."""
        whole = [self.rows]
        first, second = self.rewards(whole), self.rewards(whole)
        if same(first, second):
            return None
        with _one_process(seconds) as fresh:
            again = self.rewards(whole, fresh)
        places = _differing(first, second)
        count = f"on {len(places)} of {len(self.rows)} rows, by up to {largest(first, second):.3g}"
        state = same(first, again)
        return _finding(
            "hidden_state" if state else "differs_between_calls",
            "high",
            f"keeps something from call to call: the same rows earn something else afterwards, {count}"
            if state
            else f"gives something else for the same rows in every process, {count}: it is random",
            len(self.rows),
            tuple(self._example(place, second[place], first[place]) for place in places[:3]),
        )

    def siblings(self) -> Iterator[Finding]:
        """Whether the order of the rows matters, or which others stand beside them."""
        order = list(reversed(range(len(self.rows))))
        backwards = [[self.rows[place] for place in order]]
        half = [self.rows[: len(self.rows) // 2]]
        alone = [[row] for row in self.rows]
        twice = [[*self.rows, *self.rows]]
        first, turned = self.rewards([self.rows]), self.rewards(backwards)
        turned = [turned[order.index(place)] for place in range(len(self.rows))]
        if not same(first, turned):
            rows = "its siblings" if by_group(self.reward) else "the rows in a batch"
            yield self._other("depends_on_order", f"the order of {rows}", first, turned)
            return
        if by_group(self.reward):
            return
        others = "which other completions stand in its batch"
        for what, way in (
            (others, alone),
            (others, half),
            ("whether the same completion stands in its batch twice", twice),
        ):
            got = self.rewards(way)
            expected = [first[place % len(first)] for place in range(len(got))]
            if not same(got, expected):
                yield self._other("depends_on_siblings", what, expected, got)
                return

    def _other(self, code: str, what: str, first: Sequence[float], other: Sequence[float]) -> Finding:
        places = _differing(first, other)
        return _finding(
            code,
            "high",
            f"gives a completion another reward by {what}: {len(places)} of {len(other)} rows, by up to "
            f"{largest(first, other):.3g}",
            len(other),
            tuple(self._example(place % len(self.rows), other[place], first[place]) for place in places[:3]),
        )

    def _example(self, place: int, got: float, before: float) -> Example:
        row = self.rows[place]
        shown = {name: row[name] for name in ("completion", "ground_truth") if name in row}
        return Example(
            row.get("rollout_id"), shown, got, None, probe="contract", said=f"{got:.6g}, before {before:.6g}"
        )

    @cached_property
    def varied(self) -> list[dict[str, Any]]:
        """The rows in other forms, without those that no call comes back from: watching has no time limit."""
        rows = varied(self.rows)
        if self.limit is None:
            return rows
        with TimeLimit(self.limit.seconds, patience=1, processes=1) as limit:
            _, found = self.evaluated([rows], limit=limit)
        ended = (LATE, UNTRIED, ENDED)
        return [
            row
            for place, row in enumerate(rows)
            if not any(
                mark in (found.reason(name, place) or "") for name in found.components for mark in ended
            )
        ]

    def changed(self) -> Iterator[Finding]:
        """No argument may be changed: the trainer uses it again."""
        rows = [*self.rows, *self.varied]
        for lasting in (False, True):  # of rows by themselves, then of those that only stand in a list
            _, found = self.evaluated([rows], watching(self.reward, lasting=lasting))
            for name, outcome in found.components.items():
                reasons = outcome.reasons
                places = sorted(place for place, reason in reasons.items() if CHANGED in reason)
                if places:
                    what = str(reasons[places[0]])
                    what = what[what.index(CHANGED) :]
                    where = "where several rows come together" if lasting else _share(places, rows)
                    row = rows[places[0]]
                    earned = self.rewards([[row]])[0]
                    yield _finding(
                        "changes_arguments",
                        "high",
                        f"{what}, {where}: the trainer uses the same object again",
                        len(rows),
                        (_shown(row, earned, what),),
                        name if len(self.reward.names) > 1 else None,
                    )
                    return

    def nan_for_none(self, unjudged: Sequence[Row]) -> Iterator[Finding]:
        """A NaN that the trainer takes for ``None``, which may not be what was meant."""
        if not any(isinstance(item, trl.Function) for item in self.reward.functions):
            return
        rows = [*unjudged[:ROWS], *self.varied]
        _, found = self.evaluated([rows], watching(self.reward, nan=True))
        for name, outcome in found.components.items():
            places = sorted(place for place, reason in outcome.reasons.items() if NAN in reason)
            if places:
                yield _finding(
                    "nan_for_none",
                    "warn",
                    f"{NAN} {_share(places, rows)} that were tried: TRL takes it for None, so that these "
                    "completions are left out, neither punished nor paid; return None where that is meant, "
                    "and a number where the completion is bad",
                    len(rows),
                    (_shown(rows[places[0]], math.nan, NAN),),
                    name if len(self.reward.names) > 1 else None,
                )
                return

    def undeclared(self) -> Iterator[Finding]:
        """A column that is read must be asked for by name, or a trainer without it fails late."""
        adapters = [function for function in self.reward.functions if isinstance(function, Adapter)]
        if not adapters or ROLLOUT not in self.reward.needs:
            return
        asked = {*self.reward.needs, *CANONICAL, *FAMILIAR}
        for adapter in adapters:
            asked |= {*adapter.needs, *parameters(adapter.function)}
        others = [
            name for name in dict.fromkeys(name for row in self.rows for name in row) if name not in asked
        ]
        whole = [[row] for row in self.rows]
        if not others:
            return
        first = self.rewards(whole)
        without = self.rewards([[_without(row, others)] for row in self.rows])
        if same(first, without):
            return
        read = []
        for name in others:
            got = self.rewards([[_without(row, [name])] for row in self.rows])
            if not same(first, got):
                read.append(name)
        yield _finding(
            "undeclared_column",
            "warn",
            f"reads columns that it does not ask for by name: {most(read or others)}; without them it gives "
            "something else, or fails",
            len(self.rows),
        )


def _share(places: Sequence[int], rows: Sequence[Row]) -> str:
    return f"on {len(places)} of {len(rows)} rows"


def _shown(row: Row, earned: float, said: str) -> Example:
    """A row that shows a finding, and what it earns."""
    shown = {name: row[name] for name in ("completion",) if name in row}
    return Example(row.get("rollout_id"), shown, earned, None, probe="contract", said=said)


def _without(row: Row, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _differing(first: Sequence[float], second: Sequence[float]) -> list[int]:
    """The places at which they differ."""
    return [place for place in range(len(second)) if not same([first[place]], [second[place]])]


def same(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the rewards are the same, missing ones as well."""
    return len(first) == len(second) and bool(
        np.allclose(first, second, rtol=1e-9, atol=1e-9, equal_nan=True)
    )


def largest(first: Sequence[float], second: Sequence[float]) -> float:
    """The largest difference of two rewards; 0 where one is missing."""
    return max(
        (abs(a - b) for a, b in zip(first, second, strict=False) if not math.isnan(a - b)), default=0.0
    )


def _finding(
    code: str,
    severity: str,
    says: str,
    n: int = 1,
    examples: tuple[Example, ...] = (),
    component: str | None = None,
) -> Finding:
    return Finding(
        code,
        severity,
        component,
        {"kind": "contract", "value": 1.0, "says": says},
        n,
        None,
        family="contract",
        examples=examples,
    )
