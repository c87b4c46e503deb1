"""Ratings: a judge's scores against labels: agreement, kappa, AUC, length bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import Codes, Floats, Mask, in_both, rows_by_code
from rewardkit.findings import counted
from rewardkit.plain import PlainRecord, Record

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
        value = f"{self.value + 0.0:.2f}"  # no -0.00
        if math.isnan(self.low):
            return f"{value} (n = {self.n})"
        return f"{value} ({self.low + 0.0:.2f} to {self.high + 0.0:.2f}, n = {self.n})"

    def record(self) -> Record:
        """Return it as plain data."""
        return {"value": self.value, "interval": [self.low, self.high], "n": self.n}


@dataclass(frozen=True, eq=False)
class Ratings(PlainRecord):
    """Scores and labels of the same rows, both in [0, 1].

    Rows without both are left out of all figures. `prompts` are the codes of prompts,
    `lengths` those of the completions, (rows,) each. `grid` are the scores of the
    levels, ascending; score and label agree if they are nearest to the same level.
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
        """Return the rows with a score and a label."""
        return np.flatnonzero(in_both(self.scores, self.labels))

    @property
    def middle(self) -> float:
        """Return the score half-way from the lowest to the highest level."""
        return float(self.grid[0] + self.grid[-1]) / 2

    @cached_property
    def score_levels(self) -> Codes:
        """Return the level of each score, (rows,); 0 without one."""
        return nearest(np.nan_to_num(self.scores), self.grid)

    @cached_property
    def label_levels(self) -> Codes:
        """Return the level of each label, (rows,); 0 without one."""
        return nearest(np.nan_to_num(self.labels), self.grid)

    def estimate(
        self, statistic: Callable[[Codes], Any], rows: Codes | None = None
    ) -> Estimate:
        """Return a statistic of rows, these or all that have a score and a label."""
        rows = self.rows if rows is None else rows
        return estimate(
            lambda drawn: float(statistic(rows[drawn])), self.prompts[rows], self.seed
        )

    @cached_property
    def agreement(self) -> Estimate:
        """Return the share of rows whose score and label have the same level."""
        agrees = self.score_levels == self.label_levels
        return self.estimate(lambda rows: agrees[rows].mean())

    @cached_property
    def plain_kappa(self) -> Estimate:
        """Return Cohen's kappa."""
        return self._kappa(weighted=False)

    @cached_property
    def kappa(self) -> Estimate:
        """Return Cohen's kappa, of several levels weighted by squared differences."""
        if len(self.grid) == 2:
            return self.plain_kappa
        return self._kappa(weighted=True)

    def _kappa(self, *, weighted: bool) -> Estimate:
        first = self.score_levels
        second = self.label_levels
        return self.estimate(
            lambda rows: kappa(first[rows], second[rows], self.grid, weighted=weighted)
        )

    @cached_property
    def auc(self) -> Estimate:
        """Return how often a label above the middle scores higher than one below it."""
        sides = self.rows[self.labels[self.rows] != self.middle]
        is_above = self.labels > self.middle
        return self.estimate(lambda rows: auc(self.scores[rows], is_above[rows]), sides)

    @cached_property
    def length_bias(self) -> Estimate:
        """Return the rank correlation of (score - label) with the length."""
        error = self.scores - self.labels
        return self.estimate(
            lambda rows: rank_correlation(error[rows], self.lengths[rows])
        )

    @cached_property
    def calibration(self) -> list[tuple[float, Estimate]]:
        """Return each level's score and the mean label of the rows that got it."""
        means = []
        for level, score in enumerate(self.grid.tolist()):
            rows = self.rows[self.score_levels[self.rows] == level]
            means.append(
                (score, self.estimate(lambda drawn: self.labels[drawn].mean(), rows))
            )
        return means

    def mean(self, values: Floats) -> Estimate | None:
        """Return the mean of values of rows, (rows,), without NaN; None without any."""
        rows = np.flatnonzero(~np.isnan(values))
        if not len(rows):
            return None
        return self.estimate(lambda drawn: values[drawn].mean(), rows)

    def stability(self, again: Floats) -> Estimate | None:
        """Return the share of rows with the same level each time they were scored.

        Over the rows that have a score each time; None where there are none. `again`
        are the other scores, (times, rows).
        """
        is_same = np.ones(len(self.scores))
        for scores in again:
            is_same[nearest(np.nan_to_num(scores), self.grid) != self.score_levels] = 0
        missing = np.isnan(np.vstack([self.scores, again])).any(axis=0)
        return self.mean(np.where(missing, np.nan, is_same))

    @property
    def phrase(self) -> str:
        """Say how many labels it agrees with, and kappa."""
        same = int((self.score_levels == self.label_levels)[self.rows].sum())
        agrees = f"agrees with {same} of {counted(len(self.rows), 'label')}"
        kappa = self.kappa
        if math.isnan(kappa.value):
            return f"{agrees} (kappa is not defined, as all have one level)"
        interval = f"{kappa.low:.2f} to {kappa.high:.2f}"
        return f"{agrees} (kappa {kappa.value:.2f}, {interval})"


