"""Rules on weights that depend on the step: what a switch does to the rows at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rewardkit.analysis.findings import finding
from rewardkit.analysis.statistics import Floats, group_stats
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, rule
from rewardkit.rewards.route import add_up


@rule("switch")
def switch(
    view: View,
    findings: Sequence[Finding],
    *,
    switch_lost: float = 0.25,  # of the groups with a signal: our choice
    switch_turned: float = 0.25,  # of the sibling pairs that were ordered: our choice
    switch_shift: float = 0.5,  # standard deviations of the reward: our choice
) -> Iterator[Finding]:
    """Find switches of weights that change what is paid from one step to the next.

    Before training, on the rows that there are: how far the mean reward moves, which
    sibling pairs turn around, which groups lose their signal.
    """
    names: dict[int, list[str]] = {}
    for item in view.reward.components:
        for step in item.schedule.switches if item.schedule else ():
            names.setdefault(step, []).append(item.name)
    for step in sorted(names):
        before, after = _rewards_at(view, step - 1), _rewards_at(view, step)
        # where no component has a weight any more there is no reward, and no signal
        after = np.where(np.isnan(after) & ~np.isnan(before), 0.0, after)
        agree, pairs = concordance(after, before, view.groups, total=len(view.owner))
        turned = 1 - agree.sum() / pairs.sum() if pairs.sum() else 0.0
        had_signal = group_stats(before, view.groups).live
        is_lost = had_signal & group_stats(after, view.groups).dead
        lost = is_lost.sum() / had_signal.sum() if had_signal.any() else 0.0
        spread = float(np.nanstd(before))
        move = float(np.nanmean(after) - np.nanmean(before))
        shift = move / spread if spread else 0.0
        is_harmful = lost >= switch_lost or turned >= switch_turned
        if not is_harmful and abs(shift) < switch_shift:
            continue
        yield finding(
            view,
            "switch",
            None,
            n=len(view),
            severity="warn" if is_harmful else "info",
            cost=float(max(lost, turned)),
            reading=is_lost[view.groups],
            step=step,
            names=names[step],
            value=float(max(lost, turned)),
            lost=float(lost),
            turned=float(turned),
            shift=shift,
            is_harmful=bool(is_harmful),
        )


@rule("unpaid_task")
def unpaid_task(view: View, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Find a task that is paid at other steps than those of these rows."""
    for item in view.reward.components:
        is_unpaid = view.components[item.name].weight == 0
        if item.schedule is None or item.name not in view.task or not is_unpaid:
            continue
        yield finding(
            view,
            "unpaid_task",
            item.name,
            n=len(view),
            cost=1.0,
            schedule=repr(item.schedule),
            step=item.schedule.step_of(item.largest_weight),
        )


def _rewards_at(view: View, step: int) -> Floats:
    """Return what the rows would earn at a step, before a transform, (rows,)."""
    return add_up(view.reward.at(step), view.scores, view.gated, view.gate)
