"""Values as code: in reward files, and in the parameters of notebooks."""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardkit.rewards.source import expression
from rewardkit.rollouts.paths import GALLERY_PREFIX

QUOTED = re.compile(r"""'((?:[^'"\\]|\\.)*)'|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
"""A text as `repr` writes it; the group is what double quotes can hold as it is."""


def code_of(value: Any) -> str:
    """Write a primitive or a plain value as code, with double quotes where possible.

    >>> from rewardkit.primitives import extract
    >>> code_of(extract.first_of(extract.tag("answer"), extract.boxed()))
    'rk.extract.first_of(rk.extract.tag("answer"), rk.extract.boxed())'
    """
    return QUOTED.sub(_use_double_quotes, expression(value, _name_of))


def _name_of(value: Any, _: Any) -> str:
    return str(getattr(value, "__name__", repr(value)))


def _use_double_quotes(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else f'"{match[1]}"'


def notebook_text(source: str, values: Mapping[str, Any]) -> str:
    """Return the text of a notebook with these values in its cell of parameters."""
    notebook = json.loads(source)
    cell = parameters_cell(notebook)
    source = with_values("".join(cell["source"]), values)
    cell["source"] = source.splitlines(keepends=True)
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def has_same_parameters(path: Path, text: str) -> bool:
    """Whether a file is a notebook with the parameters of the notebook of this text."""
    try:
        cell = parameters_cell(json.loads(path.read_text(encoding="utf-8")))
        source = "".join(cell["source"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return False  # another file
    return source == "".join(parameters_cell(json.loads(text))["source"])


def parameters_cell(notebook: Any) -> Any:
    """Return the cell of a notebook that is tagged as that of its parameters."""
    for cell in notebook["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            return cell
    raise StopIteration


def with_values(source: str, values: Mapping[str, Any]) -> str:
    """Return the source of a parameters cell with these values.

    Types and comments stay; names that are no parameter are ignored.

    >>> with_values('seed: int = 0  # of the draw', {"seed": 3, "label": "good"})
    'seed: int = 3  # of the draw'
    """
    written = source.encode()  # positions in a syntax tree count bytes
    starts = [0, *itertools.accumulate(map(len, written.splitlines(keepends=True)))]
    for statement in reversed(ast.parse(source).body):
        if not isinstance(statement, ast.AnnAssign) or statement.value is None:
            continue
        name, old = ast.unparse(statement.target), statement.value
        if name in values and old.end_lineno and old.end_col_offset:
            start = starts[old.lineno - 1] + old.col_offset
            end = starts[old.end_lineno - 1] + old.end_col_offset
            written = written[:start] + code_of(values[name]).encode() + written[end:]
    return written.decode()


def seen_from(folder: Path, source: str | Path) -> str:
    """Return a path as what runs in the folder names it.

    A name of the gallery and an absolute path stay; it is absolute where no other path
    leads there.
    """
    path = Path(source)
    if str(source).startswith(GALLERY_PREFIX) or path.is_absolute():
        return str(source)
    real = path.parent.resolve() / path.name
    try:
        return Path(os.path.relpath(real, folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return real.as_posix()
