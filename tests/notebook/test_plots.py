import matplotlib
import numpy as np
import pytest

import rewardkit as rk
from rewardkit.notebook import plots

matplotlib.use("agg")


@pytest.fixture(scope="module")
def diagnosis():
    return rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic"))


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plots.plt.close("all")


def texts(ax):
    return ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()


def test_every_plot_has_a_title_and_labelled_axes(diagnosis):
    drawn = [
        plots.reward_histogram(diagnosis.scores),
        *plots.component_histograms(diagnosis),
        plots.group_picture(diagnosis.views[0]),
        *plots.before_and_after(diagnosis.scores, rk.suggest(diagnosis).changes[0]),
    ]
    for ax in drawn:
        assert all(texts(ax)), texts(ax)
    assert all(texts(plots.effective_weights(diagnosis.views[0]))[:2])


def test_few_values_are_drawn_as_atoms_with_their_counts():
    ax = plots.distribution(np.array([0.0, 0.0, 0.0, 1.0, np.nan]), title="t", label="x")
    bars = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in ax.patches}
    assert bars == pytest.approx({0.0: 3, 1.0: 1})
    assert "1 not scored" in texts(ax)[0]


def test_many_values_are_a_histogram_of_all_of_them():
    values = np.random.default_rng(0).random(500)
    ax = plots.distribution(values, title="t", label="x")
    assert sum(bar.get_height() for bar in ax.patches) == 500


@pytest.mark.parametrize("values", [[np.nan, np.nan], [0.5], [0.5, 0.5]], ids=["nothing", "one", "constant"])
def test_odd_columns_can_be_drawn(values):
    ax = plots.distribution(np.array(values), title="t", label="x", span=(0.0, 1.0))
    assert len(ax.patches) == (0 if np.isnan(values[0]) else 1)
    assert bool(ax.texts) == np.isnan(values[0])


def test_the_group_picture_marks_every_dead_group(diagnosis):
    view = diagnosis.views[0]
    ax = plots.group_picture(view)
    crosses = next(line for line in ax.lines if line.get_marker() == "x")
    assert len(crosses.get_xdata()) == view.stats.dead.sum()
    dots = next(line for line in ax.lines if line.get_marker() == ".")
    assert len(dots.get_xdata()) + len(crosses.get_xdata()) == len(view.stats.count)
    means = np.concatenate([dots.get_ydata(), crosses.get_ydata()])
    np.testing.assert_allclose(np.sort(means), np.sort(view.stats.mean))


def test_effective_weights_are_drawn_beside_the_declared_ones(diagnosis):
    view = diagnosis.views[0]
    ax = plots.effective_weights(view)
    widths = [bar.get_width() for bar in ax.patches]
    declared = [view.declared_weights[name] for name in view.names]
    held = [view.effective_weights[name] for name in view.names]
    assert widths == pytest.approx([*declared, *held])


LONG = "negative_length_in_characters_compared_with_the_shortest_sibling"


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
        assert max(map(len, text.splitlines())) <= plots.NAME_WIDTH
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


def test_a_plot_is_drawn_into_the_axes_it_is_given(diagnosis):
    _, ax = plots.plt.subplots()
    assert plots.group_picture(diagnosis.views[0], ax=ax) is ax
    assert plots.reward_histogram(diagnosis.scores, ax=ax) is ax
