"""The files of a folder of scores: their names and their order.

Rewards in a trainer import this module, so it does not import pandas.
"""

from __future__ import annotations

from pathlib import Path

from rewardkit.rollouts.paths import RECORDED_SCORES, SAVED_SCORES

RECORDER = "recorder"
"""Key of the recorder's own entry in a part's record."""

TRAINER_STEPS = "trainer"
"""The origin of a part's steps if the trainer passes the step of a batch."""


def part_paths(folder: Path) -> list[Path]:
    """List the files of scores in a folder, each session's parts in order."""
    saved = folder / SAVED_SCORES
    recorded = sorted(folder.glob(RECORDED_SCORES))
    return [saved, *recorded] if saved.is_file() else recorded


def part_name(session: str, number: int) -> str:
    """Return the name of the file of a session's part.

    >>> part_name("3f2a9c01", 12)
    'scores-3f2a9c01-000012.parquet'
    """
    return f"scores-{session}-{number:06}.parquet"


def sessions(folder: Path) -> dict[str, int]:
    """Return the number of parts of each session in a folder.

    Parts are numbered from 1, so the name of the last part holds the count.
    """
    counts = {}
    for path in sorted(folder.glob(RECORDED_SCORES)):
        session, _, number = path.stem.removeprefix("scores-").rpartition("-")
        if number.isdigit():
            counts[session] = int(number)
    return counts
