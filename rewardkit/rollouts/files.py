"""Read rows from files and folders; reject invalid rows with a reason."""

from __future__ import annotations

import csv
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.csv_rows import CellReaders, cell_readers, csv_rows, read_cells
from rewardkit.rollouts.file_cache import FileCache
from rewardkit.rollouts.folders import log_files, step_in_name
from rewardkit.rollouts.json_rows import has_rows, is_table, json_rows, numbered
from rewardkit.rollouts.lines import read_lines, read_more_lines
from rewardkit.rollouts.logs.areal import read_areal_dump
from rewardkit.rollouts.logs.evaluations import is_inspect_log, read_inspect_log
from rewardkit.rollouts.logs.log import inner, with_columns
from rewardkit.rollouts.paths import resolve
from rewardkit.rollouts.values import Place, SourceRows, check_unique


def read_files(
    source: Any, wanted: Mapping[str, str], cache: FileCache | None = None
) -> list[SourceRows]:
    """Read the rows of a file, of a folder's files in order, or of a table.

    In CSV, cells of text columns are never read as numbers, and an empty cell is
    missing, except in completions, as a model can write nothing. A truth inside
    ``reward_model`` becomes a column.

    Args:
        source: A file, a folder, a DataFrame or dicts.
        wanted: The user's mapping of canonical columns.
        cache: Files that were read before; of these only new content is read.

    Raises:
        RolloutsError: The file does not exist or has an unknown kind, or a folder has
            files of several kinds.
    """
    if isinstance(source, pd.DataFrame):
        check_unique(list(map(str, source.columns)), "the DataFrame")
        columns = {name: source[name].tolist() for name in source.columns}
        parts = [SourceRows.of_columns(columns)]
    elif isinstance(source, str | Path):
        pieces, notes = list_pieces(source)
        parts = [read_piece(piece, wanted, cache) for piece in pieces]
        parts[0] = replace(parts[0], notes=tuple(notes))
    elif isinstance(source, Iterable) and not isinstance(source, Mapping):
        parts = [_numbered(source)]
    else:
        kind = type(source).__name__
        raise RolloutsError(
            f"rollouts are a file, a folder, a DataFrame or a list of dicts, not {kind}"
        )
    return [_finish(part, wanted) for part in parts]


def _finish(part: SourceRows, wanted: Mapping[str, str]) -> SourceRows:
    """Add the truth inside ``reward_model``, and reserve the user's columns."""
    cells = part.columns.get("reward_model", ())
    part = with_columns(
        part, ground_truth=[inner(cell, "ground_truth") for cell in cells]
    )
    return replace(part, reserved=frozenset(wanted.values()))


class LogPiece(NamedTuple):
    """A file of a log, or a contiguous piece of one.

    `name`, `split` and `step` come from the path. `start` and `stop` are bytes of
    JSONL, or rows of Parquet and Arrow; other files are one piece. `line` is the number
    of lines or rows before the piece. A piece that is `only_compared` precedes a part
    and is only compared with its rows; its line numbers are negative.
    """

    path: Path
    name: str = ""
    split: str = ""
    step: int | None = None
    start: int = 0
    stop: int | None = None
    line: int = 0
    only_compared: bool = False

    @property
    def kind(self) -> str:
        """Return the suffix of the file's name in lower case."""
        return self.path.suffix.lower()


def list_pieces(source: str | Path) -> tuple[list[LogPiece], list[str]]:
    """List the files of a source, each as one piece, and notes on files left out.

    RolloutsError: see `read_files`.
    """
    path = resolve(source, "rollouts.jsonl")
    if not path.is_dir():
        return [LogPiece(path, step=step_in_name(path.name))], []
    pieces = []
    files, notes = log_files(path, READERS)
    for file in files:
        step = step_in_name(file.path.relative_to(path).as_posix())
        pieces.append(LogPiece(*file, step))
    return pieces, notes


def read_piece(
    piece: LogPiece, wanted: Mapping[str, str], cache: FileCache | None = None
) -> SourceRows:
    """Read the rows of a piece; the split and step of its path become columns."""
    if piece.kind == BUCKET:
        return _finish(read_bucket(piece.path), wanted)
    rows = SourceRows({}, [Place(0, "is empty")])
    if not piece.name or piece.path.stat().st_size:
        rows = _read_file(piece, wanted, cache)
    return _place(piece, rows, wanted)


