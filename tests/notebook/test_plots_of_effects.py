"""Plots of forecasts: titles and what is drawn are what the record says."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from plotted import LONG, closed_figures, table_of, title, twelve, unreadable, words  # noqa: F401

import rewardkit as rk
from rewardkit.notebook import plots

pytestmark = pytest.mark.integration

matplotlib.use("agg")


@pytest.mark.parametrize("figure", ["task", "reward", "score/correct", "characters"])
def test_the_curves_and_their_bands_are_those_of_the_record(expected, figure):
    (ax,) = plots.forecast_curves(expected, figures=[figure])
    for nth, pace in enumerate(("gentle", "fast")):
        curve, line = expected.curves[pace, figure], ax.lines[nth]
        steps = np.arange(0, 160, 5)
        np.testing.assert_allclose(
            line.get_xydata(), np.column_stack([steps, curve.middle[steps]])
        )
        edges = ax.collections[nth].get_paths()[0].vertices
        for step in (0, 155):
            at_step = edges[edges[:, 0] == step, 1]
            assert at_step.min() == pytest.approx(curve.low[step])
            assert at_step.max() == pytest.approx(curve.high[step])
    assert {item.get_text() for item in ax.texts} == {"gentle", "fast"}


def test_each_figure_has_a_plot_whose_title_says_where_it_goes(expected):
    drawn = plots.forecast_curves(expected)
    heads = [title(ax).split(":")[0] for ax in drawn]
    assert heads[:3] == ["The task", "The reward", "Correct"]
    assert "The length" in heads and len(heads) == len(set(heads))
    end = expected.curves["gentle", "task"].end
    start = np.mean(expected.scores.rollouts.table["is_right"])
    assert title(drawn[0]).startswith(f"The task: {start:.3g} to {end:.3g}")
    assert "medians of the learners" in drawn[0].figure.get_supxlabel()
    assert unreadable(*drawn) == []


def test_a_real_training_is_drawn_over_the_forecast_of_what_its_log_has(expected):
    steps = np.arange(100)
    actual = pd.DataFrame({"step": steps, "task": np.where(steps < 50, 0.0, 1.0)})
    task, reward = plots.forecast_curves(
        expected, figures=["task", "reward"], actual=actual
    )
    line = task.lines[2].get_xydata()
    assert line[[0, 49, 53, 99]].tolist() == [[0, 0], [49, 0], [53, 0.5], [99, 1]]
    assert "training" in {item.get_text() for item in task.texts}
    assert "training" not in {item.get_text() for item in reward.texts}
    assert "means of 8 steps" in task.figure.get_supxlabel()


def test_what_cannot_be_drawn_is_one_clear_sentence(expected):
    with pytest.raises(
        rk.InputError, match=r"no figure 'tusk'; it has .*did you mean 'task'\?"
    ):
        plots.forecast_curves(expected, figures=["tusk"])
    with pytest.raises(rk.InputError, match="1 axes for 2 plots; give more, or none"):
        plots.forecast_curves(
            expected, figures=["reward", "task"], axes=plt.subplots()[1]
        )


@pytest.mark.parametrize(
    ("values", "groups"), [([np.nan] * 4, [0, 0, 1, 1]), ([0.0, 1.0], [0, 1])]
)
def test_where_nothing_can_be_forecast_the_axes_say_why(values, groups):
    found = rk.forecast(table_of({"x": values}, groups))
    (ax,) = plots.forecast_curves(found)
    said = words(ax).replace("\n", " ")
    assert "no group has two completions" in said and not ax.lines
    assert not unreadable(ax)


def test_curves_of_many_and_of_long_names_can_be_read():
    drawn = plots.forecast_curves(rk.forecast(twelve()))
    heads = [title(ax) for ax in drawn]
    assert any(LONG[1:] in head for head in heads) and unreadable(*drawn) == []


def test_they_are_drawn_into_the_axes_they_are_given(expected):
    _, grid = plt.subplots(2, 1)
    figures = ["reward", "task"]
    assert plots.forecast_curves(expected, figures=figures, axes=grid) == list(grid)
