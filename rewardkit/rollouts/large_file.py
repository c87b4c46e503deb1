"""LargeFile: a file of a large log with its size, row boundaries and pieces."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.rollouts.files import PIECE_READERS, LogPiece, arrow_batches, cannot_read

TAIL_BLOCK = 65_536
"""Bytes per block when searching ends of lines."""


class LargeFile(NamedTuple):
    """A file of a large log.

    Positions in a file, and its `size`, are bytes, or rows for Parquet and Arrow.
    `row_bytes` are the bytes per position: 1, or the mean size of a row. A file that
    `has_blocks` cannot be cut and does not fit into memory: it is read in blocks.
    """

    piece: LogPiece
    size: int
    row_bytes: float
    can_be_cut: bool
    has_blocks: bool = False

    @classmethod
    def of(cls, piece: LogPiece) -> LargeFile:
        """Return the large file of a piece; RolloutsError: it cannot be read."""
        path = piece.path
        if not counts_rows(piece):
            return cls(piece, path.stat().st_size, 1.0, piece.kind in PIECE_READERS)
        try:
            rows, content = _size_of_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise cannot_read(piece, error) from None
        return cls(piece, rows, max(1.0, content / max(1, rows)), True)

    @property
    def bytes(self) -> float:
        """Return the size of the file in bytes."""
        return self.size * self.row_bytes

    def stretch(self, start: int, stop: int, line: int = 0) -> LogPiece:
        """Return a piece of the file with `line` lines or rows before it."""
        if not self.can_be_cut:
            return self.piece
        return self.piece._replace(start=start, stop=stop, line=line)

    def row_end(self, start: int, size: float) -> int:
        """Return the first row boundary at least `size` bytes after a start.

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
        """Return the start of the row that ends at this position."""
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
        """Return the starts of the next `rows` rows, and the end of the last."""
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
    """Return the rows and the uncompressed bytes of a Parquet or Arrow file."""
    if path.suffix.lower() == ".arrow":
        return sum(map(len, arrow_batches(path))), path.stat().st_size
    metadata = pq.read_metadata(path)
    size = 0
    for place in range(metadata.num_row_groups):
        size += metadata.row_group(place).total_byte_size
    return metadata.num_rows, size


def counts_rows(piece: LogPiece) -> bool:
    """Return whether positions in the file are rows, not bytes."""
    return piece.kind in (".parquet", ".arrow")


def count_lines(piece: LogPiece) -> int:
    """Return the number of lines or rows of a piece, 0 for a whole file."""
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
