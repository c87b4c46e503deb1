"""Cut a log that is too large for memory into parts of whole groups.

If siblings are contiguous, a part is a contiguous piece of the log that ends with a
group, and only a few rows are read to find its end. If groups are scattered, the rows
are first written to buckets on the disk, each group into one bucket.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.errors import RolloutsError, preview
from rewardkit.rollouts.files import (
    BUCKET,
    LogPiece,
    add_to_bucket,
    has_blocks,
    list_pieces,
    read_blocks,
    read_piece,
)
from rewardkit.rollouts.json_rows import is_table
from rewardkit.rollouts.large_file import LargeFile, count_lines, counts_rows
from rewardkit.rollouts.load import LoadedRows, Reading
from rewardkit.rollouts.logs import mark_logs
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import Place, SourceRows

HEAD_BYTES = 2_000_000
"""Bytes of a log whose rows decide the layout. Our choice."""

ROWS_OF_OTHERS = 4
"""Rows of each further file that help to decide the layout. Our choice."""

FIRST_WINDOW = 16
"""Rows that are first searched for the end of a group. Our choice."""

Part = tuple[LogPiece, ...]


class ScatteredGroups(Exception):
    """Rows of a group are far apart, so the log cannot be cut between groups."""


@dataclass(frozen=True)
class LargeLog:
    """A log that is read part by part.

    `first` are the rows that decided the layout: the first rows, and some of each file.
    A part has about `part_bytes`, a group at most `most_bytes`.
    """

    reading: Reading
    first: Rollouts
    files: tuple[LargeFile, ...]
    part_bytes: int
    most_bytes: int

    @property
    def size(self) -> float:
        """Return the size of the log in bytes."""
        return sum(file.bytes for file in self.files)

    @property
    def looks_back(self) -> bool:
        """Return whether parts end with steps, each compared with the previous step."""
        layout = self.reading.layout
        return layout is not None and layout.form.looks_back


def load_part(reading: Reading, part: Sequence[LogPiece]) -> LoadedRows:
    """Read the rows of a part, without pieces that are `only_compared`."""
    loaded = reading.load([read_piece(piece, reading.columns) for piece in part])
    if not any(piece.only_compared for piece in part):
        return loaded
    is_in_part = [place.line > 0 for place in loaded.places]
    places = list(compress(loaded.places, is_in_part))
    rollouts = replace(
        loaded.rollouts,
        table=loaded.rollouts.table[is_in_part].reset_index(drop=True),
        rejected=tuple(place for place in loaded.rollouts.rejected if place.line > 0),
    )
    return replace(loaded, rollouts=rollouts, places=places)


def open_large(
    source: Any, *, part_bytes: int, most_bytes: int, **options: Any
) -> LargeLog | None:
    """Open a log of more than one part, or return None for a smaller one.

    Args:
        source: A source of `load_rollouts`.
        part_bytes: Approximate bytes of a part.
        most_bytes: Most bytes of a group.
        **options: Options of `load_rollouts`.

    Raises:
        RolloutsError: See `load_rollouts`; only the first rows of files are read.
    """
    if not isinstance(source, str | Path):
        return None
    pieces, notes = list_pieces(source)
    if not all(piece.path.is_file() for piece in pieces):
        return None  # load_rollouts reports a missing file
    all_files = list(map(LargeFile.of, pieces))
    if sum(file.bytes for file in all_files) <= part_bytes:
        return None
    reading = Reading.of(source, **options)
    files = []
    heads = []
    bytes_left: float = min(HEAD_BYTES, part_bytes)
    for file in all_files:
        stop = file.row_places(0, ROWS_OF_OTHERS)[-1]
        if bytes_left > 0:
            stop = max(stop, file.row_end(0, bytes_left))
        if file.bytes > most_bytes and has_blocks(file.piece):
            file = file._replace(has_blocks=True)
            head = next(read_blocks(file.piece, reading.columns))
        else:
            head = read_piece(file.stretch(0, stop), reading.columns)
        if file.can_be_cut and not counts_rows(file.piece):
            file = file._replace(can_be_cut=not any(map(is_table, head.rows()[:1])))
        if bytes_left <= 0 and not file.can_be_cut:
            head = head.keep([row < ROWS_OF_OTHERS for row in range(len(head.places))])
        bytes_left -= file.bytes
        files.append(file)
        heads.append(head)
    are_logs, _ = mark_logs(heads)
    heads[0] = replace(heads[0], notes=tuple(notes))
    loaded = reading.load(heads)
    reading = replace(reading, layout=loaded.layout)
    log_files = tuple(compress(files, are_logs))
    return LargeLog(reading, loaded.rollouts, log_files, part_bytes, most_bytes)


def cut_parts(log: LargeLog) -> Iterator[Part]:
    """Yield the parts of a log, each of which ends with a group.

    Raises:
        RolloutsError: A group has more than `most_bytes`.
        ScatteredGroups: No group ends within `most_bytes`.
    """
    part: list[LogPiece] = []
    room = float(log.part_bytes)
    for file in log.files:
        start = line = 0
        if not file.size:
            part.append(file.piece)
        while start < file.size:
            stop = file.row_end(start, room)
            if stop < file.size or (part and room <= 0):
                before = _last_row(file, start, stop, part)
                stop = _group_end(log, file, stop, before)
            if stop > start:
                piece = file.stretch(start, stop, line)
                line += count_lines(piece)
                part.append(piece)
                room -= (stop - start) * file.row_bytes
                start = stop
            if start < file.size:
                yield tuple(part)
                part = [_steps_before(log, part)] if log.looks_back else []
                room = float(log.part_bytes)
    if part:
        yield tuple(part)


def _last_row(
    file: LargeFile, start: int, stop: int, part: Sequence[LogPiece]
) -> LogPiece:
    """Return the row before a position, of this file or of the last piece."""
    if stop > start or not part:
        return file.stretch(file.row_before(stop), stop, -1)
    last = part[-1]
    if last.stop is None:
        return last
    last_file = LargeFile.of(last)
    return last._replace(start=last_file.row_before(last.stop), line=-1)


def _steps_before(log: LargeLog, part: Sequence[LogPiece]) -> LogPiece:
    """Return the end of a part with at least its last step, as `only_compared`."""
    last = part[-1]
    file = LargeFile.of(last)
    start = last.start
    stop = file.size if last.stop is None else last.stop
    rows = FIRST_WINDOW
    while file.can_be_cut:
        place = stop
        for _ in range(rows):
            if place <= start:
                break
            place = max(start, file.row_before(place))
        piece = last._replace(start=place, stop=stop)
        steps = load_part(log.reading, [piece]).rollouts.codes(["step"])
        if place <= start or steps.max(initial=0) > 0:
            return piece._replace(only_compared=True)
        rows *= 4
    return last._replace(only_compared=True)


def _group_end(log: LargeLog, file: LargeFile, place: int, before: LogPiece) -> int:
    """Return the first position from `place` on at which a group ends.

    `before` is the row before `place`. The end of the file counts as an end.
    """
    rows = FIRST_WINDOW
    while True:
        places = file.row_places(place, rows)
        window = file.stretch(place, places[-1])
        loaded = load_part(log.reading, [before, window])
        order = np.zeros(len(loaded.places), dtype=np.intp)  # 0 is the row before
        for row, row_place in enumerate(loaded.places):
            if row_place.file == file.piece.name:
                order[row] = row_place.line if file.can_be_cut else 1
        groups = loaded.rollouts.groups
        if log.looks_back:
            groups = loaded.rollouts.codes(["step"])
        end = _first_end(order, groups)
        if end is not None:
            return places[end - 1]
        if places[-1] >= file.size:
            return file.size
        if (places[-1] - place) * file.row_bytes > log.most_bytes:
            widths = np.diff(places, prepend=places[0]) * file.row_bytes
            widths /= np.bincount(order, minlength=len(widths)).clip(1)
            _check_groups(log, loaded.rollouts, groups, widths[order])
            raise ScatteredGroups
        rows *= 4


def _check_groups(
    log: LargeLog,
    rollouts: Rollouts,
    groups: NDArray[np.intp],
    row_bytes: NDArray[Any],
) -> None:
    """Raise a RolloutsError if a group has more than `most_bytes`."""
    sizes = np.bincount(groups, weights=row_bytes)
    largest = sizes.argmax()
    if sizes[largest] <= log.most_bytes:
        return
    rows = np.flatnonzero((groups == largest) & (row_bytes > 0))
    row = rollouts[int(rows[0])]
    key = ", ".join(f"{name} {preview(row[name])}" for name in log.first.group_key)
    raise RolloutsError(
        f"the group of {key} has {len(rows):,} rows or more, "
        f"{sizes[largest] / 1e6:,.2f} MB, and the memory allows "
        f"{log.most_bytes / 1e6:,.2f} MB for one: give more memory (memory=...), or "
        "other columns that make groups (group=...)"
    )


def _first_end(order: NDArray[np.intp], groups: NDArray[np.intp]) -> int | None:
    """Return the first position in an order before which all groups end, or None.

    >>> _first_end(np.array([0, 1, 2, 3]), np.array([5, 5, 6, 6]))
    2
    """
    if not len(order):
        return None
    last_places = pd.Series(order).groupby(groups).transform("max")
    open_until = np.zeros(order.max() + 1, dtype=np.intp)
    np.maximum.at(open_until, order, last_places)
    places = np.arange(order.max())
    ends = np.flatnonzero(np.maximum.accumulate(open_until)[:-1] == places)
    return int(ends[0]) + 1 if len(ends) else None


def write_buckets(log: LargeLog, folder: Path) -> list[Part]:
    """Write the rows of a log to buckets in a folder, each group into one bucket.

    Returns:
        A part for each bucket.

    Raises:
        RolloutsError: A group has more than `most_bytes`.
        OSError: The disk is full.
    """
    count = math.ceil(log.size / log.part_bytes)
    paths = [folder / f"{number:06}{BUCKET}" for number in range(count)]
    for rows in _blocks(log):
        loaded = log.reading.load([rows])
        hashes = loaded.rollouts.group_hashes
        bucket_of: dict[Place, int] = {}
        for place, group in zip(loaded.places, loaded.rollouts.groups, strict=True):
            bucket_of.setdefault(place, int(hashes[group]) % count)
        buckets = [bucket_of.get(place, place.line % count) for place in rows.places]
        for number in sorted(set(buckets)):
            bucket_rows = rows.keep([bucket == number for bucket in buckets])
            try:
                add_to_bucket(paths[number], bucket_rows)
            except OSError as error:  # it names no file
                error.filename = str(paths[number])
                raise
    parts: list[Part] = []
    for path in paths:
        if not path.exists():
            continue
        size = path.stat().st_size
        if size > max(log.most_bytes, 4 * log.part_bytes):
            _check_bucket(log, LogPiece(path))
        parts.append((LogPiece(path),))
    return parts


def _check_bucket(log: LargeLog, bucket: LogPiece) -> None:
    """Raise a RolloutsError if a group of a bucket is too large."""
    rows = read_piece(bucket, log.reading.columns)
    cells = zip(*rows.columns.values(), strict=True)
    sizes = {}
    for place, row in zip(rows.places, cells, strict=True):
        sizes[place] = len(pickle.dumps(row))
    loaded = log.reading.load([rows])
    row_bytes = np.array([sizes.get(place, 0) for place in loaded.places], dtype=float)
    _check_groups(log, loaded.rollouts, loaded.rollouts.groups, row_bytes)


def _blocks(log: LargeLog) -> Iterator[SourceRows]:
    """Yield the rows of a log in blocks, regardless of groups."""
    for file in log.files:
        if file.has_blocks:
            yield from read_blocks(file.piece, log.reading.columns)
            continue
        start = line = 0
        while start < file.size:
            stop = file.row_end(start, max(log.part_bytes, file.row_bytes))
            piece = file.stretch(start, stop, line)
            line += count_lines(piece)
            start = stop
            yield read_piece(piece, log.reading.columns)
