"""Results on the mutants of a reward, and proposed cases."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from rewardkit.findings import counted
from rewardkit.html.blocks import Block, Quote, Table
from rewardkit.html.excerpts import UserText, one_line
from rewardkit.html.pages import HasPage, Page, Point
from rewardkit.mutation.mutations import Mutant
from rewardkit.plain import PlainRecord, to_json
from rewardkit.reasons import Reason
from rewardkit.scoring.cases import append_cases

MOST_SURVIVORS = 5
"""Most survivors shown with a completion; the others are rows of a table."""

HOW_TO_ADD_CASES = (
    "to add them, when they are read: rewardkit check ... --mutants --write-cases FILE"
)
LONGEST_CASE = 2000  # characters of a proposed case on a page
LONGEST_CHANGE = 120  # characters of code before and after a change

Verdict = Literal["noticed", "survived", "not told apart", "not tried"]

MUTANT_FIELDS = ("kind", "component", "part", "sentence", "before", "after")


@dataclass(frozen=True)
class Difference:
    """A row with different rewards from a mutant and the original.

    It is either a rollout, with its id, or a case, with its name.
    """

    rollout_id: Any
    case: str | None
    reward: float
    mutant_reward: float
    completion: str

    @property
    def sentence(self) -> str:
        """Name the row, and both rewards."""
        row = f"case {self.case!r}" if self.case else f"rollout {self.rollout_id!r}"
        return f"{row}: {_figure(self.reward)} → {_figure(self.mutant_reward)}"


@dataclass(frozen=True, eq=False)
class Judged:
    """A mutant and its outcome.

    `noticed_by` are the names of the cases that fail because of it. `reason` says how
    else it was noticed (a call that does not end), or why it was not tried. `differs`
    counts the rollouts with another reward, `differences` are the rows with the largest
    difference, and `case` is the proposed case that would catch it.
    """

    mutant: Mutant
    outcome: Verdict
    noticed_by: tuple[str, ...] = ()
    reason: str = ""
    differs: int = 0
    differences: tuple[Difference, ...] = ()
    case: Mapping[str, Any] | None = None

    def record(self) -> dict[str, Any]:
        """Return it as plain data; a missing reward is None."""
        plain = {
            **{name: getattr(self.mutant, name) for name in MUTANT_FIELDS},
            "outcome": self.outcome,
            "reason": self.reason,
            "differs": self.differs,
            "noticed_by": self.noticed_by,
            "differences": self.differences,
            "case": self.case["name"] if self.case else None,
        }
        record: dict[str, Any] = to_json(plain)
        return record

    def where(self, rollouts: int) -> str:
        """Say on how many of the rollouts it differs, and on which most."""
        if not self.differences:
            return self.reason or "no row tells it apart"
        first = self.differences[0].sentence
        if not rollouts:
            return f"differs on {first}"
        share = f"{self.differs:,} of {counted(rollouts, 'rollout')}"
        return f"differs on {share}, most on {first}"

    def point(self, rollouts: int) -> Point:
        """Return a survivor with the completion on which it differs most."""
        quotes = []
        if self.differences:
            completion = self.differences[0].completion
            quotes.append(Quote(self.change, completion, longest=160))
        where = _capital(self.where(rollouts))
        sentence = f"{self.mutant.sentence} {where}."
        return Point("warn", self.mutant.kind, sentence, examples=quotes)

    @property
    def change(self) -> str:
        """Write the code before and after the change."""
        codes = (self.mutant.before, self.mutant.after)
        return " → ".join(one_line(code, LONGEST_CHANGE) for code in codes)


@dataclass(frozen=True, eq=False, repr=False)
class MutantResult(PlainRecord, HasPage):
    """The outcomes of all mutants of a reward.

    `proposed_cases` has a case for each survivor with a difference on a row, in the
    form of a case file; survivors that differ most on the same row share a case.
    `left_out` says what was not changed or tried. `cases` and `rollouts` count those
    that the reward judged; `missed` counts cases that fail already. `stopped` says why
    no mutant could be tried, or is "". `cause` is the reward's reason for that, which
    may quote a completion.
    """

    reward: str
    judged: tuple[Judged, ...] = ()
    proposed_cases: tuple[Mapping[str, Any], ...] = ()
    cases: int = 0
    rollouts: int = 0
    left_out: tuple[str, ...] = ()
    missed: int = 0
    stopped: str = ""
    cause: Reason | None = None

    IN_RECORD = (
        *("reward", "verdict", "cases", "rollouts", "missed", "score"),
        *("stopped", "cause"),
        *("noticed", "survived", "not_told_apart", "not_tried"),
        *("proposed_cases", "left_out"),
    )

    @property
    def score(self) -> float:
        """Return noticed / (noticed + survived); NaN without any."""
        decided = len(self.noticed) + len(self.survived)
        return len(self.noticed) / decided if decided else math.nan

    @property
    def noticed(self) -> tuple[Judged, ...]:
        """Return the mutants that the cases catch."""
        return self._select("noticed")

    @property
    def survived(self) -> tuple[Judged, ...]:
        """Return the mutants that no case catches."""
        return self._select("survived")

    @property
    def not_told_apart(self) -> tuple[Judged, ...]:
        """Return the mutants with the original's reward on every row."""
        return self._select("not told apart")

    @property
    def not_tried(self) -> tuple[Judged, ...]:
        """Return the mutants that were not tried; they do not count."""
        return self._select("not tried")

    def _select(self, verdict: Verdict) -> tuple[Judged, ...]:
        return tuple(item for item in self.judged if item.outcome == verdict)

    @property
    def verdict(self) -> str:
        """State the score in a sentence, without quotes of completions."""
        caught = len(self.noticed)
        decided = caught + len(self.survived)
        if not decided:
            return "No mutation score: no mutant of this reward was tried."
        verb = "catches" if self.cases == 1 else "catch"
        share = "all" if caught == decided else f"{caught} of"
        sentence = (
            f"Mutation score {self.score:.2f}: your {counted(self.cases, 'case')} "
            f"{verb} {share} {counted(decided, 'mutant')}."
        )
        if self.missed:
            failing = f"{self.missed} of {self.cases}"
            sentence = f"Cases that fail already: {failing}. {sentence}"
        if self.not_tried:
            sentence += f" {len(self.not_tried)} more were not tried."
        return sentence

    @property
    def next_step(self) -> str:
        """Say what to do about the survivors; "" without any."""
        if not self.survived:
            return ""
        if self.missed:
            return "fix what the cases miss first (rk.check lists it), then try again"
        if not self.proposed_cases:
            if self.rollouts:
                return "write cases by hand"
            return "give rollouts, so that cases can be proposed"
        cases = counted(len(self.proposed_cases), "proposed case")
        return (
            f"check the {cases} (expected is what the reward gives now), "
            "then add what is right"
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each mutant, with the number of cases that catch it."""
        columns = ["outcome", *MUTANT_FIELDS, "noticed_by", "differs", "case"]
        records = [item.record() for item in self.judged]
        for record in records:
            record["noticed_by"] = len(record["noticed_by"])
        return pd.DataFrame(records, columns=columns)

    def record(self) -> dict[str, Any]:
        """Return it as plain data: the score (or None), mutants by outcome, cases."""
        cause = str(self.cause) if self.cause else None
        reasons = {"stopped": self.stopped or None, "cause": cause}
        record: dict[str, Any] = to_json(super().record() | reasons)
        return record

    def write_cases(self, path: str | Path) -> int:
        """Add the proposed cases to a case file, and return how many were added."""
        return append_cases(path, self.proposed_cases)

    def page(self) -> Page:
        """Return the page: verdict, next step, survivors, and uncounted mutants."""
        if self.stopped:
            return Page(self.verdict, [self._why_stopped()])
        blocks: list[Block] = []
        if self.next_step:
            how = ""
            if self.proposed_cases and not self.missed:
                how = ": result.write_cases(path)"
            blocks.append(f"Next: {self.next_step}{how}")
        first = self.survived[:MOST_SURVIVORS]
        others = self.survived[MOST_SURVIVORS:]
        blocks += [item.point(self.rollouts) for item in first]
        blocks.append(
            Table(
                f"and {counted(len(others), 'more survivor')}",
                ("what was changed", "code", "where it shows"),
                [
                    (item.mutant.sentence, item.change, item.where(self.rollouts))
                    for item in others
                ],
                most=len(others),
                stacked=True,
            )
        )
        blocks += self._not_counted()
        written = [
            [UserText(json.dumps(case, ensure_ascii=False, default=str))]
            for case in self.proposed_cases
        ]
        blocks.append(
            Table(
                "proposed cases",
                (HOW_TO_ADD_CASES,),
                written,
                most=len(written),
                limit=LONGEST_CASE,
            )
        )
        foot = ""
        if others:
            foot = f"And {counted(len(others), 'more survivor')}: text(verbose=True)"
        return Page(self.verdict, blocks, foot=foot)

    def _why_stopped(self) -> UserText:
        why = _capital(self.stopped)
        if self.cause is None:
            return UserText(why, instead=why)
        redacted = f"{why} ({self.cause.redacted()})"
        return UserText(f"{why} ({self.cause})", instead=redacted)

    def _not_counted(self) -> list[Block]:
        """Return lines on mutants that do not count, and on parts left out."""
        blocks: list[Block] = []
        if self.not_told_apart:
            rows = "the cases"
            if self.rollouts:
                rows += f" and {counted(self.rollouts, 'rollout')}"
            mutants = counted(len(self.not_told_apart), "mutant")
            blocks.append(f"Not counted: {mutants} with the same rewards on {rows}.")
        for reason, count in Counter(item.reason for item in self.not_tried).items():
            blocks.append(f"Not tried: {counted(count, 'mutant')}, as {reason}.")
        blocks += [f"Left out: {sentence}." for sentence in self.left_out]
        return blocks


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _figure(reward: float) -> str:
    return "unscored" if math.isnan(reward) else f"{reward:.4g}"
