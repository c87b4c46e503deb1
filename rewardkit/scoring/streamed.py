"""Scores into a folder: of a large log part by part, without holding it.

A part is named by its number and by a hash of all that its scores depend on: the
content of its rows, the definition, and the options. So a run that was interrupted goes
on, and a part of another definition is never taken for one of this.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.errors import Interrupted, RewardError, RolloutsError
from rewardkit.findings import counted
from rewardkit.primitives.weights import Transform
from rewardkit.rewards.fingerprint import definition_hash, fingerprint
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.files import piece_bytes
from rewardkit.rollouts.load import Reading, load_rollouts
from rewardkit.rollouts.paths import RECORDED_SCORES, SAVED_SCORES
from rewardkit.rollouts.table import Rollouts, join_summaries
from rewardkit.rollouts.whole_groups import (
    LargeLog,
    Part,
    cut_parts,
    load_part,
    open_large,
    write_buckets,
)
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.part_figures import FIGURES, PartFigures
from rewardkit.scoring.parted import PartedScores
from rewardkit.scoring.prints import Printed
from rewardkit.scoring.scored import score_rollouts
from rewardkit.scoring.scores import (
    UNFINISHED,
    Scores,
    folder_for,
    parts_in,
    versions,
    write_record,
)
from rewardkit.scoring.shards import NO_LIMIT, Settings, worker_errors
from rewardkit.scoring.stored import from_arrow, parquet, read_stored, write_table
from rewardkit.workers.pool import Lost, WorkerEnded, Workers

logger = logging.getLogger(__name__)

MEMORY = 2_000_000_000
"""Bytes for the rows that are held. Our choice."""

LARGEST_PART = 16_000_000
"""Bytes of the log in a part. Our choice: more make no part quicker."""

SECONDS_OF_WRITING = 60
"""Seconds in which a file that is being written changes. Our choice."""

BYTES_HELD = 16
"""Bytes of memory for each byte of a log's part: its rows as Python values, as columns,
and as the table that is written. Measured: 9 for texts."""


def open_log(
    source: Any,
    memory: int = MEMORY,
    workers: int | None = None,
    **reading: Any,
) -> LargeLog | Rollouts:
    """Open a log to be scored into a folder: in parts, or whole where it is small.

    Args:
        source: what `load_rollouts` takes.
        memory: bytes for the rows that are held.
        workers: processes that share them.
        **reading: options of `load_rollouts`.

    Raises:
        RolloutsError: see `load_rollouts`; a memory that is no number of bytes.
    """
    if type(memory) is not int or memory < 1:
        raise RolloutsError(
            f"memory={memory!r} is no size; give bytes, such as 2_000_000_000"
        )
    if isinstance(source, LargeLog | Rollouts):
        return source
    share = max(1, memory // (BYTES_HELD * (workers or 1)))
    large = open_large(
        source, part_bytes=min(share, LARGEST_PART), most_bytes=share, **reading
    )
    return large or load_rollouts(source, **reading)


def score_into(
    folder: str | Path,
    reward: Reward,
    source: Any,
    settings: Settings,
    *,
    memory: int = MEMORY,
    force: bool = False,
    progress: bool = False,
    unfinished: Scores | None = None,
) -> Scores:
    """Score rollouts into a folder; for arguments and errors see `score`."""
    settings.check()
    log = open_log(source, memory, settings.workers)
    with folder_for(folder) as place:
        if isinstance(log, Rollouts):
            if not force:
                _check_free(place, reward, log.source, log.fingerprint)
            return _score_whole(place, reward, log, settings, progress, unfinished)
        if not force:
            _check_free(place, reward, log.reading.name, None)
        _check_parts_will_do(reward)
        settings.time_limit()  # which checks it
        return _score_parts(place, reward, log, settings, progress)


# --- one part


def _score_whole(
    folder: Path,
    reward: Reward,
    rollouts: Rollouts,
    settings: Settings,
    progress: bool,
    unfinished: Scores | None,
) -> Scores:
    """Score rollouts in memory and save them; what was done on an interrupt, too."""
    interrupted: Interrupted | None = None
    try:
        scores = score_rollouts(
            reward, rollouts, settings, progress=progress, unfinished=unfinished
        )
    except Interrupted as error:
        scores, interrupted = error.scores, error
    with interrupts_held() as signals:
        scores.save(folder)
    if interrupted or signals:
        raise interrupted or Interrupted(scores, len(rollouts))
    return scores


def _check_free(
    folder: Path, reward: Reward, source: str, rollouts: str | None
) -> None:
    """Raise a RolloutsError where a folder holds another scoring than this one will be.

    The same reward on the same rollouts (their fingerprint, None where they are not
    known before they are read) may be scored again.
    """
    for file in (folder / SAVED_SCORES, *sorted(folder.glob(RECORDED_SCORES))):
        try:
            record = read_stored(file)["record"]
            reward_there = definition_hash(record["reward"])
            rollouts_there = record["rollouts"]["fingerprint"]
            if UNFINISHED in record:
                rollouts_there = record[UNFINISHED]["rollouts"]
            name, source_there = record["reward"]["name"], record["rollouts"]["source"]
        except (ValueError, KeyError, TypeError):
            continue  # of no version of rewardkit that can read it
        is_same = reward_there == definition_hash(reward.record())
        if file.name == SAVED_SCORES and rollouts is not None:
            is_same &= rollouts_there == rollouts
        else:
            is_same &= source_there == source
        if not is_same or "recorder" in record:
            raise RolloutsError(
                f"{str(folder)!r} holds another scoring, of {name!r} on "
                f"{source_there}; give another folder, keep versions side by side with "
                "--keep, or write over it with --force"
            )


@contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Let no Ctrl-C or SIGTERM into the block; yield the list of those that came.

    One that is ignored stays so, and outside the main thread all do.
    """
    signals: list[int] = []
    before = {}
    with suppress(ValueError):  # another thread than the main one
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(
                    number, lambda sent, _: signals.append(sent)
                )
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- many parts


