"""Suspicion: what is known of the completions that are suspected, as numbers, in words and as a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.findings import counted, percent
from rewardkit.html.excerpts import one_line
from rewardkit.html.markup import (
    aligned,
    card,
    escaped,
    folded,
    listed,
    marked,
    number,
    table,
)
from rewardkit.plain import PlainRecord
from rewardkit.suspects.patched import Patched, rows_of

SHOWN = 3
"""Of a list in the text for a person; the record has all. Our choice."""
SMALL = 1e-9
"""A mean under this is a rounding error."""
WIDEST = 140
"""Characters of a completion in a line of text."""
MOST_ROWS = 20
"""Of a table on the page; the others are counted. Our choice."""
NAN = float("nan")

VERDICTS = {
    "paid": "They earn more than the rest",
    "not paid": "They earn less than the rest",
    "unclear": "It is not clear whether they earn more than the rest",
}


@dataclass(frozen=True)
class Contrast(PlainRecord):
    """A mean over the suspects and over the rest, NaN where none; the interval is of the difference."""

    IN_RECORD = (
        "found",
        "rest",
        "interval",
        "difference",
    )

    found: float = NAN
    rest: float = NAN
    interval: tuple[float, float] = (NAN, NAN)

    @property
    def difference(self) -> float:
        """What the suspects have more than the rest."""
        return self.found - self.rest

    @property
    def unclear(self) -> bool:
        """Whether the difference may be none."""
        low, high = self.interval
        return not (low > SMALL or high < -SMALL)


@dataclass(frozen=True)
class Slice:
    """The share of suspects where a column has a value, and elsewhere; the interval is of the difference.

    It holds at 95 % for all slices together that were looked at.
    """

    column: str
    value: Any
    rows: int
    contrast: Contrast

    @property
    def lift(self) -> float:
        """How many times the share of elsewhere; inf where there is none elsewhere."""
        return (
            self.contrast.found / self.contrast.rest if self.contrast.rest else math.inf
        )

    def record(self) -> dict[str, Any]:
        """As plain data; `found` is the share here, `rest` that elsewhere."""
        own = {
            "column": self.column,
            "value": self.value,
            "rows": self.rows,
            "lift": self.lift,
        }
        return {**own, **self.contrast.record()}

    def __str__(self) -> str:
        elsewhere = percent(self.contrast.rest) if self.contrast.rest else "none"
        return f"{self.column}={self.value} {percent(self.contrast.found)} ({elsewhere} elsewhere)"


@dataclass(frozen=True)
class Payment(PlainRecord):
    """What a component does for the suspects.

    `pays` is what it adds to their rewards above the mean of their group, with its interval (of GDPO: to what
    is added up there); `scores` what they and the rest were scored.
    """

    component: str
    weight: float
    pays: float
    interval: tuple[float, float]
    scores: Contrast


@dataclass(frozen=True, eq=False)
class Suspicion:
    """The completions that are suspected, and what is known of them.

    `what` says how they were looked for; `found` are they, (rows,); the `interval` of their share of all is a
    bootstrap over prompts. `first_step` is the first with any, `steps` has the share by step; ``None`` and
    empty without steps. `slices` are where they are more or less often than elsewhere for certain, of so many
    `looked_at`. `advantage` and `rewards` are means over them and the rest, `paid` says which components move
    their rewards, most first. `right` are the shares of right ones, where a label is given. `clearest` are
    the rows to read first; `traits` what is rare of the completion that they are like, and the share of all
    that has it, empty where nothing of it is; `spans` where a pattern was found, by rollout_id. `notes` say
    what cannot be said.
    """

    reward: str
    what: str
    found: NDArray[np.bool_] = field(repr=False)
    prompts: int
    interval: tuple[float, float]
    first_step: float | None
    steps: pd.DataFrame = field(repr=False)
    slices: tuple[Slice, ...]
    looked_at: int
    advantage: Contrast
    rewards: Contrast
    training: str
    paid: tuple[Payment, ...]
    right: Contrast | None
    label: str | None
    clearest: pd.DataFrame = field(repr=False)
    traits: tuple[tuple[str, float], ...] = ()
    spans: Mapping[Any, tuple[int, int]] = field(default_factory=dict, repr=False)
    patched: Patched | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.found.sum())

    @property
    def share(self) -> float:
        """Of all completions; NaN of none."""
        return len(self) / len(self.found) if len(self.found) else NAN

    @property
    def verdict(self) -> str:
        """Whether they are "paid", by their advantage against the rest; "not paid", "unclear", or "none"."""
        if not len(self):
            return "none"
        if self.advantage.unclear:
            return "unclear"
        return "paid" if self.advantage.difference > 0 else "not paid"

    @property
    def sentences(self) -> list[str]:
        """The verdict, what is known, and what to do."""
        patched = self.patched.sentences if self.patched else []
        rows = counted(len(self.found), "completion")
        if not len(self):
            head = [f"No suspects: none of {rows} {self.what}."]
        else:
            low, high = self.interval
            of = "" if math.isnan(low) else f", {percent(low)} to {percent(high)}"
            head = [
                f"{self.verdict.capitalize()}. {len(self):,} of {rows} ({percent(self.share)}{of}) on "
                f"{counted(self.prompts, 'prompt')} {self.what}.",
                *self._earning(),
                *self._right(),
                *self._where(),
            ]
        return [*head, *patched, *self.notes, *self._to_do()]

    def _earning(self) -> list[str]:
        """Their advantage, and what moves it."""
        gain, paid = self.advantage, self.rewards
        if math.isnan(gain.found):
            return ["None of them has an advantage: they are not judged."]
        own = f"mean advantage {_signed(gain.found)}, mean reward {paid.found:.3g}"
        if math.isnan(gain.rest):
            return [f"There is no rest to compare them with: {own} ({self.training})."]
        told = [
            f"{VERDICTS[self.verdict]}: {own}; the rest {_signed(gain.rest)} and {paid.rest:.3g} "
            f"({self.training}); difference of the advantages {gain.difference:+.3g}{_around(gain.interval)}."
        ]
        moving = [item for item in self.paid if abs(item.pays) > SMALL][:SHOWN]
        each = ", ".join(
            f"{item.component} {item.pays:+.3g}{_around(item.interval)}"
            for item in moving
        )
        return (
            [*told, f"Components move them from the mean of their group: {each}."]
            if each
            else told
        )

    def _right(self) -> list[str]:
        if self.right is None or math.isnan(self.right.found):
            return []
        rest = (
            ""
            if math.isnan(self.right.rest)
            else f", {percent(self.right.rest)} of the rest"
        )
        return [
            f"{percent(self.right.found)} of them are right by {self.label!r}{rest}."
        ]

    def _where(self) -> list[str]:
        """Since which step, in which slices (where they are more often, if any), and what is rare of them."""
        told = []
        if self.first_step is not None:
            first, last = self.steps["step"].iloc[[0, -1]]
            told.append(
                f"First in step {self.first_step:g}, of steps {first:g} to {last:g}; they are "
                f"{percent(self.steps['share'].iloc[-1])} of the last."
            )
        more = [item for item in self.slices if item.contrast.difference > 0]
        if self.slices:
            word = "More" if more else "Less"
            told.append(
                f"{word} often where {'; '.join(map(str, (more or self.slices)[:SHOWN]))}."
            )
        if self.traits:
            shares = (
                f"{name!r} ({percent(share)} of all)" for name, share in self.traits
            )
            told.append(f"Rare in that form: {', '.join(shares)}.")
        return told

    def _to_do(self) -> list[str]:
        """What to do next, in one sentence; none where nothing follows."""
        if (patched := self.patched) and patched.judged:
            lost = len(patched.lost) + len(patched.lost_suspects)
            unjudged = patched.rows - patched.judged
            faults = [f"{counted(unjudged, 'completion')} without a reward"] * bool(
                unjudged
            )
            wrong = patched.earn - patched.earn_right
            faults += [f"{counted(wrong, 'suspect')} still paid"] * bool(wrong)
            lose = "loses" if lost == 1 else "lose"
            faults += [f"{counted(lost, 'right completion')} that {lose}"] * bool(lost)
            if faults:
                return [f"To do: mend {patched.reward!r}: {', '.join(faults)}."]
            known = patched.suspects and (patched.right or patched.right_suspects)
            return [f"To do: use {patched.reward!r}."] if known else []
        if (
            self.verdict == "paid"
            and self.right
            and self.right.found >= self.right.rest
        ):
            return ["To do: read them first; they are right as often as the rest."]
        if self.verdict == "paid":
            most = next(
                (repr(item.component) for item in self.paid if item.pays > SMALL),
                "the reward",
            )
            return [
                f"To do: fix {most}, then try the fixed reward on this log (patched=...)."
            ]
        if self.verdict == "not paid":
            return [
                "To do: nothing pays them here; add one to the cases, so that it stays so."
            ]
        return []

    @property
    def losing(self) -> dict[str, pd.DataFrame]:
        """The right completions that lose under a patched reward, by title, suspects apart."""
        if self.patched is None or not self.patched.judged:
            return {}
        found = {
            "Others that lose": self.patched.lost,
            "Right suspects that lose": self.patched.lost_suspects,
        }
        return {title: lost for title, lost in found.items() if len(lost)}

    def record(self) -> dict[str, Any]:
        """As plain data."""
        names = "reward what prompts share interval verdict first_step training label notes".split()
        return {name: getattr(self, name) for name in names} | {
            "rows": len(self.found),
            "found": len(self),
            "traits": [{"trait": name, "share": share} for name, share in self.traits],
            "steps": rows_of(self.steps),
            "slices": [item.record() for item in self.slices],
            "slices_looked_at": self.looked_at,
            "advantage": self.advantage.record(),
            "rewards": self.rewards.record(),
            "paid": [item.record() for item in self.paid],
            "right": self.right.record() if self.right else None,
            "clearest": rows_of(self.clearest),
            "patched": self.patched.record() if self.patched else None,
        }

    def __repr__(self) -> str:
        head, *others = self.sentences
        lines = [
            f"Suspects by {self.reward!r}: {head}",
            *(f"  {item}" for item in others),
        ]
        tables = {"Read first": self.clearest, **self.losing}
        for title, frame in [item for item in tables.items() if len(item[1])][:2]:
            lines.append(f"  {title} ({min(SHOWN, len(frame))} of {len(frame)}):")
            rows = [
                [one_line(_cell(value)) for value in row.values()]
                for row in rows_of(frame.head(SHOWN))
            ]
            lines += [
                f"    {line}"
                for line in aligned([list(map(str, frame.columns)), *rows])
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What is known of them, then, folded, the tables and the clearest completions to read."""
        head, *others = self.sentences
        tables = {
            "Where they are more or less often": pd.DataFrame(
                [item.record() for item in self.slices]
            ),
            "What moves their rewards": pd.DataFrame(
                [{**vars(item), "scores": ""} for item in self.paid]
            ),
            "Share by step": self.steps,
            **self.losing,
        }
        parts = [listed(map(escaped, others))]
        for title, frame in tables.items():
            rows = [[_cell(value) for value in row.values()] for row in rows_of(frame)]
            if rows:
                parts.append(
                    folded(
                        title,
                        table(list(map(str, frame.columns)), rows, most=MOST_ROWS),
                    )
                )
        for row in self.clearest.to_dict("records"):
            completion, span = (
                str(row.pop("completion")),
                self.spans.get(row["rollout_id"]),
            )
            told = ", ".join(f"{name} {_cell(value)}" for name, value in row.items())
            parts.append(
                folded(told, marked(completion, {"match": [span]} if span else {}))
            )
        return card(f"Suspects by {self.reward!r}", "".join(parts), said=head)


def _cell(value: Any) -> str:
    """A value in a line of text."""
    if isinstance(value, tuple):
        return " to ".join(map(number, value))
    shown = number(value) if isinstance(value, float) else str(value)
    return shown if len(shown) <= WIDEST else f"{shown[: WIDEST - 3]}..."


def _signed(value: float) -> str:
    """A number with its sign, a rounding error as none."""
    return "0" if abs(value) < SMALL else f"{value:+.3g}"


def _around(interval: tuple[float, float]) -> str:
    """An interval behind its value; nothing where there is none."""
    low, high = interval
    return "" if math.isnan(low) else f" ({low:+.3g} to {high:+.3g})"
