"""Rows out of files and folders; what is no row is kept out, with the reason."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import TEXTS, known_names
from rewardkit.rollouts.logs.inspect import is_inspect_log, read_inspect_log
from rewardkit.rollouts.package_data import resolve
from rewardkit.rollouts.source import Columns, Place, Source

LONGEST_CELL = 2**31 - 1
"""Characters of a cell in CSV: the most that every system takes."""

SUBFOLDERS = ("completions", "data")
"""Where files lie in TRL's output folder, and in the repository of a data set."""


def read_files(source: Any, wanted: Mapping[str, str]) -> list[Source]:
    """Read the rows of a file, of a folder's files in order, or of a table.

    `wanted` names canonical columns otherwise. In CSV, cells of columns of text are
    never read as numbers, and an empty cell is a missing value, but for completions: a
    model can say nothing. A truth inside ``reward_model`` becomes a column.
    RolloutsError: no such file, another kind of file, a folder with files of several
    kinds.
    """
    if isinstance(source, pd.DataFrame):
        _check_unique([str(name) for name in source.columns], "the DataFrame")
        parts = [
            Source.of_columns({name: source[name].tolist() for name in source.columns})
        ]
    elif isinstance(source, str | Path):
        path = resolve(source, "rollouts.jsonl")
        parts = (
            _read_folder(path, wanted) if path.is_dir() else [_read_file(path, wanted)]
        )
    elif isinstance(source, Iterable) and not isinstance(source, Mapping):
        parts = [_numbered(source)]
    else:
        kind = type(source).__name__
        raise RolloutsError(
            f"rollouts are a file, a folder, a DataFrame or a list of dicts, not {kind}"
        )
    return [replace(part, columns=_with_truth(part.columns)) for part in parts]


def _with_truth(columns: Columns) -> Columns:
    """Add the ``ground_truth`` that verl and siiRL keep inside ``reward_model``."""
    models = [
        cell if isinstance(cell, Mapping) else {}
        for cell in columns.get("reward_model", ())
    ]
    truths = [model.get("ground_truth") for model in models]
    if "ground_truth" in columns or not any(truth is not None for truth in truths):
        return columns
    return {"ground_truth": truths, **columns}


def _read_folder(folder: Path, wanted: Mapping[str, str]) -> list[Source]:
    """Read the rows of each file, with a column for the split of a saved data set."""
    saved = folder / "dataset_dict.json"
    parts = []
    for split in json.loads(saved.read_bytes())["splits"] if saved.is_file() else [""]:
        for path in _files_of_one_kind(folder / split):
            empty = not path.stat().st_size
            part = (
                Source({}, [Place(0, "is empty")])
                if empty
                else _read_file(path, wanted)
            )
            name = f"{split}/{path.name}" if split else path.name
            places = [replace(place, file=name) for place in part.places]
            own = {"split": [split] * len(places)} if split else {}
            parts.append(replace(part, columns={**own, **part.columns}, places=places))
    return parts


def _files_of_one_kind(folder: Path) -> list[Path]:
    """List the rollout files of a folder, 2.jsonl before 10.jsonl.

    JSON beside other kinds is what they tell of themselves. RolloutsError: none, or
    several kinds.
    """
    for place in [folder, *(folder / name for name in SUBFOLDERS)]:
        found = [
            path
            for path in (place.iterdir() if place.is_dir() else ())
            if path.is_file()
            and path.suffix.lower() in READERS
            and not path.name.startswith((".", "cache-"))
        ]
        found = [path for path in found if path.suffix.lower() != ".json"] or found
        kinds = Counter(path.suffix.lower() for path in found)
        if len(kinds) > 1:
            counted = ", ".join(
                f"{count} {kind}" for kind, count in sorted(kinds.items())
            )
            raise RolloutsError(
                f"the folder {str(place)!r} holds files of several kinds ({counted}); "
                "give one of them, or a "
                "folder with one kind"
            )
        if found:
            return sorted(found, key=_in_order)
    raise RolloutsError(
        f"there is no file of rollouts in the folder {str(folder)!r}; they are read "
        f"from {', '.join(READERS)}"
    )


