"""`rewardkit judge`: components that ask a model, against labelled cases."""

from __future__ import annotations

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.options import Integer, Number
from rewardkit.judges.report import judges_of
from rewardkit.rewards.load import find_reward
from rewardkit.strategies.added_text import JUDGE_ATTACKS


@command(
    "REWARD CASES --seed --no-cache --json",
    {
        "--component NAME": "Only this one.  [default: all that ask a model]",
        "--repeats N": (
            "How often each case is asked.",
            {"type": Integer(min=1), "default": 1},
        ),
        "--label COLUMN": ("The level or score of a case.", {"default": "label"}),
        "--no-attacks": "Do not try texts that speak to the judge.",
        "--fail-under KAPPA": (
            "Exit 1 where a kappa is lower, or none.",
            {"type": Number(-1, 1)},
        ),
    },
)
def judge(asked: Asked) -> Answer:
    """Hold judges of REWARD against CASES with labels.

    REWARD may be a judge by itself. A case has the columns that the judge reads, and as its label one of the
    judge's levels, a score in [0, 1], or true or false.

    Example:
      rewardkit judge gallery:judged_clarity gallery:judged_clarity
    """
    judge, attribute = find_reward(asked.reward)
    names = [asked.component]
    if asked.component or not getattr(judge, "asks_model", False):
        judge = rk.load_reward(asked.reward)
        alone = (
            [*judge.names] if len(judge.names) == 1 else [None]
        )  # of none the report says what it needs
        names = names if asked.component else judges_of(judge) or alone
    options = {
        **asked.some("repeats label seed"),
        "attacks": {} if asked.no_attacks else JUDGE_ATTACKS,
    }
    reports = {
        name or attribute: rk.judge_report(
            judge, asked.cases, component=name, **options
        )
        for name in names
    }
    least = asked.fail_under
    under = least is not None and any(
        not one.ratings.kappa.value >= least for one in reports.values()
    )
    text = "\n\n".join(f"{name}\n{report!r}" for name, report in reports.items())
    return Answer(
        {"judges": {name: one.record() for name, one in reports.items()}},
        text,
        int(under),
    )
