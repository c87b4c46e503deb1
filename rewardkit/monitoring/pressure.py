"""Newly paid features: they grew, are paid, and do not correlate with the task.

One policy-gradient step changes the mean of a feature in proportion to the within-group
covariance of feature and advantage: the pressure on the feature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rewardkit.analysis.rehearsal.reach import HALF
from rewardkit.analysis.statistics import Codes, Floats, Mask, group_stats, within
from rewardkit.monitoring.changes import Shift, find_change
from rewardkit.monitoring.features import Feature
from rewardkit.monitoring.windows import WindowFigure, Windows

LEAST_FEATURE_GROWTH = 0.1
"""Least growth of a feature, as a share of the completions. Our choice."""
SURE = 3.0
"""Standard errors from which a covariance counts. Our choice."""
GOES_WITH = 2.0
"""Standard errors from which a feature correlates with the task. Our choice."""
TWO_SIDED = 1.96
"""Standard errors on either side of a 95 % interval."""
SAME_FEATURE = 0.7
"""Correlation from which two features count as one. Our choice."""


@dataclass(frozen=True, eq=False)
class NewlyPaid:
    """A feature that grew, is paid, and does not correlate with the task.

    `words` complete "completions that ...". `change` is the change of the feature's
    share. `pressure` is the within-group covariance of feature and advantage up to the
    change, with its 95 % `interval` and its parts `by_component`. If siblings never
    differ in the feature, the pressure is NaN; then `by_component` holds how much more
    each component pays completions with the feature at the end than others before.
    `task` is the correlation with the task among siblings, NaN if unknown. `rows` are 1
    for completions with the feature, else 0, (rows,).
    """

    words: str
    is_wording: bool
    change: Shift
    pressure: float
    interval: tuple[float, float]
    by_component: Mapping[str, float]
    task: float
    rows: Floats

    @property
    def component(self) -> str:
        """Return the component that pays most for the feature."""
        return max(self.by_component, key=lambda name: self.by_component[name])


@dataclass(frozen=True, eq=False)
class GroupPayment:
    """Advantages of rows, and the components' parts if the reward is a sum.

    `parts` add up to the advantages, `amounts` to the rewards. `task` is the share of
    the task that is done, NaN if unknown. All are (rows,).
    """

    advantages: Floats
    parts: Mapping[str, Floats]
    amounts: Mapping[str, Floats]
    task: Floats

    def without_task(self, groups: Codes) -> Floats:
        """Return the residual advantages of a within-group regression on the task.

        Shape (rows,).
        """
        is_known = ~np.isnan(self.task)
        task = within(np.where(is_known, self.task, 0.0), groups)
        spread = float((task * task).sum())
        if not spread:
            return self.advantages
        slope = float(np.nansum(self.advantages * task)) / spread
        return self.advantages - slope * task


def find_newly_paid(
    features: Sequence[Feature], payment: GroupPayment, windows: Windows
) -> list[NewlyPaid]:
    """Find newly paid features, the largest growth first, wordings last.

    Of features on the same completions one is returned. A wording that grows only
    among completions with another feature is left out.

    Args:
        features: Features of the rows.
        payment: Advantages of the same rows.
        windows: Windows of the same rows.
    """
    candidates: list[NewlyPaid] = []
    residuals = payment.without_task(windows.groups)
    for feature in features:
        for way in (1, -1) if feature.does_not else (1,):
            change = _growth(feature, windows, way)
            if change is None:
                continue
            rows = feature.rows if way > 0 else 1 - feature.rows
            words = feature.does if way > 0 else feature.does_not
            item = _newly_paid_feature(
                words, feature.is_wording, rows, change, payment, residuals, windows
            )
            if item is not None:
                candidates.append(item)
    candidates.sort(key=lambda item: (item.is_wording, -abs(item.change.size)))
    different: list[NewlyPaid] = []
    is_explained = np.zeros(len(windows.row_windows), dtype=bool)
    for item in candidates:
        if any(_is_same(item.rows, other.rows) for other in different):
            continue
        if not item.is_wording:
            is_explained |= item.rows == 1
        elif not _grows_alone(item, is_explained, windows):
            continue
        different.append(item)
    return different


def _grows_alone(item: NewlyPaid, is_explained: Mask, windows: Windows) -> bool:
    """Return whether a wording grows among completions without another feature."""
    figure = windows.figure(np.where(is_explained, np.nan, item.rows))
    return find_change(figure, windows, 1, least=LEAST_FEATURE_GROWTH) is not None


def _growth(feature: Feature, windows: Windows, way: int) -> Shift | None:
    """Return the growth of a feature's share, or with `way` -1 of its absence."""
    figure = windows.figure(feature.rows)
    means = figure.means[figure.counts > 0]
    if not len(means) or np.ptp(means) < LEAST_FEATURE_GROWTH:
        return None
    change = find_change(figure, windows, way, least=LEAST_FEATURE_GROWTH)
    if change is None or way > 0:
        return change
    return replace(change, before=1 - change.before, after=1 - change.after)


