"""The log that `sample` writes: whole lines, so that an ended run is taken up again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, preview

NEEDED = ("rollout_id", "prompt_id", "generation", "policy", "prompt", "completion")
BEGINS = b'{"rollout_id": '
"""How each line begins, by which a broken last line is known as ours."""


def read_log(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of a log, and the bytes of a last line that was broken off.

    RolloutsError: another kind of file, or one that `sample` did not write.
    """
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise RolloutsError(
            f"the log is JSONL: {str(path)!r} should end in .jsonl or .ndjson"
        )
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            {name: row[name] for name in NEEDED}
            rows.append(row)
        except (ValueError, LookupError, TypeError, RecursionError):
            if number == len(lines) and BEGINS.startswith(line[: len(BEGINS)]):
                return rows, len(line)
            if line.strip():
                raise RolloutsError(
                    f"{str(path)!r} is no log that sample wrote (line {number} is "
                    f"{preview(line.decode('utf-8', 'replace'))}); name another file, "
                    "or mend that line"
                ) from None
    return rows, 0


def mend(path: Path, broken: int) -> None:
    """Prepare a log for more rows: drop a broken last line, end the last one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if broken:
        os.truncate(path, path.stat().st_size - broken)
    elif path.exists() and path.read_bytes()[-1:] not in (b"", b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add a row: a whole line, which stands in the file when this returns."""
    line = json.dumps(row, ensure_ascii=False) + "\n"
    with path.open("ab") as file:
        # half a character is written as an escape, which alone can hold it
        file.write(line.encode("utf-8", "backslashreplace"))
