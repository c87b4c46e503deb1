"""What became of the mutants of a reward: those the cases catch, those that survive, and what is missing."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from rewardkit.findings import counted
from rewardkit.html.excerpts import make_excerpt, one_line
from rewardkit.html.pages import Page, Table
from rewardkit.mutation.mutations import Mutant
from rewardkit.scoring.case_writing import append_cases

SURVIVORS = 8
"""That are written out where a result is printed; the others are counted."""

HEADER = (
    "what was changed",
    "code",
    "rollouts that differ",
    "most on",
    "reward → mutant's",
    "completion",
)
ADDED = (
    "to add them, when they are read: rewardkit check ... --mutants --write-cases FILE"
)
LONGEST_CASE = 2000  # characters of a proposed case

Outcome = Literal["noticed", "survived", "not told apart", "not tried"]


@dataclass(frozen=True)
class Difference:
    """A row on which a mutant and the reward differ: a rollout by its id, or a case by its name."""

    rollout_id: Any
    case: str
    reward: float
    mutant_reward: float
    completion: str

    @property
    def rewards(self) -> str:
        """The reward and the mutant's as they are written."""
        both = (self.reward, self.mutant_reward)
        return " → ".join(
            "unscored" if math.isnan(reward) else f"{reward:.4g}" for reward in both
        )

    def record(self) -> dict[str, Any]:
        """As plain data; a reward that is missing is None."""
        rewards = {
            "reward": _plain(self.reward),
            "mutant_reward": _plain(self.mutant_reward),
        }
        return {**vars(self), "case": self.case or None, **rewards}


