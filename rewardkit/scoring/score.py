"""score(): score rollouts with a reward."""

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
    """Score every rollout; the result has one row per completion in the same order.

    A failure of a component becomes the status of its row, never an exception. In
    worker processes calls must be independent, and their side effects stay there. Three
    lines of users' output are shown with a count; the run record has more of it.

    Args:
        reward: The reward.
        rollouts: Rollouts, or a source of `load_rollouts`. Scores of this very reward
            object are returned as they are; the rollouts of other scores are scored.
        to: A folder for the scores, as `Scores.save` writes it. After an interrupt the
            same call goes on. If the log is too large for `memory`, neither it nor the
            table is held: parts of whole groups are scored and written one by one, and
            the returned scores read their parts on access (`Scores.table` reads all).
        memory: Bytes for the rows in memory, with `to`, or a text such as "2GB". The
            libraries take another 0.3 GB.
        force: Whether to overwrite another scoring in the folder, and to restart an
            interrupted one.
        ignore_gates: Whether every component is called and counted as if its gate were
            open.
        notes: Whether to add the notes of `rk.note` as columns.
        timeout: Seconds for each call of a user's function. It runs in a worker
            process. If it is late or ends the process, its row gets status ``error``.
        patience: Late calls of a component after which its further calls are not made.
        workers: Processes that share the rollouts, in whole groups; scores are the same
            to the last bit. A ``batch=True`` component is one call over all rows, so
            its reward uses one process.
        engine: `rk.Ray` scores a log in parts on the nodes of a cluster, with `to`; the
            parts are the same to the last bit. `memory` and `timeout` then apply to
            each process of a node. A log of one part is scored in this process.
        progress: Whether to show a progress bar.
        unfinished: The scores of an interrupted scoring of the same reward and
            rollouts, from `Interrupted.scores` or `load_scores`; their rows are not
            scored again. Scores in the folder `to` are found without it.

    Raises:
        RewardError: A needed column is missing or has the name of a field or component;
            a function cannot be sent to another process; `unfinished` is of another
            scoring; a log in parts has a component or transform that needs all rows.
        RolloutsError: The rollouts have columns of a scored table; the folder holds
            another scoring, or another process scores into it; a group does not fit
            into `memory`.
        InputError: `memory` is not a size; the cluster does not exist, or a node lacks
            the versions of this process, the log or the folder.
        ModuleNotFoundError: Ray is not installed.
        Interrupted: On a KeyboardInterrupt; its `scores` are those of the finished
            rollouts.
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
    """Raise a RewardError for an invalid engine, or options that it does not allow."""
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
    """Show the output of users' functions."""
    if "printed" in scores.run:
        Printed(**scores.run["printed"]).show()
