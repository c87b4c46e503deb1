"""Which component the advantages come from."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Codes, Floats, each, group_stats
from rewardkit.primitives.weights import aggregate

MOST_COMPONENTS = 8
"""For Shapley values, which take 2^n rewards of each row. Our choice."""


def group_shares(
    pieces: Mapping[str, Floats], centred: Floats, groups: Codes
) -> dict[str, Floats]:
    """Return the share of each piece in the squared advantage of groups, (groups,).

    `centred` are advantages from `within`.

    It is cov_g(p, A) / cov_g(sum of p, A); the pieces (rows,) add up to the reward, up
    to a constant of the group. They may be below 0 or above 1, and add up to 1; 0 in
    groups without an advantage. Where A is the reward standardised in its group, it is
    cov_g(p, r) / var_g(r).

    >>> a, b = np.array([0.0, 2.0]), np.array([0.0, -1.0])
    >>> group_shares({"a": a, "b": b}, a + b - 0.5, np.zeros(2, int))
    {'a': array([2.]), 'b': array([-1.])}
    """
    found = each(lambda name: _products(pieces[name], centred, groups), pieces)
    whole = _snapped(
        sum(value for value, _ in found.values()),
        sum(scale for _, scale in found.values()),
    )
    live = whole > 0
    below = np.where(live, whole, np.inf)
    return {
        name: _snapped(value, scale) / below for name, (value, scale) in found.items()
    }


def squared(advantages: Floats, centred: Floats, groups: Codes) -> Floats:
    """Return the squared advantage of each group, (groups,); 0 for rounding only."""
    return _snapped(*_products(advantages, centred, groups))


def _products(piece: Floats, centred: Floats, groups: Codes) -> tuple[Floats, Floats]:
    """Sum a piece times a centred value by group, and its sizes, (groups,) each."""
    product = piece * centred
    product[np.isnan(product)] = 0.0
    total = int(groups.max(initial=-1)) + 1
    found = np.bincount(groups, product, minlength=total).astype(float)
    return found, np.bincount(
        groups, np.abs(product, out=product), minlength=total
    ).astype(float)


def _snapped(found: Any, scale: Any) -> Floats:
    """0 where a sum is only the last digits of what was added up."""
    return np.where(np.abs(found) > 1e-12 * scale, found, 0.0)


def shapley(
    scores: Mapping[str, Floats],
    gated: Mapping[str, NDArray[np.bool_]],
    weights: Floats,
    groups: Codes,
    *,
    aggregation: str,
    on_missing: str,
) -> dict[str, Floats]:
    """Return what each component adds to a reward that is no sum, (rows,) each.

    Shapley values against the group: a component that does not take part yet has the
    mean score of its group. They add up to the reward less that of the group's mean
    scores. Empty for more than `MOST_COMPONENTS` that are paid.
    """
    names = [name for name, weight in zip(scores, weights, strict=True) if weight]
    if len(names) > MOST_COMPONENTS:
        return {}
    closed = np.column_stack([gated[name] for name in scores])
    means = {name: group_stats(scores[name], groups).mean[groups] for name in names}
    mean = {
        name: np.where(np.isnan(scores[name]), np.nan, means[name]) for name in names
    }
    value: dict[frozenset[str], Floats] = {}
    for size in range(len(names) + 1):
        for some in combinations(names, size):
            absent = set(names) - set(some)
            table = np.column_stack(
                [mean[name] if name in absent else scores[name] for name in scores]
            )
            value[frozenset(some)] = aggregate(
                table, closed, weights, aggregation=aggregation, on_missing=on_missing
            )
    found = {name: np.zeros(len(groups)) for name in scores}
    for name in names:
        others = [other for other in names if other != name]
        for size in range(len(names)):
            share = 1 / (len(names) * comb(len(others), size))
            for joined in map(frozenset, combinations(others, size)):
                found[name] += share * (value[joined | {name}] - value[joined])
    return found
