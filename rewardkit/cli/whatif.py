"""`rewardkit whatif`: the diagnosis of a variant, from the scores that are there."""

from __future__ import annotations

import re
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.scores import scored_or_logged, with_reward
from rewardkit.primitives.gates import Gate
from rewardkit.rollouts.files import cell_number

FORM = "NAME=none or NAME=OTHER>=NUMBER (or <=, ==), such as 'concise=correct>=1'"
CONDITION = re.compile(
    r"\s*([^=<>]+?)\s*=\s*(?:none|([^=<>]+?)\s*(>=|<=|==)\s*([^=<>]*[^=<>\s]))\s*",
    re.IGNORECASE,
)
LIMITS = {">=": "at_least", "<=": "at_most", "==": "equals"}


def _gates(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, Gate | None]:
    """Return the gate of each component, None for no gate; join those on one."""
    limits_of: dict[str, dict[str, Any]] = {}
    for value in values:
        outcome = CONDITION.fullmatch(value)
        if outcome is None:
            raise click.BadParameter(f"{value!r} is not {FORM}")
        name, on, sign, text = outcome.groups()
        limits = limits_of.setdefault(name, {"on": on})
        if limits["on"] != on:
            both = f"{limits['on'] or 'none'!r} and {on or 'none'!r}"
            raise click.BadParameter(f"{name!r} has one gate; {both} are two")
        if on is not None:
            number = cell_number(text)
            if number is None and sign != "==":
                raise click.BadParameter(
                    f"{value!r} compares with {text!r}, which is no number"
                )
            limits[LIMITS[sign]] = text if number is None else number
    try:
        return {
            name: rk.gate(**limits) if limits["on"] else None
            for name, limits in limits_of.items()
        }
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


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
def whatif(options: Options) -> Answer:
    """Diagnose SCORES under other weights, gates or settings.

    Nothing is scored, unless --reward names the reward: rows that a gate would open are
    missing, and counted. Settings of the trainer are held against TRL's, where neither
    a weight nor a gate changes.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o run1
      rewardkit whatif run1 --weight detail=0
    """
    changed = bool(options.weights or options.gates)
    if not changed and "training" not in options.typed:
        raise rk.InputError(
            "nothing is to be another; give --weight, --gate or --training"
        )
    source = scored_or_logged(options)
    scores = with_reward(source.scores, options.reward, options.scores)
    settings = options.training if changed else rk.Training()
    before = rk.diagnose(
        scores, training=settings, label=options.label, seed=options.seed
    )
    outcome = rk.whatif(
        before,
        **options.select("weights gates training"),
        run=options.reward is not None,
    )
    return Answer({**outcome.record(), **source.about}, f"{source.head}{outcome}")
