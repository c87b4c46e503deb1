"""Rules on how the reward varies: outliers, wide groups, kinds of prompts, drift."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from rewardkit.analysis.findings import FEWEST_GROUPS, finding, share
from rewardkit.analysis.statistics import LEVEL, Floats, Mask, group_stats, spread_out
from rewardkit.analysis.statistics.advantages import grpo
from rewardkit.analysis.statistics.distributions import chi_squared, outlying, two_piles
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, Findings, rule

FEWEST_VALUES = 20
"""Scores, or means of prompts, under which a distribution has no shape. Our choice."""
MOST_OUTLIERS = 2
"""Mean outliers a group from which the groups themselves are wide. Our choice."""
FEWEST_KINDS_PROMPTS = 50
"""Prompts under which two kinds cannot be told from one. Our choice."""
MOST_KINDS_PROMPTS = 1_000
"""Prompts that are used; of more, so many evenly spaced by size. Our choice."""
BLUR = 0.5
"""Standard errors of a prompt's mean: enough to level steps of four binary scores."""


@rule("outliers", "high_variance")
def wide(
    view: View,
    findings: Findings,
    *,
    outliers: float = 0.1,  # part of siblings' squared differences: our choice
    outlier_rows: float = 0.05,  # of the scores; more are not rare: our choice
    top_decile: float = 0.5,  # share of the unscaled advantage in a tenth of the groups
) -> Iterator[Finding]:
    """Find rare scores that make up much of the differences of siblings, or groups.

    A long tail is no fault. Outliers are one or two in a group; several together make a
    wide group. A few are enough, as their share of the squared differences is exact and
    no estimate.
    """
    blamed = np.zeros(len(view), dtype=bool)
    for name, component in view.components.items():
        if component.range is not None:
            continue
        scores = view.scores[name]
        far = outlying(scores)
        if not _are_rare(view, scores, far, outlier_rows):
            continue
        total = view.group_stats(scores).squares
        without = view.group_stats(np.where(far, np.nan, scores)).squares
        added = np.maximum(total - without, 0.0)
        if not total.sum() or added.sum() < outliers * total.sum():
            continue
        outlier = _outliers(view, name, far, added, total, outliers)
        if outlier.severity != "info":
            blamed |= far
        yield outlier
    yield from _few_groups(view, blamed, top_decile)


def _are_rare(view: View, scores: Floats, far: Mask, most: float) -> bool:
    """Return whether outliers are few, and most of them alone in their group."""
    scored = int((~np.isnan(scores)).sum())
    if scored < FEWEST_VALUES or not 0 < far.sum() <= most * scored:
        return False
    return bool(far.sum() < MOST_OUTLIERS * len(np.unique(view.groups[far])))


def _outliers(
    view: View, name: str, far: Mask, added: Floats, total: Floats, limit: float
) -> Finding:
    scores = view.scores[name]
    is_paid = view.components[name].weight != 0
    scored = int((~np.isnan(scores)).sum())
    median = float(np.nanmedian(scores))
    outlying_scores = scores[far]
    extreme = outlying_scores[np.argmax(np.abs(outlying_scores - median))]
    measured = {**share(view, added, total), "n": scored}
    return finding(
        view,
        "outliers",
        name,
        **measured,
        limit=limit,
        reading=far,
        severity="" if is_paid else "info",
        answers=None if is_paid else (),
        rows=int(far.sum()),
        share=float(far.sum() / scored),
        median=median,
        extreme=float(extreme),
        scaled=view.training.scales_groups,
    )


