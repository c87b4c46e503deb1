"""score(): a reward over rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from rewardkit.errors import Interrupted, RewardError, read_size
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.prints import Printed
from rewardkit.scoring.scored import score_rollouts
from rewardkit.scoring.scores import Scores
from rewardkit.scoring.shards import ROWS_MEMORY, Settings

if TYPE_CHECKING:
    from rewardkit.rollouts.whole_groups import LargeLog
    from rewardkit.scoring.ray_engine import Ray


def score(
    reward: Reward,
    rollouts: Rollouts
    | Scores
    | LargeLog
    | str
    | Path
    | pd.DataFrame
    | Iterable[Mapping[str, Any]],
    *,
    to: str | Path | None = None,
    memory: int | str = ROWS_MEMORY,
    force: bool = False,
    ignore_gates: bool = False,
    notes: bool = False,
    timeout: float | None = None,
    patience: int | None = None,
    workers: int | None = None,
    engine: Ray | None = None,
    progress: bool = False,
    unfinished: Scores | None = None,
) -> Scores:
    """Score every rollout, a row a completion in the order given.

    What a component does wrong becomes the status of its row, never an exception. In
    worker processes calls must not depend on one another, and what they change stays
    there. Three lines of what users' functions print are shown, with a count; the rest
    stands in the run record.

    Args:
        reward: what scores.
        rollouts: rollouts, or what `load_rollouts` takes. Scores of this very reward,
            as `load_scores` reads them with it, are returned as they are; of other
            scores their rollouts are scored.
        to: a folder for the scores, as `Scores.save` writes it. Where scoring was
            interrupted the same call goes on. Of a log that is too large for `memory`
            neither the log nor the table is held: parts of whole groups are scored and
            written one after the other, and what is returned reads its parts when they
            are asked for (`Scores.table` reads all).
        memory: bytes for the rows that are held, with `to`, or "2GB"; the libraries
            take 0.3 GB beside them.
        force: whether to write over another scoring in the folder, and to begin one
            anew that was interrupted.
        ignore_gates: whether every component is called and counted as if its gate were
            open.
        notes: whether to add what `rk.note` left, as columns.
        timeout: seconds that a call of a function may take that is not rewardkit's own.
            It runs in a worker process, which is killed when it takes longer or ends,
            and its row gets status ``error``.
        patience: late calls of a component after which its others are not made.
        workers: processes that share the rollouts, groups kept together, with the same
            scores to the last bit. A reward with a ``batch=True`` component is one call
            over all rows, and so one process.
        engine: `rk.Ray` scores a log in parts on the nodes of a cluster, with `to`:
            the same parts, to the last bit. `memory` and `timeout` are then for each
            process of a node. A log of one part is scored in this process.
        progress: whether to show a bar with the rollouts a second.
        unfinished: what an interrupted scoring of the same reward on the same rollouts
            left, as `Interrupted.scores` or `load_scores` have it; its rows are not
            scored again. What stands in the folder `to` needs none.

    Raises:
        RewardError: a column is asked for that is not there, or has the name of a field
            or component; a function cannot be sent to another process; what is
            unfinished is another scoring; a log in parts and a component or transform
            that needs all rows at once.
        RolloutsError: the rollouts have columns of a scored table; the folder holds
            another scoring, or another process scores into it; a group that `memory`
            does not hold.
        InputError: a memory that is no size; no such cluster, or a node of it lacks
            the versions of this process, the log or the folder.
        ModuleNotFoundError: Ray is not installed.
        Interrupted: a KeyboardInterrupt; its `scores` are of the rollouts that were
            scored.
    """
    check_reward(reward, "score")
    if isinstance(rollouts, Scores):
        if rollouts.reward is reward and to is None:
            return rollouts
        rollouts = rollouts.rollouts
    settings = Settings(ignore_gates, notes, timeout, patience, workers)
    memory = read_size("memory", memory)
    if engine is not None:
        _check_engine(engine, to, workers)
    try:
        if to is not None:
            from rewardkit.scoring.streamed import score_into  # slow to import

            scores = score_into(
                to,
                reward,
                rollouts,
                settings,
                engine=engine,
                memory=memory,
                force=force,
                progress=progress,
                unfinished=unfinished,
            )
        else:
            if not isinstance(rollouts, Rollouts):
                rollouts = load_rollouts(rollouts)  # type: ignore[arg-type]
            scores = score_rollouts(
                reward, rollouts, settings, progress=progress, unfinished=unfinished
            )
    except Interrupted as error:
        _show_prints(error.scores)
        raise
    _show_prints(scores)
    return scores


def _check_engine(engine: Ray, to: str | Path | None, workers: int | None) -> None:
    """Raise a RewardError for an engine that is none, or cannot score with the rest."""
    from rewardkit.scoring.ray_engine import check_engine

    check_engine(engine)
    if to is None:
        raise RewardError("engine= scores the parts of a log into a folder; give to=")
    if workers is not None:
        raise RewardError(
            "engine= has its own processes, one for each CPU of the cluster; leave "
            "out workers="
        )


def _show_prints(scores: Scores) -> None:
    """Show what users' functions printed."""
    if "printed" in scores.run:
        Printed(**scores.run["printed"]).show()
