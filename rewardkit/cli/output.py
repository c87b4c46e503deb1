"""What commands print: text for a person or one JSON object, as every terminal can take it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import click

__all__ = ["emit", "printable"]


def emit(record: Mapping[str, Any], text: str, as_json: bool) -> None:
    """Print what a command found: the record as one JSON object, or the text."""
    shown = json.dumps(plain(record), ensure_ascii=True, allow_nan=False) if as_json else text
    click.echo(printable(shown))


def printable(text: str) -> str:
    """The text as every terminal can take it: lone surrogates as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


LINE = 110
"""Characters of a line that a terminal shows without breaking it. Our choice."""


MOST = 4
"""Lines that a command says of what a function was taken for. Our choice."""


def recognised(origin: str | None) -> list[str]:
    r"""What a function was taken for, a few lines, cut between clauses or words; ``--json`` has all of it.

    >>> recognised("read as a function; " + "recognised " * 20), len(recognised("error\n" * 60))
    (['read as a function ...'], 5)
    """
    lines = (origin or "").splitlines()
    more = [f"and {len(lines) - MOST} more lines: --json"] if len(lines) > MOST else []
    return [*map(_cut, lines[:MOST]), *more]


def _cut(line: str) -> str:
    if len(line) <= LINE:
        return line
    kept = line[: LINE - 4]
    return f"{kept.rpartition('; ')[0] or kept.rpartition(' ')[0] or kept} ..."


def plain(value: Any) -> Any:
    """Values as JSON has them; a number that is not finite is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
