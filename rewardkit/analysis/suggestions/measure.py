"""Effects: figures before and after a change, and their paired difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.parts import make_view
from rewardkit.analysis.statistics import Floats, group_stats
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import ROUNDING, View
from rewardkit.plain import PlainRecord
from rewardkit.rewards.reward import Part
from rewardkit.scoring.scores import Scores

Interval = tuple[float, float]
SHOWN = 0.02
"""Difference of an effective weight from which it is told of. Our choice."""
ERRORS = 3.0
"""Standard errors from which a difference ranks a change.

Our choice: by its interval alone noise would be first in one run of 40.
"""


FIGURES = {
    "zero_std": "groups without a signal",
    "label_auc": "sibling pairs ordered as the label has it",
    "label_best": "label of the sibling that is put first",
    "missing": "rows without a reward",
    "effective_weight": "effective weight",
}
"""What a figure is called."""


@dataclass(frozen=True)
class Effect(PlainRecord):
    """One figure before and after a change, and the difference, with 95 % intervals.

    The `figure` is "zero_std" (share of the groups of two or more in which no advantage
    differs from 0), "label_auc" (share of the sibling pairs with different labels that
    the reward orders as the label does, ties half), "label_best" (mean label of the
    sibling that the reward puts first, ties averaged, which is the forecast of the best
    of as many as there are), "missing" (share of the rows without a reward) or
    "effective_weight" of a `component`. The difference is paired: both sides are drawn
    from the same prompts; those of the label hold for all the changes that were tried
    together (Bonferroni). NaN where it cannot be computed. `prompts` is how many it was
    measured on, `held_out` whether those are others than the change was fitted on.
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
    held_out: bool = False

    @property
    def what(self) -> str:
        """What it measures, in words."""
        return FIGURES[self.figure] + (
            f" of {self.component!r}" if self.component else ""
        )

    @property
    def moved(self) -> str:
        """The paired difference in points, with its interval."""
        low, high = self.interval
        around = "" if np.isnan(low) else f" ({points(low)} to {points(high)})"
        return f"{points(self.difference)} points{around}"

    @property
    def told(self) -> bool:
        """Return whether it is worth a line: not so an effective weight that hardly moves."""
        return self.figure != "effective_weight" or abs(self.difference) >= SHOWN


def points(share: float) -> str:
    """Percentage points with their sign; 0 has none."""
    return "0.0" if abs(share) < 0.0005 else f"{100 * share:+.1f}"


def effects(
    before: View, after: View, *, tests: int = 1, held_out: bool = False
) -> tuple[Effect, ...]:
    """Measure a change: the groups' signal, the label's order, effective weights.

    `after` is a view of the same rows. `tests`: so many changes are compared by the
    label.
    """
    sides = (before, after)
    rows, owner = before.bootstrap.prompts, before.owner
    judged = ~(np.isnan(before.rewards) | np.isnan(after.rewards))
    lost = [np.isnan(side.rewards).astype(float) for side in sides]
    paired = partial(_paired, before, held_out)
    found = [
        paired("zero_std", [(side.dead, side.stats.count > 1) for side in sides], owner)
    ]
    if before.context.label is not None:
        found.append(
            paired(
                "label_auc", [_ordered(side, judged) for side in sides], owner, tests
            )
        )
        found.append(
            paired("label_best", [_best(side, judged) for side in sides], owner, tests)
        )
    if (lost[0] != lost[1]).any():
        found.append(
            paired("missing", [(side, np.ones(len(rows))) for side in lost], rows)
        )
    if before.group_shares and after.group_shares:
        none = np.zeros(len(owner))
        for name in dict.fromkeys((*before.names, *after.names)):
            held = [
                (side.group_shares.get(name, none) * side.group_mass, side.group_mass)
                for side in sides
            ]
            found.append(paired("effective_weight", held, owner, component=name))
    return tuple(found)


