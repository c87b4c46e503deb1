"""Find the files of a log in a folder, and read steps from their names."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from os.path import commonpath
from pathlib import Path
from typing import NamedTuple

from rewardkit.errors import RolloutsError

CHOICES = (
    ("/effective/", "/all/", "prime-rl: those that were trained on"),
    ("/effective.jsonl", "/all.jsonl", "prime-rl: those that were trained on"),
    ("/train/effective/", "/eval/effective/", "prime-rl: training"),
    ("/train/all/", "/eval/all/", "prime-rl: training"),
    ("/train_data_step", "/val_data_step", "NeMo-RL: training"),
    ("/rollout/", "/eval-rollout/", "AReaL: training"),
    ("/generated/", "/generated-eval/", "AReaL: training"),
)
"""Choices between two sets of files in a folder: a substring of the paths to read, one
of the paths to leave out, and a description of the first.

prime-rl's `effective` episodes are those of `all` without errors and with a trained
model (0.6, `TrainEpisodes.effective`): reading both would count them twice.
"""

STEP_IN_NAME = re.compile(r"(?:^|[/_-])(?:global_)?step_?(\d+)(?=[/_.-]|$)")
"""The step in the path of a file: NeMo-RL's train_data_step3.jsonl, prime-rl's
step_3/..., SkyRL's global_step_3_evals/..."""


class LogFile(NamedTuple):
    """A file of a log, its name below the folder, and the split of a saved data set."""

    path: Path
    name: str
    split: str = ""


def log_files(folder: Path, kinds: Collection[str]) -> tuple[list[LogFile], list[str]]:
    """List the files of a log in a folder and its subfolders, 2.jsonl before 10.jsonl.

    Text and JSON files next to other kinds are descriptions and left out.

    Args:
        folder: The folder.
        kinds: Suffixes that can be read.

    Returns:
        The files, and notes on files that were left out.

    Raises:
        RolloutsError: There is no file, or files have several kinds.
    """
    saved = folder / "dataset_dict.json"
    if saved.is_file():
        files = []
        for split in json.loads(saved.read_bytes())["splits"]:
            for path in _paths_of_one_kind(folder / split, kinds):
                files.append(LogFile(path, f"{split}/{path.name}", split))
        return files, []
    paths, notes = _choose(folder, _paths_of_one_kind(folder, kinds))
    top = Path(commonpath([path.parent for path in paths]))
    return [LogFile(path, path.relative_to(top).as_posix()) for path in paths], notes


def step_in_name(path: str) -> int | None:
    """Return the step in the path of a file, or None.

    >>> [step_in_name(path) for path in ("exp/train_data_step12.jsonl", "steps.csv")]
    [12, None]
    """
    steps = STEP_IN_NAME.findall(path)
    return int(steps[-1]) if steps else None


def _paths_of_one_kind(folder: Path, kinds: Collection[str]) -> list[Path]:
    by_kind: dict[str, list[Path]] = {}
    for path in _visible_files(folder):
        kind = path.suffix.lower()
        if kind in kinds:
            by_kind.setdefault(kind, []).append(path)
    for kind in (".txt", ".json"):
        if len(by_kind) > 1:
            by_kind.pop(kind, None)
    if len(by_kind) > 1:
        counts = [f"{len(by_kind[kind])} {kind}" for kind in sorted(by_kind)]
        raise RolloutsError(
            f"the folder {str(folder)!r} holds files of several kinds "
            f"({', '.join(counts)}); give one of them, or a folder with one kind"
        )
    for paths in by_kind.values():
        return sorted(paths, key=_natural_key)
    raise RolloutsError(
        f"there is no file of rollouts in the folder {str(folder)!r}; they are read "
        f"from {', '.join(kinds)}"
    )


def _visible_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders, except hidden and cached ones."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name.startswith((".", "cache-")):
            continue
        if path.is_file():
            yield path
        elif not path.is_symlink():  # a link upwards would be an endless loop
            yield from _visible_files(path)


def _natural_key(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that puts 2.jsonl before 10.jsonl."""
    pieces = re.findall(r"([0-9]+)|([^0-9]+)", path.as_posix())
    return [(int(number or -1), text) for number, text in pieces]


def _choose(folder: Path, paths: list[Path]) -> tuple[list[Path], list[str]]:
    """Apply `CHOICES`; return the paths to read, and a note on each choice."""
    notes = []
    for mark, other_mark, description in CHOICES:
        names = [f"/{path.relative_to(folder).as_posix()}" for path in paths]
        others = {
            path for path, name in zip(paths, names, strict=True) if other_mark in name
        }
        if others and any(mark in name for name in names):
            paths = [path for path in paths if path not in others]
            notes.append(
                f"took the files of {mark.strip('/')!r} ({description}) and left out "
                f"{len(others)} of {other_mark.strip('/')!r}; give its path to read it"
            )
    return paths, notes
