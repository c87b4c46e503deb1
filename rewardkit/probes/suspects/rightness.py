"""Rightness: which completions are right, by a label, by their ground_truth, or by what the reward says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.context import truths
from rewardkit.analysis.finite import held
from rewardkit.analysis.grouping import Floats
from rewardkit.analysis.view import TINY, View
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import distance, read_number
from rewardkit.probes.subjects.answers import answer_in, kind_of
from rewardkit.probes.subjects.formats import shell
from rewardkit.rollouts.logs.log import numeric
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

__all__ = ["Rightness", "label_of", "rightness"]

READABLE = 0.5
"""Share of the completions whose answer and truth must be of a kind that can be compared. Our choice."""
LETTERS = "ABCDEFGHIJ"
LONGEST_ANSWER = 100
"""Characters of an answer that is a text; a longer one is no answer to compare. Our choice."""
LONGEST = 4_000
"""Characters at the end of a completion in which its answer is looked for. Our choice."""


@dataclass(frozen=True, eq=False)
class Rightness:
    """Which completions are right: `values` (rows,) 1, 0, or NaN where that is not known; `by` says by what.

    `independent` (rows,) says where it does not come from the reward itself, so that a suspect can be right.
    """

    values: Floats
    by: str
    independent: NDArray[np.bool_]

    @property
    def by_itself(self) -> bool:
        """Whether some are right by the reward alone."""
        return bool((~self.independent & (self.values == 1)).any())


def label_of(view: View, name: str) -> tuple[Floats | None, str]:
    """The label of the rows of a view, and what to know of it: that a component says the same.

    A label is used for that, too: here it says what is right, and confirms nothing. ``None`` and why where it
    is no label: not of two values, or no numbers.
    """
    label, why = view.context.label, view.context.why_no_label
    if label is not None or not why:
        return label, ""
    given = truths(column_values(view.context.table[name]))
    if not numeric(given):
        return None, why
    values = held(np.array([np.nan if value is None else value for value in given], dtype=float))
    levels = np.unique(values[~np.isnan(values)])
    if len(levels) != 2:
        return None, why
    return np.where(np.isnan(values), np.nan, (values == levels[1]).astype(float)), why.rpartition(
        ", so that"
    )[0]


def rightness(scores: Scores, views: Sequence[View], advantages: Floats) -> Rightness:
    """Which completions are right where there is no label.

    By the answer that they give where there is a ground_truth to compare it with; where that cannot be read,
    those with full marks of the component that is the task: the declared primary, or the heaviest where it
    scores in two levels; else those that earned more than their siblings.
    """
    values, independent = np.full(len(scores), np.nan), np.zeros(len(scores), dtype=bool)
    read = _by_truth(scores) if "ground_truth" in scores.table else values.copy()
    by: dict[str, None] = {}
    for view in views:
        own, marks = read[view.rows], _full_marks(view)
        readable = np.mean(~np.isnan(own)) >= READABLE and (own == 1).any()
        known = ~np.isnan(own) & readable
        independent[view.rows] = known
        if readable:
            by["whose answer is the ground_truth"] = None
        if marks is None and readable:
            marks = np.full(len(view), np.nan)
        elif marks is None:
            marks = advantages[view.rows]
            marks = np.where(np.isnan(marks), np.nan, (marks > TINY).astype(float))
            by["that earned more than their siblings"] = None
        elif (marks[~known] == 1).any():
            by[f"with full marks of {view.primary!r}"] = None
        values[view.rows] = np.where(known, own, marks)
    return Rightness(values, " or ".join(by), independent)


def _full_marks(view: View) -> Floats | None:
    """Whether each row has the highest score of the task's component; ``None`` where that says nothing."""
    scored = view.scores[view.primary]
    levels = np.unique(scored[~np.isnan(scored)])
    if len(levels) < 2 or not (view.components[view.primary].primary or len(levels) == 2):
        return None
    if view.components[view.primary].weight <= 0:
        return None
    return np.where(np.isnan(scored), np.nan, (scored >= levels[-1] - TINY).astype(float))


def _by_truth(scores: Scores) -> Floats:
    truths_of = column_values(scores.table["ground_truth"])
    texts = column_values(scores.table["completion"])
    return np.array([_states(text, truth) for text, truth in zip(texts, truths_of, strict=True)], dtype=float)


def _states(completion: Any, truth: Any) -> float:
    r"""Whether a completion gives the truth as its answer; NaN where that cannot be read.

    >>> _states("<answer>12</answer>", "12"), _states("<answer>3+5=12</answer>", "12")
    (1.0, 0.0)
    >>> _states("```python\ndef f(): ...\n```", "def f(): return 1")
    nan
    """
    wanted = answer_in(truth)
    if wanted is None or isinstance(truth, dict):
        return np.nan
    kind = kind_of(wanted)
    if kind not in ("number", "choice", "text") or len(wanted) > LONGEST_ANSWER:
        return np.nan
    given, marked = _answer(str(completion)[-LONGEST:])
    if kind == "choice":
        return float(read_choice(given, LETTERS) == read_choice(wanted, LETTERS))
    if kind == "text":
        same = normal_text(given) == normal_text(wanted)
        return 1.0 if same else 0.0 if marked or len(given) <= LONGEST_ANSWER else np.nan
    if kind_of(given.rstrip(".")) != "number":
        return 0.0 if marked else np.nan
    one, other = read_number(given.rstrip(".")), read_number(wanted)
    return float(one is not None and other is not None and not distance(one, other))


def _answer(completion: str) -> tuple[str, bool]:
    """What a completion gives as its answer: its last tag, box, line with a colon, or all of it.

    And whether a tag or box marks it, so that what is no answer there is a wrong one.
    """
    if "####" in completion or r"\boxed" in completion:
        return (answer_in(completion) or "").strip(), True
    form = shell(completion)
    before, after = len(form.lead + form.opening), len(form.closing + form.tail)
    return completion[before : len(completion) - after].strip(), form.tag is not None
