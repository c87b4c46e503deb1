"""Trial: a reward's mutants on cases and rollouts, as many of each as there is time for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardkit.errors import CasesError
from rewardkit.findings import counted
from rewardkit.probes.mutants.missing_cases import Pool, proposed
from rewardkit.probes.mutants.mutating import Mutant, mutants_of
from rewardkit.probes.mutants.remembering import BudgetOver, Hangs, Played, Remembered, Rows, as_many, play
from rewardkit.probes.mutants.results import Difference, Judged, MutantResult
from rewardkit.rewards.plan import ROLLOUT, Floats
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import OWN_KEYS, Case, load_cases
from rewardkit.scoring.deadlines import CannotLimit
from rewardkit.scoring.outcomes import STATUSES

__all__ = ["Trial"]

SHOWN = 3
"""Rows on which a survivor and the reward differ most."""

NAMED = ("completion", "ground_truth")
"""Columns that a proposed case has in any case, where the rollouts have them."""

TRIED = 50
"""Rollouts by which it is decided whether a reward that is given whole rows needs all their columns, and
whether one that judges no case judges anything."""

FOR_CASES = 0.5
"""Part of the budget that the reward's own pass over the cases may take. Our choice."""

FOR_NOTICING = 0.7
"""Part of what is left that mutants may take on the cases, where there are rollouts to try. Our choice."""

FOR_NOTHING = 0.2
"""Part of what is left that a reward which judges no case has to judge a rollout. Our choice."""

FOR_COLUMNS = 0.05
"""Part of what is left that may be spent on which columns a reward needs. Our choice."""

MOST_MISSED = 0.5
"""Share of cases that miss above which none are proposed: they would say what a faulty reward gives."""

FREE = ("weight", "component", "aggregation", "missing", "constant", "inverted", "route")
"""Kinds of changes that call no function anew, as a rule: these are tried first, and changed code last."""


@dataclass(eq=False)
class _Unnoticed:
    """A mutant that no case notices: what it gives for the cases, and for the rollouts if there are any."""

    mutant: Mutant
    of_cases: Played
    of_rollouts: Played | None = None
    reason: str = ""


