"""Aggregation of component scores to a reward, and transforms of rewards, on arrays."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rewardkit.primitives.primitive import Positive, Primitive, one_of

__all__ = ["AGGREGATIONS", "aggregate", "min_max", "rank", "standardise"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
AGGREGATIONS = ("weighted_sum", "weighted_mean", "product", "minimum")
ON_MISSING = ("nan", "zero", "skip")


def aggregate(
    scores: Floats,
    gated: NDArray[np.bool_],
    weights: Floats,
    *,
    aggregation: str,
    on_missing: str,
) -> Floats:
    """Return the reward of each row, before gates on the whole reward and transforms.

    With p the weights and s the scores: ``weighted_sum`` is sum(p s); ``weighted_mean``
    divides it by the sum of the positive weights, so that full marks without penalties
    earn 1; ``product`` is prod(s ** p); ``minimum`` is min(s). Components of weight 0
    never count. A gated component counts 0 in a sum, 0 with its weight kept in a mean,
    and is left out of product and minimum.

    Args:
        scores: (rows, components), NaN where not scored.
        gated: (rows, components), True where a closed gate is the reason for the NaN.
        weights: (components,), finite.
        aggregation: One of `AGGREGATIONS`.
        on_missing: How other missing scores count: they make the reward NaN ("nan"),
            count 0 ("zero"), or are left out, also of the weights of a mean ("skip").

    Returns:
        (rows,), NaN in rows without a score to count.

    Raises:
        ValueError: See `check_weights`.
    """
    check_weights(weights, aggregation=aggregation, on_missing=on_missing)
    has_weight = weights != 0
    scores = scores[:, has_weight]
    gated = gated[:, has_weight]
    weights = weights[has_weight]
    unscored = np.isnan(scores)  # (rows, components with a weight)
    missing = unscored & ~gated
    counts = ~gated
    if on_missing != "zero":
        counts &= ~missing
    values = np.where(unscored, 0.0, scores)
    if aggregation == "product":
        total = (np.where(counts, values, 1.0) ** weights).prod(axis=1)
    elif aggregation == "minimum":
        total = np.where(counts, values, np.inf).min(axis=1, initial=np.inf)
    else:
        total = np.zeros(len(scores))
        # One by one, as the rounding of a matrix product depends on the processor.
        for column, weight in zip(values.T, weights, strict=True):
            total += weight * column
        if aggregation == "weighted_mean":
            skipped = missing & (on_missing == "skip")
            total = _divide_by_weights(total, weights, skipped)
        counts |= gated
    empty = ~counts.any(axis=1)
    if on_missing == "nan":
        empty |= missing.any(axis=1)
    total[empty] = np.nan
    return np.asarray(total, dtype=float)


def _divide_by_weights(
    total: Floats, weights: Floats, skipped: NDArray[np.bool_]
) -> Floats:
    """Divide each row's total by its positive weights that are not `skipped`."""
    sums = np.where(skipped, 0.0, np.maximum(weights, 0.0)).sum(axis=1)
    out = np.full_like(total, np.nan)
    np.divide(total, sums, out=out, where=sums > 0)
    return out


def check_weights(weights: Floats, *, aggregation: str, on_missing: str) -> None:
    """Raise a ValueError for an unknown option or for weights that do not fit it."""
    one_of("aggregation", aggregation, AGGREGATIONS)
    one_of("on_missing", on_missing, ON_MISSING)
    if not np.isfinite(weights).all():
        raise ValueError(f"weights must be finite numbers; got {weights.tolist()}")
    if aggregation in ("product", "minimum") and (weights < 0).any():
        raise ValueError(
            f"aggregation={aggregation!r} has no penalties; make the negative weights "
            "0 or use 'weighted_sum'"
        )
    if aggregation == "weighted_mean" and not (weights > 0).any():
        raise ValueError(
            "aggregation='weighted_mean' needs at least one weight above 0"
        )


@dataclass(frozen=True, repr=False)
class Transform(Primitive):
    """A function (rewards, group codes) -> rewards that keeps NaN."""

    _: KW_ONLY
    within: Literal["group", "batch"] = "group"

    def __call__(self, rewards: Floats, groups: Indices) -> Floats:
        if self.within == "batch":
            groups = np.zeros_like(groups)
        out = np.full(rewards.shape, np.nan)
        rows = np.flatnonzero(np.isfinite(rewards))
        rows = rows[np.argsort(groups[rows], kind="stable")]
        if len(rows):
            codes = groups[rows]
            start = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
            size = np.diff(start, append=len(rows))
            out[rows] = self.apply(rewards[rows], start, size)
        return out

    def apply(self, rewards: Floats, start: Indices, size: Indices) -> Floats:
        """Transform finite rewards that are sorted by group.

        `start` has the first index of each group, `size` its number of rewards.
        """
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class standardise(Transform):
    """Standardise to (r - mean) / std within the group or batch, clipped at ±`clip`.

    The std has ddof 1. Equal rewards give 0. ValueError: `clip` not above 0, unknown
    `within`.
    """

    _: KW_ONLY
    clip: Positive | None = None

    def apply(self, rewards: Floats, start: Indices, size: Indices) -> Floats:
        # Subtract the first reward before the mean, so that equal ones give exactly 0.
        deviations = rewards - np.repeat(rewards[start], size)
        means = np.add.reduceat(deviations, start) / size
        deviations -= np.repeat(means, size)
        squares = np.add.reduceat(deviations * deviations, start)
        spread = np.sqrt(squares / np.maximum(size - 1, 1))
        scaled = _divide_by_spread(deviations, spread, size)
        if self.clip is None:
            return scaled
        return np.clip(scaled, -self.clip, self.clip)


@dataclass(frozen=True, repr=False)
class min_max(Transform):
    """Scale to (r - min) / (max - min) within the group or batch, in [0, 1].

    Equal rewards give 0. ValueError: unknown `within`.
    """

    def apply(self, rewards: Floats, start: Indices, size: Indices) -> Floats:
        low = np.minimum.reduceat(rewards, start)
        high = np.maximum.reduceat(rewards, start)
        return _divide_by_spread(rewards - np.repeat(low, size), high - low, size)


@dataclass(frozen=True, repr=False)
class rank(Transform):
    """Rank within the group or batch, from 0 (lowest) to 1; ties share their mean rank.

    Equal rewards give 0.5 each, a single reward 0. ValueError: unknown `within`.
    """

    def apply(self, rewards: Floats, start: Indices, size: Indices) -> Floats:
        group = np.repeat(np.arange(len(start)), size)
        order = np.lexsort((rewards, group))
        ordered = rewards[order]
        is_new = np.ones(len(ordered), dtype=bool)  # where a run of equals begins
        is_new[1:] = (ordered[1:] != ordered[:-1]) | (group[1:] != group[:-1])
        run = np.flatnonzero(is_new)
        ties = np.diff(run, append=len(ordered))
        # The mean position of a run in its group, from 0.
        middle = run - start[group[run]] + (ties - 1) / 2
        last = np.maximum(size - 1, 1)[group[run]]
        out = np.empty(len(ordered))
        out[order] = np.repeat(middle / last, ties)
        return out


def _divide_by_spread(deviations: Floats, spread: Floats, size: Indices) -> Floats:
    """Divide the deviations of each group by its spread; 0 if the spread is 0."""
    divisor = np.where(spread > 1e-8, spread, np.inf)
    return np.asarray(deviations / np.repeat(divisor, size), dtype=float)
