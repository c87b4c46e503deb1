"""Budgeted: the scores that a reward gives as many groups of rollouts as a budget of seconds reaches."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.probes.subjects.log import in_turn
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores

GROWTH = 4
"""How many times the rows of one pass those of the next may be, while their time is learned. Our choice."""


def scored_within(
    reward: Reward,
    rollouts: Rollouts,
    first: NDArray[np.bool_],
    *,
    timeout: float | None,
    budget: float,
    seed: int = 0,
    progress: bool = False,
) -> tuple[Scores, str]:
    """What the reward gives whole groups while `budget` seconds last, one group at least; and why not all.

    Groups with rows of `first` take turns with the others, drawn with the seed. Passes grow as the time of a
    row is learned. Where each call of the first group is late, the others are not tried.
    """
    groups = _groups(rollouts.groups, first, seed)
    began, most, done = time.monotonic(), 1, list[int]()
    passes: list[Scores] = []
    while groups and (not passes or len(groups[0]) <= most):
        rows = groups.pop(0)
        while groups and len(rows) + len(groups[0]) <= most:
            rows += groups.pop(0)
        patience = None if passes else 2
        some = rollouts.select(rows)
        passes.append(
            score(reward, some, timeout=timeout, patience=patience, progress=progress)
        )
        if len(passes) == 1 and _all_late(passes[0]):
            return passes[0], f"each of the first calls took longer than {timeout:g} s"
        done += rows
        spent = time.monotonic() - began
        most = int(min(GROWTH * len(rows), len(done) * (budget - spent) / spent))
    why = f"the budget of {budget:g} s was over (a completion takes {spent / len(done):.2g} s)"
    return _joined(passes, rollouts, done), why if groups else ""


def _groups(
    codes: NDArray[np.intp], first: NDArray[np.bool_], seed: int
) -> list[list[int]]:
    """The rows of each group by chance, those with `first` ones in turn with the others."""
    rows = pd.Series(range(len(codes))).groupby(codes).agg(list).tolist()
    np.random.default_rng(seed).shuffle(rows)
    rows.sort(key=lambda group: not first[group].any())
    return in_turn(rows, lambda group: first[group].any())


def _all_late(scores: Scores) -> bool:
    """Whether no row was scored without a call that is late."""
    late = np.zeros(len(scores), dtype=bool)
    for name in scores.reward.names:
        reasons = scores.reasons(name)
        late |= [reason is not None and reason.is_out_of_time for reason in reasons]
    return bool(late.all())


def _joined(passes: list[Scores], rollouts: Rollouts, rows: list[int]) -> Scores:
    """The scores of several passes as those of one; a gate that a pass lacks was open in all of it."""
    table = pd.concat([scores.table for scores in passes], ignore_index=True)
    if "gate/reward" in table:
        gates = [
            scores.table.get("gate/reward", np.ones(len(scores))) for scores in passes
        ]
        table["gate/reward"] = np.concatenate(gates)
    chosen = rollouts.select(rows)
    chosen = replace(chosen, table=chosen.table.reset_index(drop=True))
    return Scores(table, passes[0].reward, chosen, passes[0].run).under(
        passes[0].reward
    )
