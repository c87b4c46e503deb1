"""make_view(): Scores -> the `View` of one part of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from rewardkit.analysis.context import context_of
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import Codes, numbered
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, did_you_mean
from rewardkit.rewards.plan import Part
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.scores import Scores


def make_view(
    scores: Scores,
    part: Part,
    *,
    training: Training,
    seed: int,
    thresholds: Mapping[str, float],
    label: str | None = None,
    columns: Sequence[str] | None = None,
    tests: int = 1,
) -> View:
    """The view of one part of the scores, one of so many `tests`.

    InputError: a label, column or filter metric that is not there.
    """
    _check_metric(training, part.reward)
    at = (
        slice(None) if len(part.rows) == len(scores) else part.rows
    )  # of all rows no array is copied
    table, names = scores.table.iloc[at], part.reward.names
    prompts = numbered(scores.rollouts.prompts[at])
    return View(
        reward=part.reward,
        part=part.label,
        rows=part.rows,
        scores={name: scores.score(name)[at] for name in names},
        status={name: scores.status(name)[at] for name in names},
        errors={name: table[f"error/{name}"].to_numpy(dtype=object) for name in names},
        rewards=scores.rewards[at],
        gate=table["gate/reward"].to_numpy(dtype=float)
        if "gate/reward" in table
        else np.ones(len(table)),
        groups=numbered(scores.groups[at]),
        rollout_ids=table["rollout_id"],
        completions=table["completion"].to_numpy(dtype=object),
        bootstrap=Bootstrap(prompts, seed=seed, tests=tests),
        training=training,
        batches=_batches(table, prompts, training),
        context=context_of(scores, table, label=label, columns=columns),
        thresholds=thresholds,
    )


def _check_metric(training: Training, reward: Reward) -> None:
    """InputError where groups are to be dropped by what is no component."""
    metric, known = training.filter_metric, ["reward", *reward.names]
    if metric is not None and metric not in known:
        raise InputError(
            f"filter_metric={metric!r} is neither 'reward' nor a component of {reward.name!r}: {known[1:]}"
            f"{did_you_mean(metric, known)}; name the one that it is, as filter_metric=NAME"
        )


def _batches(table: pd.DataFrame, prompts: Codes, training: Training) -> Codes:
    """What is trained on together: a step; without steps so many prompts as a batch has; else all rows."""
    if "step" in table:
        codes, _ = pd.factorize(table["step"], sort=True, use_na_sentinel=False)
        return np.asarray(codes, dtype=np.intp)
    if training.prompts_per_batch is None:
        return np.zeros(len(table), dtype=np.intp)
    codes, _ = pd.factorize(prompts)  # numbered in the order in which they come
    return np.asarray(codes // training.prompts_per_batch, dtype=np.intp)
