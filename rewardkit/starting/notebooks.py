"""Notebooks with values for their parameters, in which paths are seen from the folder that they run in."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardkit.rollouts.package_data import GALLERY
from rewardkit.starting.code import code_of

__all__ = ["notebook_text", "parameters_of", "seen_from"]

TAG = "parameters"


def notebook_text(source: str, values: Mapping[str, Any]) -> str:
    """The text of a notebook with these values in its cell of parameters."""
    notebook = json.loads(source)
    cell = _parameters(notebook)
    cell["source"] = with_values("".join(cell["source"]), values).splitlines(keepends=True)
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def parameters_of(text: str) -> str:
    """The source of the cell of parameters. ValueError: it is no notebook that has one."""
    try:
        return "".join(_parameters(json.loads(text))["source"])
    except (KeyError, TypeError, StopIteration, AttributeError) as error:
        raise ValueError(f"no notebook with parameters: {error}") from error


def _parameters(notebook: Any) -> Any:
    return next(cell for cell in notebook["cells"] if TAG in cell["metadata"].get("tags", []))


def with_values(source: str, values: Mapping[str, Any]) -> str:
    """The source of a parameters cell with these values; types and comments stay, other names are left out.

    >>> with_values('seed: int = 0  # of the draw', {"seed": 3, "label": "good"})
    'seed: int = 3  # of the draw'
    """
    lines = [line.encode() for line in source.splitlines(keepends=True)]  # ast counts bytes
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if statement.target.id in values and (old := statement.value) is not None:
            at, line = old.lineno - 1, lines[old.lineno - 1]
            new = code_of(values[statement.target.id]).encode()
            lines[at] = line[: old.col_offset] + new + line[old.end_col_offset :]
    return b"".join(lines).decode()


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
