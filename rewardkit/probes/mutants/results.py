"""What became of the mutants of a reward: those the cases notice, those that survive, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from rewardkit.findings import counted
from rewardkit.html.markup import outlined
from rewardkit.probes.mutants.mutating import Mutant
from rewardkit.probes.results.case_writing import append_cases

__all__ = ["Difference", "Judged", "MutantResult"]

SURVIVORS = 12
"""That are written out where a result is printed; the others are counted."""

Outcome = Literal["noticed", "survived", "not told apart", "not tried"]


@dataclass(frozen=True)
class Difference:
    """A row on which a mutant and the reward differ: a rollout, or a case by its name."""

    rollout_id: Any
    case: str
    reward: float
    mutant_reward: float
    completion: str

    @property
    def of_reward(self) -> str:
        """The reward's reward as it is written."""
        return _figure(self.reward)

    @property
    def of_mutant(self) -> str:
        """The mutant's reward as it is written."""
        return _figure(self.mutant_reward)

    def record(self) -> dict[str, Any]:
        """As plain data; a reward that is missing is None."""
        return {
            "rollout_id": self.rollout_id,
            "case": self.case or None,
            "reward": _plain(self.reward),
            "mutant_reward": _plain(self.mutant_reward),
            "completion": self.completion,
        }


@dataclass(frozen=True, eq=False)
class Judged:
    """A mutant and what became of it.

    `noticed_by` are the names of the cases that miss where they held; `reason` says what else gave it away
    (its errors, a call that does not end), or why it was not tried. `differs` counts the rollouts with
    another reward, `differences` are those with the most different ones, and `case` is the proposed case that
    would notice it, if any.
    """

    mutant: Mutant
    outcome: Outcome
    noticed_by: tuple[str, ...] = ()
    reason: str = ""
    differs: int = 0
    differences: tuple[Difference, ...] = ()
    case: Mapping[str, Any] | None = None

    def record(self) -> dict[str, Any]:
        """As plain data."""
        mutant = self.mutant
        return {
            "kind": mutant.kind,
            "component": mutant.component,
            "part": mutant.part,
            "sentence": mutant.sentence,
            "before": mutant.before,
            "after": mutant.after,
            "outcome": self.outcome,
            "noticed_by": list(self.noticed_by),
            "reason": self.reason,
            "differs": self.differs,
            "differences": [item.record() for item in self.differences],
            "case": None if self.case is None else self.case["name"],
        }


