"""Plots of rewards, groups, components: titles are true to the data, and so is what is drawn."""

import io
import re
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text
from plotted import (
    HOSTILE_NAME,
    LONG,
    closed_figures,  # noqa: F401
    table_of,
    title,
    twelve,
    unreadable,
    words,
)

import rewardkit as rk
from rewardkit.notebook import plots
from rewardkit.notebook.plots.canvas import escape_text
from rewardkit.notebook.report_pages import THEME

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("short_rehearsals")]

matplotlib.use("agg")

NAN, INF = np.nan, np.inf
RANDOM = np.random.default_rng(0).random(900)
PAIRS = [0, 0, 1, 1]  # two groups of two


def view_of(columns, groups=PAIRS):
    return rk.diagnose(
        table_of(columns, groups, weights={"b": 3.0, "recorded": 0.0}), by=[]
    ).views[0]


OF_A_VIEW = {
    "weights": plots.effective_weights,
}
OF_A_DIAGNOSIS = (
    lambda found, ax=None: plots.reward_histogram(found.scores, ax=ax),
    plots.over_steps,
)


def drawn_of(scores):
    """Every plot of the module, of these scores."""
    found = rk.diagnose(scores)
    return [
        *(draw(found) for draw in OF_A_DIAGNOSIS),
        *plots.component_histograms(found),
        *plots.all_effective_weights(found),
    ]


# --- titles


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 0, 1], "75 % score 0"),
        ([0, 0, 0, 1, NAN], "75 % of 4 score 0 (1 not scored)"),
        ([INF, 1, 1, NAN], "all of 2 score 1 (1 not scored, 1 infinite)"),
        ([0.5] * 3, "all score 0.5"),
        ([0.5], "one completion scores 0.5"),
        ([0] * 999 + [1], "over 99 % score 0"),
        (np.arange(101) / 100, "half score 0.25 to 0.75"),
        ([NAN, NAN], ""),
    ],
)
def test_a_histogram_says_what_most_score(values, expected):
    ax = plots.distribution(np.array(values, dtype=float), label="x")
    assert title(ax) == expected[:1].upper() + expected[1:]


UP, TIED = [0, 1, 0, 1], [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("plot", "columns", "groups", "expected"),
    [
        ("weights", {"a": UP}, PAIRS, "'a' alone is paid"),
        (
            "weights",
            {"a": UP, "b": TIED},
            PAIRS,
            "'a' holds 100 % of the advantage with 25 % of the weight",
        ),
        (
            "weights",
            {"a": UP, "b": UP},
            PAIRS,
            "Each component holds about what its weight says",
        ),
        (
            "weights",
            {"a": TIED},
            PAIRS,
            "No group has a signal: who holds the advantage is not known",
        ),
    ],
)
def test_a_plot_of_a_view_says_its_result(plot, columns, groups, expected):
    view = view_of(
        {name: np.array(values, dtype=float) for name, values in columns.items()},
        groups,
    )
    assert title(OF_A_VIEW[plot](view)) == expected


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (1.0, "rises from 0.38 to 1.4"),
        (-0.25, "falls from 0.38 to 0.12"),
        (0.0, "stays at 0.375"),
    ],
)
def test_the_steps_say_from_where_to_where_it_goes(last, expected, monkeypatch):
    rows = [
        {
            "prompt_id": f"p{at // 4}",
            "completion": "x",
            "step": at // 8,
            "given": at % 4 / 4 + last * (at > 15),
        }
        for at in range(32)
    ]
    reward = rk.Reward(
        "r", components=[rk.Component("c", lambda given: given, range=(-1.0, 2.0))]
    )
    diagnosis = rk.diagnose(rk.score(reward, rows))
    ax = plots.over_steps(diagnosis, "c")
    assert title(ax) == f"'c' {expected} over steps 0 to 3"
    ends = [[0, 0.375], [1, 0.375], [2, 0.375 + last], [3, 0.375 + last]]
    np.testing.assert_allclose(ax.lines[0].get_xydata(), ends)
    assert len(ax.collections) == 2 and {item.get_text() for item in ax.texts} == {
        "mean",
        "median",
    }
    monkeypatch.setattr("rewardkit.notebook.plots.curves.MOST_STEPS_DRAWN", 2)
    for few in (plots.over_steps(diagnosis, "c"), plots.all_over_steps(diagnosis)[1]):
        assert few.get_xlabel().startswith("step, the last 2 together")
        np.testing.assert_allclose(few.lines[0].get_xydata(), [ends[1], ends[3]])


@pytest.mark.parametrize(
    ("values", "intervals", "expected"),
    [
        (
            (0.1, 0.6),
            ((0.0, 0.2), (0.4, 0.8)),
            "cases called 'good' have label 0.6, not 1",
        ),
        ((0.1, 0.9), ((0.0, 0.2), (0.8, 1.0)), "no level is clearly off its labels"),
        ((0.1, 0.6), ((NAN, NAN), (NAN, NAN)), "no level is clearly off its labels"),
    ],
)
def test_the_calibration_says_which_level_is_off(values, intervals, expected):
    rows = zip(("poor", "good"), (0.0, 1.0), values, intervals, (9, 9), strict=True)
    levels = [
        dict(zip(("level", "score", "value", "interval", "n"), row, strict=True))
        for row in rows
    ]
    ax = plots.judge_calibration(SimpleNamespace(judge="j", calibration=levels))
    assert title(ax) == f"'j': {expected}" and not unreadable(ax)


