"""What training would make of a change: the same rehearsal before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rewardkit.analysis.rehearsal.outlook import (
    Outlook,
    read_outlook,
    share_text,
    why_untold,
)
from rewardkit.analysis.rehearsal.reach import limit_calls
from rewardkit.analysis.rehearsal.rehearsal import RISE, rehearse_view
from rewardkit.analysis.rehearsal.rows import read_task
from rewardkit.analysis.view import View
from rewardkit.plain import PlainRecord


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
        text = f"Trained on it, the task {after}; as it is, it {before}"
        if self.verdict != "unclear" and abs(self.after.end - self.before.end) < RISE:
            text += f"; in the mean of the learners it ends {self.gain:+.2f} apart"
        return text


def train_on(view: View, changed: Sequence[View], seed: int) -> list[Trained | None]:
    """Rehearse the training on a view and on each changed one, by the same learners.

    They have the seed and the task of the view. None where nothing can be told of it.
    """
    if not changed or why_untold(view, read_task(view)):
        return [None] * len(changed)
    trained: list[Trained | None] = []
    with limit_calls() as limit:
        before = rehearse_view(view, seed=seed, limit=limit)
        outlook = read_outlook(before)
        for after in changed:
            run = rehearse_view(after, seed=seed, before=before, limit=limit)
            gain = float(np.mean(run.ends - before.ends))
            trained.append(Trained(outlook, read_outlook(run), gain))
    return trained
