"""Context: what is known of completions beside their scores: label, length, step ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import Codes, Columns, Floats, Mask, finite, in_both
from rewardkit.answers.truth_column import name_truth
from rewardkit.errors import InputError, preview
from rewardkit.rollouts.logs.log import has_steps, numeric, numeric_column
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

TOKENS = "completion_tokens"
FEWEST_LABELLED = 20
"""Labelled rows on which a component may agree with the label by luck. Our choice."""
BOOLEAN_WORDS = {"true": True, "yes": True, "false": False, "no": False}
MOST_LABELLED = 0.9
"""Share of the labelled rows that a component must be scored on to be the label itself.
Our choice."""
OTHER_NUMBERS = (
    "rollout_id",
    "prompt_id",
    "step",
    "generation",
    "advantage",
    "advantages",
    TOKENS,
)
"""Columns of numbers that name rows, or have a field of their own."""


@dataclass(frozen=True, eq=False)
class Context:
    """Columns of the rows of one part of the scores, each (rows,).

    `label` is 0 or 1, NaN where it is missing; None without one, or where
    `why_no_label` says why it cannot be used. `any_label` is the label even if a
    component repeats it, and so confirms nothing. `named` are the columns of numbers
    that the caller names; None: those of `unasked`, the columns of the rollouts that
    the reward does not ask for, and so cannot pay.
    """

    table: pd.DataFrame
    label: Floats | None
    label_name: str
    why_no_label: str
    named: Sequence[str] | None
    unasked: frozenset[str]
    any_label: Floats | None = None

    @cached_property
    def lengths(self) -> Floats:
        """Return the length of each completion in `length_unit`."""
        if self.length_unit == "tokens":
            return numbers(self.table[TOKENS])
        return np.array([len(text) for text in self.table["completion"]], dtype=float)

    def conversations(self, rows: slice | Codes) -> list[str]:
        """Return the completions of some rows, with their turns where the log has them.

        Agents may end with the same turn after different actions.
        """
        table = self.table.iloc[rows]
        texts = list(map(str, table["completion"].tolist()))
        if "messages" not in table:
            return texts
        turns = table["messages"].tolist()
        return [f"{text}\0{turn}" for text, turn in zip(texts, turns, strict=True)]

    @property
    def length_unit(self) -> str:
        """Return "tokens" where each completion has a count, else "characters"."""
        if TOKENS in self.table and not np.isnan(numbers(self.table[TOKENS])).any():
            return "tokens"
        return "characters"

    @cached_property
    def truncated(self) -> Mask | None:
        """Return whether each completion was cut at its limit; None if unknown."""
        if "finish_reason" not in self.table:
            return None
        return np.asarray(self.table["finish_reason"] == "length", dtype=bool)

    @cached_property
    def steps(self) -> Floats | None:
        """Return the step of each row; None where there are no numbers."""
        return numbers(self.table["step"]) if has_steps(self.table) else None

    @cached_property
    def columns(self) -> Columns:
        """Return further numbers of each row by column."""
        if self.named is not None:
            return {name: numbers(self.table[name]) for name in self.named}
        columns = {}
        for name in self.table.columns:
            if name not in self.unasked or name in (self.label_name, *OTHER_NUMBERS):
                continue
            if numeric_column(self.table[name]):
                columns[str(name)] = numbers(self.table[name])
        return columns


def context_of(
    scores: Scores,
    table: pd.DataFrame,
    *,
    label: str | None,
    columns: Sequence[str] | None,
) -> Context:
    """Return the context of some rows of the scores.

    Args:
        scores: the scores.
        table: the rows of their table.
        label: a column of two values that says which completions are good.
        columns: columns of numbers; None: all that there are.

    Raises:
        InputError: a label or column is missing, or holds no numbers.
    """
    names = list(columns or ())
    label = scores.rollouts.label_column(label)
    labels = [] if label is None else [label]
    scores.rollouts.check_columns([*labels, *names])
    for name in names:
        if not numeric_column(scores.rollouts.table[name]):
            raise InputError(f"column {name!r} holds no numbers; give one that does")
    needs = {*scores.reward.needs, *scores.rollouts.logged.components.values()}
    for component in scores.reward.components:
        needs.update(component.asks_for)
    unasked = frozenset(scores.rollouts.names) - needs
    if label is None:
        return Context(table, None, "", "", columns, unasked)
    values, why = read_label(column_values(table[label]), label)
    if values is not None:
        why = _why_not_independent(table, label, values, scores.reward.weights)
    usable = None if why else values
    return Context(table, usable, label, why, columns, unasked, values)


def read_label(
    values: Sequence[Any], name: str, *, may_be_one: bool = False
) -> tuple[Floats | None, str]:
    """Return a label as 0 and 1, NaN where missing, or None and why it is none.

    Of two values the higher is right. True, false, yes and no may be texts.

    Args:
        values: Of all rows, None where missing.
        name: The name of the column.
        may_be_one: Whether it may say the same of every row: above 0 is right.

    >>> read_label(["yes", "No", None], "ok")[0]
    array([ 1.,  0., nan])
    >>> read_label([1, 1], "ok"), read_label([None], "ok")[1]
    ((None, "'ok' is 1 wherever it has a value"), "'ok' has no value in any row")
    >>> [read_label([x, None], "ok", may_be_one=True)[0][0].item() for x in (-1, 0, 1)]
    [0.0, 0.0, 1.0]
    """
    column = truths(list(values))
    filled = pd.Series(column, dtype=object).dropna().tolist()
    if not filled:
        return None, f"{name!r} has no value in any row"
    if not numeric(filled):
        texts = list(dict.fromkeys(map(preview, filled)))
        return None, (
            f"{name!r} holds {', '.join(texts[:3])}, of which it is not known what is "
            "right; make a column of true and false of it"
        )
    numbers = finite(np.array(column, dtype=float))  # NaN for None
    levels = np.unique(numbers[~np.isnan(numbers)])
    if not len(levels):
        return None, f"{name!r} has no finite value in any row"
    if len(levels) == 1 and not may_be_one:
        return None, f"{name!r} is {levels[0]:g} wherever it has a value"
    if len(levels) > 2:
        listed = ", ".join(f"{level:g}" for level in levels[:5])
        if len(levels) > 5:
            listed += " ..."
        return None, (
            f"{name!r} is not one of two values: it has {listed}; make a column of "
            "true and false of it"
        )
    least = levels[0] if len(levels) == 2 else 0.0  # -1 is wrong, also without a 1
    return np.where(np.isnan(numbers), np.nan, numbers > least), ""


def _why_not_independent(
    table: pd.DataFrame, name: str, label: Floats, weights: Mapping[str, float]
) -> str:
    """Say which component pays exactly the rows that the label calls right, or "".

    A component that is only recorded, such as verl's acc, may be the label. One that
    pays exactly the wrong rows does not repeat it.
    """
    fewest = max(FEWEST_LABELLED, MOST_LABELLED * (~np.isnan(label)).sum())
    for component, weight in weights.items():
        if not weight or f"score/{component}" not in table:
            continue
        sign = -1 if weight < 0 else 1
        scores = sign * table[f"score/{component}"].to_numpy(dtype=float)
        both = in_both(scores, label)
        if both.sum() < fewest or len(np.unique(scores[both])) != 2:
            continue
        if np.array_equal(scores[both] == scores[both].max(), label[both] == 1):
            verb = "says what" if weight > 0 else "says the reverse of what"
            return (
                f"{name!r} {verb} the component {component!r} says, so it is no "
                "independent check"
            )
    return ""


def unpaid_labels(scores: Scores) -> list[str]:
    """Return columns that may be labels and that no paid component repeats."""
    weights = scores.reward.weights
    names = []
    for name in scores.rollouts.possible_labels:
        column = str(scores.rollouts.label_column(name))
        values, _ = read_label(column_values(scores.table[column]), column)
        if values is None:
            continue
        if not _why_not_independent(scores.table, name, values, weights):
            names.append(name)
    return names


def truths(values: list[Any]) -> list[Any]:
    """Read the texts true and false, yes and no as booleans; else change nothing.

    pandas writes the first two to CSV, people write the others. Nothing is changed if
    there are other texts, or numbers other than 0 and 1.

    >>> truths(["True", None, "no"]), truths(["True", "right"]), truths(["yes", 0.5])
    ([True, None, False], ['True', 'right'], ['yes', 0.5])
    """
    texts = {value for value in values if isinstance(value, str)}
    booleans = {text: BOOLEAN_WORDS.get(text.strip().lower()) for text in texts}
    filled = pd.Series(values, dtype=object).dropna().tolist()
    others = [value for value in filled if not isinstance(value, str)]
    is_other_number = others and not (numeric(others) and set(others) <= {0, 1})
    if None in booleans.values() or is_other_number:
        return values
    return [booleans[x] if isinstance(x, str) else x for x in values]


def numbers(column: pd.Series) -> Floats:
    """Return a column as numbers, NaN where there is none or an infinite one."""
    return finite(np.asarray(pd.to_numeric(column, errors="coerce"), dtype=float))


def with_truth(scores: Scores) -> Scores:
    """Return scores with a column `ground_truth`, if another column holds the truth.

    Components that read that column are the task.
    """
    named = name_truth(scores.rollouts, scores.rollouts.names)
    if named is scores.rollouts:
        return scores
    column = named.mapping["ground_truth"]
    table = scores.table.assign(ground_truth=scores.table[column])
    return replace(scores, table=table, reward=scores.reward.with_truth(column))
