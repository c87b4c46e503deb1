"""Suspicion: the results on suspected completions, as figures, sentences and a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rewardkit.analysis.comparison.before_after import in_brackets
from rewardkit.analysis.statistics import Mask
from rewardkit.findings import counted, percent
from rewardkit.html.blocks import Block, Quote, Table
from rewardkit.html.excerpts import UserText
from rewardkit.html.markup import number
from rewardkit.html.pages import HasPage, More, Page
from rewardkit.plain import PlainRecord, to_plain
from rewardkit.suspects.patched import Patched, to_records

MOST_LISTED = 3
"""Most items of a list in sentences; the record has all. Our choice."""
ROUNDING_OF_MEANS = 1e-9
"""Largest mean that is a rounding error."""
LONGEST_CELL_TEXT = 140
"""Characters of a completion in a table. Our choice."""
UNKNOWN = math.nan
SIGNED = "{:+.3g}".format

EARNING_SENTENCES = {
    "paid": "They earn more than the rest",
    "not paid": "They earn less than the rest",
    "unclear": "It is not clear whether they earn more than the rest",
}


@dataclass(frozen=True)
class Contrast(PlainRecord):
    """The means inside and outside a set of rows; NaN without rows.

    The interval is of the difference.
    """

    IN_RECORD = ("inside", "outside", "interval", "difference")

    inside: float = UNKNOWN
    outside: float = UNKNOWN
    interval: tuple[float, float] = (UNKNOWN, UNKNOWN)

    @property
    def difference(self) -> float:
        """Return the mean inside minus the mean outside."""
        return self.inside - self.outside

    @property
    def unclear(self) -> bool:
        """Return whether the interval of the difference contains 0."""
        low, high = self.interval
        return not (low > ROUNDING_OF_MEANS or high < -ROUNDING_OF_MEANS)


@dataclass(frozen=True)
class Slice:
    """The share of suspects in rows with a value of a column, and elsewhere.

    The 95 % interval of the difference holds simultaneously for all slices.
    """

    column: str
    value: Any
    rows: int
    contrast: Contrast

    @property
    def lift(self) -> float:
        """Return the share in the slice over the share elsewhere; inf if that is 0."""
        if not self.contrast.outside:
            return math.inf
        return self.contrast.inside / self.contrast.outside

    def record(self) -> dict[str, Any]:
        """Return it as plain data, with the shares inside the slice and outside it."""
        return {
            "column": self.column,
            "value": self.value,
            "rows": self.rows,
            "lift": self.lift,
            **self.contrast.record(),
        }

    def __str__(self) -> str:
        here = percent(self.contrast.inside)
        elsewhere = "none"
        if self.contrast.outside:
            elsewhere = percent(self.contrast.outside)
        return f"{self.column}={self.value} {here} ({elsewhere} elsewhere)"


@dataclass(frozen=True)
class PaidComponent(PlainRecord):
    """The effect of a component on the suspects' rewards.

    `pays` is its mean contribution relative to the mean of the group, with its interval
    (for GDPO: to the normalized sum). `scores` are its mean scores of suspects and of
    the rest.
    """

    component: str
    weight: float
    pays: float
    interval: tuple[float, float]
    scores: Contrast


@dataclass(frozen=True, eq=False, repr=False)
class Suspicion(HasPage):
    """The results on suspected completions.

    `description` says how they were selected, `mask` (rows,) marks them, and `interval`
    is of their share, by a bootstrap over prompts. `first_step` is the first step with
    a suspect, and `steps` has the share by step (None and empty without steps).
    `slices` are values of columns at which they are clearly more or less frequent than
    elsewhere, out of `looked_at`.

    `advantage` and `rewards` contrast suspects with the rest. `payments` has the effect
    of each component on their rewards, largest first. `right` contrasts the shares of
    right completions, if there is a label.

    `clearest` are the rows to read first. `traits` are rare features of the completion
    that they are like, each with its share of all completions. `spans` has the matches
    of a pattern by rollout_id. `notes` are caveats.
    """

    reward: str
    description: str
    mask: Mask = field(repr=False)
    prompts: int
    interval: tuple[float, float]
    first_step: float | None
    steps: pd.DataFrame = field(repr=False)
    slices: tuple[Slice, ...]
    looked_at: int
    advantage: Contrast
    rewards: Contrast
    training: str
    payments: tuple[PaidComponent, ...]
    right: Contrast | None
    label: str | None
    clearest: pd.DataFrame = field(repr=False)
    traits: tuple[tuple[str, float], ...] = ()
    spans: Mapping[Any, tuple[int, int]] = field(default_factory=dict, repr=False)
    patched: Patched | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.mask.sum())

    @property
    def share(self) -> float:
        """Return the share of suspects; NaN without completions."""
        return float(pd.Series(self.mask, dtype=float).mean())

    @property
    def verdict(self) -> str:
        """Return "paid", "not paid", "unclear" or, without suspects, "none".

        It compares their advantage with that of the rest.
        """
        if not len(self):
            return "none"
        if self.advantage.unclear:
            return "unclear"
        return "paid" if self.advantage.difference > 0 else "not paid"

    @property
    def sentences(self) -> list[str]:
        """Return the verdict, the results and the advice."""
        sentences = [self._headline()]
        if len(self):
            sentences += self._earning_sentences()
            sentences += self._right_sentences()
            sentences += self._place_sentences()
        if self.patched:
            sentences += self.patched.sentences
        sentences += self.notes
        if advice := self._advice():
            sentences.append(f"To do: {advice}.")
        return sentences

    @property
    def losing(self) -> dict[str, pd.DataFrame]:
        """Return the right completions that lose under a patched reward, by title."""
        if self.patched is None or not self.patched.judged:
            return {}
        tables = {
            "Others that lose": self.patched.lost,
            "Right suspects that lose": self.patched.lost_suspects,
        }
        return {title: table for title, table in tables.items() if len(table)}

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = "reward description prompts share interval verdict first_step".split()
        names += ["training", "label", "notes"]
        plain = {name: getattr(self, name) for name in names}
        return plain | {
            "rows": len(self.mask),
            "suspects": len(self),
            "traits": [{"trait": name, "share": share} for name, share in self.traits],
            "steps": to_records(self.steps),
            "slices": to_plain(self.slices),
            "slices_looked_at": self.looked_at,
            "advantage": self.advantage.record(),
            "rewards": self.rewards.record(),
            "payments": to_plain(self.payments),
            "right": to_plain(self.right),
            "clearest": to_records(self.clearest),
            "patched": to_plain(self.patched),
        }

    def page(self) -> Page:
        """Return the page: sentences, clearest suspects, and folded tables."""
        headline, *sentences = self.sentences
        quotes = self._quotes()
        blocks: list[Block] = [*sentences, *quotes[:MOST_LISTED]]
        for title, table in self.losing.items():
            count = f"{min(MOST_LISTED, len(table))} of {len(table)}"
            first = table.head(MOST_LISTED)
            blocks.append(_to_table(f"{title} ({count})", first, is_open=True))
        blocks.append(More("Further suspects", quotes[MOST_LISTED:]))
        payments = pd.DataFrame(map(vars, self.payments))
        tables = {
            "Where they are more or less often": pd.DataFrame(to_plain(self.slices)),
            "What moves their rewards": payments.drop(
                columns="scores", errors="ignore"
            ),
            "Share by step": self.steps,
        }
        for title, table in self.losing.items():
            if len(table) > MOST_LISTED:
                tables[f"{title}, all"] = table
        blocks += [_to_table(title, table) for title, table in tables.items()]
        if self.patched and self.patched.changes:
            title = f"What {self.patched.reward!r} changes for all"
            blocks.append(More(title, self.patched.changes.moves))
        return Page(f"Suspects by {self.reward!r}", blocks, headline)

    def _headline(self) -> str:
        rows = counted(len(self.mask), "completion")
        if not len(self):
            return f"No suspects: none of {rows} {self.description}."
        low, high = self.interval
        around = ""
        if not math.isnan(low):
            around = f", {percent(low)} to {percent(high)}"
        return (
            f"{self.verdict.capitalize()}. {len(self):,} of {rows} "
            f"({percent(self.share)}{around}) on {counted(self.prompts, 'prompt')} "
            f"{self.description}."
        )

    @property
    def _movers(self) -> list[PaidComponent]:
        """Return the components that change their rewards, beyond rounding errors."""
        return [item for item in self.payments if abs(item.pays) > ROUNDING_OF_MEANS]

    def _earning_sentences(self) -> list[str]:
        """Return sentences on their advantage, and on the components that move it."""
        gain = self.advantage
        rewards = self.rewards
        if math.isnan(gain.inside):
            return ["None of them has an advantage: they are not judged."]
        mean = f"mean advantage {_signed(gain.inside)}, "
        mean += f"mean reward {rewards.inside:.3g}"
        if math.isnan(gain.outside):
            return [f"There is no rest to compare them with: {mean} ({self.training})."]
        sentences = [
            f"{EARNING_SENTENCES[self.verdict]}: {mean}; the rest "
            f"{_signed(gain.outside)} and {rewards.outside:.3g} ({self.training}); "
            f"difference of the advantages {gain.difference:+.3g}"
            f"{in_brackets(gain.interval, SIGNED)}."
        ]
        parts = []
        for item in self._movers:
            interval = in_brackets(item.interval, SIGNED)
            parts.append(f"{item.component} {item.pays:+.3g}{interval}")
        if parts:
            sentences.append(
                "Components move them from the mean of their group: "
                f"{', '.join(parts[:MOST_LISTED])}."
            )
        return sentences

    def _right_sentences(self) -> list[str]:
        if self.right is None or math.isnan(self.right.inside):
            return []
        sentence = f"{percent(self.right.inside)} of them are right by {self.label!r}"
        if not math.isnan(self.right.outside):
            sentence += f", {percent(self.right.outside)} of the rest"
        return [f"{sentence}."]

    def _place_sentences(self) -> list[str]:
        """Return sentences on their first step, their slices and rare traits."""
        sentences = []
        if self.first_step is not None:
            first, last = self.steps["step"].iloc[[0, -1]]
            share = percent(self.steps["share"].iloc[-1])
            sentences.append(
                f"First in step {self.first_step:g}, of steps {first:g} to {last:g}; "
                f"they are {share} of the last."
            )
        frequency = "More"
        slices = []
        for item in self.slices:
            if item.contrast.difference > 0:
                slices.append(str(item))
        if not slices:
            frequency = "Less"
            slices = [*map(str, self.slices)]
        if slices:
            places = "; ".join(slices[:MOST_LISTED])
            sentences.append(f"{frequency} often where {places}.")
        traits = []
        for name, trait_share in self.traits:
            traits.append(f"{name!r} ({percent(trait_share)} of all)")
        if traits:
            sentences.append(f"Rare in that form: {', '.join(traits)}.")
        return sentences

    def _advice(self) -> str:
        """Return the next step, or ""."""
        patched = self.patched
        if patched and patched.judged:
            if patched.faults:
                return f"mend {patched.reward!r}: {', '.join(patched.faults)}"
            if patched.suspects and (patched.right or patched.right_suspects):
                return f"use {patched.reward!r}"
            return ""
        if self.verdict == "not paid":
            return "nothing pays them here; add one to the cases, so that it stays so"
        if self.verdict != "paid":
            return ""
        if self.right and self.right.inside >= self.right.outside:
            return "read them first; they are right as often as the rest"
        cause = "the reward"
        for item in self._movers:
            if item.pays > 0:
                cause = repr(item.component)
                break
        return f"fix {cause}, then try the fixed reward on this log (patched=...)"

    def _quotes(self) -> list[Quote]:
        """Return the clearest completions, with the match of a pattern marked."""
        quotes = []
        for row in self.clearest.to_dict("records"):
            text = str(row.pop("completion"))
            about = ", ".join(f"{name} {_cell(value)}" for name, value in row.items())
            marks = {}
            if row["rollout_id"] in self.spans:
                marks["match"] = [self.spans[row["rollout_id"]]]
            quotes.append(Quote(f"Read first: {about}", text, marks))
        return quotes


def _to_table(title: str, table: pd.DataFrame, *, is_open: bool = False) -> Table:
    rows = []
    for row in to_records(table):
        text = row.pop("completion", None)
        cells: list[object] = [_cell(value) for value in row.values()]
        if text is not None:
            cells.append(UserText(text[:LONGEST_CELL_TEXT]))
        rows.append(cells)
    return Table(title, [str(name) for name in table.columns], rows, is_open=is_open)


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return " to ".join(map(number, value))
    if isinstance(value, float):
        return number(value)
    return str(value)[:LONGEST_CELL_TEXT]


def _signed(value: float) -> str:
    """Format a number with its sign; a rounding error is "0"."""
    return "0" if abs(value) < ROUNDING_OF_MEANS else f"{value:+.3g}"
