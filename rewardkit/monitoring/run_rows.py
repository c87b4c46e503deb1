"""RunRows: the rows of one part of a run, with windows, prompt kinds and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import Codes, Floats, Mask
from rewardkit.analysis.view import View
from rewardkit.monitoring.changes import FEWEST_STRETCH_GROUPS, Shift, find_change
from rewardkit.monitoring.features import Feature, StepTexts, read_features
from rewardkit.monitoring.readings import CompletionReader
from rewardkit.monitoring.windows import WindowFigure, Windows
from rewardkit.rollouts.values import column_values

RUN_ROWS_READ = 20_000
"""Most completions that are read, in whole groups of every window. Our choice."""
EARLY = 0.15
"""Share of the run that counts as its start. Our choice."""
KIND_COLUMNS = (
    "data_source",
    "dataset",
    "task",
    "domain",
    "subject",
    "category",
    "level",
    "difficulty",
    "language",
)
"""Columns that name the kind of a prompt. Other columns may only follow the steps."""
LEAST_SLICE = 0.1
"""Least share of the rows of a slice that is watched separately. Our choice."""


@dataclass(frozen=True, eq=False)
class RunRows:
    """The rows of one part of a run as a view, with the windows of its steps.

    `rows_read` are the rows whose texts `reader` reads: whole groups from all windows.
    """

    view: View
    windows: Windows
    rows_read: Codes
    reader: CompletionReader

    @classmethod
    def of(cls, view: View, *, windows: int, reader: CompletionReader) -> Self:
        """Divide a view with steps into at most `windows` windows."""
        steps = view.context.steps
        assert steps is not None
        cut = Windows.of(steps, view.groups, windows)
        return cls(view, cut, cut.spread_rows(RUN_ROWS_READ), reader)

    def is_early(self, windows: Codes) -> Mask:
        """Return for each window whether it is of the start of the run; -1 is not."""
        last = EARLY * (len(self.windows) - 1)
        return (windows >= 0) & (windows <= last)

    # --- kinds of prompts

    @cached_property
    def _rows_of_prompts(self) -> pd.DataFrame:
        """Return the row that stands for each prompt, (groups,)."""
        return self.view.context.table.iloc[self.view.first_rows]

    @cached_property
    def prompt_kinds(self) -> Codes:
        """Return codes of the kinds (source, level, length) of prompts, (groups,)."""
        table = self._rows_of_prompts
        keys = [_column(table, name) for name in KIND_COLUMNS if name in table]
        lengths = np.array([len(text) for text in _texts_of(table, "prompt")])
        edges = np.quantile(lengths, (1 / 3, 2 / 3))
        keys.append(np.searchsorted(edges, lengths).tolist())
        codes = np.zeros(len(table), dtype=np.intp)
        for values in keys:
            ids, kinds = pd.factorize(np.array(list(map(repr, values)), dtype=object))
            codes = codes * (len(kinds) + 1) + ids
        return codes

    def figure_of_last_prompts(self, values: Floats) -> WindowFigure:
        """Return means by window over the prompt kinds that end the run.

        Each kind is centred on the mean of all kinds, as their mix may change. `values`
        are (rows,).
        """
        windows = self.windows.group_windows
        is_last = windows >= (1 - EARLY) * (len(self.windows) - 1)
        kinds = np.unique(self.prompt_kinds[is_last])
        means = self.view.group_stats(values).mean
        means = np.where(np.isin(self.prompt_kinds, kinds), means, np.nan)
        by_kind = pd.Series(means).groupby(self.prompt_kinds).transform("mean")
        means = means - by_kind.to_numpy() + pd.Series(means).mean()
        return self.windows.figure_of_groups(means)

    def fall_of_last_prompts(self, values: Floats, least: float) -> Shift | None:
        """Return the fall of values over the prompt kinds that end the run."""
        figure = self.figure_of_last_prompts(values)
        return find_change(figure, self.windows, -1, least=least)

    def fall_on_same_prompts(self, values: Floats, least: float) -> Shift | None:
        """Return the fall of values, (rows,), that a change of prompts cannot explain.

        `least` is the least fall that counts.
        """
        change = find_change(self.windows.figure(values), self.windows, -1, least=least)
        if change is None:
            return None
        means = self.among_same_prompts(values, change)
        if means is not None and means[0] - means[1] >= max(least, -change.size / 2):
            return change
        return self.fall_of_last_prompts(values, least)

    def among_same_prompts(
        self, values: Floats, change: Shift
    ) -> tuple[float, float] | None:
        """Return the means before and after a change, on prompts of the same kinds.

        Kinds are weighted as in the change's ending. None if too few groups before the
        change are of a kind that occurs in both stretches.
        """
        means = self.view.group_stats(values).mean
        windows = self.windows.group_windows
        stretches = []
        for first, last in (change.reference, change.ending):
            is_inside = (windows >= first) & (windows < last) & ~np.isnan(means)
            rows = pd.DataFrame(
                {"kind": self.prompt_kinds[is_inside], "mean": means[is_inside]}
            )
            stretches.append(rows.groupby("kind")["mean"].agg(["mean", "size"]))
        before, after = stretches
        both = before.index.intersection(after.index)
        before, after = before.loc[both], after.loc[both]
        if before["size"].sum() < FEWEST_STRETCH_GROUPS:
            return None
        shares = after["size"] / after["size"].sum()
        mean_before = float((before["mean"] * shares).sum())
        return mean_before, float((after["mean"] * shares).sum())

    @cached_property
    def slices(self) -> Mapping[tuple[str, Any], Mask]:
        """Return a (rows,) mask of each kind of prompts, by (column, value).

        Values of less than `LEAST_SLICE` of the rows are left out, and columns with
        fewer than two other values.
        """
        slices: dict[tuple[str, Any], Mask] = {}
        table = self._rows_of_prompts
        for name in KIND_COLUMNS:
            if name not in table:
                continue
            texts = np.array(list(map(str, _column(table, name))), dtype=object)
            group_windows, values = pd.factorize(texts, sort=True)
            codes = group_windows[self.view.groups]
            large = np.flatnonzero(np.bincount(codes) >= LEAST_SLICE * len(codes))
            if len(large) > 1:
                slices |= {(name, values[code]): codes == code for code in large}
        return slices

    # --- texts

    @cached_property
    def windows_read(self) -> Windows:
        """Return the windows of the rows that are read."""
        return Windows(
            self.windows.first,
            self.windows.last,
            self.windows.row_windows[self.rows_read],
            np.unique(self.view.groups[self.rows_read], return_inverse=True)[1],
        )

    @cached_property
    def texts(self) -> StepTexts:
        """Return the completions that are read."""
        table = self.view.context.table.iloc[self.rows_read]
        completions = _texts_of(table, "completion")
        truths = _column(table, "ground_truth")
        cut = self.view.context.truncated
        is_cut = (
            np.zeros(len(table), dtype=bool) if cut is None else cut[self.rows_read]
        )
        windows = self.windows_read
        return StepTexts(
            _texts_of(table, "prompt"),
            completions,
            self.view.context.conversations(self.rows_read),
            self.reader.read_all(completions, truths),
            windows.groups,
            self.is_early(windows.row_windows),
            is_cut,
        )

    @cached_property
    def features(self) -> Sequence[Feature]:
        """Return the features of the completions that are read."""
        return read_features(self.texts)


def _column(table: pd.DataFrame, name: str) -> list[Any]:
    """Return the values of a column, or a None per row if it is missing."""
    return column_values(table[name]) if name in table else [None] * len(table)


def _texts_of(table: pd.DataFrame, name: str) -> list[str]:
    """Return a column as texts, "" for values of other types."""
    texts = []
    for text in _column(table, name):
        texts.append(text if isinstance(text, str) else "")
    return texts
