"""What calls of a model may cost, and a cache of the answers that are paid for."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import weakref
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any

from rewardkit.errors import InputError
from rewardkit.primitives.primitive import Count, Positive, Primitive, finite_number
from rewardkit.rollouts.paths import GALLERY_PREFIX, bundled

logger = logging.getLogger(__name__)

CACHE_FOLDER = "REWARDKIT_CACHE"
"""Environment variable with the folder of the cache; "off" for none."""


def _prices(option: str, value: Any) -> Any:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(
            f"{option}={value!r} does not fit; give (of the question, of the answer)"
        )
    return tuple(finite_number(option, price) for price in value)


def _budget(option: str, value: Any) -> Any:
    if isinstance(value, int | float) and value == 0:
        raise ValueError(
            f"{option}={value!r} pays for no call; give a sum above 0, or None for no "
            "budget"
        )
    return finite_number(option, value, above=True)


@dataclass(frozen=True, repr=False)
class Limits(Primitive):
    """How fast, how long and for how much a server is asked.

    At most `concurrency` calls are under way, and `requests_per_minute` and
    `tokens_per_minute` are not passed, repeated attempts included (tokens are estimated
    before a call: a quarter of its characters, and the most that the answer may have).
    An attempt may take `timeout` seconds; one that fails (429, 5xx, timeout) is
    repeated up to `retries` times, after the time that the server says, else after
    longer and longer ones. `call_deadline` is for a call with all its attempts and
    waits, `run_deadline` for all calls of a run. `prices` are for a million tokens of
    the question and of the answer; with them the cost of a call is recorded. At
    `budget` no new call of the run starts; calls under way finish, and may pass it.
    ValueError: numbers that cannot be, a budget without prices.

    >>> Limits(concurrency=4, prices=(0.15, 0.6), budget=2.0)
    rk.judges.Limits(concurrency=4, prices=(0.15, 0.6), budget=2.0)
    """

    _: KW_ONLY
    # our choice, about what a hosted endpoint takes from one client
    concurrency: int = 16
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None
    timeout: Positive = 60.0  # our choice: a sentence and a level take seconds
    # our choice: with waits of up to 8 s about a minute, as rate limits
    retries: Count = 6
    call_deadline: Positive = 300.0
    run_deadline: Positive | None = None
    prices: Annotated[tuple[float, float], _prices] | None = None
    budget: Annotated[float, _budget] | None = None

    @property
    def factory(self) -> str:
        """Name of the call that makes it."""
        return "rk.judges.Limits"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget is not None and self.prices is None:
            raise ValueError(
                "budget= needs prices=, of a million tokens of (question, answer)"
            )

    def cost(self, tokens: tuple[int, int]) -> float | None:
        """Return what this many tokens of (question, answer) cost, or None."""
        if self.prices is None:
            return None
        question, answer = self.prices
        return (tokens[0] * question + tokens[1] * answer) / 1e6


def cache_file() -> Path | None:
    """Return the file of cached answers; None where REWARDKIT_CACHE is "off"."""
    folder = os.environ.get(CACHE_FOLDER, "").strip()
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
        table = "answers (key TEXT PRIMARY KEY, answer TEXT)"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._file.close)
            self._file.execute("PRAGMA journal_mode=WAL")
            # a killed process loses nothing
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the cache of answers at {str(path)!r} cannot be used ({error}); set "
                f"{CACHE_FOLDER} to a folder that can be written, or to 'off'"
            ) from None

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the answer that is cached under a key, or None."""
        query = "SELECT answer FROM answers WHERE key = ?"
        try:
            row = self._file.execute(query, (key,)).fetchone()
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
            logger.warning("an answer could not be cached in %s: %s", self.path, error)

    @property
    def count(self) -> int:
        """Number of cached answers."""
        return int(self._file.execute("SELECT COUNT(*) FROM answers").fetchone()[0])

    @property
    def size(self) -> int:
        """Bytes on disk."""
        ends = ("", "-wal", "-shm")
        files = [self.path.with_name(self.path.name + end) for end in ends]
        return sum(file.stat().st_size for file in files if file.exists())

    def clear(self) -> None:
        """Forget all answers, and give the room on disk back."""
        self._file.execute("DELETE FROM answers")
        self._file.execute("VACUUM")
        self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_recorded(source: str) -> dict[str, dict[str, Any]]:
    """Read answers by key from a file of JSON lines, or from "gallery:NAME".

    InputError: there is no such file, or it is none.
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
