"""The curve of a value by length among rows of a class: its fit, turns and words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from rewardkit.analysis.statistics import Bootstrap, Codes, Floats, numbered, within

KNOTS = 9
"""Lengths, evenly spread over the rows, between which it is straight. Our choice."""
STEP_PLACES = 97
"""Lengths, evenly spread over the rows, at which a step is looked for. Our choice."""
MOST_ROWS_OF_STEP = 20_000
"""Rows among which it is looked for. Our choice: it takes a tenth of a second."""
FEWEST_FREE_ROWS = 30
"""Rows beyond one a class under which no curve is fitted. Our choice."""
TURNS = 0.1
"""Share of what being right adds by which a curve must turn. Our choice."""
AT_ITS_TOP = 0.1
"""Share of a curve's height that still counts as its top. Our choice."""
PEAK_SHARE = 0.5
"""Share of a curve's height by which both ends lie under a peak. Our choice."""
FLAT_SHARE = 0.5
"""Share of the lengths at the top from which a curve is a limit, not a slope.

Our choice: DAPO's overlong penalty begins where few completions are.
"""
SAME_FACTOR = 0.02
"""Spread of the ratio of two curves up to which one factor made both. Our choice."""
AS_MUCH_FOR_WRONG = 0.8
"""Share of its height for right answers at which wrong ones get as much. Our choice."""


@dataclass(frozen=True)
class LengthCurve:
    """The values that rows of one kind earn at some lengths, shortest first.

    `explained` is the share of the variance within classes that it explains. `bounds`
    are the least and the most that a row earned, which a fit may exceed. `step` is the
    length of the step if the curve is one, NaN for a slope.
    """

    lengths: Floats
    values: Floats
    explained: float = 1.0
    bounds: tuple[float, float] = (-math.inf, math.inf)
    step: float = math.nan

    @property
    def height(self) -> float:
        """Return the difference between the highest and the lowest value."""
        return float(self.values.max() - self.values.min())

    @property
    def rise(self) -> float:
        """Return how much more the longest, or a peak, earn than the shortest."""
        return float(self.values[self.outline[1]] - self.values[0])

    @property
    def outline(self) -> list[int]:
        """Return the places of its ends, and of a peak between them."""
        last = len(self.values) - 1
        top = int(np.argmax(self.values))
        drop = self.values[top] - max(self.values[0], self.values[last])
        if self.height > 0 and drop >= PEAK_SHARE * self.height:
            return [0, top, last]
        return [0, last]

    @property
    def is_limit(self) -> bool:
        """Return whether most lengths earn about the maximum, and few lose."""
        is_top = self.values >= self.values.max() - AT_ITS_TOP * self.height
        return bool(is_top.mean() >= FLAT_SHARE)

    @property
    def valley(self) -> tuple[int, int, int]:
        """Return the places of a dip: the top before it, the bottom, the top behind it.

        The dip at the shortest lengths among those nearly as deep as the deepest one.
        All 0 where the curve never falls and rises again.
        """
        dips = {}
        for place in range(1, len(self.values) - 1):
            tops = self.values[:place].max(), self.values[place + 1 :].max()
            dips[place] = float(min(tops) - self.values[place])
        deepest = max(dips.values(), default=0.0)
        if deepest <= 0:
            return 0, 0, 0
        enough = (1 - AT_ITS_TOP) * deepest
        place = next(place for place, depth in dips.items() if depth >= enough)
        while dips.get(place + 1, 0.0) > dips[place]:
            place += 1
        before = int(np.argmax(self.values[:place]))
        behind = self.values[place + 1 :]
        is_top = behind >= behind.max() - AT_ITS_TOP * self.height
        return before, place, place + 1 + int(np.argmax(is_top))

    @property
    def depth(self) -> float:
        """Return the difference between the dip and the lower top next to it."""
        before, place, behind = self.valley
        tops = min(self.values[before], self.values[behind])
        return float(tops - self.values[place])

    def describe(self, places: Sequence[int], unit: str) -> str:
        """Write the values at some places; differences if no row earned the values.

        >>> values = np.array([0.988, 0.5, 1.0])
        >>> curve = LengthCurve(np.array([98.0, 1013, 2040]), values)
        >>> curve.describe([0, 1, 2], "characters")
        '0.99 at 98 characters, 0.5 at 1,000 and 1 at 2,000'
        >>> curve = LengthCurve(curve.lengths, values, bounds=(0.7, 1.0))
        >>> curve.describe([0, 1, 2], "characters")
        '0.3 less at 1,000 characters than at 98 and 0.012 more at 2,000'
        """
        places = list(dict.fromkeys(places))
        lengths = [round_length(self.lengths[place]) for place in places]
        values = self.values[places]
        within_bounds = np.clip(values, *self.bounds)
        beyond = float(np.abs(values - within_bounds).max())
        if beyond <= AT_ITS_TOP * self.height:
            amounts = [short_amount(value) for value in within_bounds.tolist()]
            lengths[0] += f" {unit}"
        else:
            most = self.bounds[1] - self.bounds[0]
            differences = np.clip(values[1:] - values[0], -most, most)
            amounts = list(map(describe_difference, differences.tolist()))
            first = lengths.pop(0)
            lengths[0] += f" {unit} than at {first}"
        points = list(map(" at ".join, zip(amounts, lengths, strict=True)))
        return " and ".join(filter(None, [", ".join(points[:-1]), points[-1]]))


