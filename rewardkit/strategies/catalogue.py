"""Catalogue: all strategies, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from rewardkit.strategies import (
    blind,
    equivalents,
    judges,
    listing,
    look_alikes,
    near_misses,
    nothing_there,
    padding,
    special_values,
)
from rewardkit.strategies.strategy import Strategy

MODULES = (
    nothing_there,
    blind,
    listing,
    near_misses,
    special_values,
    equivalents,
    look_alikes,
    padding,
    judges,
)


def strategies_in(module: ModuleType) -> Iterator[Strategy]:
    """Yield the strategies that a module defines, alone or in a tuple, from top to bottom."""
    for value in vars(module).values():
        for entry in value if isinstance(value, tuple) else [value]:
            if isinstance(entry, Strategy):
                yield entry


STRATEGIES = tuple(strategy for module in MODULES for strategy in strategies_in(module))
