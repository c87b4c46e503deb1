"""The log that `sample` writes: whole lines as they come, so that a run that was ended is taken up again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, preview

__all__ = ["append", "mend", "read_log"]

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


def mend(path: Path, broken: bytes) -> None:
    """Make the log one that rows can be added to: without its `broken` last line, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_bytes().removesuffix(broken) if path.exists() else b""
    if broken:
        os.truncate(path, len(text))
    elif text and not text.endswith(b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Add a row: a whole line, which stands in the file when this returns."""
    try:
        line = json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a character, which only an escape can hold
        line = json.dumps(row).encode()
    try:
        with path.open("ab") as file:
            file.write(line + b"\n")
    except OSError as error:  # a full disk names no file
        raise OSError(error.errno, error.strerror, str(path)) from None


def _row(text: bytes) -> dict[str, Any] | None:
    """The row that a line holds, ``None`` where it holds none of `sample`'s."""
    with suppress(ValueError, RecursionError):
        row = json.loads(text)
        if isinstance(row, dict) and all(name in row for name in NEEDED):
            return row
    return None
