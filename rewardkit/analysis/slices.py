"""Slices: the same findings within each value of a column, where all rows together do not show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.findings import Finding
from rewardkit.analysis.thresholds import FEWEST_GROUPS
from rewardkit.columns import column_values
from rewardkit.errors import InputError, did_you_mean
from rewardkit.reward import Part
from rewardkit.scoring import Scores

__all__ = ["chosen", "news", "parts_of", "rows_by"]

USUAL = ("data_source", "task", "policy", "step")
"""Columns that are looked at where none are named."""
TOLD = (
    "zero_std_groups",
    "errors",
    "abstentions",
    "out_of_range",
    "constant",
    "label_disagrees",
    "length_bias",
    "column_bias",
    "truncated_paid",
)
"""What is told of a slice: where it gets no signal, no score, or is paid for something else. Our choice."""
MOST_VALUES = 30
"""Of a column; one with more is no slice where it was not asked for. Our choice."""


def chosen(scores: Scores, names: Sequence[str] | None) -> list[str]:
    """The columns whose values are slices. InputError: one that is not there."""
    known = list(map(str, scores.rollouts.table.columns))
    for name in names or ():
        if name not in known:
            raise InputError(
                f"the rollouts have no column {name!r}; they have {known}{did_you_mean(name, known)}"
            )
    if names is not None:
        return list(dict.fromkeys(names))
    return [name for name in USUAL if name in known and name not in scores.reward.split_by]


def parts_of(scores: Scores, part: Part, names: Sequence[str]) -> list[Part]:
    """The slices of a part of the scores that have groups enough for a verdict, labelled ``column=value``."""
    return [
        item
        for item in rows_by(scores, part, names)
        if len(np.unique(scores.groups[item.rows])) >= FEWEST_GROUPS
    ]


def rows_by(scores: Scores, part: Part, names: Sequence[str]) -> Iterator[Part]:
    """The rows of a part with each value of each of these columns, labelled ``column=value``.

    In order of first appearance; none of a column with a single value, or with more than `MOST_VALUES`.
    """
    for name in names:
        values = column_values(scores.table[name].iloc[part.rows])
        codes, kinds = _coded(values)
        if not 1 < len(kinds) <= MOST_VALUES:
            continue
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(kinds) + 1))
        for at, kind in enumerate(kinds):
            label = f"{part.label + ': ' if part.label else ''}{name}={kind}"
            yield Part(label, part.reward, np.sort(part.rows[order[ends[at] : ends[at + 1]]]))


def news(
    parts: Sequence[Part], said: Sequence[Finding], find: Callable[[Part, int], list[Finding]]
) -> Iterator[Finding]:
    """Findings that hold in a slice, at a level for all slices together, and are not said of its whole.

    `find` gives those of a part that is one of so many.
    """
    known = {(item.code, item.component) for item in said if not item.evidence.get("inconclusive")}
    for part in parts:
        for item in find(part, len(parts)):
            sure = item.severity != "info" and not item.evidence.get("inconclusive")
            if sure and item.code in TOLD and (item.code, item.component) not in known:
                yield replace(item, severity="warn")  # of a part of the data at most


def _coded(values: list[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """A code for each value, and what each stands for, in order of first appearance; -1: missing."""
    kinds: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.intp)
    for row, value in enumerate(values):
        if value is None:
            codes[row] = -1
        else:
            codes[row] = kinds.setdefault(
                value if not isinstance(value, list | dict) else repr(value), len(kinds)
            )
    return codes, list(kinds)
