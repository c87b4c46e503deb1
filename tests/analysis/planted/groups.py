"""Faults of the reward as a whole: groups without a signal, and where its spread lies."""

from __future__ import annotations

import numpy as np

from planted.tables import PROMPTS, SIBLINGS, Fault, base, lengths, scored, some


def constant_reward(generator, graded):
    parts, groups = base(generator)
    first = parts["tidy"] if graded else parts["correct"]
    return scored({"said": first, "unsaid": 1 - first}, groups, weights={"said": 0.3, "unsaid": 0.3}), {}


def clustered(generator, share):
    rows = PROMPTS * SIBLINGS
    grade = np.where(some(generator, rows, share), 0.7, generator.integers(0, 11, rows) / 10)
    return scored({"grade": grade}, np.repeat(np.arange(PROMPTS), SIBLINGS)), {}


def collapsed(generator, same):
    parts, groups = base(generator)
    place = np.arange(len(groups))
    first = place % SIBLINGS < same
    told = np.where(first, groups * SIBLINGS, place)  # the row whose text and scores it has
    texts = [f"answer {row} ".ljust(int(lengths(groups)[row]), "x") for row in told]
    return scored({name: values[told] for name, values in parts.items()}, groups,
                  columns={"completion": texts}), {}  # fmt: skip


def outliers(generator, deviations):
    parts, groups = base(generator)
    words = generator.normal(100, 10, len(groups))
    words[some(generator, len(groups), 0.005)] = 100 + 10 * deviations
    return scored({**parts, "words": words}, groups, weights={"words": 0.005}, ranges={"words": None}), {}


def _decided(generator, prompts, share):
    """0/1 outcomes of which this share of the prompts is all right or all wrong, half each."""
    decided = some(generator, prompts, share)
    rates = np.where(decided, (generator.random(prompts) < 0.5).astype(float), 0.5)
    outcome_ = generator.random((prompts, SIBLINGS)) < rates[:, None]
    outcome_[:, 0] ^= ~decided & (outcome_.min(axis=1) == outcome_.max(axis=1))  # the others are never tied
    return outcome_.ravel().astype(float)


def decided_prompts(generator, share):
    correct = _decided(generator, PROMPTS, share)
    return scored({"correct": correct}, np.repeat(np.arange(PROMPTS), SIBLINGS)), {}


def tied_grades(generator, share):
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    grade = generator.integers(2, 9, len(groups)) / 10
    tied = some(generator, PROMPTS, share)[groups]
    return scored({"grade": np.where(tied, grade[groups * SIBLINGS], grade)}, groups), {}


def decided_source(generator, share):
    """One of five data sources, 40 prompts each."""
    each = [_decided(generator, 40, share if place == 4 else 0.1) for place in range(5)]
    groups = np.repeat(np.arange(200), SIBLINGS)
    source = np.array(["sums", "words", "plots", "codes", "proofs"])[groups // 40]
    return scored({"correct": np.concatenate(each)}, groups, columns={"data_source": source}), {}


def opposed(generator, share):
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    brief, full = generator.random((2, len(groups)))
    full = np.where(some(generator, PROMPTS, share)[groups], 1 - np.round(brief), full)
    brief = np.where(full == np.round(full), 1 - full, brief)
    return scored({"brief": brief, "full": full}, groups, weights={"brief": 1.0, "full": 1.0}), {}


def wide_groups(generator, factor):
    parts, groups = base(generator)
    wide = some(generator, PROMPTS, 0.1)[groups]
    points = parts["tidy"] * np.where(wide, factor, 1.0)
    made = scored({"points": points}, groups, ranges={"points": None})
    return made, {"training": {"scale_rewards": "none"}}


def tiny_groups(generator, strength):
    share, size = strength
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    grade = generator.beta(2, 2, len(groups))
    tiny = some(generator, PROMPTS, share)[groups]
    return scored({"grade": np.where(tiny, 0.5 + size * (grade - 0.5), grade)}, groups), {}


def two_kinds(generator, apart):
    """Half of the prompts earn so much more than the others; prompts of a kind and siblings vary a little."""
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    middle = 0.5 + apart * (some(generator, PROMPTS, 0.5) - 0.5) + generator.normal(0, 0.05, PROMPTS)
    grade = np.clip(middle[groups] + generator.normal(0, 0.1, len(groups)), 0, 1)
    return scored({"grade": grade}, groups), {}


FAULTS: dict[str, Fault] = {
    # x and 1 - x at one weight, of 0 and 1; graded, where the sum is equal up to its last digit only.
    "constant reward": Fault(constant_reward, False, True, "opposed", None),
    # A judge that gives 7 of 10 to nineteen answers in twenty; to nine in ten.
    "clustered": Fault(clustered, 0.95, 0.9, "clustered", None),
    # Eight siblings of which seven say the same; of which five do, more than half.
    "collapsed outputs": Fault(collapsed, 7, 5, "collapsed_outputs", None),
    # Four counts of 800 that lie fifty deviations out; eight, which a normal count never does.
    "outliers": Fault(outliers, 50, 8, "outliers", "words"),
    # Prompts that the policy always or never solves: four in five; every second one, twice the compute.
    "all right or all wrong": Fault(decided_prompts, 0.8, 0.5, "zero_std_groups", None),
    "grades tied": Fault(tied_grades, 0.8, 0.5, "zero_std_groups", None),
    "all right or all wrong in a source": Fault(
        decided_source, 0.9, 0.6, "zero_std_groups", None, "data_source=proofs"
    ),
    # Three groups in ten where what one pays the other takes; one in ten, lost without a trace in the mean.
    "opposed": Fault(opposed, 0.3, 0.1, "opposed", None),
    # A tenth of the prompts whose points run to 40 where the others' run to 1; to 15.
    "wide groups": Fault(wide_groups, 40, 15, "high_variance", None),
    # Prompts that earn .2 and others that earn .8; .35 and .65, six times what those of one kind vary.
    "two kinds of prompts": Fault(two_kinds, 0.6, 0.3, "bimodal", None),
    # A fifth of the groups that differ by a thousandth of the usual; a tenth that differ by a thirtieth.
    "tiny differences in most groups": Fault(
        tiny_groups, (0.5, 0.001), (2 / 3, 0.003), "amplified_noise", None
    ),
    "tiny differences everywhere": Fault(tiny_groups, (1.0, 0.0003), (1.0, 0.001), "amplified_noise", None),
    "tiny differences": Fault(tiny_groups, (0.2, 0.001), (0.1, 1 / 30), "amplified_noise", None),
}
