"""ms-swift's rewards: class R(ORM) with __call__(completions, **columns), in `orms`.

Source: `swift.rewards.orm` and `compute_rewards_per_func` of ms-swift 4.6, which calls
like TRL, with texts and without `prompts`; `messages` is the whole conversation. A
``None`` counts as 0 in the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewardkit.rewards.component import parameters
from rewardkit.rewards.load import make_object
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.callers import RowColumns
from rewardkit.targets import trl
from rewardkit.targets.adapter import Arguments
from rewardkit.targets.atropos import is_atropos
from rewardkit.targets.columns import Row, columns_asked, fill, required_columns
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
    require_installed,
)
from rewardkit.targets.turns import batch_columns, transcript, transcripts

REQUESTS = "infer_requests"
TEXT_PARAMETERS = ("completions", REQUESTS)
"""Names of the texts in ms-swift's own rewards, which get them by position."""


class Function(trl.Function):
    """TRL's function of texts, with the whole conversation as its column `messages`."""

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the lists that TRL passes, and the conversations."""
        rows = rows.with_columns({"messages": transcripts(rows)})
        positional, keywords = super().arguments(rows)
        texts = {REQUESTS: rows.column("completion")}
        return positional, {**keywords, **fill(self.function, {}, texts)}

    def gives(self, column: str) -> bool:
        """Return whether ms-swift hands a column over: the step in its state alone."""
        return column == "step" and super().gives(column)


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a class whose objects are called with completions.

    Classes of llm-finetuning and of Atropos are left to other targets.
    """
    if not isinstance(value, type) or hasattr(value, "as_fn") or is_atropos(value):
        return []
    names = [name for name in TEXT_PARAMETERS if name in parameters(value.__call__)]
    if not names:
        return []
    orm = make_object(value)
    of_trainer = (*trl.TRL_ARGUMENTS, REQUESTS)
    mapping = {names[0]: "completion", **columns_asked(orm, of_trainer, rows)}
    needs = [
        name for name in required_columns(orm, of_trainer, rows) if name != "messages"
    ]
    adapter = Function(orm, needs=tuple(needs))
    reason = "its objects take completions, as texts"
    return [TrainerReading(reason, adapter, mapping, sure=True)]


class Orm(RewardHolder):
    """The reward as a function that returns the numbers of a batch."""

    def __call__(self, /, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Return the rewards; siblings are the completions of one prompt."""
        return self.numbers(batch_columns(completions, columns), len(completions))


def functions(reward: Reward, **options: Any) -> list[Orm]:
    """Return the reward for `reward_funcs`, with the options of `Orm`."""
    return [Orm(reward, **options)]


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call ms-swift's `compute_rewards_per_func` on the file's entry in `orms`."""
    version = require_installed("ms-swift", "torch", "swift")
    import torch
    from swift.rewards import orms
    from swift.rl_core.data import GRPOSample
    from swift.rl_core.grpo_algorithm import compute_rewards_per_func

    import_file(path)
    samples = []
    for row in rows:
        sample = {**row, "messages": transcript(row)}
        sample.pop("prompt", None)
        sample.pop("completion", None)
        samples.append(GRPOSample.from_row(sample))
    orm = orms[code.functions[0]]()
    rewards = compute_rewards_per_func(samples, [orm], [None], torch.device("cpu"))
    return TrainerValues(
        f"compute_rewards_per_func of {version}",
        {"reward": rewards[:, 0].tolist()},
        cast=("reward",),
    )


MS_SWIFT = Target(
    name="ms-swift",
    title="ms-swift",
    versions="4.6",
    form="class R(ORM): __call__(self, completions, **columns) -> list[float]",
    readings=readings,
    abilities=Abilities(siblings="batch", waits="together", steps=True, turns=True),
    functions=functions,
    call=call,
)
