"""CheckResult: the cases that a reward passes, misses and leaves undecided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import pandas as pd

from rewardkit.errors import did_you_mean
from rewardkit.findings import NAMED, counted, most
from rewardkit.html import cards
from rewardkit.html.blocks import Code
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, Page
from rewardkit.plain import Plain, PlainRecord, to_plain
from rewardkit.reasons import Reason
from rewardkit.scoring.cases import Case

CASE_LINES: Final = (
    '{"completion": "...", "ground_truth": "...", "reward": 1.0, "why": "..."}\n'
    '{"prompt": "...", "ground_truth": "...", "above": {"completion": "..."}, '
    '"below": {"completion": "..."}, "why": "..."}'
)
"""Example lines of a case file."""

REWARD: Final = "reward"
"""The name of the whole reward in a miss."""

MORE: Final = "more than below"
SAME: Final = "the same as below"
"""Expectations of the first of two completions."""

ABOVE: Final = "above is better"
BELOW: Final = "below is better"
EQUAL: Final = "equally good"
DROPPED: Final = "drop the case"
"""Decisions on a case of two completions; the last also on any undecided case."""

MOST_CHARACTERS: Final = 200
"""Most characters of a completion in the text of a miss."""


@dataclass(frozen=True)
class Miss:
    """An expectation that was not met.

    `what` is "reward" or the component. `got` is its score, or its status with the
    reason; for an order, those of both completions, and `below` is the completion that
    should get less. `turns` is the transcript before the completion. `reason` says why
    a score is missing. `proposed` is the expectation that the outcome would meet: a
    value, a range of the same width, a status, or the better completion; None for an
    error or a tie.
    """

    case: str
    what: str
    expected: Any
    got: Any
    completion: str
    ground_truth: Any
    fields: Plain
    status: Mapping[str, str]
    why: str
    turns: str = ""
    reason: Reason | None = None
    below: str = ""
    proposed: Any = None

    def redacted(self) -> Miss:
        """Return the miss without the quotes of its reason."""
        if self.reason is None:
            return self
        reason = self.reason.redacted()
        status = self.status.get(self.what, "unscored")
        if self.below:
            status = "no order"
        return replace(self, got=f"{status} ({reason})", reason=reason)

    def quote(self) -> Any:
        """Return `got` for a page, with a redacted form."""
        if self.reason is None:
            return str(self.got)
        return UserText(self.got, str(self.redacted().got))

    def __str__(self) -> str:
        fields: Any = "no fields"
        if self.fields:
            pairs = [f"{name}={value!r}" for name, value in self.fields.items()]
            fields = UserText(", ".join(pairs))
        why = f": {UserText(self.why)}" if self.why else ""
        completion = UserText(repr(self.completion[:MOST_CHARACTERS]))
        below: Any = ""
        if self.below:
            below = f"; below {UserText(repr(self.below[:MOST_CHARACTERS]))}"
        return (
            f"case {self.case!r}: {self.what} expected {self.expected}, got "
            f"{self.quote()} (truth {UserText(repr(self.ground_truth))}; {fields}; "
            f"{UserText(self.turns, '')}completion {completion}{below}){why}"
        )


@dataclass(frozen=True)
class Undecided:
    """An undecided case with the present scores of its completions.

    `what` is "reward" or the component, `below` the second completion of an order.
    `choices` are the possible decisions: the better completion, or the present score,
    or to drop the case.
    """

    case: str
    what: str
    got: Any
    completion: str
    below: str
    ground_truth: Any
    why: str
    choices: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class CheckResult(HasPage, PlainRecord):
    """The outcome of a check: the cases, every miss, and undecided cases.

    A case may have several misses; an undecided one neither passes nor fails. By
    component that the reward lacks, `left_out` counts the ignored expectations and
    `unknown` names the cases with other expectations.
    """

    IN_RECORD = (
        "passed", "failed", "undecided", "misses", "to_decide", "left_out", "unknown",
    )  # fmt: skip

    reward: str
    cases: tuple[Case, ...]
    misses: tuple[Miss, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    to_decide: tuple[Undecided, ...] = ()
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    components: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """Return the number of cases with at least one miss."""
        return len({miss.case for miss in self.misses})

    @property
    def undecided(self) -> int:
        """Return the number of undecided cases."""
        return len(self.to_decide)

    @property
    def decided(self) -> int:
        """Return the number of cases that pass or fail."""
        return len(self.cases) - self.undecided

    @property
    def passed(self) -> int:
        """Return the number of decided cases that met every expectation."""
        return self.decided - self.failed

    @property
    def is_met(self) -> bool:
        """Return whether no case fails or names a component that the reward lacks.

        Undecided cases do not count.
        """
        return not self.misses and not self.unknown

    @property
    def unknown_sentences(self) -> list[str]:
        """Return a sentence about each component that the reward lacks."""
        sentences = []
        for component, cases in self.unknown.items():
            quoted = list(map(repr, cases))
            number = counted(len(cases), "case")
            verb = "expects" if len(cases) == 1 else "expect"
            sentences.append(
                f"{number} ({most(quoted, NAMED)}) {verb} a score of {component!r}, "
                f"which reward {self.reward!r} does not have: what that says was not "
                f"checked; it has {list(self.components)}"
                f"{did_you_mean(component, self.components)}"
            )
        return sentences

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return a table with one row per miss and the attributes as columns."""
        return pd.DataFrame(
            map(vars, self.misses),
            columns=list(Miss.__dataclass_fields__),
            dtype=object,
        )

    def page(self) -> Page:
        """Return the page: how many cases passed, and the misses."""
        if not self.cases and not self.unknown:
            title = "No cases were given: write down what the reward must give, and why"
            return Page(title, ["Each is one line of a JSONL file:", Code(CASE_LINES)])
        misses = [{**to_plain(miss), "got": miss.quote()} for miss in self.misses]
        outcome = {**self.record(), "misses": misses}
        return cards.check_page(self.reward, outcome, self.unknown_sentences)
