"""Rows out of files and folders: JSONL, JSON, Parquet, Arrow, CSV; what is no row is kept out, with why."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.bundle import resolve
from rewardkit.rollouts.columns import TEXTS, known_names, names_of
from rewardkit.rollouts.logs.inspect import is_inspect_log, read_inspect_log
from rewardkit.rollouts.values import column_values

__all__ = ["Rejected", "Row", "Source", "cell_number", "read_jsonl", "read_source"]


@dataclass(frozen=True)
class Rejected:
    """A row that was kept out: its line (or its position from 1, where there are no lines) and why.

    `file` is the file's name where there are several.
    """

    line: int
    reason: str
    file: str = ""

    @property
    def place(self) -> str:
        """Where it stands: ``line 3``, or ``line 3 of 10.jsonl``."""
        return f"line {self.line}" + (f" of {self.file}" if self.file else "")


@dataclass
class Row:
    """A row of a source, its `values` a dict of our own, to be changed as the form of the log asks."""

    file: str
    line: int
    values: dict[str, Any]

    def rejected(self, reason: str) -> Rejected:
        """The row as one that is kept out."""
        return Rejected(self.line, reason, self.file)


@dataclass
class Source:
    """The rows of one source in order, what was kept out, and its files ("" where it is no folder).

    `form` is what the reader of the files knows of their form, "" where the columns have to say.
    """

    rows: list[Row]
    rejected: list[Rejected]
    files: list[str]
    form: str = ""

    @property
    def names(self) -> list[str]:
        """The columns in order of first appearance."""
        return names_of(row.values for row in self.rows)

    def reject(self, more: Iterable[Rejected]) -> None:
        """Add rows that are kept out, in the order of files and lines."""
        order = {file: at for at, file in enumerate(self.files)}
        self.rejected = sorted([*self.rejected, *more], key=lambda item: (order[item.file], item.line))


Numbered = Iterable[tuple[int, Any]]
"""Rows by their lines; a ValueError in place of a row says why it is none."""

LONGEST_CELL = 2**31 - 1
"""Characters of a cell in CSV: the most that every system takes."""

SAVED, INSPECT = "saved data set", "Inspect log"
KINDS = (".jsonl", ".ndjson", ".csv", ".parquet", ".json", ".arrow", ".eval")
SUBFOLDERS = ("completions", "data")
"""Where the files lie when a folder itself holds none: of TRL's output folder, of a data set's repository."""


def read_source(source: Any, wanted: Mapping[str, str]) -> Source:
    """The rows of a file, of each file of a folder in the order of their numbers, or of a table in memory.

    `wanted` names canonical columns otherwise. In CSV, cells of columns of text are never read as numbers,
    and an empty cell is a missing value, but for completions: a model can say nothing. A truth inside
    ``reward_model`` becomes a column. RolloutsError: no such file, another kind of file, an empty one, a
    folder with files of several kinds.
    """
    read = Source([], [], [])
    if isinstance(source, pd.DataFrame):
        _unique([str(name) for name in source.columns], "the DataFrame")
        columns = {str(name): column_values(source[name]) for name in source.columns}
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        _add(read, "", enumerate(rows, start=1))
    elif isinstance(source, Mapping) or not isinstance(source, str | Path | Iterable):
        kind = type(source).__name__
        raise RolloutsError(f"rollouts are a file, a folder, a DataFrame or a list of dicts, not {kind}")
    elif not isinstance(source, str | Path):
        _add(read, "", enumerate(source, start=1))
    else:
        path = resolve(source, "rollouts.jsonl")
        for file, part, split in _files_of_folder(path) if path.is_dir() else [("", _checked(path), "")]:
            first = len(read.rows)
            if file and not part.stat().st_size:
                _add(read, file, [(0, ValueError("is empty"))])
                continue
            read.form, numbered = _read_file(part, wanted)
            _add(read, file, numbered)
            for row in read.rows[first:] if split else ():
                row.values = {"split": split, **row.values}
            if (part.parent / "state.json").is_file() and file:
                read.form = SAVED
    _lift_truth(read.rows)
    return read


def _lift_truth(rows: list[Row]) -> None:
    """Make a column of the ``ground_truth`` that verl and siiRL keep inside ``reward_model``."""
    if any("ground_truth" in row.values for row in rows):
        return
    for row in rows:
        inner = row.values.get("reward_model")
        if isinstance(inner, Mapping) and inner.get("ground_truth") is not None:
            row.values = {"ground_truth": inner["ground_truth"], **row.values}


def read_jsonl(path: Path) -> Source:
    """The objects of a JSONL file, and the lines that hold none; blank lines are passed over."""
    read = Source([], [], [])
    _add(read, "", _json_lines(path))
    return read


def _add(read: Source, file: str, numbered: Numbered) -> None:
    read.files.append(file)
    for line, value in numbered:
        if isinstance(value, Mapping):
            read.rows.append(Row(file, line, {str(name): cell for name, cell in value.items()}))
        else:
            wrong = f"a row is an object with columns, not {type(value).__name__}"
            read.rejected.append(Rejected(line, str(value) if isinstance(value, ValueError) else wrong, file))


def _checked(path: Path) -> Path:
    """The path of a file that can be read; RolloutsError says why it cannot."""
    if not path.is_file():
        raise RolloutsError(
            f"there is no file {str(path)!r}; give a JSONL, Parquet or CSV file of rollouts, or a folder of "
            "them"
        )
    if path.suffix.lower() not in KINDS:
        raise RolloutsError(
            f"{str(path)!r} ends in {path.suffix.lower()!r}; rollouts are read from {', '.join(KINDS)}"
        )
    if path.stat().st_size == 0:
        raise RolloutsError(f"{str(path)!r} is empty; a rollout file has one completion a row")
    return path


def _files_of_folder(folder: Path) -> Iterator[tuple[str, Path, str]]:
    """The name, path and split of each file, of a plain folder or of a data set that `datasets` saved."""
    saved = folder / "dataset_dict.json"
    for split in json.loads(saved.read_bytes())["splits"] if saved.is_file() else [""]:
        for path in _files_of_one_kind(folder / split):
            yield f"{split}/{path.name}" if split else path.name, path, split


def _files_of_one_kind(folder: Path) -> list[Path]:
    """The rollout files of a folder, 2.jsonl before 10.jsonl.

    JSON beside other kinds is what they tell of themselves. RolloutsError: none, or several kinds.
    """
    for place in [folder, *(folder / name for name in SUBFOLDERS)]:
        found = [
            path
            for path in (place.iterdir() if place.is_dir() else ())
            if path.is_file() and path.suffix.lower() in KINDS and not path.name.startswith((".", "cache-"))
        ]
        found = [path for path in found if path.suffix.lower() != ".json"] or found
        kinds = Counter(path.suffix.lower() for path in found)
        if len(kinds) > 1:
            counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            raise RolloutsError(
                f"the folder {str(place)!r} holds files of several kinds ({counted}); give one of them, or a "
                "folder with one kind"
            )
        if found:
            return sorted(found, key=_in_order)
    raise RolloutsError(
        f"there is no file of rollouts in the folder {str(folder)!r}; they are read from {', '.join(KINDS)}"
    )


def _in_order(path: Path) -> list[tuple[int, int, str]]:
    """A key that puts 2.jsonl before 10.jsonl."""
    parts = re.findall(r"\d+|\D+", path.name)
    return [(0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part) for part in parts]


def _unique(names: list[str], where: str) -> None:
    """RolloutsError where two columns have one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RolloutsError(f"{where} has two columns of one name: {twice}; rename one of each")


