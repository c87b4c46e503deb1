"""The forms of logs that are known, and which of them a source is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress, pairwise
from typing import Any

import numpy as np

from rewardkit.errors import RolloutsError, preview
from rewardkit.primitives.messages import assistant_text
from rewardkit.rollouts.columns import ALIASES, ALL_ALIASES, LOGGED, Columns
from rewardkit.rollouts.logs.areal import AREAL_DUMP
from rewardkit.rollouts.logs.evaluations import (
    EVALUATION_FORMS,
    INSPECT_LOG,
    PRIME_RL,
)
from rewardkit.rollouts.logs.log import (
    TOTALS,
    Form,
    ParsedLog,
    columns_of_objects,
    differing_totals,
    first,
    listed,
    numeric,
    unrolled,
)
from rewardkit.rollouts.logs.nested import (
    COMPLETION_NAMES,
    NESTED_FORMS,
    has_rows_within,
    unfold,
)
from rewardkit.rollouts.logs.trainers import TRAINER_FORMS
from rewardkit.rollouts.logs.trl import STEP_FORMS
from rewardkit.rollouts.values import SourceRows

VERDICT_WORDS = frozenset(
    "0 1 0.0 1.0 true false yes no right wrong correct incorrect".split()
)
"""What a column of labels holds that says which completions are good, in lower case."""


SCORE_OBJECTS = (
    "rewards",
    "reward_components",
    "component_rewards",
    "reward_breakdown",
    "components",
)
"""Columns of objects with a score under each key."""


def _parse_table(rows: SourceRows) -> ParsedLog:
    """Read a table in no form of a trainer: a total, and scores by their names."""
    columns = rows.columns
    if any(name.startswith(("score/", "status/")) for name in columns):
        return ParsedLog(rows)  # a scored table: score() says what to do with it
    columns = {**columns, **_unfold_scores(rows)}
    rows = replace(rows, columns=columns)
    weights = {}
    beside = []
    warnings = []
    for name, cells in columns.items():
        is_total = name.removeprefix(LOGGED) in TOTALS
        is_score = is_total or name == "reward_raw" or _is_part(name, cells)
        if name in rows.reserved or not (is_score or name.startswith(LOGGED)):
            continue
        beside.append(name)
        if numeric(cells):
            weights[name] = 0.0
        elif is_score and isinstance(first(cells), str):
            warnings.append(
                f"{name!r} holds texts, such as {preview(first(cells))}, and a score "
                "is a number: not taken for one"
            )
    names = [*TOTALS, *(LOGGED + name for name in TOTALS)]
    totals = [name for name in names if name in weights]
    parts = [name for name in weights if _is_part(name, columns[name])]
    if not any(name.endswith("_reward") for name in parts):
        parts = []  # penalties alone
    if not totals:
        totals = _total_of_parts(rows, parts)
        beside += totals
    for name in totals[:1] or parts:
        weights[name] = 1.0
    if totals and len(weights) == len(totals):
        weights |= dict.fromkeys(_parts_of_total(rows, totals), 0.0)
    notes: list[str] = []
    if len(parts) > 1 and not totals:
        notes = ["the log has no total: each has weight 1 until you pass --log-weight"]
    conversations = _find_conversations(rows)
    usual = {"messages": conversations[0]} if conversations else {}
    if len(conversations) > 1:
        chosen, *others = conversations
        notes.append(
            f"took {chosen!r} for the conversations, not {listed(others)}; to take "
            "another, pass --column messages=NAME"
        )
    return ParsedLog(
        rows,
        weights,
        beside=beside,
        total=(totals or parts)[0] if totals or len(parts) == 1 else None,
        usual={**_label_as_truth(rows), **usual},
        notes=tuple(notes),
        warnings=(*warnings, *differing_totals(columns, totals)),
    )


ROWS_OF_PART = 8
"""Rows for each column of numbers from which a sum is no chance. Our choice."""


def _total_of_parts(rows: SourceRows, parts: Sequence[str]) -> list[str]:
    """Return a column that is a weighted sum of these parts, to the last digit.

    None where several weights make the same sum, as those of constant parts do, or
    where one is negative: with a constant part 1 - right is such a sum.
    """
    if len(parts) < 2 or len(rows.places) < ROWS_OF_PART * len(parts):
        return []
    table = np.array([rows.columns[name] for name in parts], dtype=float).T
    if not np.isfinite(table).all():
        return []
    left_out = ALL_ALIASES.union(rows.reserved, parts)
    for name, cells in rows.columns.items():
        if name in left_out or not numeric(cells):
            continue
        total = np.array(cells, dtype=float)
        if not np.isfinite(total).all():
            continue
        weights, _, rank, _ = np.linalg.lstsq(table, total, rcond=None)
        if rank < len(parts):
            return []
        is_sum = weights.min() > -1e-6 and (weights > 1e-6).sum() > 1
        if is_sum and np.allclose(table @ weights, total, atol=1e-6):
            return [name]
    return []


def _parts_of_total(rows: SourceRows, totals: Sequence[str]) -> list[str]:
    """Return the columns of which the total is a weighted sum, to the last digit."""
    left_out = ALL_ALIASES.union(rows.reserved, totals)
    names = [name for name in rows.columns if name not in left_out]
    names = [name for name in names if numeric(rows.columns[name])]
    if not names or len(rows.places) < ROWS_OF_PART * len(names):
        return []
    table = np.array([rows.columns[name] for name in names], dtype=float).T
    total = np.array(rows.columns[totals[0]], dtype=float)
    if not np.isfinite(table).all() or not np.isfinite(total).all():
        return []
    weights, _, rank, _ = np.linalg.lstsq(table, total, rcond=None)
    if rank < len(names) or not np.allclose(table @ weights, total, atol=1e-6):
        return []
    parts = [names[place] for place in np.flatnonzero(np.abs(weights) > 1e-6)]
    return parts if len(parts) > 1 else []  # one is a copy of it, or a label


def _unfold_scores(rows: SourceRows) -> Columns:
    """Return the scores in objects of numbers, each as a column of its own."""
    unfolded: Columns = {}
    for name in SCORE_OBJECTS:
        scores = columns_of_objects(rows.columns.get(name, ()))
        if name not in rows.reserved and all(map(numeric, scores.values())):
            unfolded |= {LOGGED + key: cells for key, cells in scores.items()}
    return unfolded


def _is_part(name: str, cells: Sequence[Any]) -> bool:
    """Return whether a column is a part of the reward by its name, and what it holds.

    A penalty that is subtracted later, or is the same for all rows, may be a setting of
    the sampling.
    """
    if not name.endswith("_penalty"):
        return name.endswith("_reward")
    if not numeric(cells):
        return False
    values = {cell for cell in cells if cell is not None}
    return len(values) > 1 and max(values) <= 0


SINGULAR = {
    "queries": "query",
    "prompts": "prompt",
    "completions": "completion",
    "responses": "completion",
}
"""What a reward function's argument of several texts is called, and one of them."""