class _ScatteredGroups(Exception):
    """Groups have rows in several parts."""


@dataclass(frozen=True)
class _Job:
    """What the scores of all parts depend on, beside their rows."""

    folder: Path
    reward: Reward
    reading: Reading
    settings: Settings
    base: str

    @classmethod
    def of(
        cls, folder: Path, reward: Reward, log: LargeLog, settings: Settings
    ) -> _Job:
        """Make one; its base is the same for the same definition, log and options."""
        reading = log.reading
        layout = reading.layout
        assert layout is not None
        rows_need = asdict(replace(layout.log, rows=None))  # type: ignore[arg-type]
        plain = [
            reward.record(),
            versions(),
            {**asdict(settings), "workers": None},
            [reading.name, dict(reading.columns), reading.on, reading.fill],
            [reading.join.name, reading.join.columns] if reading.join else None,
            [layout.form.name, rows_need, layout.mapping, layout.names],
            [layout.group_key, layout.are_ids_by_file],
        ]
        text = json.dumps(plain, default=str, sort_keys=True)
        settings = replace(settings, workers=settings.workers and 1)
        return cls(folder, reward, reading, settings, fingerprint(text))

    def path(self, number: int, part: Part) -> Path:
        """Return the file of a part, by its number and the hash of its content."""
        digest = hashlib.sha256(self.base.encode())
        for piece in part:
            about = [piece.name, piece.split, piece.step, piece.start, piece.line]
            about.append(piece.only_compared)
            digest.update(repr(about).encode())
            if piece.stop is None or piece.kind == ".parquet":
                digest.update(repr(piece.stop).encode())
                digest.update(_content_hash(piece.path, piece.path.stat().st_mtime_ns))
            else:
                digest.update(piece_bytes(piece))
        return self.folder / f"scores-{number:06}-{digest.hexdigest()[:16]}.parquet"


@cache
def _content_hash(path: Path, changed: int) -> bytes:
    """Return the hash of a file; `changed` is when that was."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


class _Written(NamedTuple):
    """A part that is written: its file, record, and the hashes of its groups.

    And of its `rollout_id`, where the log has some. `process` wrote it, which has held
    `memory` bytes so far.
    """

    name: str
    record: dict[str, Any]
    groups: NDArray[np.uint64]
    ids: NDArray[np.uint64]
    process: int
    memory: int


def peak_memory() -> int:
    """Return the bytes that this process has held at most; 0 where nothing tells.

    The system's own count of it (ru_maxrss) begins with that of the process before.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


def _check_parts_will_do(reward: Reward) -> None:
    """Raise a RewardError where a reward needs all rows of a log at once."""
    whole = [item.name for item in reward.all_components if item.batch is True]
    if whole:
        raise RewardError(
            f"component {whole[0]!r} of reward {reward.name!r} takes all rows in one "
            "call (batch=True), and the log is scored in parts; give it more memory"
        )
    for part in [reward, *getattr(reward, "branches", ())]:
        transform = part.transform
        by_group = isinstance(transform, Transform) and transform.within == "group"
        if transform is not None and not by_group:
            raise RewardError(
                f"the transform of reward {part.name!r} takes all rewards at once, and "
                "the log is scored in parts; give it more memory, or one within groups"
            )


