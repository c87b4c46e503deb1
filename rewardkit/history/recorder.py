"""Record the scores of a training run in a folder.

A trainer's call only queues its batch; a thread writes it. Batches that the thread has
no time or space for are dropped and counted, so a recorder neither delays nor ends
training.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from dataclasses import dataclass, field
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, ClassVar

from rewardkit.errors import RewardError, preview
from rewardkit.history.batches import Batch
from rewardkit.history.part_writer import PartWriter
from rewardkit.plain import Record, values_by_field
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.reward import Reward

log = logging.getLogger(__name__)

LARGEST_FOLDER = 10_000_000_000
"""Most bytes of a recorder's folder. Our choice."""

PART_SECONDS = 5.0
"""Least seconds between two parts. Our choice: a killed process loses this much."""

PART_SHARE = 0.01
"""Seconds between two parts as a share of the run so far, above `PART_SECONDS`.

Our choice: a run of ten days has two thousand parts, not a hundred thousand.
"""

LONGEST_PART = 600.0
"""Most seconds between two parts. Our choice."""

PART_ROWS = 4096
"""Rows that are written at once. Our choice."""

PART_CHARACTERS = 32_000_000
"""Characters of completions that are written at once. Our choice."""

PARTS_WAITING = 4
"""Parts that may wait for the disk before batches are dropped. Our choice."""

SECONDS_AT_EXIT = 30.0
"""Seconds that a process waits for its last part when it exits. Our choice."""


