"""Weights of reward functions, read from the advantages that a trainer logged.

Within a group advantages differ as the weighted sum of the functions does, whatever
they are divided by. So the weights are those for which, block by block, the centred sum
is a multiple of the centred advantages: of all blocks together (nothing is divided), of
each step (the deviation of the batch), or of each group. GDPO brings each function to
one scale within its group first.

Source: `GRPOTrainer._generate_and_score_completions` of TRL 1.16.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

EXACT = 1e-6
"""Share of the squares that may be left of an exact fit: float32 leaves 1e-13."""
FITS = 0.01
"""Share of the squares that may be left of a fit at all. Our choice."""
UNIQUE = 30.0
"""Times the squares left that the next best weights have to leave. Our choice."""
DEPENDENT = 1e-8
"""Share of a column's squares under which it depends on others. Our choice."""
LEAST_WEIGHT = 1e-3
"""Share of the most that a column adds under which another is not paid. Our choice."""
EPSILON = 1e-4
"""What TRL adds to a standard deviation."""
SMALLEST_SQUARES = 1e-20
"""Squares up to this are rounding errors."""
CONSTANT = 1e-10
"""Differences within groups up to this are rounding errors."""
ROWS_A_COLUMN = 4
"""Rows beyond groups and divisors that a column needs. Our choice."""


@dataclass(frozen=True)
class FittedWeights:
    """Weights that explain the advantages of a log, the largest 1.

    `scaling` is what advantages are divided by: "none", "batch", "group", or "gdpo".
    Only ratios can be told, but with "none", where the weights are as they are.
    `residual` is the share of the squares that they do not explain. `unfitted_names`
    are the columns that never differ within groups, or only as others do.
    """

    weights: Mapping[str, float]
    scaling: str
    residual: float
    unfitted_names: tuple[str, ...] = ()


def fit_weights(
    columns: Mapping[str, Floats], advantages: Floats, groups: Codes, steps: Codes
) -> FittedWeights | None:
    """Return the weights with which columns give the advantages; None where none fit.

    Of scalings that fit exactly the simplest is taken, else the one that fits best.

    Args:
        columns: scores by name, (rows,) each, without NaN.
        advantages: (rows,).
        groups: codes of the rows, (rows,).
        steps: likewise.

    >>> draw, groups = np.random.default_rng(0), np.arange(32) // 8
    >>> right, brief = draw.random(32), draw.random(32)
    >>> total = within_groups((right + 0.3 * brief)[:, None], groups)[:, 0]
    >>> fitted = fit_weights({"a": right, "b": brief}, total, groups, groups * 0)
    >>> fitted.scaling, {name: round(x, 4) for name, x in fitted.weights.items()}
    ('none', {'a': 1.0, 'b': 0.3})
    """
    all_columns = np.column_stack([advantages, *columns.values()])
    target, *others = within_groups(all_columns, groups).T
    centred = dict(zip(columns, others, strict=True))
    if not (target @ target > SMALLEST_SQUARES):
        return None
    names = _independent(centred)
    if not names:
        return None
    unfitted_names = tuple(name for name in columns if name not in names)
    blocks = {"none": np.zeros_like(groups), "batch": steps, "group": groups}
    plain_sum = _fit_plain_sum(centred, target, blocks)
    if plain_sum is not None:
        return replace(plain_sum, unfitted_names=unfitted_names)
    table = np.column_stack([centred[name] for name in names])
    deviations = pd.DataFrame(table).groupby(groups).transform("std").fillna(0.0)
    scaled = table / (deviations.to_numpy() + EPSILON)
    freedom = len(target) - len(np.unique(groups))
    fits = []
    for scaling in (*blocks, "gdpo"):
        block = blocks.get(scaling, steps)
        if freedom - len(np.unique(block)) < ROWS_A_COLUMN * len(names):
            continue
        of_scaling = scaled if scaling == "gdpo" else table
        weights, residual = _fit(of_scaling, target, block)
        if residual > FITS:
            continue
        weights /= np.abs(weights).max()
        if scaling == "none":
            total = table @ weights
            weights *= float(target @ total) / float(total @ total)
        sizes = np.abs(weights) * np.sqrt((of_scaling**2).sum(axis=0))
        weights[sizes < LEAST_WEIGHT * sizes.max()] = 0.0
        by_name = dict(zip(names, weights.tolist(), strict=True))
        fits.append(FittedWeights(by_name, scaling, residual, unfitted_names))
    exact = [fit for fit in fits if fit.residual <= EXACT]
    return exact[0] if exact else min(fits, key=lambda fit: fit.residual, default=None)


