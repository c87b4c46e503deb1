"""Findings over the steps of a run: the reward rises while something else goes where it should not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.statistics.pairs import alike
from rewardkit.analysis.view import View
from rewardkit.findings import Finding

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
    return [finding for item in _watched(view) for finding in _drift(view, steps, item, gained)]


@dataclass(frozen=True)
class Watched:
    """What is looked at beside the reward: its `values`, the way it should not go, and how far at least."""

    what: str
    severity: str
    values: Floats
    way: Literal["rises", "falls", "changes"]
    least: float


def _watched(view: View) -> Iterator[Watched]:
    context, limits = view.context, view.thresholds
    if context.label is not None:
        yield Watched(context.label_name, "high", context.label, "falls", 0.0)
    least = limits["length_drift"] * _mean(context.lengths)
    yield Watched(f"length in {context.length_unit}", "warn", context.lengths, "changes", least)
    same = alike(view.completions, view.groups)
    yield Watched("share of siblings with the same text", "warn", same, "rises", limits["repeat_drift"])


def _drift(view: View, steps: Floats, item: Watched, gained: dict[str, object]) -> Iterator[Finding]:
    change, (low, high) = _trend(view, steps, item.values)
    sure = {"rises": low > 0, "falls": high < 0, "changes": low > 0 or high < 0}
    if not (sure[item.way] and abs(change) >= item.least):
        return
    mean = _mean(item.values)
    evidence = {"value": change, "interval": (low, high), "what": item.what, "mean": mean, **gained}
    last = steps == np.nanmax(steps)
    known = int((~np.isnan(item.values)).sum())
    yield Finding("drift", item.severity, None, evidence, known, 0.0, view.ids(last), part=view.part)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


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
