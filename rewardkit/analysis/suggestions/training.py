"""What training would make of a change: the same rehearsal before and after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rewardkit.analysis.rehearsal.outlook import (
    RISE,
    Outlook,
    read_outlook,
    share_text,
    why_untold,
)
from rewardkit.analysis.rehearsal.rehearsal import Rehearsal, rehearse_view
from rewardkit.analysis.rehearsal.rows import read_task
from rewardkit.analysis.view import View
from rewardkit.plain import PlainRecord
from rewardkit.scoring.deadlines import TimeLimit


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
            f"{outlook.task}, to {share_text(outlook.end)}"
            for outlook in (self.before, self.after)
        )
        return f"Trained on it, the task {after}; as it is, it {before}"


def rehearse_before(
    view: View, seed: int, limit: TimeLimit | None = None
) -> Rehearsal | None:
    """Rehearse a view before its changes; None where nothing can be told of it."""
    if why_untold(view, read_task(view)):
        return None
    return rehearse_view(view, seed=seed, limit=limit)


def rehearse_after(
    before: Rehearsal, after: View, limit: TimeLimit | None = None
) -> Trained:
    """Rehearse a changed view with the learners, seed and task of the one before."""
    seed = before.schedule.seed
    run = rehearse_view(after, seed=seed, before=before, limit=limit)
    gain = float(np.mean(run.ends - before.ends))
    return Trained(read_outlook(before), read_outlook(run), gain)
