"""Strategies: completions that are written without the truth, near it, or beside it.

They are written here and judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from rewardkit.strategies import (
    added_text,
    guesses,
    locales,
    many_answers,
    near_misses,
    notations,
    programs,
    surroundings,
    values,
)
from rewardkit.strategies.strategy import Strategy

MODULES = (
    guesses,
    many_answers,
    near_misses,
    values,
    notations,
    locales,
    surroundings,
    programs,
    added_text,
)


def strategies_in(module: ModuleType) -> Iterator[Strategy]:
    """Yield the strategies that a module defines, alone or in a tuple, in its order."""
    for value in vars(module).values():
        entries = value if isinstance(value, tuple) else [value]
        for entry in entries:
            if isinstance(entry, Strategy):
                yield entry


STRATEGIES = tuple(entry for module in MODULES for entry in strategies_in(module))
"""All strategies, in the order in which they are tried."""
