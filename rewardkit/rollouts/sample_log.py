"""The log that `sample` writes: whole lines as they come, so that a run that was ended is taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, preview

__all__ = ["appending", "read_log"]

KINDS = (".jsonl", ".ndjson")
NEEDED = ("rollout_id", "prompt_id", "generation", "policy", "prompt", "completion")
BEGINS = b'{"rollout_id": '
"""How each line begins, by which a last line that was broken off is known as one of ours."""


def read_log(path: Path) -> tuple[list[dict[str, Any]], bytes]:
    """The rows of a log, none where there is no file, and the last line where it was broken off.

    RolloutsError: another kind of file, or one that `sample` did not write.
    """
    if path.suffix.lower() not in KINDS:
        raise RolloutsError(f"the log is JSONL: {str(path)!r} should end in {' or '.join(KINDS)}")
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    rows = []
    for number, line in enumerate(lines, start=1):
        row = _row(line)
        if row is not None:
            rows.append(row)
        elif number == len(lines) and line and (line.startswith(BEGINS) or BEGINS.startswith(line)):
            return rows, line
        elif line.strip():
            raise RolloutsError(
                f"{str(path)!r} is no log that sample wrote (line {number} is "
                f"{preview(line.decode('utf-8', 'replace'))}); name another file, or mend that line"
            )
    return rows, b""


@contextmanager
def appending(path: Path, broken: bytes) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """What adds a row to the log: a whole line, which stands in the file when it returns.

    The `broken` last line is cut off first. A file that was not there is made with its first row.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = None

    def append(row: Mapping[str, Any]) -> None:
        nonlocal file
        try:
            line = json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # half a character, which only an escape can hold
            line = json.dumps(row).encode()
        try:
            if file is None:
                file = _opened(path, broken)
            file.write(line + b"\n")
            file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None

    try:
        yield append
    finally:
        if file is not None:
            file.close()


def _opened(path: Path, broken: bytes) -> Any:
    """The log behind its last whole line."""
    file = path.open("ab")
    if broken:
        file.truncate(path.stat().st_size - len(broken))
    elif path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        file.write(b"\n")
    return file


def _row(text: bytes) -> dict[str, Any] | None:
    """The row that a line holds, ``None`` where it holds none of `sample`'s."""
    with suppress(ValueError, RecursionError):
        row = json.loads(text)
        if isinstance(row, dict) and all(name in row for name in NEEDED):
            return row
    return None
