"""Rules over the steps of a run: the reward rises while something else goes where it should not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rewardkit.analysis.findings.rule import Said, finding
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.statistics.pairs import alike
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, rule

FEWEST_STEPS = 3
"""Steps under which there is no trend. Our choice."""

Trend = tuple[float, tuple[float, float]]


@rule("drift")
def drift(
    view: View,
    said: Said,
    *,
    length_drift: float = 0.3,  # of the mean length, over the run: our choice
    repeat_drift: float = 0.1,  # of the sibling pairs: our choice
) -> Iterator[Finding]:
    """Where the reward rises over the steps while the label falls, or length or repeated answers change."""
    context, steps = view.context, view.context.steps
    if steps is None or len(np.unique(steps[~np.isnan(steps)])) < FEWEST_STEPS:
        return
    gained, (low, high) = _trend(view, steps, view.rewards)
    if not low > 0:
        return
    # what is watched, its values, the severity, the ways it should not go (-1 down, 1 up), how far at least
    watched: list[tuple[str, Floats, str, tuple[int, ...], float]] = [
        (
            f"length in {context.length_unit}",
            context.lengths,
            "warn",
            (-1, 1),
            length_drift * float(np.nanmean(context.lengths)),
        ),
        (
            "share of siblings with the same text",
            alike(view.completions, view.groups),
            "warn",
            (1,),
            repeat_drift,
        ),
    ]
    if context.label is not None:
        watched.insert(0, (context.label_name, context.label, "high", (-1,), 0.0))
    for what, values, severity, ways, least in watched:
        change, interval = _trend(view, steps, values)
        sure = interval[0] > 0 if change > 0 else interval[1] < 0
        if not (sure and np.sign(change) in ways and abs(change) >= least):
            continue
        mean = float(np.nanmean(values))
        told = {
            "value": change,
            "interval": interval,
            "n": int((~np.isnan(values)).sum()),
            "limit": 0.0,
        }
        more = {
            "what": what,
            "mean": mean,
            "reward_change": gained,
            "reward_interval": (low, high),
        }
        read, cost = steps == np.nanmax(steps), abs(change) / max(abs(mean), 1e-12)
        yield finding(
            view, "drift", **told, severity=severity, read=read, cost=cost, **more
        )


def _trend(view: View, steps: Floats, values: Floats) -> Trend:
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


RULES = (drift,)
