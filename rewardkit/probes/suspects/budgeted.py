"""Budgeted: the scores that a reward gives as many groups of rollouts as a budget of seconds reaches."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm.auto import tqdm

from rewardkit.errors import InputError, preview
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.calls import LATE
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores

__all__ = ["Reached", "check_budget", "scored_within"]

PIECE = 3.0
"""Seconds that a piece of work should take: so the budget is kept and progress seen. Our choice."""
TRIED = 2
"""Rows that are scored first, to know how long one takes; twice as many where they are late. Our choice."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reached:
    """The `scores` of the rollouts that were reached, in their order, ``None`` of none; `why` not of all."""

    scores: Scores | None
    why: str = ""


def check_budget(budget: float) -> None:
    """InputError: it is no number of seconds above 0."""
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise InputError(f"budget={preview(budget)} is not a time; give seconds above 0")


def scored_within(
    reward: Reward,
    rollouts: Rollouts,
    first: Mask,
    *,
    timeout: float | None,
    budget: float,
    seed: int = 0,
    progress: bool = False,
) -> Reached:
    """What the reward gives the rollouts, group by group, while there is time left of `budget` seconds.

    Groups with rows of `first` take turns with the others, drawn with a seed. None is begun that there is no
    time for, as far as the rows before it tell. Where each of the first calls takes longer than `timeout`,
    nothing more is tried.
    """
    until = time.monotonic() + budget
    groups = _order(rollouts.groups, first, seed)
    each, late = _time_of_one(reward, rollouts, [int(rows[0]) for rows in groups], timeout, until)
    if late:
        return Reached(None, f"each of the first calls {LATE} {timeout:g} s")
    pieces: list[tuple[list[int], Scores]] = []
    with tqdm(total=len(rollouts), desc="patched", leave=False) if progress else nullcontext() as bar:
        while groups and each * len(groups[0]) <= (left := until - time.monotonic() if pieces else budget):
            rows = _piece(groups, each, left)
            began = time.monotonic()
            pieces.append((rows, score(reward, rollouts.select(rows), timeout=timeout)))
            each = (time.monotonic() - began) / len(rows)
            if bar is not None:
                bar.update(len(rows))
    over = "was over" if pieces else "is too short for one group"
    why = f"the budget of {budget:g} s {over} (a completion takes {each:.2g} s)" if groups else ""
    return Reached(_joined(reward, rollouts, pieces), why)


def _order(codes: NDArray[np.intp], first: Mask, seed: int) -> list[NDArray[np.intp]]:
    """The rows of each group: those with `first` ones in turn with the others, by chance."""
    rows = np.argsort(codes, kind="stable")
    groups = np.split(rows, np.flatnonzero(np.diff(codes[rows])) + 1) if len(rows) else []
    drawn = [groups[place] for place in np.random.default_rng(seed).permutation(len(groups))]
    ranks: dict[bool, int] = {True: 0, False: 0}
    places = []
    for group in drawn:
        has = bool(first[group].any())
        places.append((ranks[has], not has))
        ranks[has] += 1
    return [drawn[place] for place in sorted(range(len(drawn)), key=lambda place: places[place])]


def _time_of_one(
    reward: Reward, rollouts: Rollouts, rows: list[int], timeout: float | None, until: float
) -> tuple[float, bool]:
    """Seconds that a row takes, about; and whether all that were tried took longer than they may."""
    each, late = 0.0, False
    for at in (0, TRIED):
        if not (some := rows[at : at + TRIED]):
            break
        began = time.monotonic()
        found = score(reward, rollouts.select(some), timeout=timeout)
        each = (time.monotonic() - began) / len(some)
        late = all(_is_late(found, row) for row in range(len(some)))
        if not late or time.monotonic() > until:
            break
    return each, late


def _is_late(scores: Scores, row: int) -> bool:
    return any(LATE in str(scores.table[f"error/{name}"].iloc[row]) for name in scores.reward.names)


def _piece(groups: list[NDArray[np.intp]], each: float, left: float) -> list[int]:
    """The rows of the next groups, as many as fit into a piece, one at least, taken from the list."""
    most = min(PIECE, left) / each if each else math.inf
    rows: list[int] = []
    while groups and (not rows or len(rows) + len(groups[0]) <= most):
        rows += groups.pop(0).tolist()
    return rows


def _joined(reward: Reward, rollouts: Rollouts, pieces: list[tuple[list[int], Scores]]) -> Scores | None:
    """The scores of the pieces as those of one scoring, in the order of the rollouts."""
    if not pieces:
        return None
    rows = np.concatenate([rows for rows, _ in pieces])
    order = np.argsort(rows)
    table = pd.concat([scores.table for _, scores in pieces], ignore_index=True).iloc[order]
    if "gate/reward" in table:
        open_ = np.concatenate([_gate(scores) for _, scores in pieces])[order]
        table = table.assign(**{"gate/reward": open_})
    table = table.reset_index(drop=True)
    chosen = rollouts.select(rows[order].tolist())
    chosen = replace(chosen, table=chosen.table.reset_index(drop=True))
    return Scores(table, reward, chosen, pieces[0][1].run).under(reward)


def _gate(scores: Scores) -> NDArray[np.float64]:
    """The gate of each row, which has a column only where it is not open in all."""
    if "gate/reward" not in scores.table:
        return np.ones(len(scores))
    return scores.table["gate/reward"].to_numpy(dtype=float)
