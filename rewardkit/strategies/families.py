"""Families: all probes there are, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rewardkit.errors import InputError, did_you_mean
from rewardkit.probes.contract import hang
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
from rewardkit.strategies.attempts import Probe

ANSWERS = (
    nothing_there,
    blind,
    listing,
    near_misses,
    special_values,
    equivalents,
    look_alikes,
)
MODULES = (*ANSWERS, padding, judges, hang)


def _probes(values: Iterable[Any]) -> Iterator[Probe]:
    """The probes among what modules define, by themselves and in tuples."""
    for value in values:
        if isinstance(value, Probe):
            yield value
        elif isinstance(value, tuple):
            yield from _probes(value)


PROBES = tuple(probe for module in MODULES for probe in _probes(vars(module).values()))
FAMILIES = (
    "calibration",
    *dict.fromkeys(probe.family for probe in PROBES),
    "search",
    "contract",
)


def chosen(
    only: Sequence[str] | str | None,
) -> tuple[tuple[Probe, ...], frozenset[str]]:
    """The probes, and the families, that `only` names: families or single probes; all without it.

    InputError: a name that is none.
    """
    given = only or ()
    names = (
        [only]
        if isinstance(only, str) or not isinstance(given, Iterable)
        else list(given)
    )
    if not names:
        return PROBES, frozenset(FAMILIES)
    known = [*FAMILIES, *(probe.name for probe in PROBES)]
    for name in names:
        if name not in known:
            raise InputError(
                f"there is no probe and no family {name!r}{did_you_mean(str(name), known)}; families: "
                f"{', '.join(FAMILIES)}"
            )
    some = tuple(
        probe for probe in PROBES if probe.name in names or probe.family in names
    )
    return some, frozenset(
        [
            *(name for name in names if name in FAMILIES),
            *(probe.family for probe in some),
        ]
    )