def _score_parts(
    folder: Path, reward: Reward, log: LargeLog, settings: Settings, progress: bool
) -> Scores:
    """Score a log part by part; where it scatters groups, in buckets of them."""
    job = _Job.of(folder, reward, log, settings)
    _remove_halves(folder)
    written: list[_Written] = []
    try:
        try:
            _write_parts(job, list(cut_parts(log)), settings, written, progress)
        except _ScatteredGroups:
            written.clear()
            with _bucket_folder(folder) as place:
                logger.warning(
                    "%s: the completions of a prompt do not stand together; its rows "
                    "are put into order on the disk first, about %.2f GB in %s",
                    log.reading.name,
                    log.size / 1e9,
                    place,
                )
                parts = write_buckets(log, place)
                _write_parts(job, parts, settings, written, progress)
    except KeyboardInterrupt:
        if not written:
            raise
        _write_run(folder, reward, written, is_done=False)
        raise Interrupted(PartedScores(folder, reward), None) from None
    _write_run(folder, reward, written, is_done=True)
    peaks = {os.getpid(): peak_memory()}
    for part in written:
        peaks[part.process] = max(part.memory, peaks.get(part.process, 0))
    scores = PartedScores(folder, reward, sum(peaks.values()))
    for sentence in scores.record["rollouts"]["warnings"]:
        logger.warning("%s: %s", log.reading.name, sentence)
    return scores


