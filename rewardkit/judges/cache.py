"""Cache: answers on disk, so that what was paid for once is not asked for again."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import weakref
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError
from rewardkit.rollouts.paths import GALLERY, bundled

log = logging.getLogger(__name__)

FOLDER = "REWARDKIT_CACHE"
"""Environment variable with the folder of the cache; "off" for none."""


def cache_file() -> Path | None:
    """Return the folder of cached answers, which REWARDKIT_CACHE may name."""
    folder = os.environ.get(FOLDER, "").strip()
    if folder == "off":
        return None
    if not folder:
        from platformdirs import user_cache_dir

        folder = user_cache_dir("rewardkit", appauthor=False)
    return Path(folder) / "answers.sqlite"


class Cache:
    """Answers by key, in a file that several processes may use at once, as JSON.

    Processes that ask for the same answer at the same time both pay for it.

    InputError: the file cannot be opened or is no cache.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._file.close)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute(
                "PRAGMA synchronous=NORMAL"
            )  # a killed process loses nothing
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT)"
            )
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the cache of answers at {str(path)!r} cannot be used ({error}); set "
                f"{FOLDER} to a folder "
                "that can be written, or to 'off'"
            ) from None

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the answer that is cached under a key, or None."""
        try:
            row = self._file.execute(
                "SELECT answer FROM answers WHERE key = ?", (key,)
            ).fetchone()
        except sqlite3.Error:  # it was emptied or removed meanwhile
            return None
        return json.loads(row[0]) if row else None

    def put(self, key: str, answer: dict[str, Any]) -> None:
        """Cache an answer.

        Where that fails (a full disk), it is used all the same, and a warning logged.
        """
        try:
            self._file.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?)",
                (key, json.dumps(answer)),
            )
        except sqlite3.Error as error:
            log.warning("an answer could not be cached in %s: %s", self.path, error)

    @property
    def count(self) -> int:
        """How many answers are cached."""
        return int(self._file.execute("SELECT COUNT(*) FROM answers").fetchone()[0])

    @property
    def size(self) -> int:
        """Bytes on disk."""
        beside = (
            self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm")
        )
        return sum(path.stat().st_size for path in beside if path.exists())

    def clear(self) -> None:
        """Forget all answers, and give the room on disk back."""
        self._file.execute("DELETE FROM answers")
        self._file.execute("VACUUM")
        self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_recorded(source: str) -> dict[str, dict[str, Any]]:
    """Answers by key, of a file of JSON lines, or of "gallery:NAME".

    InputError: there is no such file, or it is none.
    """
    path = Path(source)
    if source.startswith(GALLERY):
        path = bundled(f"data/gallery/answers/{source.removeprefix(GALLERY)}.jsonl")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        answers = [json.loads(line) for line in lines if line.strip()]
        return {answer["key"]: {"text": answer["text"]} for answer in answers}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"recorded={source!r} holds no recorded answers ({error})"
        ) from None
