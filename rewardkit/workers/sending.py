"""Functions and values as they are sent to another process, which need not be able to import them."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import cloudpickle

__all__ = ["MODULE_SOURCE", "CannotSend", "by_value", "file_modules", "pickled"]

MODULE_SOURCE = "__rewardkit_source__"
"""Under this name a module that was run from a file, and cannot be imported by name, holds its source."""


class CannotSend(TypeError):
    """A function, its arguments or what it returned cannot be sent to another process."""


_PLAIN = {str, int, float, bool, type(None)}


def pickled(value: Any, what: str = "it") -> bytes:
    """A value as it is sent; CannotSend: it cannot be."""
    try:
        if isinstance(value, tuple) and _PLAIN.issuperset(map(type, value)):
            return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return cast(bytes, cloudpickle.dumps(value))
    except Exception as error:  # whatever an object raises when it is pickled
        raise CannotSend(f"{what} cannot be pickled: {error}") from error


@contextmanager
def by_value(names: Sequence[str | None]) -> Iterator[None]:
    """Let cloudpickle send what is defined in these modules whole, instead of the name to import."""
    modules = [sys.modules[str(name)] for name in names]
    added = [m for m in modules if m.__name__ not in cloudpickle.list_registry_pickle_by_value()]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)


def file_modules(content: bytes) -> list[tuple[str, str, bytes]]:
    """Name, path and source of the modules that a pickled function needs and that no import would find."""
    return [
        (name, str(module.__file__), vars(module)[MODULE_SOURCE])
        for name, module in list(sys.modules.items())
        if MODULE_SOURCE in getattr(module, "__dict__", {}) and name.encode() in content
    ]
