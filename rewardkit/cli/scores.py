"""What commands read that analyse: scores that rewardkit made, or those of a trainer's log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import rewardkit as rk
from rewardkit.cli.command import Options
from rewardkit.findings import SEVERITIES
from rewardkit.scoring.scores import is_scored


class Read(NamedTuple):
    """The scores, and where they are a log's what is told of it: in JSON and in words."""

    scores: rk.Scores
    about: Mapping[str, Any] = MappingProxyType({})
    head: str = ""


def scored_or_logged(options: Options) -> Read:
    """Return the scores of a folder or Parquet file, or of a log.

    InputError: options for reading a log where it is scored already, or what neither of
    them is.
    """
    path = options.scores
    if is_scored(path):
        if options.typed.keys() & {"log_weights", *options.reading}:
            raise rk.InputError(
                f"{path!r} is scored already; options for reading a log are for the log itself, or for "
                "'rewardkit score'"
            )
        return Read(rk.load_scores(path))
    log = rk.load_rollouts(path, **options.reading)
    scores = rk.score(rk.recorded(log, options.log_weights), log)
    return Read(scores, {"rollouts": log.summary()}, f"{log}\n\n")


def with_reward(scores: rk.Scores, name: str | None, path: str) -> rk.Scores:
    """Return the scores with the named reward in them, which can be run.

    InputError: it is not the one they are of.
    """
    if name is None:
        return scores
    reward = rk.load_reward(name, rollouts=scores.rollouts)
    there, here = (
        item.record()["fingerprints"]["reward"] for item in (scores.reward, reward)
    )
    if there != here:
        raise rk.InputError(
            f"{name!r} is not the reward that {path!r} was scored with (fingerprint {here} here, {there} "
            "there); name that one, or score again"
        )
    return replace(scores, reward=reward)


def is_met(worst: str | None, fail_on: str | None) -> int:
    """Return the exit status: 1 where the worst finding is severe enough to fail."""
    return int(
        bool(fail_on and worst and SEVERITIES.index(worst) <= SEVERITIES.index(fail_on))
    )
