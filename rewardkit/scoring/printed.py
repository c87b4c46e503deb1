"""What users' functions print while they are scored: the first of it is kept, the rest is counted."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

__all__ = ["Printed", "caught_prints", "print_here"]

KEPT = 10_000
"""Characters that are kept. Our choice: a few hundred lines, which a run record can hold."""

SHOWN = 3
"""Lines that are shown."""


class Printed(io.TextIOBase):
    """A stream that counts the `lines` that are printed to it, and keeps the `text` of the first."""

    def __init__(self, lines: int = 0, text: str = "") -> None:
        self.lines, self.text = lines, text

    def __reduce__(self) -> tuple[Any, ...]:
        return Printed, (self.lines, self.text)

    def write(self, text: str) -> int:
        """Count and keep a text."""
        self.add(Printed(text.count("\n"), text))
        return len(text)

    def add(self, other: Printed) -> None:
        """Count what was printed elsewhere, and keep its text as far as there is room."""
        self.lines += other.lines
        self.text += other.text[: max(0, KEPT - len(self.text))]

    def close(self) -> None:
        """Stay open: a user's function may close what it takes for standard output."""

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
        head = f"the reward's functions printed {lines:,} line{'s' * (lines != 1)}:"
        return "\n".join([head, *(f"  {line}" for line in shown), *([more] if more else [])])


def _legible(text: str) -> str:
    """Text for any terminal: characters that control it, or are half of one, are escaped."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


@contextmanager
def caught_prints() -> Iterator[Printed]:
    """What is printed in the block, by this process to ``sys.stdout`` and ``sys.stderr``, goes here."""
    printed = Printed()
    with redirect_stdout(printed), redirect_stderr(printed):
        yield printed


def print_here(printed: Printed) -> None:
    """Let what was caught in another process count as printed here."""
    if isinstance(sys.stdout, Printed):
        sys.stdout.add(printed)
    else:
        print(_legible(printed.text), end="", file=sys.stderr)