# --- what is drawn


def test_what_was_not_drawn_apart_is_in_bins_and_what_recurs_has_its_share():
    ax = plots.distribution(np.array([0.0, 0.0, 0.0, 1.0, NAN]), label="x")
    bars = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in ax.patches}
    assert bars == pytest.approx({0.0: 3, 1.0: 1}) and words(ax).split("\n")[:2] == [
        "75 %",
        "25 %",
    ]
    ax = plots.distribution(RANDOM, label="x")
    assert sum(bar.get_height() for bar in ax.patches) == 900 and not ax.texts
    ax = plots.distribution(np.repeat(np.arange(101) / 100, 3), label="x")
    assert [bar.get_height() for bar in ax.patches] == [
        3
    ] * 101  # bins would hold 3 here and 6 there
    ax = plots.distribution(np.append(RANDOM, np.full(100, 0.25)), label="x")
    *bins, own = (bar.get_height() for bar in ax.patches)
    assert (sum(bins), own, [item.get_text() for item in ax.texts]) == (
        900,
        100,
        ["10 %"],
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], "no completions"),
        ([NAN], "nothing scored"),
        ([INF], "1 infinite"),
        ([1e308, -1e308], "too far"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_words(values, said):
    ax = plots.distribution(np.array(values, dtype=float), label="x", span=(0.0, 1.0))
    assert said in words(ax) and not ax.patches and not unreadable(ax)


def test_scores_that_take_a_small_part_of_the_declared_range_are_seen():
    ax = plots.distribution(RANDOM, label="score", span=(0.0, 1000.0))
    assert 0.9 < ax.get_xlim()[1] < 2 and ax.get_xlabel() == "score (range 0 to 1,000)"
    whole = plots.distribution(100 * RANDOM, label="score", span=(0.0, 1000.0))
    assert whole.get_xlim()[1] > 1000 and whole.get_xlabel() == "score"


def test_bars_are_the_shares_of_the_record(flawed):
    (view,) = flawed.views
    tips = {item.get_text() for item in plots.effective_weights(view).texts}
    assert {"61 % of the weight", "55 % of the advantage", "45 %"} <= tips


# --- what a person can read


def of_steps():
    rows = [
        {
            "prompt_id": f"p{at // 4}",
            "completion": "x y " * (at % 7),
            "step": at // 16,
            "given": at % 5 / 4,
        }
        for at in range(64)
    ]
    reward = rk.Reward(
        "r" * 80,
        components=[rk.Component("n" * 80, lambda given: given, range=(0.0, 2.0))],
    )
    return rk.score(reward, rows)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: rk.score(
                rk.load_reward("gallery:arithmetic"), "gallery:arithmetic"
            ),
            "76 % earn 0.2",
        ),
        (twelve, LONG),
        (of_steps, "over steps 0 to 3"),
        (
            lambda: table_of({"x": [0.0, 1.0, 0.5]}, [0, 1, 2]),
            "who holds the advantage is not known",
        ),
        (
            lambda: table_of({"x": [0.5] * 8}, np.arange(8) // 2),
            "No group has a signal",
        ),
    ],
)
def test_nothing_is_cut_or_covered_and_all_colours_are_those_that_a_page_knows(
    make, said
):
    drawn = drawn_of(make())
    assert said in "\n".join(words(ax).replace("_\n", "_") for ax in drawn)
    assert unreadable(*drawn) == []
    assert (
        max(len(line) for ax in drawn for line in ax.get_title(loc="left").split("\n"))
        <= 70
    )
    for figure in {ax.figure for ax in drawn}:
        svg = io.StringIO()
        with plt.rc_context({"svg.fonttype": "none"}):
            figure.savefig(svg, format="svg")
        assert set(re.findall(r"(?:fill|stroke): (#\w+)", svg.getvalue())) <= set(THEME)


def test_hostile_names_are_shown_as_text():
    rows = [{"prompt": f"p{n // 4}", "completion": "x" * (n % 3)} for n in range(80)]
    component = rk.Component("a", lambda completion: len(completion) / 2)
    drawn = drawn_of(
        rk.score(rk.Reward(f"reward {HOSTILE_NAME}", components=[component]), rows)
    )
    for figure in {ax.figure for ax in drawn}:
        figure.canvas.draw()  # a formula that cannot be read, or a glyph that is missing, would end it
        assert not any(item.get_parse_math() for item in figure.findobj(Text))
    told = "\n".join(map(words, drawn))
    assert "$x$ <b>bold</b> $y" in told.replace("\n", " ")
    assert "\u202e" not in told and "\ud800" not in told
    assert (
        escape_text("a_b $x$ \u00e9 \u25b2 a\nb\x00\u6570")
        == "a_b $x$ \u00e9 \u25b2 a\\nb\\x00\\u6570"
    )


def test_a_plot_is_drawn_into_the_axes_it_is_given(flawed):
    for draws, record in (
        (OF_A_DIAGNOSIS, flawed),
        (OF_A_VIEW.values(), flawed.views[0]),
    ):
        for draw in draws:
            _, ax = plt.subplots()
            assert draw(record, ax=ax) is ax
    _, grid = plt.subplots(2, 3)
    assert plots.component_histograms(flawed, axes=grid) == list(grid.flat)[:5]