def _place(piece: LogPiece, rows: SourceRows, wanted: Mapping[str, str]) -> SourceRows:
    """Add the split, step and file name of a piece to its rows."""
    columns = rows.columns
    places = rows.places
    if piece.split:
        columns = {"split": [piece.split] * len(places), **columns}
    if piece.step is not None and columns.keys().isdisjoint(ALIASES["step"]):
        columns = {"step": [piece.step] * len(places), **columns}
    if piece.name:
        places = [place._replace(file=piece.name) for place in places]
    if piece.only_compared:
        places = [place._replace(line=-place.line) for place in places]
    return _finish(replace(rows, columns=columns, places=places), wanted)


BLOCK_ROWS = 1024
"""Rows of CSV or of a JSON array per block. Our choice."""


def has_blocks(piece: LogPiece) -> bool:
    """Return whether a file that cannot be cut can be read in blocks of rows."""
    return piece.kind == ".csv" or (piece.kind == ".json" and has_rows(piece.path))


def read_blocks(piece: LogPiece, wanted: Mapping[str, str]) -> Iterator[SourceRows]:
    """Yield the rows of a file that `has_blocks`; for errors see `read_files`.

    CSV is read twice, as all cells of a column decide whether they are numbers.
    """
    try:
        if piece.kind == ".json":
            blocks = _blocks_of(json_rows(piece.path))
        else:
            readers: CellReaders = {}
            for rows in _blocks_of(csv_rows(piece.path)):
                readers = cell_readers(rows, wanted, readers)
            texts = _blocks_of(csv_rows(piece.path))
            blocks = (read_cells(rows, wanted, readers) for rows in texts)
        for rows in blocks:
            yield _place(piece, rows, wanted)
    except RolloutsError:
        raise
    except (csv.Error, ValueError, OSError, RecursionError) as error:
        raise cannot_read(piece, error) from None


def _blocks_of(placed: Iterator[tuple[Place, Any]]) -> Iterator[SourceRows]:
    while block := list(islice(placed, BLOCK_ROWS)):
        yield SourceRows.of_rows(block)


BUCKET = ".rows"
"""Suffix of files with rows of scattered groups, written while a log is sorted."""


def add_to_bucket(path: Path, rows: SourceRows) -> None:
    """Append rows to a bucket."""
    with path.open("ab") as file:
        pickle.dump((rows.columns, list(map(tuple, rows.places))), file)


def read_bucket(path: Path) -> SourceRows:
    """Read the rows of a bucket that this run wrote."""
    parts = []
    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            columns, places = pickle.load(file)
            parts.append(SourceRows(columns, [Place(*place) for place in places]))
    return SourceRows.joined(parts)


