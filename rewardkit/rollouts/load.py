"""load_rollouts(): read and validate rollouts, one row per completion.

`Reading` reads a log at once or batch by batch. Its first rows then decide the layout
of the columns, which later rows must fit.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.errors import RolloutsError, did_you_mean
from rewardkit.rollouts.checked_rows import check_rows
from rewardkit.rollouts.columns import (
    ALIASES,
    ALL_ALIASES,
    LOGGED,
    Columns,
    map_columns,
)
from rewardkit.rollouts.file_cache import FileCache
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.join import DataSet, fill_columns, join_columns
from rewardkit.rollouts.logs import known_forms, read_log, read_more
from rewardkit.rollouts.logs.log import Form, ParsedLog, first, numeric, take_scores
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import Place, SourceRows, as_column

logger = logging.getLogger(__name__)

LONGEST_SOURCE_NAME = 3
"""Most words of the name of a data source. Our choice."""
GROUP_WITH = ("policy", "step", "data_source")
PROMPT_NAMES = ("prompt_id", "prompt", "task_id", "instance_id")
"""Columns that identify the prompt; the last two for logs without prompts."""
GROUP_NUMBERS = ("group_id", "group_index", "group_idx", "group")
"""Columns with a log's own numbers of groups; texts there have another meaning."""
NUMBERED_ROWS = 400
"""Rows that decide whether such a column numbers groups. Our choice."""


def load_rollouts(
    source: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    columns: Mapping[str, str] | None = None,
    group: str | Sequence[str] | None = None,
    join: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]] | None = None,
    on: str = "prompt",
    fill: Mapping[str, Any] | None = None,
    cache: FileCache | None = None,
) -> Rollouts:
    """Load rollouts from a file, a folder of files, a DataFrame, or dicts.

    Logs of TRL, ms-swift, verl, siiRL, EasyR1, NeMo-RL, NeMo Gym, SkyRL, AReaL, slime,
    Tinker, tau-bench, rLLM, prime-rl, verifiers and Inspect are recognised by their
    columns, and data sets that `datasets` saved by their files; `.kind` names the form.
    `ALIASES` lists the known names of columns. Scores of a log become columns
    ``logged/<name>`` (`.logged`).

    A completion of chat messages becomes the text of its last assistant turn. If there
    are only messages, the prompt is their part before the first answer. Broken lines,
    rows without a valid completion and rows with a repeated `rollout_id` (default: the
    line, in a folder with the file's name) are listed in `.rejected`.

    Args:
        source: A file, a folder (read with its subfolders), a DataFrame, dicts, or
            "gallery:arithmetic" for bundled rollouts.
        columns: Canonical name -> the source's name ({"completion": "text"}); it
            precedes the known names. A key that is not canonical is a second name of
            the column, for functions that ask for it.
        group: The columns that make a group; by default `prompt_id` (else the prompt)
            with the policy, step and data_source that exist.
        join: A data set with columns that the log lacks, see `join_columns`.
        on: The column that the join matches; prompts match in any form.
        fill: Constants for missing values, by column.
        cache: Files of the source that were read before.

    Raises:
        RolloutsError: No row is usable, a column or kind of file is unknown, a data set
            has no completions, or a join matches nothing.

    >>> load_rollouts([{"question": "2+2?", "response": "4", "answer": "4"}]).mapping
    {'prompt': 'question', 'completion': 'response', 'ground_truth': 'answer'}
    """
    reading = Reading.of(
        source, columns=columns, group=group, join=join, on=on, fill=fill
    )
    rollouts = reading.load(read_files(source, reading.columns, cache)).rollouts
    for sentence in rollouts.warnings:
        logger.warning("%s: %s", rollouts.source, sentence)
    return rollouts


@dataclass(frozen=True)
class Layout:
    """The layout of a log's columns, as its first rows decide it.

    `log` holds the scores without the rows, `mapping` the source column of each
    canonical one, and `names` the columns of the rollouts.
    """

    form: Form
    log: ParsedLog
    mapping: dict[str, str]
    names: tuple[str, ...]
    group_key: tuple[str, ...]
    are_ids_by_file: bool


@dataclass(frozen=True)
class LoadedRows:
    """Rows of a log as rollouts, with the place of each and the log's layout."""

    rollouts: Rollouts
    places: list[Place]
    layout: Layout


