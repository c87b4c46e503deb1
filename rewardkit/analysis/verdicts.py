"""Verdicts: what says of each completion whether it did the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.context import Context
from rewardkit.analysis.statistics import Codes, Columns, Floats, Mask, in_both
from rewardkit.answers import find_truth
from rewardkit.answers.comparison import states_truth
from rewardkit.answers.kinds import kind_of, read_truth
from rewardkit.primitives import extract
from rewardkit.rollouts.columns import RIGHT_NAME
from rewardkit.rollouts.values import column_values

MOST_READ_ROWS = 2_000
"""Rows whose answers are read, of whole groups. Our choice: it takes a second."""
MOST_TRUTHS_READ = 100
"""Truths whose kind is looked at. Our choice."""
LEAST_JUDGED = 0.8
"""Share of the rows read that need a verdict. Our choice."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What says of each row whether the task was done.

    `name` is the component, label or column, "" where stated answers were compared with
    truths. `scores`, (rows,), are NaN where nothing is known; `low` is the score of a
    completion that did nothing of the task.
    """

    name: str
    scores: Floats
    low: float
    is_component: bool = False

    @property
    def words(self) -> str:
        """Return what it is called in a sentence."""
        return repr(self.name) if self.name else "the stated answers"


def find_verdicts(
    scores: Columns,
    paid_names: Sequence[str],
    context: Context,
    groups: Codes,
) -> Verdicts | None:
    """Return what says which rows did the task where no component is known to be it.

    A label; else the two values of a lone number, a recorded score or column of such a
    name, or the stated answers. None where nothing says it.

    Args:
        scores: by component, (rows,) each.
        paid_names: the components with a weight.
        context: of the rows.
        groups: of the rows.
    """
    if context.label is not None:
        return Verdicts(context.label_name, context.label, 0.0)
    if len(paid_names) == 1:
        (name,) = paid_names
        levels = _levels(scores[name])
        if 0 < len(levels) <= 2:
            return Verdicts(name, scores[name], float(levels[0]), is_component=True)
    for name, values in {**scores, **context.columns}.items():
        levels = _levels(values) if RIGHT_NAME.fullmatch(name) else values[:0]
        if len(levels) == 2:
            return Verdicts(name, values, float(levels[0]))
    by_answers = judge_by_answers(context.table, groups)
    if by_answers is not None and len(paid_names) == 1:
        has_words = _has_truths_in_words(context.table)
        if _contradict(by_answers.scores, scores[paid_names[0]], has_words=has_words):
            return None
    return by_answers


def _has_truths_in_words(table: pd.DataFrame) -> bool:
    """Return whether most truths are texts of some words, which others may say, too."""
    truths = column_values(table["ground_truth"].iloc[:MOST_TRUTHS_READ])
    texts = [read_truth(truth) or "" for truth in truths]
    are_long = [kind_of(text) == "text" and len(text.split()) > 2 for text in texts]
    return 2 * sum(are_long) > len(texts)


def _contradict(verdicts: Floats, rewards: Floats, *, has_words: bool) -> bool:
    """Return whether most of what earns full marks is not what is right, and reversed.

    Then the answers are read in another way than the task means them: truths in one
    notation, answers in another. A reward that pays wrong answers as well pays right
    ones; one that pays a part of the right ones pays few others. Of truths that may be
    said in other words (`has_words`) what is paid may say them: there it is enough that
    most of what earns full marks is another text.
    """
    is_read = in_both(verdicts, rewards)
    if not is_read.any():
        return False
    is_right = verdicts[is_read] == 1
    is_full = np.isclose(rewards[is_read], rewards[is_read].max())
    both = np.sum(is_right & is_full)
    fewer = is_full.sum() if has_words else min(is_right.sum(), is_full.sum())
    return bool(2 * both < fewer)


def _levels(values: Floats) -> Floats:
    return np.unique(values[~np.isnan(values)])


def rows_to_read(groups: Codes, most: int = MOST_READ_ROWS) -> Mask:
    """Return which rows are read: whole groups, evenly spaced, about so many rows."""
    step = max(1, -(-len(groups) // most))
    return np.asarray(groups % step == 0)


def read_answers(
    table: pd.DataFrame, groups: Codes, most: int = MOST_READ_ROWS
) -> tuple[Floats, Mask]:
    """Compare stated answers with truths.

    Args:
        table: the rollouts.
        groups: of the rows, (rows,).
        most: rows that are read, of whole groups.

    Returns:
        1 for the rows that state their truth, 0 for those that state another answer,
        NaN where that cannot be told, (rows,); and which rows were read.
    """
    scores = np.full(len(table), np.nan)
    is_read = rows_to_read(groups, most)
    if "ground_truth" not in table:
        return scores, np.zeros_like(is_read)
    rows = table[is_read]
    columns = map(column_values, (rows["completion"], rows["ground_truth"]))
    scores[is_read] = list(map(states_truth, *columns))
    return scores, is_read


def judge_by_answers(
    table: pd.DataFrame, groups: Codes, most: int = MOST_READ_ROWS
) -> Verdicts | None:
    """Return what stated answers say; None where most cannot be read, or all agree."""
    scores, is_read = read_answers(table, groups, most)
    return _of_answers(scores, int(is_read.sum()))


def _of_answers(scores: Floats, rows_read: int) -> Verdicts | None:
    is_judged = ~np.isnan(scores)
    if is_judged.sum() < LEAST_JUDGED * rows_read or len(_levels(scores)) < 2:
        return None
    return Verdicts("", scores, 0.0)


def judge_by_objects(table: pd.DataFrame, groups: Codes) -> Verdicts | None:
    """Return which completions state the JSON object that is their truth.

    None where truths are no objects that completions state, too few can be read, or all
    agree. A completion without a readable object has no verdict.
    """
    if "ground_truth" not in table:
        return None
    places = np.flatnonzero(rows_to_read(groups))
    columns = table[["completion", "ground_truth"]].iloc[places]
    rows: list[Any] = columns.to_dict("records")
    truth = find_truth(rows, [])
    if truth.kind != "json" or truth.key:
        return None
    find_object = extract.json_value(repair=True)
    scores = np.full(len(table), np.nan)
    for place, row in zip(places, rows, strict=True):
        stated = find_object(row["completion"])
        if stated is not None:
            score = truth.judge(stated, row["ground_truth"])
            scores[place] = np.nan if score is None else score
    return _of_answers(scores, len(rows))
