"""Measurement by a regular expression, on an engine that gives up in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar

import regex as engine

from rewardkit.primitives.primitive import OfText, Positive

T = TypeVar("T")


def compiled(expression: Any) -> engine.Pattern[str]:
    """Return the pattern of an expression, or raise a ValueError if it has none."""
    if not isinstance(expression, str):
        raise ValueError(f"pattern {expression!r} does not compile: it is no text")
    return _compiled(expression)


@lru_cache(maxsize=256)
def _compiled(expression: str) -> engine.Pattern[str]:
    try:
        return engine.compile(expression)
    except (engine.error, RecursionError) as error:
        raise ValueError(f"pattern {expression!r} does not compile: {error}") from None


def _expression(option: str, value: Any) -> Any:
    compiled(value)
    return value


Expression = Annotated[str, _expression]
Seconds = Positive


def in_time(search: Any, find: Callable[[], T]) -> T:
    """Return `find()`; its TimeoutError names the expression of the search."""
    try:
        return find()
    except TimeoutError:
        raise TimeoutError(
            f"pattern {search.expression!r} took longer than {search.timeout:g} s"
        ) from None


@dataclass(frozen=True, repr=False)
class regex(OfText):
    r"""1.0 where a regular expression matches anywhere in the text, else 0.0.

    ``mode="fullmatch"``: where it matches all of it, white space at the ends included.
    ``.`` leaves out line breaks unless the expression starts with ``(?s)``. Runs on the
    `regex` engine, which gives up after `timeout` seconds: TimeoutError, so that the
    row ends as ``error`` instead of being judged. ValueError at construction: the
    expression does not compile.

    >>> regex(r"^\d+$")("= 42"), regex(r"(?m)^\d+$")("=\n42")
    (0.0, 1.0)
    """

    expression: Expression
    _: KW_ONLY
    mode: Literal["search", "fullmatch"] = "search"
    timeout: Seconds = 1.0

    def score(self, completion: str) -> float:
        pattern = compiled(self.expression)
        find = pattern.search if self.mode == "search" else pattern.fullmatch
        return float(
            in_time(self, lambda: find(completion, timeout=self.timeout)) is not None
        )
