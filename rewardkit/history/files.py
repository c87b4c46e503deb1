"""The files of a folder of scores: their names, and in what order they are.

Imported by rewards that a trainer loads: without pandas.
"""

from __future__ import annotations

from pathlib import Path

from rewardkit.rollouts.paths import RECORDED_SCORES, SAVED_SCORES

RECORDER = "recorder"
"""Key of a part's record under which the recorder says what it did."""

TRAINER_STEPS = "trainer"
"""Where the steps of a part are from, if the trainer says which step a batch is of."""


def part_paths(folder: Path) -> list[Path]:
    """List the files of scores in a folder, those of a session in their order."""
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
    """Return the sessions of a folder, each with the number of its parts.

    A session numbers its parts from 1, so its last one has the count in its name.
    """
    counts = {}
    for path in sorted(folder.glob(RECORDED_SCORES)):
        session, _, number = path.stem.removeprefix("scores-").rpartition("-")
        if number.isdigit():
            counts[session] = int(number)
    return counts
