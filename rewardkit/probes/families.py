"""All probes, of `strategies` and of the contract, in the order of trying."""

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


def choose_probes(
    only: Sequence[str] | str | None,
) -> tuple[tuple[Strategy, ...], frozenset[str]]:
    """Choose probes by name or family.

    Args:
        only: Names of families or single probes; None for all.

    Returns:
        The probes, and the families that their findings may have.

    Raises:
        InputError: A name that is none.
    """
    if not only:
        return PROBES, frozenset(FAMILIES)
    if isinstance(only, str) or not isinstance(only, Iterable):
        names = [only]
    else:
        names = list(only)
    all_names = [*FAMILIES, *(probe.name for probe in PROBES)]
    for name in names:
        if name not in all_names:
            raise InputError(
                f"there is no probe and no family {name!r}"
                f"{did_you_mean(str(name), all_names)}; families: {', '.join(FAMILIES)}"
            )
    probes = tuple(
        probe for probe in PROBES if probe.name in names or probe.family in names
    )
    families = {name for name in names if name in FAMILIES}
    return probes, frozenset(families | {probe.family for probe in probes})
