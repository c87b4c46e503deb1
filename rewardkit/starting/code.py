"""Values as they are written in Python files and in the parameters of notebooks."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from rewardkit.primitives.extract.extractor import Extractor

__all__ = ["code_of", "parameters_of", "with_values"]

TAG = "parameters"


def code_of(value: Any) -> str:
    """A made primitive or a plain value as it is written in a file, texts in double quotes where they can be.

    >>> from rewardkit.primitives import extract
    >>> code_of(extract.first_of(extract.tag("answer"), extract.boxed()))
    'rk.extract.first_of(rk.extract.tag("answer"), rk.extract.boxed())'
    """
    if isinstance(value, Extractor):
        return f"rk.extract.{value.written(code_of)}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{code_of(key)}: {code_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(code_of, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    text = repr(value)
    if isinstance(value, str) and text[0] == "'" and ('"' not in value or "'" in value):
        return '"' + text[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    return text


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


def parameters_of(notebook: Any, values: Mapping[str, Any] | None = None) -> list[str]:
    """The sources of the cells with parameters of a notebook: one; they get these values first."""
    sources = []
    for cell in notebook["cells"]:
        if TAG in cell["metadata"].get("tags", []):
            source = "".join(cell["source"])
            if values:
                cell["source"] = with_values(source, values).splitlines(keepends=True)
            sources.append("".join(cell["source"]))
    return sources