def _remove_halves(folder: Path) -> None:
    """Remove the files that killed processes had begun to write.

    One that another process is writing has changed within seconds.
    """
    for path in folder.glob(f".{RECORDED_SCORES}.*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > SECONDS_OF_WRITING:
                path.unlink()


@contextmanager
def _bucket_folder(folder: Path) -> Iterator[Path]:
    """Make a folder for buckets beside another; it is removed at the end.

    Those that killed processes left are removed, too.
    """
    beside = folder.absolute()
    name = f".{beside.name}.groups-"
    for path in beside.parent.glob(f"{name}*"):
        process = path.name.removeprefix(name)
        with suppress(ValueError, OSError):
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                shutil.rmtree(path, ignore_errors=True)
    place = beside.parent / f"{name}{os.getpid()}"
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write_parts(
    job: _Job,
    parts: Sequence[Part],
    settings: Settings,
    written: list[_Written],
    progress: bool,
) -> None:
    """Score parts and write them; `written` gets those that are done, in their order.

    Raises:
        _ScatteredGroups: a group has rows in several of them.
    """
    bar: Any = nullcontext()
    if progress:
        from tqdm.auto import tqdm  # slow to import

        bar = tqdm(total=len(parts), desc="scoring", unit=" parts", leave=False)
    done: dict[int, _Written] = {}
    next_check = 2
    try:
        with bar:
            for number, part in _scored_parts(job, parts, settings):
                done[number] = part
                if progress:
                    bar.update(1)
                if len(done) == next_check:
                    next_check *= 2
                    _check_keys(job, done.values())
        _check_keys(job, done.values())
    finally:
        written += [done[number] for number in sorted(done)]


def _check_keys(job: _Job, parts: Collection[_Written]) -> None:
    """Raise where two parts have rows of one group, or of one id.

    Raises:
        _ScatteredGroups: a group has rows in several of them.
        RolloutsError: so has an id.
    """
    ids = np.concatenate([part.ids for part in parts])
    repeated = len(ids) - len(np.unique(ids))
    if repeated:
        raise RolloutsError(
            f"{counted(repeated, 'row')} of {job.reading.name} repeat the rollout_id "
            "of a row far before them, and an id is of one rollout; rename the column, "
            "so that rows are known by their lines"
        )
    hashes = np.concatenate([part.groups for part in parts])
    if len(np.unique(hashes)) < len(hashes):
        raise _ScatteredGroups


def _scored_parts(
    job: _Job, parts: Sequence[Part], settings: Settings
) -> Iterator[tuple[int, _Written]]:
    """Yield the number of each part, once it is written, here or in a worker."""
    calls = [(number, part) for number, part in enumerate(parts, start=1)]
    if settings.workers is None:
        with settings.time_limit() as limit:
            for number, part in calls:
                yield number, _write_part(job, number, part, limit)
        return
    with (
        Workers(seconds=NO_LIMIT, count=settings.workers) as pool,
        worker_errors(job.reward.name),
    ):
        in_worker = _WorkerCall(job)
        for place, result in pool.map(in_worker, calls, chunk=1):
            number, part = calls[place]
            if isinstance(result, Lost):
                if not isinstance(result.error, WorkerEnded):
                    raise result.error
                # call by call, so that the row that ended it is an error
                with TimeLimit(NO_LIMIT, processes=settings.workers) as limit:
                    result = _write_part(job, number, part, limit)
            yield number, result


@dataclass(frozen=True)
class _WorkerCall:
    """Scores a part in a worker, which keeps its time limit from part to part."""

    job: _Job

    def __call__(self, number: int, part: Part) -> _Written:
        limit = _LIMITS.get("limit")
        if limit is None and self.job.settings.timeout is not None:
            limit = _LIMITS["limit"] = self.job.settings.time_limit()
        return _write_part(self.job, number, part, limit)


_LIMITS: dict[str, Any] = {}
"""The time limit of this worker, which ends with it."""


def _write_part(
    job: _Job, number: int, part: Part, limit: TimeLimit | None
) -> _Written:
    """Score a part and write it, unless its file is there."""
    path = job.path(number, part)
    with suppress(ValueError):
        record = read_stored(path)["record"]
        rollouts = _keys_in(path, record)
        return _describe(job, path, record, rollouts)
    rollouts = load_part(job.reading, part).rollouts
    settings = replace(job.settings, workers=None)
    scores = score_rollouts(job.reward, rollouts, settings, limit)
    figures = asdict(PartFigures.of(scores))
    content = path.stem.rpartition("-")[2]
    record = {**scores.record_with(content), FIGURES: figures}
    write_table(path, scores.table, record)
    return _describe(job, path, record, scores.rollouts)


def _describe(
    job: _Job, path: Path, record: Mapping[str, Any], rollouts: Rollouts
) -> _Written:
    """Return a part that is written, of these rollouts."""
    layout = job.reading.layout
    ids = np.empty(0, dtype=np.uint64)
    if layout is not None and layout.has_ids:
        texts = rollouts.table["rollout_id"].astype(str).astype(object)
        ids = pd.util.hash_array(texts.to_numpy())
    groups = rollouts.group_hashes
    record = _short(record)
    return _Written(path.name, record, groups, ids, os.getpid(), peak_memory())


def _short(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a part's record what differs between parts."""
    names = ("rollouts", "counts", "asked", "rewards_missing", "printed", FIGURES)
    return {name: record[name] for name in names if name in record}


def _keys_in(path: Path, record: Mapping[str, Any]) -> Rollouts:
    """Return of the rollouts in a part that is there what makes groups, and ids."""
    key = tuple(record["rollouts"]["group_key"])
    names = dict.fromkeys([*key, "prompt", "rollout_id"])
    stored = read_stored(path)
    with parquet().ParquetFile(path) as file:
        here = [name for name in names if name in file.schema_arrow.names]
        table = from_arrow(file.read(here), stored["json_columns"])
    return Rollouts(table, {}, key)


def _write_run(
    folder: Path, reward: Reward, written: Sequence[_Written], *, is_done: bool
) -> None:
    """Write the run record over all parts that are written."""
    records = [part.record for part in written]
    about = join_summaries([record["rollouts"] for record in records])
    prints = [record["rollouts"]["fingerprint"] for record in records]
    about["fingerprint"] = fingerprint(prints)
    counts: dict[str, Counter[str]] = {}
    printed = Printed()
    for record in records:
        for name, by_status in record["counts"].items():
            counts.setdefault(name, Counter()).update(by_status)
        if "printed" in record:
            printed.add(Printed(**record["printed"]))
    run: dict[str, Any] = {
        "reward": reward.record(),
        "rollouts": about,
        "counts": {name: dict(counts[name]) for name in counts},
        "rewards_missing": sum(record["rewards_missing"] for record in records),
        "seed": None,
        FIGURES: asdict(PartFigures.join(record[FIGURES] for record in records)),
        "parts": [part.name for part in written],
    }
    stored = read_stored(folder / written[0].name)["record"]
    for name in ("versions", "ignore_gates", "timeout"):
        run[name] = stored[name]
    if printed:
        run["printed"] = printed.record()
    if is_done:
        for path in (folder / SAVED_SCORES, *parts_in(folder)):
            if path.name not in run["parts"]:
                path.unlink(missing_ok=True)
    else:
        run[UNFINISHED] = {}
    write_record(folder, json.dumps(run, indent=2) + "\n")
