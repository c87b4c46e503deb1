"""How component scores add up to a reward, and what may be done to the rewards of a group afterwards.

Arrays only.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rewardkit.primitives.primitive import Positive, Primitive, one_of

__all__ = ["AGGREGATIONS", "aggregate", "min_max", "rank", "standardise"]

Floats = NDArray[np.float64]
AGGREGATIONS = ("weighted_sum", "weighted_mean", "product", "minimum")
MISSING = ("nan", "zero", "skip")


def aggregate(
    scores: Floats,
    gated: NDArray[np.bool_],
    weights: Floats,
    *,
    aggregation: str = "weighted_sum",
    on_missing: str = "nan",
) -> Floats:
    """Reward of each row, before gates on the whole reward and transforms.

    `scores` is (rows, components), NaN where not scored; `gated` says which of those
    NaN are a closed gate. Components of weight 0 never count. With p the weights:
    ``weighted_sum`` is sum(p s); ``weighted_mean`` divides it by the sum of the
    positive weights, so that full marks without penalties earn 1; ``product`` is prod(s
    ** p); ``minimum`` is min(s). A gated component counts 0 in a sum, 0 with its weight
    kept in a mean, and is left out of product and minimum. Other missing scores make
    the reward NaN (``on_missing="nan"``), count 0 ("zero") or are left out ("skip",
    also from the weights of a mean). NaN where nothing is left to count. ValueError:
    see `check_weights`.
    """
    check_weights(weights, aggregation=aggregation, on_missing=on_missing)
    paid = weights != 0
    scores, gated, weights = (
        scores[:, paid],
        gated[:, paid],
        weights[paid],
    )  # (rows, paid components)
    unscored = np.isnan(scores)
    missing = unscored & ~gated
    counts = ~gated if on_missing == "zero" else ~(gated | missing)
    empty = ~(counts | gated).any(axis=1)
    if aggregation in ("product", "minimum"):
        empty = ~counts.any(axis=1)
        known = np.where(unscored, 0.0, scores)
        if aggregation == "product":
            total = (np.where(counts, known, 1.0) ** weights).prod(axis=1)
        else:
            total = np.where(counts, known, np.inf).min(axis=1, initial=np.inf)
    else:
        total = np.zeros(len(scores))
        for values, weight in zip(
            np.where(unscored, 0.0, scores).T, weights, strict=True
        ):
            total += (
                weight * values
            )  # in turn: a product of matrices rounds as the processor does
        if aggregation == "weighted_mean":
            kept = np.where(
                missing & (on_missing == "skip"), 0.0, np.maximum(weights, 0.0)
            ).sum(axis=1)
            total = np.divide(
                total, kept, out=np.full_like(total, np.nan), where=kept > 0
            )
    if on_missing == "nan":
        empty |= missing.any(axis=1)
    total[empty] = np.nan
    return np.asarray(total, dtype=float)


def check_weights(weights: Floats, *, aggregation: str, on_missing: str) -> None:
    """Raise a ValueError for an unknown option, a weight that is not finite.

    Or one the aggregation has no meaning for.
    """
    one_of("aggregation", aggregation, AGGREGATIONS)
    one_of("on_missing", on_missing, MISSING)
    if not np.isfinite(weights).all():
        raise ValueError(f"weights must be finite numbers; got {weights.tolist()}")
    if aggregation in ("product", "minimum") and (weights < 0).any():
        raise ValueError(
            f"aggregation={aggregation!r} has no penalties; make the negative weights 0 or use 'weighted_sum'"
        )
    if aggregation == "weighted_mean" and not (weights > 0).any():
        raise ValueError(
            "aggregation='weighted_mean' needs at least one weight above 0"
        )


@dataclass(frozen=True, repr=False)
class Transform(Primitive):
    """(rewards, group codes) -> rewards, NaN kept."""

    _: KW_ONLY
    within: Literal["group", "batch"] = "group"

    def __call__(self, rewards: Floats, groups: NDArray[np.intp]) -> Floats:
        groups = groups if self.within == "group" else np.zeros_like(groups)
        out = np.full(rewards.shape, np.nan)
        rows = np.flatnonzero(np.isfinite(rewards))
        rows = rows[np.argsort(groups[rows], kind="stable")]
        if len(rows):
            start = np.flatnonzero(np.diff(groups[rows], prepend=groups[rows[0]] - 1))
            out[rows] = self.apply(
                rewards[rows], start, np.diff(start, append=len(rows))
            )
        return out

    def apply(
        self, rewards: Floats, start: NDArray[np.intp], size: NDArray[np.intp]
    ) -> Floats:
        """Finite rewards, group after group, transformed; where each group starts, and how many it has."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class standardise(Transform):
    """(r - mean) / std (ddof 1) within the group or the batch, then clipped at ±`clip`.

    0 where nothing varies.

    ValueError: `clip` not above 0, unknown `within`.
    """

    _: KW_ONLY
    clip: Positive | None = None

    def apply(
        self, rewards: Floats, start: NDArray[np.intp], size: NDArray[np.intp]
    ) -> Floats:
        away = rewards - np.repeat(
            rewards[start], size
        )  # exactly 0 where all are equal
        away -= np.repeat(np.add.reduceat(away, start) / size, size)
        spread = np.sqrt(np.add.reduceat(away * away, start) / np.maximum(size - 1, 1))
        scaled = _divided(away, spread, size)
        return scaled if self.clip is None else np.clip(scaled, -self.clip, self.clip)


@dataclass(frozen=True, repr=False)
class min_max(Transform):
    """(r - min) / (max - min) within the group or the batch, in [0, 1].

    0 where nothing varies. ValueError: unknown `within`.
    """

    def apply(
        self, rewards: Floats, start: NDArray[np.intp], size: NDArray[np.intp]
    ) -> Floats:
        low, high = (
            np.minimum.reduceat(rewards, start),
            np.maximum.reduceat(rewards, start),
        )
        return _divided(rewards - np.repeat(low, size), high - low, size)


@dataclass(frozen=True, repr=False)
class rank(Transform):
    """Rank within the group or the batch, from 0 (lowest) to 1 (highest), ties sharing their mean rank.

    All tied gives 0.5 each, a single reward 0. ValueError: unknown `within`.
    """

    def apply(
        self, rewards: Floats, start: NDArray[np.intp], size: NDArray[np.intp]
    ) -> Floats:
        group = np.repeat(np.arange(len(start)), size)
        order = np.lexsort((rewards, group))
        ranked = rewards[order]
        new = np.ones(len(ranked), dtype=bool)  # where a run of equals begins
        new[1:] = (ranked[1:] != ranked[:-1]) | (group[1:] != group[:-1])
        run = np.flatnonzero(new)
        ties = np.diff(run, append=len(ranked))
        middle = (
            run - start[group[run]] + (ties - 1) / 2
        )  # mean position in the group, from 0
        out = np.empty(len(ranked))
        out[order] = np.repeat(middle / np.maximum(size - 1, 1)[group[run]], ties)
        return out


def _divided(away: Floats, spread: Floats, size: NDArray[np.intp]) -> Floats:
    """Rewards of each group by its spread; 0 where nothing varies."""
    return np.asarray(
        away / np.repeat(np.where(spread > 1e-8, spread, np.inf), size), dtype=float
    )
