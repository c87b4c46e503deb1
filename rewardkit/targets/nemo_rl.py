"""NeMo-RL's step(message_log_batch, metadata) of an environment, as a function.

Source: `EnvironmentInterface` in nemo_rl/environments/interfaces.py (2026-06): the step
takes the conversation and a dict of the data set's columns for each rollout, and
returns an `EnvironmentReturn` with the `rewards`. It is only read so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardkit.scoring.callers import RowColumns
from rewardkit.targets.adapter import Adapter, Arguments, plain_values
from rewardkit.targets.columns import GENERATED, AliasedRow, Row, required_parameters
from rewardkit.targets.target import Target, TrainerReading
from rewardkit.targets.turns import transcripts


class BatchStep(Adapter):
    """The step of a batch of rollouts, a function or a method of an environment."""

    together = "batch"
    gives_row = True

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the conversation and the columns of the data set for each rollout."""
        return [transcripts(rows), rows.without(GENERATED).rows(AliasedRow)], {}

    def result(self, answer: Any) -> Any:
        """Return the rewards of an `EnvironmentReturn`, or of a bare list."""
        return plain_values(getattr(answer, "rewards", answer))


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a step whose first parameter is `message_log_batch`."""
    step, method = value, ""
    if hasattr(value, "step"):
        step, method = value.step, "step"
    names = required_parameters(step) if callable(step) else []
    names = [name for name in names if name != "self"]
    if len(names) != 2 or names[0] != "message_log_batch":
        return []
    adapter = BatchStep(value, needs=("completion",), method=method)
    mapping = {names[0]: "prompt and completion", names[1]: "the other columns"}
    return [TrainerReading(f"it takes {names[0]}", adapter, mapping, sure=True)]


NEMO_RL = Target(
    name="nemo-rl",
    title="NeMo-RL",
    versions="2026-06",
    form="step(message_log_batch, metadata) -> EnvironmentReturn",
    readings=readings,
)
