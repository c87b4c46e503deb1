"""Strict JSON in text."""

from __future__ import annotations

import json
import re
from typing import Any

MISSING = object()
"""Stands for what is no JSON."""


def read_json(text: str, **numbers: Any) -> Any:
    """The value of a text that is strict JSON (no NaN, no single quotes); `MISSING` where it is none.

    `numbers` are `parse_int` and `parse_float` of the json module.
    """
    try:
        return json.loads(text, parse_constant=_refuse, **numbers)
    except (ValueError, RecursionError):
        return MISSING


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_BRACKET = re.compile(r"[\[\]{}]")


def depth(text: str) -> int:
    """How deep the brackets of a text nest."""
    now = deepest = 0
    for bracket in _BRACKET.findall(text):
        now = now + 1 if bracket in "[{" else max(now - 1, 0)
        deepest = max(deepest, now)
    return deepest