def _newly_paid_feature(
    words: str,
    is_wording: bool,
    rows: Floats,
    change: Shift,
    payment: GroupPayment,
    residuals: Floats,
    windows: Windows,
) -> NewlyPaid | None:
    """Return the feature if it was paid while it grew, and not for the task.

    `residuals` are the advantages that the task does not explain, (rows,).
    """
    until = slice(0, change.ending[0] + 1)
    task, error = _covariance(payment.task, rows, windows).over(until)
    if task > GOES_WITH * error:
        return None
    surplus, error = _covariance(residuals, rows, windows).over(until)
    pressure = math.nan
    by_component = {}
    if surplus > SURE * error:
        figure = _covariance(payment.advantages, rows, windows)
        pressure, error = figure.over(until)
        for name, values in payment.parts.items():
            part, _ = _covariance(values, rows, windows).over(until)
            by_component[name] = part
    elif surplus > -SURE * error:
        by_component = _gains(rows, change, payment, windows)
    if not by_component:
        return None
    is_until = windows.row_windows <= change.ending[0]
    return NewlyPaid(
        words,
        is_wording,
        change,
        pressure,
        (pressure - TWO_SIDED * error, pressure + TWO_SIDED * error),
        by_component,
        _correlation(payment.task[is_until], rows[is_until], windows.groups[is_until]),
        rows,
    )


def _gains(
    rows: Floats, change: Shift, payment: GroupPayment, windows: Windows
) -> dict[str, float]:
    """Return how much more each component pays with the feature than without it.

    Completions with the feature at the end are compared with those without it before
    the change, right ones left out. Components without a significant gain are left out.
    """
    is_wrong = np.isnan(payment.task) | (payment.task < HALF)
    is_before = windows.rows_in(change.reference) & is_wrong & (rows == 0)
    is_after = windows.rows_in(change.ending) & is_wrong & (rows == 1)
    gains = {}
    for name, amounts in payment.amounts.items():
        amounts_before = windows.figure(np.where(is_before, amounts, np.nan))
        amounts_after = windows.figure(np.where(is_after, amounts, np.nan))
        before, before_error = amounts_before.over(slice(None))
        after, after_error = amounts_after.over(slice(None))
        if after - before > SURE * math.hypot(before_error, after_error):
            gains[name] = after - before
    return gains


def _covariance(values: Floats, rows: Floats, windows: Windows) -> WindowFigure:
    """Return the within-group covariance of two columns, by window."""
    groups, total = windows.groups, len(windows.group_windows)
    product = within(np.nan_to_num(values), groups) * within(rows, groups)
    product = np.where(np.isnan(values), np.nan, product)
    stats = group_stats(product, groups, total)
    return windows.figure_of_groups(np.where(stats.count > 1, stats.mean, np.nan))


def _correlation(first: Floats, second: Floats, groups: Codes) -> float:
    """Return the correlation among siblings, NaN if a column does not vary."""
    has_value = ~np.isnan(first)
    if not has_value.any():
        return math.nan
    a = within(first[has_value], groups[has_value])
    b = within(second[has_value], groups[has_value])
    size = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size else math.nan


def _is_same(first: Floats, second: Floats) -> bool:
    return bool(np.corrcoef(first, second)[0, 1] >= SAME_FEATURE)
