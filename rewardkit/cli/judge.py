"""`rewardkit judge`: components that ask a model, against labelled cases."""

from __future__ import annotations

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
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
def judge(options: Options) -> Answer:
    """Hold judges of REWARD against CASES with labels.

    REWARD may be a judge by itself. A case has the columns that the judge reads, and as
    its label one of the judge's levels, a score in [0, 1], or true or false.

    Example:
      rewardkit judge gallery:judged_clarity gallery:judged_clarity
    """
    judge, attribute = find_reward(options.reward)
    names = [options.component]
    if options.component or not getattr(judge, "asks_model", False):
        judge = rk.load_reward(options.reward)
        alone = (
            [*judge.names] if len(judge.names) == 1 else [None]
        )  # of none the report says what it needs
        names = names if options.component else judges_of(judge) or alone
    settings = {
        **options.select("repeats label seed"),
        "attacks": {} if options.no_attacks else JUDGE_ATTACKS,
    }
    reports = {
        name or attribute: rk.judge_report(
            judge, options.cases, component=name, **settings
        )
        for name in names
    }
    lowest_kappa = options.fail_under
    is_under = lowest_kappa is not None and any(
        not report.ratings.kappa.value >= lowest_kappa for report in reports.values()
    )
    text = "\n\n".join(f"{name}\n{report!r}" for name, report in reports.items())
    return Answer(
        {"judges": {name: report.record() for name, report in reports.items()}},
        text,
        int(is_under),
    )
