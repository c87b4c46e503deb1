"""Slices: findings within each value of a column that all rows together do not show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.findings.rule import FEWEST_GROUPS
from rewardkit.analysis.statistics import Codes
from rewardkit.errors import InputError, names_of
from rewardkit.findings import Finding
from rewardkit.rewards.reward import Part
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

SLICED_BY = ("data_source", "task", "policy", "step")
"""Columns whose values are slices where the caller names none."""
SHAPE_CODES = ("constant", "dead", "sparse", "starved", "saturated")
"""No fault of a component beside the task: a kind of prompt may not call for it."""
SLICE_CODES = (
    *SHAPE_CODES,
    "zero_std_groups",
    "errors",
    "abstentions",
    "out_of_range",
    "opposed",
    "label_disagrees",
    "wrong_above_right",
    "length_bias",
    "column_bias",
    "truncated_paid",
)
"""Reported of a slice: no signal, no score, pay for something else. Our choice."""
MOST_VALUES = 30
"""Values of a column that is sliced unasked. Our choice."""
MOST_NAMED_VALUES = 500
"""Values of a column that the caller names: each verdict's level is divided by them.

Our choice.
"""


def choose_columns(scores: Scores, names: Sequence[str] | None) -> list[str]:
    """Return the columns whose values are slices: those named, else usual ones.

    Raises:
        InputError: a named column is missing, varies inside groups, or has more values
            than `MOST_NAMED_VALUES`.
    """
    if names is None:
        columns = set(map(str, scores.rollouts.table.columns))
        columns.discard(scores.reward.routed_by)
        return usable(scores, [name for name in SLICED_BY if name in columns])
    names = names_of(names, "by")
    scores.rollouts.check_columns(names)
    for name in names:
        codes, kinds = _coded(scores.table[name])
        mixed = _mixed(codes, scores.groups)
        if mixed:
            raise InputError(
                f"by={name!r} differs among the siblings of {mixed} of "
                f"{scores.groups.max() + 1} groups: a part of a group is "
                "nothing that is trained on, so that nothing can be said of it; name a "
                "column that is the same for all siblings"
            )
        if len(kinds) > MOST_NAMED_VALUES:
            raise InputError(
                f"by={name!r} has {len(kinds):,} values, too many to look at each by "
                f"itself (at most {MOST_NAMED_VALUES}); name a column of fewer, such "
                "as the domain of a prompt"
            )
    return names


def usable(scores: Scores, names: Sequence[str]) -> list[str]:
    """Return the columns with few values, each the same for all siblings."""
    columns = []
    for name in names:
        codes, kinds = _coded(scores.table[name])
        if len(kinds) <= MOST_VALUES and not _mixed(codes, scores.groups):
            columns.append(name)
    return columns


def _coded(column: pd.Series[Any]) -> tuple[Codes, Sequence[Any]]:
    """Return a code for each row's value, -1 where missing, and the values by code."""
    if column.dtype == object:
        values = [
            repr(value) if isinstance(value, list | dict) else value
            for value in column_values(column)
        ]
        column = pd.Series(values, dtype=object)
    codes, kinds = pd.factorize(column)
    return np.asarray(codes, dtype=np.intp), kinds.tolist()


def _mixed(codes: Codes, groups: Codes) -> int:
    """Count the groups whose siblings have different codes."""
    code_of_group = np.empty(groups.max(initial=-1) + 1, dtype=np.intp)
    code_of_group[groups] = codes
    return len(np.unique(groups[codes != code_of_group[groups]]))


def parts_of(scores: Scores, part: Part, names: Sequence[str]) -> list[Part]:
    """Return the slices of a part that have enough groups for a verdict."""
    return [
        piece
        for piece in rows_by(scores, part, names)
        if len(np.unique(scores.groups[piece.rows])) >= FEWEST_GROUPS
    ]


def rows_by(scores: Scores, part: Part, names: Sequence[str]) -> Iterator[Part]:
    """Return the rows of a part with each value of each column, as ``column=value``.

    In order of first appearance; none of a column with a single value.
    """
    prefix = f"{part.label}: " if part.label else ""
    for name in names:
        codes, kinds = _coded(scores.table[name].iloc[part.rows])
        if len(kinds) < 2:
            continue
        for code, kind in enumerate(kinds):
            rows = part.rows[codes == code]
            yield Part(f"{prefix}{name}={kind}", part.reward, rows)


def find_news(
    parts: Sequence[Part],
    findings: Sequence[Finding],
    find: Callable[[Part, int], list[Finding]],
) -> Iterator[Finding]:
    """Find what holds in a slice for certain and is not reported of all rows.

    Args:
        parts: the slices.
        findings: those of all rows.
        find: returns the findings of one of so many slices, at a level that holds for
            all of them together.
    """
    reported = set()
    for finding in findings:
        if not finding.evidence.get("inconclusive"):
            reported.add((finding.code, finding.component))
    for part in parts:
        for finding in find(part, len(parts)):
            is_sure = not finding.evidence.get("inconclusive")
            is_new = (finding.code, finding.component) not in reported
            if finding.severity == "info" or finding.code not in SLICE_CODES:
                continue
            if is_sure and is_new:
                is_shape = finding.code in SHAPE_CODES
                is_minor = is_shape and finding.component != part.reward.primary
                # it is of a part of the data at most
                yield replace(finding, severity="info" if is_minor else "warn")
