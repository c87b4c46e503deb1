"""Families: all probes, those of `strategies` and those of the contract, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rewardkit.errors import InputError, did_you_mean
from rewardkit.probes.contract import hang
from rewardkit.strategies.catalogue import STRATEGIES, strategies_in
from rewardkit.strategies.strategy import Strategy

PROBES = (*STRATEGIES, *strategies_in(hang))
FAMILIES = (
    "calibration",
    *dict.fromkeys(probe.family for probe in PROBES),
    "search",
    "contract",
)


def chosen(
    only: Sequence[str] | str | None,
) -> tuple[tuple[Strategy, ...], frozenset[str]]:
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
