"""What a forecast tells of its figures, of what is missing, and of two views at equal KL."""

import json
from dataclasses import replace

import numpy as np
import pytest
from planted.tables import rewarded

import rewardkit as rk
from rewardkit.analysis.forecast import LIMITS, forecast
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.selection import at_equal_kl, best_of

NAN = float("nan")


def with_rewards(scores, rewards):
    """The scores with other rewards than their components make."""
    return replace(scores, table=scores.table.assign(reward=np.array(rewards, dtype=float)))


def sampled(seed=0, prompts=60, size=8):
    """Rewards that go with a figure, group codes, and the figure, of groups of one size."""
    generator = np.random.default_rng(seed)
    figure = generator.random(prompts * size)
    rewards = np.round(figure + generator.normal(0, 0.3, prompts * size), 1)
    return rewards, np.repeat(np.arange(prompts), size), figure


REWARDS, GROUPS, FIGURE = sampled()


def told(found, words):
    return any(words in note for note in found.notes)


@pytest.fixture(scope="module")
def good():
    return rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")


@pytest.fixture(scope="module")
def flawed():
    return rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")


# figures


def test_the_figures_are_the_reward_label_scores_lengths_and_what_was_asked_for(good):
    found = forecast(good, label="completion_tokens", columns=["generation", "reward", "score/correct"])
    names = ["reward", "label", *(f"score/{name}" for name in good.reward.names), "words", "characters"]
    for view in (found.best_of, found.tilted):
        assert list(view.curves) == [*names, "generation"]
    texts = good.table["completion"].str
    right = {"words": texts.split().str.len().mean(), "characters": texts.len().mean(), "generation": 3.5}
    assert {name: found.best_of.curves[name].value[0] for name in right} == pytest.approx(right)
    assert "generation" in forecast(good, columns="generation").best_of.curves  # one column by its name


def test_the_best_of_all_is_the_mean_of_the_best_and_a_gated_score_that_of_the_picks_that_have_it(good):
    found, scores = forecast(good).best_of, good.score("concise")
    best = good.table.assign(group=good.groups).groupby("group")["reward"].max().mean()
    assert (found.points[-1], found.kl[-1]) == (8, pytest.approx(np.log(8) - 7 / 8))
    assert found.curves["reward"].value[-1] == pytest.approx(best)
    curve = found.curves["score/concise"]
    assert (curve.value[0], curve.known[0]) == pytest.approx((np.nanmean(scores), (~np.isnan(scores)).mean()))
    assert curve.known[-1] > 0.5 > curve.known[0]  # who is picked is mostly right, and then it is open


def test_groups_of_other_sizes_leave_as_n_grows_and_the_change_is_within_those_that_remain():
    found = forecast(rewarded([0, 1, 1, 0, 5, NAN, 7], [0, 0, 0, 1, 2, 2, 3]))
    assert (found.best_of.points.tolist(), found.best_of.groups.tolist()) == ([1, 2, 3], [4, 1, 1])
    curve = found.best_of.curves["reward"]
    assert curve.value == pytest.approx([(2 / 3 + 0 + 5 + 7) / 4, 1, 1])
    assert curve.change == pytest.approx([0, 1 / 3, 1 / 3])
    assert told(found, "1 of 4 groups reach n = 3")


# labels


def test_a_missing_label_is_left_out_of_above_and_below():
    # picks at n = 2 of rewards 0, 1, 1: 0, 1/2, 1/2; of 0, 2: the second alone, which has no label
    scores = rewarded([0, 1, 1, 0, 2], [0, 0, 0, 1, 1], label=[1.0, 3.0, None, 7.0, None])
    curve = forecast(scores, label="label").best_of.curves["label"]
    assert curve.value[:2] == pytest.approx([(1 / 3 + 3 / 3 + 7 / 2) / (1 / 3 + 1 / 3 + 1 / 2), 3])
    assert curve.known[:2] == pytest.approx([(2 / 3 + 1 / 2) / 2, 0.5 / 2])
    found = forecast(rewarded([0, 1, NAN], [0, 0, 0], label=[None, None, 1.0]), label="label")
    assert "label" not in found.best_of.curves
    assert told(found, "'label' is missing in every row that has a reward, so it has no curve")


# intervals


