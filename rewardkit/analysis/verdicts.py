"""Verdicts: whether each completion did the task, and what says so."""

from __future__ import annotations

import re
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
from rewardkit.primitives.texts import words
from rewardkit.rollouts.columns import RIGHT_NAME
from rewardkit.rollouts.values import column_values

MOST_READ_ROWS = 2_000
"""Rows whose answers are read, of whole groups. Our choice: it takes a second."""
MOST_TRUTHS_READ = 100
"""Truths whose kind is looked at. Our choice."""
LEAST_JUDGED = 0.8
"""Share of the rows read that need a verdict. Our choice."""

PART_OF_MARKS = 0.4
"""Most distance from half marks of what earns a part of them. Our choice."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The verdict on each row: how far it did the task.

    `name` is the component, label or column that says it, "" for stated answers that
    were compared with truths. `scores`, (rows,), are NaN where nothing is known; `low`
    is the score of a completion that did nothing of the task.
    """

    name: str
    scores: Floats
    low: float
    is_component: bool = False

    @property
    def words(self) -> str:
        """Return its name for sentences."""
        return repr(self.name) if self.name else "the stated answers"


def find_verdicts(
    scores: Columns,
    paid_names: Sequence[str],
    context: Context,
    groups: Codes,
) -> Verdicts | None:
    """Return the verdicts where no component is known to be the task, or None.

    A label; else the only paid component if it has two values; else a recorded score or
    column that is named like a verdict; else the stated answers.

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
        of_examples = are_examples(context.table)
        rewards = scores[paid_names[0]]
        if contradict(by_answers.scores, rewards, of_examples=of_examples):
            return None
    return by_answers


def are_examples(table: pd.DataFrame) -> bool:
    """Return whether most truths are only one of several right answers.

    Sentences can be rephrased, and sums of numbers can be composed in another way.

    >>> are_examples(pd.DataFrame({"ground_truth": ["(8 - 2) * 4 / 3"]}))
    True
    >>> are_examples(pd.DataFrame({"ground_truth": ["2025-04-05"]}))
    False
    """
    truths = column_values(table["ground_truth"].iloc[:MOST_TRUTHS_READ])
    count = 0
    for truth in truths:
        text = read_truth(truth) or ""
        if _ARITHMETIC.fullmatch(text):
            count += _SUM.search(text) is not None
        elif kind_of(text) == "text":
            count += len(words(text)) > 2
    return 2 * count > len(truths)


_ARITHMETIC = re.compile(r"[\d\s+*/().×÷−-]+")
_SUM = re.compile(r"[\d)]\s*[+*×÷].*[-+*/×÷−]|[\d)]\s*[-/−].*[\d)]\s*[+*×÷]")
"""Two operations of which one adds or multiplies: no date and no telephone number."""


def contradict(verdicts: Floats, rewards: Floats, *, of_examples: bool) -> bool:
    """Return whether most rows of full reward are not right, and reversed.

    Then the answers are misread, such as truths in one notation and answers in another:
    a reward that also pays wrong answers still pays right ones, and one that pays some
    of the right ones pays few others. Of truths that are only examples (`are_examples`)
    it is enough that most rows of full reward are not right, or that most rows earn a
    part of it.

    Args:
        verdicts: 1 for the rows that state their truth, 0 for others, (rows,).
        rewards: what the task earned, (rows,).
        of_examples: whether other answers may be right as well.
    """
    is_read = in_both(verdicts, rewards)
    if not is_read.any():
        return False
    is_right = verdicts[is_read] == 1
    gains = rewards[is_read] - rewards[is_read].min()
    is_full = np.isclose(gains, gains.max())
    both = np.sum(is_right & is_full)
    if not of_examples:
        return bool(2 * both < min(is_right.sum(), is_full.sum()))
    is_part = np.abs(gains - gains.max() / 2) < PART_OF_MARKS * gains.max()
    return bool(2 * both < is_full.sum() or is_part.mean() > 0.5)


def _levels(values: Floats) -> Floats:
    return np.unique(values[~np.isnan(values)])


def rows_to_read(groups: Codes, most: int = MOST_READ_ROWS) -> Mask:
    """Return the rows to read: evenly spaced whole groups of about `most` rows."""
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
    """Return the verdicts of stated answers; None if few can be read or all agree."""
    scores, is_read = read_answers(table, groups, most)
    return _of_answers(scores, int(is_read.sum()))


def _of_answers(scores: Floats, rows_read: int) -> Verdicts | None:
    is_judged = ~np.isnan(scores)
    if is_judged.sum() < LEAST_JUDGED * rows_read or len(_levels(scores)) < 2:
        return None
    return Verdicts("", scores, 0.0)


def judge_by_objects(table: pd.DataFrame, groups: Codes) -> Verdicts | None:
    """Return the verdicts on completions whose truths are JSON objects.

    None if truths are no objects, too few can be read, or all agree. A completion
    without a readable object has no verdict.
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