def _read_file(
    piece: LogPiece, wanted: Mapping[str, str], cache: FileCache | None
) -> SourceRows:
    path, kind = piece.path, piece.kind
    if not path.is_file():
        raise RolloutsError(
            f"there is no file {str(path)!r}; give a JSONL, Parquet or CSV file of "
            "rollouts, or a folder of them"
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
        if piece.stop is not None:
            part = PIECE_READERS[kind](piece)
        elif cache is not None:
            part = _read_cached(piece, cache)
        else:
            part = READERS[kind](path)
    except (pa.ArrowInvalid, csv.Error, UnicodeDecodeError, OSError) as error:
        raise cannot_read(piece, error) from None
    if kind == ".csv":
        return read_cells(part, wanted, cell_readers(part, wanted))
    return part


def _read_cached(piece: LogPiece, cache: FileCache) -> SourceRows:
    """Read a file through the cache; of JSON lines read only new ones."""
    read_file = READERS[piece.kind]
    if read_file is not _read_lines:
        return cache.load(piece.path, read_file)
    lines = cache.load(piece.path, lambda path: read_more_lines(path, cache.last(path)))
    return _unfold_tables(lines.rows)


def cannot_read(piece: LogPiece, error: Exception) -> RolloutsError:
    """Return the error for a file whose content does not match its suffix."""
    return RolloutsError(
        f"{str(piece.path)!r} is not a {piece.kind} file that can be read: {error}"
    )


def piece_bytes(piece: LogPiece) -> bytes:
    """Return the bytes of a piece of JSONL."""
    with piece.path.open("rb") as file:
        file.seek(piece.start)
        return file.read(-1 if piece.stop is None else piece.stop - piece.start)


def _read_line_piece(piece: LogPiece) -> SourceRows:
    return read_lines(BytesIO(piece_bytes(piece)), piece.line)


def _read_lines(path: Path) -> SourceRows:
    with path.open("rb") as file:
        return _unfold_tables(read_lines(file))


def _unfold_tables(rows: SourceRows) -> SourceRows:
    """Return the rows inside tables of trackers, or the rows if there is no table."""
    if not {"columns", "data"} <= rows.columns.keys():
        return rows
    tables = list(filter(is_table, rows.rows()))
    return _numbered(tables) if tables else rows


def _read_json(path: Path) -> SourceRows:
    """Read a JSON array of objects, a tracker's table, an Inspect log or JSON lines."""
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return _read_lines(path)
    if is_inspect_log(content):
        return read_inspect_log(path)
    return _numbered(content if isinstance(content, list) else [content])


def _numbered(rows: Iterable[Any]) -> SourceRows:
    return SourceRows.of_rows(numbered(rows))


def _read_parquet(path: Path) -> SourceRows:
    import pyarrow.parquet as pq  # slow to import

    # read_table would turn names of folders into columns
    return SourceRows.of_columns(pq.ParquetFile(path).read().to_pydict())


def arrow_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet or Arrow file in batches.

    Batches of Parquet ignore row groups, which are often as large as the file. Arrow is
    a file with a footer, or a stream as `datasets` writes it; it is memory-mapped, so
    only rows that are accessed take memory.
    """
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq  # slow to import

        yield from pq.ParquetFile(path).iter_batches(PARQUET_ROWS)
        return
    content = pa.memory_map(str(path))
    has_footer = content.read(6) == b"ARROW1"
    content.seek(0)
    if not has_footer:
        yield from ipc.open_stream(content)
        return
    batches = ipc.open_file(content)
    for number in range(batches.num_record_batches):
        yield batches.get_batch(number)


_OPEN_TABLES: dict[Path, TableRows] = {}
"""The file that this process is reading sequentially."""


class TableRows:
    """The rows of a Parquet or Arrow file, read sequentially."""

    def __init__(self, path: Path) -> None:
        self._batches = arrow_batches(path)
        self._start = self._stop = 0
        self._waiting: list[pa.RecordBatch] = []

    @classmethod
    def at(cls, path: Path, start: int) -> TableRows:
        """Return the open file if it can still be read from this row, or open it."""
        rows = _OPEN_TABLES.get(path)
        if rows is None or rows._start > start:
            _OPEN_TABLES.clear()
            rows = _OPEN_TABLES[path] = cls(path)
        return rows

    def take(self, start: int, stop: int) -> pa.Table:
        """Return the rows of a range; earlier rows may be dropped."""
        while self._stop < stop:
            batch = next(self._batches)
            self._stop += len(batch)
            self._waiting.append(batch)
            while self._waiting and self._start + len(self._waiting[0]) <= start:
                self._start += len(self._waiting.pop(0))
        table = pa.Table.from_batches(self._waiting)
        return table.slice(start - self._start, stop - start)


PARQUET_ROWS = 4096
"""Rows per batch of Parquet. Our choice."""


def _read_row_piece(piece: LogPiece) -> SourceRows:
    assert piece.stop is not None
    table = TableRows.at(piece.path, piece.start).take(piece.start, piece.stop)
    rows = SourceRows.of_columns(table.to_pydict())
    places = [place._replace(line=piece.line + place.line) for place in rows.places]
    return replace(rows, places=places)


def _read_arrow(path: Path) -> SourceRows:
    batches = list(arrow_batches(path))
    if not batches:
        return SourceRows({}, [])
    return SourceRows.of_columns(pa.Table.from_batches(batches).to_pydict())


def _read_csv(path: Path) -> SourceRows:
    return SourceRows.of_rows(csv_rows(path))


READERS: dict[str, Callable[[Path], SourceRows]] = {
    ".jsonl": _read_lines,
    ".ndjson": _read_lines,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".arrow": _read_arrow,
    ".eval": read_inspect_log,
    ".txt": read_areal_dump,
}
"""Suffix -> reader of a file."""

PIECE_READERS: dict[str, Callable[[LogPiece], SourceRows]] = {
    ".jsonl": _read_line_piece,
    ".ndjson": _read_line_piece,
    ".parquet": _read_row_piece,
    ".arrow": _read_row_piece,
}
"""Suffix -> reader of a piece of a file; other files are read whole."""
