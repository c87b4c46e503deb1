"""Measurement by a regular expression, on an engine that gives up in time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Real
from typing import Any, Literal

import regex as engine

from rewardkit.primitives.factories import Made, one_of

__all__ = ["check_timeout", "compiled", "regex"]

Mode = Literal["search", "fullmatch"]


@lru_cache(maxsize=256)
def compiled(expression: Any) -> engine.Pattern[str]:
    """The pattern of an expression; ValueError where it does not compile."""
    try:
        if not isinstance(expression, str):
            raise TypeError("it is no text")
        return engine.compile(expression)
    except (engine.error, TypeError, RecursionError) as error:
        raise ValueError(f"pattern {expression!r} does not compile: {error}") from None


def check_timeout(timeout: Any) -> None:
    """Raise a ValueError unless it is a time in seconds."""
    known = isinstance(timeout, int | float | Real) and not isinstance(timeout, bool)
    if not (known and 0 < float(timeout) < math.inf):
        raise ValueError(f"timeout={timeout!r} is not a time; give seconds above 0")


@dataclass(frozen=True, repr=False)
class Regex(Made):
    expression: str
    mode: Mode = field(kw_only=True, default="search")
    timeout: float = field(kw_only=True, default=1.0)

    def __post_init__(self) -> None:
        one_of("mode", self.mode, ("search", "fullmatch"))
        check_timeout(self.timeout)
        compiled(self.expression)

    def __call__(self, completion: str | None) -> float | None:
        if not isinstance(completion, str):
            return None
        pattern = compiled(self.expression)
        find = pattern.search if self.mode == "search" else pattern.fullmatch
        try:
            return float(find(completion, timeout=self.timeout) is not None)
        except TimeoutError:
            raise TimeoutError(f"pattern {self.expression!r} took longer than {self.timeout:g} s") from None


def regex(expression: str, *, mode: Mode = "search", timeout: float = 1.0) -> Regex:
    r"""1.0 where a regular expression matches anywhere in the text, else 0.0.

    ``mode="fullmatch"``: where it matches all of it, white space at the ends included. ``.`` leaves out line
    breaks unless the expression starts with ``(?s)``. Runs on the `regex` engine, which gives up after
    `timeout` seconds: TimeoutError, so that the row ends as ``error`` instead of being judged. ValueError at
    construction: the expression does not compile.

    >>> regex(r"^#### -?\d+$")("6 * 7\n#### 42"), regex(r"(?m)^#### -?\d+$")("6 * 7\n#### 42")
    (0.0, 1.0)
    """
    return Regex(expression, mode=mode, timeout=timeout)
