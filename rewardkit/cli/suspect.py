"""`rewardkit suspect`: completions that look like an exploit, and what pays them."""

from __future__ import annotations

from pathlib import Path

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.scores import scored_or_logged
from rewardkit.scoring.scores import is_scored
from rewardkit.suspects.suspect import suspect as find_suspects


@command(
    "SCORES --label --training --seed --timeout READING --log-weight --json",
    {
        "--like ID": "Completions with a form like that of this rollout_id.",
        "--pattern REGEX": "Completions with a match of this regular expression.",
        "--patched REWARD": "A fixed reward (file.py:name) to score them with, or the folder of its scores.",
        "--by COLUMN...": "Compare their share between its values.  [default: every column of few values]",
    },
)
def suspect(asked: Asked) -> Answer:
    """Count completions that look like an exploit, and what pays them.

    Also since when and where they stand. With --patched also how many of them would still earn, and which
    right completions would get less.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o run1
      rewardkit suspect run1 --pattern because
    """
    if (asked.like is None) == (asked.pattern is None):
        told = "not both" if asked.like is not None else "neither is there"
        raise rk.InputError(f"give --like ID or --pattern REGEX; {told}")
    read = scored_or_logged(asked)
    mended: rk.Reward | rk.Scores | None = None
    if asked.patched:
        rollouts, scored = (
            read.scores.rollouts,
            Path(asked.patched).exists() and is_scored(asked.patched),
        )
        mended = (
            rk.load_scores(asked.patched)
            if scored
            else rk.load_reward(asked.patched, rollouts=rollouts)
        )
    limit = asked.time_limit(mended) if isinstance(mended, rk.Reward) else None
    settings = asked.some("like pattern label training seed by")
    found = find_suspects(
        read.scores,
        patched=mended,
        timeout=limit,
        progress=asked.is_watched,
        **settings,
    )
    return Answer({**found.record(), **read.about}, f"{read.head}{found}")
