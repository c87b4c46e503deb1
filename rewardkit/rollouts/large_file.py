"""A file of a large log: its size, where its rows begin, and pieces of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.rollouts.files import STRETCHES, LogPiece, arrow_batches, cannot_read

TAIL_BLOCK = 65_536
"""Bytes that are read at a time where ends of lines are looked for."""


class LargeFile(NamedTuple):
    """A file of a large log.

    `size` is its last byte or row, as pieces count; a row has `row_bytes` bytes, 1
    where bytes are counted. One that `has_blocks` cannot be cut, and its rows are read
    some at a time, as memory does not hold it.
    """

    piece: LogPiece
    size: int
    row_bytes: float
    can_be_cut: bool
    has_blocks: bool = False

    @classmethod
    def of(cls, piece: LogPiece) -> LargeFile:
        """Return a file with its size; RolloutsError: it cannot be read."""
        path = piece.path
        if not counts_rows(piece):
            return cls(piece, path.stat().st_size, 1.0, piece.kind in STRETCHES)
        try:
            rows, content = _size_of_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise cannot_read(piece, error) from None
        return cls(piece, rows, max(1.0, content / max(1, rows)), True)

    @property
    def bytes(self) -> float:
        """Return how many bytes the file has."""
        return self.size * self.row_bytes

    def stretch(self, start: int, stop: int, line: int = 0) -> LogPiece:
        """Return a piece of the file, `line` lines or rows from its beginning."""
        if not self.can_be_cut:
            return self.piece
        return self.piece._replace(start=start, stop=stop, line=line)

    def row_end(self, start: int, size: float) -> int:
        """Return where a row begins or the file ends, `size` bytes from a start on.

        >>> from pathlib import Path
        >>> parquet = LargeFile(LogPiece(Path("a.parquet")), 10, 100.0, True)
        >>> parquet.row_end(3, 400.0), parquet.row_end(3, 900.0)
        (7, 10)
        """
        place = start + max(0, int(size / self.row_bytes))
        if place >= self.size or not self.can_be_cut:
            return self.size
        if counts_rows(self.piece) or not place:
            return place
        with self.piece.path.open("rb") as lines:
            lines.seek(place - 1)
            lines.readline()
            return lines.tell()

    def row_before(self, place: int) -> int:
        """Return where the row begins that ends at this place."""
        if counts_rows(self.piece):
            return place - 1
        start = place
        text = b""
        with self.piece.path.open("rb") as lines:
            while start and b"\n" not in text[:-1].rstrip():
                start = max(0, start - TAIL_BLOCK)
                lines.seek(start)
                text = lines.read(place - start)
        return start + text.rstrip().rfind(b"\n") + 1

    def row_places(self, start: int, rows: int) -> list[int]:
        """Return where each of the next `rows` rows begins, and where the last ends."""
        if not self.can_be_cut:
            return [start, self.size]
        if counts_rows(self.piece):
            return list(range(start, min(start + rows, self.size) + 1))
        places = [start]
        with self.piece.path.open("rb") as lines:
            lines.seek(start)
            while len(places) <= rows and lines.readline():
                places.append(lines.tell())
        return places


def _size_of_table(path: Path) -> tuple[int, int]:
    """Return how many rows a file of Parquet or Arrow has, and bytes uncompressed."""
    if path.suffix.lower() == ".arrow":
        return sum(map(len, arrow_batches(path))), path.stat().st_size
    described = pq.read_metadata(path)
    content = 0
    for place in range(described.num_row_groups):
        content += described.row_group(place).total_byte_size
    return described.num_rows, content


def counts_rows(piece: LogPiece) -> bool:
    """Return whether places in the file are rows, not bytes."""
    return piece.kind in (".parquet", ".arrow")


def count_lines(piece: LogPiece) -> int:
    """Return how many lines or rows a piece has; 0 of a whole file."""
    if piece.stop is None:
        return 0
    if counts_rows(piece):
        return piece.stop - piece.start
    count = 0
    with piece.path.open("rb") as file:
        file.seek(piece.start)
        bytes_left = piece.stop - piece.start
        while bytes_left:
            block = file.read(min(bytes_left, 16 * TAIL_BLOCK))
            count += block.count(b"\n")
            bytes_left -= len(block)
    return count