def _few_groups(view: View, blamed: Mask, limit: float) -> Iterator[Finding]:
    """Find that few groups hold most of the unscaled advantage, outliers aside."""
    stats = view.stats
    live = np.flatnonzero(stats.live)
    if len(live) < FEWEST_GROUPS or view.training.scales_groups:
        return
    mass = np.where(stats.live, np.nan_to_num(stats.std) * stats.count, 0.0)
    widest = max(1, len(live) // 10)
    cut = np.sort(mass[live])[-widest - 1 :][:2].mean()
    # adds up to the mass of the widest; in a resample to that of its own widest, to
    # first order, whichever groups these are (Beach and Davidson 1983)
    beyond = np.maximum(mass - cut, 0.0) + cut * widest / len(live)
    top_mass = np.where(stats.live, beyond, 0.0)
    top = mass >= cut
    has_outliers = np.bincount(view.groups, blamed, minlength=len(mass)) > 0
    is_explained = mass[top & has_outliers].sum() > mass[top].sum() / 2
    if top_mass.sum() < limit * mass.sum() or is_explained:
        return
    measured = {**share(view, top_mass, mass), "n": len(live)}
    reading = top[view.groups]
    yield finding(view, "high_variance", **measured, limit=limit, reading=reading)


@rule("amplified_noise")
def amplified_noise(
    view: View,
    findings: Findings,
    *,
    small_std: float = 0.1,  # of the usual one, for certain: our choice
    amplified_noise: float = 0.05,  # share of live groups that small: our choice
) -> Iterator[Finding]:
    """Find many groups with tiny differences that scaling amplifies.

    Two siblings may be close by chance, eight hardly ever. So a group counts only if a
    sample of its size from a tenth of the usual spread would be closer with a chance of
    less than one in twenty.
    """
    moving = view.stats.live & view.live
    live = int(moving.sum())
    if live < FEWEST_GROUPS or view.training.name != "grpo":
        return
    usual = view.usual_std
    limits = small_std * usual * least_spread(view.stats.count)
    small = moving & (view.stats.std < limits)
    if small.sum() < amplified_noise * live:
        return
    sizes = np.abs(np.nan_to_num(grpo(view.rewards, view.groups)))
    advantage_share = float(sizes[small[view.groups]].sum() / sizes.sum())
    yield finding(
        view,
        "amplified_noise",
        **share(view, small, moving),
        limit=amplified_noise,
        reading=small[view.groups],
        typical_std=usual,
        advantage_share=advantage_share,
        cost=advantage_share,
    )


def least_spread(count: Floats) -> Floats:
    """Return the 5 % quantile of the standard deviation of normal samples.

    As a fraction of the true deviation: the root of the 5 % quantile of chi-squared
    over its degrees of freedom. Exact for samples of two and three, else by
    `chi_squared`.

    Args:
        count: sizes of samples; NaN comes of fewer than two.

    >>> least_spread(np.array([2.0, 3, 8])).round(3).tolist()
    [0.063, 0.226, 0.555]
    """
    freedom = np.where(count > 1, count - 1, np.nan)
    spread = np.sqrt(chi_squared(1 - LEVEL, freedom) / freedom)
    of_two = NormalDist().inv_cdf((2 - LEVEL) / 2)
    spread = np.where(freedom == 1, of_two, spread)
    return np.where(freedom == 2, np.sqrt(-np.log(LEVEL)), spread)


@rule("bimodal")
def bimodal(
    view: View,
    findings: Findings,
    *,
    # Share of the prompts in the middle quarter of the way between the two kinds; of a
    # uniform distribution an eighth is there, of a normal one 0.16: our choice.
    between_kinds: float = 0.05,
) -> Iterator[Finding]:
    """Find two kinds of prompts, by their mean rewards, with few between.

    The mean of a few scores of few levels lies on steps, which are no kinds: each mean
    is blurred by half of its standard error, which levels them.
    """
    stats = view.stats
    owner = view.groups
    if view.bootstrap.total < len(view.owner):  # a prompt has several groups
        owner = view.bootstrap.prompts
        stats = group_stats(view.rewards, owner)
    is_judged = stats.count > 0
    means = stats.mean[is_judged]
    freedom = np.maximum(stats.count - 1, 0).sum()
    levels = len(np.unique(np.round(means, 12)))
    if len(means) < FEWEST_KINDS_PROMPTS or levels < FEWEST_VALUES or not freedom:
        return
    low, high, low_share = two_piles(means)
    errors = np.sqrt(stats.squares.sum() / freedom / stats.count[is_judged])
    blur = BLUR * errors + 1e-12 * (high - low)
    between = _share_between(means, blur, low, high)
    if between > between_kinds or min(low_share, 1 - low_share) < between_kinds:
        return
    yield finding(
        view,
        "bimodal",
        n=len(means),
        value=between,
        limit=between_kinds,
        reading=stats.mean[owner] < (low + high) / 2,
        cost=0.0,
        low=low,
        high=high,
        share=low_share,
    )


def _share_between(means: Floats, blur: Floats, low: float, high: float) -> float:
    """Return the share of blurred means in the middle quarter between two values."""
    middle = (low + high) / 2
    apart = high - low
    chosen = spread_out(np.argsort(means), MOST_KINDS_PROMPTS)
    chances = []
    for mean, width in zip(means[chosen], blur[chosen], strict=True):
        prompt = NormalDist(mean, width)
        chances.append(prompt.cdf(middle + apart / 8) - prompt.cdf(middle - apart / 8))
    return float(np.mean(chances))
