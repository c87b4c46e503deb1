"""Slices: the same findings within each value of a column, where all rows together do not show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.asked import names_of
from rewardkit.analysis.statistics.groups import Codes
from rewardkit.analysis.thresholds import FEWEST_GROUPS
from rewardkit.errors import InputError, did_you_mean
from rewardkit.findings import Finding
from rewardkit.rewards.plan import Part
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

__all__ = ["chosen", "news", "parts_of", "rows_by", "usable"]

USUAL = ("data_source", "task", "policy", "step")
"""Columns that are looked at where none are named."""
TOLD = (
    "zero_std_groups",
    "errors",
    "abstentions",
    "out_of_range",
    "constant",
    "dead",
    "sparse",
    "starved",
    "saturated",
    "opposed",
    "label_disagrees",
    "length_bias",
    "column_bias",
    "truncated_paid",
)
"""What is told of a slice: where it gets no signal, no score, or is paid for something else. Our choice."""
SHAPES = ("constant", "dead", "sparse", "starved", "saturated")
"""What is no fault by itself of a component beside the task: a kind of prompt may not call for it."""
MOST_VALUES = 30
"""Of a column; one with more is no slice where it was not asked for. Our choice."""
MOST_ASKED = 500
"""Of a column that was asked for: the level of each verdict is divided by their number. Our choice."""


def chosen(scores: Scores, names: Sequence[str] | None) -> list[str]:
    """The columns whose values are slices: those that were asked for, else the `usable` ones of `USUAL`.

    InputError: one that is not there, that varies inside groups, or has more values than `MOST_ASKED`.
    """
    known = list(map(str, scores.rollouts.table.columns))
    if names is None:
        there = [name for name in USUAL if name in known and name not in scores.reward.split_by]
        return usable(scores, there)
    asked = names_of(names, "by")
    for name in asked:
        if name not in known:
            raise InputError(
                f"the rollouts have no column {name!r}; they have {known}{did_you_mean(name, known)}"
            )
        codes, kinds = _numbered(scores.table[name])
        if mixed := _mixed(codes, scores.groups):
            raise InputError(
                f"by={name!r} differs among the siblings of {mixed} of {scores.groups.max() + 1} groups: a "
                "part of a group is nothing that is trained on, so that nothing can be said of it; name "
                "a column that is the same for all siblings"
            )
        if kinds > MOST_ASKED:
            raise InputError(
                f"by={name!r} has {kinds:,} values, too many to look at each by itself (at most "
                f"{MOST_ASKED}); name a column of fewer, such as the domain of a prompt"
            )
    return asked


def usable(scores: Scores, names: Sequence[str]) -> list[str]:
    """Which of these columns make slices unasked: the same for all siblings, of few values."""
    found = []
    for name in names:
        codes, kinds = _numbered(scores.table[name])
        if kinds <= MOST_VALUES and not _mixed(codes, scores.groups):
            found.append(name)
    return found


def _numbered(column: pd.Series) -> tuple[Codes, int]:
    """A code for each row by its value, -1: missing; and the number of values."""
    try:
        codes = np.asarray(pd.factorize(column)[0], dtype=np.intp)
    except TypeError:  # lists
        codes, _ = _coded(column_values(column))
    return codes, int(codes.max(initial=-1)) + 1


def _mixed(codes: Codes, groups: Codes) -> int:
    """The number of groups in which a code is not that of all siblings."""
    one = np.empty(groups.max(initial=-1) + 1, dtype=np.intp)
    one[groups] = codes
    return len(np.unique(groups[codes != one[groups]]))


def parts_of(scores: Scores, part: Part, names: Sequence[str]) -> list[Part]:
    """The slices of a part of the scores that have groups enough for a verdict, labelled ``column=value``."""
    return [
        item
        for item in rows_by(scores, part, names)
        if len(np.unique(scores.groups[item.rows])) >= FEWEST_GROUPS
    ]


def rows_by(scores: Scores, part: Part, names: Sequence[str]) -> Iterator[Part]:
    """The rows of a part with each value of each of these columns, labelled ``column=value``.

    In order of first appearance; none of a column with a single value.
    """
    for name in names:
        values = column_values(scores.table[name].iloc[part.rows])
        codes, kinds = _coded(values)
        if len(kinds) < 2:
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
                beside = item.code in SHAPES and item.component != part.reward.primary
                yield replace(item, severity="info" if beside else "warn")  # of a part of the data at most


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
