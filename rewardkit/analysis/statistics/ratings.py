"""Ratings: a judge's scores against labels: agreement, kappa, AUC, length bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Codes, Floats
from rewardkit.findings import counted
from rewardkit.plain import PlainRecord

DRAWS = 1000
"""Of the bootstrap: ends of an interval move by a tenth of its width. Our choice."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval, measured on `n` cases; NaN if not defined."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"not defined (n = {self.n})"
        if math.isnan(self.low):
            return f"{self.value + 0.0:.2f} (n = {self.n})"
        ends = f"{self.low + 0.0:.2f} to {self.high + 0.0:.2f}"
        return f"{self.value + 0.0:.2f} ({ends}, n = {self.n})"

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {"value": self.value, "interval": [self.low, self.high], "n": self.n}


@dataclass(frozen=True, eq=False)
class Ratings(PlainRecord):
    """Scores and labels of the same rows, both in [0, 1].

    Rows without either are left out of all figures.

    `prompts` has the code of each row's prompt, `lengths` the length of its completion,
    (rows,) each. `grid` are the scores of the levels, ascending; score and label agree
    where they are nearest to the same one.
    """

    IN_RECORD = (
        "agreement",
        "kappa",
        "plain_kappa",
        "auc",
        "length_bias",
    )

    scores: Floats
    labels: Floats
    prompts: Codes
    lengths: Floats
    grid: Floats
    seed: int = 0

    @cached_property
    def rows(self) -> Codes:
        """The rows with a score and a label."""
        return np.flatnonzero(~np.isnan(self.scores) & ~np.isnan(self.labels))

    @property
    def middle(self) -> float:
        """Half-way from the lowest to the highest level."""
        return float(self.grid[0] + self.grid[-1]) / 2

    @cached_property
    def given(self) -> Codes:
        """The level of each score, (rows,); 0 without one."""
        return nearest(np.nan_to_num(self.scores), self.grid)

    @cached_property
    def right(self) -> Codes:
        """The level of each label, (rows,); 0 without one."""
        return nearest(np.nan_to_num(self.labels), self.grid)

    def estimate(
        self, statistic: Callable[[Codes], Any], rows: Codes | None = None
    ) -> Estimate:
        """Return a statistic of rows, these or all that have a score and a label."""
        some = self.rows if rows is None else rows
        return estimate(
            lambda drawn: float(statistic(some[drawn])), self.prompts[some], self.seed
        )

    @cached_property
    def agreement(self) -> Estimate:
        """The share of rows whose score and label have the same level."""
        return self.estimate(lambda at: (self.given[at] == self.right[at]).mean())

    @cached_property
    def plain_kappa(self) -> Estimate:
        """Cohen's kappa."""
        return self.estimate(
            lambda at: kappa(self.given[at], self.right[at], self.grid)
        )

    @cached_property
    def kappa(self) -> Estimate:
        """Return Cohen's kappa, of several levels weighted by squared differences."""
        if len(self.grid) == 2:
            return self.plain_kappa
        return self.estimate(
            lambda at: kappa(self.given[at], self.right[at], self.grid, weighted=True)
        )

    @cached_property
    def auc(self) -> Estimate:
        """Return how often a label above the middle scores higher than one below it."""
        sides = self.rows[self.labels[self.rows] != self.middle]
        return self.estimate(
            lambda at: auc(self.scores[at], self.labels[at] > self.middle), sides
        )

    @cached_property
    def length_bias(self) -> Estimate:
        """The rank correlation of (score - label) with the length of the completion."""
        error = self.scores - self.labels
        return self.estimate(lambda at: rank_correlation(error[at], self.lengths[at]))

    @cached_property
    def calibration(self) -> list[tuple[float, Estimate]]:
        """For the score of each level the mean label of the rows that were given it."""
        rows_of = [
            self.rows[self.given[self.rows] == level] for level in range(len(self.grid))
        ]
        means = [
            self.estimate(lambda at: self.labels[at].mean(), rows) for rows in rows_of
        ]
        return list(zip(self.grid.tolist(), means, strict=True))

    def mean(self, values: Floats) -> Estimate | None:
        """Return the mean of values of rows, (rows,), without NaN; None without any."""
        known = np.flatnonzero(~np.isnan(values))
        return (
            self.estimate(lambda at: values[at].mean(), known) if len(known) else None
        )

    def stability(self, again: Floats) -> Estimate | None:
        """Return the share of rows with the same level each time they were scored.

        `again` are the other scores, (times, rows).

        Over the rows that have a score each time; ``None`` where there is none.
        """
        levels = np.array(
            [nearest(np.nan_to_num(scores), self.grid) for scores in again]
        )
        missing = np.isnan(np.vstack([self.scores, again])).any(axis=0)
        return self.mean(np.where(missing, np.nan, (levels == self.given).all(axis=0)))

    @property
    def told(self) -> str:
        """Agreement and kappa in a phrase."""
        same = int((self.given == self.right)[self.rows].sum())
        kappa, agrees = (
            self.kappa,
            f"agrees with {same} of {counted(len(self.rows), 'label')}",
        )
        if math.isnan(kappa.value):
            return f"{agrees} (kappa is not defined, as all have one level)"
        return (
            f"{agrees} (kappa {kappa.value:.2f}, {kappa.low:.2f} to {kappa.high:.2f})"
        )


