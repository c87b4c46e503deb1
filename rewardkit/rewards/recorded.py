"""recorded(): the scores of a log as a Reward, so that a log alone can be diagnosed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.errors import RewardError, did_you_mean
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.logs.log import identifier, numeric
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values

LOGGED_REWARD = "logged"
"""The name that stands for the scores of the log, in commands and in notebooks."""


def recorded(rollouts: Rollouts, weights: Mapping[str, float] | None = None) -> Reward:
    """Return the scores of a log as a Reward: a component each, unbounded.

    A score that is missing is not judged, never 0. Each has the weight that it has in
    the trainer's reward as far as the log tells (0: recorded only; of TRL, which does
    not log it, 1); `weights` gives others, and makes a component ``logged_<name>`` of a
    further column of numbers. RewardError: no scores, or a name that is no such column.

    >>> from rewardkit.rollouts.load import load_rollouts
    >>> row = {"input": "2+2?", "output": "4", "gts": "4", "score": 1.0, "step": 1}
    >>> dump = [{**row, "acc": True}]
    >>> recorded(load_rollouts(dump)).weights
    {'score': 1.0, 'acc': 0.0}
    """
    logged, given = rollouts.logged, dict(weights or {})
    columns = dict(logged.components)
    for name in [name for name in given if name not in columns]:
        numbers = _numbers(rollouts)
        if name not in numbers:
            known = [
                *logged.components,
                *(number for number in numbers if number not in logged.components),
            ]
            raise RewardError(
                f"the weights name {name!r}; the scores and columns of numbers in "
                f"{rollouts.source} are "
                f"{known}{did_you_mean(name, known)}"
            )
        # a component cannot have the name of the column that it asks for
        own = f"logged_{identifier(name)}"
        columns[own], given[own] = name, given[name]
    if not columns:
        raise RewardError(
            f"{rollouts.source} holds no scores of a trainer; its columns of numbers "
            "are "
            f"{_numbers(rollouts)}: name those to take (weights={{...}}), or "
            "give a reward"
        )
    why = {
        name: "a score in the log" for name, weight in logged.weights.items() if weight
    }
    why |= {
        name: "the reward in the log"
        for name, column in columns.items()
        if column == logged.total
    }
    components = [
        Component(
            name,
            as_logged,
            weight=given[name] if name in given else logged.weights[name],
            why="the reward in the log"
            if column == logged.total
            else why.get(name, "in the log, recorded only"),
            columns={"value": column},
            range=None,
        )
        for name, column in columns.items()
    ]
    return Reward(LOGGED_REWARD, components=components, on_missing=logged.on_missing)


def as_logged(value: Any) -> Any:
    """Return a score as it stands in the log, None where it is missing."""
    return value


def is_recorded(reward: Reward) -> bool:
    """Whether a reward is one that `recorded` made, or the record of one."""
    return all(
        describe(item.function) == describe(as_logged) for item in reward.components
    )


def _numbers(rollouts: Rollouts) -> Sequence[str]:
    """Columns of numbers that are no score of the log yet."""
    known = {
        "rollout_id",
        "prompt_id",
        "step",
        "ground_truth",
        *rollouts.logged.components.values(),
    }
    names = [str(name) for name in rollouts.table.columns if name not in known]
    return [name for name in names if numeric(column_values(rollouts.table[name]))]
