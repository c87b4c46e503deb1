"""The shape that all made primitives share.

A frozen, picklable callable whose repr reads like the call that made it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any


class Made:
    """Base of the dataclasses behind the factories: `CodeBlock("python")` prints as `code_block('python')`.

    Fields without a default print as positional arguments, a field with metadata ``{"star": True}`` as
    ``*args``, the others as keywords where they differ from their default.
    """

    @property
    def factory(self) -> str:
        """Name of the function that makes it."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def __repr__(self) -> str:
        return self.written(_named)

    def written(self, write: Callable[[Any], str]) -> str:
        """The call that makes it, with each argument as `write` writes it."""
        parts: list[str] = []
        for field in fields(self):  # type: ignore[arg-type]
            value: Any = getattr(self, field.name)
            if field.metadata.get("star"):
                parts.extend(write(item) for item in value)
            elif field.default is MISSING:
                parts.append(f"{field.name}={write(value)}" if field.kw_only else write(value))
            elif value != field.default:
                parts.append(
                    write(value) if field.metadata.get("positional") else f"{field.name}={write(value)}"
                )
        return f"{self.factory}({', '.join(parts)})"


def _named(value: Any) -> str:
    """How an argument prints: a function by its name, nothing by where it lies in memory."""
    text = str(value.__qualname__) if hasattr(value, "__qualname__") else repr(value)
    return text if " at 0x" not in text else f"{type(value).__qualname__}()"


def one_of(option: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise a ValueError with one sentence unless `value` is one of `allowed`."""
    if value not in allowed:
        raise ValueError(f"{option}={value!r} is not known; use one of {', '.join(map(repr, allowed))}")


def true_or_false(**options: Any) -> None:
    """Raise a ValueError with one sentence unless each of these options is a bool."""
    for option, value in options.items():
        if not isinstance(value, bool):
            raise ValueError(f"{option}={value!r} does not fit; give True or False")


def whole_number(option: str, value: Any, least: int = 1) -> None:
    """Raise a ValueError with one sentence unless `value` is a whole number from `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{option}={value!r} does not fit; give a whole number from {least}")
