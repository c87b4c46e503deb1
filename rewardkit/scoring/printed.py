"""What users' functions print while they are called: the first of it is kept, the rest is counted."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TextIO

KEPT = 10_000
"""Characters that are kept. Our choice: a few hundred lines, which a run record can hold."""

SHOWN = 3
"""Lines that are shown."""


@dataclass
class Printed:
    """How many `lines` were printed, and the `text` of the first."""

    lines: int = 0
    text: str = ""

    def add(self, other: Printed) -> None:
        """Count what was printed besides, and keep its text as far as there is room."""
        self.lines += other.lines
        self.text += other.text[: max(0, KEPT - len(self.text))]

    def __bool__(self) -> bool:
        return bool(self.text)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {"lines": max(1, self.lines), "text": self.text}

    def show(self) -> None:
        """Print the first lines to ``sys.stderr``, and how many more there were."""
        if not self:
            return
        lines = max(1, self.lines)
        first = _legible(self.text).splitlines()[:SHOWN]
        shown = [line if len(line) <= 120 else f"{line[:117]}..." for line in first]
        more = f"  ... {lines - len(shown):,} more" if lines > len(shown) else ""
        head = f"the reward's functions printed {lines:,} line{'s' * (lines != 1)}:"
        print(
            "\n".join(
                [head, *(f"  {line}" for line in shown), *([more] if more else [])]
            ),
            file=sys.stderr,
        )


def _legible(text: str) -> str:
    """Text for any terminal: characters that control it, or are half of one, are escaped."""
    return "".join(
        one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text
    )


class _Stream:
    """Stands for a standard stream: what is printed in a block that catches it goes there.

    What other threads print goes on, and so does all else that a stream can do.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        catching = _CATCHING.get()
        if catching is None:
            return self._stream.write(text)
        catching.add(Printed(text.count("\n"), text))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.write(line)

    def close(self) -> None:
        """Stay open: a user's function may close what it takes for standard output."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_CATCHING: ContextVar[Printed | None] = ContextVar("rewardkit_printed", default=None)
_LOCK = threading.Lock()
_BEFORE: list[tuple[TextIO, TextIO]] = []
"""Once for each block that catches what is printed, of all threads: the streams before the first of them."""


@contextmanager
def caught_prints() -> Iterator[Printed]:
    """What the block prints to ``sys.stdout`` and ``sys.stderr``, and coroutines that it awaits."""
    printed = Printed()
    with _LOCK:
        _BEFORE.append(_BEFORE[0] if _BEFORE else (sys.stdout, sys.stderr))
        sys.stdout, sys.stderr = map(_Stream, _BEFORE[0])
    token = _CATCHING.set(printed)
    try:
        yield printed
    finally:
        _CATCHING.reset(token)
        with _LOCK:
            before = _BEFORE.pop()
            sys.stdout, sys.stderr = map(_Stream, before) if _BEFORE else before


def print_here(printed: Printed) -> None:
    """Let what was caught in another process count as printed here."""
    catching = _CATCHING.get()
    if catching is None:
        printed.show()
    else:
        catching.add(printed)
