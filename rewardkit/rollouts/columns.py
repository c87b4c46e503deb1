"""Canonical names of columns, and the mapping of a table's columns to them.

Rewards in a trainer import this module, so it does not import pandas.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from rewardkit.errors import RolloutsError, did_you_mean

Column = Sequence[Any]
"""A column: one value per row."""
Columns = dict[str, list[Any]]

LOGGED = "logged/"
"""Prefix of columns with scores of a log.

No component can have such a name, and a scored table adds no such column.
"""

JUDGED_PREFIX = "judged/"
"""Prefix of a key that our exports return to a trainer beside a component's score.

Its value is 1.0, or 0.0 if the component was not judged and the score is a placeholder.
"""

PART_PREFIXES = tuple(
    "field/ failed/ score/ status/ error/ reason/ verdict/ cost/".split()
)
"""Prefixes of the columns of a field or component in a scored table."""

RESULT_PREFIXES = (*PART_PREFIXES, "note/", "gate/")
"""Prefixes of the result columns of a scored table, see `Scores`."""

OTHER_NAMES = {
    "rollout_id": "completion_id sample_id",
    "prompt_id": "problem_id question_id uid",
    "prompt": "question query input instruction problem prompts",
    "completion": "response solution_str output generated_text model_output "
    "model_response full_model_response",
    "messages": "conversation transcript",
    "ground_truth": "answer solution gts target reference references gold "
    "expected_answer correct_answer reference_answer gold_answer answers gold_answers "
    "golden_answers answer_key answerKey reference_solution solutions ground_truths",
    "data_source": "dataset source",
    "policy": "checkpoint model",
    "step": "global_step training_step gen_step",
}
ALIASES = {name: (name, *others.split()) for name, others in OTHER_NAMES.items()}
"""Canonical column -> its names in the order in which they are tried.

"label" and "final_answer" are not names of the truth: the first may say whether a
completion is right, the second what it states.
"""

_BEFORE_RIGHT = (
    r"(?i)(?!.*(?<![^\W_])(?:format|length|tag|style|if_|when_|not_))(?:.*[\W_]|is)?"
)
_RIGHT = (
    "acc|accuracy|accurate|correct|correctness|exact_match|em|right|solved|resolved|"
    "success|successful|pass|passed|win"
)
RIGHT_NAME = re.compile(
    rf"{_BEFORE_RIGHT}(?:{_RIGHT})(?:[\W_](?:reward|score|rate|fn|func)(?:[\W_].*)?)?"
)
"""Names of scores and columns that say which completions are right, by their end.

"correct_option" is not one, nor are names about the form or about a condition on the
answer ("brief_if_right").
"""
TASK_NAME = re.compile(rf"{_BEFORE_RIGHT}(?:{_RIGHT}|answer)(?:[\W_].*)?")
"""Names of components that compare answers, among those that read the truth."""

ALL_ALIASES = frozenset[str]().union(*ALIASES.values())

TEXTS = tuple(
    "rollout_id prompt_id prompt completion ground_truth data_source policy".split()
)
"""Columns whose cells are never read as numbers."""


def aliases_of(canonical: str, wanted: Mapping[str, str]) -> set[str]:
    """Return the names that a canonical column may have in a source."""
    return {*ALIASES[canonical], wanted.get(canonical, canonical)}


INSPECT_GRADES = {
    "C": 1.0,
    "I": 0.0,
    "P": 0.5,
    "N": 0.0,
    "yes": 1.0,
    "true": 1.0,
    "no": 0.0,
    "false": 0.0,
}
"""Inspect's grades as numbers: correct, incorrect, partial, no answer."""


MISSPELT = 0.85
"""Least similarity of a misspelt canonical name such as "promt". Our choice."""


def map_columns(names: Collection[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Map canonical columns to the columns of a source.

    Args:
        names: The source's columns.
        wanted: The user's mapping, which precedes `ALIASES`. Entries that are not
            canonical are second names of a column and ignored here.

    Raises:
        RolloutsError: `wanted` names a column that does not exist.
    """
    for canonical, name in wanted.items():
        near = did_you_mean(canonical, ALIASES, likeness=MISSPELT)
        if canonical not in ALIASES and (near or canonical in ALL_ALIASES):
            raise RolloutsError(
                f"columns= maps {canonical!r}, which is not one of "
                f"{list(ALIASES)}{near}"
            )
        if name not in names:
            raise RolloutsError(
                f"columns= asks for {name!r}; the columns are "
                f"{list(names)}{did_you_mean(name, names)}"
            )
    mapping = {}
    wanted = {name: wanted[name] for name in wanted if name in ALIASES}
    for canonical, aliases in ALIASES.items():
        if canonical in wanted:
            mapping[canonical] = wanted[canonical]
            continue
        for alias in aliases:
            if alias in names and alias not in wanted.values():
                mapping[canonical] = alias
                break
    return mapping


def lists_of_columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the columns of rows as lists, with ``None`` for missing values."""
    if not rows:
        return {}
    names: dict[str, None] = dict.fromkeys(rows[0])
    if all(row.keys() == names.keys() for row in rows):
        return {name: list(map(itemgetter(name), rows)) for name in names}
    for row in rows:
        names |= dict.fromkeys(row)
    return {name: [row.get(name) for row in rows] for name in names}


def stack_columns(parts: Sequence[tuple[Mapping[str, Column], int]]) -> Columns:
    """Concatenate the columns of parts, each given with its number of rows.

    Values of a column that a part lacks are ``None``.
    """
    columns: Columns = {}
    rows = 0
    for part, count in parts:
        for name in part:
            columns.setdefault(name, [None] * rows)
        for name, cells in columns.items():
            cells.extend(part.get(name, [None] * count))
        rows += count
    return columns


def free_name(name: str, names: Collection[str], numbered: str = "{}_{}") -> str:
    """Return the name, with a number appended if it is taken.

    >>> free_name("acc", {"acc", "acc_2"})
    'acc_3'
    """
    free, number = name, 2
    while free in names:
        free, number = numbered.format(name, number), number + 1
    return free
