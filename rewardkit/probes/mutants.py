"""mutants(): whether a case file would notice if the reward were another, and the cases that are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.calling import short
from rewardkit.cases import OWN_KEYS, Case, load_cases
from rewardkit.errors import CasesError, InputError, RewardError, did_you_mean
from rewardkit.evaluation import ROLLOUT, STATUSES, Floats
from rewardkit.limits import CannotLimit
from rewardkit.primitives.gating import Gate
from rewardkit.probes.mutant_results import Difference, Judged, MutantResult
from rewardkit.probes.mutating import Mutant, mutants_of
from rewardkit.probes.proposing import Pool, proposed
from rewardkit.probes.remembering import Hangs, Played, Remembered, Rows, play
from rewardkit.reward import Reward
from rewardkit.rollouts import Rollouts, load_rollouts

__all__ = ["mutants"]

MOST_ROLLOUTS = 2_000
"""That mutants are tried on; of more, so many are drawn with the seed. Our choice: a second or two."""

SHOWN = 3
"""Rows on which a survivor and the reward differ most."""

NAMED = ("completion", "ground_truth")
"""Columns that a proposed case has in any case, where the rollouts have them."""

TRIED = 50
"""Rollouts by which it is decided whether a reward that is given whole rows needs all their columns."""


def mutants(
    reward: Reward,
    cases: Sequence[Case] | Iterable[Mapping[str, Any]] | str | Path,
    rollouts: Rollouts | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]] | None = None,
    *,
    ignore: Collection[str] = (),
    timeout: float | None = None,
    seed: int = 0,
    most: int = MOST_ROLLOUTS,
) -> MutantResult:
    """Change the reward in small ways that matter, one at a time, and see which changes the cases notice.

    A component is left out, not paid, paid with the other sign, constant or turned round; weights are
    swapped; gates open, close and move; scores add up otherwise; extractors take the other match, or do
    without an alternative; tolerances and limits are looser and tighter; in users' own functions, where their
    source is at hand, a comparison, a number, an index or an `and` is another. Of a route each reward is
    changed. What cannot make a difference is not changed (equal weights, the limit of a gate on a score of 0
    or 1); the transform and functions of whole groups are left out, as cases do not see them.

    A mutant is *noticed* when a case misses that holds for the reward, as `check` has it (what a case expects
    of a component that is gone is no miss), when a component raises wherever it scored, or when changed code
    does not end. Of the others those that give another reward on a case or a rollout have *survived*, and
    those that do not are *not told apart*; without rollouts nobody knows, and all others have survived. The
    score is noticed / (noticed + survived). Rewards are those of a row alone, before any transform; of more
    than `most` rollouts so many are drawn with the `seed`.

    Functions are taken to give the same for the same arguments and are called once for them; `ignore` and
    `timeout` are as in `check`, and changed code always runs in worker processes, for 2 s without a timeout.
    RewardError and CasesError as in `check`; RolloutsError as in `load_rollouts`.

    >>> import rewardkit as rk
    >>> right = rk.Component("right", rk.verify.matches, columns={"prediction": "completion"})
    >>> brief = rk.Component("brief", rk.measure.length(full_until=2, zero_from=4), weight=0.5,
    ...                      gate=rk.gate("right", at_least=1.0))
    >>> case, rollout = ({"completion": text, "ground_truth": "Oslo"} for text in ("Oslo", "Rome"))
    >>> result = mutants(rk.Reward("r", components=[right, brief]), [{**case, "reward": 1.5}], [rollout])
    >>> [item.mutant.sentence for item in result.survived if item.mutant.kind == "gate"]
    ["Component 'brief' has no gate."]
    >>> result.proposed_cases[0]["completion"], result.proposed_cases[0]["reward"]
    ('Rome', 0.0)
    """
    if not isinstance(reward, Reward):
        raise RewardError(f"mutants takes a Reward, not {short(reward)}; load or make one first")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"most={most!r} is not a number of rollouts; give a whole number from 1")
    known = _cases(cases, {name for name in ignore if name not in reward.names})
    _check_cases(reward, known)
    rollouts = None if rollouts is None else _drawn(reward, rollouts, most, seed)
    memory = _remembered(reward, timeout)
    with memory:
        return _Trial(reward, known, rollouts, memory).result()


def _cases(
    cases: Sequence[Case] | Iterable[Mapping[str, Any]] | str | Path, ignored: Collection[str]
) -> list[Case]:
    """The cases, without what they expect of ignored components."""
    given: list[Any] = load_cases(cases) if isinstance(cases, str | Path) else list(cases)
    known = given if all(isinstance(case, Case) for case in given) else load_cases(given)
    known = [
        replace(case, scores={name: item for name, item in case.scores.items() if name not in ignored})
        for case in known
    ]
    known = [case for case in known if case.scores or case.reward is not None]
    if not known:
        raise CasesError("there are no cases; give one or more, or the path of a case file")
    return known


def _check_cases(reward: Reward, cases: Sequence[Case]) -> None:
    """CasesError, RewardError: what `check` says of cases that the reward cannot be held to."""
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


def _drawn(reward: Reward, source: Any, most: int, seed: int) -> Rollouts:
    """The rollouts; of many so many, drawn with the seed, in their order."""
    rollouts = source if isinstance(source, Rollouts) else load_rollouts(source)
    reward.check_columns([str(name) for name in rollouts.table.columns])
    if len(rollouts) <= most:
        return rollouts
    drawn = np.random.default_rng(seed).choice(len(rollouts), most, replace=False)
    return rollouts.select(sorted(drawn.tolist()))


def _remembered(reward: Reward, timeout: float | None) -> Remembered:
    functions = [item.on if isinstance(item, Gate) else item for item in reward.functions]
    try:
        return Remembered(timeout, functions)
    except (ValueError, TypeError):
        raise RewardError(f"timeout={timeout!r} is not a time; give seconds above 0, or None") from None


@dataclass(eq=False)
class _Unnoticed:
    """A mutant that no case notices: what it gives for the cases, and for the rollouts if there are any."""

    mutant: Mutant
    of_cases: Played
    of_rollouts: Played | None = None
    reason: str = ""


class _Trial:
    """A reward, what it gives for cases and rollouts, and what its mutants do."""

    def __init__(
        self, reward: Reward, cases: Sequence[Case], rollouts: Rollouts | None, memory: Remembered
    ) -> None:
        self.reward, self.cases, self.rollouts, self.memory = reward, cases, rollouts, memory
        names = list(dict.fromkeys(name for case in cases for name in case.columns))
        columns = {name: [case.columns.get(name) for case in cases] for name in names}
        self.case_rows = Rows.of(columns, len(cases), reward)
        self.on_cases = play(reward, self.case_rows, memory)
        self.met = self._met(self.on_cases)

    def _met(self, played: Played) -> set[tuple[int, str]]:
        """Row and name of every expectation of a case that is met, or is of a component that is not there."""
        met = set()
        for row, case in enumerate(self.cases):
            if case.reward is not None:
                reward = float(played.rewards[row])
                if case.reward.met_by(reward, "unscored" if np.isnan(reward) else "scored"):
                    met.add((row, "reward"))
            for name, expected in case.scores.items():
                scores = played.found.scores.get(name)
                if scores is None or expected.met_by(float(scores[row]), played.status(name, row)):
                    met.add((row, name))
        return met

    def _seen(self) -> dict[str, tuple[float, float]]:
        """The lowest and highest scores of the cases, of components without a declared range."""
        scores = {
            item.name: self.on_cases.found.scores[item.name]
            for item in self.reward.components
            if item.range is None
        }
        judged = {name: values[~np.isnan(values)] for name, values in scores.items()}
        return {
            name: (float(values.min()), float(values.max()))
            for name, values in judged.items()
            if len(values) and values.min() < values.max()
        }

    def result(self) -> MutantResult:
        """What became of each mutant, in their order."""
        made, left_out = mutants_of(self.reward, self._seen())
        unsent: Counter[str] = Counter()
        judged: dict[int, Judged] = {}
        unnoticed: dict[int, _Unnoticed] = {}
        for place, mutant in enumerate(made):
            try:
                found = self._tried(mutant)
            except CannotLimit as error:
                unsent[str(error)] += 1
                continue
            if isinstance(found, Judged):
                judged[place] = found
            else:
                unnoticed[place] = found
        left_out += [f"{count} changes of code: {error}" for error, count in unsent.items()]
        cases = self._of_unnoticed(unnoticed, judged)
        return MutantResult(
            reward=self.reward.name,
            judged=tuple(judged[place] for place in sorted(judged)),
            proposed_cases=tuple(cases),
            cases=len(self.cases),
            rollouts=0 if self.rollouts is None else len(self.rollouts),
            left_out=tuple(left_out),
        )

    def _tried(self, mutant: Mutant) -> Judged | _Unnoticed:
        """Whether the cases notice a mutant; if not, what it gives for cases and rollouts."""
        try:
            played = play(mutant.reward, self.case_rows, self.memory)
        except Hangs as error:
            return Judged(mutant, "noticed", reason=str(error))
        missed = self.met - self._met(played)
        if missed:
            names = dict.fromkeys(self.cases[row].name for row, _ in sorted(missed))
            return Judged(mutant, "noticed", noticed_by=tuple(names))
        if name := self._only_errors(played):
            return Judged(mutant, "noticed", reason=f"component {name!r} raises wherever it scored before")
        if self.rollouts is None:
            return _Unnoticed(mutant, played)
        try:
            return _Unnoticed(mutant, played, play(mutant.reward, self.rollout_rows, self.memory))
        except Hangs as error:
            return _Unnoticed(mutant, played, reason=f"{error}, on a rollout")

    def _only_errors(self, played: Played) -> str:
        """A component that scored cases before, and now is an error on all of these; "" if none is."""
        for name, codes in played.found.statuses.items():
            before = self.on_cases.found.statuses[name] == STATUSES.index("scored")
            if before.any() and (codes[before] == STATUSES.index("error")).all():
                return name
        return ""

    @cached_property
    def rollout_rows(self) -> Rows:
        """The rollouts with the columns that the reward asks for.

        Of one that asks for whole rows, as trainers' functions do, those that decide what it gives: all, or
        those it names where the first rows get the same reward by them alone.
        """
        assert self.rollouts is not None
        named = {*self.reward.needs, *NAMED} - {ROLLOUT}
        if ROLLOUT not in self.reward.needs:
            return self._rows(self.rollouts.columns(), named, len(self.rollouts))
        columns, count = self.rollouts.as_logged(), min(TRIED, len(self.rollouts))
        first = [self._rows(columns, names, count) for names in (named, set(columns))]
        by_few, by_all = (play(self.reward, rows, self.memory) for rows in first)
        return self._rows(columns, set(columns) if by_few.apart(by_all).any() else named, len(self.rollouts))

    def _rows(self, columns: Mapping[str, list[Any]], names: set[str], count: int) -> Rows:
        fit = {name: values[:count] for name, values in columns.items() if name in names}
        return Rows.of(
            {name: fit[name] for name in fit if name in self.reward.needs or _fits(name)}, count, self.reward
        )

    @cached_property
    def on_rollouts(self) -> Played:
        """What the reward gives for the rollouts."""
        return play(self.reward, self.rollout_rows, self.memory)

    def _of_unnoticed(
        self, unnoticed: Mapping[int, _Unnoticed], judged: dict[int, Judged]
    ) -> list[dict[str, Any]]:
        """Judge the mutants that no case notices, and give the fewest cases that would notice them."""
        told_by_rollouts: dict[int, Floats] = {}
        told_by_cases: dict[int, Floats] = {}
        for place, item in unnoticed.items():
            of_cases = self.on_cases.apart(item.of_cases)
            of_rollouts = self.on_rollouts.apart(item.of_rollouts) if item.of_rollouts else np.zeros(0)
            if of_rollouts.any():
                told_by_rollouts[place] = of_rollouts
            elif of_cases.any():
                told_by_cases[place] = of_cases
            differs = bool(of_rollouts.any() or of_cases.any() or item.reason)
            judged[place] = Judged(
                item.mutant,
                "survived" if differs or self.rollouts is None else "not told apart",
                reason=item.reason,
                differs=int((of_rollouts > 0).sum()),
            )
        cases = self._proposed(told_by_rollouts, unnoticed, judged, True) if told_by_rollouts else []
        return [*cases, *(self._proposed(told_by_cases, unnoticed, judged, False) if told_by_cases else [])]

    def _proposed(
        self,
        told: Mapping[int, Floats],
        unnoticed: Mapping[int, _Unnoticed],
        judged: dict[int, Judged],
        of_rollouts: bool,
    ) -> list[dict[str, Any]]:
        """Cases for mutants that rollouts, or cases, tell apart; they and the rows are noted in `judged`."""
        rows, played = (
            (self.rollout_rows, self.on_rollouts) if of_rollouts else (self.case_rows, self.on_cases)
        )
        errors = np.zeros(rows.count, dtype=bool)
        for codes in played.found.statuses.values():
            errors |= codes == STATUSES.index("error")
        columns = {name: values for name, values in rows.columns.items() if name != ROLLOUT}
        allowed = ~errors & all(map(_fits, columns))
        if not of_rollouts:
            allowed &= [
                case.reward is None or (row, "reward") in self.met for row, case in enumerate(self.cases)
            ]
        pool = Pool(columns, played, allowed)
        others = [
            item.of_rollouts if of_rollouts else item.of_cases for item in map(unnoticed.__getitem__, told)
        ]
        sentences = [unnoticed[place].mutant.sentence for place in told]
        apart = np.stack(list(told.values()))  # (mutants, rows)
        cases, case_of = proposed(pool, apart, [item for item in others if item is not None], sentences)
        for place, away, other, at in zip(told, apart, others, case_of, strict=True):
            rows_apart: list[int] = np.flatnonzero(away > 0).tolist()
            order = sorted(rows_apart, key=lambda row: (-away[row], len(pool.text(row)), row))
            differences = tuple(self._difference(row, pool, other, of_rollouts) for row in order[:SHOWN])
            case = None if at is None else cases[at]
            judged[place] = replace(judged[place], differences=differences, case=case)
        return cases

    def _difference(self, row: int, pool: Pool, other: Played | None, of_rollouts: bool) -> Difference:
        assert other is not None
        rollout_id = self.rollouts[row]["rollout_id"] if of_rollouts and self.rollouts is not None else None
        return Difference(
            rollout_id=rollout_id,
            case="" if of_rollouts else self.cases[row].name,
            reward=float(pool.played.rewards[row]),
            mutant_reward=float(other.rewards[row]),
            completion=pool.text(row),
        )


def _fits(name: str) -> bool:
    """Whether a column can stand in a case, where some names are what is expected."""
    try:
        load_cases([{"completion": "", "reward": 0.0, name: ""}])
    except CasesError:
        return False
    return name not in OWN_KEYS
