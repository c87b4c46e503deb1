"""Plots of rewards, groups and components: what is drawn is what the record says."""

import itertools

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text
from plotted import HOSTILE_NAME, LONG, table_of, twelve

import rewardkit as rk
from rewardkit.analysis.tables import ties
from rewardkit.notebook import plots
from rewardkit.notebook.plots.canvas import NAME_WIDTH, plain

matplotlib.use("agg")


@pytest.fixture(scope="module")
def diagnosis():
    return rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic"))


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def texts(ax):
    return ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()


def words(ax):
    """All that is written in the axes."""
    return "\n".join(item.get_text() for item in ax.findobj(Text))


def drawn_of(scores):
    """Every plot of the module, of these scores."""
    diagnosis = rk.diagnose(scores)
    one_a_view = (
        plots.group_picture,
        plots.effective_weights,
        lambda view: plots.correlation(view.correlations),
        lambda view: plots.tied_pairs(ties(view)),
    )
    return [
        plots.reward_histogram(diagnosis.scores),
        *plots.component_histograms(diagnosis),
        plots.slices(diagnosis),
        plots.over_steps(diagnosis),
        *(draw(view) for view in diagnosis.views for draw in one_a_view),
    ]


def test_every_plot_has_a_title_and_labelled_axes(diagnosis):
    drawn = [
        plots.reward_histogram(diagnosis.scores),
        *plots.component_histograms(diagnosis),
        plots.group_picture(diagnosis.views[0]),
    ]
    for ax in drawn:
        assert all(texts(ax)), texts(ax)
    view = diagnosis.views[0]
    rest = [
        plots.effective_weights(view),
        plots.correlation(view.correlations),
        plots.tied_pairs(ties(view)),
    ]
    for ax in [*rest, plots.slices(diagnosis)]:
        assert all(texts(ax)[:2]) and all(item.get_text() for item in ax.get_yticklabels())


def test_few_values_are_drawn_as_atoms_with_their_counts():
    ax = plots.distribution(np.array([0.0, 0.0, 0.0, 1.0, np.nan]), title="t", label="x")
    bars = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in ax.patches}
    assert bars == pytest.approx({0.0: 3, 1.0: 1})
    assert "1 not scored" in texts(ax)[0]


def test_many_values_are_a_histogram_of_all_of_them():
    values = np.random.default_rng(0).random(500)
    ax = plots.distribution(values, title="t", label="x")
    assert sum(bar.get_height() for bar in ax.patches) == 500


def test_evenly_spaced_values_are_atoms_as_long_as_their_bars_can_be_seen():
    values = np.repeat(np.arange(101) / 100, 3)
    ax = plots.distribution(values, title="t", label="x")
    assert len(ax.patches) == 101
    assert {bar.get_height() for bar in ax.patches} == {3}  # bins across them would hold 3 here and 6 there


def test_a_value_that_recurs_among_many_is_marked_with_its_count_and_in_no_bin():
    values = np.append(np.random.default_rng(0).random(900), np.full(100, 0.25))
    ax = plots.distribution(values, title="t", label="x")
    (marks,) = [line for line in ax.lines if line.get_marker() == "D"]
    assert (marks.get_xdata().tolist(), marks.get_ydata().tolist()) == ([0.25], [100])
    assert sum(bar.get_height() for bar in ax.patches) == 900
    assert "5 % or more" in words(ax)