def _are_queries(columns: Columns) -> bool:
    """Return whether a table has what OpenRLHF gives a reward function."""
    columns = _rename_plurals(columns)
    if not {"query", "prompt"} <= columns.keys():
        return False
    if not columns.keys().isdisjoint(ALIASES["completion"]):
        return False
    texts = _behind_prompts(columns)
    return 2 * texts.count(None) < len(texts)


def _rename_plurals(columns: Columns) -> Columns:
    return {SINGULAR.get(name, name): column for name, column in columns.items()}


def _behind_prompts(columns: Columns) -> list[str | None]:
    """Return the completions of queries; a query is a prompt and its completion.

    None where a query does not begin with its prompt.
    """
    texts: list[str | None] = []
    for query, prompt in zip(columns["query"], columns["prompt"], strict=True):
        are_texts = isinstance(query, str) and isinstance(prompt, str)
        is_behind = are_texts and query.startswith(prompt)
        texts.append(query[len(prompt) :] if is_behind else None)
    return texts


def _parse_queries(rows: SourceRows) -> ParsedLog:
    columns = dict(_rename_plurals(rows.columns))
    columns["completion"] = _behind_prompts(columns)
    del columns["query"]
    return _parse_table(replace(rows, columns=columns))


def _are_completions(columns: Columns) -> bool:
    """Return whether completions stand under the name of a function's argument.

    Or under a usual name, all completions of a prompt in a list.
    """
    if columns.keys().isdisjoint(ALIASES["completion"]):
        return "completion" in _rename_plurals(columns)
    lists = [cell for cell in columns.get("completion", ()) if cell]
    return bool(lists) and all(map(_are_texts, lists))