@dataclass(frozen=True, eq=False)
class Judged:
    """A mutant and what became of it.

    `noticed_by` are the names of the cases that fail where they held; `reason` says what else gave it away (a
    call that does not end), or why it was not tried. `differs` counts the rollouts with another reward,
    `differences` are the rows with the most different ones, and `case` is the proposed case that would catch
    it, if any.
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
        changed = ("kind", "component", "part", "sentence", "before", "after")
        return {
            **{name: getattr(self.mutant, name) for name in changed},
            **{name: getattr(self, name) for name in ("outcome", "reason", "differs")},
            "noticed_by": list(self.noticed_by),
            "differences": [item.record() for item in self.differences],
            "case": self.case["name"] if self.case else None,
        }

    def cells(self, rollouts: int) -> list[str]:
        """As a row of a table: what was changed, the code, on how many rollouts it shows, and where most."""
        code = (
            f"{one_line(self.mutant.before, 120)} → {one_line(self.mutant.after, 120)}"
        )
        differs = f"{self.differs:,} of {rollouts:,}" if rollouts else ""
        most = ["", "", ""]
        for first in self.differences[:1]:
            place = (
                f"case {first.case}" if first.case else f"rollout {first.rollout_id}"
            )
            most = [
                one_line(place),
                first.rewards,
                one_line(make_excerpt(first.completion, longest=160).text),
            ]
        return [self.mutant.sentence, code, self.reason or differs, *most]

    def where(self, rollouts: int) -> str:
        """On how many of so many rollouts it differs from the reward, and where most."""
        if not self.differences:
            return self.reason or "no row tells it apart"
        first = self.differences[0]
        many = (
            f"on {self.differs:,} of {counted(rollouts, 'rollout')}, most "
            if rollouts
            else ""
        )
        row = f"case {first.case!r}" if first.case else f"rollout {first.rollout_id!r}"
        return f"differs {many}on {row}: {first.rewards}"


@dataclass(frozen=True, eq=False)
class MutantResult:
    """What became of the mutants of a reward, in the order in which they were made.

    `proposed_cases` are the fewest cases that catch all survivors that a rollout or case tells apart, in the
    form of a case file; `left_out` says what was not tried. `cases` and `rollouts` are how many the reward
    judged; of these cases `missed` fail already. `stopped` says why no mutant could be tried, else it is "",
    and `cause` the reason that the reward gives for it, which may quote a completion.
    """

    reward: str
    judged: tuple[Judged, ...] = ()
    proposed_cases: tuple[Mapping[str, Any], ...] = ()
    cases: int = 0
    rollouts: int = 0
    left_out: tuple[str, ...] = ()
    missed: int = 0
    stopped: str = ""
    cause: str = ""

    @property
    def score(self) -> float:
        """Share that was caught of those that were caught or survived; NaN where there are none."""
        tried = len(self.noticed) + len(self.survived)
        return len(self.noticed) / tried if tried else math.nan

    @property
    def noticed(self) -> tuple[Judged, ...]:
        """The mutants that the cases catch."""
        return self._of("noticed")

    @property
    def survived(self) -> tuple[Judged, ...]:
        """The mutants that no case catches."""
        return self._of("survived")

    @property
    def not_told_apart(self) -> tuple[Judged, ...]:
        """The mutants that give every case and every rollout the reward that the original gives."""
        return self._of("not told apart")

    @property
    def not_tried(self) -> tuple[Judged, ...]:
        """The mutants that the budget did not reach; they do not count."""
        return self._of("not tried")

    def _of(self, outcome: Outcome) -> tuple[Judged, ...]:
        return tuple(item for item in self.judged if item.outcome == outcome)

    @property
    def verdict(self) -> str:
        """The score in one sentence, which quotes no completion."""
        caught, tried = len(self.noticed), len(self.noticed) + len(self.survived)
        if not tried:
            return "No mutation score: no mutant of this reward was tried."
        cases = counted(self.cases, "case")
        fail = (
            f"Cases that fail already: {self.missed} of {self.cases}. "
            if self.missed
            else ""
        )
        many = (
            f"{'all' if caught == tried else f'{caught} of'} {counted(tried, 'mutant')}"
        )
        untried = (
            f" {len(self.not_tried)} more were not tried." if self.not_tried else ""
        )
        catch = "catches" if self.cases == 1 else "catch"
        return f"{fail}Mutation score {self.score:.2f}: your {cases} {catch} {many}.{untried}"

    @property
    def next_step(self) -> str:
        """What to do about the survivors in one sentence; "" where nothing is to be done."""
        if not self.survived:
            return ""
        if self.missed:
            return "fix what the cases miss first (rk.check lists it), then try again"
        if not self.proposed_cases:
            return (
                "write cases by hand"
                if self.rollouts
                else "give rollouts, so that cases can be proposed"
            )
        many = counted(len(self.proposed_cases), "proposed case")
        return f"check the {many} (expected is what the reward gives now), then add what is right"

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a mutant, with how many cases catch it and the name of the proposed case that would."""
        names = [
            "outcome",
            "kind",
            "part",
            "component",
            "sentence",
            "before",
            "after",
            "noticed_by",
        ]
        table = pd.DataFrame(
            [item.record() for item in self.judged], columns=[*names, "differs", "case"]
        )
        return table.assign(noticed_by=[len(item.noticed_by) for item in self.judged])

    def record(self) -> dict[str, Any]:
        """As plain data: the score (or None), mutants by outcome, proposed cases, what was left out."""
        outcomes = ("noticed", "survived", "not_told_apart", "not_tried")
        return {
            **{
                name: getattr(self, name)
                for name in ("reward", "verdict", "cases", "rollouts", "missed")
            },
            "score": _plain(self.score),
            "stopped": self.stopped or None,
            "cause": self.cause or None,
            **{
                name: [item.record() for item in getattr(self, name)]
                for name in outcomes
            },
            "proposed_cases": [dict(case) for case in self.proposed_cases],
            "left_out": list(self.left_out),
        }

    def write_cases(self, path: str | Path) -> int:
        """Add the proposed cases to a case file; how many were added. See `append_cases`."""
        return append_cases(path, self.proposed_cases)

    def page(self, *, texts: bool = True, reason: Callable[[str], str] = str) -> Page:
        """The verdict, the survivors where each shows most, what does not count, and what to do next.

        Without `texts` no completion and no proposed case stands in it; `reason` stands for that of an error.
        """
        if self.stopped:
            why = self.stopped[:1].upper() + self.stopped[1:]
            return Page(
                self.verdict, [why + (f" ({reason(self.cause)})" if self.cause else "")]
            )
        told = HEADER if texts else HEADER[:-1]
        rows = [item.cells(self.rollouts)[: len(told)] for item in self.survived]
        lines = [f"Next: {self.next_step}."] if self.next_step else []
        if same := len(self.not_told_apart):
            gives, does = ("gives", "does") if same == 1 else ("give", "do")
            them = "the cases" + (
                f" and {counted(self.rollouts, 'rollout')}" if self.rollouts else ""
            )
            lines.append(
                f"{same} {gives} the same reward for all of {them} and {does} not count."
            )
        lines += [f"Left out: {sentence}" for sentence in self.left_out]
        untried = [(item.mutant.sentence, item.reason) for item in self.not_tried]
        were = "was" if len(untried) == 1 else "were"
        proposed = self.proposed_cases if texts else ()
        written = [
            [json.dumps(case, ensure_ascii=False, default=str)] for case in proposed
        ]
        what, why = "what was to be changed", "why it was not tried"
        first, others = rows[:SURVIVORS], rows[SURVIVORS:]
        tables = [
            Table(
                counted(len(rows), "survivor"),
                told,
                first,
                is_open=not self.missed,
                stacked=True,
            ),
            Table(
                f"and {len(others)} more", told, others, most=len(others), stacked=True
            ),
            Table(
                f"{len(untried)} {were} not tried and do not count",
                (what, why),
                untried,
                stacked=True,
            ),
            Table(
                "proposed cases",
                (ADDED,),
                written,
                most=len(written),
                limit=LONGEST_CASE,
            ),
        ]
        return Page(self.verdict, [tables[0], *lines, *tables[1:]])

    def _repr_html_(self) -> str:
        return self.page().html

    def __repr__(self) -> str:
        return self.text()

    def text(self, *, verbose: bool = False) -> str:
        """The verdict, survivors and what to do next; `verbose`: all of the survivors."""
        shown = self.survived if verbose else self.survived[:SURVIVORS]
        lines = [self.verdict]
        if self.stopped:
            lines.append(
                f"  {self.stopped}" + (f" ({self.cause})" if self.cause else "")
            )
        for item in shown:
            lines += [
                f"  survived: {item.mutant.sentence}",
                f"    {item.where(self.rollouts)}",
            ]
        if left := len(self.survived) - len(shown):
            lines.append(f"  and {counted(left, 'more survivor')}: text(verbose=True)")
        if same := len(self.not_told_apart):
            lines.append(
                f"  not counted: {counted(same, 'mutant')} with the same rewards on all rows"
            )
        for reason, count in Counter(item.reason for item in self.not_tried).items():
            lines.append(f"  not tried: {counted(count, 'mutant')}, as {reason}")
        if self.next_step:
            how = (
                ": result.write_cases(path)"
                if self.proposed_cases and not self.missed
                else ""
            )
            lines.append(f"  next: {self.next_step}{how}")
        return "\n".join(
            [*lines, *(f"  left out: {sentence}" for sentence in self.left_out)]
        )


def _plain(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
