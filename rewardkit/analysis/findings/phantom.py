"""The rule on phantom signal: advantages in groups where no completion is right."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rewardkit.analysis.findings import finding, share
from rewardkit.analysis.statistics import NO_INTERVAL, Floats, Interval, Mask
from rewardkit.analysis.verdicts import Verdicts
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, Findings, rule

LEAST_BY_LENGTH = 0.5
"""Correlation with the length from which a lone number is taken to pay for it there.

Our choice.
"""


@dataclass(frozen=True)
class Direction:
    """The correlation of what is paid where nothing is right with the task elsewhere.

    `correlation` is among siblings of groups whose verdicts differ, NaN where it is not
    known. `means` is "longer" or "shorter" if only length links the two, else "".
    """

    correlation: float = math.nan
    interval: Interval = NO_INTERVAL
    means: str = ""

    @property
    def side(self) -> str:
        """Return "against", "with" or "beside" the task, "" where it is not known."""
        low, high = self.interval
        if math.isnan(self.correlation) or math.isnan(low):
            return ""
        if high < 0:
            return "against"
        return "with" if low > 0 else "beside"


@rule("phantom")
def phantom(
    view: View,
    findings: Findings,
    *,
    # Share of the squared advantage, and that times the correlation with the task. Our
    # choice: few real runs were seen, with one model and one kind of task.
    phantom: float = 0.1,
    phantom_against: float = 0.1,
    phantom_most: float = 0.5,  # half of what is learned from: our choice
    phantom_beside: float = 0.2,  # a correlation that is hardly one: our choice
) -> Iterator[Finding]:
    """Find advantages in groups in which nothing is right, and what pays there.

    Such groups teach nothing of the task, and scaling by their standard deviation makes
    the smallest difference a full advantage. The share says how exposed a training is.
    It is harmful if what is paid there goes against the task where completions are
    right.
    """
    verdicts = view.verdicts
    if verdicts is None or not view.varies:
        return
    mass, total = view.phantom_mass(view.advantages)
    if not total.sum() or mass.sum() < phantom * total.sum():
        return
    measured = share(view, mass, total)
    measured["n"] = int((view.live & (total > 0)).sum())
    by = _shares(view, mass, total.sum())
    payer = next(iter(by), None)
    direction = _direction(view, verdicts, mass > 0)
    severity = "info"
    if direction.side == "against":
        signed = measured["value"] * direction.correlation
        severity = "high" if signed <= -phantom_against else "warn"
    elif direction.side == "beside" and direction.interval[1] < phantom_beside:
        severity = "warn" if measured["value"] >= phantom_most else "info"
    yield finding(
        view,
        "phantom",
        payer,
        **measured,
        limit=phantom,
        severity=severity,
        reading=(mass > 0)[view.groups] & (np.nan_to_num(view.advantages) > 0),
        task=verdicts.words,
        by=by,
        side=direction.side,
        correlation=direction.correlation,
        means=direction.means,
        scaled=view.training.scales_groups,
    )


def _shares(view: View, mass: Floats, total: float) -> dict[str, float]:
    """Return the share of the squared advantage that each component has there."""
    shares = {}
    for name, part in view.group_shares.items():
        value = float((part * mass).sum() / total)
        if len(view.paid_names) > 1 and value > 0:
            shares[name] = value
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _direction(view: View, verdicts: Verdicts, is_phantom: Mask) -> Direction:
    """Return the correlation of what is paid there with the task elsewhere."""
    varies = view.group_stats(verdicts.scores).live[view.groups]
    task = np.where(varies, verdicts.scores, np.nan)
    if verdicts.is_component:
        beside = _paid_beside(view, verdicts)
        if beside is None:
            return Direction()
        return Direction(*view.correlate(beside, task))
    lengths = view.context.lengths
    paid_there = np.where(is_phantom[view.groups], view.paid_by, np.nan)
    of_length, _ = view.correlate(paid_there, lengths)
    if math.isnan(of_length) or abs(of_length) < LEAST_BY_LENGTH:
        return Direction()
    of_task, ends = view.correlate(lengths, task)
    sign = math.copysign(1.0, of_length)
    low, high = sorted(sign * end for end in ends)
    unit = "longer" if of_length > 0 else "shorter"
    return Direction(of_length * of_task, (low, high), unit)


def _paid_beside(view: View, verdicts: Verdicts) -> Floats | None:
    """Return what is paid beside the task, (rows,), or None where that is unknown."""
    if not view.pieces:
        return None
    beside = np.zeros(len(view))
    for name, piece in view.pieces.items():
        if name != verdicts.name:
            beside = beside + piece
    return beside