def short_amount(amount: float) -> str:
    """Write an amount with two digits."""
    return f"{float(f'{amount:.2g}') + 0.0:g}"


def describe_difference(difference: float) -> str:
    """Write how much more or less is earned.

    >>> [describe_difference(difference) for difference in (-0.25, 0.5, 0.0)]
    ['0.25 less', '0.5 more', '0 more']
    """
    direction = "less" if difference < 0 else "more"
    return f"{short_amount(abs(difference))} {direction}"


def round_length(length: float) -> str:
    """Write a length with two digits: 1013 -> 1,000."""
    return f"{float(f'{length:.2g}'):,.0f}"


def kind_of_curve(right: LengthCurve, wrong: LengthCurve | None, span: float) -> str:
    """Return the kind of a curve by length.

    - "turns": it has a dip.
    - "mirrored": wrong answers gain by the lengths at which right ones lose.
    - "outweighs": wrong answers of one length earn more than right ones of another.
    - "pays_wrong": wrong answers gain nearly as much by length as right ones.
    - "mild": a limit that few completions reach, or a slope or peak of right answers.
    - "": it hardly moves.

    Args:
        right: the curve of right answers, or of answers that are equal.
        wrong: that of wrong answers, if they are known.
        span: the amount that being right adds.
    """
    if span <= 0:
        return "outweighs"
    if right.depth >= TURNS * span:
        return "turns"
    if right.height < TURNS * span / 2:
        return ""
    if wrong is not None and wrong.height >= TURNS * span:
        if wrong.rise > 0 > right.rise and wrong.values.max() < right.values.min():
            return "mirrored"
    if right.is_limit or right.height < TURNS * span:
        return "mild"
    if wrong is None:
        return "outweighs" if right.height > span else "mild"
    if wrong.values.max() - right.values.min() > TURNS * span:
        if wrong.rise * right.rise > 0 or wrong.height < TURNS * span:
            return "outweighs"
    if wrong.rise * right.rise > 0 and not wrong.is_limit:
        if wrong.height >= AS_MUCH_FOR_WRONG * right.height:
            return "pays_wrong"
    return "mild"


def _is_one_factor(right: LengthCurve, wrong: LengthCurve | None) -> bool:
    """Return whether one curve is the other times a number, at the same lengths."""
    if wrong is None or not right.values.all():
        return False
    ratios = wrong.values / right.values
    return float(np.ptp(ratios)) <= SAME_FACTOR * abs(float(ratios.mean()))


OF_WRONG = ("pays_wrong", "mirrored")
"""Kinds of curves by which wrong answers gain, but earn less than right ones."""


@dataclass(frozen=True)
class CurveStory:
    """The description of a curve for a finding.

    `kind` is that of `kind_of_curve`, `places` are those of its figures, `worth` is its
    height as a share of what being right adds. `words` are evidence for sentences.
    """

    kind: str
    places: Sequence[int]
    worth: float
    severity: str
    words: Mapping[str, Any]


def tell_curve(
    right: LengthCurve,
    wrong: LengthCurve | None,
    span: float,
    unit: str,
    *,
    high: float,
    is_cosine: bool = True,
) -> CurveStory:
    """Describe a curve: its kind, how far it moves the reward, and where it turns.

    Args:
        right: As in `kind_of_curve`.
        wrong: As there.
        span: As there.
        unit: The unit of lengths.
        high: The share of `span` from which the severity is high.
        is_cosine: Whether it may be a cosine reward, which takes less from longer wrong
            answers on purpose (Demystifying Long CoT, 2502.03373).
    """
    kind = kind_of_curve(right, wrong, span)
    places = right.outline
    size = right.height
    if kind == "turns":
        places = [*right.valley]
        size = right.depth
    worth = size / span if span > 0 else math.inf
    severity = "info"
    is_meant = kind == "mirrored" and (is_cosine or not _is_one_factor(right, wrong))
    if kind != "mild" and not is_meant:
        severity = "high" if worth >= high and kind not in OF_WRONG else "warn"
    words = {
        "kind": kind,
        "unit": unit,
        "figures": right.describe(places, unit),
        "wrong": "" if wrong is None else wrong.describe(wrong.outline, unit),
        "turn": round_length(right.lengths[places[1]]),
        "turns": len(places) > 2,
        "is_meant": is_meant,
        "peaks": kind != "turns" and len(places) > 2,
        "step": "" if math.isnan(right.step) else round_length(right.step),
    }
    return CurveStory(kind, places, worth, severity, words)


