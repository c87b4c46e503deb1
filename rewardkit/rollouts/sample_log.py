"""The log that `sample` writes: whole lines as they come, so that a run that was ended is taken up again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, preview

try:
    import fcntl
except ImportError:  # Windows has no such locks: two runs at once are not noticed there
    fcntl = None  # type: ignore[assignment]

__all__ = ["SampleLog", "open_log"]

KINDS = (".jsonl", ".ndjson")
NEEDED = ("rollout_id", "prompt_id", "generation", "policy", "prompt", "completion")
BEGINS = b'{"rollout_id": '
"""How each line begins that `append` writes, by which a line that was broken off is known as one of ours."""


@dataclass(eq=False)
class SampleLog:
    """A log that is open and locked: `rows` were there; `tail` are the bytes behind its last line's end."""

    path: Path
    handle: int
    rows: list[dict[str, Any]]
    tail: bytes = b""
    added: int = 0

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row, a whole line that stands in the file when this returns."""
        try:
            line = json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # half a character, which only an escape can hold
            line = json.dumps(row).encode()
        self._write(line + b"\n")
        self.added += 1

    def mend(self) -> str | None:
        """End the last line, or cut it off where it was broken off; the sentence that says so, if any."""
        if not self.tail:
            return None
        tail, self.tail = self.tail, b""
        if _row(tail) is not None:
            self._write(b"\n")
            return None
        os.ftruncate(self.handle, os.fstat(self.handle).st_size - len(tail))
        return f"the last line of {str(self.path)!r} was broken off and is cut off ({len(tail)} bytes)"

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self.handle, line) :]
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None


@contextmanager
def open_log(path: Path) -> Iterator[SampleLog]:
    """The log at `path`, made where missing (and removed again if nothing was written), one run at a time.

    RolloutsError: another kind of file, one that `sample` did not write, one that another run has open.
    Nothing is changed in the file before `mend` or `append`.
    """
    if path.suffix.lower() not in KINDS:
        raise RolloutsError(f"the log is JSONL: {str(path)!r} should end in {' or '.join(KINDS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    try:
        _lock(handle, path)
        try:
            yield SampleLog(path, handle, *_read(path))
        finally:
            if os.fstat(handle).st_size == 0:
                with suppress(PermissionError):  # Windows removes no open file
                    path.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    """Let no other run have the file, as both would sample the same; the system unlocks it however we end."""
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = os.path.exists(path) and os.path.samestat(os.fstat(handle), os.stat(path))
    except BlockingIOError:
        ours = False
    except OSError:  # a file system without locks
        ours = True
    if not ours:
        raise RolloutsError(f"another run is writing {str(path)!r}; wait for it, or name another log")


def _read(path: Path) -> tuple[list[dict[str, Any]], bytes]:
    """The rows of a log and the bytes behind its last line's end; RolloutsError where it is no such log."""
    head, _, tail = path.read_bytes().rpartition(b"\n")
    rows = []
    for line, text in enumerate(head.split(b"\n"), start=1):
        if text.strip():
            row = _row(text)
            if row is None:
                raise _not_ours(path, f"line {line} is {preview(text.decode('utf-8', 'replace'))}")
            rows.append(row)
    if tail:
        row = _row(tail)
        if row is not None:
            rows.append(row)
        elif not (tail.startswith(BEGINS) or BEGINS.startswith(tail)):
            raise _not_ours(path, f"its last line is {preview(tail.decode('utf-8', 'replace'))}")
    return rows, tail


def _row(text: bytes) -> dict[str, Any] | None:
    """The row that a line holds, ``None`` where it holds none of `sample`'s."""
    with suppress(ValueError, RecursionError):
        row = json.loads(text)
        if isinstance(row, dict) and all(name in row for name in NEEDED):
            return row
    return None


def _not_ours(path: Path, what: str) -> RolloutsError:
    return RolloutsError(
        f"{str(path)!r} is no log that sample wrote ({what}); name another file, or mend that line"
    )
