"""Views of scores: the arrays of each part of a reward, from its scored table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.context import context_of
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import Codes, numbered
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, did_you_mean
from rewardkit.rewards.plan import Part
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.scores import Scores

__all__ = ["check_metric", "make_view"]


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
    check_metric(training, part.reward)
    rows = part.rows
    of_part = _taker(rows, len(scores))
    groups, prompts = (numbered(of_part(codes)) for codes in (scores.groups, scores.rollouts.prompts))
    table = scores.table if len(rows) == len(scores) else scores.table.iloc[rows]
    return View(
        reward=part.reward,
        part=part.label,
        rows=rows,
        scores={name: of_part(scores.score(name)) for name in part.reward.names},
        status={name: of_part(scores.status(name)) for name in part.reward.names},
        errors={name: table[f"error/{name}"].to_numpy(dtype=object) for name in part.reward.names},
        rewards=of_part(scores.rewards),
        gate=table["gate/reward"].to_numpy(dtype=float) if "gate/reward" in table else np.ones(len(rows)),
        groups=groups,
        rollout_ids=table["rollout_id"],
        completions=table["completion"].to_numpy(dtype=object),
        bootstrap=Bootstrap(prompts, seed=seed, tests=tests),
        training=training,
        batches=_batches(scores, rows, prompts, training),
        context=context_of(scores, rows, label=label, columns=columns),
        thresholds=thresholds,
    )


def _taker(rows: NDArray[np.intp], total: int) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """What takes the values of these rows of so many; of all of them it gives the array itself."""
    return (lambda values: values) if len(rows) == total else (lambda values: values[rows])


def check_metric(training: Training, reward: Reward) -> None:
    """InputError where groups are to be dropped by what is no component."""
    metric, known = training.filter_metric, ["reward", *reward.names]
    if metric is not None and metric not in known:
        raise InputError(
            f"filter_metric={metric!r} is neither 'reward' nor a component of {reward.name!r}: {known[1:]}"
            f"{did_you_mean(metric, known)}; name the one that it is, as filter_metric=NAME"
        )


def _batches(scores: Scores, rows: NDArray[np.intp], prompts: Codes, training: Training) -> Codes:
    """What is trained on together: a step; without steps so many prompts as a batch has; else all rows."""
    if "step" in scores.table:
        codes, _ = pd.factorize(scores.table["step"].iloc[rows], sort=True, use_na_sentinel=False)
        return np.asarray(codes, dtype=np.intp)
    if training.prompts_per_batch is None:
        return np.zeros(len(rows), dtype=np.intp)
    codes, _ = pd.factorize(prompts)  # numbered in the order in which they come
    return np.asarray(codes // training.prompts_per_batch, dtype=np.intp)
