"""Plots of forecasts and of suggestions: what is drawn is what the record says."""

from dataclasses import replace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text
from plotted import LONG, arithmetic_with_label, table_of, twelve

import rewardkit as rk
from rewardkit.analysis.forecast import LIMITS
from rewardkit.notebook import plots

matplotlib.use("agg")


@pytest.fixture(scope="module")
def scores():
    return rk.score(rk.load_reward("gallery:arithmetic"), arithmetic_with_label())


@pytest.fixture(scope="module")
def expected(scores):
    return rk.forecast(scores, label="is_right")


@pytest.fixture(scope="module")
def advice(scores):
    return rk.suggest(rk.diagnose(scores, label="is_right"))


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def words(ax):
    return "\n".join(item.get_text() for item in ax.findobj(Text))


def named(lines, start):
    return next(line for line in lines if str(line.get_label()).startswith(start))


@pytest.mark.parametrize("figure", ["reward", "label", "score/correct", "words"])
def test_the_curves_and_their_bands_are_those_of_the_record(expected, figure):
    (ax,) = plots.forecast_curves(expected, figures=[figure])
    for view, start, band in ((expected.best_of, "best of n", 0), (expected.tilted, "tilted", 1)):
        curve, line = view.curves[figure], named(ax.lines, start)
        np.testing.assert_allclose(line.get_xdata(), view.kl)
        np.testing.assert_allclose(line.get_ydata(), curve.value)
        edges = {tuple(point) for point in ax.collections[band].get_paths()[0].vertices.round(9)}
        for end in (curve.low, curve.high):
            assert {(x, y) for x, y in zip(view.kl.round(9), end.round(9), strict=True)} <= edges


def test_by_default_there_is_a_plot_of_each_figure_that_moves_and_the_others_are_told(scores):
    flawed = rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")
    drawn = plots.forecast_curves(rk.forecast(flawed))
    assert [ax.get_title(loc="left") for ax in drawn] == ["reward", "correct", "detail", "words"]
    below = drawn[0].figure.get_supxlabel()
    assert "not drawn: format 1, closed 1, steps 0" in below


def test_the_limits_are_printed_under_the_curves(expected):
    drawn = plots.forecast_curves(expected)
    below = " ".join(drawn[0].figure.get_supxlabel().split())
    assert all(limit in below for limit in LIMITS)
    assert drawn[1].get_title(loc="left") == "label 'is_right'"


def test_a_figure_that_not_every_pick_has_says_of_how_many_it_is(expected):
    (ax,) = plots.forecast_curves(expected, figures=["score/concise"])
    share = expected.best_of.curves["score/concise"].known[-1]
    assert f"of the {share:.0%} that have it at the end".replace("%", " %") in ax.get_xlabel()


def test_a_figure_that_is_not_there_is_one_clear_sentence(expected):
    with pytest.raises(rk.InputError, match=r"no figure 'word'; it has .*did you mean 'words'\?"):
        plots.forecast_curves(expected, figures=["word"])


@pytest.mark.parametrize(
    ("values", "groups", "said"),
    [
        pytest.param([np.nan] * 4, [0, 0, 1, 1], "4 of 4 rows have no reward", id="nothing judged"),
        pytest.param([0.0, 1.0], [0, 1], "no group has two completions", id="groups of one"),
    ],
)
def test_where_nothing_can_be_forecast_the_axes_say_why(values, groups, said):
    (ax,) = plots.forecast_curves(rk.forecast(table_of({"x": values}, groups)))
    assert said in words(ax).replace("\n", " ") and not ax.lines
    ax.figure.canvas.draw()


def test_scores_that_no_axis_can_hold_are_told_in_words():
    scores = table_of({"x": [0.0, 1.0, 0.0, 1.0], "far": [1.7e308, -1.7e308, 1e300, 0.0]}, [0, 0, 1, 1])
    paid = scores.reweigh({"far": 0.0})
    (ax,) = plots.forecast_curves(rk.forecast(paid), figures=["score/far"])
    assert "too far apart for a scale" in words(ax).replace("\n", " ")
    ax.figure.canvas.draw()


