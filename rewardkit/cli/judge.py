"""`rewardkit judge`: components that ask a model, against labelled cases."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import REWARD, json_option, no_cache_option, seed_option
from rewardkit.cli.output import emit
from rewardkit.judges.attacks import ATTACKS
from rewardkit.judges.report import judges_of
from rewardkit.rewards.load import find_reward


@main.command("judge", epilog=REWARD)
@click.argument("reward")
@click.argument("cases")
@click.option("--component", metavar="NAME", help="Only this one.  [default: all that ask a model]")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How often each case is asked, to see whether the level stays.",
)
@click.option(
    "--label", default="label", show_default=True, metavar="COLUMN", help="The level or score of a case."
)
@click.option("--no-attacks", is_flag=True, help="Do not try texts that speak to the judge.")
@click.option(
    "--fail-under",
    type=click.FloatRange(-1, 1),
    metavar="KAPPA",
    help="Exit 1 where a judge's kappa is lower, or not defined.",
)
@seed_option
@no_cache_option
@json_option
@click.pass_context
def judge_command(
    ctx: click.Context,
    reward: str,
    cases: str,
    component: str | None,
    repeats: int,
    label: str,
    no_attacks: bool,
    fail_under: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Hold judges of REWARD, a reward or a judge by itself, against CASES with labels (JSONL).

    A case has the columns that the judge reads, and as its label one of the judge's levels, a score in
    [0, 1], or true or false.
    """
    options: dict[str, Any] = {"repeats": repeats, "label": label, "seed": seed}
    options["attacks"] = {} if no_attacks else ATTACKS
    with redirect_stdout(sys.stderr):
        reports = {
            name: rk.judge_report(judge, cases, component=one, **options)
            for name, judge, one in _judges(reward, component)
        }
    record = {name: report.record() for name, report in reports.items()}
    text = "\n\n".join(f"{name}\n{report!r}" for name, report in reports.items())
    emit({"judges": record}, text, as_json)
    under = fail_under is not None and any(
        not report.ratings.kappa.value >= fail_under for report in reports.values()
    )
    ctx.exit(1 if under else 0)


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
