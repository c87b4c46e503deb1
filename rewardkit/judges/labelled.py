"""Read labelled cases: completions with the level or score that people give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.errors import CasesError, did_you_mean, preview
from rewardkit.rewards.reward import Floats, Rows
from rewardkit.rollouts.columns import Columns
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.paths import resolve
from rewardkit.rollouts.values import SourceRows

LabelledCases = str | Path | Iterable[Mapping[str, Any]]


def read_labelled(
    cases: LabelledCases, label: str, levels: Mapping[str, float]
) -> tuple[Columns, Floats, Rows]:
    """Read cases with the labels that people gave them.

    Cases with the same `prompt_id`, else the same `prompt`, share a prompt; without
    both columns each case has its own.

    Args:
        cases: a file, or dicts of columns.
        label: the column of labels: a level, a number in [0, 1], or a bool.
        levels: level -> its score.

    Returns:
        The columns except `label`; the labels as scores, (cases,), NaN without a label;
        the code of each case's prompt, (cases,).

    Raises:
        CasesError: no cases, a case that is no object, an invalid label, no label.
    """
    columns = _columns(cases)
    count = len(next(iter(columns.values()), ()))
    labels = _labels(columns.pop(label, [None] * count), levels, label)
    prompts = columns.get("prompt", list(range(count)))
    owners = [repr(owner) for owner in columns.get("prompt_id", prompts)]
    _, codes = np.unique(owners, return_inverse=True)
    return columns, labels, np.asarray(codes, dtype=np.intp)


def _columns(cases: LabelledCases) -> Columns:
    """Read cases as columns. CasesError: no cases, or one is no object."""
    if not isinstance(cases, str | Path | Iterable) or isinstance(cases, Mapping):
        raise CasesError(
            f"cases are a JSONL file or dicts, each with a label, not {preview(cases)}"
        )
    if isinstance(cases, str | Path):
        cases = resolve(cases, "cases.jsonl")
    rows = SourceRows.joined(read_files(cases, {}))
    for place in rows.rejected:
        raise CasesError(f"case at {place.place}: {place.reason}")
    if not rows.places:
        raise CasesError("there are no cases; give one a line, each with a label")
    return rows.columns


def _labels(cells: Sequence[Any], levels: Mapping[str, float], label: str) -> Floats:
    """Return the labels as scores, (cases,), NaN without a label."""
    labels = np.full(len(cells), np.nan)
    for row, value in enumerate(cells):
        if isinstance(value, str) and value in levels:
            labels[row] = levels[value]
        elif isinstance(value, int | float) and 0 <= value <= 1:
            labels[row] = float(value)
        elif value is not None:
            choices = f"one of {', '.join(map(repr, levels))}, " if levels else ""
            near = did_you_mean(value, levels) if isinstance(value, str) else ""
            raise CasesError(
                f"case {row + 1}: {preview(value)} in {label!r} does not fit; give "
                f"{choices}a number in [0, 1], or true or false{near}"
            )
    if np.isnan(labels).all():
        raise CasesError(
            f"no case has a {label!r}; give each the level or score that it should get"
        )
    return labels
