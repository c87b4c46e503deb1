"""Score into a folder; score a large log part by part without holding it."""

from __future__ import annotations

import logging
import shutil
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.errors import Interrupted, RewardError, RolloutsError
from rewardkit.findings import counted
from rewardkit.primitives.weights import Transform
from rewardkit.rewards.fingerprint import definition_hash
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.paths import (
    RECORDED_SCORES,
    SAVED_SCORES,
    hold_folder,
    job_digits,
)
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.whole_groups import (
    LargeLog,
    Part,
    ScatteredGroups,
    cut_parts,
    open_large,
    write_buckets,
)
from rewardkit.scoring.calls import prepare
from rewardkit.scoring.part_engines import SEEN_MARK, PartEngine, parts_on, write_parts
from rewardkit.scoring.part_job import (
    PartJob,
    WrittenPart,
    peak_memory,
    this_process,
    write_run,
)
from rewardkit.scoring.parted import PartedScores
from rewardkit.scoring.ray_engine import Ray
from rewardkit.scoring.scored import progress_bar, read_unfinished, score_rollouts
from rewardkit.scoring.scores import (
    RUN_RECORD,
    UNFINISHED,
    Scores,
    folder_for,
    parts_in,
)
from rewardkit.scoring.shards import ROWS_MEMORY, Settings
from rewardkit.scoring.stored import read_stored

logger = logging.getLogger(__name__)

LARGEST_PART = 16_000_000
"""Most bytes of the log in a part. Our choice: larger parts are not faster."""

PARTS_HELD = 2
"""Fewest parts that fit into memory, each in a worker. Our choice.

Parts must not depend on the number of workers, so that a run can go on with another.
"""

SCATTERED = "the completions of a prompt do not stand together"
"""Why a log is sorted on the disk."""

GROUPS_FOLDER = ".scores-groups"
"""Subfolder of the scores' folder for sorting scattered groups."""

LEFTOVERS = (
    f".scores-{6 * '?'}-{16 * '?'}.parquet.*",  # not those of a recorder
    f".{SAVED_SCORES}.*",
    f".{RUN_RECORD}.*",
    f"{SEEN_MARK}*",
    GROUPS_FOLDER,
)
"""Files that a killed process may leave in a folder of scores."""

BYTES_HELD = 16
"""Bytes of memory per byte of a part: its rows as Python values, as columns, and as the
written table. Measured: 9 for texts."""


