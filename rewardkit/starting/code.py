"""Code: values as they are written in Python files and in the parameters of notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rewardkit.primitives.extract.extractor import Extractor


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