@dataclass(frozen=True, repr=False)
class Recorder(Made):
    """Options for recording the scores of a training run.

    Each scored batch becomes rows of a scored table, as `rk.score` returns it: step,
    prompt, completion, columns, fields, scores, statuses, reasons, reward. A thread
    writes them into `folder` as Parquet files, each whole or not at all.
    `rk.load_scores` and every command that takes scores can read the folder while it
    grows. Several processes, and a resumed run, may share a folder; different rewards
    may not.

    Attributes:
        folder: The folder, created if it is missing.
        redact: Whether texts are replaced by hashes, and reasons lose their quotes.
            Columns ``data_source`` and ``policy`` stay readable.
        sample: Share of the groups that is recorded, above 0 and up to 1.
        max_bytes: Most bytes of the folder. From half of it on, a shrinking share of
            the groups is recorded, so that late steps have some, too.

    Raises:
        RewardError: An option is invalid.

    >>> Recorder("runs/train-1", redact=True)
    rk.Recorder('runs/train-1', redact=True)
    """

    folder: str | Path
    redact: bool = field(default=False, kw_only=True)
    sample: float = field(default=1.0, kw_only=True)
    max_bytes: int = field(default=LARGEST_FOLDER, kw_only=True)

    factory = "rk.Recorder"
    run: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.folder, str | Path) or not str(self.folder):
            raise RewardError(
                f"record={preview(self.folder)} is no folder; give one such as "
                "'runs/train-1'"
            )
        object.__setattr__(self, "folder", str(self.folder))
        if not isinstance(self.redact, bool):
            raise RewardError(
                f"redact={self.redact!r} does not fit; give True or False"
            )
        number = isinstance(self.sample, int | float)
        if not number or not 0 < self.sample <= 1:
            raise RewardError(
                f"sample={self.sample!r} is no share of the groups; give a number "
                "above 0 and up to 1"
            )
        if type(self.max_bytes) is not int or self.max_bytes < 1:
            raise RewardError(
                f"max_bytes={self.max_bytes!r} is no size; give a whole number from 1"
            )
        # shared by forks of this process and processes that receive the recorder
        object.__setattr__(self, "run", secrets.token_hex(4))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the absolute path, as workers may have other working folders."""
        return _receive, (self.options(), self.run)

    def options(self) -> Record:
        """Return the options, with the absolute path of the folder."""
        return {**values_by_field(self), "folder": Path(os.path.abspath(self.folder))}

    def flush(self) -> None:
        """Write the batches that this process has scored so far."""
        for (process, recorder, *_), writer in list(_WRITERS.items()):
            if process == os.getpid() and recorder == self:
                writer.flush()

    def check(self, reward: Reward) -> None:
        """Raise a RewardError if the folder holds scores of another reward."""
        if os.path.isdir(self.folder):
            from rewardkit.history.parts import check_folder

            check_folder(Path(self.folder), reward)


def _receive(options: dict[str, Any], run: str) -> Recorder:
    recorder = Recorder(**options)
    object.__setattr__(recorder, "run", run)
    return recorder


def as_recorder(record: Recorder | str | Path) -> Recorder:
    """Return the recorder of an option `record`: a folder or a recorder."""
    return record if isinstance(record, Recorder) else Recorder(record)


def record_batch(
    recorder: Recorder, reward: Reward, batch: Batch, *, timeout: float | None = None
) -> None:
    """Queue a scored batch for the thread of this process that writes for `recorder`.

    The first batch starts the thread, also in a fork of this process. Errors are logged
    once as a warning.
    """
    key = (os.getpid(), recorder, id(reward), timeout)
    try:
        writer = _WRITERS.get(key)
        if writer is None:
            # no lock here: a fork could copy it while it is held
            writer = _WRITERS.setdefault(key, Writer(recorder, reward, timeout))
        writer.add(batch)
    except Exception as error:  # training goes on whatever happens
        if key not in _FAILED:
            _FAILED.add(key)
            log.warning("scores are not recorded in %s: %s", recorder.folder, error)


_WRITERS: dict[Any, Writer] = {}
_FAILED: set[Any] = set()


class Writer:
    """A thread that writes batches, and its queue."""

    def __init__(
        self, recorder: Recorder, reward: Reward, timeout: float | None
    ) -> None:
        self._parts = PartWriter(reward, timeout, recorder.run, **recorder.options())
        self._changed = threading.Condition()
        self._waiting: list[Batch] = []
        self._rows = self._characters = self._left_out = 0
        self._began = time.monotonic()
        self._is_urgent = self._is_writing = False
        self._thread: threading.Thread | None = None

    def add(self, batch: Batch) -> None:
        """Queue a batch, or drop it if `PARTS_WAITING` parts are waiting."""
        characters = batch.characters
        with self._changed:
            if self._has_waiting(PARTS_WAITING):
                self._left_out += batch.count
                return
            self._waiting.append(batch)
            self._rows += batch.count
            self._characters += characters
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="rewardkit-recorder", daemon=True
                )
                self._thread.start()
                # unlike atexit, also called when a multiprocessing process exits
                Finalize(None, self.flush, exitpriority=100)
            if self._has_waiting(1):
                self._changed.notify()

    def _has_waiting(self, parts: int) -> bool:
        """Return whether the waiting batches fill this many parts."""
        has_rows = self._rows >= parts * PART_ROWS
        return has_rows or self._characters >= parts * PART_CHARACTERS

    def flush(self) -> None:
        """Wait until the thread has written all batches, or `SECONDS_AT_EXIT`."""
        with self._changed:
            if self._thread is None:
                return
            self._is_urgent = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: not self._waiting and not self._is_writing, SECONDS_AT_EXIT
            )

    def _run(self) -> None:
        self._parts.begin()
        while True:
            seconds = PART_SHARE * (time.monotonic() - self._began)
            seconds = max(PART_SECONDS, min(seconds, LONGEST_PART))
            with self._changed:
                self._changed.wait_for(
                    lambda: self._has_waiting(1) or self._is_urgent, timeout=seconds
                )
                batches, self._waiting = self._waiting, []
                self._parts.rows_left_out += self._left_out
                self._rows = self._characters = self._left_out = 0
                self._is_urgent, self._is_writing = False, True
            if batches:
                self._parts.write(batches)
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()
