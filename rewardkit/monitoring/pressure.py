"""What is newly paid: features that grew, are paid, and do not go with the task.

One step of a policy gradient changes the mean of a feature in proportion to the
covariance, within groups, of the advantage with it: the pressure on the feature.
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
"""Share of the completions by which a feature has to grow. Our choice."""
SURE = 3.0
"""Standard errors from which a covariance counts. Our choice."""
GOES_WITH = 2.0
"""Standard errors from which a feature goes with the task. Our choice."""
TWO_SIDED = 1.96
"""Standard errors on either side of an interval of 95 %."""
SAME_FEATURE = 0.7
"""Correlation from which two features are one to a person. Our choice."""


@dataclass(frozen=True, eq=False)
class NewlyPaid:
    """A feature that grew over the run, is paid, and does not go with the task.

    `words` say it of completions. `change` is that of its share, `pressure` the mean
    covariance of the advantage with it within groups until then, with `interval`
    (95 %), `by_component` its parts. The pressure is NaN where the log has no steps in
    which siblings differ in the feature; then `by_component` says how much more
    components pay for completions with it at the end than for others before. `task` is
    the correlation with the task among siblings, NaN where that is not known. `rows`
    are 1 where a completion has it.
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
        """Return the component that pays most of it."""
        return max(self.by_component, key=lambda name: self.by_component[name])


@dataclass(frozen=True, eq=False)
class GroupPayment:
    """What rows are paid: their advantages, and of a sum what each component adds.

    `parts` are those of the advantages, `amounts` those of the rewards; `task` is the
    share done of the task, NaN where that is not known. All (rows,).
    """

    advantages: Floats
    parts: Mapping[str, Floats]
    amounts: Mapping[str, Floats]
    task: Floats

    def beside_task(self, groups: Codes) -> Floats:
        """Return what is left of the advantages once the task is paid for, (rows,).

        That is the rest of a regression on the task among siblings.
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
    """Return what is newly paid, what grew most first.

    Of features that the same completions have one is returned, and no wording that
    grows only because another feature does.

    Args:
        features: of the rows.
        payment: of the same rows.
        windows: of the same rows.
    """
    candidates: list[NewlyPaid] = []
    beside = payment.beside_task(windows.groups)
    for feature in features:
        for way in (1, -1) if feature.does_not else (1,):
            change = _growth(feature, windows, way)
            if change is None:
                continue
            rows = feature.rows if way > 0 else 1 - feature.rows
            words = feature.does if way > 0 else feature.does_not
            item = _newly_paid_feature(
                words, feature.is_wording, rows, change, payment, beside, windows
            )
            if item is not None:
                candidates.append(item)
    candidates.sort(key=lambda item: (item.is_wording, -abs(item.change.size)))
    different: list[NewlyPaid] = []
    is_explained = np.zeros(len(windows.of_rows), dtype=bool)
    for item in candidates:
        if any(_is_same(item.rows, other.rows) for other in different):
            continue
        if not item.is_wording:
            is_explained |= item.rows == 1
        elif not _grows_beside(item, is_explained, windows):
            continue
        different.append(item)
    return different


def _grows_beside(item: NewlyPaid, is_explained: Mask, windows: Windows) -> bool:
    """Return whether a wording grows among completions that show no other feature."""
    figure = windows.figure(np.where(is_explained, np.nan, item.rows))
    return find_change(figure, windows, 1, least=LEAST_FEATURE_GROWTH) is not None


def _growth(feature: Feature, windows: Windows, way: int) -> Shift | None:
    """Return how the share of a feature grew, or of its absence with `way` -1."""
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
    beside: Floats,
    windows: Windows,
) -> NewlyPaid | None:
    """Return the feature where it was paid while it grew, and not with the task.

    `beside` are the advantages less what siblings earn by the task, (rows,).
    """
    until = slice(0, change.ending[0] + 1)
    task, error = _covariance(payment.task, rows, windows).over(until)
    if task > GOES_WITH * error:
        return None
    surplus, error = _covariance(beside, rows, windows).over(until)
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
    is_until = windows.of_rows <= change.ending[0]
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
    """Return by how much each component pays the feature more than its absence.

    Where the log holds no steps in which siblings differ in the feature, the
    completions with it at the end are compared with those without it before: those
    that are wrong, where that is known.
    """
    is_wrong = np.isnan(payment.task) | (payment.task < HALF)
    is_before = windows.rows_in(change.reference) & is_wrong & (rows == 0)
    is_after = windows.rows_in(change.ending) & is_wrong & (rows == 1)
    gains = {}
    for name, amounts in payment.amounts.items():
        sides = []
        for side in (is_before, is_after):
            figure = windows.figure(np.where(side, amounts, np.nan))
            sides.append(figure.over(slice(None)))
        (before, before_error), (after, after_error) = sides
        if after - before > SURE * math.hypot(before_error, after_error):
            gains[name] = after - before
    return gains


def _covariance(values: Floats, rows: Floats, windows: Windows) -> WindowFigure:
    """Return the covariance of two values within groups, by window."""
    groups, total = windows.groups, len(windows.of_groups)
    product = within(np.nan_to_num(values), groups) * within(rows, groups)
    product = np.where(np.isnan(values), np.nan, product)
    stats = group_stats(product, groups, total)
    return windows.figure_of_groups(np.where(stats.count > 1, stats.mean, np.nan))


def _correlation(first: Floats, second: Floats, groups: Codes) -> float:
    """Return the correlation among siblings, NaN without spread."""
    has_value = ~np.isnan(first)
    if not has_value.any():
        return math.nan
    a = within(first[has_value], groups[has_value])
    b = within(second[has_value], groups[has_value])
    size = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size else math.nan


def _is_same(first: Floats, second: Floats) -> bool:
    return bool(np.corrcoef(first, second)[0, 1] >= SAME_FEATURE)
