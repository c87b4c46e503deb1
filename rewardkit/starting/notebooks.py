"""Notebooks with values for their parameters, in which paths are seen from the folder that they run in."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardkit.rollouts.package_data import GALLERY
from rewardkit.starting.code import code_of


def notebook_text(source: str, values: Mapping[str, Any]) -> str:
    """The text of a notebook with these values in its cell of parameters."""
    notebook = json.loads(source)
    cell = parameters_cell(notebook)
    cell["source"] = with_values("".join(cell["source"]), values).splitlines(
        keepends=True
    )
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def same_parameters(path: Path, text: str) -> bool:
    """Whether a file is a notebook with the parameters that the notebook of this text has."""
    try:
        there = parameters_cell(json.loads(path.read_text(encoding="utf-8")))["source"]
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        StopIteration,
    ):  # another file
        return False
    return "".join(there) == "".join(parameters_cell(json.loads(text))["source"])


def parameters_cell(notebook: Any) -> Any:
    """The cell of a notebook that is tagged as that of its parameters."""
    return next(
        cell
        for cell in notebook["cells"]
        if "parameters" in cell["metadata"].get("tags", [])
    )


def with_values(source: str, values: Mapping[str, Any]) -> str:
    """The source of a parameters cell with these values; types and comments stay, other names are left out.

    A parameter is a line, as in all notebooks that come with rewardkit.

    >>> with_values('seed: int = 0  # of the draw', {"seed": 3, "label": "good"})
    'seed: int = 3  # of the draw'
    """

    def filled(found: re.Match[str]) -> str:
        declared, name, value, comment = found.groups()
        return (
            f"{declared}{code_of(values[name]) if name in values else value}{comment}"
        )

    return re.sub(r"(?m)^((\w+): [^=\n]+ = )(.*?)((?:  # .*)?)$", filled, source)


def seen_from(folder: Path, source: str | Path) -> str:
    """A path as what runs in the folder names it; a name of the gallery and a whole path stay.

    It is whole where no other one leads there.
    """
    path = Path(source)
    if str(source).startswith(GALLERY) or path.is_absolute():
        return str(source)
    real = path.parent.resolve() / path.name
    try:
        return Path(os.path.relpath(real, folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return real.as_posix()
