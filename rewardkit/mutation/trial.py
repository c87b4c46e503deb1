"""Trial: a reward's mutants on cases and rollouts, as many of these as there is time for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from rewardkit.errors import CasesError
from rewardkit.findings import counted
from rewardkit.mutation.missing_cases import Pool, missing_cases
from rewardkit.mutation.mutations import Mutant, mutants_of
from rewardkit.mutation.results import Difference, Judged, MutantResult, Outcome
from rewardkit.mutation.scoring import (
    BudgetOver,
    Hangs,
    Memory,
    apart,
    late,
    outcomes_of,
)
from rewardkit.rewards.plan import ROLLOUT, Columns
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import OWN_KEYS, Case, Expected, load_cases
from rewardkit.scoring.deadlines import CannotLimit
from rewardkit.scoring.outcomes import ERROR, STATUSES, Outcomes

SHOWN = 3
"""Rows on which a survivor and the reward differ most."""

NAMED = ("completion", "ground_truth")
"""Columns that a proposed case has in any case, where the rollouts have them."""

FIRST = 8
"""Rollouts that are scored first: they tell how long one takes, and whether a reward that is given whole rows
needs all their columns. Our choice."""

FOR_ROLLOUTS = 0.3
"""Part of the budget left that the reward itself may take on the rollouts. Our choice."""

MOST_MISSED = 0.5
"""Share of cases that fail above which none are proposed: they would say what a faulty reward gives."""

Expectations = Sequence[tuple[int, str, Expected]]
"""Row, component ("" for the reward), what a case expects."""


class Trial:
    """A reward, what it gives for cases and rollouts, and what its mutants do.

    Of the rollouts those of `order` are tried, the first first.
    """

    def __init__(
        self,
        reward: Reward,
        cases: Sequence[Case],
        rollouts: Rollouts | None,
        order: Sequence[int],
        memory: Memory,
    ) -> None:
        self.reward, self.cases, self.rollouts, self.memory = (
            reward,
            cases,
            rollouts,
            memory,
        )
        self.order = order
        names = dict.fromkeys(name for case in cases for name in case.columns)
        self.columns = {
            name: [case.columns.get(name) for case in cases] for name in names
        }

    def result(self) -> MutantResult:
        """What became of each mutant, in the order in which they were made."""
        given = len(self.order)
        result = MutantResult(self.reward.name, cases=len(self.cases), rollouts=given)
        try:
            self.original = outcomes_of(self.reward, self.columns, self.memory)
        except BudgetOver as error:
            why = f"{error} before the reward had judged {counted(len(self.cases), 'case')}"
            return replace(
                result, stopped=f"{why}; give a larger budget, or a faster reward"
            )
        expected = [
            (row, "", case.reward) for row, case in enumerate(self.cases) if case.reward
        ]
        expected += [
            (row, *item)
            for row, case in enumerate(self.cases)
            for item in case.scores.items()
        ]
        missed = self._missed(self.original, expected)
        self.failing = {row for row, *_ in missed}
        unsure = late(
            self.original
        )  # what another reward gives there in the same time says nothing
        held = [item for item in expected if item not in missed and not unsure[item[0]]]
        if not any(item.status == "scored" for *_, item in held):
            if np.isnan([*self.original.rewards, *self.pool.original.rewards]).all():
                component, cause = _cause(self.pool.original)
                why = f"the reward judges none of the cases and rollouts{component}; fix that first"
                return replace(result, stopped=why, cause=cause)
        made, left_out = mutants_of(self.reward)
        tried = [self._tried(mutant, held) for mutant in made]
        judged = [item for item, _ in tried]
        told = {
            place: found for place, (_, found) in enumerate(tried) if found is not None
        }
        cases = self._proposed(judged, told) if told else []
        if "pool" in vars(self) and self.pool.rollouts < given:
            left_out.append(
                f"{given - self.pool.rollouts:,} of {given:,} rollouts: there was no time"
            )
            result = replace(result, rollouts=self.pool.rollouts)
        result = replace(result, judged=tuple(judged), proposed_cases=tuple(cases))
        return replace(result, left_out=tuple(left_out), missed=len(self.failing))

    def _missed(self, found: Outcomes, expected: Expectations) -> Expectations:
        """The expectations that are not met; what is expected of a component that is gone does not count."""
        judged = np.where(np.isnan(found.rewards), "unscored", "scored")
        given = {"": (found.rewards.tolist(), judged.tolist())}
        for name, outcome in found.components.items():
            given[name] = (
                outcome.scores.tolist(),
                np.array(STATUSES)[outcome.status].tolist(),
            )
        return [
            (row, name, item)
            for row, name, item in expected
            if name in given
            and not item.met_by(given[name][0][row], given[name][1][row])
        ]

    def _tried(
        self, mutant: Mutant, held: Expectations
    ) -> tuple[Judged, Outcomes | None]:
        """What became of a mutant, and what it gives in the pool where that differs from the reward."""
        where = ""
        try:
            found = outcomes_of(mutant.reward, self.columns, self.memory)
            if rows := {row: None for row, *_ in self._missed(found, held)}:
                return Judged(
                    mutant,
                    "noticed",
                    tuple(self.cases[row].name for row in sorted(rows)),
                ), None
            where, pool = ", on a rollout", self.pool
            found = outcomes_of(mutant.reward, pool.columns, self.memory)
        except Hangs as error:
            return Judged(
                mutant, "survived" if where else "noticed", reason=f"{error}{where}"
            ), None
        except (BudgetOver, CannotLimit) as error:
            return Judged(mutant, "not tried", reason=str(error)), None
        differs = apart(pool.original, found) > 0
        outcome: Outcome = (
            "survived" if differs.any() or not pool.rollouts else "not told apart"
        )
        judged = Judged(mutant, outcome, differs=int(differs[: pool.rollouts].sum()))
        return judged, found if differs.any() else None

    @cached_property
    def pool(self) -> Pool:
        """The rollouts there is time for and the cases, with what the reward gives; the base of proposals."""
        ids, logged = self._logged()
        names = [
            name
            for name in logged or self.columns
            if name in self.reward.needs or _fits(name)
        ]
        nothing = [None] * len(self.cases)
        columns = {
            name: [*logged.get(name, ()), *self.columns.get(name, nothing)]
            for name in names
        }
        try:
            original = outcomes_of(self.reward, columns, self.memory)
        except BudgetOver:
            ids, columns, original = [], self.columns, self.original
        allowed = np.ones(len(ids) + len(self.cases), dtype=bool)
        allowed[[len(ids) + row for row in self.failing]] = False
        for outcome in original.components.values():
            allowed &= outcome.status != ERROR
        if len(self.failing) > MOST_MISSED * len(self.cases) or not all(
            map(_fits, columns)
        ):
            allowed[:] = False
        labels = [
            *((rollout_id, "") for rollout_id in ids),
            *((None, case.name) for case in self.cases),
        ]
        return Pool(labels, len(ids), columns, original, allowed)

    def _logged(self) -> tuple[list[Any], dict[str, list[Any]]]:
        """Ids and columns of the rollouts there is time for.

        The columns are those that the reward asks for; of one that asks for whole rows, as functions of
        trainers do, all, where the first rows get another reward without the others.
        """
        if self.rollouts is None or not self.order:
            return [], {}
        columns = (
            self.rollouts.as_logged()
            if ROLLOUT in self.reward.needs
            else self.rollouts.columns()
        )
        named = {
            name: columns[name]
            for name in columns
            if name in {*self.reward.needs, *NAMED}
        }
        first, before = self.order[:FIRST], self.memory.left
        try:
            found = outcomes_of(self.reward, _rows(columns, first), self.memory)
            each = max(before - self.memory.left, 1e-6) / len(first)
            if not apart(
                found, outcomes_of(self.reward, _rows(named, first), self.memory)
            ).any():
                columns = named
        except BudgetOver:
            return [], {}
        places = sorted(self.order[: int(FOR_ROLLOUTS * self.memory.left / each)])
        return self.rollouts.select(places).table["rollout_id"].tolist(), _rows(
            columns, places
        )

    def _proposed(
        self, judged: list[Judged], told: Mapping[int, Outcomes]
    ) -> list[dict[str, Any]]:
        """The fewest cases that catch the mutants that the pool tells apart; these and rows are noted."""
        pool, sentences = self.pool, [judged[place].mutant.sentence for place in told]
        distances = np.stack(
            [apart(pool.original, found) for found in told.values()]
        )  # (mutants, rows)
        cases, case_of = missing_cases(pool, distances, sentences)
        length = [len(pool.text(row)) for row in range(len(pool.labels))]
        for (place, found), distance, case in zip(
            told.items(), distances, case_of, strict=True
        ):
            rows = [
                row for row in np.lexsort((length, -distance)).tolist() if distance[row]
            ][:SHOWN]
            differences = tuple(self._difference(row, found) for row in rows)
            judged[place] = replace(judged[place], differences=differences, case=case)
        return cases

    def _difference(self, row: int, other: Outcomes) -> Difference:
        rewards = float(self.pool.original.rewards[row]), float(other.rewards[row])
        return Difference(*self.pool.labels[row], *rewards, self.pool.text(row))


def _rows(columns: Columns, rows: Sequence[int]) -> dict[str, list[Any]]:
    """These rows of columns."""
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _fits(name: str) -> bool:
    """Whether a column can stand in a case, where some names are what is expected."""
    try:
        return (
            bool(load_cases([{"completion": "", "reward": 0.0, name: ""}]))
            and name not in OWN_KEYS
        )
    except CasesError:
        return False


def _cause(found: Outcomes) -> tuple[str, str]:
    """The component that most often gives no score, as the end of a clause, and its commonest reason."""
    reasons = Counter(
        (f", as component {name!r} gives no score", reason)
        for name, outcome in found.components.items()
        for reason in outcome.reasons.values()
    )
    return reasons.most_common(1)[0][0] if reasons else ("", "")
