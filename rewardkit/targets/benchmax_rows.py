"""A row as benchmax has it: the example that a completion answers, and 0.2's rollout."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from rewardkit.rollouts.columns import ALIASES
from rewardkit.targets.adapter import Row, alike
from rewardkit.targets.turns import transcript

__all__ = ["GENERATED", "id_of", "rollout_of", "task_of"]


def task_of(row: Row) -> dict[str, Any]:
    """The example that a completion answers: the row without what was generated, under all usual names."""
    left = {name: value for name, value in row.items() if name not in GENERATED}
    return {name: value for name, value in alike(left).items() if name not in GENERATED}


GENERATED = {*ALIASES["completion"], *ALIASES["messages"], *ALIASES["rollout_id"]}


def id_of(row: Row, at: int) -> str:
    """The id of a rollout; by its place where the row has none."""
    return str(row.get("rollout_id", f"sample-{at}"))


def rollout_of(row: Row, at: int = 0) -> Any:
    """A row as 0.2's BaseRollout; as what looks like one where benchmax is not loaded."""
    base = sys.modules.get("benchmax.envs.base")
    kind = getattr(base, "BaseRollout", SimpleNamespace)
    turns, reason = transcript(row), row.get("termination_reason") or "finished"
    rollout = kind(
        rollout_id=id_of(row, at), termination_reason=reason, messages=turns, example_args=task_of(row)
    )
    if kind is SimpleNamespace:
        rollout.split, rollout.rewards, rollout.error = "train", None, None
    return rollout
