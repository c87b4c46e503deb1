"""Read JSON lines, and new lines of a file that grows."""

from __future__ import annotations

import gc
import json
import secrets
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

from rewardkit.rollouts.values import Place, SourceRows


def json_lines(path: Path) -> Iterator[tuple[Place, Any]]:
    """Yield the value on each line that is not blank, or a ValueError."""
    with path.open("rb") as lines:
        yield from _rows_on(lines, 1)


def _rows_on(lines: Iterable[bytes], number: int) -> Iterator[tuple[Place, Any]]:
    """Yield the value on each line, numbered from `number`, or a ValueError."""
    for line, text in enumerate(lines, start=number):
        if not text.strip():
            continue
        try:
            row = json.loads(text.rstrip(b"\r\n").removeprefix(BOM_UTF8).decode())
        except UnicodeDecodeError as error:
            place = f"{error.reason} at byte {error.start + 1}"
            row = ValueError(f"is not UTF-8 ({place})")
        except (ValueError, RecursionError) as error:
            row = ValueError(f"broken JSON: {error}")
        yield Place(line), row


LINES_BLOCK = 1_000_000
"""Bytes of lines per block. Our choice."""


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector, as parsed JSON has no reference cycles.

    It would visit all objects each time their number has grown by a quarter.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


@_no_collection()
def read_lines(file: BinaryIO, before: int = 0) -> SourceRows:
    """Read the rows of JSON lines; `before` is the number of earlier lines."""
    parts = []
    while lines := file.readlines(LINES_BLOCK):
        rows: Iterable[tuple[Place, Any]] = _rows_on(lines, before + 1)
        values = _values_on(lines)
        if values is not None:
            rows = zip(map(Place, count(before + 1)), values, strict=False)
        parts.append(SourceRows.of_rows(rows))
        before += len(lines)
    return SourceRows.joined(parts)


BETWEEN_LINES = secrets.token_hex(16)
"""A random separator between lines that are parsed together."""


def _values_on(lines: Sequence[bytes]) -> list[Any] | None:
    """Parse lines together, in half the time of parsing one by one.

    Return None if a line does not hold exactly one value.
    """
    try:
        text = f',"{BETWEEN_LINES}",'.encode().join(lines).decode()
        values = json.loads(f"[{text}]")
    except (ValueError, RecursionError):
        return None
    if len(values) != 2 * len(lines) - 1:
        return None
    if values[1::2].count(BETWEEN_LINES) != len(lines) - 1:
        return None
    return list(values[::2])


@dataclass(frozen=True)
class LinesRead:
    """The rows of a file of JSON lines: of complete lines, and of a last partial one.

    `size`, `count` and `checksum` are the bytes, the number and the checksum of the
    complete lines.
    """

    whole_lines: SourceRows
    half_line: SourceRows
    size: int
    count: int
    checksum: int

    @property
    def rows(self) -> SourceRows:
        """Return all rows."""
        return SourceRows.joined([self.whole_lines, self.half_line])


NO_LINES = LinesRead(SourceRows({}, []), SourceRows({}, []), 0, 0, crc32(b""))


def read_more_lines(path: Path, before: LinesRead | None) -> LinesRead:
    """Read the lines added since `before`, or all lines if earlier ones changed."""
    content = path.read_bytes()
    if before is None or crc32(content[: before.size]) != before.checksum:
        before = NO_LINES
    size = content.rfind(b"\n") + 1
    new_rows = read_lines(BytesIO(content[before.size : size]), before.count)
    whole_lines = SourceRows.joined([before.whole_lines, new_rows])
    line_count = content.count(b"\n")
    half_line = read_lines(BytesIO(content[size:]), line_count)
    return LinesRead(whole_lines, half_line, size, line_count, crc32(content[:size]))
