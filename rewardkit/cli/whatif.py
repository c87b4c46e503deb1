"""`rewardkit whatif`: the diagnosis of a variant, from the scores that are there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.scores import scored_or_logged, with_reward
from rewardkit.errors import preview
from rewardkit.primitives.gates import Gate
from rewardkit.rollouts.files import cell_number
from rewardkit.rollouts.values import column_values

FORM = "NAME=none or NAME=OTHER>=NUMBER (or <=, ==), such as 'concise=correct>=1'"
CONDITION = re.compile(
    r"\s*(?P<name>[^=<>]+?)\s*=\s*(?:(?P<none>none)|(?P<on>[^=<>]+?)\s*(?P<sign>>=|<=|==)(?P<limit>[^=<>]+))\s*",
    re.IGNORECASE,
)
LIMITS = {">=": "at_least", "<=": "at_most", "==": "equals"}


def _gates(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Gate | None]:
    """The gate of each component, ``None`` where it is to have none; conditions on one belong together."""
    given: dict[str, dict[str, Any] | None] = {}
    for value in values:
        found = CONDITION.fullmatch(value)
        if found is None:
            raise click.BadParameter(f"{value!r} is not {FORM}")
        name, none, on, sign, text = found.groups()
        limits = given.setdefault(name, None if none else {"on": on})
        if (limits is None) != bool(none):
            raise click.BadParameter(f"{name!r} is to have no gate and one")
        if limits is None:
            continue
        if limits["on"] != on:
            raise click.BadParameter(f"{name!r} has one gate, on {limits['on']!r} or on {on!r}")
        number = cell_number(text.strip())
        if number is None and sign != "==":
            raise click.BadParameter(f"{value!r} compares with {text!r}, which is no number")
        limits[LIMITS[sign]] = text.strip() if number is None else number
    try:
        return {name: None if limits is None else rk.gate(**limits) for name, limits in given.items()}
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
    values = column_values(scores.table[column])
    kinds = dict.fromkeys(value for value in values if not isinstance(value, list | dict | None))
    texts = [value for value in kinds if isinstance(value, str)]
    if texts and gate.equals is None:
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


@command(
    "SCORES --training --label --seed READING --log-weight --json",
    {
        "--weight weights NAME=NUMBER...": "New weight of a component.",
        "--gate gates NAME=CONDITION...": (
            "New gate: 'concise=correct>=1' (or <=, ==), or concise=none.",
            {"callback": _gates},
        ),
        "--reward REWARD": "The reward that wrote SCORES, to score the rows that a new gate opens.",
    },
)
def whatif(asked: Asked) -> Answer:
    """Diagnose SCORES under other weights, gates or settings.

    Nothing is scored, unless --reward names the reward: rows that a gate would open are missing, and counted.
    Settings of the trainer are held against TRL's, where neither a weight nor a gate changes.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o run1
      rewardkit whatif run1 --weight detail=0
    """
    changed = bool(asked.weights or asked.gates)
    if not changed and "training" not in asked.given:
        raise rk.InputError("nothing is to be another; give --weight, --gate or --training")
    read = scored_or_logged(asked)
    scores = with_reward(read.scores, asked.reward, asked.scores)
    gates = {name: _fitted(scores, name, gate) for name, gate in asked.gates.items()}
    settings = asked.training if changed else rk.Training()
    before = rk.diagnose(scores, training=settings, label=asked.label, seed=asked.seed)
    run = asked.reward is not None
    found = rk.whatif(before, weights=asked.weights, gates=gates, training=asked.training, run=run)
    return Answer({**found.record(), **read.about}, f"{read.head}{found}")
