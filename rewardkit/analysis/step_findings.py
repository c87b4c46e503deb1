"""Findings over the steps of a run: the reward rises while something else goes where it should not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rewardkit.analysis.findings import Finding
from rewardkit.analysis.grouping import Floats
from rewardkit.analysis.pairs import alike
from rewardkit.analysis.view import View

FEWEST_STEPS = 3
"""Steps under which there is no trend. Our choice."""


def find(view: View) -> list[Finding]:
    """Where the reward rises over the steps while the label falls, or length or repeated answers change."""
    steps = view.context.steps
    if steps is None or len(np.unique(steps[~np.isnan(steps)])) < FEWEST_STEPS:
        return []
    rise, (low, high) = _trend(view, steps, view.rewards)
    if not low > 0:
        return []
    gained = {"reward_change": rise, "reward_interval": (low, high)}
    return [
        finding
        for what, severity, values in _watched(view)
        for finding in _drift(view, steps, what, severity, values, gained)
    ]


def _watched(view: View) -> Iterator[tuple[str, str, Floats]]:
    """What is looked at beside the reward, and how bad it is that it moves."""
    if view.context.label is not None:
        yield view.context.label_name, "high", view.context.label
    yield f"length in {view.context.length_unit}", "warn", view.context.lengths
    same = alike(view.completions, view.groups)
    yield "share of siblings with the same text", "warn", same


def _drift(
    view: View, steps: Floats, what: str, severity: str, values: Floats, gained: dict[str, object]
) -> Iterator[Finding]:
    change, (low, high) = _trend(view, steps, values)
    mean = float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")
    limits = view.thresholds
    if severity == "high":
        moved = high < 0
    elif what.startswith("length"):
        moved = (low > 0 or high < 0) and abs(change) >= limits["length_drift"] * mean
    else:
        moved = low > 0 and change >= limits["repeat_drift"]
    if not moved:
        return
    evidence = {"value": change, "interval": (low, high), "what": what, "mean": mean, **gained}
    last = steps == np.nanmax(steps)
    known = int((~np.isnan(values)).sum())
    yield Finding("drift", severity, None, evidence, known, 0.0, view.ids(last), part=view.part)


def _trend(view: View, steps: Floats, values: Floats) -> tuple[float, tuple[float, float]]:
    """Change from the first to the last step along a line of least squares, and its interval over prompts."""
    known = ~np.isnan(steps) & ~np.isnan(values)
    span = float(np.ptp(steps[known])) if known.any() else 0.0
    if span == 0:
        return float("nan"), (float("nan"), float("nan"))
    at = np.where(known, (steps - steps[known].min()) / span, 0.0)
    y = np.where(known, values, 0.0)
    sums = [known.astype(float), at, y, at * at, at * y]
    value = float(_slope(*(np.array([item.sum()]) for item in sums))[0])
    return value, view.bootstrap.interval(sums, view.bootstrap.prompts, _slope)


def _slope(n: Floats, s: Floats, y: Floats, ss: Floats, sy: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((n * sy - s * y) / (n * ss - s * s), dtype=float)
