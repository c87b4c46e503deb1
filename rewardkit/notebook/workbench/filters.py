"""Filters: which rows Browse shows, and in which order. Arrays in, row numbers out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rewardkit.analysis.statistics import Floats
from rewardkit.analysis.summary import different
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.scoring.outcomes import STATUSES

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
MOST_HIGHEST = 24
"""Diverse completions of the highest rewards. Our choice."""
WRONG_BUT_PAID, RIGHT_BUT_UNPAID = "wrong but paid", "right but unpaid"
FILTER_KINDS = {
    "all": "all completions",
    "highest": "highest rewards, diverse",
    WRONG_BUT_PAID: WRONG_BUT_PAID,
    RIGHT_BUT_UNPAID: RIGHT_BUT_UNPAID,
    "gated": "behind a closed gate",
    "abstained": "not judged by a component",
    "error": "with an error",
    "no reward": "without a reward",
    "tied": "in groups without a signal",
    "flagged": "flagged",
}
ROW_ORDERS = (
    "reward, highest first",
    "reward, lowest first",
    "advantage",
    "spread of the group",
    "length",
    "log",
)


@dataclass(frozen=True)
class Filter:
    """What a person asks to see.

    `component` is that of `low` and `high`, "" for the reward, and of the kinds that
    say why there is no score, "" for any. Infinite limits leave out nothing, others
    what is missing. `text` is looked for in the completion, in any case; `column` must
    say `value`.
    """

    kind: str = "all"
    component: str = ""
    low: float = -math.inf
    high: float = math.inf
    text: str = ""
    column: str = ""
    value: str = ""
    order: str = ROW_ORDERS[0]
    one_a_group: bool = False


@dataclass(eq=False)
class Sieve:
    """The rows of a bench; what does not move with the weights is computed once."""

    bench: Bench

    def rows(self, wanted: Filter) -> Rows:
        """Return the rows that pass a filter, in its order."""
        mask, scores = self._of_kind(wanted), self.bench.scores
        values = self.bench.figures.rewards
        if wanted.component:
            values = scores.score(wanted.component)
        if wanted.low > -math.inf:
            mask &= values >= wanted.low - 1e-9
        if wanted.high < math.inf:
            mask &= values <= wanted.high + 1e-9
        if wanted.column:
            mask &= self._texts_of(wanted.column) == wanted.value
        if wanted.text:
            mask &= self._find_text(wanted.text, mask)
        rows = np.flatnonzero(mask)
        rows = rows[np.argsort(self._keys(wanted.order, rows), kind="stable")]
        if wanted.one_a_group:
            _, first = np.unique(scores.groups[rows], return_index=True)
            rows = rows[np.sort(first)]
        return rows

    def _of_kind(self, wanted: Filter) -> Mask:
        """Return a new mask of the rows of the kind that is wanted."""
        bench, kind = self.bench, wanted.kind
        rewards, right = bench.figures.rewards, bench.right[0]
        if kind == WRONG_BUT_PAID:
            return np.asarray((right == 0) & (rewards >= self.middle))
        if kind == RIGHT_BUT_UNPAID:
            return np.asarray((right == 1) & (rewards <= self.middle))
        if kind == "no reward":
            return np.isnan(rewards)
        mask = np.full(len(rewards), kind == "all")
        if kind in STATUSES:
            names = (
                [wanted.component] if wanted.component else bench.scores.reward.names
            )
            for name in names:
                mask |= bench.scores.status(name) == STATUSES.index(kind)
        elif kind == "flagged":
            mask[bench.flagged] = True
        elif kind == "tied":
            for view in bench.views:
                mask[view.rows] = view.dead[view.groups]
        elif kind == "highest":
            for view in bench.views:
                mask[view.rows[different(view, MOST_HIGHEST)]] = True
        return mask

    @property
    def middle(self) -> float:
        """Return the reward halfway between the medians of wrong and right rows.

        NaN where there are no right or no wrong ones, so that nothing is paid or
        unpaid.
        """
        right, rewards = self.bench.right[0], self.bench.figures.rewards
        medians = []
        for value in (0, 1):
            judged = rewards[(right == value) & np.isfinite(rewards)]
            medians.append(float(np.median(judged)) if len(judged) else math.nan)
        return sum(medians) / 2

    def _find_text(self, text: str, among: Mask) -> Mask:
        """Return which rows of `among` have a completion with the text, in any case."""
        hits = pc.match_substring(self._folded.filter(pa.array(among)), text.casefold())
        mask = among.copy()
        mask[among] = hits.to_numpy(zero_copy_only=False)
        return mask

    @cached_property
    def _folded(self) -> Any:
        """Return the completions without case in Arrow, searched in milliseconds."""
        texts = []
        for text in self.bench.scored.table["completion"]:
            # Arrow takes no lone surrogates
            texts.append(str(text).casefold().encode("utf-8", "replace").decode())
        return pa.array(texts, type=pa.large_string())

    def _texts_of(self, column: str) -> NDArray[np.object_]:
        """Return the values of a column as texts; of a verdict, its level."""
        texts = []
        for value in self.bench.scored.table[column]:
            if isinstance(value, dict):
                value = value.get("level", "-")
            texts.append(str(value))
        return np.array(texts, dtype=object)

    def columns(self) -> list[tuple[str, str]]:
        """Return label and name of each column that rows can be filtered by."""
        scored = self.bench.scored
        columns = [(str(name), str(name)) for name in scored.rollouts.table.columns]
        for before, group in (("level", "verdict"), ("why no score", "error")):
            for component in scored.reward.names:
                name = f"{group}/{component}"
                if name in scored.table and scored.table[name].notna().any():
                    columns.append((f"{before} of {component}", name))
        return columns

    def choices(self, column: str) -> list[str]:
        """Return the values of a column, the most frequent first."""
        return [text for text, _ in Counter(self._texts_of(column)).most_common()]

    def _keys(self, order: str, rows: Rows) -> Floats:
        """Return the sort key of each row, lowest first; missing ones are last."""
        figures = self.bench.figures
        if order == "log":
            return np.array(rows, dtype=np.float64)
        if order == "length":
            keys = self._lengths
        elif order == "advantage":
            keys = figures.advantages
        elif order == "spread of the group":
            keys = np.full(len(figures.rewards), np.nan)
            for view in self.bench.views:
                keys[view.rows] = (view.stats.high - view.stats.low)[view.groups]
        elif order == "reward, lowest first":
            keys = -figures.rewards
        else:
            keys = figures.rewards
        return -np.where(np.isnan(keys), -math.inf, keys)[rows]

    @cached_property
    def _lengths(self) -> Floats:
        completions = self.bench.scored.table["completion"]
        return np.array([len(text) for text in completions], dtype=float)
