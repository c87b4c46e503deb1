"""Write the parts of a recorder's scored table, by session."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rewardkit.errors import RolloutsError
from rewardkit.history.batches import Batch, as_scores, redact, sample_mask
from rewardkit.history.files import (
    RECORDER,
    TRAINER_STEPS,
    part_name,
    part_paths,
    sessions,
)
from rewardkit.rewards.reward import Reward

if TYPE_CHECKING:  # slow to import, and a trainer may never record
    from rewardkit.scoring.scores import Scores

log = logging.getLogger(__name__)

STEPS_BACK = 10
"""Steps that a batch may lag behind an earlier one in asynchronous training. A larger
lag is a restart of the run. Our choice."""


@dataclass
class RecordedSession:
    """The record of one process since its start, or since its steps restarted.

    See `ScoresFile.recorder`. `calls` is the number of the last call.
    """

    before: dict[str, int]
    calls: int
    name: str = field(default_factory=lambda: secrets.token_hex(4))
    parts: int = 0
    rows: int = 0
    steps: str = TRAINER_STEPS


@dataclass
class PartWriter:
    """A writer of the parts of one process, one session after the other.

    `run` is shared by the processes that the recorder was sent to. `folder`, `redact`,
    `sample` and `max_bytes` are options of the recorder.
    """

    reward: Reward
    timeout: float | None
    run: str
    folder: Path
    redact: bool
    sample: float
    max_bytes: int
    rows_left_out: int = 0
    _session: RecordedSession = field(init=False)
    _sessions: int = 0
    _first_step: int | None = None
    _last_step: int = 0
    _has_warned: bool = False
    _is_thinned: bool = False

    def write(self, batches: Sequence[Batch]) -> None:
        """Write batches as one part, or as several if steps restart between them."""
        waiting: list[Batch] = []
        for batch in batches:
            step = batch.trainer_step
            if step is not None:
                if self._first_step is None or self._restarts(step, self._first_step):
                    self._try_to_write(waiting)
                    waiting = []
                    if self._first_step is not None:
                        self.begin()
                    self._first_step = self._last_step = step
                self._last_step = max(step, self._last_step)
            waiting.append(batch)
        self._try_to_write(waiting)

    def _restarts(self, step: int, first_step: int) -> bool:
        if step >= self._last_step:
            return False
        return step <= first_step or step < self._last_step - STEPS_BACK

    def _try_to_write(self, batches: Sequence[Batch]) -> None:
        if not batches:
            return
        try:
            self._write_part(batches)
        except Exception as error:  # such as a full disk or an unsupported type
            self.rows_left_out += sum(batch.count for batch in batches)
            if not self._has_warned:
                self._has_warned = True
                log.warning(
                    "some scores cannot be recorded in %s: %s; training goes on, and "
                    "the record will say how many rows it lacks",
                    self.folder,
                    error,
                )

    def begin(self) -> None:
        """Begin a session before its first batch; note the existing sessions."""
        before = sessions(self.folder)
        calls = 0
        from rewardkit.history.parts import read_record  # takes a second

        for name, count in before.items():
            with suppress(RolloutsError, KeyError):  # a broken file
                record = read_record(self.folder / part_name(name, count))
                calls = max(calls, record[RECORDER]["calls"])
        self._session = RecordedSession(before, calls)
        self._sessions += 1

    def _write_part(self, batches: Sequence[Batch]) -> None:
        from rewardkit.scoring.scores import select_rows
        from rewardkit.scoring.stored import write_table

        session = self._session
        used = sum(path.stat().st_size for path in part_paths(self.folder))
        share = self._share(used)
        scores = self._scores_of(batches, session, share)
        if share < 1:
            scores = select_rows(scores, sample_mask(scores, share))
        if not len(scores):
            return
        if self.redact:
            scores = redact(scores)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / part_name(session.name, session.parts + 1)
        space = self.max_bytes - used
        write_table(path, scores.table, scores.record, most_bytes=space)
        session.parts += 1
        self.rows_left_out = 0

    def _scores_of(
        self, batches: Sequence[Batch], session: RecordedSession, share: float
    ) -> Scores:
        """Return the scored table of batches, with the record of the recorder."""
        from rewardkit.scoring.scores import versions

        steps = self._steps(batches, session)
        ids = []
        for row in range(session.rows, session.rows + len(steps)):
            ids.append(f"{session.name}-{row}")
        session.rows += len(steps)
        about = {
            "session": session.name,
            "run": f"{self.run}-{self._sessions}",
            "part": session.parts + 1,
            "before": session.before,
            "steps": session.steps,
            "calls": session.calls,
            "process": os.getpid(),
            "redacted": self.redact,
            "sample": share,
            "rows_left_out": self.rows_left_out,
        }
        run = {
            "versions": versions(),
            "ignore_gates": False,
            "timeout": self.timeout,
            RECORDER: about,
        }
        return as_scores(
            batches,
            self.reward,
            ids=ids,
            steps=steps,
            source=str(self.folder),
            run=run,
        )

    def _steps(self, batches: Sequence[Batch], session: RecordedSession) -> list[int]:
        """Return the step of each row, or the number of the call if it has none."""
        steps: list[int] = []
        for batch in batches:
            steps_of_batch = batch.steps
            if steps_of_batch is None:
                session.calls += 1
                session.steps = "calls"
                steps_of_batch = [session.calls] * batch.count
            elif batch.trainer_step is None and session.steps != "calls":
                session.steps = "column"
            steps.extend(steps_of_batch)
        return steps

    def _share(self, used: int) -> float:
        """Return the share of groups to record; it falls as the folder fills up."""
        space = max(0.0, 1 - used / self.max_bytes)
        if space < 0.5 and not self._is_thinned:
            self._is_thinned = True
            log.warning(
                "%s holds half of the %d bytes that it may grow to: from here on, "
                "fewer and fewer groups are recorded",
                self.folder,
                self.max_bytes,
            )
        return self.sample * min(1.0, 2 * space)