def estimate(
    statistic: Callable[[Codes], float], prompts: Codes, seed: int
) -> Estimate:
    """Return a statistic of rows with its bootstrap interval.

    Prompts are drawn, with all their rows; `prompts` has the code of each row, (rows,).
    Draws in which the statistic is not defined are left out. An interval without width
    says that no row differs; of one prompt there is none (NaN).
    """
    n = len(prompts)
    value = statistic(np.arange(n)) if n else math.nan
    if math.isnan(value):
        return Estimate(math.nan, math.nan, math.nan, n)
    order = np.argsort(prompts, kind="stable")
    if prompts[order[0]] == prompts[order[-1]]:
        return Estimate(value, math.nan, math.nan, n)
    rows_of = np.split(order, np.flatnonzero(np.diff(prompts[order])) + 1)
    draws = np.random.default_rng(seed).integers(
        len(rows_of), size=(DRAWS, len(rows_of))
    )
    drawn = [statistic(np.concatenate([rows_of[at] for at in draw])) for draw in draws]
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return Estimate(value, float(low), float(high), n)


def nearest(values: Floats, grid: Floats) -> Codes:
    """Which of the ascending levels each value is nearest to, the lower of two.

    >>> nearest(np.array([0.0, 0.25, 0.3, 1.0]), np.array([0.0, 0.5, 1.0])).tolist()
    [0, 0, 1, 2]
    """
    return np.asarray(np.abs(values[:, None] - grid).argmin(axis=1), dtype=np.intp)


def kappa(
    first: Codes, second: Codes, grid: Floats, *, weighted: bool = False
) -> float:
    """Return Cohen's kappa of two ratings by level; NaN where all are alike.

    It is 1 - observed / expected disagreement.

    Cohen 1960; `weighted` by the squared difference of the levels' scores, Cohen 1968.
    """
    k = len(grid)
    counts = np.bincount(first * k + second, minlength=k * k).reshape(
        k, k
    )  # (levels of each)
    apart = (
        (grid[:, None] - grid) ** 2
        if weighted
        else (grid[:, None] != grid).astype(float)
    )
    expected = (apart * np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum() / max(
        counts.sum(), 1
    )
    return float(1 - (apart * counts).sum() / expected) if expected > 0 else math.nan


def auc(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """Return how often a positive row scores above a negative one, ties as a half."""
    ranks, above = _ranks(scores), int(positive.sum())
    pairs = above * (len(scores) - above)
    return (
        float(ranks[positive].sum() - above * (above + 1) / 2) / pairs
        if pairs
        else math.nan
    )


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's, with mean ranks for ties; NaN where one is constant."""
    a, b = (ranks - ranks.mean() for ranks in (_ranks(first), _ranks(second)))
    size = math.sqrt((a @ a) * (b @ b))
    return float(a @ b) / size if size > 0 else math.nan


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, the mean of them for equal values."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places], dtype=float)