@dataclass(frozen=True, eq=False)
class MutantResult:
    """What became of the mutants of a reward, in the order in which they were made.

    `proposed_cases` are the fewest cases that notice all survivors that a rollout or case tells apart, in the
    form of a case file; `left_out` says what was not tried. `cases` and `rollouts` are how many the reward
    judged; of these cases `missed` miss already, and for `unreached` others there was no time. `stopped` says
    why no mutant could be tried, else it is "", and `cause` the reason that the reward gives for it, which
    may quote a completion.
    """

    reward: str
    judged: tuple[Judged, ...]
    proposed_cases: tuple[Mapping[str, Any], ...]
    cases: int
    rollouts: int
    left_out: tuple[str, ...] = ()
    missed: int = 0
    unreached: int = 0
    stopped: str = ""
    cause: str = ""

    @property
    def score(self) -> float:
        """Share that was noticed of those that were noticed or survived.

        NaN where there are none, and where not all cases were tried: those left may notice what is open.
        """
        counted = len(self.noticed) + len(self.survived)
        return len(self.noticed) / counted if counted and not self.unreached else math.nan

    @property
    def of_how_many(self) -> str:
        """How many were noticed, of how many."""
        if self.unreached:
            return f"{len(self.noticed)} of {len(self.judged)}"
        return f"{len(self.noticed)} of {len(self.noticed) + len(self.survived)}"

    @property
    def noticed(self) -> tuple[Judged, ...]:
        """The mutants that the cases notice."""
        return self._of("noticed")

    @property
    def survived(self) -> tuple[Judged, ...]:
        """The mutants that no case notices."""
        return self._of("survived")

    @property
    def not_told_apart(self) -> tuple[Judged, ...]:
        """The mutants that give every case and every rollout the reward that the original gives."""
        return self._of("not told apart")

    @property
    def not_tried(self) -> tuple[Judged, ...]:
        """The mutants that the budget did not reach; they do not count."""
        return self._of("not tried")

    @property
    def misses(self) -> str:
        """What is said first where cases miss already; "" where none does."""
        if not self.missed:
            return ""
        miss = "misses" if self.missed == 1 else "miss"
        return (
            f"{self.missed} of {counted(self.cases, 'case')} {miss} already, and what misses notices nothing"
        )

    @property
    def next_step(self) -> str:
        """What to do about the survivors in one sentence; "" where nothing is to be done."""
        if self.missed and (self.survived or self.proposed_cases):
            first = "mend what the cases miss first (rk.check lists it)"
            if self.proposed_cases:
                return f"{first}, then try again: the proposed cases expect what the reward gives now"
            return f"{first}, then try again; no cases are proposed of what the reward gives now"
        if self.proposed_cases:
            if len(self.proposed_cases) == 1:
                what, them = "1 proposed case notices", ("it", "it expects", "it")
            else:
                what = f"{len(self.proposed_cases)} proposed cases notice"
                them = ("them", "they expect", "them")
            return (
                f"{what} the survivors that differ: read {them[0]}, as {them[1]} what the reward gives now, "
                f"then add {them[2]}"
            )
        if not self.survived:
            return ""
        if any(item.differences for item in self.survived):
            return (
                "no case can be made of the rows where they differ: the reward fails there, or a column "
                "has a name that cases use"
            )
        return "no row tells them apart" if self.rollouts else "give rollouts, so that cases can be proposed"

    def _of(self, outcome: Outcome) -> tuple[Judged, ...]:
        return tuple(item for item in self.judged if item.outcome == outcome)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a mutant, with how many cases notice it and the name of the proposed case that would."""
        names = ["outcome", "kind", "part", "component", "sentence", "before", "after", "differs", "case"]
        rows = [[item.record()[name] for name in names] for item in self.judged]
        table = pd.DataFrame(rows, columns=names)
        table.insert(7, "noticed_by", [len(item.noticed_by) for item in self.judged])
        return table

    def record(self) -> dict[str, Any]:
        """As plain data: the score (or None), mutants by outcome, proposed cases, what was left out."""
        return {
            "reward": self.reward,
            "score": _plain(self.score),
            "cases": self.cases,
            "rollouts": self.rollouts,
            "missed": self.missed,
            "unreached": self.unreached,
            "stopped": self.stopped or None,
            "cause": self.cause or None,
            "noticed": [item.record() for item in self.noticed],
            "survived": [item.record() for item in self.survived],
            "not_told_apart": [item.record() for item in self.not_told_apart],
            "not_tried": [item.record() for item in self.not_tried],
            "proposed_cases": [dict(case) for case in self.proposed_cases],
            "left_out": list(self.left_out),
        }

    def write_cases(self, path: str | Path) -> int:
        """Add the proposed cases to a case file; how many were added. See `append_cases`."""
        return append_cases(path, self.proposed_cases)

    def _repr_html_(self) -> str:
        return outlined(repr(self))

    def __repr__(self) -> str:
        head = f"mutants of {self.reward!r}: "
        if self.stopped:
            return f"{head}none tried: {self.stopped}" + (f" ({self.cause})" if self.cause else "")
        survived = len(self.survived)
        by = f"what holds of {counted(self.cases, 'case')}" if self.missed else counted(self.cases, "case")
        share = f"{self.of_how_many} noticed by {by}"
        score = "" if math.isnan(self.score) else f", score {self.score:.2f}"
        lines = [f"{head}{share}{score}"]
        if self.missed:
            lines = [f"{head}{self.misses}: mend that first", f"  {share}{score}"]
        for item in self.survived[:SURVIVORS]:
            lines += [f"  survived: {item.mutant.sentence}", f"    {_code(item.mutant)}"]
            lines += [f"    {line}" for line in _most(item, self.rollouts)]
        if survived > SURVIVORS:
            lines.append(f"  and {counted(survived - SURVIVORS, 'more survivor')}")
        if same := len(self.not_told_apart):
            them = f"the cases and {counted(self.rollouts, 'rollout')}"
            lines.append(f"  {same} {'is' if same == 1 else 'are'} not told apart from it by {them}")
        for item in self.not_tried[:SURVIVORS]:
            lines.append(f"  not tried: {item.mutant.sentence} ({item.reason})")
        if len(self.not_tried) > SURVIVORS:
            lines.append(f"  and {len(self.not_tried) - SURVIVORS} more were not tried")
        if self.next_step:
            how = ": result.write_cases(path)" if self.proposed_cases and not self.missed else ""
            lines.append(f"  {self.next_step}{how}")
        return "\n".join([*lines, *(f"  left out: {sentence}" for sentence in self.left_out)])


def _code(mutant: Mutant) -> str:
    """The code before and after, from where it differs."""
    before, after = mutant.before, mutant.after
    if len(before) + len(after) <= 150:
        return f"{before} -> {after}"
    start = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    start = max(0, start - 30)
    lead = "..." if start else ""
    return f"{lead}{before[start : start + 70]} -> {lead}{after[start : start + 70]}"


def _most(item: Judged, rollouts: int) -> list[str]:
    if item.reason:
        return [item.reason]
    if not item.differences:
        if not rollouts:
            return ["no case tells it apart, and only rollouts say whether it makes a difference"]
        return ["no row tells it apart"]
    first = item.differences[0]
    told = f"{first.of_reward}, mutant {first.of_mutant}"
    if first.case:
        return [f"differs on case {first.case!r}: {told}"]
    counted = f"differs on {item.differs:,} of {rollouts:,} rollouts"
    return [f"{counted}, most on rollout {first.rollout_id!r}: {told}"]


def _plain(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def _figure(reward: float) -> str:
    return "unscored" if math.isnan(reward) else f"{reward:.4g}"
