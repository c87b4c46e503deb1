"""Infer the weights of reward functions from the advantages that a trainer logged.

Within a group, advantages are proportional to the centred weighted sum of the rewards.
The factor is the same for all rows (no scaling), for each step (the deviation of the
batch), or for each group. So the right weights make the centred sum a multiple of the
centred advantages in each such block. GDPO first scales each function within its group.

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
"""Largest residual share of squares of an exact fit; float32 leaves 1e-13."""
FITS = 0.01
"""Largest residual share of squares of any fit. Our choice."""
UNIQUE = 30.0
"""Least ratio of the second best residual to the best one. Our choice."""
DEPENDENT = 1e-8
"""Residual share of a column's squares below which it depends on others. Our choice."""
LEAST_WEIGHT = 1e-3
"""Contribution, relative to the largest, below which a weight is 0. Our choice."""
EPSILON = 1e-4
"""TRL adds this to a standard deviation."""
SMALLEST_SQUARES = 1e-20
"""Smaller squares are rounding errors."""
CONSTANT = 1e-10
"""Smaller differences within groups are rounding errors."""
ROWS_A_COLUMN = 4
"""Fewest degrees of freedom per column. Our choice."""


@dataclass(frozen=True)
class FittedWeights:
    """Weights that explain the advantages of a log.

    `scaling` is how advantages are divided: "none", "batch", "group", or "gdpo". With
    "none" weights are absolute; otherwise only their ratios are known, and the largest
    is 1. `residual` is the unexplained share of squares. `unfitted_names` are columns
    that are constant within groups or linearly dependent on others.
    """

    weights: Mapping[str, float]
    scaling: str
    residual: float
    unfitted_names: tuple[str, ...] = ()


def fit_weights(
    columns: Mapping[str, Floats], advantages: Floats, groups: Codes, steps: Codes
) -> FittedWeights | None:
    """Fit the weights of columns to the advantages; return None if nothing fits.

    Of the scalings that fit exactly the simplest is returned, else the best fit.

    Args:
        columns: Scores by name, (rows,) each, without NaN.
        advantages: Advantages, (rows,).
        groups: The group of each row as a code, (rows,).
        steps: The step of each row as a code, (rows,).

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
        terms = scaled if scaling == "gdpo" else table
        weights, residual = _fit(terms, target, block)
        if residual > FITS:
            continue
        weights /= np.abs(weights).max()
        if scaling == "none":
            total = table @ weights
            weights *= float(target @ total) / float(total @ total)
        sizes = np.abs(weights) * np.sqrt((terms**2).sum(axis=0))
        weights[sizes < LEAST_WEIGHT * sizes.max()] = 0.0
        by_name = dict(zip(names, weights.tolist(), strict=True))
        fits.append(FittedWeights(by_name, scaling, residual, unfitted_names))
    exact = [fit for fit in fits if fit.residual <= EXACT]
    return exact[0] if exact else min(fits, key=lambda fit: fit.residual, default=None)


def _fit_plain_sum(
    centred: Mapping[str, Floats], target: Floats, blocks: Mapping[str, Codes]
) -> FittedWeights | None:
    """Return an exact fit with weight 1 for the first columns, 0 for others, or None.

    Weights of 1 are TRL's default, and a few rows suffice to verify them. The fit with
    the most columns is returned.
    """
    varying = [name for name in centred if np.abs(centred[name]).max() > CONSTANT]
    sums = np.cumsum(np.column_stack([centred[name] for name in varying]), axis=1)
    for count in range(len(varying), 0, -1):
        for scaling, block in blocks.items():
            residual = _residual(sums[:, count - 1], target, block)
            if residual <= EXACT:
                weights = dict.fromkeys(varying[:count], 1.0)
                weights |= dict.fromkeys(varying[count:], 0.0)
                return FittedWeights(weights, scaling, residual)
    return None


def _residual(total: Floats, target: Floats, blocks: Codes) -> float:
    """Return the share of squares of a sum that no multiple of the target explains."""
    products = _products(total[:, None], target, blocks)
    size = float(total @ total)
    if not size or (products < 0).any():
        return 1.0
    return max(1 - float((products**2).sum()) / size, 0.0)


def _products(table: Floats, target: Floats, blocks: Codes) -> Floats:
    """Return the products of columns and normalised target by block.

    The shape is (blocks, columns). Blocks whose target is 0 are left out.
    """
    squares = np.bincount(blocks, target * target)
    products = [np.bincount(blocks, values * target) for values in table.T]
    has_target = squares > SMALLEST_SQUARES
    lengths = np.sqrt(squares[has_target])
    return np.column_stack(products)[has_target] / lengths[:, None]


def within_groups(table: Floats, groups: Codes) -> Floats:
    """Return the columns of a table, (rows, columns), centred within groups."""
    means = pd.DataFrame(table).groupby(groups).transform("mean")
    centred: Floats = table - means.to_numpy()
    return centred


def _independent(centred: Mapping[str, Floats]) -> list[str]:
    """Return the columns that are linearly independent of earlier ones."""
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
    """Return weights that make the weighted sum a multiple of the target in each block.

    Also return the residual share of squares, which is 1 if other weights fit nearly as
    well.
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