def _are_texts(cell: Any) -> bool:
    return isinstance(cell, list) and set(map(type, cell)) == {str}


def _parse_completions(rows: SourceRows) -> ParsedLog:
    """Read rows of one completion, or rows of all completions of a prompt, in lists.

    A column whose lists differ in length from those has one value a prompt, but for
    lists of numbers and of prompts, which `unrolled` leaves out with a warning.
    """
    columns = _rename_plurals(rows.columns)
    rows = replace(rows, columns=columns)
    completions = columns["completion"]
    if any(_values(cell) is cell for cell in completions):
        counts = [len(_values(cell)) for cell in completions]
        for name, cells in columns.items():
            columns[name] = list(map(_values, cells))
            are_values = any(map(numeric, columns[name])) or name == "prompt"
            are_lists = are_values and max(map(len, columns[name])) > 1
            if list(map(len, columns[name])) != counts and not are_lists:
                pairs = zip(cells, counts, strict=True)
                columns[name] = [[cell] * count for cell, count in pairs]
        rows = unrolled(replace(rows, columns=columns), "completion")
    return _parse_table(rows)


def _values(cell: Any) -> list[Any]:
    """Return the values of a list; a conversation or any other value is one value."""
    if not isinstance(cell, list) or (cell and isinstance(cell[0], Mapping)):
        return [cell]
    return cell


def _find_conversations(rows: SourceRows) -> list[str]:
    """Return columns of unknown names that hold conversations with an answer.

    None of a table that has completions or messages under a name that is known.
    """
    if not rows.columns.keys().isdisjoint(COMPLETION_NAMES):
        return []
    names = []
    reserved = ALL_ALIASES.union(rows.reserved)
    for name, cells in rows.columns.items():
        if name not in reserved and any(map(_is_answered, cells)):
            names.append(name)
    return names


def _is_answered(cell: Any) -> bool:
    """Return whether a cell holds messages, one of them an assistant's."""
    return isinstance(cell, list) and assistant_text(cell) is not None


def _label_as_truth(rows: SourceRows) -> dict[str, str]:
    """Return which column holds the truth under a name that slime and OpenRLHF have.

    A label may say which completions are good, too: then it is no truth.
    """
    if not rows.columns.keys().isdisjoint({*ALIASES["ground_truth"], *rows.reserved}):
        return {}
    for name in ("label", "labels"):
        cells = [cell for cell in rows.columns.get(name, ()) if cell is not None]
        # a list is a set of labels, which a reward takes as it is; floats are ratings
        is_plain = set(map(type, cells)) <= {str, int}
        if is_plain and {str(cell).lower() for cell in cells} - VERDICT_WORDS:
            return {"ground_truth": name}
    return {}


def _parse_nested(rows: SourceRows) -> ParsedLog:
    rows, path, note = unfold(rows)
    log = _parse_table(rows)
    return replace(log, path=path, notes=(note, *log.notes))


def _parse_more_nested(rows: SourceRows, first: ParsedLog) -> ParsedLog:
    return _parse_table(unfold(rows, first.path)[0])