def test_too_few_axes_are_one_clear_sentence(expected):
    _, ax = plt.subplots()
    with pytest.raises(rk.InputError, match="1 axes for 2 plots; give more, or none"):
        plots.forecast_curves(expected, figures=["reward", "words"], axes=ax)


def test_twelve_components_and_three_rollouts_have_curves_that_can_be_drawn():
    for scores in (twelve(), table_of({LONG: [0.0, 1.0, 0.5]}, [0, 0, 0])):
        drawn = plots.forecast_curves(rk.forecast(scores))
        drawn[0].figure.canvas.draw()  # warnings are errors
        assert any(LONG in ax.get_title(loc="left").replace("\n", "") for ax in drawn)


def test_before_and_after_are_the_effects_with_their_intervals(advice):
    item = next(item for item in advice.changes if item.code == "graduate")
    ax = plots.before_and_after(item)
    shown = [
        effect
        for effect in item.effects
        if effect.figure != "effective_weight" or abs(effect.difference) >= 0.02
    ]
    assert [line.get_xdata().tolist() for line in ax.lines if len(line.get_xdata()) == len(shown)][:2] == [
        pytest.approx([effect.before for effect in shown]),
        pytest.approx([effect.after for effect in shown]),
    ]
    for lines, when in zip(ax.collections, ("before", "after"), strict=True):
        drawn = [segment[:, 0].tolist() for segment in lines.get_segments()]
        assert drawn == [pytest.approx(getattr(effect, f"{when}_interval")) for effect in shown]
    told = words(ax)
    for effect in shown:
        low, high = (100 * end for end in effect.interval)
        assert f"{100 * effect.difference:+.1f} ({low:.1f} to {high:.1f})" in told
    assert "effective weight of close" in told and item.line in told and "unclear" in told


def test_a_long_line_of_code_is_cut_and_the_title_stays_in_the_figure(advice):
    item = replace(advice.changes[0], line="replace(" + "x" * 500 + ")", component="$a$ and $b$")
    ax = plots.before_and_after(item)
    ax.figure.canvas.draw()
    title = ax.get_title(loc="left")
    assert title.endswith(" ...") and "$a$ and $b$" in title
    assert ax._left_title.get_window_extent().x1 <= ax.figure.bbox.x1


def test_a_suggestion_whose_effects_cannot_be_told_says_so(advice):
    ax = plots.before_and_after(replace(advice.changes[0], effects=()))
    assert "nothing that it changes can be measured" in words(ax).replace("\n", " ")


def test_ranked_changes_are_drawn_first_and_none_that_harms(advice):
    moving, *_ = advice.changes
    first = replace(moving, rank=1, verdict="improves", effects=moving.effects[:1])
    harmful = replace(moving, verdict="harms", code="remove_component")
    still = replace(
        moving, code="looser_reading", effects=tuple(replace(e, difference=0.0) for e in moving.effects)
    )
    drawn = plots.top_changes(replace(advice, changes=(first, still, moving, harmful)))
    assert [ax.get_title(loc="left").splitlines()[0] for ax in drawn] == [
        "1. graduate of correct, improves",
        "graduate of correct, unclear",
    ]
    assert len(plots.top_changes(replace(advice, changes=(moving,) * 5), most=2)) == 2
    assert plots.top_changes(replace(advice, changes=())) == []


def test_they_are_drawn_into_the_axes_they_are_given(advice, expected):
    _, ax = plt.subplots()
    assert plots.before_and_after(advice.changes[0], ax=ax) is ax
    _, grid = plt.subplots(2, 1)
    assert plots.forecast_curves(expected, figures=["reward", "words"], axes=grid) == list(grid)