def _paired(
    view: View,
    held_out: bool,
    figure: str,
    sides: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    owner: NDArray[np.intp],
    tests: int = 1,
    component: str | None = None,
) -> Effect:
    """Return the effect on a ratio of sums, of numerators and denominators by group."""
    sums = [item.astype(float) for side in sides for item in side]
    totals = [float(item.sum()) for item in sums]
    before, after = (
        above / below if below else float("nan")
        for above, below in (totals[:2], totals[2:])
    )
    interval = view.bootstrap.interval
    return Effect(
        figure,
        before,
        interval(sums[:2], owner),
        after,
        interval(sums[2:], owner),
        after - before,
        interval(sums, owner, lambda a, b, c, d: c / d - a / b, tests),
        view.bootstrap.total,
        component,
        held_out,
    )


def share_in_tied_groups(before: View, after: View) -> float:
    """Return the share of added |advantage| in groups that had none; 0 if none was."""
    grown = np.abs(np.nan_to_num(after.advantages)) - np.abs(
        np.nan_to_num(before.advantages)
    )
    grown = np.where(grown > ROUNDING, grown, 0.0)
    return (
        float(grown[before.dead[before.groups]].sum() / grown.sum())
        if grown.sum()
        else 0.0
    )


def _ordered(view: View, judged: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Count by group the sibling pairs ordered as the label does, and all pairs.

    Of rows that have a reward both before and after. GDPO's order is that of its
    advantages.
    """
    assert view.context.label is not None
    return concordance(
        np.where(judged, view.paid_by, np.nan), view.context.label, view.groups
    )


def _best(view: View, judged: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return by group the mean label of the first siblings, and 1 where it is known.

    Of groups of two or more that have a reward both before and after.
    """
    assert view.context.label is not None
    values = np.where(judged, view.paid_by, np.nan)
    stats = group_stats(values, view.groups, len(view.owner))
    first = (stats.count > 1)[view.groups] & (
        values >= stats.high[view.groups] - ROUNDING
    )
    labelled = group_stats(
        np.where(first, view.context.label, np.nan), view.groups, len(view.owner)
    )
    return np.nan_to_num(labelled.mean), (labelled.count > 0).astype(float)


def order_of(
    view: View, names: Sequence[str], tests: int = 1
) -> tuple[float, Interval]:
    """Return the share of sibling pairs that these components order as the label does.

    Of what they pay; ties count half, so that noise has 0.5.
    """
    assert view.context.label is not None
    added = (
        np.sum([view.pieces[name] for name in names], axis=0)
        if view.pieces
        else np.zeros(len(view))
    )
    agree, pairs = concordance(added, view.context.label, view.groups)
    share = float(agree.sum() / pairs.sum()) if pairs.sum() else float("nan")
    return share, view.bootstrap.interval([agree, pairs], view.owner, tests=tests)


def certain(difference: float, interval: Interval, tests: int) -> bool:
    """Whether a difference is none that noise has by luck.

    Its interval, one of so many `tests`, leaves out 0, and it is `ERRORS` standard
    errors from it.
    """
    low, high = interval
    error = (high - low) / 2 / NormalDist().inv_cdf(1 - 0.025 / tests)
    return (low > 0 or high < 0) and abs(difference) > ERRORS * error


def view_of(scores: Scores, like: View) -> View:
    """Return the view of other scores of the same rows, under the same settings."""
    names, table = scores.reward.names, scores.table
    gate = (
        table["gate/reward"].to_numpy(dtype=float)
        if "gate/reward" in table
        else np.ones(len(like))
    )
    return replace(
        like,
        reward=scores.reward,
        scores={name: scores.score(name) for name in names},
        status={name: scores.status(name) for name in names},
        reasons={
            name: table[f"reason/{name}"].to_numpy(dtype=object) for name in names
        },
        rewards=scores.rewards,
        gate=gate,
    )


def halves(view: View, scores: Scores) -> tuple[View, View]:
    """Return views of two random halves of the prompts, to fit and to measure on."""
    total, seed = view.bootstrap.total, view.bootstrap.seed
    drawn = np.random.default_rng([seed, total]).permutation(total)[: total // 2]
    first = np.isin(view.bootstrap.prompts, drawn)
    label, columns = view.context.label_name or None, view.context.named
    options: Any = {
        "training": view.training,
        "seed": seed,
        "thresholds": view.thresholds,
    }
    fit, held = (
        make_view(
            scores,
            Part(view.part, view.reward, np.flatnonzero(some)),
            label=label,
            columns=columns,
            **options,
        )
        for some in (first, ~first)
    )
    return fit, held