class Trial:
    """A reward, what it gives for cases and rollouts, and what its mutants do.

    `cases` and `rollouts` become those that it has judged within its part of the budget.
    """

    def __init__(
        self,
        reward: Reward,
        cases: Sequence[Case],
        rollouts: Rollouts | None,
        memory: Remembered,
        *,
        seed: int,
        budget: float,
    ) -> None:
        self.reward, self.cases, self.rollouts, self.memory = reward, cases, rollouts, memory
        self.seed, self.budget, self.given = seed, budget, len(cases)
        self.left_out: list[str] = []
        self.cause = ""
        self.judged: dict[int, Judged] = {}
        self.rollout_rows: Rows | None = None
        self.on_rollouts: Played | None = None

    def result(self) -> MutantResult:
        """What became of each mutant, in their order."""
        proposed: list[dict[str, Any]] = []
        stopped = self._judge_cases() or self._judges_nothing()
        if not stopped:
            made, left_out = mutants_of(self.reward, self._seen())
            self.left_out[:0] = left_out
            unnoticed = self._noticed(made)
            if unnoticed and self.rollouts is not None:
                self._judge_rollouts(unnoticed)
            proposed = self._of_unnoticed(unnoticed)
        return MutantResult(
            reward=self.reward.name,
            judged=tuple(self.judged[place] for place in sorted(self.judged)),
            proposed_cases=tuple(proposed),
            cases=len(self.cases),
            rollouts=0 if self.rollouts is None else len(self.rollouts),
            left_out=tuple(self.left_out),
            missed=0 if stopped else self.missed,
            unreached=self.given - len(self.cases),
            stopped=stopped,
            cause=self.cause,
        )

    # --- the reward itself

    def _judge_cases(self) -> str:
        """What the reward gives for the cases there is time for; if it is none, why."""
        names = list(dict.fromkeys(name for case in self.cases for name in case.columns))
        columns = {name: [case.columns.get(name) for case in self.cases] for name in names}
        rows = Rows.of(columns, len(self.cases), self.reward)
        order = np.arange(len(self.cases))
        taken, found = as_many(self.reward, rows, order, self.memory, self.memory.left * FOR_CASES)
        if found is None:
            return (
                f"{self._over} before the reward had judged one case: "
                "give a larger budget, or a faster reward"
            )
        if len(taken) < len(self.cases):
            self.left_out.append(f"{len(self.cases) - len(taken)} of {len(self.cases)} cases: {self._over}")
        self.cases = [self.cases[place] for place in taken]
        self.case_rows, self.on_cases = rows.at(taken), found
        met = self._met(found)
        ended = found.late  # what another reward gives there in the same time says nothing
        self.met = {(row, name) for row, name in met if not ended[row]}
        holds = Counter(row for row, _ in met)
        self.missed = sum(
            holds[row] < (case.reward is not None) + len(case.scores) for row, case in enumerate(self.cases)
        )
        return ""

    @property
    def _over(self) -> str:
        return f"the budget of {self.budget:g} s was over"

    def _judges_nothing(self) -> str:
        """Why no mutant can be told from a reward that gives nothing for any case and rollout; else ""."""
        told = any(
            item is not None and item.status == "scored"
            for row, name in self.met
            for item in (self.cases[row].reward if name == "reward" else self.cases[row].scores[name],)
        )
        if told or not np.isnan(self.on_cases.rewards).all():
            return ""
        played, where = [self.on_cases], counted(len(self.cases), "case")
        if self.rollouts is not None:
            columns = (
                self.rollouts.columns() if ROLLOUT not in self.reward.needs else self.rollouts.as_logged()
            )
            rows = self._rows(columns, set(columns), len(self.rollouts))
            order = np.random.default_rng(self.seed).permutation(len(self.rollouts))[:TRIED]
            taken, found = as_many(self.reward, rows, order, self.memory, self.memory.left * FOR_NOTHING)
            if found is not None:
                if not np.isnan(found.rewards).all():
                    return ""
                played, where = [*played, found], f"{where} and {counted(len(taken), 'rollout')}"
        component, self.cause = _cause(played)
        return f"the reward judges none of {where}, which is to be mended first{component}"

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

    # --- mutants on cases

    def _noticed(self, made: Sequence[Mutant]) -> dict[int, _Unnoticed]:
        """The mutants that no case notices, by their place; the others are judged."""
        unsent: Counter[str] = Counter()
        unnoticed: dict[int, _Unnoticed] = {}
        part = 1.0 if self.rollouts is None else FOR_NOTICING
        with self.memory.until(self.memory.left * part):
            for place in sorted(range(len(made)), key=lambda place: _costs(made[place])):
                try:
                    found = self._tried(made[place])
                except CannotLimit as error:
                    unsent[str(error)] += 1
                    continue
                except BudgetOver:
                    found = Judged(made[place], "not tried", reason=self._over)
                if isinstance(found, Judged):
                    self.judged[place] = found
                else:
                    unnoticed[place] = found
        self.left_out += [f"{count} changes of code: {error}" for error, count in unsent.items()]
        return unnoticed

    def _tried(self, mutant: Mutant) -> Judged | _Unnoticed:
        """Whether the cases notice a mutant; if not, what it gives for them."""
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
        if len(self.cases) < self.given:
            return Judged(mutant, "not tried", reason=f"{self._over} before all cases were tried")
        return _Unnoticed(mutant, played)

    def _only_errors(self, played: Played) -> str:
        """A component that scored cases before, and now is an error on all of these; "" if none is."""
        for name, outcome in played.found.components.items():
            before = self.on_cases.found.components[name].status == STATUSES.index("scored")
            if before.any() and (outcome.status[before] == STATUSES.index("error")).all():
                return name
        return ""

    # --- mutants on rollouts

    def _judge_rollouts(self, unnoticed: dict[int, _Unnoticed]) -> None:
        """What the reward, and each mutant that no case notices, gives for the rollouts there is time for."""
        assert self.rollouts is not None
        given = len(self.rollouts)
        rows = self._all_rows()
        order = np.random.default_rng(self.seed).permutation(given)
        slow = sum(item.mutant.kind == "code" for item in unnoticed.values())
        taken, found = as_many(self.reward, rows, order, self.memory, self.memory.left / (2 + slow))
        if len(taken) < given:
            self.left_out.append(f"{given - len(taken):,} of {given:,} rollouts: {self._over}")
        if found is None:
            self.rollouts = None
            return
        self.rollouts = self.rollouts.select(taken) if len(taken) < given else self.rollouts
        self.rollout_rows = rows = rows.at(taken)
        self.on_rollouts = found
        for place, item in sorted(unnoticed.items(), key=lambda entry: _costs(entry[1].mutant)):
            try:
                item.of_rollouts = play(item.mutant.reward, rows, self.memory)
            except Hangs as error:
                item.reason = f"{error}, on a rollout"
            except BudgetOver:
                reason = f"no case notices it, and {self._over} before the rollouts were tried"
                self.judged[place] = Judged(unnoticed.pop(place).mutant, "not tried", reason=reason)

    def _all_rows(self) -> Rows:
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
        try:
            with self.memory.until(self.memory.left * FOR_COLUMNS):
                by_few, by_all = (play(self.reward, rows, self.memory) for rows in first)
            needed = set(columns) if by_few.apart(by_all).any() else named
        except BudgetOver:
            needed = set(columns)
        return self._rows(columns, needed, len(self.rollouts))

    def _rows(self, columns: Mapping[str, list[Any]], names: set[str], count: int) -> Rows:
        fit = {name: values[:count] for name, values in columns.items() if name in names}
        return Rows.of(
            {name: fit[name] for name in fit if name in self.reward.needs or _fits(name)}, count, self.reward
        )

    def _of_unnoticed(self, unnoticed: Mapping[int, _Unnoticed]) -> list[dict[str, Any]]:
        """Judge the mutants that no case notices, and give the fewest cases that would notice them."""
        told_by_rollouts: dict[int, Floats] = {}
        told_by_cases: dict[int, Floats] = {}
        for place, item in unnoticed.items():
            of_cases = self.on_cases.apart(item.of_cases)
            of_rollouts = np.zeros(0)
            if item.of_rollouts is not None and self.on_rollouts is not None:
                of_rollouts = self.on_rollouts.apart(item.of_rollouts)
            if of_rollouts.any():
                told_by_rollouts[place] = of_rollouts
            elif of_cases.any():
                told_by_cases[place] = of_cases
            differs = bool(of_rollouts.any() or of_cases.any() or item.reason)
            self.judged[place] = Judged(
                item.mutant,
                "survived" if differs or self.rollouts is None else "not told apart",
                reason=item.reason,
                differs=int((of_rollouts > 0).sum()),
            )
        cases = self._proposed(told_by_rollouts, unnoticed, True) if told_by_rollouts else []
        return [*cases, *(self._proposed(told_by_cases, unnoticed, False) if told_by_cases else [])]

    def _proposed(
        self,
        told: Mapping[int, Floats],
        unnoticed: Mapping[int, _Unnoticed],
        of_rollouts: bool,
    ) -> list[dict[str, Any]]:
        """Cases for mutants that rollouts, or cases, tell apart; they and the rows are noted with them."""
        rows, played = self.case_rows, self.on_cases
        if of_rollouts and self.rollout_rows is not None and self.on_rollouts is not None:
            rows, played = self.rollout_rows, self.on_rollouts
        errors = np.zeros(rows.count, dtype=bool)
        for outcome in played.found.components.values():
            errors |= outcome.status == STATUSES.index("error")
        columns = {name: values for name, values in rows.columns.items() if name != ROLLOUT}
        allowed = ~errors & all(map(_fits, columns))
        if not of_rollouts:
            allowed &= [
                case.reward is None or (row, "reward") in self.met for row, case in enumerate(self.cases)
            ]
        judged = ~np.isnan([*played.rewards, *self.on_cases.rewards])
        if not judged.any() or self.missed > MOST_MISSED * len(self.cases):
            allowed[:] = False
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
            self.judged[place] = replace(self.judged[place], differences=differences, case=case)
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


def _costs(mutant: Mutant) -> int:
    """What is tried first: what calls no function anew, then what may, then changed code."""
    return 2 if mutant.kind == "code" else int(mutant.kind not in FREE)


def _cause(played: Sequence[Played]) -> tuple[str, str]:
    """The component that most often gives no score, as the end of a sentence, and its commonest reason."""
    reasons: Counter[tuple[str, str]] = Counter()
    for found in played:
        for name, outcome in found.found.components.items():
            reasons.update(
                (
                    f": component {name!r} {'fails' if found.status(name, row) == 'error' else 'abstains'}",
                    reason,
                )
                for row, reason in outcome.reasons.items()
            )
    return reasons.most_common(1)[0][0] if reasons else ("", "")