@dataclass(frozen=True, eq=False)
class CurveFit:
    """A curve fitted among rows of the same class, with the data for its certainty.

    `sums` are the products of the normal equations, (rows,) each.
    """

    curve: LengthCurve
    sums: list[Floats]
    prompts: Codes

    def is_certain(self, above: int, below: int, bootstrap: Bootstrap) -> bool:
        """Return whether one place of the curve certainly lies above another."""

        def difference(*sums: Floats) -> Floats:
            slopes = _solve(np.column_stack(sums))
            heights = np.concatenate([np.zeros((len(slopes), 1)), slopes], axis=1)
            return np.asarray(heights[:, above] - heights[:, below])

        low, _ = bootstrap.interval(self.sums, self.prompts, difference)
        return low > 0


def fit_curve(
    lengths: Floats, values: Floats, classes: Codes, prompts: Codes
) -> CurveFit | None:
    """Fit values by length among rows of the same class; None for too few of them.

    Piecewise linear between `KNOTS` lengths, by least squares with a level for each
    class, so that differences between classes do not count. The curve lies at the mean
    level of the rows. It is a single step if that leaves less variance a degree of
    freedom: a piecewise linear fit swings beside a step, and would seem to turn.

    Args:
        lengths: (rows,), as are all.
        values: the rewards of the rows.
        classes: codes of rows that should earn the same.
        prompts: codes of prompts, for the certainty.
    """
    free = len(values) - len(np.unique(classes))
    if free < FEWEST_FREE_ROWS:
        return None
    knots = np.unique(np.quantile(lengths, np.linspace(0.02, 0.98, KNOTS)))
    if len(knots) < 3:
        return None
    columns = []
    for place in range(1, len(knots)):
        hat = np.interp(lengths, knots, np.eye(len(knots))[place])
        columns.append(within(hat, classes))
    centred = within(values, classes)
    sums = [
        first * second
        for first, second in combinations_with_replacement([centred, *columns], 2)
    ]
    totals = np.array([[products.sum() for products in sums]])
    if totals[0, 0] <= 1e-12 * len(values) * max(1.0, float(np.abs(values).max())):
        return None  # rows of a class earn the same
    slopes = _solve(totals)[0]
    heights = np.concatenate([[0.0], slopes])
    residuals = centred - np.column_stack(columns) @ slopes
    explained = 1 - float(residuals @ residuals) / float(totals[0, 0])
    step, height, by_step = _fit_step(lengths, centred, classes)
    if (1 - by_step) * (free - len(knots)) <= (1 - explained) * (free - 2):
        explained, heights = by_step, height * (knots > step)
        level = float((values - height * (lengths > step)).mean())
    else:
        step = math.nan
        level = float((values - np.interp(lengths, knots, heights)).mean())
    bounds = float(values.min()), float(values.max())
    curve = LengthCurve(knots, level + heights, explained, bounds, step)
    return CurveFit(curve, sums, prompts)


def _fit_step(
    lengths: Floats, centred: Floats, classes: Codes
) -> tuple[float, float, float]:
    """Return the length of the step that explains most, its height, and that share.

    Of many rows only those of some classes are used.

    Args:
        lengths: (rows,), as are all.
        centred: the rewards of the rows less the mean of their class.
        classes: codes of rows that should earn the same.
    """
    is_used = classes % max(1, len(lengths) // MOST_ROWS_OF_STEP) == 0
    lengths = lengths[is_used]
    centred = centred[is_used]
    classes = numbered(classes[is_used])
    best = math.nan, 0.0, 0.0
    for place in np.unique(np.quantile(lengths, np.linspace(0.02, 0.98, STEP_PLACES))):
        is_behind = within((lengths > place).astype(float), classes)
        size = float(is_behind @ is_behind)
        product = float(is_behind @ centred)
        explained = product**2 / max(size, 1e-9) / float(centred @ centred)
        if explained > best[2]:
            best = float(place), product / max(size, 1e-9), explained
    return best


def _solve(sums: Floats) -> Floats:
    """Return the heights above the first knot, (resamples, knots - 1).

    Args:
        sums: the sums of the products of `fit_curve`, (resamples, products).
    """
    size = round((math.sqrt(1 + 8 * sums.shape[1]) - 1) / 2)
    products = np.zeros((len(sums), size, size))
    rows, columns = np.triu_indices(size)
    products[:, rows, columns] = products[:, columns, rows] = sums
    squares = products[:, 1:, 1:]
    right = products[:, 1:, :1]
    # so that a resample without rows between two knots has a solution, too
    scale = 1e-9 * np.trace(squares, axis1=1, axis2=2)[:, None, None] + 1e-300
    slopes = np.linalg.solve(squares + scale * np.eye(size - 1), right)
    return slopes[:, :, 0]