def _read_file(path: Path, wanted: Mapping[str, str]) -> tuple[str, Numbered]:
    """The form of one file, where it says one, and its rows; read as the end of its name says."""
    kind = path.suffix.lower()
    if kind == ".eval":
        return INSPECT, read_inspect_log(path)
    if kind == ".json":
        return _read_json(path)
    if kind == ".csv":
        return "", _read_csv(path, wanted)
    if kind in (".parquet", ".arrow"):
        return "", _read_columns(path, kind)
    return "", _json_lines(path)


def _json_lines(path: Path) -> Numbered:
    with path.open("rb") as lines:
        for line, text in enumerate(lines, start=1):
            if text.strip():
                try:
                    yield line, json.loads(text.decode("utf-8-sig"))
                except UnicodeDecodeError as error:
                    yield line, ValueError(f"is not UTF-8 ({error.reason} at byte {error.start + 1})")
                except (ValueError, RecursionError) as error:
                    yield line, ValueError(f"broken JSON: {error}")


def _read_json(path: Path) -> tuple[str, Numbered]:
    """A JSON array of objects, an Inspect log, or lines of JSON under that name."""
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        lines = list(_json_lines(path))
        if any(isinstance(value, Mapping) for _, value in lines):
            return "", lines
        raise RolloutsError(f"{str(path)!r} is not a JSON file that can be read: {error}") from None
    if is_inspect_log(content):
        return INSPECT, read_inspect_log(path)
    if isinstance(content, dict) and {"prompt", "completion", "messages"} & set(content):
        content = [content]  # JSON lines, of which there is one
    if not isinstance(content, list):
        raise RolloutsError(
            f"{str(path)!r} holds one JSON {type(content).__name__}; rollouts are an array of objects, or "
            "one a line"
        )
    return "", enumerate(content, start=1)


