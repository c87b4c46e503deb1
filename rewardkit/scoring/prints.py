"""Catch, count and summarise the output of users' functions."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TextIO

from rewardkit.html.excerpts import user_texts_are_hidden
from rewardkit.workers.worker import handlers_on

MOST_PRINTED: Final = 10_000
"""Most recorded characters. Our choice: a few hundred lines."""

PRINTED_LINES: Final = 3
"""Lines that are shown."""

LONGEST_LINE: Final = 120
"""Most characters of a shown line."""


@dataclass
class Printed:
    """The number of printed `lines`, and the `text` of the first ones."""

    lines: int = 0
    text: str = ""

    def add(self, other: Printed) -> None:
        """Add further output, its text up to `MOST_PRINTED` characters."""
        self.lines += other.lines
        self.text += other.text[: max(0, MOST_PRINTED - len(self.text))]

    def __bool__(self) -> bool:
        return bool(self.text)

    def record(self) -> dict[str, Any]:
        """Return the output as plain data."""
        return {"lines": max(1, self.lines), "text": self.text}

    def show(self) -> None:
        """Print the first lines and the number of further ones to ``sys.stderr``.

        While user texts are hidden, print only the number.
        """
        if not self:
            return
        count = max(1, self.lines)
        plural = "s" if count > 1 else ""
        lines = [f"the reward's functions printed {count:,} line{plural}:"]
        quoted = []
        if not user_texts_are_hidden():
            quoted = _make_legible(self.text).splitlines()[:PRINTED_LINES]
        for line in quoted:
            if len(line) > LONGEST_LINE:
                line = f"{line[: LONGEST_LINE - 3]}..."
            lines.append(f"  {line}")
        if count >= len(lines):
            lines.append(f"  ... {count - len(lines) + 1:,} more")
        print("\n".join(lines), file=sys.stderr)


def _make_legible(text: str) -> str:
    """Escape control characters and lone surrogates."""
    characters = []
    for character in text:
        is_legible = character.isprintable() or character == "\n"
        characters.append(character if is_legible else ascii(character)[1:-1])
    return "".join(characters)


class _Stream:
    """A wrapper of a standard stream that catches output of `caught_prints` blocks.

    Output of other threads and all other methods go to the stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        catching = _CATCHING.get()
        if catching is None:
            return self._stream.write(text)
        catching.add(Printed(text.count("\n"), text))
        return len(text)

    def close(self) -> None:
        """Do nothing: a user's function may close what it takes for standard output."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_CATCHING: ContextVar[Printed | None] = ContextVar("rewardkit_printed", default=None)
_LOCK = threading.Lock()
_BEFORE: list[tuple[TextIO, TextIO]] = []
"""The streams before the first active block, once for each active block."""


@contextmanager
def caught_prints() -> Iterator[Printed]:
    """Catch output and logs of the block and of coroutines that it awaits."""
    printed = Printed()
    with _LOCK:
        if not _BEFORE:
            for handler in handlers_on(sys.stdout, sys.stderr):
                # the wrapper stays, and passes on logs outside of a block; setStream
                # would flush the old stream, which a host may have closed
                handler.stream = _Stream(handler.stream)
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
    """Treat output caught in another process as printed here."""
    catching = _CATCHING.get()
    if catching is None:
        printed.show()
    else:
        catching.add(printed)
