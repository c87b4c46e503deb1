"""Score and write one part of a large log.

The name of a part has its number and a hash of everything that its scores depend on:
its rows, the definition, and the options. So an interrupted run can go on, and a part
of another definition is never mistaken for one of this.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.plain import Record
from rewardkit.rewards.fingerprint import fingerprint
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.files import BUCKET, piece_bytes
from rewardkit.rollouts.load import Reading
from rewardkit.rollouts.paths import SAVED_SCORES
from rewardkit.rollouts.table import Rollouts, join_summaries
from rewardkit.rollouts.whole_groups import LargeLog, Part, load_part
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.parted import FIGURES, SAMPLED_SHARES, PartFigures
from rewardkit.scoring.prints import Printed
from rewardkit.scoring.scored import score_rollouts
from rewardkit.scoring.scores import UNFINISHED, parts_in, versions, write_record
from rewardkit.scoring.shards import Settings
from rewardkit.scoring.stored import FirstRows, join_tables, read_stored, write_table


@dataclass(frozen=True)
class PartJob:
    """Everything that the scores of all parts depend on, except their rows.

    `definition` is the record of the reward, as a process on a node may lack the source
    of its functions. `base` is a hash of everything except the folder.
    """

    folder: Path
    reward: Reward
    definition: Record
    reading: Reading
    settings: Settings
    base: str

    @classmethod
    def of(
        cls, folder: Path, reward: Reward, log: LargeLog, settings: Settings
    ) -> PartJob:
        """Return the job of scoring a log with a reward into a folder."""
        reading = log.reading
        layout = reading.layout
        assert layout is not None
        definition = reward.record()
        plain = [
            definition,
            versions(),
            {**asdict(settings), "workers": None},
            [reading.name, dict(reading.columns), reading.on, reading.fill],
            [reading.join.name, reading.join.columns] if reading.join else None,
            [layout.form.name, asdict(layout.log), layout.mapping, layout.names],
            [layout.group_key, layout.are_ids_by_file],
            log.part_bytes,
        ]
        text = json.dumps(plain, default=str, sort_keys=True)
        settings = replace(settings, workers=settings.workers and 1)
        base = fingerprint(text)
        return cls(folder, reward, definition, reading, settings, base)

    def digits(self, *, is_sorted: bool) -> str:
        """Return the prefix of the hashes of parts.

        It differs if the log `is_sorted` on the disk, which distinguishes parts cut
        before scattered groups were found from those cut after.
        """
        return fingerprint([self.base, is_sorted])[:6]

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
        digits = self.digits(is_sorted=part[0].kind == BUCKET)
        digits += digest.hexdigest()[:10]
        return self.folder / f"scores-{number:06}-{digits}.parquet"


@cache
def _content_hash(path: Path, changed: int) -> bytes:
    """Return the hash of a file, cached by its modification time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


class WrittenPart(NamedTuple):
    """A written part: its number and file name, with hashes of its groups and ids.

    `ids` are hashes of `rollout_id`, empty if the log has none. `process` is the node
    and the id of the process that wrote the part, `memory` its peak memory in bytes.
    """

    number: int
    name: str
    groups: NDArray[np.uint64]
    ids: NDArray[np.uint64]
    process: tuple[str, int]
    memory: int


def this_process() -> tuple[str, int]:
    """Return the node and the id of this process."""
    return platform.node(), os.getpid()


def peak_memory() -> int:
    """Return the peak memory of this process in bytes, 0 if not known.

    ru_maxrss would be wrong, as it includes the peak of the parent process.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


def write_part(
    job: PartJob, number: int, part: Part, limit: TimeLimit | None
) -> WrittenPart:
    """Score a part and write it, unless its file exists."""
    path = job.path(number, part)
    with suppress(ValueError):
        record = read_stored(path).record
        key = tuple(record["rollouts"]["group_key"])
        keys = read_stored(path, {*key, "prompt", "rollout_id"})
        rollouts = Rollouts(join_tables([keys]), {}, key)
        return _describe(job, number, path, rollouts)
    rollouts = load_part(job.reading, part).rollouts
    settings = replace(job.settings, workers=None)
    scores = score_rollouts(job.reward, rollouts, settings, limit, is_part=True)
    record = scores.record_with(path.stem.rpartition("-")[2])
    record["reward"] = job.definition
    record[FIGURES] = asdict(PartFigures.of(scores))
    first_rows = FirstRows.of(scores.rollouts.prompt_shares, SAMPLED_SHARES)
    write_table(path, scores.table, record, first_rows=first_rows)
    return _describe(job, number, path, scores.rollouts)


def _describe(job: PartJob, number: int, path: Path, rollouts: Rollouts) -> WrittenPart:
    """Describe a written part with these rollouts."""
    layout = job.reading.layout
    ids = np.empty(0, dtype=np.uint64)
    if layout is not None and "rollout_id" in layout.mapping:
        texts = rollouts.table["rollout_id"].astype(str).astype(object)
        ids = pd.util.hash_array(texts.to_numpy())
    hashes = rollouts.group_hashes
    return WrittenPart(number, path.name, hashes, ids, this_process(), peak_memory())


def write_run(folder: Path, names: Sequence[str], *, is_done: bool) -> None:
    """Write the run record over all written parts.

    Args:
        folder: The folder of the scores.
        names: File names of the parts, in order.
        is_done: Whether the scoring is finished; then other parts are removed.
    """
    records: list[Record] = []
    for name in names:
        record = read_stored(folder / name).record
        if records:
            del record["reward"]  # the same in each, and most of its size
        records.append(record)
    first = records[0]
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
    run: Record = {
        "reward": first["reward"],
        "rollouts": about,
        "counts": {name: dict(counts[name]) for name in counts},
        "rewards_missing": sum(record["rewards_missing"] for record in records),
        "seed": None,
        FIGURES: asdict(PartFigures.join(record[FIGURES] for record in records)),
        "parts": list(names),
        "versions": first["versions"],
        "ignore_gates": first["ignore_gates"],
        "timeout": first["timeout"],
    }
    if printed:
        run["printed"] = printed.record()
    if is_done:
        for path in (folder / SAVED_SCORES, *parts_in(folder)):
            if path.name not in run["parts"]:
                path.unlink(missing_ok=True)
    else:
        run[UNFINISHED] = {}
    write_record(folder, run)