def open_log(
    source: Any,
    memory: int = ROWS_MEMORY,
    workers: int | None = None,
    **reading: Any,
) -> LargeLog | Rollouts:
    """Open a log to be scored into a folder: in parts, or whole if it is small.

    Args:
        source: A source of `load_rollouts`.
        memory: Bytes for the rows in memory.
        workers: Processes that share the memory.
        **reading: Options of `load_rollouts`.

    Raises:
        RolloutsError: See `load_rollouts`.
    """
    if isinstance(source, LargeLog | Rollouts):
        return source
    most_bytes = max(1, memory // BYTES_HELD)
    part_bytes = max(1, min(most_bytes // PARTS_HELD, LARGEST_PART))
    most_bytes //= min(workers or 1, most_bytes // part_bytes)
    large = open_large(source, part_bytes=part_bytes, most_bytes=most_bytes, **reading)
    if large is None:
        return load_rollouts(source, **reading)
    for file in large.files:
        size = BYTES_HELD * file.bytes
        if not file.can_be_cut and not file.has_blocks and size > memory:
            logger.warning(
                "%s is read whole, as it is not cut: about %.3g GB of memory, where "
                "%.3g GB are allowed; JSON lines, Parquet and CSV are read in parts",
                file.piece.path.name,
                size / 1e9,
                memory / 1e9,
            )
    return large


def score_into(
    folder: str | Path,
    reward: Reward,
    source: Any,
    settings: Settings,
    *,
    engine: Ray | None,
    memory: int,
    force: bool,
    progress: bool,
    unfinished: Scores | None,
) -> Scores:
    """Score rollouts into a folder; for arguments and errors see `score`."""
    settings.check()
    log = open_log(source, memory, settings.workers)
    source = log.source if isinstance(log, Rollouts) else log.reading.name
    rollouts = log.fingerprint if isinstance(log, Rollouts) else None
    with folder_for(folder) as place, hold_folder(place):
        if not force:
            _check_same_scoring(place, reward, source, rollouts)
        _remove_leftovers(place)
        if isinstance(log, Rollouts):
            if not force and unfinished is None:
                unfinished = read_unfinished(place, reward, log, settings.ignore_gates)
            if engine is not None:
                logger.warning(
                    "%s: a log of one part is scored in this process, without Ray",
                    log.source,
                )
            return _score_whole(place, reward, log, settings, progress, unfinished)
        _check_parts_will_do(reward)
        settings.time_limit()  # raises if it is invalid
        prepare(reward.functions)  # once, as budgets and deadlines span the run
        settings = _with_workers_that_fit(settings, log, memory)
        job = PartJob.of(place, reward, log, settings)
        if not force:
            _warn_of_others(job)
        if engine is None:
            local = partial(write_parts, job, settings.workers)
            return _score_parts(job, log, local, progress)
        with parts_on(engine, job, log.files[0]) as on_ray:
            return _score_parts(job, log, on_ray, progress)


# --- one part


def _score_whole(
    folder: Path,
    reward: Reward,
    rollouts: Rollouts,
    settings: Settings,
    progress: bool,
    unfinished: Scores | None,
) -> Scores:
    """Score rollouts in memory and save them; on an interrupt, the finished rows."""
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


def _check_same_scoring(
    folder: Path, reward: Reward, source: str, rollouts: str | None
) -> None:
    """Raise a RolloutsError if a folder holds scores of another reward or log.

    Args:
        folder: The folder for the scores.
        reward: The reward to score with.
        source: The name of the log.
        rollouts: The fingerprint of the rows; None for a log in parts, which is
            identified by its name.
    """
    for file in (folder / SAVED_SCORES, *sorted(folder.glob(RECORDED_SCORES))):
        try:
            record = read_stored(file).record
            definition = definition_hash(record["reward"])
            scored_rollouts = record["rollouts"]["fingerprint"]
            if UNFINISHED in record:
                scored_rollouts = record[UNFINISHED]["rollouts"]
            name, scored_source = record["reward"]["name"], record["rollouts"]["source"]
        except (ValueError, KeyError, TypeError):
            continue  # not readable by this version of rewardkit
        is_same = definition == definition_hash(reward.record())
        if file.name == SAVED_SCORES and rollouts is not None:
            is_same &= scored_rollouts == rollouts
        else:
            is_same &= scored_source == source
        if not is_same or "recorder" in record:
            raise RolloutsError(
                f"{str(folder)!r} holds another scoring, of {name!r} on "
                f"{scored_source}; give another folder, keep versions side by side "
                "with --keep, or write over it with --force"
            )


@contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Delay signals that end a command until the block ends; yield those received.

    Ignored signals stay ignored. Outside the main thread nothing is delayed.
    """
    signals: list[int] = []
    before = {}
    with suppress(ValueError):  # not in the main thread
        on_hang_up = getattr(signal, "SIGHUP", signal.SIGTERM)  # not on Windows
        for number in {signal.SIGINT, signal.SIGTERM, on_hang_up}:
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


def _check_parts_will_do(reward: Reward) -> None:
    """Raise a RewardError if a reward needs all rows of a log at once."""
    batch_names = [item.name for item in reward.all_components if item.batch is True]
    if batch_names:
        raise RewardError(
            f"component {batch_names[0]!r} of reward {reward.name!r} takes all rows in "
            "one call (batch=True), and the log is scored in parts; give it more memory"
        )
    for part in [reward, *getattr(reward, "branches", ())]:
        transform = part.transform
        by_group = isinstance(transform, Transform) and transform.within == "group"
        if transform is not None and not by_group:
            raise RewardError(
                f"the transform of reward {part.name!r} takes all rewards at once, and "
                "the log is scored in parts; give it more memory, or one within groups"
            )


def _with_workers_that_fit(settings: Settings, log: LargeLog, memory: int) -> Settings:
    """Return settings with no more workers than parts fit into memory."""
    count = memory // (BYTES_HELD * log.part_bytes)
    if settings.workers is None or settings.workers <= count:
        return settings
    logger.warning(
        "%.2g GB of memory hold the parts of %s, so that %s score and not %s; all need "
        "%.2g GB",
        memory / 1e9,
        counted(count, "worker"),
        count,
        settings.workers,
        settings.workers * BYTES_HELD * log.part_bytes / 1e9,
    )
    return replace(settings, workers=count)


def _warn_of_others(job: PartJob) -> None:
    """Log the number of parts in the folder of a job that it cannot use."""
    usable = {job.digits(is_sorted=False), job.digits(is_sorted=True)}
    others = [path for path in parts_in(job.folder) if job_digits(path) not in usable]
    if others:
        logger.warning(
            "%s: %s of another memory, other options or versions cannot be used; "
            "their rows are scored again",
            job.folder,
            counted(len(others), "part"),
        )


def _score_parts(
    job: PartJob, log: LargeLog, engine: PartEngine, progress: bool
) -> Scores:
    """Score a log part by part; if its groups are scattered, sort them first."""
    folder, reward = job.folder, job.reward
    written: dict[int, WrittenPart] = {}
    try:
        sort_reason = ""
        if any(file.has_blocks for file in log.files):
            sort_reason = "a file of its kind is not cut, as JSON lines and Parquet are"
        elif job.digits(is_sorted=True) in map(job_digits, parts_in(folder)):
            sort_reason = SCATTERED  # found by an earlier call
        else:
            try:
                _write_parts(engine, job, list(cut_parts(log)), written, progress)
            except ScatteredGroups:
                sort_reason = SCATTERED
                written.clear()
        if sort_reason:
            parts = _sort_groups(job, log, sort_reason)
            _write_parts(engine, job, parts, written, progress)
    except KeyboardInterrupt:
        if not written:
            raise
        with interrupts_held():
            write_run(folder, _names_in_order(written), is_done=False)
        raise Interrupted(PartedScores(folder, reward), None) from None
    finally:
        _remove_leftovers(folder)
    write_run(folder, _names_in_order(written), is_done=True)
    peaks = {this_process(): peak_memory()}
    for part in written.values():
        peaks[part.process] = max(part.memory, peaks.get(part.process, 0))
    scores = PartedScores(folder, reward, sum(peaks.values()))
    for sentence in scores.record["rollouts"]["warnings"]:
        logger.warning("%s: %s", log.reading.name, sentence)
    return scores


def _sort_groups(job: PartJob, log: LargeLog, reason: str) -> list[Part]:
    """Sort the rows of a log by group on the disk; remove parts of the unsorted log."""
    for path in parts_in(job.folder):
        if job_digits(path) == job.digits(is_sorted=False):
            path.unlink()
    place = job.folder / GROUPS_FOLDER
    logger.warning(
        "%s: %s; its rows are put into order on the disk first, about %.2f GB in %s",
        log.reading.name,
        reason,
        log.size / 1e9,
        place,
    )
    place.mkdir()
    return write_buckets(log, place)


def _names_in_order(written: Mapping[int, WrittenPart]) -> list[str]:
    """Return the file names of parts in the order of their numbers."""
    return [written[number].name for number in sorted(written)]


def _remove_leftovers(folder: Path) -> None:
    """Remove the leftovers of killed processes from a folder that this one holds."""
    for pattern in LEFTOVERS:
        for path in folder.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _write_parts(
    engine: PartEngine,
    job: PartJob,
    parts: Sequence[Part],
    written: dict[int, WrittenPart],
    progress: bool,
) -> None:
    """Score parts and write them; add each finished part to `written`, by number.

    Raises:
        ScatteredGroups: A group has rows in several parts.
    """
    bar = progress_bar(len(parts), "parts", is_shown=progress)
    next_check = 2
    with bar, closing(engine(list(enumerate(parts, start=1)))) as finished:
        for part in finished:
            written[part.number] = part
            if progress:
                bar.update(1)
            if len(written) == next_check:
                next_check *= 2
                _check_keys(job, written.values())
    _check_keys(job, written.values())


def _check_keys(job: PartJob, parts: Collection[WrittenPart]) -> None:
    """Raise an error if two parts share a group or an id.

    Raises:
        ScatteredGroups: A group has rows in several parts.
        RolloutsError: An id occurs in several rows.
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
        raise ScatteredGroups