def estimate(
    statistic: Callable[[Codes], float], prompts: Codes, seed: int
) -> Estimate:
    """Return a statistic of rows with its bootstrap interval.

    Prompts are drawn with all their rows; `prompts` are their codes, (rows,). Draws
    without a defined statistic are left out. An interval without width means that no
    row differs; a single prompt has no interval (NaN).
    """
    n = len(prompts)
    value = statistic(np.arange(n)) if n else math.nan
    if math.isnan(value):
        return Estimate(math.nan, math.nan, math.nan, n)
    rows_of = rows_by_code(prompts)
    size = len(rows_of)
    if size == 1:
        return Estimate(value, math.nan, math.nan, n)
    values = []
    for draw in np.random.default_rng(seed).integers(size, size=(DRAWS, size)):
        values.append(statistic(np.concatenate([rows_of[prompt] for prompt in draw])))
    low, high = np.nanquantile(values, (0.025, 0.975))
    return Estimate(value, float(low), float(high), n)


def nearest(values: Floats, grid: Floats) -> Codes:
    """Return which of the ascending levels each value is nearest to, the lower of two.

    >>> nearest(np.array([0.0, 0.25, 0.3, 1.0]), np.array([0.0, 0.5, 1.0])).tolist()
    [0, 0, 1, 2]
    """
    return np.asarray(np.abs(values[:, None] - grid).argmin(axis=1), dtype=np.intp)


def kappa(
    first: Codes, second: Codes, grid: Floats, *, weighted: bool = False
) -> float:
    """Return Cohen's kappa of two ratings by level; NaN where all are alike.

    It is 1 - observed / expected disagreement (Cohen 1960); `weighted` by the squared
    difference of the levels' scores (Cohen 1968).
    """
    k = len(grid)
    counts = np.bincount(first * k + second, minlength=k * k).reshape(k, k)
    apart = (grid[:, None] != grid).astype(float)
    if weighted:
        apart = (grid[:, None] - grid) ** 2
    by_chance = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    expected = (apart * by_chance).sum() / max(counts.sum(), 1)
    if expected <= 0:
        return math.nan
    return float(1 - (apart * counts).sum() / expected)


def auc(scores: Floats, positive: Mask) -> float:
    """Return how often a positive row scores above a negative one, ties as a half."""
    above = int(positive.sum())
    pairs = above * (len(scores) - above)
    if not pairs:
        return math.nan
    ranks = pd.Series(scores).rank()  # from 1, the mean of them for equal scores
    return float(ranks[positive].sum() - above * (above + 1) / 2) / pairs


def rank_correlation(first: Floats, second: Floats) -> float:
    """Return Spearman's, with mean ranks for ties; NaN where one is constant."""
    table = pd.DataFrame({"first": first, "second": second})
    return float(table.corr("spearman").to_numpy()[0, 1])