def interval_of(values, owner, prompts, seed=0):
    return Bootstrap(prompts, seed=seed).interval([np.array(values), np.ones(len(values))], owner)


def test_intervals_are_those_of_the_bootstrap_over_prompts():
    prompts = GROUPS // 2  # two groups a prompt
    scores = rewarded(REWARDS, GROUPS, prompts, figure=FIGURE)
    found = forecast(scores, columns=["figure"], seed=3).best_of.curves["figure"]
    best, mean = [], []
    for group in range(60):
        rows = np.flatnonzero(GROUPS == group)
        at = rows[np.argsort(REWARDS[rows], kind="stable")]
        best.append(best_of(REWARDS[at][None], np.array([8]))[0, 0] @ FIGURE[at])
        mean.append(FIGURE[at].mean())
    ends, owner = (found.low[-1], found.high[-1]), np.arange(60) // 2
    assert ends == pytest.approx(interval_of(best, owner, prompts, 3))
    assert ends != pytest.approx(interval_of(best, np.arange(60), GROUPS, 3))
    change = interval_of(np.subtract(best, mean), owner, prompts, 3)
    assert (found.change_low[-1], found.change_high[-1]) == pytest.approx(change)


def test_an_interval_needs_two_prompts_that_have_the_figure_and_hangs_on_the_seed_alone(good):
    # n = 3 is of one prompt alone, and so is the label at every n
    scores = rewarded([0, 1, 2, 3, 1], [0, 0, 0, 1, 1], label=[1.0, 2.0, 3.0, None, None])
    found = forecast(scores, label="label").best_of
    assert np.isfinite(found.curves["reward"].low).tolist() == [True, True, False]
    assert np.isnan(found.curves["label"].low).all()
    assert found.curves["label"].value == pytest.approx([2, 8 / 3, 3])
    first, again, other = (forecast(good, seed=seed) for seed in (1, 1, 2))
    assert first.record() == again.record()
    one, two = (item.best_of.curves["reward"] for item in (first, other))
    assert one.value.tolist() == two.value.tolist() and one.low.tolist() != two.low.tolist()


# the tilted view