def _in_order(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that puts 2.jsonl before 10.jsonl."""
    return [
        (int(number or -1), text)
        for number, text in re.findall(r"([0-9]+)|([^0-9]+)", path.name)
    ]


def _check_unique(names: list[str], where: str) -> None:
    """RolloutsError where two columns have one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RolloutsError(
            f"{where} has two columns of one name: {twice}; rename one of each"
        )


def _read_file(path: Path, wanted: Mapping[str, str]) -> Source:
    kind = path.suffix.lower()
    if not path.is_file():
        raise RolloutsError(
            f"there is no file {str(path)!r}; give a JSONL, Parquet or CSV file of "
            "rollouts, or a folder of "
            "them"
        )
    if kind not in READERS:
        raise RolloutsError(
            f"{str(path)!r} ends in {kind!r}; rollouts are read from "
            f"{', '.join(READERS)}"
        )
    if not path.stat().st_size:
        raise RolloutsError(
            f"{str(path)!r} is empty; a rollout file has one completion a row"
        )
    try:
        return READERS[kind](path, wanted)
    except (pa.ArrowInvalid, csv.Error, UnicodeDecodeError, OSError) as error:
        raise RolloutsError(
            f"{str(path)!r} is not a {kind} file that can be read: {error}"
        ) from None


def json_lines(path: Path) -> Iterator[tuple[Place, Any]]:
    """Yield the value on each line that is not blank, a ValueError where none is."""
    with path.open("rb") as lines:
        for line, text in enumerate(lines, start=1):
            if text.strip():
                try:
                    yield Place(line), json.loads(text.decode("utf-8-sig"))
                except UnicodeDecodeError as error:
                    yield (
                        Place(line),
                        ValueError(
                            f"is not UTF-8 ({error.reason} at byte {error.start + 1})"
                        ),
                    )
                except (ValueError, RecursionError) as error:
                    yield Place(line), ValueError(f"broken JSON: {error}")


def _read_lines(path: Path, wanted: Mapping[str, str]) -> Source:
    return Source.of_rows(json_lines(path))


def _read_json(path: Path, wanted: Mapping[str, str]) -> Source:
    """Read a JSON array of objects, a log of Inspect, or lines of JSON."""
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        content = None
    if is_inspect_log(content):
        return read_inspect_log(path)
    return (
        _numbered(content) if isinstance(content, list) else _read_lines(path, wanted)
    )


def _numbered(rows: Iterable[Any]) -> Source:
    return Source.of_rows((Place(at), row) for at, row in enumerate(rows, start=1))


def _read_parquet(path: Path, wanted: Mapping[str, str]) -> Source:
    return Source.of_columns(
        pq.ParquetFile(path).read().to_pydict()
    )  # no columns out of names of folders


def _read_arrow(path: Path, wanted: Mapping[str, str]) -> Source:
    """Arrow with a footer, or the stream that `datasets` writes."""
    data = path.read_bytes()
    opened = (ipc.open_file if data.startswith(b"ARROW1") else ipc.open_stream)(
        pa.py_buffer(data)
    )
    return Source.of_columns(opened.read_all().to_pydict())


def _read_csv(path: Path, wanted: Mapping[str, str]) -> Source:
    """Read rows of text; a column becomes numbers where every cell is one."""
    if (
        csv.field_size_limit() < LONGEST_CELL
    ):  # of the process: raised and left, as others may be reading
        csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        names = next(reader, [])
        _check_unique(names, repr(str(path)))
        read = Source.of_rows(
            (Place(reader.line_num), _csv_row(names, cells))
            for cells in reader
            if cells
        )
    texts = {known for canonical in TEXTS for known in known_names(canonical, wanted)}
    completions = known_names("completion", wanted)
    for name, cells in read.columns.items():
        numbers = [cell_number(cell) for cell in cells]
        empty = sum(not cell for cell in cells)
        if name not in texts and numbers.count(None) == empty:
            read.columns[name] = numbers
        elif name not in completions:
            read.columns[name] = [cell or None for cell in cells]
    return read


def _csv_row(names: list[str], cells: list[str]) -> dict[str, str] | ValueError:
    if len(cells) != len(names):
        return ValueError(f"has {len(cells)} cells, and the header {len(names)}")
    return dict(zip(names, cells, strict=True))


def cell_number(cell: str | None) -> int | float | None:
    """Return the number that a cell is; "007", "nan" and "1_000" are text."""
    if not re.fullmatch(
        r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,3})?", cell or "", re.ASCII
    ):
        return None
    number = float(str(cell))
    return (
        int(str(cell))
        if str(cell).lstrip("-").isdigit()
        else number
        if math.isfinite(number)
        else None
    )


READERS: dict[str, Callable[[Path, Mapping[str, str]], Source]] = {
    ".jsonl": _read_lines,
    ".ndjson": _read_lines,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".arrow": _read_arrow,
    ".eval": lambda path, wanted: read_inspect_log(path),
}
"""What reads a file, by the end of its name."""
