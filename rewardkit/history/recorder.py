"""What a reward scores in training, kept in a folder while training goes on.

A trainer's call only hands over what it scored; a thread of the process writes it. What
the thread cannot keep up with, or has no space for, is left out and counted: a recorder
never holds training up and never ends it.
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
"""Bytes that a recorder's folder may grow to. Our choice."""

PART_SECONDS = 5.0
"""Seconds after which a part is written. Our choice: what a killed process loses."""

PART_SHARE = 0.01
"""Share of the time so far that a part may last, if that is longer.

Our choice: a run of ten days has two thousand parts, not a hundred thousand.
"""

LONGEST_PART = 600.0
"""Seconds that a part may last at most. Our choice."""

PART_ROWS = 4096
"""Rows after which a part is written at once. Our choice."""

PART_CHARACTERS = 32_000_000
"""Characters of completions after which a part is written at once. Our choice."""

PARTS_WAITING = 4
"""Parts that may wait for the disk; what is scored then is left out. Our choice."""

SECONDS_AT_EXIT = 30.0
"""Seconds that a process waits at its end for the last part. Our choice."""


@dataclass(frozen=True, repr=False)
class Recorder(Made):
    """How a reward records what it scores in training: where, and how much.

    Each scored batch becomes rows of a scored table, as `rk.score` makes it: step,
    prompt, completion, columns, fields, scores, statuses, reasons, reward. They are
    written into `folder` as Parquet files, off the training thread, each whole or not
    at all; `rk.load_scores` and every command that takes scores read the folder, while
    it grows, too. Several processes may record into one folder, and a resumed run into
    the same as before; another reward may not.

    Attributes:
        folder: The folder, made where it is missing.
        redact: Whether texts are replaced by hashes, and reasons lose their quotes.
            Columns ``data_source`` and ``policy`` stay readable.
        sample: Share of the groups that is recorded, above 0 and up to 1.
        max_bytes: What the folder may grow to. From its half on, a smaller and smaller
            share of the groups is recorded, so that late steps have some, too.

    Raises:
        RewardError: an option that does not fit.

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
        # forks of this process have it, too, and those that the recorder is sent to
        object.__setattr__(self, "run", secrets.token_hex(4))

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the whole path, as workers have other working folders."""
        return _receive, (self.options(), self.run)

    def options(self) -> Record:
        """Return its options, with the whole path of the folder."""
        return {**values_by_field(self), "folder": Path(os.path.abspath(self.folder))}

    def flush(self) -> None:
        """Write what this process has scored so far, without waiting for more."""
        for (process, recorder, *_), writer in list(_WRITERS.items()):
            if process == os.getpid() and recorder == self:
                writer.flush()

    def check(self, reward: Reward) -> None:
        """Raise a RewardError where the folder holds another reward's scores."""
        if os.path.isdir(self.folder):
            from rewardkit.history.parts import check_folder

            check_folder(Path(self.folder), reward)


def _receive(options: dict[str, Any], run: str) -> Recorder:
    recorder = Recorder(**options)
    object.__setattr__(recorder, "run", run)
    return recorder


def as_recorder(record: Recorder | str | Path) -> Recorder:
    """Return the recorder that an option `record` stands for: a folder, or itself."""
    return record if isinstance(record, Recorder) else Recorder(record)


def record_batch(
    recorder: Recorder, reward: Reward, batch: Batch, *, timeout: float | None = None
) -> None:
    """Hand a scored batch to the thread of this process that writes for `recorder`.

    The thread starts with the first batch, in a fork of this process anew. What goes
    wrong is a warning, once.
    """
    key = (os.getpid(), recorder, id(reward), timeout)
    try:
        writer = _WRITERS.get(key)
        if writer is None:
            # without a lock, which a fork could take along while it is held
            writer = _WRITERS.setdefault(key, Writer(recorder, reward, timeout))
        writer.add(batch)
    except Exception as error:  # whatever it is, training goes on
        if key not in _FAILED:
            _FAILED.add(key)
            log.warning("scores are not recorded in %s: %s", recorder.folder, error)


_WRITERS: dict[Any, Writer] = {}
_FAILED: set[Any] = set()


class Writer:
    """The thread that writes, and the batches that wait for it."""

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
        """Let a batch wait for the thread, unless too much waits already."""
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
                # at the end of a process of multiprocessing, too, unlike atexit
                Finalize(None, self.flush, exitpriority=100)
            if self._has_waiting(1):
                self._changed.notify()

    def _has_waiting(self, parts: int) -> bool:
        """Return whether the waiting batches fill so many parts."""
        has_rows = self._rows >= parts * PART_ROWS
        return has_rows or self._characters >= parts * PART_CHARACTERS

    def flush(self) -> None:
        """Wait until the thread has written what waits."""
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
