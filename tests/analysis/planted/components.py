"""Faults of a component: how its scores lie in its range, what is missing, what it holds of the advantage."""

from __future__ import annotations

import numpy as np

import rewardkit as rk
from planted.tables import (
    FAILS,
    OUTSIDE,
    PROMPTS,
    ROWS,
    SIBLINGS,
    Fault,
    base,
    beside,
    outcomes,
    scored,
    some,
)


def constant(name, value):
    def build(generator, size):
        parts, groups = base(generator, *size)
        return scored({**parts, name: np.full(len(groups), value)}, groups), {}

    return build


def sparse_task(generator, rate, **options):
    parts, groups = base(generator)
    correct, _ = outcomes(generator, PROMPTS, SIBLINGS, rate, 0.1)
    return scored({**parts, "correct": correct}, groups, **options), {}


def sparse_open(generator, rate):
    return sparse_task(generator, rate, ranges={"correct": None, "tidy": None})


def binary(generator, range_):
    parts, groups = base(generator)
    return scored(parts, groups, ranges={"correct": range_}), {}


def dead(generator, jitter):
    parts, groups = base(generator)
    level = generator.random(PROMPTS)[groups] * 0.9 + jitter * generator.random(len(groups))
    return scored({**parts, "level": level}, groups), {}


def dominant(generator, weight):
    parts, groups = base(generator)
    points = generator.uniform(0, 10, len(groups))
    made = scored({**parts, "points": points}, groups, weights={"points": weight}, ranges={"points": (0, 10)})
    return made, {}


def by_scale_alone(generator, scale):
    """Two of one weight, of which nothing says which is the task, on scales of their own."""
    parts, groups = base(generator)
    weights = dict.fromkeys(["correct", "tidy"], 1.0)
    made = {"correct": parts["correct"], "tidy": scale * parts["tidy"]}
    return scored(made, groups, weights=weights), {}


def outweighs(generator, spread):
    """A task with partial credit, a style that is declared .5 and hardly varies, and tags declared .3."""
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    correct = np.clip(generator.normal(0.5, 0.2, len(groups)), 0, 1)
    style = np.clip(generator.normal(0.6, spread, len(groups)), 0, 1)
    tags = (generator.random(len(groups)) < 0.6).astype(float)
    parts = {"correct": correct, "style": style, "tags": tags}
    return scored(parts, groups, weights={"tags": 0.3}), {}


def shut_gate(generator, share):
    parts, groups = base(generator)
    lucky = some(generator, len(groups), share).astype(float)
    gated = {"bonus": {"gate": rk.gate("lucky", at_least=1.0)}}
    parts["bonus"] = generator.random(len(groups))
    return scored(parts, groups, columns={"lucky": lucky}, components=gated), {}


def instead(value):
    """The second part with this value in a share of the rows."""
    return beside(lambda g, parts, share: {"tidy": np.where(some(g, ROWS, share), value, parts["tidy"])})


def rated(name):
    """A further part of 0 and 1 with such a pass rate."""
    return beside(lambda g, parts, rate: {name: outcomes(g, PROMPTS, SIBLINGS, rate)[0]})


def blurred(values, generator, noise):
    return np.clip(values + noise * generator.standard_normal(ROWS), 0, 1)


starved = beside(lambda g, parts, mean: {"tidy": g.beta(1, 1 / mean - 1, ROWS)})
saturated = beside(lambda g, parts, mean: {"tidy": 1 - g.beta(1, 1 / (1 - mean) - 1, ROWS)})
redundant = beside(
    lambda g, parts, noise: {"again": blurred(parts["tidy"], g, noise)}, weights={"again": 0.3}
)
redundant_penalty = beside(
    lambda g, parts, noise: {"untidy": blurred(1 - parts["tidy"], g, noise)}, weights={"untidy": -0.3}
)


def of_siblings(generator, weight):
    given = {"tidy": {"group": True, "weight": weight}}
    return scored(*base(generator), components=given), {}


def unrouted(generator, share):
    parts, groups = base(generator)
    source = np.where(some(generator, PROMPTS, share)[groups], "chess", "sums")
    given = scored(parts, groups, columns={"data_source": source})
    return rk.score(rk.Route("data_source", {"sums": given.reward}), given.rollouts), {}


FAULTS: dict[str, Fault] = {
    # Prompts and siblings: a batch; a first look of 48 answers. One value on all of them is no accident.
    "constant component": Fault(constant("tidy", 0.7), (100, 8), (12, 4), "constant", "tidy"),
    "constant task": Fault(constant("correct", 0.0), (100, 8), (12, 4), "constant", "correct"),
    # One completion in thirty is paid; one in seven, where most groups of eight hold none or one.
    "sparse task": Fault(sparse_task, 1 / 30, 1 / 7, "sparse", "correct"),
    "sparse task, range not declared": Fault(sparse_open, 1 / 30, 1 / 7, "sparse", "correct"),
    "sparse bonus": Fault(rated("bonus"), 1 / 30, 1 / 7, "sparse", "bonus"),
    # Of the range a hundredth is earned; a thirtieth: next to nothing to tell anyone apart by.
    "starved": Fault(starved, 0.01, 1 / 30, "starved", "tidy"),
    "saturated": Fault(saturated, 0.99, 1 - 1 / 30, "saturated", "tidy"),
    "saturated tags": Fault(rated("tagged"), 0.99, 1 - 1 / 30, "saturated", "tagged"),
    # 0 or 1 in a declared range; as a trainer's function gives it, whose range nobody declared.
    "binary": Fault(binary, (0.0, 1.0), None, "binary", "correct"),
    # A level of the prompt; with the noise of a sum in other order.
    "dead": Fault(dead, 0.0, 1e-10, "dead", "level"),
    # Points from 0 to 10 beside a task of 0 and 1: at half its weight; at a fifth (3 of 5 parts of all).
    "dominant by scale": Fault(dominant, 0.5, 0.2, "dominant", "points"),
    # One weight each, and one of them on a scale of a twentieth (99.9 to .1 of the advantage); of a third.
    "ninety-nine to one": Fault(by_scale_alone, 0.05, 0.33, "dominant", "correct"),
    # Tags declared .3 against a style declared .5 that hardly varies; that varies half as much as tags.
    "outweighs": Fault(outweighs, 0.05, 0.15, "dominant", "tags"),
    # The same measure twice, to the second digit; a judge asked twice (correlation .95).
    "redundant": Fault(redundant, 0.01, 0.066, "redundant", "again"),
    "redundant penalty": Fault(redundant_penalty, 0.01, 0.066, "redundant", "untidy"),
    # Open for one answer in a hundred; in fifty.
    "shut gate": Fault(shut_gate, 0.01, 0.02, "gate_rarely_open", "bonus"),
    # Rows without a score: a third; one in thirty, which is 24 of 800 and no rounding error.
    "abstentions": Fault(instead(np.nan), 1 / 3, 1 / 30, "abstentions", "tidy"),
    "errors": Fault(instead(FAILS), 1 / 3, 1 / 30, "errors", "tidy"),
    "out of range": Fault(instead(OUTSIDE), 1 / 3, 1 / 30, "out_of_range", "tidy"),
    # Paid for; recorded only.
    "of siblings": Fault(of_siblings, 0.5, 0.0, "of_siblings", "tidy"),
    "a source without a reward": Fault(unrouted, 1 / 3, 1 / 30, "abstentions", None),
}