@pytest.mark.parametrize("values", [[np.nan, np.nan], [0.5], [0.5, 0.5]], ids=["nothing", "one", "constant"])
def test_odd_columns_can_be_drawn(values):
    ax = plots.distribution(np.array(values), title="t", label="x", span=(0.0, 1.0))
    assert len(ax.patches) == (0 if np.isnan(values[0]) else 1)
    assert bool(ax.texts) == np.isnan(values[0])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param([], "no completions", id="no row"),
        pytest.param([np.nan], "nothing scored", id="nothing judged"),
        pytest.param([np.inf, -np.inf], "2 infinite", id="infinite"),
        pytest.param([1.7e308, -1.7e308], "too far apart", id="beyond floating point"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_words(values, said):
    ax = plots.distribution(np.array(values, dtype=float), title="t", label="x")
    assert said in words(ax) and not ax.patches
    ax.figure.canvas.draw()


def test_what_is_infinite_is_counted_beside_what_is_drawn():
    ax = plots.distribution(np.array([np.inf, 1.0, 1.0, np.nan]), title="t", label="x")
    assert [bar.get_height() for bar in ax.patches] == [2]
    assert texts(ax)[0] == "t (1 not scored, 1 infinite)"


def test_the_group_picture_marks_every_dead_group(diagnosis):
    view = diagnosis.views[0]
    ax = plots.group_picture(view)
    crosses = next(line for line in ax.lines if line.get_marker() == "x")
    assert len(crosses.get_xdata()) == view.stats.dead.sum()
    dots = next(line for line in ax.lines if line.get_marker() == ".")
    assert len(dots.get_xdata()) + len(crosses.get_xdata()) == len(view.stats.count)
    means = np.concatenate([dots.get_ydata(), crosses.get_ydata()])
    np.testing.assert_allclose(np.sort(means), np.sort(view.stats.mean))


def test_scores_that_take_a_small_part_of_the_declared_range_are_seen():
    values = np.random.default_rng(0).random(120)
    ax = plots.distribution(values, title="t", label="score", span=(0.0, 1000.0))
    low, high = ax.get_xlim()
    assert low < 0.1 and 0.9 < high < 2 and max(bar.get_height() for bar in ax.patches) > 1
    assert texts(ax)[1] == "score (range 0 to 1e+03)"
    whole = plots.distribution(100 * values, title="t", label="score", span=(0.0, 1000.0))
    assert whole.get_xlim()[1] > 1000 and texts(whole)[1] == "score"


def test_the_legend_of_very_many_groups_is_within_the_picture():
    groups = np.repeat(np.arange(20_000), 4)
    values = (np.random.default_rng(1).random(len(groups)) < 0.4).astype(float)
    figure, ax = plt.subplots(figsize=(5.6, 3.3), layout="constrained")  # as on the first page of a report
    plots.group_picture(rk.diagnose(table_of({"x": values}, groups), by=[]).views[0], ax=ax)
    figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width


def test_groups_of_one_are_not_drawn_as_groups_that_vary_or_as_tied_ones():
    scores = table_of({"x": [0.0, 1.0, 0.5, 0.25]}, [0, 0, 1, 2])
    ax = plots.group_picture(rk.diagnose(scores).views[0])
    assert "one completion only, no gradient (2 of 3)" in words(ax)
    assert "all siblings equal, no gradient (0 of 3)" in words(ax)
    plus = next(line for line in ax.lines if line.get_marker() == "+")
    assert plus.get_ydata().tolist() == [0.25, 0.5]
    dots = next(line for line in ax.lines if line.get_marker() == ".")
    assert dots.get_ydata().tolist() == [0.5]  # the mean of 0 and 1


def test_many_groups_share_columns_whose_means_and_dead_shares_are_those_of_all_groups():
    groups, size = 2000, 4
    rate = np.random.default_rng(0).beta(0.5, 1, groups)
    values = (np.random.default_rng(1).random(groups * size) < np.repeat(rate, size)).astype(float)
    view = rk.diagnose(table_of({"x": values}, np.repeat(np.arange(groups), size))).views[0]
    ax = plots.group_picture(view)
    assert len(ax.lines) == 1 and len(ax.lines[0].get_xdata()) < 400  # not a mark for each
    sizes = np.diff([0, *np.linspace(0, groups, len(ax.lines[0].get_xdata()) + 1).astype(int)[1:]])
    np.testing.assert_allclose((ax.lines[0].get_ydata() * sizes).sum(), view.stats.mean.sum())
    steps = next(patch for patch in ax.patches if hasattr(patch, "get_data"))
    heights, edges, base = steps.get_data()
    full = 1 / (heights - base).max()  # some columns are dead as a whole
    np.testing.assert_allclose(((heights - base) * full * np.diff(edges)).sum(), view.stats.dead.sum())
    assert f"({view.stats.dead.sum():,} of 2,000)" in words(ax)


def test_effective_weights_are_drawn_beside_the_declared_ones(diagnosis):
    view = diagnosis.views[0]
    ax = plots.effective_weights(view)
    widths = [bar.get_width() for bar in ax.patches]
    declared = [view.declared_weights[name] for name in view.names]
    held = [view.effective_weights[name] for name in view.names]
    assert widths == pytest.approx([*declared, *held])


def test_the_correlations_are_numbers_below_the_diagonal_and_none_has_its_reason(diagnosis):
    found = diagnosis.views[0].correlations
    ax = plots.correlation(found)
    shown = {item.get_position(): item.get_text() for item in ax.texts}
    expected = {
        (j, i - 1): "none" if np.isnan(found.matrix[i, j]) else f"{found.matrix[i, j]:.2f}"
        for i in range(len(found.names))
        for j in range(i)
    }
    assert shown == expected and "0.98" in shown.values()
    assert "'steps' is the same among siblings in all 1526 rows" in ax.get_xlabel()
    coloured = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(coloured[np.tril_indices(4)], found.matrix[1:, :-1][np.tril_indices(4)])


def test_ties_are_drawn_with_their_intervals_the_reward_first(diagnosis):
    found = ties(diagnosis.views[0])
    ax = plots.tied_pairs(found)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([tie.share for tie in found])
    drawn = [segment[:, 0].tolist() for lines in ax.collections for segment in lines.get_segments()]
    assert drawn == [pytest.approx(tie.interval) for tie in found]
    assert ax.get_yticklabels()[0].get_text() == "the reward"
    assert "(91 % of the pairs are scored)" in words(ax)  # where errors left rows without one


def test_the_slices_are_the_rows_of_the_table_and_what_was_found_in_them():
    diagnosis = rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic"))
    ax = plots.slices(diagnosis)
    table = diagnosis.group_signal
    names = [item.get_text() for item in ax.get_yticklabels()]
    heads = [str(name) for name in table["slice"]]
    assert [name.split(" (")[0] for name in names][: len(table)] == heads
    bars = [bar.get_width() for bar in ax.patches]
    assert bars[: len(table)] == pytest.approx(table["zero_std"].tolist())
    assert bars[len(names) : len(names) + len(table)] == pytest.approx(table["none_right"].tolist())
    (hard,) = diagnosis["zero_std_groups"]
    at = next(place for place, name in enumerate(names) if name.startswith("task=two-steps"))
    assert bars[at] == pytest.approx(hard.evidence["value"])
    told = {item.get_position()[1]: item.get_text() for item in ax.texts}
    assert told[at] == "\u25b2 warn: zero_std_groups"


def test_of_many_slices_those_with_a_finding_and_those_with_most_groups_are_drawn():
    columns = {"data_source": 19, "policy": 20}
    rows = [
        {"prompt": f"{n}", "completion": "ab"[k], **{name: f"{n % size}" for name, size in columns.items()}}
        for n in range(190)
        for k in range(2)
    ]
    reward = rk.Reward("r", components=[rk.Component("a", lambda completion: float(completion == "a"))])
    diagnosis = rk.diagnose(rk.score(reward, rk.load_rollouts(rows)))
    assert len(diagnosis.group_signal) == 1 + 19 + 20
    ax = plots.slices(diagnosis)
    names = [item.get_text() for item in ax.get_yticklabels()]
    assert len(names) == 30 and "10 smaller ones not shown" in ax.get_title(loc="left")
    assert names[0] == "all (190 groups)"
    assert sum(name.startswith("data_source") for name in names) == 19  # of 10 groups each; the others less


@pytest.mark.parametrize(
    ("values", "groups", "said"),
    [
        pytest.param([0.0, 1.0, 0.5], [0, 0, 0], "(0 of 1)", id="one group of three rollouts"),
        pytest.param(
            [0.0, 1.0, 0.5], [0, 1, 2], "no group has two completions with a score", id="groups of one"
        ),
        pytest.param(
            [np.nan] * 4, [0, 0, 1, 1], "no group has a completion with a finite reward", id="all NaN"
        ),
        pytest.param([0.5] * 8, [0, 0, 1, 1, 2, 2, 3, 3], "no group has a signal", id="constant"),
        pytest.param([1.0], [0], "one component: there is nothing", id="one row"),
    ],
)
def test_odd_scores_are_drawn_or_said_in_words(values, groups, said):
    drawn = drawn_of(table_of({"x": values}, groups))
    assert said in "\n".join(map(words, drawn))
    for ax in drawn:
        ax.figure.canvas.draw()  # warnings are errors


def test_twelve_components_can_be_told_apart():
    scores = twelve()
    for ax in drawn_of(scores):
        ax.figure.canvas.draw()
        labels = [item.get_window_extent() for item in ax.get_yticklabels() if item.get_text()]
        if ax.get_title(loc="left").startswith(("Declared", "Siblings", "Correlation")):
            assert len(labels) >= 11
            assert not any(a.overlaps(b) for a, b in itertools.pairwise(labels))
        assert all(label.x0 >= 0 for label in labels)


def test_hostile_names_are_shown_as_text():
    rows = [
        {
            "prompt": f"p{n // 4}",
            "completion": "x" * (n % 3),
            "data_source": HOSTILE_NAME[:-1] if n < 40 else "\u6570\u5b66 $1",
        }
        for n in range(80)
    ]
    reward = rk.Reward(
        f"reward {HOSTILE_NAME}", components=[rk.Component("a", lambda completion: len(completion) / 2)]
    )
    drawn = drawn_of(rk.score(reward, rows))
    for ax in drawn:
        ax.figure.canvas.draw()  # a formula that cannot be read, or a glyph that is missing, would end it
        assert not any(item.get_parse_math() for item in ax.findobj(Text))
    told = "\n".join(map(words, drawn))
    assert "$x$ <b>bold</b> $y" in told and r"\u6570\u5b66" in told
    assert "\u202e" not in told and "\ud800" not in told


def test_a_text_keeps_what_the_font_can_show():
    assert plain("a_b $x$ \u00e9 \u03b1 \u25b2") == "a_b $x$ \u00e9 \u03b1 \u25b2"
    assert plain("a\nb\x00") == r"a\nb\x00"


@pytest.fixture(scope="module")
def of_a_trainer():
    """Scores as a trainer's function gives them: unbounded, one paid and with a long name, one recorded."""
    rows = [{"prompt_id": str(n // 4), "completion": "x" * n} for n in range(40)]
    functions = {LONG: lambda completion: -len(completion) / 10, "n": lambda completion: len(completion)}
    components = [
        rk.Component(name, f, weight=float(name == LONG), range=None) for name, f in functions.items()
    ]
    return rk.diagnose(rk.score(rk.Reward("r", components=components), rows))


def test_names_are_broken_into_lines_that_fit_and_nothing_of_them_is_lost(of_a_trainer):
    titles = [ax.get_title(loc="left") for ax in plots.component_histograms(of_a_trainer)]
    labels = [item.get_text() for item in plots.effective_weights(of_a_trainer.views[0]).get_yticklabels()]
    for text in (titles[0], labels[0]):
        assert max(map(len, text.splitlines())) <= NAME_WIDTH
        assert LONG in text.replace("\n", "")
    assert titles[1] == "n, weight 0"


def test_the_title_of_a_small_histogram_stays_within_its_column(of_a_trainer):
    first = plots.component_histograms(of_a_trainer)[0]
    first.figure.canvas.draw()
    width = first.figure.bbox.width / 2
    assert first._left_title.get_window_extent().x1 <= width


def test_what_is_recorded_only_takes_no_room_beside_the_weights_and_is_counted(of_a_trainer):
    ax = plots.effective_weights(of_a_trainer.views[0])
    assert len(ax.patches) == 2
    assert "1 of weight 0 not shown" in ax.get_xlabel()


def test_the_legend_of_the_weights_covers_no_bar(of_a_trainer):
    ax = plots.effective_weights(of_a_trainer.views[0])
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(bar.get_window_extent().overlaps(legend) for bar in ax.patches)
    assert not any(text.get_window_extent().overlaps(legend) for text in ax.texts)


def test_the_reward_of_a_log_is_called_so():
    dump = [{"input": "2+2?", "output": "4", "gts": "4", "score": float(n % 2), "step": 1} for n in range(4)]
    rollouts = rk.load_rollouts(dump)
    ax = plots.reward_histogram(rk.score(rk.recorded(rollouts), rollouts))
    assert ax.get_title(loc="left") == "Reward in the log"


def test_the_reward_over_the_steps_has_its_mean_and_bands_and_says_where_there_are_none(diagnosis):
    assert "fewer than two steps" in plots.over_steps(diagnosis).texts[0].get_text()
    rows = [
        {"prompt_id": f"p{at // 4}", "completion": "x" * at, "step": at // 8, "given": at % 4 / 4 + (at > 15)}
        for at in range(32)
    ]
    reward = rk.Reward("r", components=[rk.Component("c", lambda given: given, range=(0.0, 2.0))])
    found = rk.diagnose(rk.score(reward, rows))
    ax = plots.over_steps(found, "c")
    mean = next(line for line in ax.get_lines() if line.get_label() == "mean")
    np.testing.assert_allclose(mean.get_xydata(), [[0, 0.375], [1, 0.375], [2, 1.375], [3, 1.375]])
    assert len(ax.collections) == 2 and ax.get_title(loc="left") == "c over the steps"


def test_a_plot_is_drawn_into_the_axes_it_is_given(diagnosis):
    view = diagnosis.views[0]
    _, ax = plt.subplots()
    assert plots.group_picture(view, ax=ax) is ax
    assert plots.reward_histogram(diagnosis.scores, ax=ax) is ax
    assert plots.effective_weights(view, ax=ax) is ax
    assert plots.correlation(view.correlations, ax=ax) is ax
    assert plots.tied_pairs(ties(view), ax=ax) is ax
    assert plots.slices(diagnosis, ax=ax) is ax
    _, grid = plt.subplots(2, 3)
    assert plots.component_histograms(diagnosis, axes=grid) == list(grid.flat)[:5]
