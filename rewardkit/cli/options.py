"""Options that several commands share."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.output import printable
from rewardkit.judges.cache import FOLDER
from rewardkit.probes.probe import BUDGET
from rewardkit.probes.results.floor import LEAKAGE
from rewardkit.rollouts.columns import TEXTS
from rewardkit.rollouts.files import cell_number
from rewardkit.scoring.deadlines import cannot_limit
from rewardkit.targets import TARGETS

TIMEOUT = 10.0
"""Seconds. Our choice: beyond what one completion's check should take, below what people wait for."""

REWARD = (
    "REWARD is file.py:name, package.module:name or gallery:module[.name]; "
    "the attribute `reward` where no name is given."
)


class Number(click.FloatRange):
    """A number in a range, named so where another text is given."""

    name = "number"


class Integer(click.IntRange):
    """An integer in a range, named so where another text is given."""

    name = "integer"


def _pairs(values: tuple[str, ...], form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values:
        name, equals, source = value.partition("=")
        if not equals or not name or not source:
            raise click.BadParameter(f"{value!r} is not {form}")
        if name in pairs:
            raise click.BadParameter(f"{name!r} is given twice, {pairs[name]!r} and {source!r}; give one")
        pairs[name] = source
    return pairs


def _columns(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    return _pairs(values, "canonical=source, such as completion=text")


def _constants(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Constants by column: numbers where they are written as such, but for columns that hold text."""
    pairs = _pairs(values, "column=value, such as data_source=gsm8k")
    numbers = {name: None if name in TEXTS else cell_number(value) for name, value in pairs.items()}
    return {name: value if numbers[name] is None else numbers[name] for name, value in pairs.items()}


def number_pairs(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Numbers by name."""
    weights = {}
    for name, value in _pairs(values, "name=number, such as accuracy=2").items():
        try:
            weights[name] = float(value)
        except ValueError:
            raise click.BadParameter(f"{name}={value!r} is not a number") from None
    return weights


def settings(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> rk.Training:
    """The settings of a file, if any, with those that were named put in their place."""
    files = [value for value in values if "=" not in value]
    if len(files) > 1:
        raise click.BadParameter(f"{files[1]!r} is a second file; give one, and NAME=VALUE for what differs")
    pairs = _pairs(tuple(value for value in values if "=" in value), "NAME=VALUE, such as scale_rewards=none")
    given: dict[str, Any] = {}
    for name, value in pairs.items():
        number = cell_number(value)
        given[name] = value if number is None else number
    base = rk.Training.of(files[0]).record() if files else {}
    return rk.Training.of({**base, **given})


def _keep_no_answers(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    """Keep no answers of models in this process and in those that it starts."""
    if given:
        os.environ[FOLDER] = "off"


def _no_join_no_key(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if value is not None and not ctx.params.get("join"):
        raise click.BadParameter("it names the key of a join; give --join too")
    return value or "prompt"


def rollout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options that say how rollouts are read.

    It gets them as `reading`, the keyword arguments of `load_rollouts`.
    """
    options = [
        click.option(
            "--column",
            "columns",
            multiple=True,
            callback=_columns,
            metavar="NAME=SOURCE",
            help="Read a canonical column from this one, such as completion=text.",
        ),
        click.option(
            "--group",
            multiple=True,
            help="A column that makes groups; repeat for more.  [default: prompt_id, policy, step, "
            "data_source]",
        ),
        click.option(
            "--join",
            metavar="TRAIN",
            is_eager=True,
            help="The run's data set, for columns that the log lacks, such as ground_truth or data_source.",
        ),
        click.option(
            "--on",
            callback=_no_join_no_key,
            metavar="COLUMN",
            help="Key column of the join.  [default: prompt]",
        ),
        click.option(
            "--set",
            "fill",
            multiple=True,
            callback=_constants,
            metavar="COLUMN=VALUE",
            help="Add a column of one value that the log lacks, such as data_source=gsm8k.",
        ),
    ]

    @functools.wraps(command)
    def with_reading(*arguments: Any, **given: Any) -> Any:
        reading = {name: given.pop(name) for name in ("columns", "join", "on", "fill")}
        reading["group"] = list(given.pop("group")) or None
        return command(*arguments, reading=reading, **given)

    decorated: Callable[..., Any] = with_reading
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


names_option = click.option(
    "--name",
    "names",
    multiple=True,
    callback=_columns,
    metavar="NAME=SOURCE",
    help="Name of a canonical column in the training set, such as ground_truth=label; repeat for more.",
)
as_option = click.option(
    "--as",
    "as_",
    metavar="TARGET[:WAY]",
    help=f"Read REWARD as a function of this trainer: {', '.join(target.name for target in TARGETS)}. Add "
    ":WAY where the trainer has several ways to call it, such as trl:messages.",
)
weights_option = click.option(
    "--log-weight",
    "log_weights",
    multiple=True,
    callback=number_pairs,
    metavar="NAME=NUMBER",
    help="Weight of a logged score, where the log's own scores are the reward; repeat for more.",
)
training_option = click.option(
    "--training",
    multiple=True,
    callback=settings,
    metavar="FILE|NAME=VALUE",
    help="The trainer's settings: a file (verl's YAML, a GRPOConfig as YAML or JSON) or one setting, "
    "such as scale_rewards=none; repeat for more.  [default: TRL's]",
)
label_option = click.option(
    "--label", metavar="COLUMN", help="A trusted column that says which completions are good."
)
by_option = click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Also look at each value of this column alone; repeat for more.  [default: data_source, task, "
    "policy, step, where siblings share them]",
)
seed_option = click.option(
    "--seed", type=Integer(min=0), default=0, show_default=True, help="Seed of the bootstrap."
)
timeout_option = click.option(
    "--timeout",
    type=Number(min=0),
    metavar="SECONDS",
    help=f"Time limit for one call of your code; 0 for no limit.  [default: {TIMEOUT:g}]",
)
budget_option = click.option(
    "--budget",
    type=Number(min=0, min_open=True),
    default=BUDGET,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for all probes of a reward; what was not tried is listed.",
)
leakage_option = click.option(
    "--leakage",
    type=Number(0, 1),
    default=LEAKAGE,
    show_default=True,
    metavar="SHARE",
    help="Largest share of the maximum reward that a wrong answer in good form may earn.",
)
no_cache_option = click.option(
    "--no-cache",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_keep_no_answers,
    help="Ask models again: neither read the cache of answers nor write it.",
)
baseline_option = click.option("--baseline", metavar="FILE", help="A JSON file of accepted probe findings.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def limit_for(timeout: float | None, *rewards: rk.Reward) -> float | None:
    """The time limit that was asked for; else the default one, where the rewards can be scored under it."""
    if timeout is not None:
        return timeout or None
    why = next(filter(None, (cannot_limit(reward.functions) for reward in rewards)), None)
    if why:
        click.echo(printable(f"rewardkit: no time limit: {' '.join(why.split())}"), err=True)
    return None if why else TIMEOUT
