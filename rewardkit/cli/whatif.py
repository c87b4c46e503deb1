"""`rewardkit whatif`: the diagnosis of a variant, from the scores that are there."""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    json_option,
    label_option,
    number_pairs,
    rollout_options,
    seed_option,
    settings,
    training_option,
    weights_option,
)
from rewardkit.cli.output import emit
from rewardkit.cli.scored import SCORES, scored_or_logged, with_reward
from rewardkit.errors import preview
from rewardkit.primitives.gates import Gate
from rewardkit.rollouts.files import cell_number
from rewardkit.rollouts.values import column_values

FORM = "NAME=none or NAME=OTHER>=NUMBER (or <=, ==), such as 'concise=correct>=1'"
CONDITION = re.compile(r"(?P<name>[^=<>]+)=(?P<on>[^=<>]+)(?P<sign>>=|<=|==)(?P<limit>[^=<>]+)")
LIMITS = {">=": "at_least", "<=": "at_most", "==": "equals"}


def _gates(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Gate | None]:
    """The gate of each component, ``None`` where it is to have none; conditions on one belong together."""
    gates: dict[str, Gate | None] = {}
    given: dict[str, dict[str, Any]] = {}
    for value in values:
        name, _, rest = value.partition("=")
        if name.strip() and rest.strip().lower() == "none":
            gates[name.strip()] = None
            continue
        found = CONDITION.fullmatch(value)
        if found is None:
            raise click.BadParameter(f"{value!r} is not {FORM}")
        name, on, sign, text = (found[key].strip() for key in ("name", "on", "sign", "limit"))
        number = cell_number(text)
        if number is None and sign != "==":
            raise click.BadParameter(f"{value!r} compares with {text!r}, which is no number")
        limits = given.setdefault(name, {"on": on})
        if limits["on"] != on:
            raise click.BadParameter(f"{name!r} has one gate, on {limits['on']!r} or on {on!r}")
        limits[LIMITS[sign]] = text if number is None else number
    for name in given:
        if name in gates:
            raise click.BadParameter(f"{name!r} is to have no gate and one")
    try:
        return {**gates, **{name: rk.gate(**limits) for name, limits in given.items()}}
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _fitted(scores: rk.Scores, name: str, gate: Gate | None) -> Gate | None:
    """The gate with its limits as the column that it is on has its values: 1 is "1" where these are texts.

    InputError: texts to be more or less than a number, or a value that no row has.
    """
    places = (f"score/{gate.on}", f"field/{gate.on}", str(gate.on)) if gate is not None else ()
    column = next((place for place in places if place in scores.table), None)
    if gate is None or column is None:
        return gate  # which `whatif` tells of
    kinds = dict.fromkeys(
        value for value in column_values(scores.table[column]) if not isinstance(value, list | dict | None)
    )
    texts = [value for value in kinds if isinstance(value, str)]
    if texts and not (gate.at_least is None and gate.at_most is None):
        raise rk.InputError(
            f"the gate of {name!r} compares {gate.on!r} with a number, but it holds texts such as "
            f"{preview(texts[0])}; compare with ==, or name a column of numbers"
        )
    if gate.equals is None or gate.equals in kinds:
        return gate
    same = [text for text in texts if cell_number(text) == gate.equals]
    if not same:
        some = ", ".join(preview(value) for value in list(kinds)[:5]) + (" ..." if len(kinds) > 5 else "")
        raise rk.InputError(
            f"the gate of {name!r} would never open: no row has {gate.on}={gate.equals!r}; there are {some}"
        )
    return replace(gate, equals=same[0])


@main.command("whatif", epilog=SCORES)
@click.argument("scores")
@click.option(
    "--weight",
    "weights",
    multiple=True,
    callback=number_pairs,
    metavar="NAME=NUMBER",
    help="New weight of a component; repeat for more.",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    callback=_gates,
    metavar="NAME=CONDITION",
    help="New gate of a component: 'concise=correct>=1' (or <=, ==), or concise=none; repeat for more.",
)
@training_option
@click.option(
    "--training-before",
    multiple=True,
    callback=settings,
    metavar="FILE|NAME=VALUE",
    help="Settings to compare with.  [default: those of --training where a weight or gate changes, "
    "else TRL's]",
)
@label_option
@click.option(
    "--reward",
    metavar="REWARD",
    help="The reward that wrote SCORES, to score the rows that a new gate opens.",
)
@rollout_options
@weights_option
@seed_option
@json_option
@click.pass_context
def whatif_command(
    ctx: click.Context,
    scores: str,
    weights: dict[str, float],
    gates: dict[str, Gate | None],
    training: rk.Training,
    training_before: rk.Training,
    label: str | None,
    reward: str | None,
    reading: dict[str, Any],
    log_weights: dict[str, float],
    seed: int,
    as_json: bool,
) -> None:
    """Say what a diagnosis of SCORES would say under other weights, gates or settings of the trainer.

    Nothing is scored, unless --reward names the reward: rows that a gate would open are missing, and counted.
    """

    def is_given(name: str) -> bool:
        return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT

    if not (weights or gates or is_given("training")):
        raise rk.InputError("nothing is to be another; give --weight, --gate or --training")
    with redirect_stdout(sys.stderr):  # what the user's code prints is not the result
        read = scored_or_logged(scores, reading, log_weights)
        made = read.scores if reward is None else with_reward(read.scores, reward, scores)
        gates = {name: _fitted(made, name, gate) for name, gate in gates.items()}
    same = bool(weights or gates) and not is_given("training_before")
    before = rk.diagnose(made, training=training if same else training_before, label=label, seed=seed)
    with redirect_stdout(sys.stderr):
        found = rk.whatif(before, weights=weights, gates=gates, training=training, run=reward is not None)
    text = str(found).replace("give run=True", "name the reward with --reward")  # as it is said in Python
    emit({**found.record(), **read.about}, f"{read.head}{text}", as_json)
