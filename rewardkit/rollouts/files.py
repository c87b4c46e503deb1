"""Rows out of files and folders: JSONL, JSON, Parquet, Arrow, CSV; what is no row is kept out, with why."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.bundle import resolve
from rewardkit.rollouts.logs.inspect import is_inspect_log, read_inspect_log
from rewardkit.rollouts.values import column_values

__all__ = ["Piece", "Rejected", "cell_number", "read_jsonl", "read_pieces", "read_rows"]


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


Numbered = list[tuple[int, dict[str, Any]]]


@dataclass(frozen=True)
class Piece:
    """The rows of one source with their line numbers, and the lines that hold none.

    `file` is its name inside the folder, "" for a source that is no folder. `form` is what its reader knows
    of it, "" where the columns have to say.
    """

    file: str
    rows: Numbered
    rejected: list[Rejected]
    form: str = ""


LONGEST_CELL = 2**31 - 1
"""Characters of a cell in CSV: the most that every system takes."""

SAVED = "saved data set"
KINDS = (".jsonl", ".ndjson", ".csv", ".parquet", ".json", ".arrow", ".eval")
SUBFOLDERS = ("completions", "data")
"""Where the files lie when a folder itself holds none: of TRL's output folder, of a data set's repository."""


def read_pieces(source: Any, *, texts: Collection[str], completions: Collection[str]) -> list[Piece]:
    """The rows of a file, of each file of a folder in the order of their numbers, or of a table in memory.

    In CSV, cells of the columns `texts` are never read as numbers, and an empty cell is a missing value, but
    for the columns `completions`: a model can say nothing. RolloutsError: no such file, another kind of file,
    an empty one, a folder with files of several kinds.
    """
    if isinstance(source, pd.DataFrame):
        _unique([str(name) for name in source.columns], "the DataFrame")
        columns = {str(name): column_values(source[name]) for name in source.columns}
        rows = enumerate(zip(*columns.values(), strict=True), start=1)
        return [Piece("", [(at, dict(zip(columns, row, strict=True))) for at, row in rows], [])]
    if isinstance(source, Mapping) or not isinstance(source, str | Path | Iterable):
        kind = type(source).__name__
        raise RolloutsError(f"rollouts are a file, a folder, a DataFrame or a list of dicts, not {kind}")
    if not isinstance(source, str | Path):
        return [Piece("", *_split(enumerate(source, start=1)))]
    path = resolve(source, "rollouts.jsonl")
    if path.is_dir():
        return _read_folder(path, texts, completions)
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
    return [_read_file(path, texts, completions)]


def read_rows(
    source: Any, *, texts: Collection[str], completions: Collection[str]
) -> tuple[Numbered, list[Rejected]]:
    """The same as one list of numbered rows; those of several files are numbered on."""
    pieces = read_pieces(source, texts=texts, completions=completions)
    rejected = [item for piece in pieces for item in piece.rejected]
    if len(pieces) == 1:
        return pieces[0].rows, rejected
    return list(enumerate((row for piece in pieces for _, row in piece.rows), start=1)), rejected


def _read_file(path: Path, texts: Collection[str], completions: Collection[str]) -> Piece:
    """One file, read as the end of its name says."""
    kind = path.suffix.lower()
    if kind == ".json":
        return _read_json(path)
    if kind == ".eval":
        return _inspect(path)
    if kind == ".csv":
        return Piece("", *_read_csv(path, texts, completions))
    readers = {".parquet": _read_parquet, ".arrow": _read_arrow}
    return Piece("", *readers.get(kind, read_jsonl)(path))


def _read_folder(folder: Path, texts: Collection[str], completions: Collection[str]) -> list[Piece]:
    """The files of one kind in a folder, each under its name; or a data set that `datasets` saved to disk."""
    pieces = []
    splits = {"": folder}
    if (folder / "dataset_dict.json").is_file():
        names = json.loads((folder / "dataset_dict.json").read_bytes())["splits"]
        splits = {name: folder / name for name in names}
    for split, place in splits.items():
        for path in _files_of_one_kind(place):
            file = f"{split}/{path.name}" if split else path.name
            if not path.stat().st_size:
                pieces.append(Piece(file, [], [Rejected(0, "is empty", file)]))
                continue
            piece = _read_file(path, texts, completions)
            rows = [(line, {"split": split, **row}) for line, row in piece.rows] if split else piece.rows
            rejected = [replace(item, file=file) for item in piece.rejected]
            form = SAVED if (place / "state.json").is_file() else piece.form
            pieces.append(Piece(file, rows, rejected, form))
    return pieces


def _files_of_one_kind(folder: Path) -> list[Path]:
    """The rollout files of a folder, 2.jsonl before 10.jsonl.

    JSON beside other kinds is what they tell of themselves. RolloutsError: none, or several kinds.
    """
    places = [folder, *(folder / name for name in SUBFOLDERS)]
    for place in places:
        found = [
            path
            for path in (place.iterdir() if place.is_dir() else ())
            if path.is_file() and path.suffix.lower() in KINDS and not path.name.startswith((".", "cache-"))
        ]
        if any(path.suffix.lower() != ".json" for path in found):
            found = [path for path in found if path.suffix.lower() != ".json"]
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


def _split(numbered: Iterable[tuple[int, Any]]) -> tuple[Numbered, list[Rejected]]:
    rows, rejected = [], []
    for line, row in numbered:
        if isinstance(row, Mapping):
            rows.append((line, {str(name): value for name, value in row.items()}))
        else:
            rejected.append(Rejected(line, f"a row is an object with columns, not {type(row).__name__}"))
    return rows, rejected


def read_jsonl(path: Path) -> tuple[Numbered, list[Rejected]]:
    """The objects of a JSONL file with their line numbers, and the lines that hold none.

    Blank lines are passed over.
    """
    numbered: list[tuple[int, Any]] = []
    rejected = []
    with path.open("rb") as lines:
        for line, text in enumerate(lines, start=1):
            if text.strip():
                try:
                    numbered.append((line, json.loads(text.decode("utf-8-sig"))))
                except UnicodeDecodeError as error:
                    rejected.append(
                        Rejected(line, f"is not UTF-8 ({error.reason} at byte {error.start + 1})")
                    )
                except (ValueError, RecursionError) as error:
                    rejected.append(Rejected(line, f"broken JSON: {error}"))
    rows, wrong = _split(numbered)
    return rows, [*rejected, *wrong]


def _read_json(path: Path) -> Piece:
    """A JSON array of objects, an Inspect log, or lines of JSON under that name."""
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        rows, rejected = read_jsonl(path)
        if rows:
            return Piece("", rows, rejected)
        raise RolloutsError(f"{str(path)!r} is not a JSON file that can be read: {error}") from None
    if is_inspect_log(content):
        return _inspect(path)
    if isinstance(content, dict) and {"prompt", "completion", "messages"} & set(content):
        content = [content]  # JSON lines, of which there is one
    if not isinstance(content, list):
        raise RolloutsError(
            f"{str(path)!r} holds one JSON {type(content).__name__}; rollouts are an array of objects, or "
            "one a line"
        )
    return Piece("", *_split(enumerate(content, start=1)))


def _inspect(path: Path) -> Piece:
    rows, rejected = read_inspect_log(path)
    return Piece("", rows, [Rejected(at, why) for at, why in rejected], form="Inspect log")


def _read_parquet(path: Path) -> tuple[Numbered, list[Rejected]]:
    try:
        table = pq.ParquetFile(path).read()  # the file alone: no columns out of the names of its folders
    except (pa.ArrowInvalid, OSError) as error:
        raise RolloutsError(f"{str(path)!r} is not a Parquet file that can be read: {error}") from None
    return list(enumerate(table.to_pylist(), start=1)), []


def _read_arrow(path: Path) -> tuple[Numbered, list[Rejected]]:
    """An Arrow file, in the streaming form of `datasets` or in the form with a footer."""
    try:
        with pa.memory_map(str(path)) as file:
            head = file.read(6)
            file.seek(0)
            table = (ipc.open_file if head == b"ARROW1" else ipc.open_stream)(file).read_all()
            rows = table.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise RolloutsError(f"{str(path)!r} is not an Arrow file that can be read: {error}") from None
    return list(enumerate(rows, start=1)), []


def _read_csv(
    path: Path, texts: Collection[str], completions: Collection[str]
) -> tuple[Numbered, list[Rejected]]:
    """Rows of text; columns other than `texts` become numbers where every cell is one."""
    rows: Numbered = []
    rejected = []
    if csv.field_size_limit() < LONGEST_CELL:  # of the process: raised and left, as others may be reading
        csv.field_size_limit(LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            _unique(list(reader.fieldnames or []), repr(str(path)))
            for row in reader:
                if None in row:
                    reason = f"has more cells than the header's {len(reader.fieldnames or [])}"
                    rejected.append(Rejected(reader.line_num, reason))
                elif None in row.values():
                    reason = f"has fewer cells than the header's {len(reader.fieldnames or [])}"
                    rejected.append(Rejected(reader.line_num, reason))
                else:
                    rows.append((reader.line_num, row))
    except (csv.Error, UnicodeDecodeError) as error:
        raise RolloutsError(f"{str(path)!r} is not a CSV file that can be read: {error}") from None
    for name in reader.fieldnames or []:
        cells = [row[name] for _, row in rows]
        numbers = [None if name in texts else cell_number(cell) for cell in cells]
        numeric = all(number is not None or not cell for number, cell in zip(numbers, cells, strict=True))
        for (_, row), number in zip(rows, numbers, strict=True):
            if numeric and name not in texts:
                row[name] = number
            elif row[name] == "" and name not in completions:
                row[name] = None
    return rows, rejected


def cell_number(cell: str | None) -> int | float | None:
    """The number that a cell is as it is written; "007", "nan" and "1_000" are text."""
    if not re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,3})?", cell or "", re.ASCII):
        return None
    number = float(str(cell))
    return int(str(cell)) if str(cell).lstrip("-").isdigit() else number if math.isfinite(number) else None
