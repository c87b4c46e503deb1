"""Scores and rollouts that the tests of plots and pages draw."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

import rewardkit as rk

HOSTILE_NAME = "$x$ <b>bold</b> $y_1$\n\u202e\ud800"
LONG = "negative_length_in_characters_compared_with_the_shortest_sibling"


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def title(ax):
    """The title as a person reads it, in one line."""
    return ax.get_title(loc="left").replace("_\n", "_").replace("\n", " ")


def words(ax):
    """All that is written in the axes."""
    return "\n".join(item.get_text() for item in ax.findobj(Text))


def unreadable(*drawn):
    """The texts of these axes that are cut by the edge of the figure, or lie on each other."""
    for figure in {ax.figure for ax in drawn}:
        figure.canvas.draw()  # warnings are errors
    return [found for ax in drawn for found in _cut_or_covered(ax)]


def _cut_or_covered(ax):
    spans = ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim())))
    beyond = {
        tick.label1
        for axis, (low, high) in spans
        for tick in axis.get_major_ticks()
        if not low <= tick.get_loc() <= high
    }
    shown = [
        item
        for item in ax.findobj(Text)
        if item.get_text().strip() and item not in beyond
    ]
    boxes = [
        (item.get_text(), item.get_window_extent().padded(-1))
        for item in shown
        if item.get_visible()
    ]
    edge = ax.figure.bbox
    cut = [
        text
        for text, box in boxes
        if box.x0 < 0 or box.y0 < 0 or box.x1 > edge.x1 or box.y1 > edge.y1
    ]
    return cut + [
        (a, b)
        for (a, one), (b, two) in itertools.combinations(boxes, 2)
        if one.overlaps(two)
    ]


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
    names = [
        "correct",
        LONG,
        *(f"component_{n}" for n in range(8)),
        "constant",
        "missing",
    ]
    columns = {
        name: generator.integers(0, 2 + n, groups * size) / (1 + n)
        for n, name in enumerate(names)
    }
    columns["constant"] = np.full(groups * size, 0.5)
    columns["missing"] = np.full(groups * size, np.nan)
    return table_of(columns, np.repeat(np.arange(groups), size), on_missing="skip")


def arithmetic_with_label(flipped=0.05):
    """The bundled rollouts with a column `is_right`, wrong in so many rows."""
    rollouts = rk.load_rollouts("gallery:arithmetic")
    task = rk.Component("c", rk.verify.numbers_equal)
    right = rk.score(
        rk.Reward("task", {"prediction": rk.extract.number()}, [task]), rollouts
    ).score("c")
    right, table = np.nan_to_num(right), rollouts.table.copy()
    turned = np.random.default_rng(0).random(len(table)) < flipped
    table["is_right"] = np.where(turned, 1 - right, right).astype(int)
    return rk.load_rollouts(table)