NESTED = Form("rows within objects", _parse_nested, has_rows_within, _parse_more_nested)
FORMS = (
    INSPECT_LOG,
    AREAL_DUMP,
    PRIME_RL,
    *STEP_FORMS,
    *TRAINER_FORMS,
    *NESTED_FORMS,
    *EVALUATION_FORMS,
    Form("OpenRLHF queries", _parse_queries, _are_queries),
    Form("TRL columns", _parse_completions, _are_completions),
    NESTED,
)
"""In the order in which they are tried."""
PLAIN_TABLE = Form("rollouts", _parse_table)
"""What a log of none of these is read as."""


def known_forms() -> str:
    """Return the names of the forms in a sentence."""
    return ", ".join(form.name for form in FORMS)


def read_log(parts: Sequence[SourceRows]) -> tuple[Form, ParsedLog]:
    """Recognise the form of a log by its columns, and read it.

    Files without completions beside those that have some are left out, and a note says
    so. RolloutsError: files of several forms or of different things, a data set
    without completions.
    """
    are_logs, notes = mark_logs(parts)
    parts = list(compress(parts, are_logs))
    filled = [part for part in parts if not part.is_empty]
    forms = dict.fromkeys(map(_form_of, filled))
    form, *others = forms or [PLAIN_TABLE]
    if others:
        names = ", ".join(form.name for form in (form, *others))
        raise RolloutsError(
            f"the folder holds logs of several forms ({names}); give one of them"
        )
    if form is PLAIN_TABLE:
        _check_alike(filled)
    log = form.parse(SourceRows.joined(parts))
    return form, replace(log, notes=(*notes, *log.notes))


def read_more(rows: SourceRows, form: Form, first: ParsedLog) -> ParsedLog:
    """Read more rows of a log whose first rows decided on the form and the scores.

    RolloutsError: these rows are of another form.
    """
    if rows.is_empty:
        return replace(first, rows=rows, notes=(), warnings=())
    if form.fits is not None and not form.fits(rows.columns):
        raise RolloutsError(
            f"{rows.places[0].place} and those behind it are no rows of a {form.name}, "
            "as the first rows of the log are; give each log alone"
        )
    if form.parse_more is not None:
        log = form.parse_more(rows, first)
    else:
        log = form.parse(rows)
    return replace(first, rows=log.rows, notes=log.notes, warnings=log.warnings)


def mark_logs(parts: Sequence[SourceRows]) -> tuple[list[bool], list[str]]:
    """Mark the files to read: those with completions, or all where none has some.

    And return the notes of the files, with one on those that are left out.
    """
    notes: list[str] = []
    are_logs = []
    others = []
    for part in parts:
        notes += part.notes
        names = {*COMPLETION_NAMES, *part.reserved}
        is_log = part.is_empty or not names.isdisjoint(part.columns)
        is_log = is_log or _form_of(part) is not PLAIN_TABLE
        is_log = is_log or bool(_find_conversations(part))
        are_logs.append(is_log)
        if not is_log:
            others.append(part.places[0].file)
    if not others or not any(are_logs):
        return [True] * len(parts), notes
    ellipsis = " ..." if len(others) > 3 else ""
    notes.append(f"left out files without completions: {listed(others[:3])}{ellipsis}")
    return are_logs, notes


def _form_of(part: SourceRows) -> Form:
    for form in FORMS:
        is_named = not part.reserved.isdisjoint(part.columns)
        if form is NESTED and (is_named or _find_conversations(part)):
            continue
        has_name = form.name == part.form
        if has_name or (form.fits is not None and form.fits(part.columns)):
            return form
    return PLAIN_TABLE


def _check_alike(parts: Sequence[SourceRows]) -> None:
    """Raise a RolloutsError where files have different canonical columns."""
    columns_of = {}
    for part in parts:
        columns = []
        for name, aliases in ALIASES.items():
            if not part.columns.keys().isdisjoint(aliases):
                columns.append(name)
        columns_of[part.places[0].file] = columns
    for (file, columns), (next_file, next_columns) in pairwise(columns_of.items()):
        if columns != next_columns:
            raise RolloutsError(
                f"the files of the folder hold different things: {file!r} has "
                f"{columns}, {next_file!r} has {next_columns}; give one of them, or a "
                "folder of like files"
            )