@dataclass(frozen=True)
class Reading:
    """The options of `load_rollouts` for reading a log.

    Without a `layout`, the rows that are read decide it.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    group: str | Sequence[str] | None = None
    join: DataSet | None = None
    on: str = "prompt"
    fill: Mapping[str, Any] | None = None
    layout: Layout | None = None

    @classmethod
    def of(
        cls,
        source: Any,
        *,
        columns: Mapping[str, str] | None = None,
        join: Any = None,
        **options: Any,
    ) -> Reading:
        """Return a reading with the options of `load_rollouts`; read the data set."""
        name = str(source) if isinstance(source, str | Path) else "memory"
        data = None if join is None else DataSet.of(join)
        return cls(name, dict(columns or {}), join=data, **options)

    def load(self, parts: Sequence[SourceRows]) -> LoadedRows:
        """Return rows of the log as rollouts; for errors see `load_rollouts`.

        If the layout is known, it is no error that no row is usable.
        """
        layout = self.layout
        if layout is None:
            form, log = read_log(parts)
        else:
            form = layout.form
            log = read_more(SourceRows.joined(parts), form, layout.log)
        decided = replace(log, rows=SourceRows({}, []), notes=(), warnings=())
        log, logged = take_scores(log)
        mapping = self._mapping(log)
        are_by_file = layout.are_ids_by_file if layout else None
        rows, are_by_file = check_rows(log.rows, mapping, are_by_file)
        rejected = tuple(rows.rejected)
        if layout is None and rows.is_empty:
            raise self._no_row(log, mapping, rejected)
        usable = rows.keep([not place.reason for place in rows.places])
        values = usable.columns
        notes = [*log.notes]
        cautions = [*log.warnings]
        if self.fill:
            values, sentences = fill_columns(values, self.fill)
            notes += sentences
        if self.join is not None and usable.places:
            join_key = self.on
            if join_key == "prompt" and form.join_key in self.join.columns:
                join_key = form.join_key
            values, sentence, warnings = join_columns(
                values,
                self.join,
                on=join_key,
                without=self.fill or (),
                is_part=layout is not None,
            )
            notes.append(sentence)
            cautions += warnings
        canonical_names = {source: name for name, source in mapping.items()}
        for name, column in self.columns.items():
            if name not in ALIASES:  # a second name of a column
                column = canonical_names.get(column, column)
                values[name] = values.get(column, [None] * len(usable.places))
        canonical = [name for name in ALIASES if name in values]
        names = layout.names if layout else canonical
        for name in names:
            values.setdefault(name, [None] * len(usable.places))
        order = tuple(dict.fromkeys([*names, *values]))
        if layout is None:
            key = group_key({name: values[name] for name in order}, self.group)
            layout = Layout(form, decided, mapping, order, key, are_by_file)
        rollouts = Rollouts(
            pd.DataFrame({name: as_column(values[name]) for name in order}),
            mapping,
            layout.group_key,
            rejected,
            self.name,
            form.name,
            logged,
            tuple(notes),
            tuple(cautions),
        )
        return LoadedRows(rollouts, usable.places, layout)

    def _mapping(self, log: ParsedLog) -> dict[str, str]:
        """Return the log's column of each canonical one.

        RolloutsError: there are no completions, or later rows have a canonical column
        that the first rows lack.
        """
        names = log.rows.columns
        if not names:
            return self.layout.mapping if self.layout else {}
        usual = {name: at for name, at in log.usual.items() if at in names}
        if self.layout is None:
            return _map_columns(names, {**usual, **self.columns})
        mapping = self.layout.mapping
        wanted = {}
        for name, column in self.columns.items():
            if name in mapping and column in names:
                wanted[name] = column
        for name, column in map_columns(names, {**usual, **wanted}).items():
            is_new = name not in mapping and name not in self.layout.names
            has_value = first(names[column]) is not None
            if is_new and has_value:
                raise RolloutsError(
                    f"{log.rows.places[0].place} and those behind it have {column!r}, "
                    f"which is their {name}, and the first rows of {self.name} have "
                    "no such column; give a log of like rows, or give it more --memory"
                )
        return mapping

    def _no_row(
        self, log: ParsedLog, mapping: Mapping[str, str], rejected: Sequence[Place]
    ) -> RolloutsError:
        """Return the error for a log without a usable row."""
        if not rejected:
            return RolloutsError(
                f"{self.name} has no rows; a rollout file has one completion a row"
            )
        column = log.rows.columns.get(mapping.get("completion", ""), ())
        unknown = ""
        if isinstance(first(column), list | dict):
            unknown = f"; {_describe_unknown(log.rows.columns)}"
        return RolloutsError(
            f"{self.name} has no usable row; {rejected[0].place}: {rejected[0].reason} "
            f"({len(rejected)} rows kept out){unknown}"
        )


def _map_columns(columns: Columns, wanted: Mapping[str, str]) -> dict[str, str]:
    """Map canonical columns to the source's names; completions are required."""
    mapping = map_columns(columns, wanted)
    source = mapping.get("data_source")
    if source == "source" and source not in wanted.values() and _is_prose(columns):
        del mapping["data_source"]
    if "completion" in mapping or "messages" in mapping:
        return mapping
    if "reward_model" in columns:
        raise RolloutsError(
            "a training set of verl or siiRL has no completions; give the log of a run "
            "as the rollouts and join this set to it with join=..."
        )
    if all(map(numeric, columns.values())):
        names = ", ".join(columns)
        raise RolloutsError(
            "no column holds the completions: these are curves, numbers alone "
            f"({names}); give the log in which the trainer writes completions"
        )
    aliases = ", ".join(ALIASES["completion"])
    raise RolloutsError(
        f"no column holds the completions: {_describe_unknown(columns)}. Of a table "
        "with a completion a row, name the column with columns={'completion': ...} "
        f"(known names: {aliases}){_ask_for_columns(columns)}"
    )


