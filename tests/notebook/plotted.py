"""Scores and rollouts that the tests of plots and pages draw."""

import numpy as np

import rewardkit as rk

HOSTILE_NAME = "$x$ <b>bold</b> $y_1$\n\u202e\ud800"
LONG = "negative_length_in_characters_compared_with_the_shortest_sibling"


def table_of(columns, groups, *, weights=None, name="made", **options):
    """Scores in which each component is the given column, NaN where it abstains; one prompt a group."""
    rows = [
        {"prompt_id": f"p{group}", "completion": "word " * (1 + row % 5)}
        | {
            f"given_{key}": None if np.isnan(values[row]) else float(values[row])
            for key, values in columns.items()
        }
        for row, group in enumerate(groups)
    ]
    components = [
        rk.Component(
            key,
            lambda given: given,
            weight=(weights or {}).get(key, 1.0),
            columns={"given": f"given_{key}"},
            range=None,
        )
        for key in columns
    ]
    return rk.score(rk.Reward(name, components=components, **options), rows)


def twelve(groups=40, size=4):
    """Twelve components, one with a long name, one constant, one that abstains everywhere."""
    generator = np.random.default_rng(1)
    names = ["correct", LONG, *(f"component_{n}" for n in range(8)), "constant", "missing"]
    columns = {name: generator.integers(0, 2 + n, groups * size) / (1 + n) for n, name in enumerate(names)}
    columns["constant"] = np.full(groups * size, 0.5)
    columns["missing"] = np.full(groups * size, np.nan)
    return table_of(columns, np.repeat(np.arange(groups), size), on_missing="skip")


def arithmetic_with_label(flipped=0.05):
    """The bundled rollouts with a column `is_right`, wrong in so many rows."""
    rollouts = rk.load_rollouts("gallery:arithmetic")
    task = rk.Component("c", rk.verify.numbers_equal)
    right = rk.score(rk.Reward("task", {"prediction": rk.extract.number()}, [task]), rollouts).score("c")
    right, table = np.nan_to_num(right), rollouts.table.copy()
    turned = np.random.default_rng(0).random(len(table)) < flipped
    table["is_right"] = np.where(turned, 1 - right, right).astype(int)
    return rk.load_rollouts(table)
