"""Catalogue: all strategies, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from rewardkit.strategies import (
    added_text,
    endless,
    equivalents,
    look_alikes,
    near_misses,
    nothing_there,
    shotgun,
    special_values,
    structures,
)
from rewardkit.strategies.strategy import Strategy

MODULES = (
    nothing_there,
    shotgun,
    near_misses,
    structures,
    special_values,
    equivalents,
    look_alikes,
    added_text,
    endless,
)


def strategies_in(module: ModuleType) -> Iterator[Strategy]:
    """Yield the strategies that a module defines, alone or in a tuple, in its order."""
    for value in vars(module).values():
        entries = value if isinstance(value, tuple) else [value]
        for entry in entries:
            if isinstance(entry, Strategy):
                yield entry


STRATEGIES = tuple(entry for module in MODULES for entry in strategies_in(module))
