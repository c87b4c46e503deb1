"""FileCache: the parsed content of files that a run is still writing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")


FileState = tuple[int, int, int] | None
"""Inode, size and modification time of a file; None if it does not exist."""


def state_of(path: Path) -> FileState:
    """Return the state of a file, by which a change is detected."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class FileCache:
    """A cache of parsed files; a file that has changed is read again.

    A cache belongs to one reader, which reads each file with the same function.
    """

    def __init__(self) -> None:
        self._values: dict[Path, tuple[FileState, Any]] = {}
        self._states: dict[Path, FileState] | None = None

    def load(self, path: Path, read_file: Callable[[Path], Value]) -> Value:
        """Return `read_file(path)`; call it again only if the file has changed.

        Errors are not cached.
        """
        state = state_of(path)  # before reading, as the file may grow meanwhile
        if state is None or self._values.get(path, (None,))[0] != state:
            self._values[path] = (state, read_file(path))
        value: Value = self._values[path][1]
        return value

    def last(self, path: Path) -> Any:
        """Return the last content of a file, even if it has changed, or None."""
        return self._values.get(path, (None, None))[1]

    def has_news(self, source: Path) -> bool:
        """Return whether the files of a source have changed since the last call.

        The content of deleted files is dropped.
        """
        files = source.rglob("*") if source.is_dir() else [source]
        states = {path: state_of(path) for path in files}
        has_changed = states != self._states
        self._states = states
        for path in self._values.keys() - states.keys():
            del self._values[path]
        return has_changed
