"""Plots of runs: lines, bands and since when are those of the monitor."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from plotted import LONG, closed_figures, title, unreadable, words  # noqa: F401

import rewardkit as rk
from rewardkit.notebook import plots

pytestmark = pytest.mark.integration

matplotlib.use("agg")


@pytest.fixture(scope="module")
def collapsed():
    return rk.monitor("gallery:brevity")


def watched(scores, steps):
    """A run of these scores, of one component with a long name, four siblings a step."""
    rows = pd.DataFrame(
        {
            "prompt": "p",
            "completion": [f"text {row}" for row in range(len(scores))],
            "step": steps,
            LONG: scores,
        }
    )
    log = rk.load_rollouts(rows)
    return rk.monitor(rk.score(rk.recorded(log, {LONG: 1.0}), log))


def dotted(ax):
    """The steps at which a line stands from top to bottom."""
    lines = [line for line in ax.lines if line.get_linestyle() == ":"]
    return [line.get_xdata()[0] for line in lines]


def test_each_line_and_its_band_are_the_means_of_the_monitor(collapsed):
    drawn = plots.monitor(collapsed)
    table = collapsed.table
    assert [title(ax).split(":")[0] for ax in drawn] == [
        "The reward",
        "The task (right answers)",
        "'exact'",
        "'short'",
        "Groups without a signal",
        "The length in characters",
    ]
    rows = table[table["figure"] == "short"]
    middles = (rows["first_step"] + rows["last_step"]) / 2
    line = drawn[3].lines[0].get_xydata()
    np.testing.assert_allclose(line, np.column_stack([middles, rows["mean"]]))
    edges = drawn[3].collections[0].get_paths()[0].vertices
    at_start = edges[edges[:, 0] == middles.iloc[0], 1]
    first = rows.iloc[0]
    assert at_start.min() == pytest.approx(first["mean"] - 2 * first["error"])
    assert at_start.max() == pytest.approx(first["mean"] + 2 * first["error"])
    assert title(drawn[3]) == "'short': 0.585 to 1"
    assert unreadable(*drawn) == []


def test_lines_stand_where_alarms_begin_and_a_sound_run_has_none(collapsed):
    steps = sorted({alarm.evidence["since"] for alarm in collapsed.alarms})
    drawn = plots.monitor(collapsed)
    assert steps and all(dotted(ax) == steps for ax in drawn)
    assert "since when an alarm holds" in drawn[0].figure.get_supxlabel()
    sound = rk.monitor("data/training/runs/sums-hard-exact-3e-4-0.completions.parquet")
    drawn = plots.monitor(sound)
    assert sound.alarms == () and drawn
    assert not any(dotted(ax) for ax in drawn)
    assert "alarm" not in drawn[0].figure.get_supxlabel()


def test_a_window_without_a_score_is_a_gap_and_a_long_name_can_be_read():
    scores = np.tile([0.0, 1.0, 0.5, 0.5], 5)
    scores[8:12] = np.nan
    drawn = plots.monitor(watched(scores, np.arange(20) // 4))
    heights = drawn[0].lines[0].get_ydata()
    assert np.isnan(heights).tolist() == [False, False, True, False, False]
    assert any(LONG[1:] in title(ax) for ax in drawn)
    assert unreadable(*drawn) == []


def test_a_figure_without_any_value_says_so():
    rows = pd.DataFrame({"prompt": "p", "completion": "x", "step": [1, 1, 2, 2]})
    silent = rk.Reward("r", components=[rk.Component("c", lambda completion: None)])
    drawn = plots.monitor(rk.monitor(rk.score(silent, rk.load_rollouts(rows))))
    assert "no value at any step" in words(drawn[0])
    assert unreadable(*drawn) == []


def test_they_are_drawn_into_the_axes_they_are_given(collapsed):
    _, grid = plt.subplots(2, 3)
    assert plots.monitor(collapsed, axes=grid) == list(grid.flat)
    with pytest.raises(rk.InputError, match="1 axes for 6 plots; give more, or none"):
        plots.monitor(collapsed, axes=plt.subplots()[1])
