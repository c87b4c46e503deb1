"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.output import printable
from rewardkit.limits import cannot_limit

TIMEOUT = 10.0
"""Seconds. Our choice: beyond what one completion's check should take, below what people wait for."""

REWARD = (
    "REWARD is file.py:name, package.module:name or gallery:module[.name]; "
    "the attribute `reward` where no name is given."
)


def _columns(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        name, equals, source = value.partition("=")
        if not equals or not name or not source:
            raise click.BadParameter(f"{value!r} is not canonical=source, such as completion=text")
        pairs[name] = source
    return pairs


def rollout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options that say how a file of rollouts is read."""
    command = click.option(
        "--group",
        multiple=True,
        help="A column that makes groups; repeat for more. Default: prompt_id, policy, step, data_source.",
    )(command)
    return click.option(
        "--column",
        "columns",
        multiple=True,
        callback=_columns,
        metavar="NAME=SOURCE",
        help="Take a canonical column from another, such as completion=text.",
    )(command)


scaling_option = click.option(
    "--scale-rewards",
    type=click.Choice(["group", "batch", "none"]),
    default="group",
    show_default=True,
    help="The trainer's advantage scaling.",
)
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap.")
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help=f"That one call of your own code may take; 0 for no limit.  [default: {TIMEOUT:g}]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def limit_for(timeout: float | None, *rewards: rk.Reward) -> float | None:
    """The time limit that was asked for; else the default one, where the rewards can be scored under it."""
    if timeout is not None:
        return timeout or None
    why = next(filter(None, (cannot_limit(reward.functions) for reward in rewards)), None)
    if why:
        click.echo(printable(f"rewardkit: no time limit: {' '.join(why.split())}"), err=True)
    return None if why else TIMEOUT