def _ask_for_columns(columns: Columns) -> str:
    """Return a question whether the column of the longest texts has completions, or "".

    Columns with known names are left out. An id that several rows share may be that of
    a prompt.
    """
    lengths = {}
    shared_ids = []
    for name, cells in columns.items():
        if name in ALL_ALIASES or name.startswith(LOGGED):
            continue
        texts = [cell for cell in cells if isinstance(cell, str)]
        is_text = 2 * len(texts) > len(cells)
        if not name.endswith("_id"):
            if is_text:
                lengths[name] = sum(map(len, texts)) / len(cells)
        elif is_text and 1 < len(set(texts)) <= len(texts) / 2:
            shared_ids.append(name)
    if not lengths:
        return ""
    question = f"; is it {max(lengths, key=lambda name: lengths[name])!r}?"
    if shared_ids and not columns.keys() & {*PROMPT_NAMES}:
        name = shared_ids[0]
        question += f" Where {name!r}, which rows share, is the id of a prompt, "
        question += "columns={'prompt_id': ...} makes groups of it"
    return question


def _is_prose(columns: Columns) -> bool:
    """Return whether most cells of "source" are prose, such as texts to translate."""
    texts = [text for text in columns["source"] if isinstance(text, str)]
    long = sum(len(text.split()) > LONGEST_SOURCE_NAME for text in texts)
    return 2 * long > len(texts)


def _describe_unknown(columns: Columns) -> str:
    """Describe the columns of a log of unknown form, and name the known forms."""
    kinds = []
    for name, cells in columns.items():
        kinds.append(f"{name.removeprefix(LOGGED)} ({type(first(cells)).__name__})")
    return (
        f"the columns are those of no log that is known, {', '.join(kinds)}; known are "
        f"{known_forms()}"
    )


def group_key(columns: Columns, group: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that make a group: those of `group`, else the default ones.

    A log's own numbers of groups are used if several of the first rows share one.

    >>> group_key({"prompt": ["Play."] * 4, "group": [0, 0, 1, 1]}, None)
    ('prompt', 'group')
    >>> group_key({"prompt": ["Play."] * 4, "group": [0, 1, 2, 3]}, None)
    ('prompt',)
    """
    if group is not None:
        key = (group,) if isinstance(group, str) else tuple(group)
        for name in key:
            if name not in columns:
                raise RolloutsError(
                    f"group= asks for {name!r}; the rollouts have "
                    f"{list(columns)}{did_you_mean(name, columns)}"
                )
        return key
    prompts = [name for name in PROMPT_NAMES if name in columns][:1]
    if not prompts:
        return ()
    usual = [*prompts, *(name for name in GROUP_WITH if name in columns)]
    for name in GROUP_NUMBERS:
        if name in columns and set(map(type, columns[name])) <= {int}:
            cells = [columns[column][:NUMBERED_ROWS] for column in (*usual, name)]
            numbered = Counter(map(repr, zip(*cells, strict=True)))
            if 2 * len(numbered) <= numbered.total():
                return (*usual, name)
    return tuple(usual)
