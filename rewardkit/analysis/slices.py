"""Slices: the same findings within each value of a column, where all rows together do not show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.arguments import names_of
from rewardkit.analysis.findings.rule import FEWEST_GROUPS
from rewardkit.analysis.statistics.groups import Codes
from rewardkit.errors import InputError
from rewardkit.findings import Finding
from rewardkit.rewards.plan import Part
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

USUAL = ("data_source", "task", "policy", "step")
"""Columns that are looked at where none are named."""
SHAPES = ("constant", "dead", "sparse", "starved", "saturated")
"""What is no fault by itself of a component beside the task: a kind of prompt may not call for it."""
TOLD = (*SHAPES, "zero_std_groups", "errors", "abstentions", "out_of_range", "opposed", "label_disagrees",
        "wrong_above_right", "length_bias", "column_bias", "truncated_paid")  # fmt: skip
"""What is told of a slice: where it gets no signal, no score, or is paid for something else. Our choice."""
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
        return usable(
            scores,
            [
                name
                for name in USUAL
                if name in known and name not in scores.reward.split_by
            ],
        )
    asked = names_of(names, "by")
    scores.rollouts.check_columns(asked)
    for name in asked:
        codes, kinds = _coded(scores.table[name])
        if mixed := _mixed(codes, scores.groups):
            raise InputError(
                f"by={name!r} differs among the siblings of {mixed} of {scores.groups.max() + 1} groups: a "
                "part of a group is nothing that is trained on, so that nothing can be said of it; name "
                "a column that is the same for all siblings"
            )
        if len(kinds) > MOST_ASKED:
            raise InputError(
                f"by={name!r} has {len(kinds):,} values, too many to look at each by itself (at most "
                f"{MOST_ASKED}); name a column of fewer, such as the domain of a prompt"
            )
    return asked


def usable(scores: Scores, names: Sequence[str]) -> list[str]:
    """Which of these columns make slices unasked: the same for all siblings, of few values."""
    coded = {name: _coded(scores.table[name]) for name in names}
    return [
        name
        for name, (codes, kinds) in coded.items()
        if len(kinds) <= MOST_VALUES and not _mixed(codes, scores.groups)
    ]


def _coded(column: pd.Series[Any]) -> tuple[Codes, Sequence[Any]]:
    """A code for each row by its value, -1: missing; and what each stands for, in order of appearance."""
    if column.dtype == object:
        values = (
            repr(item) if isinstance(item, list | dict) else item
            for item in column_values(column)
        )
        column = pd.Series(list(values), dtype=object)
    codes, kinds = pd.factorize(column)
    return np.asarray(codes, dtype=np.intp), kinds.tolist()


def _mixed(codes: Codes, groups: Codes) -> int:
    """The number of groups in which a code is not that of all siblings."""
    one = np.empty(groups.max(initial=-1) + 1, dtype=np.intp)
    one[groups] = codes
    return len(np.unique(groups[codes != one[groups]]))


def parts_of(scores: Scores, part: Part, names: Sequence[str]) -> list[Part]:
    """The slices of a part of the scores that have groups enough for a verdict, labelled ``column=value``."""
    found = rows_by(scores, part, names)
    return [
        item
        for item in found
        if len(np.unique(scores.groups[item.rows])) >= FEWEST_GROUPS
    ]


def rows_by(scores: Scores, part: Part, names: Sequence[str]) -> Iterator[Part]:
    """The rows of a part with each value of each of these columns, labelled ``column=value``.

    In order of first appearance; none of a column with a single value.
    """
    for name in names:
        codes, kinds = _coded(scores.table[name].iloc[part.rows])
        for code, kind in enumerate(kinds if len(kinds) > 1 else ()):
            label = f"{part.label + ': ' if part.label else ''}{name}={kind}"
            yield Part(label, part.reward, part.rows[codes == code])


def news(
    parts: Sequence[Part],
    said: Sequence[Finding],
    find: Callable[[Part, int], list[Finding]],
) -> Iterator[Finding]:
    """Findings that hold in a slice, at a level for all slices together, and are not said of its whole.

    `find` gives those of a part that is one of so many.
    """
    known = {
        (item.code, item.component)
        for item in said
        if not item.evidence.get("inconclusive")
    }
    for part in parts:
        for item in find(part, len(parts)):
            sure = item.severity != "info" and not item.evidence.get("inconclusive")
            if sure and item.code in TOLD and (item.code, item.component) not in known:
                beside = item.code in SHAPES and item.component != part.reward.primary
                yield replace(
                    item, severity="info" if beside else "warn"
                )  # of a part of the data at most