@pytest.mark.parametrize(
    ("rewards", "size", "ends", "last"),
    [
        pytest.param(np.random.default_rng(2).random(960), 16, "size is under 2", {}, id="two are left"),
        pytest.param([0, 0, 1, 1, 1, 1] * 20, 6, "siblings that earn the same", {"kl": np.log(6 / 4)},
                     id="equal ones are left"),
        pytest.param([0, 1] * 12, 2, "size is under 2", {"points": np.inf}, id="groups of two"),
    ],
)  # fmt: skip
def test_the_tilted_view_ends_where_the_siblings_end(rewards, size, ends, last):
    view = forecast(rewarded(rewards, np.repeat(np.arange(len(rewards) // size), size))).tilted
    assert ends in view.ends and view.sample_size[0] == pytest.approx(size) and view.sample_size[-1] >= 2
    assert len(view) < 20
    assert {name: getattr(view, name)[-1] for name in last} == pytest.approx(last, abs=2e-3)


# what the settings, and what cannot be computed, make one say


@pytest.mark.parametrize(
    ("training", "note"),
    [
        pytest.param({"multi_objective_aggregation": "normalize_then_sum"}, "GDPO", id="gdpo"),
        pytest.param({"scale_rewards": "batch"}, "each batch", id="batch"),
        pytest.param({"beta": 0.001}, "KL penalty of 0.001 is weaker", id="beyond the end"),
        pytest.param({"beta": 1.5}, None, id="within the view"),
    ],
)
def test_where_the_tilt_is_not_what_the_trainer_maximises_it_is_said(training, note):
    rewards, groups, _ = sampled(size=16)
    found, plain = (forecast(rewarded(rewards, groups), training=given) for given in (training, None))
    assert told(found, note) if note else len(found.notes) == len(plain.notes)
    assert training.get("beta") != 1.5 or 1.5 in found.tilted.points


@pytest.mark.parametrize(
    ("rewards", "groups", "note", "points"),
    [
        pytest.param([1.0], [0], "no group has two completions", (1, 1), id="one row"),
        pytest.param([NAN] * 4, [0, 0, 1, 1], "nothing to forecast", (0, 0), id="no reward at all"),
        pytest.param([2] * 6, [0, 0, 0, 1, 1, 1], "in every group all completions", (3, 1), id="constant"),
        pytest.param([0, 1, 2], [0, 0, 0], "of one prompt", (3, None), id="one group"),
        pytest.param([0.1 + 0.2, 0.3] * 2, [0, 0, 1, 1], "in every group", (2, 1), id="equal to rounding"),
        pytest.param([1e300, -1e300, 0, 1], [0, 0, 1, 1], "2 of 4 rows have an", (2, None), id="enormous"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_is_said(rewards, groups, note, points):
    for scaling in ("group", "none"):
        found = forecast(rewarded(rewards, groups), training={"scale_rewards": scaling})
        assert told(found, note) and "nan" not in repr(found)
        assert len(found.best_of) == points[0] and points[1] in (None, len(found.tilted))
        json.dumps(found.record())
        assert all(np.isfinite(curve.value).all() for curve in found.best_of.curves.values())


# the record


def test_the_record_is_plain_the_scores_stay_and_loaded_ones_give_the_same(good, tmp_path):
    before = good.table.copy(deep=True)
    found = forecast(good, label="generation", training={"scale_rewards": "none"})
    record = found.record()
    assert good.table.equals(before) and json.loads(json.dumps(record))["training"]["scale_rewards"] == "none"
    assert record["limits"] == list(LIMITS) and record["best_of"]["points"] == [1, 2, 3, 4, 5, 6, 7, 8]
    names = "value low high change change_low change_high known"
    assert set(record["tilted"]["curves"]["label"]) == set(names.split())
    assert record["tied_groups"] == pytest.approx(rk.diagnose(good).views[0].stats.dead.mean())
    loaded = rk.load_scores(good.save(tmp_path))
    assert forecast(loaded, label="generation", training={"scale_rewards": "none"}).record() == record
    assert len(found.table) == len(found.best_of.curves) * (len(found.best_of) + len(found.tilted))
    row = found.table.query("how == 'best_of' and figure == 'score/correct' and points == 8").iloc[0]
    assert row["value"] == found.best_of.curves["score/correct"].value[-1]


def test_what_is_printed_begins_with_what_moves_and_ends_with_what_to_do(good):
    title, *lines = repr(forecast(good)).splitlines()
    assert title.startswith("'arithmetic-v1' selects for: correct from 0.169 to 0.54")
    for words in ("best of 8, KL at most 1.20", "0.54 (", f"Limit: {LIMITS[0]}"):
        assert any(words in line for line in lines)
    assert len(lines) < 20 and lines[-1].startswith("  Next: name a trusted column with label=")
    for sign, step in ((1, "the label rises"), (-1, "the label does not rise")):
        found = forecast(rewarded(REWARDS, GROUPS, right=sign * FIGURE), label="right")
        assert found.page.lines[-1].startswith(f"Next: {step}") and "label 'right' from" in found.verdict


# two views at equal KL


def at_equal(a, b, **options):
    return at_equal_kl(*(forecast(item, **options).tilted for item in (a, b)))


def test_a_reward_that_pays_for_something_else_loses_the_label_at_equal_kl():
    rewards, groups, figure = sampled(prompts=200)
    scores = rewarded(rewards, groups, label=figure)
    noise = with_rewards(scores, np.random.default_rng(4).random(len(rewards)))
    pair = at_equal(scores, noise, label="label")[1]["label"]
    assert pair.difference[0] == pytest.approx(0, abs=1e-12) and (pair.high[1:] < 0).all()
    assert pair.difference.tolist() == (pair.b - pair.a).tolist()
    assert ((pair.low <= pair.difference) & (pair.difference <= pair.high))[1:].all()
    assert pair.b == pytest.approx(pair.b[0], abs=0.05)


def test_the_common_kl_ends_with_the_shorter_curve_and_curves_are_straight_in_its_root(good, flawed):
    short, long = (forecast(item).tilted for item in (good, flawed))
    kl, figures = at_equal_kl(short, long)
    assert kl[-1] == pytest.approx(short.kl[-1]) and short.kl[-1] < long.kl[-1]
    right = np.interp(np.sqrt(kl), np.sqrt(np.maximum(long.kl, 0)), long.curves["words"].value)
    assert figures["words"].b == pytest.approx(right)
    assert figures["words"].a[-1] == short.curves["words"].value[-1]
