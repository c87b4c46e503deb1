"""Keep answers of models: a cache on disk, and recorded answers in files."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rewardkit.errors import InputError
from rewardkit.rollouts.paths import GALLERY_PREFIX, bundled

logger = logging.getLogger(__name__)

CACHE_FOLDER = "REWARDKIT_CACHE"
"""Environment variable with the folder of the cache; "off" disables it."""
STANDARD_PORTS = {"http": ":80", "https": ":443"}


def answer_key(request: Mapping[str, Any], sample: int) -> str:
    """Return the key of a request: a hash of its content and the sample number."""
    text = json.dumps([request, sample], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def server_name(address: str) -> str:
    """Return the name of a server in the cache, from its address.

    Spellings of the same address have the same name, without password and query.

    >>> server_name("HTTP://me:secret@Host:80/v1/")
    'http://host/v1'
    """
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2].lower()
    host = host.removesuffix(STANDARD_PORTS.get(parts.scheme, ""))
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{host}{path}"


def cache_file() -> Path | None:
    """Return the file of cached answers; None if REWARDKIT_CACHE is "off"."""
    folder = os.environ.get(CACHE_FOLDER, "").strip()
    if folder == "off":
        return None
    if not folder:
        from platformdirs import user_cache_dir

        folder = user_cache_dir("rewardkit", appauthor=False)
    return Path(folder) / "answers.sqlite"


class Cache:
    """Answers by server and key, in a file that processes can share.

    Servers do not share answers, as they may serve different models under the same
    name. Two processes that need the same answer at the same time both ask for it.

    InputError: the file cannot be opened or is no cache.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has_failed = False
        columns = "server TEXT, key TEXT, answer TEXT, PRIMARY KEY (server, key)"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._file.close)
            self._file.execute("PRAGMA journal_mode=WAL")
            # a killed process loses nothing
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(f"CREATE TABLE IF NOT EXISTS server_answers ({columns})")
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the cache of answers at {str(path)!r} cannot be used ({error}); set "
                f"{CACHE_FOLDER} to a folder that can be written, or to 'off'"
            ) from None

    def get(self, server: str, key: str) -> dict[str, Any] | None:
        """Return the answer of a server that is cached under a key, or None."""
        query = "SELECT answer FROM server_answers WHERE server = ? AND key = ?"
        try:
            row = self._file.execute(query, (server, key)).fetchone()
        except sqlite3.Error:  # another process emptied or removed it
            return None
        return json.loads(row[0]) if row else None

    def has_answers(self, server: str) -> bool:
        """Return whether any answer of a server is cached."""
        query = "SELECT 1 FROM server_answers WHERE server = ? LIMIT 1"
        try:
            return self._file.execute(query, (server,)).fetchone() is not None
        except sqlite3.Error:
            return False

    def put(self, server: str, key: str, answer: dict[str, Any]) -> None:
        """Cache an answer of a server.

        A failure, such as a full disk, only logs a warning, once.
        """
        try:
            self._file.execute(
                "INSERT OR REPLACE INTO server_answers VALUES (?, ?, ?)",
                (server, key, json.dumps(answer)),
            )
        except sqlite3.Error as error:
            if not self._has_failed:
                logger.warning("answers are not cached in %s: %s", self.path, error)
            self._has_failed = True

    @property
    def count(self) -> int:
        """Number of cached answers."""
        query = "SELECT COUNT(*) FROM server_answers"
        return int(self._file.execute(query).fetchone()[0])

    @property
    def size(self) -> int:
        """Bytes on disk."""
        size = 0
        for end in ("", "-wal", "-shm"):
            file = self.path.with_name(self.path.name + end)
            if file.exists():
                size += file.stat().st_size
        return size

    def clear(self) -> None:
        """Remove all answers, and free the space on disk."""
        self._file.execute("DELETE FROM server_answers")
        # the table of older versions, which is not read
        self._file.execute("DROP TABLE IF EXISTS answers")
        self._file.execute("VACUUM")
        self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_recorded(source: str) -> dict[str, dict[str, Any]]:
    """Read answers by key from a file of JSON lines, or from "gallery:NAME".

    InputError: no such file, or another format.
    """
    path = Path(source)
    if source.startswith(GALLERY_PREFIX):
        path = bundled(
            f"data/gallery/answers/{source.removeprefix(GALLERY_PREFIX)}.jsonl"
        )
    try:
        answers = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip():
                answer = json.loads(line)
                answers[answer["key"]] = {"text": answer["text"]}
        return answers
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"recorded={source!r} holds no recorded answers ({error})"
        ) from None
