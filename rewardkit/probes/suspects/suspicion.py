"""Suspicion: what is known of the completions that are suspected, as numbers, in words and as a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.findings import counted, percent
from rewardkit.html.markup import aligned
from rewardkit.probes.suspects.page import around, cell, page, rows_of, signed, times_as
from rewardkit.probes.suspects.patched import Patched

__all__ = ["Contrast", "Payment", "Slice", "Suspicion"]

SHOWN = 5
"""Of a list in the text for a person; the record has all. Our choice."""
SMALL = 1e-9
"""What a component pays under this is a rounding error."""
NAN = float("nan")


@dataclass(frozen=True)
class Contrast:
    """A mean over the suspects and over the rest, NaN where none; the interval is of the difference."""

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
        return not (low > 0 or high < 0)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "found": self.found,
            "rest": self.rest,
            "difference": self.difference,
            "interval": list(self.interval),
        }


@dataclass(frozen=True)
class Slice:
    """The share of suspects where a column has a value, and elsewhere; the interval is of the difference.

    It holds at 95 % for all slices together that were looked at.
    """

    column: str
    value: Any
    rows: int
    found: int
    contrast: Contrast

    @property
    def lift(self) -> float:
        """How many times the share of elsewhere; inf where there is none elsewhere."""
        return self.contrast.found / self.contrast.rest if self.contrast.rest else math.inf

    @property
    def sentence(self) -> str:
        """Where, how often, and how often elsewhere."""
        more = "more" if self.contrast.difference > 0 else "less"
        times = "never elsewhere"
        if self.contrast.rest:
            times = f"{percent(self.contrast.rest)} elsewhere, {times_as(self.lift)} times"
        return f"{more} often where {self.column}={self.value}: {percent(self.contrast.found)} ({times})"

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "column": self.column,
            "value": self.value,
            "rows": self.rows,
            "found": self.found,
            "lift": self.lift,
            **self.contrast.record(),
        }


@dataclass(frozen=True)
class Payment:
    """What a component does for the suspects.

    `pays` is what it adds to their rewards above the mean of their group, with its interval (of GDPO: to what
    is added up there); `scores` what they and the rest were scored.
    """

    component: str
    weight: float
    pays: float
    interval: tuple[float, float]
    scores: Contrast

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "component": self.component,
            "weight": self.weight,
            "pays": self.pays,
            "interval": list(self.interval),
            "scores": self.scores.record(),
        }


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
    def sentences(self) -> list[str]:
        """What is known, a sentence each, the number first."""
        if not len(self):
            patched = self.patched.sentences if self.patched else ()
            return [f"none of {counted(len(self.found), 'completion')} {self.what}", *patched, *self.notes]
        low, high = self.interval
        of = "" if math.isnan(low) else f", {percent(low)} to {percent(high)}"
        told = [
            f"{len(self):,} of {counted(len(self.found), 'completion')} ({percent(self.share)}{of}), of "
            f"{counted(self.prompts, 'prompt')}, {self.what}",
            *(
                ["there is no rest that they could be held against"]
                if not self.found.size - len(self)
                else []
            ),
            *self._rare(),
            *self._since(),
            *(item.sentence for item in self._where()),
            *self._earning(),
        ]
        if self.right is not None:
            sides = (
                f"{percent(share)} of {who}{are}"
                for share, who, are in (
                    (self.right.found, "them", f" are right by {self.label!r}"),
                    (self.right.rest, "the rest", ""),
                )
                if not math.isnan(share)
            )
            told.append(", ".join(sides))
        return [*told, *(self.patched.sentences if self.patched else ()), *self.notes]

    def _rare(self) -> list[str]:
        shares = (f"{name!r} ({percent(share)} have it)" for name, share in self.traits)
        return [f"what is rare of it: {'; '.join(shares)}"] if self.traits else []

    def _since(self) -> list[str]:
        if self.first_step is None:
            return []
        first, last = self.steps["step"].iloc[[0, -1]]
        return [
            f"first in step {self.first_step:g}, of steps {first:g} to {last:g}; in the last they are "
            f"{percent(self.steps['share'].iloc[-1])}"
        ]

    def _where(self) -> Sequence[Slice]:
        """The slices to tell of: where they are more often; that they are less so elsewhere follows."""
        more = [item for item in self.slices if item.contrast.difference > 0]
        return (more or self.slices)[:SHOWN]

    def _earning(self) -> list[str]:
        """Their advantage, and what moves it."""
        if math.isnan(self.advantage.found):
            return ["none of them has an advantage: they are not judged"]
        rests = (
            "" if math.isnan(self.advantage.rest) else f", {signed(self.advantage.rest)} of the rest",
            "" if math.isnan(self.rewards.rest) else f", {self.rewards.rest:.3g} of the rest",
        )
        told = [
            f"mean advantage {signed(self.advantage.found)}{rests[0]}"
            f"{around(self.advantage.interval, 'difference ')} ({self.training}); mean reward "
            f"{self.rewards.found:.3g}{rests[1]}"
        ]
        moving = [item for item in self.paid if abs(item.pays) > SMALL][:SHOWN]
        each = ", ".join(f"{item.component} {item.pays:+.3g}{around(item.interval)}" for item in moving)
        return [*told, f"from the mean of their group they are moved by {each}"] if each else told

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "reward": self.reward,
            "what": self.what,
            "rows": len(self.found),
            "found": len(self),
            "prompts": self.prompts,
            "share": self.share,
            "interval": list(self.interval),
            "traits": [{"trait": name, "share": share} for name, share in self.traits],
            "first_step": self.first_step,
            "steps": rows_of(self.steps),
            "slices": [item.record() for item in self.slices],
            "slices_looked_at": self.looked_at,
            "training": self.training,
            "advantage": self.advantage.record(),
            "rewards": self.rewards.record(),
            "paid": [item.record() for item in self.paid],
            "label": self.label,
            "right": self.right.record() if self.right else None,
            "clearest": rows_of(self.clearest),
            "patched": self.patched.record() if self.patched else None,
            "notes": list(self.notes),
        }

    @property
    def losing(self) -> list[tuple[str, pd.DataFrame]]:
        """The right completions that a patched reward takes something from, with a title, suspects apart."""
        if self.patched is None or not self.patched.judged:
            return []
        found = [
            ("others that would get less", self.patched.lost),
            ("suspects that are right and would get less", self.patched.lost_suspects),
        ]
        return [(title, lost) for title, lost in found if len(lost)]

    def __repr__(self) -> str:
        head, *others = self.sentences
        lines = [f"suspects by {self.reward!r}: {head}", *(f"  {item}" for item in others)]
        if len(self.clearest):
            lines += ["  the clearest:", *_listed(self.clearest)]
        for title, lost in self.losing:
            lines += [f"  {title}:", *_listed(lost.head(SHOWN))]
            if (more := len(lost) - SHOWN) > 0:
                lines.append(f"    and {more} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return page(self)


def _listed(frame: pd.DataFrame) -> list[str]:
    """The rows of a table as lines of text."""
    rows = [[str(name) for name in frame.columns]]
    rows += [[cell(value) for value in row.values()] for row in rows_of(frame)]
    return [f"    {line}" for line in aligned(rows)]
