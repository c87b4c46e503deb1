"""torchtune's rewards: a call with (completion_ids, completions, answers).

Source: `Reward` and `batched_rewards` in torchtune/dev/rl/rewards.py (0.7), which calls
by position with the texts of all completions and their truths. The tokens are a dummy.
The reward is `total_reward` of the `RewardOutput`, a number per completion. They are
only read so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardkit.scoring.callers import RowColumns
from rewardkit.targets.adapter import PAID_KEYS, Adapter, Arguments, values_by_row
from rewardkit.targets.columns import Row, called_parameters
from rewardkit.targets.target import Target, TrainerReading

TORCHTUNE_ARGUMENTS = {
    "completion_ids": "nothing, as it is a dummy",
    "completions": "completion",
    "answers": "ground_truth",
}


class Function(Adapter):
    """A function of lists of completions and answers, or ``__call__`` of an object."""

    together = "batch"
    result = staticmethod(values_by_row)

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return dummy tokens, if the function takes them, texts and truths."""
        columns = [rows.column("completion"), rows.column("ground_truth")]
        if "completion_ids" in called_parameters(self.function):
            columns.insert(0, [0] * rows.count)
        return columns, {}


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a callable of `completions` and `answers`."""
    names = called_parameters(value)
    if names not in (["completions", "answers"], list(TORCHTUNE_ARGUMENTS)):
        return []
    method = "__call__" if isinstance(value, type) else ""
    needs = ("completion", "ground_truth")
    adapter = Function(value, needs=needs, method=method)
    mapping = {name: TORCHTUNE_ARGUMENTS[name] for name in names}
    reason = f"it takes {', '.join(names)}"
    return [TrainerReading(reason, adapter, mapping, main=PAID_KEYS, sure=True)]


TORCHTUNE = Target(
    name="torchtune",
    title="torchtune",
    versions="0.7",
    form="__call__(completion_ids, completions, answers) -> RewardOutput",
    readings=readings,
)
