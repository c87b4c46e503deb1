"""What a reward cell saved last, in memory, and what changed since then."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from rewardkit.analysis.compare import compare
from rewardkit.analysis.comparison.comparison import moved
from rewardkit.analysis.comparison.definition_changes import definition_changes
from rewardkit.errors import InputError
from rewardkit.html.excerpts import one_line
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.scores import Scores

__all__ = ["Saved", "changes"]

MOVES = 3  # lines of what a comparison of rewards tells: rewards, advantages, order of siblings


@dataclass(frozen=True, eq=False)
class Saved:
    """A reward file as it was saved, with its reward and scores where it was run."""

    data: bytes
    reward: Reward
    scores: Scores | None = None


def changes(before: Saved, after: Saved) -> list[str]:
    """What changed from one to the other: lines, definition, and rewards where the rollouts are the same."""
    old, new = (one.data.decode("utf-8", "replace").splitlines() for one in (before, after))
    signs = [line[0] for line in list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]]
    told = definition_changes(before.reward.record(), after.reward.record())
    lines = f"+{signs.count('+')} -{signs.count('-')} lines"
    return [lines, *(one_line(item) for item in told if item.what != "source"), *_of_rewards(before, after)]


def _of_rewards(before: Saved, after: Saved) -> list[str]:
    a, b = before.scores, after.scores
    if a is None or b is None or a.rollouts.fingerprint != b.rollouts.fingerprint:
        return []
    try:
        found = compare(a, b)
    except InputError as error:
        return [f"rewards are not compared: {one_line(error)}"]
    return [one_line(line, 400) for line in moved(found)[:MOVES]] if found.changed else ["no reward changed"]