def _read_columns(path: Path, kind: str) -> Numbered:
    """Rows of Parquet, or of Arrow in the streaming form of `datasets` or in the form with a footer."""
    try:
        if kind == ".parquet":
            table = pq.ParquetFile(path).read()  # the file alone: no columns out of the names of its folders
        else:
            with pa.memory_map(str(path)) as file:
                footer = file.read(6) == b"ARROW1"
                file.seek(0)
                table = (ipc.open_file if footer else ipc.open_stream)(file).read_all()
        return enumerate(table.to_pylist(), start=1)
    except (pa.ArrowInvalid, OSError) as error:
        name = {".parquet": "a Parquet", ".arrow": "an Arrow"}[kind]
        raise RolloutsError(f"{str(path)!r} is not {name} file that can be read: {error}") from None


def _read_csv(path: Path, wanted: Mapping[str, str]) -> Numbered:
    """Rows of text; columns that are not known to hold texts become numbers where every cell is one."""
    texts = {known for canonical in TEXTS for known in known_names(canonical, wanted)}
    completions = known_names("completion", wanted)
    if csv.field_size_limit() < LONGEST_CELL:  # of the process: raised and left, as others may be reading
        csv.field_size_limit(LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            names = list(reader.fieldnames or [])
            _unique(names, repr(str(path)))
            numbered: list[tuple[int, Any]] = [(reader.line_num, row) for row in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise RolloutsError(f"{str(path)!r} is not a CSV file that can be read: {error}") from None
    for at, (line, row) in enumerate(numbered):
        if None in row or None in row.values():
            what = "more" if None in row else "fewer"
            numbered[at] = line, ValueError(f"has {what} cells than the header's {len(names)}")
    rows = [row for _, row in numbered if isinstance(row, dict)]
    for name in names:
        numbers = [cell_number(row[name]) if name not in texts else None for row in rows]
        numeric = name not in texts and all(
            number is not None or not row[name] for row, number in zip(rows, numbers, strict=True)
        )
        for row, number in zip(rows, numbers, strict=True):
            if numeric:
                row[name] = number
            elif row[name] == "" and name not in completions:
                row[name] = None
    return numbered


def cell_number(cell: str | None) -> int | float | None:
    """The number that a cell is as it is written; "007", "nan" and "1_000" are text."""
    if not re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,3})?", cell or "", re.ASCII):
        return None
    number = float(str(cell))
    return int(str(cell)) if str(cell).lstrip("-").isdigit() else number if math.isfinite(number) else None
