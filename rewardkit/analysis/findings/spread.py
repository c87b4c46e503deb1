"""Rules on how the reward varies, and where: outliers, wide and narrow groups, two kinds of prompts."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np

from rewardkit.analysis.findings.rule import FEWEST_GROUPS, Said, finding, share
from rewardkit.analysis.statistics.advantages import grpo
from rewardkit.analysis.statistics.bootstrap import LEVEL
from rewardkit.analysis.statistics.groups import Floats, group_stats
from rewardkit.analysis.statistics.pairs import alike
from rewardkit.analysis.statistics.shape import chi_squared, outlying, two_piles
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, rule

FEWEST_VALUES = 20
"""Scores, or different means of prompts, under which a distribution has no shape. Our choice."""
SEVERAL = 2
"""Values far out in a group that has any, on average, from which on the group itself is wide. Our choice."""
FEWEST_PROMPTS = 50
"""Prompts under which two kinds are not told from one. Our choice."""
MOST_PROMPTS = 1_000  # that are looked at; of more, so many evenly spaced ones in order of size: our choice
BLUR = 0.5  # standard errors of a prompt's mean: enough for steps of four scores of 0 and 1


@rule("outliers", "high_variance")
def wide(
    view: View,
    said: Said,
    *,
    outliers: float = 0.1,  # what values far out add to the squared differences of siblings: our choice
    outlier_rows: float = 0.05,  # share of the scores; more than that are no rare ones: our choice
    top_decile: float = 0.5,  # share of the unscaled advantage in a tenth of the groups: our choice
) -> Iterator[Finding]:
    """Rare scores of an open range that make much of what siblings differ in; else few groups that do.

    A long tail is no fault, and where several siblings lie far out together the group is wide: rare ones have
    a group for themselves. That they are few does not make them inconclusive: what they hold is no estimate.
    """
    blamed = np.zeros(len(view), dtype=bool)
    for name, item in view.components.items():
        scores = view.scores[name]
        far = (
            outlying(scores) if item.range is None else np.zeros(len(view), dtype=bool)
        )
        known = int((~np.isnan(scores)).sum())
        if known < FEWEST_VALUES or not 0 < far.sum() <= outlier_rows * known:
            continue
        if far.sum() >= SEVERAL * len(np.unique(view.groups[far])):
            continue
        whole = view.group_stats(scores).squares
        added = np.maximum(
            whole - view.group_stats(np.where(far, np.nan, scores)).squares, 0.0
        )
        if not whole.sum() or added.sum() < outliers * whole.sum():
            continue
        median = float(np.nanmedian(scores))
        extreme = float(scores[far][np.argmax(np.abs(scores[far] - median))])
        more: dict[str, Any] = {
            "rows": int(far.sum()),
            "share": float(far.sum() / known),
        }
        more |= {
            "median": median,
            "extreme": extreme,
            "scaled": view.training.scales_groups,
        }
        more |= {} if item.weight else {"severity": "info", "answers": ()}
        told = {**share(view, added, whole), "n": known, "limit": outliers}
        found = finding(view, "outliers", name, **told, read=far, **more)
        if found.severity != "info":
            blamed |= far
        yield found
    yield from _few_groups(view, blamed, top_decile)


def _few_groups(view: View, blamed: np.ndarray, limit: float) -> Iterator[Finding]:
    """Few groups that carry the unscaled advantage, for another reason than the outliers in them."""
    stats = view.stats
    live = np.flatnonzero(stats.live)
    if len(live) < FEWEST_GROUPS or view.training.scales_groups:
        return
    mass = np.where(stats.live, np.nan_to_num(stats.std) * stats.count, 0.0)
    widest = max(1, len(live) // 10)
    cut = np.sort(mass[live])[-widest - 1 :][:2].mean()
    # adds up to the mass of the widest; in a resample to that of its own widest, to first order, whichever
    # groups these are (Beach and Davidson 1983)
    held = np.where(
        stats.live, np.maximum(mass - cut, 0.0) + cut * widest / len(live), 0.0
    )
    top = mass >= cut
    of_outliers = np.bincount(view.groups, blamed, minlength=len(mass)) > 0
    if (
        held.sum() < limit * mass.sum()
        or mass[top & of_outliers].sum() > mass[top].sum() / 2
    ):
        return
    told = {**share(view, held, mass), "n": len(live)}
    yield finding(view, "high_variance", **told, limit=limit, read=top[view.groups])


@rule("amplified_noise")
def amplified_noise(
    view: View,
    said: Said,
    *,
    small_std: float = 0.1,  # of the usual one, for certain: our choice
    amplified_noise: float = 0.05,  # share of live groups that small: our choice
) -> Iterator[Finding]:
    """Many groups with tiny differences that scaling blows up.

    The spread of two siblings is tiny now and then whatever is behind it, that of eight hardly ever: a group
    counts where its own spread leaves less than one chance in twenty that what is behind it is a tenth of the
    usual one.
    """
    moving = view.stats.live & view.live
    live = int(moving.sum())
    if live < FEWEST_GROUPS or view.training.name != "grpo":
        return
    usual = view.usual_std
    small = moving & (
        view.stats.std < small_std * usual * least_spread(view.stats.count)
    )
    if small.sum() < amplified_noise * live:
        return
    size = np.abs(np.nan_to_num(grpo(view.rewards, view.groups)))
    held = float(size[small[view.groups]].sum() / size.sum())
    more = {"typical_std": usual, "advantage_share": held, "cost": held}
    told, read = share(view, small, moving), small[view.groups]
    yield finding(
        view, "amplified_noise", **told, limit=amplified_noise, read=read, **more
    )


def least_spread(count: Floats) -> Floats:
    """The standard deviation that one in twenty samples of a normal distribution stays under, by sample size.

    As a part of the true one: the square root of the 5 % point of chi-squared over its degrees of freedom;
    exact for samples of two and three, as near as `chi_squared` for larger ones. NaN under two.

    >>> least_spread(np.array([2.0, 3, 8])).round(3).tolist()
    [0.063, 0.226, 0.555]
    """
    normal, freedom = NormalDist(), np.where(count > 1, count - 1, np.nan)
    found = np.sqrt(chi_squared(1 - LEVEL, freedom) / freedom)
    found = np.where(freedom == 1, normal.inv_cdf((2 - LEVEL) / 2), found)
    return np.where(freedom == 2, np.sqrt(-np.log(LEVEL)), found)


@rule("bimodal")
def bimodal(
    view: View,
    said: Said,
    *,
    # Share of the prompts in the middle quarter of the way between the two kinds; of a uniform distribution
    # an eighth is there, of a normal one 0.16: our choice.
    between_kinds: float = 0.05,
) -> Iterator[Finding]:
    """Two kinds of prompts, by their mean rewards, with few between.

    The mean of a few scores of few levels lies on steps, which are no kinds: each is blurred by a half of its
    standard error, which levels them.
    """
    stats, owner = view.stats, view.groups
    if view.bootstrap.total < len(view.owner):  # a prompt has several groups
        stats, owner = (
            group_stats(view.rewards, view.bootstrap.prompts),
            view.bootstrap.prompts,
        )
    known = stats.count > 0
    means, freedom = stats.mean[known], np.maximum(stats.count - 1, 0).sum()
    if (
        len(means) < FEWEST_PROMPTS
        or len(np.unique(np.round(means, 12))) < FEWEST_VALUES
        or not freedom
    ):
        return
    low, high, low_share = two_piles(means)
    middle, apart = (low + high) / 2, high - low
    blur = (
        BLUR * np.sqrt(stats.squares.sum() / freedom / stats.count[known])
        + 1e-12 * apart
    )
    some = np.argsort(means)[
        np.linspace(0, len(means) - 1, min(len(means), MOST_PROMPTS)).astype(int)
    ]
    near = [
        NormalDist(mean, width).cdf(middle + apart / 8)
        - NormalDist(mean, width).cdf(middle - apart / 8)
        for mean, width in zip(means[some], blur[some], strict=True)
    ]
    between = float(np.mean(near))
    if between > between_kinds or min(low_share, 1 - low_share) < between_kinds:
        return
    more = {
        "low": low,
        "high": high,
        "share": low_share,
        "cost": 0.0,
        "limit": between_kinds,
    }
    read = stats.mean[owner] < middle
    yield finding(view, "bimodal", n=len(means), value=between, read=read, **more)


# --- over the steps of a run

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


RULES = (wide, amplified_noise, bimodal, drift)
