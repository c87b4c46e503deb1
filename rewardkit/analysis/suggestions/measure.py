"""Effects of a change: figures before and after it, and what training makes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np

from rewardkit.analysis.comparison.before_after import in_brackets
from rewardkit.analysis.parts import scored_arrays
from rewardkit.analysis.rehearsal.outlook import (
    Outlook,
    read_outlook,
    why_untold,
)
from rewardkit.analysis.rehearsal.reach import limit_calls
from rewardkit.analysis.rehearsal.rehearsal import RISE, rehearse_view
from rewardkit.analysis.rehearsal.rows import read_task
from rewardkit.analysis.rewarded_rows import ROUNDING
from rewardkit.analysis.statistics import (
    Bootstrap,
    Codes,
    Floats,
    Interval,
    Ratio,
    ratio,
)
from rewardkit.analysis.statistics.pairs import concordance, first_siblings
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.view import View
from rewardkit.findings import percent
from rewardkit.plain import PlainRecord
from rewardkit.scoring.scores import Scores

LEAST_WEIGHT_CHANGE = 0.02
"""Difference of an effective weight from which it is shown. Our choice."""
CERTAIN_ERRORS = 3.0
"""Standard errors from which a difference ranks a change.

Our choice: by its interval alone noise would be first in one run of 40.
"""
EFFECT_NAMES = {
    "zero_std": "groups without a signal",
    "label_auc": "sibling pairs ordered as the label has it",
    "label_best": "label of the sibling that is put first",
    "phantom": "squared advantage where nothing is right",
    "missing": "rows without a reward",
    "effective_weight": "effective weight",
}
"""What a figure is called, by its code."""


@dataclass(frozen=True)
class Effect(PlainRecord):
    """One figure before and after a change, and the difference, with 95 % intervals.

    The `figure` is one of these:

    - "zero_std": share of the groups of two or more without an advantage.
    - "label_auc": share of the sibling pairs with different labels that the reward
      orders as the label does, ties half.
    - "label_best": mean label of the sibling of highest reward, ties averaged: what the
      best of n does.
    - "phantom": share of the squared advantage in groups in which nothing is right.
    - "missing": share of the rows without a reward.
    - "effective_weight": that of a `component`.

    The difference is paired: both sides are resampled by the same prompts. Intervals of
    the label hold for all changes together (Bonferroni). NaN where it cannot be
    computed. `prompts` is the number of prompts it was measured on.
    """

    figure: str
    before: float
    before_interval: Interval
    after: float
    after_interval: Interval
    difference: float
    interval: Interval
    prompts: int
    component: str | None = None

    @property
    def title(self) -> str:
        """Return what it measures, in words."""
        name = EFFECT_NAMES[self.figure]
        return f"{name} of {self.component!r}" if self.component else name

    @property
    def moved(self) -> str:
        """Return the paired difference in points, with its interval."""
        around = in_brackets(self.interval, points)
        return f"{points(self.difference)} points{around}"

    @property
    def is_shown(self) -> bool:
        """Return whether it is worth a line: a weight that hardly moves is not."""
        is_weight = self.figure == "effective_weight"
        return not is_weight or abs(self.difference) >= LEAST_WEIGHT_CHANGE


def points(share: float) -> str:
    """Write percentage points with their sign; 0 has none."""
    return "0.0" if abs(share) < 0.0005 else f"{100 * share:+.1f}"


def effects(before: View, after: View, *, tests: int = 1) -> tuple[Effect, ...]:
    """Measure a change: the groups' signal, the label's order, effective weights.

    Args:
        before: The view before the change.
        after: The view after it, of the same rows.
        tests: How many changes are compared by the label.
    """
    sides = (before, after)
    rows = before.bootstrap.prompts
    owner = before.owner
    is_judged = before.is_judged & after.is_judged
    missing = [np.isnan(side.rewards) for side in sides]
    paired = partial(_pair_ratios, before.bootstrap)
    ratios: list[Ratio] = [(side.dead, side.stats.has_pairs) for side in sides]
    measured = [paired("zero_std", ratios, owner)]
    masses = [side.phantom_mass(side.advantages) for side in sides]
    if any(above.any() for above, _ in masses):
        measured.append(paired("phantom", masses, owner))
    label = before.context.label
    if label is not None:
        groups = before.groups
        values = [np.where(is_judged, side.paid_by, np.nan) for side in sides]
        ratios = [concordance(side, label, groups) for side in values]
        measured.append(paired("label_auc", ratios, owner, tests))
        ratios = [first_siblings(side, label, groups, len(owner)) for side in values]
        measured.append(paired("label_best", ratios, owner, tests))
    if (missing[0] != missing[1]).any():
        ratios = [(mask, np.ones(len(rows))) for mask in missing]
        measured.append(paired("missing", ratios, rows))
    if before.group_shares and after.group_shares:
        none = np.zeros(len(owner))
        for name in dict.fromkeys((*before.names, *after.names)):
            ratios = []
            for side in sides:
                mass = side.group_mass
                ratios.append((side.group_shares.get(name, none) * mass, mass))
            measured.append(paired("effective_weight", ratios, owner, component=name))
    return tuple(measured)


def _pair_ratios(
    bootstrap: Bootstrap,
    figure: str,
    ratios: Sequence[Ratio],
    owner: Codes,
    tests: int = 1,
    component: str | None = None,
) -> Effect:
    """Return the effect on a ratio of sums, of numerators and denominators by group."""
    was, now = (bootstrap.ratio(above, below, owner) for above, below in ratios)
    sums = [*ratios[0], *ratios[1]]
    return Effect(
        figure,
        *was,
        *now,
        now[0] - was[0],
        bootstrap.interval(sums, owner, lambda a, b, c, d: c / d - a / b, tests),
        bootstrap.total,
        component,
    )


def share_in_tied_groups(before: View, after: View) -> float:
    """Return the share of added |advantage| in groups that had none; 0 if none was."""
    was, now = (np.abs(np.nan_to_num(view.advantages)) for view in (before, after))
    added = np.where(now - was > ROUNDING, now - was, 0.0)
    total = added.sum()
    if not total:
        return 0.0
    return float(added[before.dead[before.groups]].sum() / total)


def order_of_added(
    before: View, after: View, change: Change, order: Floats, tests: int
) -> tuple[float, bool]:
    """Return how well the added payment by itself orders siblings as `order` does.

    If a reward orders them worse than chance, even added noise improves the order of
    the sum.

    Args:
        before: The view before the change.
        after: The view after it.
        change: What is changed.
        order: How right each row is, such as the label, (rows,).
        tests: The number of changes that are compared.

    Returns:
        The share of the pairs of siblings in the same order, ties half, NaN where
        nothing is added; and whether that may be noise.
    """
    added = [item.name for item in change.added]
    added += [key for key in change.weights if before.components[key].weight == 0]
    if not added:
        return math.nan, False
    payments = np.zeros(len(after))
    if after.pieces:
        payments = np.sum([after.pieces[name] for name in added], axis=0)
    agree, pairs = concordance(payments, order, after.groups)
    share = ratio(agree, pairs)
    low, high = after.bootstrap.interval([agree, pairs], after.owner, tests=tests)
    is_certain = certain(share - 0.5, (low - 0.5, high - 0.5), tests)
    return share, not (low > 0.5 and is_certain)


def certain(difference: float, interval: Interval, tests: int) -> bool:
    """Return whether a difference is beyond noise.

    Its interval, one of `tests`, excludes 0, and it is more than `CERTAIN_ERRORS`
    standard errors.
    """
    low, high = interval
    error = (high - low) / 2 / NormalDist().inv_cdf(1 - 0.025 / tests)
    return (low > 0 or high < 0) and abs(difference) > CERTAIN_ERRORS * error


def judge_by_label(
    before: View,
    after: View,
    change: Change,
    effect_of: Mapping[str, Effect],
    tests: int,
) -> tuple[str, str]:
    """Judge whether a change improves or harms the order of siblings by the label.

    An added component must itself order them as the label does, see `order_of_added`.
    A change is no improvement either if the sibling that it puts first is right less
    often: that sibling is what a policy learns first.

    Args:
        before: The view before the change.
        after: The view after it.
        change: What is changed.
        effect_of: The effects by figure, "label_auc" and "label_best" among them.
        tests: The number of changes that are compared.

    Returns:
        "improves", "harms" or "unclear", and the sentence for it.
    """
    order = effect_of["label_auc"]
    first = effect_of["label_best"]
    name = repr(before.context.label_name)
    size = f"by {order.moved} of the pairs"
    if order.difference == 0 and order.interval == (0, 0):
        return "unclear", f"It orders siblings of which {name} differs as before"
    if not certain(order.difference, order.interval, tests):
        return (
            "unclear",
            f"Whether it orders siblings more like {name} is not clear: {size}",
        )
    if order.difference < 0:
        return (
            "harms",
            f"It orders siblings less like {name}, {size}: it makes the reward worse",
        )
    better = f"It orders siblings more like {name}, {size}"
    assert before.context.label is not None
    share, may_be_noise = order_of_added(
        before, after, change, before.context.label, tests
    )
    if may_be_noise:
        return (
            "unclear",
            f"{better}, but what it adds does so in {percent(share)} of them, no more "
            "than noise would",
        )
    if first.difference < 0 and certain(first.difference, first.interval, tests):
        return (
            "unclear",
            f"{better}, but the one that it puts first has it less often, by "
            f"{first.moved}",
        )
    return "improves", better


def view_of(scores: Scores, like: View) -> View:
    """Return the view of other scores of the same rows, under the same settings."""
    return replace(like, **scored_arrays(scores, scores.reward))


@dataclass(frozen=True)
class Trained(PlainRecord):
    """Where the task ends in a rehearsed training, before and after a change.

    `before` and `after` are the outlooks. `gain` is the mean over the learners of the
    difference between the shares done of the task at the end, -1 to 1.
    """

    before: Outlook
    after: Outlook
    gain: float

    @property
    def verdict(self) -> str:
        """Return "improves" or "harms" where it ends a tenth apart, else "unclear"."""
        if abs(self.gain) < RISE:
            return "unclear"
        return "improves" if self.gain > 0 else "harms"

    @property
    def sentence(self) -> str:
        """Return what becomes of the task after the change, and without it."""
        before, after = (
            f"{outlook.task}, to {outlook.end_text}"
            for outlook in (self.before, self.after)
        )
        text = f"Trained on it, the task {after}; as it is, it {before}"
        if self.verdict != "unclear" and abs(self.after.end - self.before.end) < RISE:
            text += f"; in the mean of the learners it ends {self.gain:+.2f} apart"
        return text


def train_on(view: View, changed: Sequence[View]) -> list[Trained | None]:
    """Rehearse the training on a view and on each changed one, by the same learners.

    Seed and task are those of the view, as in its forecast. None for each where the
    outlook of the view cannot be told.
    """
    if not changed or why_untold(view, read_task(view)):
        return [None] * len(changed)
    trained: list[Trained | None] = []
    with limit_calls() as limit:
        before = rehearse_view(view, limit=limit)
        outlook = read_outlook(before)
        for after in changed:
            run = rehearse_view(after, before=before, limit=limit)
            gain = float(np.mean(run.ends - before.ends))
            trained.append(Trained(outlook, read_outlook(run), gain))
    return trained
