"""What users' functions print while they are scored: the first of it is kept, the rest is counted."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

__all__ = ["Printed", "add_printed", "caught_prints"]

KEPT = 10_000
"""Characters that are kept. Our choice: a few hundred lines, which a run record can hold."""

SHOWN = 3
"""Lines that are shown."""


@dataclass
class Printed:
    """How many `lines` were printed, and the `text` of the first of them."""

    lines: int = 0
    text: str = ""

    def add(self, lines: int, text: str) -> None:
        """Count lines and keep their text as far as there is room."""
        self.lines += lines
        if len(self.text) < KEPT:
            self.text += text[: KEPT - len(self.text)]

    def __bool__(self) -> bool:
        return bool(self.text)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {"lines": max(1, self.lines), "text": self.text}

    def __str__(self) -> str:
        """The first lines, and how many there were."""
        lines = max(1, self.lines)
        first = _legible(self.text).splitlines()[:SHOWN]
        shown = [line if len(line) <= 120 else f"{line[:117]}..." for line in first]
        kept = "" if len(self.text) < KEPT else f"the first {KEPT:,} characters "
        more = f"  ... {lines - len(shown):,} more, {kept}in the run record" if lines > len(shown) else ""
        told = [f"the reward's functions printed {lines:,} line{'s' * (lines != 1)}:"]
        return "\n".join([*told, *(f"  {line}" for line in shown), *([more] if more else [])])


def _legible(text: str) -> str:
    """Text for any terminal: characters that control it, or are half of one, are escaped."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


class _Catcher(io.TextIOBase):
    """A stream that keeps what is written to it in a `Printed`."""

    def __init__(self, printed: Printed) -> None:
        self.printed = printed

    def write(self, text: str) -> int:
        self.printed.add(text.count("\n"), text)
        return len(text)

    def close(self) -> None:
        """Stay open: a user's function may close what it takes for standard output."""


@contextmanager
def caught_prints() -> Iterator[Printed]:
    """What is printed in the block, by this process to ``sys.stdout`` and ``sys.stderr``, goes here."""
    printed = Printed()
    catcher = _Catcher(printed)
    with redirect_stdout(catcher), redirect_stderr(catcher):
        yield printed


def add_printed(printed: Printed) -> None:
    """Let what was caught in another process count as printed here."""
    if not printed:
        return
    if isinstance(sys.stdout, _Catcher):
        sys.stdout.printed.add(printed.lines, printed.text)
    else:
        print(_legible(printed.text), end="", file=sys.stderr)
