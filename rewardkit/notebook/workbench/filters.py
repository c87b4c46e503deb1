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

from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.tables import different
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.scoring.outcomes import STATUSES

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
MOST_HIGHEST = 24
"""Diverse completions of the highest rewards. Our choice."""
FILTER_KINDS = {
    "all": "all completions",
    "highest": "highest rewards, diverse",
    "wrong but paid": "wrong but paid",
    "right but unpaid": "right but unpaid",
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

    def rows(self, asked: Filter) -> Rows:
        """Return the rows that are asked for, in their order."""
        chosen, scores = self._of_kind(asked), self.bench.scores
        values = (
            scores.score(asked.component)
            if asked.component
            else self.bench.figures.rewards
        )
        if asked.low > -math.inf:
            chosen &= values >= asked.low - 1e-9
        if asked.high < math.inf:
            chosen &= values <= asked.high + 1e-9
        if asked.column:
            chosen &= self._texts_of(asked.column) == asked.value
        if asked.text:
            chosen &= self._found(asked.text, chosen)
        rows = np.flatnonzero(chosen)
        rows = rows[np.argsort(self._keys(asked.order, rows), kind="stable")]
        if asked.one_a_group:
            _, first = np.unique(scores.groups[rows], return_index=True)
            rows = rows[np.sort(first)]
        return rows

    def _of_kind(self, asked: Filter) -> Mask:
        """Return a new mask of the rows of the kind that is asked for."""
        bench, rewards, kind = self.bench, self.bench.figures.rewards, asked.kind
        if kind == "wrong but paid":
            return np.asarray((bench.right[0] == 0) & (rewards >= self.middle))
        if kind == "right but unpaid":
            return np.asarray((bench.right[0] == 1) & (rewards <= self.middle))
        if kind in ("gated", "abstained", "error"):
            code = STATUSES.index(kind)
            names = (
                [asked.component]
                if asked.component
                else list(bench.scores.reward.names)
            )
            return np.asarray(
                np.any([bench.scores.status(name) == code for name in names], axis=0)
            )
        if kind == "no reward":
            return np.isnan(rewards)
        if kind == "flagged":
            return np.isin(np.arange(len(rewards)), list(bench.flagged))
        chosen = np.full(len(rewards), kind not in ("tied", "highest"))
        for view in bench.views:
            if kind == "tied":
                chosen[view.rows] = view.dead[view.groups]
            elif kind == "highest":
                chosen[view.rows[different(view, MOST_HIGHEST)]] = True
        return chosen

    @property
    def middle(self) -> float:
        """Return the reward halfway between the medians of wrong and right rows.

        NaN where there are no right or no wrong ones, so that nothing is paid or
        unpaid.
        """
        right, rewards = self.bench.right[0], self.bench.figures.rewards
        of_both = [rewards[(right == value) & np.isfinite(rewards)] for value in (0, 1)]
        return (
            sum(float(np.median(some)) if len(some) else math.nan for some in of_both)
            / 2
        )

    def _found(self, text: str, among: Mask) -> Mask:
        """Return which rows of `among` have a completion with the text, in any case."""
        hits = pc.match_substring(self._folded.filter(pa.array(among)), text.casefold())
        found = among.copy()
        found[among] = hits.to_numpy(zero_copy_only=False)
        return found

    @cached_property
    def _folded(self) -> Any:
        """Return the completions without case in Arrow, searched in milliseconds."""
        texts = self.bench.scored.table["completion"]
        plain = [
            str(text).casefold().encode("utf-8", "replace").decode() for text in texts
        ]
        return pa.array(plain, type=pa.large_string())

    def _texts_of(self, column: str) -> NDArray[np.object_]:
        """Return the values of a column as texts; of a verdict, its level."""
        values = self.bench.scored.table[column]
        texts = [
            str(value.get("level", "-") if isinstance(value, dict) else value)
            for value in values
        ]
        return np.array(texts, dtype=object)

    def columns(self) -> list[tuple[str, str]]:
        """Return label and name of each column that rows can be filtered by."""
        table, names = self.bench.scored.table, self.bench.scored.reward.names
        own = [
            (name, name) for name in map(str, self.bench.scored.rollouts.table.columns)
        ]
        more = [(f"level of {name}", f"verdict/{name}") for name in names]
        more += [(f"why no score of {name}", f"error/{name}") for name in names]
        return own + [
            (label, name)
            for label, name in more
            if name in table and table[name].notna().any()
        ]

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
        else:
            keys = figures.rewards * (-1 if order == "reward, lowest first" else 1)
        return -np.where(np.isnan(keys), -math.inf, keys)[rows]

    @cached_property
    def _lengths(self) -> Floats:
        return np.array(
            [len(text) for text in self.bench.scored.table["completion"]], dtype=float
        )
