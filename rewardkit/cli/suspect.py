"""`rewardkit suspect`: completions that look like an exploit, and what pays them."""

from __future__ import annotations

from pathlib import Path

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
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
def suspect(options: Options) -> Answer:
    """Count completions that look like an exploit, and what pays them.

    Also since when and where they stand. With --patched also how many of them would
    still earn, and which right completions would get less.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o run1
      rewardkit suspect run1 --pattern because
    """
    if (options.like is None) == (options.pattern is None):
        hint = "not both" if options.like is not None else "neither is there"
        raise rk.InputError(f"give --like ID or --pattern REGEX; {hint}")
    source = scored_or_logged(options)
    patched: rk.Reward | rk.Scores | None = None
    if options.patched:
        rollouts, scored = (
            source.scores.rollouts,
            Path(options.patched).exists() and is_scored(options.patched),
        )
        patched = (
            rk.load_scores(options.patched)
            if scored
            else rk.load_reward(options.patched, rollouts=rollouts)
        )
    limit = options.time_limit(patched) if isinstance(patched, rk.Reward) else None
    settings = options.select("like pattern label training seed by")
    suspicion = find_suspects(
        source.scores,
        patched=patched,
        timeout=limit,
        progress=options.is_watched,
        **settings,
    )
    return Answer({**suspicion.record(), **source.about}, f"{source.head}{suspicion}")
