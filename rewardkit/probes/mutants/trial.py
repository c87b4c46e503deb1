"""Trial: a reward's mutants on cases and rollouts, as many of these as there is time for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from rewardkit.errors import CasesError
from rewardkit.findings import counted
from rewardkit.probes.mutants.missing_cases import Pool, missing_cases
from rewardkit.probes.mutants.mutations import Mutant, mutants_of
from rewardkit.probes.mutants.results import Difference, Judged, MutantResult
from rewardkit.probes.mutants.scoring import BudgetOver, Hangs, Memory, apart, late, outcomes_of
from rewardkit.rewards.plan import ROLLOUT, Columns
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import OWN_KEYS, Case, Expected, load_cases
from rewardkit.scoring.deadlines import CannotLimit
from rewardkit.scoring.outcomes import ERROR, STATUSES, Outcomes

__all__ = ["Trial"]

SHOWN = 3
"""Rows on which a survivor and the reward differ most."""

NAMED = ("completion", "ground_truth")
"""Columns that a proposed case has in any case, where the rollouts have them."""

FIRST = 8
"""Rollouts that are scored first: they tell how long one takes, and whether a reward that is given whole rows
needs all their columns. Our choice."""

FOR_ROLLOUTS = 0.3
"""Part of the budget that is kept for rollouts, and of that then that the reward may take. Our choice."""

MOST_MISSED = 0.5
"""Share of cases that fail above which none are proposed: they would say what a faulty reward gives."""

Expectations = Sequence[tuple[int, str, Expected]]
"""Row, component ("" for the reward), what a case expects."""


class Trial:
    """A reward, what it gives for cases and rollouts, and what its mutants do."""

    def __init__(
        self, reward: Reward, cases: Sequence[Case], rollouts: Rollouts | None, memory: Memory, seed: int
    ) -> None:
        self.reward, self.cases, self.rollouts, self.memory = reward, cases, rollouts, memory
        self.seed = seed
        names = dict.fromkeys(name for case in cases for name in case.columns)
        self.columns = {name: [case.columns.get(name) for case in cases] for name in names}

    def result(self) -> MutantResult:
        """What became of each mutant, in the order in which they were made."""
        given = len(self.rollouts) if self.rollouts is not None else 0
        result = MutantResult(self.reward.name, cases=len(self.cases), rollouts=given)
        try:
            self.original = outcomes_of(self.reward, self.columns, self.memory)
        except BudgetOver as error:
            why = f"{error} before the reward had judged {counted(len(self.cases), 'case')}"
            return replace(result, stopped=f"{why}; give a larger budget, or a faster reward")
        expected = [(row, "", case.reward) for row, case in enumerate(self.cases) if case.reward]
        expected += [(row, *item) for row, case in enumerate(self.cases) for item in case.scores.items()]
        missed = self._missed(self.original, expected)
        self.failing = {row for row, *_ in missed}
        unsure = late(self.original)  # what another reward gives there in the same time says nothing
        held = [item for item in expected if item not in missed and not unsure[item[0]]]
        if not any(item.status == "scored" for *_, item in held):
            if np.isnan([*self.original.rewards, *self.pool.original.rewards]).all():
                component, cause = _cause(self.pool.original)
                why = f"the reward judges none of the cases and rollouts{component}; fix that first"
                return replace(result, stopped=why, cause=cause)
        made, left_out = mutants_of(self.reward)
        judged = self._on_cases(made, held)
        cases: list[dict[str, Any]] = []
        if any(item.outcome == "survived" for item in judged):
            cases = self._on_pool(judged)
            if self.pool.rollouts < given:
                left_out.append(f"{given - self.pool.rollouts:,} of {given:,} rollouts: there was no time")
            result = replace(result, rollouts=self.pool.rollouts)
        result = replace(result, judged=tuple(judged), proposed_cases=tuple(cases))
        return replace(result, left_out=tuple(left_out), missed=len(self.failing))

    def _missed(
        self, found: Outcomes, expected: Expectations, original: Outcomes | None = None
    ) -> Expectations:
        """The expectations that are not met.

        What is expected of a component that is gone, or as in the `original`, does not count.
        """
        judged = np.where(np.isnan(found.rewards), "unscored", "scored")
        given = {"": (found.rewards.tolist(), judged.tolist())}
        for name, outcome in found.components.items():
            if original is None or outcome is not original.components.get(name):
                given[name] = outcome.scores.tolist(), np.array(STATUSES)[outcome.status].tolist()
        return [
            (row, name, item)
            for row, name, item in expected
            if name in given and not item.met_by(given[name][0][row], given[name][1][row])
        ]

    def _on_cases(self, made: Sequence[Mutant], held: Expectations) -> list[Judged]:
        """What became of the mutants on the cases; those that no case catches survive."""
        judged = []
        with self.memory.keeping(FOR_ROLLOUTS if self.rollouts is not None else 0.0):
            for mutant in made:
                try:
                    found = outcomes_of(mutant.reward, self.columns, self.memory, self.original)
                    rows = sorted({row for row, *_ in self._missed(found, held, self.original)})
                    names = tuple(self.cases[row].name for row in rows)
                    judged.append(Judged(mutant, "noticed" if names else "survived", names))
                except Hangs as error:
                    judged.append(Judged(mutant, "noticed", reason=str(error)))
                except (BudgetOver, CannotLimit) as error:
                    judged.append(Judged(mutant, "not tried", reason=str(error)))
        return judged

    @cached_property
    def pool(self) -> Pool:
        """The rollouts there is time for and the cases, with what the reward gives; the base of proposals."""
        ids, logged = self._logged()
        names = [name for name in logged or self.columns if name in self.reward.needs or _fits(name)]
        nothing = [None] * len(self.cases)
        columns = {name: [*logged.get(name, ()), *self.columns.get(name, nothing)] for name in names}
        try:
            original = outcomes_of(self.reward, columns, self.memory)
        except BudgetOver:
            ids, columns, original = [], self.columns, self.original
        allowed = np.ones(len(ids) + len(self.cases), dtype=bool)
        allowed[[len(ids) + row for row in self.failing]] = False
        for outcome in original.components.values():
            allowed &= outcome.status != ERROR
        if len(self.failing) > MOST_MISSED * len(self.cases) or not all(map(_fits, columns)):
            allowed[:] = False
        labels = [*((rollout_id, "") for rollout_id in ids), *((None, case.name) for case in self.cases)]
        return Pool(labels, len(ids), columns, original, allowed)

    def _logged(self) -> tuple[list[Any], dict[str, list[Any]]]:
        """Ids and columns of the rollouts there is time for, drawn with the seed.

        The columns are those that the reward asks for; of one that asks for whole rows, as functions of
        trainers do, all, where the first rows get another reward without the others.
        """
        if self.rollouts is None:
            return [], {}
        columns = self.rollouts.as_logged() if ROLLOUT in self.reward.needs else self.rollouts.columns()
        named = {name: columns[name] for name in columns if name in {*self.reward.needs, *NAMED}}
        order = np.random.default_rng(self.seed).permutation(len(self.rollouts)).tolist()
        first, before = order[:FIRST], self.memory.left
        try:
            found = outcomes_of(self.reward, _rows(columns, first), self.memory)
            each = max(before - self.memory.left, 1e-6) / len(first)
            if not apart(found, outcomes_of(self.reward, _rows(named, first), self.memory)).any():
                columns = named
        except BudgetOver:
            return [], {}
        places = sorted(order[: int(FOR_ROLLOUTS * self.memory.left / each)])
        return self.rollouts.select(places).table["rollout_id"].tolist(), _rows(columns, places)

    def _on_pool(self, judged: list[Judged]) -> list[dict[str, Any]]:
        """Judge the mutants that no case catches anew, and give the fewest cases that would catch them."""
        pool, told, others = self.pool, [], []
        for place, item in enumerate(judged):
            if item.outcome != "survived":
                continue
            try:
                other = outcomes_of(item.mutant.reward, pool.columns, self.memory, pool.original)
                if apart(pool.original, other).any():
                    told.append(place)
                    others.append(other)
                elif pool.rollouts:
                    judged[place] = replace(item, outcome="not told apart")
            except Hangs as error:
                judged[place] = replace(item, reason=f"{error}, on a rollout")
            except BudgetOver as error:
                judged[place] = replace(item, outcome="not tried", reason=str(error))
        if not told:
            return []
        distances = np.stack([apart(pool.original, other) for other in others])  # (mutants, rows)
        cases, case_of = missing_cases(pool, distances, [judged[place].mutant.sentence for place in told])
        length = [len(pool.text(row)) for row in range(len(pool.labels))]
        for place, other, distance, case in zip(told, others, distances, case_of, strict=True):
            rows = [row for row in np.lexsort((length, -distance)).tolist() if distance[row]][:SHOWN]
            differs = int((distance[: pool.rollouts] > 0).sum())
            differences = tuple(self._difference(row, other) for row in rows)
            judged[place] = replace(judged[place], differs=differs, differences=differences, case=case)
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
        return bool(load_cases([{"completion": "", "reward": 0.0, name: ""}])) and name not in OWN_KEYS
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
