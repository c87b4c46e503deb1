"""Code: values as they are written in Python files and in the parameters of notebooks."""

from __future__ import annotations

import re
from typing import Any

from rewardkit.rewards.expression import expression

QUOTED = re.compile(r"""'((?:[^'"\\]|\\.)*)'|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
"""A text as `repr` writes it; the group is what double quotes can hold as it is."""


def code_of(value: Any) -> str:
    """A made primitive or a plain value as it is written in a file, texts in double quotes where they can be.

    >>> from rewardkit.primitives import extract
    >>> code_of(extract.first_of(extract.tag("answer"), extract.boxed()))
    'rk.extract.first_of(rk.extract.tag("answer"), rk.extract.boxed())'
    """
    text = expression(value, lambda item, _: getattr(item, "__name__", repr(item)))
    return QUOTED.sub(
        lambda found: found[0] if found[1] is None else f'"{found[1]}"', text
    )
