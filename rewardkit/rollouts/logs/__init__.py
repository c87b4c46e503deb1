"""The known forms of logs, and recognising the form of a log."""

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
from rewardkit.rollouts.logs.evaluations import EVALUATION_FORMS, INSPECT_LOG, PRIME_RL
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
"""Values of a column of labels that says which completions are right, in lower case."""

SCORE_OBJECTS = (
    "rewards",
    "reward_components",
    "component_rewards",
    "reward_breakdown",
    "components",
)
"""Columns of objects with a score under each key."""


def _parse_table(rows: SourceRows) -> ParsedLog:
    """Read a table of unknown form: recognise its total and scores by their names."""
    columns = rows.columns
    if any(name.startswith(("score/", "status/")) for name in columns):
        return ParsedLog(rows)  # a scored table, which score() reports
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
"""Least rows per column of numbers for recognising a sum. Our choice."""


def _total_of_parts(rows: SourceRows, parts: Sequence[str]) -> list[str]:
    """Return the column that is exactly a weighted sum of these parts, as a list.

    Return [] if the weights are not unique, such as those of constant parts, or if one
    is negative: with a constant part, 1 - right would be such a sum.
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
    """Return the columns of which the total is exactly a weighted sum, or []."""
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
    return parts if len(parts) > 1 else []  # a single one is a copy, or a label


def _unfold_scores(rows: SourceRows) -> Columns:
    """Return the scores in objects of numbers, one column per score."""
    unfolded: Columns = {}
    for name in SCORE_OBJECTS:
        scores = columns_of_objects(rows.columns.get(name, ()))
        if name not in rows.reserved and all(map(numeric, scores.values())):
            unfolded |= {LOGGED + key: cells for key, cells in scores.items()}
    return unfolded


def _is_part(name: str, cells: Sequence[Any]) -> bool:
    """Return whether a column is a part of the reward, by its name and values.

    A penalty that is positive, or the same for all rows, may be a setting of the
    sampling.
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
"""Name of a reward function's argument of several texts -> name of one of them."""


def _are_queries(columns: Columns) -> bool:
    """Return whether a table has the columns of OpenRLHF's reward functions."""
    columns = _rename_plurals(columns)
    if not {"query", "prompt"} <= columns.keys():
        return False
    if not columns.keys().isdisjoint(ALIASES["completion"]):
        return False
    texts = _completions_of_queries(columns)
    return 2 * texts.count(None) < len(texts)


def _rename_plurals(columns: Columns) -> Columns:
    return {SINGULAR.get(name, name): column for name, column in columns.items()}


def _completions_of_queries(columns: Columns) -> list[str | None]:
    """Return the completions of queries; a query is a prompt and its completion.

    None for a query that does not begin with its prompt.
    """
    texts: list[str | None] = []
    for query, prompt in zip(columns["query"], columns["prompt"], strict=True):
        are_texts = isinstance(query, str) and isinstance(prompt, str)
        has_prompt = are_texts and query.startswith(prompt)
        texts.append(query[len(prompt) :] if has_prompt else None)
    return texts


def _parse_queries(rows: SourceRows) -> ParsedLog:
    columns = dict(_rename_plurals(rows.columns))
    columns["completion"] = _completions_of_queries(columns)
    del columns["query"]
    return _parse_table(replace(rows, columns=columns))


def _are_completions(columns: Columns) -> bool:
    """Return whether completions have the name of a reward function's argument.

    Lists of all completions of a prompt, under a known name, count too.
    """
    if columns.keys().isdisjoint(ALIASES["completion"]):
        return "completion" in _rename_plurals(columns)
    lists = [cell for cell in columns.get("completion", ()) if cell]
    return bool(lists) and all(map(_are_texts, lists))


def _are_texts(cell: Any) -> bool:
    return isinstance(cell, list) and set(map(type, cell)) == {str}


def _parse_completions(rows: SourceRows) -> ParsedLog:
    """Read rows of one completion, or rows with a list of a prompt's completions.

    A column whose lists have other lengths holds one value per prompt. Lists of numbers
    or prompts are an exception: `unrolled` leaves them out with a warning.
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
    """Return a list as it is; wrap any other value, or a conversation, in a list."""
    if not isinstance(cell, list) or (cell and isinstance(cell[0], Mapping)):
        return [cell]
    return cell


def _find_conversations(rows: SourceRows) -> list[str]:
    """Return columns of unknown names that hold conversations with an answer.

    Return [] if completions or messages have a known name.
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
    """Return whether a cell holds messages with an assistant's."""
    return isinstance(cell, list) and assistant_text(cell) is not None


def _label_as_truth(rows: SourceRows) -> dict[str, str]:
    """Return the column of the truth if it has the name of slime and OpenRLHF.

    A label that says which completions are right is not the truth.
    """
    if not rows.columns.keys().isdisjoint({*ALIASES["ground_truth"], *rows.reserved}):
        return {}
    for name in ("label", "labels"):
        cells = [cell for cell in rows.columns.get(name, ()) if cell is not None]
        # lists are sets of labels, which a reward reads unchanged; floats are ratings
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
"""Forms in the order in which they are tried."""
PLAIN_TABLE = Form("rollouts", _parse_table)
"""The form of a log that no other form fits."""


def known_forms() -> str:
    """Return the names of the forms as an enumeration."""
    return ", ".join(form.name for form in FORMS)


def read_log(parts: Sequence[SourceRows]) -> tuple[Form, ParsedLog]:
    """Recognise the form of a log by its columns, and read it.

    If only some files have completions, the others are left out with a note.

    Raises:
        RolloutsError: The files have several forms or different columns, or there are
            no completions.
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
    """Read further rows of a log whose first rows decided the form and the scores.

    RolloutsError: the rows have another form.
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
    """Return for each file whether to read it, and the notes of the files.

    Files with completions are read, or all files if none has completions. A note names
    the files left out.
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
    """Raise a RolloutsError if files have different canonical columns."""
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
