"""`rewardkit judge`: components that ask a model, against labelled cases."""

from __future__ import annotations

from typing import Any

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.options import Integer, Number
from rewardkit.judges.attacks import ATTACKS
from rewardkit.judges.report import judges_of
from rewardkit.rewards.load import find_reward


@command(
    "REWARD CASES --seed --no-cache --json",
    {
        "--component NAME": "Only this one.  [default: all that ask a model]",
        "--repeats N": ("How often each case is asked.", {"type": Integer(min=1), "default": 1}),
        "--label COLUMN": ("The level or score of a case.", {"default": "label"}),
        "--no-attacks": "Do not try texts that speak to the judge.",
        "--fail-under KAPPA": ("Exit 1 where a kappa is lower, or none.", {"type": Number(-1, 1)}),
    },
)
def judge(asked: Asked) -> Answer:
    """Hold judges of REWARD against CASES with labels.

    REWARD may be a judge by itself. A case has the columns that the judge reads, and as its label one of the
    judge's levels, a score in [0, 1], or true or false.

    Example:
      rewardkit judge gallery:judged_clarity gallery:judged_clarity
    """
    options = {**asked.some("repeats label seed"), "attacks": {} if asked.no_attacks else ATTACKS}
    reports = {
        name: rk.judge_report(judge, asked.cases, component=one, **options)
        for name, judge, one in _judges(asked.reward, asked.component)
    }
    least = asked.fail_under
    under = least is not None and any(not one.ratings.kappa.value >= least for one in reports.values())
    text = "\n\n".join(f"{name}\n{report!r}" for name, report in reports.items())
    return Answer({"judges": {name: one.record() for name, one in reports.items()}}, text, int(under))


def _judges(reward: str, component: str | None) -> list[tuple[str, Any, str | None]]:
    """Of each judge its name, and what `judge_report` takes. InputError: there is none."""
    value, attribute = find_reward(reward)
    if getattr(value, "asks_model", False) and component is None:
        return [(attribute, value, None)]
    loaded = rk.load_reward(reward)
    names = [component] if component else judges_of(loaded) or list(loaded.names)
    if len(names) > 1 and not judges_of(loaded):
        raise rk.RewardError(
            f"no component of {reward!r} asks a model; name one with --component: {', '.join(names)}"
        )
    return [(name, loaded, name) for name in names]