def _fit_plain_sum(
    centred: Mapping[str, Floats], target: Floats, blocks: Mapping[str, Codes]
) -> FittedWeights | None:
    """Return weights of 1 for as many first columns as give an exact fit, or None.

    It is TRL's default, and a few rows decide it. The columns behind have weight 0.
    """
    varying = [name for name in centred if np.abs(centred[name]).max() > CONSTANT]
    sums = np.cumsum(np.column_stack([centred[name] for name in varying]), axis=1)
    for count in range(len(varying), 0, -1):
        for scaling, block in blocks.items():
            residual = _left_of(sums[:, count - 1], target, block)
            if residual <= EXACT:
                weights = dict.fromkeys(varying[:count], 1.0)
                weights |= dict.fromkeys(varying[count:], 0.0)
                return FittedWeights(weights, scaling, residual)
    return None


def _left_of(total: Floats, target: Floats, blocks: Codes) -> float:
    """Return the share of the squares of a sum that is no multiple of the target."""
    products = _products(total[:, None], target, blocks)
    size = float(total @ total)
    if not size or (products < 0).any():
        return 1.0
    return max(1 - float((products**2).sum()) / size, 0.0)


def _products(table: Floats, target: Floats, blocks: Codes) -> Floats:
    """Return the products of columns with the target in blocks, (blocks, columns).

    Those of a target of length 1; blocks without a target are left out.
    """
    squares = np.bincount(blocks, target * target)
    products = [np.bincount(blocks, values * target) for values in table.T]
    has_target = squares > SMALLEST_SQUARES
    lengths = np.sqrt(squares[has_target])
    return np.column_stack(products)[has_target] / lengths[:, None]


def within_groups(table: Floats, groups: Codes) -> Floats:
    """Return the columns of a table, (rows, columns), less the means of groups."""
    means = pd.DataFrame(table).groupby(groups).transform("mean")
    centred: Floats = table - means.to_numpy()
    return centred


def _independent(centred: Mapping[str, Floats]) -> list[str]:
    """Return the columns that are linearly independent of those before them."""
    names: list[str] = []
    basis: list[Floats] = []
    for name, values in centred.items():
        residual = values.copy()
        for direction in basis:
            residual -= (direction @ residual) * direction
        size = float(residual @ residual)
        if size > max(DEPENDENT * float(values @ values), SMALLEST_SQUARES):
            names.append(name)
            basis.append(residual / math.sqrt(size))
    return names


def _fit(table: Floats, target: Floats, blocks: Codes) -> tuple[Floats, float]:
    """Return weights that make the table a multiple of the target in each block.

    And the share of its squares that is left. Where other weights do nearly as well
    the share is 1.
    """
    moments = table.T @ table
    products = _products(table, target, blocks)
    unexplained = moments - products.T @ products
    size = np.sqrt(np.diag(moments))
    values, vectors = np.linalg.eigh(moments / np.outer(size, size))
    whiten = vectors / np.sqrt(np.maximum(values, 1e-12))
    inner = whiten.T @ (unexplained / np.outer(size, size)) @ whiten
    shares, weights = np.linalg.eigh((inner + inner.T) / 2)
    if len(shares) > 1 and shares[1] < UNIQUE * max(shares[0], EXACT):
        return np.zeros(table.shape[1]), 1.0
    best = (whiten @ weights[:, 0]) / size
    sign = math.copysign(1.0, float(target @ (table @ best)))
    return sign * best, max(float(shares[0]), 0.0)
