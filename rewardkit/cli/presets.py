"""Copies of the bundled notebooks with values for their parameters; nothing that is there is overwritten."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from rewardkit.rollouts.package_data import GALLERY
from rewardkit.rollouts.write import write_whole
from rewardkit.starting.code import parameters_of

__all__ = ["copied", "from_folder"]

PATHS = ("rollouts", "cases", "join", "baseline")


def copied(sources: Sequence[Path], folder: Path, values: Mapping[str, Any]) -> list[Path]:
    """The notebooks as they are to be opened: copies in the folder whose parameters have these values.

    A copy that is there is opened again where its parameters are the same, whatever else was changed in it;
    else all get the first number that none with others has: ``01_build-2.ipynb``. Without values copies that
    are there are kept as they are.
    """
    values = {name: from_folder(name, value, folder) for name, value in values.items()}
    made = {source.stem: _preset(source, values) for source in sources}
    for number in count(1):
        behind = "" if number == 1 else f"-{number}"
        targets = {folder / f"{stem}{behind}.ipynb": notebook for stem, notebook in made.items()}
        missing = {path: notebook for path, notebook in targets.items() if not path.exists()}
        if not values or all(_same(path, targets[path]) for path in targets if path not in missing):
            break
    folder.mkdir(parents=True, exist_ok=True)
    for path, notebook in missing.items():
        _write(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    return list(targets)


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def from_folder(name: str, value: Any, folder: Path) -> Any:
    """A parameter's value for a notebook that runs in the folder.

    A path that is relative to here becomes relative to there. What is none stays: a name of the gallery, a
    module, a whole path.
    """
    if name == "reward":
        place, colon, attribute = value.rpartition(":")
        if value.endswith(".py") or not place.endswith(".py"):
            place, colon, attribute = value, "", ""
        return _path(place, folder) + colon + attribute if place.endswith(".py") else value
    return _path(value, folder) if name in PATHS and value and not value.startswith(GALLERY) else value


def _path(place: str, folder: Path) -> str:
    return place if Path(place).is_absolute() else os.path.relpath(Path(place).resolve(), folder.resolve())


def _preset(source: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    parameters_of(notebook, values)
    return notebook


def _same(path: Path, notebook: Mapping[str, Any]) -> bool:
    """Whether the notebook that is there has the same parameters."""
    try:
        return parameters_of(json.loads(path.read_text(encoding="utf-8"))) == parameters_of(notebook)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no notebook, so another file
        return False
