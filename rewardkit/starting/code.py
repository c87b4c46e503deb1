"""Code: values as they are written in Python files and in parameters of notebooks."""

from __future__ import annotations

import re
from typing import Any

from rewardkit.rewards.expression import expression

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
