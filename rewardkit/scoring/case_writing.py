"""Cases added to a case file: whole lines at its end; what stands there stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from rewardkit.errors import CasesError, preview
from rewardkit.rollouts.files import json_lines
from rewardkit.rollouts.paths import GALLERY_PREFIX, place_to_write, write_whole
from rewardkit.scoring.cases import load_cases


def append_cases(path: str | Path, cases: Iterable[Mapping[str, Any]]) -> int:
    """Add cases to a JSONL file, which is made where there is none, and give how many were added.

    One that asks and expects what a case of the file does is passed over; a name that is taken gets a number
    behind it. The lines that are there are not touched, and a reader sees the old file or the new one.
    CasesError: the file cannot be read as cases, a case is none or cannot be written as JSON; the cases that
    come with rewardkit. InputError: there is no such folder.

    >>> from tempfile import TemporaryDirectory
    >>> case = {"name": "four", "completion": "4", "reward": 1.0}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cases.jsonl"
    ...     append_cases(path, [case, {**case, "name": "again"}, {**case, "completion": "IV"}])
    ...     print(path.read_text(), end="")
    2
    {"name": "four", "completion": "4", "reward": 1.0}
    {"name": "four (2)", "completion": "IV", "reward": 1.0}
    """
    if str(path).startswith(GALLERY_PREFIX):
        raise CasesError(
            f"{str(path)!r} are cases that come with rewardkit; give a case file of your own"
        )
    file = place_to_write(path)
    before = file.read_bytes() if file.is_file() else b""
    names = {case.name for case in load_cases(file)} if before.strip() else set()
    asked = {_asked(case) for _, case in json_lines(file)} if before.strip() else set()
    lines: list[bytes] = []
    for case in cases:
        load_cases([case])
        name = str(case.get("name", "case"))
        numbered = (name if at == 1 else f"{name} ({at})" for at in count(1))
        free = next(one for one in numbered if one not in names)
        line = _line({"name": free, **case} | {"name": free})
        if _asked(case) not in asked:
            asked.add(_asked(case))
            names.add(free)
            lines.append(line)
    if lines:
        joint = b"\n" * bool(before and not before.endswith(b"\n"))
        write_whole(
            file,
            lambda temporary: temporary.write_bytes(before + joint + b"".join(lines)),
        )
    return len(lines)


def _line(case: Mapping[str, Any]) -> bytes:
    """A case as it is written; half a character as an escape."""
    try:
        text = json.dumps(case, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CasesError(
            f"case {case['name']!r} cannot be written as JSON ({error}); give texts, numbers, lists and dicts"
        ) from None
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _asked(case: Mapping[str, Any]) -> str:
    """What a case asks and expects, as a key: all but its name, and why it is there."""
    kept = {key: value for key, value in case.items() if key not in ("name", "why")}
    return json.dumps(kept, sort_keys=True, default=preview)
