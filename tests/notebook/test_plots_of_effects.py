"""Plots of forecasts and of suggestions: titles and what is drawn are what the record says."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from plotted import LONG, closed_figures, table_of, title, twelve, unreadable, words  # noqa: F401

import rewardkit as rk
from rewardkit.notebook import plots

pytestmark = pytest.mark.integration

matplotlib.use("agg")


@pytest.mark.parametrize("figure", ["reward", "label", "score/correct", "words"])
def test_the_curves_and_their_bands_are_those_of_the_record(expected, figure):
    (ax,) = plots.forecast_curves(expected, figures=[figure])
    for nth, view in enumerate((expected.best_of, expected.tilted)):
        curve, line = view.curves[figure], ax.lines[nth]
        np.testing.assert_allclose(
            line.get_xydata(), np.column_stack([view.kl, curve.value])
        )
        edges = {
            tuple(point)
            for point in ax.collections[nth].get_paths()[0].vertices.round(9)
        }
        for end in (curve.low, curve.high):
            assert {
                (x, y) for x, y in zip(view.kl.round(9), end.round(9), strict=True)
            } <= edges
    assert {item.get_text() for item in ax.texts} == {"best of n", "tilted"}


def test_by_default_each_figure_that_moves_says_how_and_the_others_are_told_below(
    expected,
):
    assert [title(ax) for ax in plots.forecast_curves(expected)][:3] == [
        "The reward rises from 0.37 to 0.79 in the best of 8",
        "The label 'is_right' rises from 0.2 to 0.52 in the best of 8",
        "'correct' rises from 0.17 to 0.54 in the best of 8",
    ]
    flawed = rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")
    drawn = plots.forecast_curves(rk.forecast(flawed))
    heads = [title(ax).split(" rises")[0] for ax in drawn]
    assert heads == ["The reward", "'correct'", "'detail'", "The length in words"]
    below = " ".join(drawn[0].figure.get_supxlabel().split())
    assert "not drawn: format 1, closed 1, steps 0" in below


def test_what_may_be_chance_is_not_said_to_move():
    values = np.random.default_rng(0).random((2, 40))
    found = rk.forecast(
        table_of(
            {"x": values[0], "y": values[1]}, np.arange(40) // 4, weights={"y": 0.0}
        )
    )
    assert title(plots.forecast_curves(found, figures=["score/y"])[0]).startswith(
        "'y' does not clearly move from"
    )


def test_what_cannot_be_drawn_is_one_clear_sentence(expected):
    with pytest.raises(
        rk.InputError, match=r"no figure 'word'; it has .*did you mean 'words'\?"
    ):
        plots.forecast_curves(expected, figures=["word"])
    with pytest.raises(rk.InputError, match="1 axes for 2 plots; give more, or none"):
        plots.forecast_curves(
            expected, figures=["reward", "words"], axes=plt.subplots()[1]
        )


@pytest.mark.parametrize(
    ("values", "groups", "figures", "said"),
    [
        ([np.nan] * 4, [0, 0, 1, 1], None, "4 of 4 rows have no reward"),
        ([0.0, 1.0], [0, 1], None, "no group has two completions"),
        (
            [1.7e308, -1.7e308, 1e300, 0.0],
            [0, 0, 1, 1],
            ["score/far"],
            "too far apart for a scale",
        ),
    ],
)
def test_where_nothing_can_be_forecast_or_drawn_the_axes_say_why(
    values, groups, figures, said
):
    columns = {"far": values} | ({"x": [0.0, 1.0, 0.0, 1.0]} if figures else {})
    found = rk.forecast(
        table_of(columns, groups, weights={"far": 0.0} if figures else None)
    )
    (ax,) = plots.forecast_curves(found, figures=figures)
    assert said in words(ax).replace("\n", " ") and not ax.lines and not unreadable(ax)


@pytest.mark.parametrize(
    "make",
    [twelve, lambda: table_of({"n" * 80: [0.0, 1.0, 0.5], LONG: [1, 0, 0]}, [0] * 3)],
)
def test_curves_of_many_and_of_long_names_can_be_read(make):
    drawn = plots.forecast_curves(rk.forecast(make()))
    assert any(LONG in title(ax) for ax in drawn) and unreadable(*drawn) == []


def test_they_are_drawn_into_the_axes_they_are_given(expected):
    _, grid = plt.subplots(2, 1)
    assert plots.forecast_curves(
        expected, figures=["reward", "words"], axes=grid
    ) == list(grid)
