"""FileCache: what was read of files, for whoever looks again at what a run writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")


FileState = tuple[int, int, int] | None
"""Inode, size and time of change of a file; None where there is none."""


def state_of(path: Path) -> FileState:
    """Return what tells a file from another one, and from what it was before."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class FileCache:
    """What was read of files; one that has changed since then is read anew.

    It belongs to one reader, which reads a file in one way.
    """

    def __init__(self) -> None:
        self._values: dict[Path, tuple[FileState, Any]] = {}
        self._states: dict[Path, FileState] | None = None

    def load(self, path: Path, read_file: Callable[[Path], Value]) -> Value:
        """Return what `read_file` makes of a file, read again only if it has changed.

        An error is not kept.
        """
        state = state_of(path)  # before it is read: it may grow meanwhile
        if state is None or self._values.get(path, (None,))[0] != state:
            self._values[path] = (state, read_file(path))
        value: Value = self._values[path][1]
        return value

    def last(self, path: Path) -> Any:
        """Return what was read of a file last, whatever became of it since; or None."""
        return self._values.get(path, (None, None))[1]

    def has_news(self, source: Path) -> bool:
        """Return whether a source has other files than at the last call.

        What was read of files that are gone is forgotten.
        """
        files = source.rglob("*") if source.is_dir() else [source]
        states = {path: state_of(path) for path in files}
        is_same = states == self._states
        self._states = states
        for path in self._values.keys() - states.keys():
            del self._values[path]
        return not is_same
