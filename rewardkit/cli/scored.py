"""What `diagnose`, `whatif` and `forecast` read: scores that rewardkit made, or those of a trainer's log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import rewardkit as rk
from rewardkit.scoring.scores import is_scored

__all__ = ["SCORES", "Read", "scored_or_logged", "scores_of", "with_reward"]

SCORES = (
    "SCORES is the folder that `rewardkit score -o` wrote, or its Parquet file; or the log of a trainer, "
    "whose own scores are taken then, and which the options for reading are for."
)


@dataclass(frozen=True)
class Read:
    """The scores, and where they are a log's what is told of it: in JSON and in words."""

    scores: rk.Scores
    about: Mapping[str, Any] = field(default_factory=dict)
    head: str = ""


def scored_or_logged(path: str, reading: Mapping[str, Any], log_weights: Mapping[str, float]) -> Read:
    """The scores of a folder or Parquet file, or of a log read as `reading` says.

    InputError: options for reading a log where it is scored already, or what neither of them is.
    """
    if is_scored(path):
        given = [name for name in ("columns", "group", "join", "fill") if reading[name]]
        if given or log_weights:
            raise rk.InputError(
                f"{path!r} is scored already; options for reading a log are for the log itself, or for "
                "'rewardkit score'"
            )
        return Read(rk.load_scores(path))
    log = rk.load_rollouts(path, **reading)
    try:
        reward = rk.recorded(log, dict(log_weights))
    except rk.RewardError as error:  # which says how it is done in Python
        raise rk.RewardError(re.sub(r"weights=({\.{3}})?", _log_weight, str(error))) from None
    scores = rk.score(reward, log)
    return Read(scores, {"rollouts": log.summary()}, f"{log}\n\n")


def _log_weight(found: re.Match[str]) -> str:
    return "--log-weight NAME=NUMBER" if found[1] else "--log-weight"


def scores_of(path: str, name: str | None) -> rk.Scores:
    """The scores of a folder; with the reward itself where it is named, which must be the one they are of."""
    scores = rk.load_scores(path)
    return scores if name is None else with_reward(scores, name, path)


def with_reward(scores: rk.Scores, name: str, path: str) -> rk.Scores:
    """The scores with the reward itself, which can run what its record cannot.

    InputError: it is not the one they are of.
    """
    reward = rk.load_reward(name, rollouts=scores.rollouts)
    there, here = (item.record()["fingerprints"]["reward"] for item in (scores.reward, reward))
    if there != here:
        raise rk.InputError(
            f"{name!r} is not the reward that {path!r} was scored with (fingerprint {here} here, {there} "
            "there); name that one, or score again"
        )
    return replace(scores, reward=reward)
