"""Environments: class E with step(action), made with columns of the data set.

Source: `Env.step` of gymnasium 1.0, which returns (observation, reward, terminated,
truncated, info), and `StepResult` of tinker-cookbook and OpenEnv (2026-10), an object
with the reward and the end of the rollout. One environment is made for each rollout,
and steps through its generated turns. They are only read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

from rewardkit.rewards.component import is_async, parameters
from rewardkit.scoring.callers import RowColumns
from rewardkit.targets.adapter import Adapter, Arguments, plain_values
from rewardkit.targets.columns import (
    Row,
    columns_asked,
    filled_columns,
    required_columns,
    required_parameters,
)
from rewardkit.targets.plain import METHODS
from rewardkit.targets.target import Target, TrainerReading
from rewardkit.targets.turns import generated_texts

DONE_KEYS = ("done", "terminated", "truncated", "episode_done")
"""Keys of a step's outcome; a true value ends the rollout."""

STEP_FORM = "class E: step(self, action) -> an object, dict or tuple with a reward"


class SteppedEnvironment(Adapter):
    """A class of environments, one of which steps through the turns of each rollout."""

    gives_row = True
    form: ClassVar[str] = f"environments give {STEP_FORM.partition(' -> ')[2]}"

    @property
    def called(self) -> Any:
        """Return the function that steps through the turns of a rollout."""
        return self.step_through

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return each rollout as a dict."""
        return [rows.rows()], {}

    def make(self, rollout: Row) -> Any:
        """Make an environment with the columns of a rollout, and reset it."""
        env = self.function(**deepcopy(filled_columns(self.function, rollout, ())))
        if hasattr(env, "reset"):
            columns = filled_columns(env.reset, rollout, ("seed", "options"))
            env.reset(**deepcopy(columns))
        return env

    def outcome(self, answer: Any) -> Mapping[str, Any]:
        """Return the result of a step as a dict; a tuple is read in gym's order."""
        if isinstance(answer, tuple) and len(answer) in (4, 5):
            names = ("observation", "reward", "terminated", "truncated")
            return dict(zip(names, plain_values(answer[:-1]), strict=False))
        values = plain_values(answer)
        return values if isinstance(values, Mapping) else {}

    def step_through(self, rollout: Row) -> float:
        """Return the sum of the rewards of all steps. ValueError: a step has none."""
        env = self.make(rollout)
        total = 0.0
        for action in generated_texts(rollout):
            answer = env.step(action)
            outcome = self.outcome(answer)
            if outcome.get("reward") is None:
                raise ValueError(
                    f"step returned {answer!r}, without a reward; {self.form}"
                )
            total += float(outcome["reward"])
            if any(outcome.get(name) for name in DONE_KEYS):
                break
        return total


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a class with a step that takes one argument."""
    step = getattr(value, "step", None)
    if not isinstance(value, type) or step is None or is_async(step):
        return []
    if len(required_parameters(step)) != 2 or "extras" in parameters(value):
        return []
    adapter = SteppedEnvironment(
        value, needs=("completion", *required_columns(value, (), rows))
    )
    action = required_parameters(step)[1]
    mapping = {action: "completion", **columns_asked(value, (), rows)}
    reason = f"it is a class with step({action})"
    is_sure = not any(map(METHODS.fullmatch, dir(value)))
    return [TrainerReading(reason, adapter, mapping, sure=is_sure)]


ENVIRONMENTS = Target(
    name="environments",
    title="an environment",
    versions="gymnasium 1.0",
    form=STEP_FORM,
    readings=readings,
)
