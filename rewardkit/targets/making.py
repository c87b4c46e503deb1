"""An object of a user's class, as a trainer makes it."""

from __future__ import annotations

import inspect
import traceback
from functools import lru_cache
from typing import Any

from rewardkit.errors import CAUGHT, RewardError, describe_error

__all__ = ["made"]


@lru_cache(maxsize=8)  # so that all who look at a class speak of one object
def made(kind: type, *arguments: Any) -> Any:
    """An object of the class, the same each time; RewardError with file and line where its making fails.

    >>> class Weighed:
    ...     def __init__(self, weight): ...
    >>> made(Weighed)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    rewardkit.errors.RewardError: ...Weighed() failed with TypeError: ...; give an object of it, made with ...
    """
    try:
        return kind(*arguments)
    except CAUGHT as error:
        raise RewardError(
            f"{_where(kind, error)}{kind.__name__}({', '.join(map(repr, arguments))}) failed with "
            f"{' '.join(describe_error(error).split())}; give an object of it, made with what it needs"
        ) from error


def _where(kind: type, error: BaseException) -> str:
    """File and line in the class's file where it failed, else where the class makes its objects."""
    code = getattr(getattr(kind, "__init__", None), "__code__", None)
    try:
        file = inspect.getsourcefile(kind)
    except (OSError, TypeError):
        return ""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = lines[-1] if lines else code.co_firstlineno if code and code.co_filename == file else None
    return f"{file}:{line}: " if line else f"{file}: " if file else ""
