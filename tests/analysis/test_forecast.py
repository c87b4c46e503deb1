"""What a forecast tells: against all subsets, trained policies and the bootstrap; and two at equal KL."""

import json
from itertools import combinations

import numpy as np
import pytest
from planted.tables import rewarded

import rewardkit as rk
from rewardkit.analysis.forecast import LIMITS, forecast
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.selection import at_equal_kl, best_of, numbers_drawn

NAN = float("nan")


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


def test_the_figures_are_the_reward_label_scores_lengths_and_what_was_asked_for(good):
    found = forecast(
        good,
        label="completion_tokens",
        columns=["generation", "reward", "score/correct"],
    )
    names = [
        "reward",
        "label",
        *(f"score/{name}" for name in good.reward.names),
        "words",
        "characters",
    ]
    for view in (found.best_of, found.tilted):
        assert list(view.curves) == [*names, "generation"]
    texts = good.table["completion"].str
    right = {
        "words": texts.split().str.len().mean(),
        "characters": texts.len().mean(),
        "generation": 3.5,
    }
    assert {
        name: found.best_of.curves[name].value[0] for name in right
    } == pytest.approx(right)
    assert (
        "generation" in forecast(good, columns="generation").best_of.curves
    )  # one column by its name


def test_a_gated_score_is_that_of_the_picks_that_have_it(good):
    found, scores = forecast(good).best_of, good.score("concise")
    assert (found.points[-1], found.kl[-1]) == (8, pytest.approx(np.log(8) - 7 / 8))
    curve = found.curves["score/concise"]
    assert (curve.value[0], curve.known[0]) == pytest.approx(
        (np.nanmean(scores), (~np.isnan(scores)).mean())
    )
    assert (
        curve.known[-1] > 0.5 > curve.known[0]
    )  # who is picked is mostly right, and then it is open


def test_a_missing_label_is_left_out_of_above_and_below():
    # picks at n = 2 of rewards 0, 1, 1: 0, 1/2, 1/2; of 0, 2: the second alone, which has no label
    scores = rewarded(
        [0, 1, 1, 0, 2], [0, 0, 0, 1, 1], label=[1.0, 3.0, None, 7.0, None]
    )
    curve = forecast(scores, label="label").best_of.curves["label"]
    assert curve.value[:2] == pytest.approx(
        [(1 / 3 + 3 / 3 + 7 / 2) / (1 / 3 + 1 / 3 + 1 / 2), 3]
    )
    assert curve.known[:2] == pytest.approx([(2 / 3 + 1 / 2) / 2, 0.5 / 2])
    one_prompt = rewarded(
        [0, 1, 2, 3, 1], [0, 0, 0, 1, 1], label=[1.0, 2.0, 3.0, None, None]
    )
    found = forecast(
        one_prompt, label="label"
    ).best_of.curves  # at n = 3 even the reward is of one prompt
    assert np.isfinite(found["reward"].low).tolist() == [True, True, False]
    assert np.isnan(found["label"].low).all() and found["label"].value == pytest.approx(
        [2, 8 / 3, 3]
    )
    found = forecast(
        rewarded([0, 1, NAN], [0, 0, 0], label=[None, None, 1.0]), label="label"
    )
    assert "label" not in found.best_of.curves
    assert told(
        found, "'label' is missing in every row that has a reward, so it has no curve"
    )


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
    bootstrap, owner = Bootstrap(prompts, seed=3), np.arange(60) // 2
    interval, change = (
        bootstrap.interval([np.array(values), np.ones(60)], owner)
        for values in (best, np.subtract(best, mean))
    )
    assert (found.low[-1], found.high[-1]) == pytest.approx(interval)
    assert (found.change_low[-1], found.change_high[-1]) == pytest.approx(change)
    other = forecast(scores, columns=["figure"], seed=4).best_of.curves["figure"]
    assert (
        other.value.tolist() == found.value.tolist()
        and other.low.tolist() != found.low.tolist()
    )


ENDS = [
    (np.random.default_rng(2).random(960), 16, "size is under 2", {}),
    ([0, 0, 1, 1, 1, 1] * 20, 6, "siblings that earn the same", {"kl": np.log(6 / 4)}),
    ([0, 1] * 12, 2, "size is under 2", {"points": np.inf}),
]


@pytest.mark.parametrize(
    ("rewards", "size", "ends", "last"), ENDS, ids=["two left", "equal ones", "of two"]
)
def test_the_tilted_view_ends_where_the_siblings_end(rewards, size, ends, last):
    view = forecast(
        rewarded(rewards, np.repeat(np.arange(len(rewards) // size), size))
    ).tilted
    assert (
        ends in view.ends
        and view.sample_size[0] == pytest.approx(size)
        and view.sample_size[-1] >= 2
    )
    assert len(view) < 20
    assert {name: getattr(view, name)[-1] for name in last} == pytest.approx(
        last, abs=2e-3
    )


NOT_TILTED = [
    ({"multi_objective_aggregation": "normalize_then_sum"}, "GDPO"),
    ({"scale_rewards": "batch"}, "each batch"),
    ({"beta": 0.001}, "KL penalty of 0.001 is weaker"),  # beyond the end
    ({"beta": 1.5}, None),  # within the view
]


@pytest.mark.parametrize(("training", "note"), NOT_TILTED)
def test_where_the_tilt_is_not_what_the_trainer_maximises_it_is_said(training, note):
    rewards, groups, _ = sampled(size=16)
    found, plain = (
        forecast(rewarded(rewards, groups), training=given)
        for given in (training, None)
    )
    assert told(found, note) if note else len(found.notes) == len(plain.notes)
    assert training.get("beta") != 1.5 or 1.5 in found.tilted.points


NOT_COMPUTED = {
    "one row": ([1.0], [0], "no group has two completions", (1, 1)),
    "no reward at all": ([NAN] * 4, [0, 0, 1, 1], "nothing to forecast", (0, 0)),
    "constant": ([2] * 6, [0, 0, 0, 1, 1, 1], "in every group all completions", (3, 1)),
    "one group": ([0, 1, 2], [0, 0, 0], "of one prompt", (3, None)),
    "other sizes": (
        [0, 1, 1, 0, 5, NAN, 7],
        [0, 0, 0, 1, 2, 2, 3],
        "1 of 4 groups reach n = 3",
        (3, None),
    ),
    "equal to rounding": ([0.1 + 0.2, 0.3] * 2, [0, 0, 1, 1], "in every group", (2, 1)),
    "enormous": ([1e300, -1e300, 0, 1], [0, 0, 1, 1], "2 of 4 rows have an", (2, None)),
}


@pytest.mark.parametrize(
    ("rewards", "groups", "note", "points"),
    NOT_COMPUTED.values(),
    ids=list(NOT_COMPUTED),
)
def test_what_cannot_be_computed_is_said(rewards, groups, note, points):
    for scaling in ("group", "none"):
        found = forecast(rewarded(rewards, groups), training={"scale_rewards": scaling})
        assert told(found, note) and "nan" not in repr(found)
        assert len(found.best_of) == points[0] and points[1] in (
            None,
            len(found.tilted),
        )
        json.dumps(found.record())
        assert all(
            np.isfinite(curve.value).all() for curve in found.best_of.curves.values()
        )


def test_the_record_is_plain_the_scores_stay_and_loaded_ones_give_the_same(
    good, tmp_path
):
    before = good.table.copy(deep=True)
    found = forecast(good, label="generation", training={"scale_rewards": "none"})
    record = found.record()
    assert (
        good.table.equals(before)
        and json.loads(json.dumps(record))["training"]["scale_rewards"] == "none"
    )
    assert record["limits"] == list(LIMITS) and record["best_of"]["points"] == [
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
    ]
    names = "value low high change change_low change_high known"
    assert set(record["tilted"]["curves"]["label"]) == set(names.split())
    assert record["tied_groups"] == pytest.approx(
        rk.diagnose(good).views[0].stats.dead.mean()
    )
    loaded = rk.load_scores(good.save(tmp_path))
    again = forecast(loaded, label="generation", training={"scale_rewards": "none"})
    outlook = again.record().pop("outlook")
    assert again.record() == {**record, "outlook": outlook}
    assert outlook["task"] == record["outlook"]["task"]
    assert outlook["untried"] and not record["outlook"]["untried"]
    assert len(found.table) == len(found.best_of.curves) * (
        len(found.best_of) + len(found.tilted)
    )
    row = found.table.query(
        "how == 'best_of' and figure == 'score/correct' and points == 8"
    ).iloc[0]
    assert row["value"] == found.best_of.curves["score/correct"].value[-1]


def test_what_is_printed_begins_with_what_moves_and_ends_with_what_to_do(good):
    title, *lines = repr(forecast(good)).splitlines()
    assert title.startswith("'arithmetic-v1': the task rises, from 0.17 to 0.")
    for words in (
        "selects for: correct from 0.169 to 0.54",
        "best of 8, KL at most 1.20",
        "0.54 (",
        f"Limit: {LIMITS[0]}",
    ):
        assert any(words in line for line in lines)
    assert len(lines) < 20 and lines[-1].startswith(
        "  Next: name a trusted column with label="
    )
    for sign, step in ((1, "the label rises"), (-1, "the label does not rise")):
        found = forecast(rewarded(REWARDS, GROUPS, right=sign * FIGURE), label="right")
        assert (
            repr(found).splitlines()[-1].startswith(f"  Next: {step}")
            and "label 'right' from" in found.verdict
        )


def test_a_reward_that_pays_for_something_else_loses_the_label_at_equal_kl():
    rewards, groups, figure = sampled(prompts=200)
    noise = np.random.default_rng(4).random(len(rewards))
    tilted = [
        forecast(rewarded(paid, groups, label=figure), label="label").tilted
        for paid in (rewards, noise)
    ]
    pair = at_equal_kl(*tilted)[1]["label"]
    assert (
        pair.difference[0] == pytest.approx(0, abs=1e-12) and (pair.high[1:] < 0).all()
    )
    assert pair.difference.tolist() == (pair.b - pair.a).tolist()
    assert ((pair.low <= pair.difference) & (pair.difference <= pair.high))[1:].all()


def test_the_common_kl_ends_with_the_shorter_curve_and_curves_are_straight_in_its_root(
    good, flawed
):
    short, long = (forecast(item).tilted for item in (good, flawed))
    kl, figures = at_equal_kl(short, long)
    assert kl[-1] == pytest.approx(short.kl[-1]) and short.kl[-1] < long.kl[-1]
    right = np.interp(
        np.sqrt(kl), np.sqrt(np.maximum(long.kl, 0)), long.curves["words"].value
    )
    assert figures["words"].b == pytest.approx(right)
    assert figures["words"].a[-1] == short.curves["words"].value[-1]


def ragged(seed):
    """Rewards with many ties, some missing, in groups of 1 to 6, and a column that goes with them."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(7), [6, 4, 5, 3, 2, 1, 6])
    rewards = generator.choice(
        [0.0, 0.25, 0.5, 1.0], size=len(groups), p=[0.4, 0.3, 0.2, 0.1]
    )
    rewards[generator.random(len(groups)) < 0.15] = np.nan
    return rewards, groups, generator.normal(size=len(groups))


def best_by_hand(rewards, n):
    """Probability of each sibling: every subset of n alike likely, its best ones sharing alike."""
    picked = np.zeros(len(rewards))
    subsets = list(combinations(range(len(rewards)), n))
    for subset in subsets:
        best = [row for row in subset if rewards[row] == max(rewards[list(subset)])]
        picked[best] += 1 / len(best) / len(subsets)
    return picked


@pytest.mark.parametrize("seed", range(2))
def test_best_of_n_is_the_mean_over_all_subsets(seed):
    rewards, groups, figure = ragged(seed)
    found = forecast(
        rewarded(rewards, groups, figure=figure), columns=["figure"]
    ).best_of
    judged = [
        np.flatnonzero((groups == group) & ~np.isnan(rewards))
        for group in np.unique(groups)
    ]
    largest = max(map(len, judged))
    assert found.points.tolist() == list(range(1, largest + 1))
    for at, n in enumerate(range(1, largest + 1)):
        there = [rows for rows in judged if len(rows) >= n]
        picks = [best_by_hand(rewards[rows], n) for rows in there]
        assert found.groups[at] == len(there)
        for name, values in (("reward", rewards), ("figure", figure)):
            right = np.mean(
                [pick @ values[rows] for pick, rows in zip(picks, there, strict=True)]
            )
            before = np.mean([values[rows].mean() for rows in there])
            assert found.curves[name].value[at] == pytest.approx(right, abs=1e-12)
            assert found.curves[name].change[at] == pytest.approx(
                right - before, abs=1e-12
            )


def trained(rewards, beta):
    """The policy (prompts, completions) that exact gradient ascent on E[reward] - beta KL ends at.

    A softmax over the completions, from the uniform one, whose divergence is penalised.
    """
    logits = np.zeros_like(rewards)
    for _ in range(100_000):
        policy = np.exp(logits - logits.max(axis=1, keepdims=True))
        policy /= policy.sum(axis=1, keepdims=True)
        gain = rewards - beta * np.log(policy * rewards.shape[1])
        gradient = policy * (gain - (policy * gain).sum(axis=1, keepdims=True))
        if np.abs(gradient).max() < 1e-12 * beta:
            break
        logits += gradient / beta
    return policy


def followed(rewards, training):
    """The tilted view of prompts whose siblings are all their completions, and the policy at each point.

    One column a completion says which it is: its expected value is the policy, over the number of prompts.
    """
    prompts, completions = rewards.shape
    rows = prompts * completions
    columns = {f"is_{row}": np.eye(rows)[row].tolist() for row in range(rows)}
    scores = rewarded(
        rewards.ravel(), np.repeat(np.arange(prompts), completions), **columns
    )
    view = forecast(scores, columns=list(columns), training=training).tilted
    policy = (
        np.array([view.curves[name].value for name in columns]) * prompts
    )  # (rows, points)
    return view, policy.T.reshape(-1, prompts, completions)


@pytest.mark.parametrize("scaling", ["none", "group"])
def test_a_policy_trained_to_convergence_is_the_tilt(scaling):
    """A policy trained to convergence at the beta of a point is the policy of that point.

    Of points whose every completion keeps 1 in 1000: gradient ascent crawls where one all but vanishes.
    """
    spreads = np.array([0.3, 1.0, 1.0, 2.0, 3.0, 0.0])[:, None]
    rewards = np.random.default_rng(3).random((6, 5)) * spreads + 4.0
    rewards[1] = [4.0, 4.0, 4.0, 5.0, 5.0]
    view, policies = followed(rewards, {"scale_rewards": scaling})
    spread = rewards.std(axis=1, ddof=1, keepdims=True)
    seen = rewards / np.where(spread > 0, spread, 1) if scaling == "group" else rewards
    checked = [at for at in range(1, len(view)) if policies[at].min() > 1e-3]
    assert len(checked) >= 8
    for at in checked:
        right = trained(seen, view.points[at])
        assert np.abs(policies[at] - right).max() < 1e-6
        divergence = (right * np.log(right * 5)).sum(axis=1).mean()
        assert view.kl[at] == pytest.approx(divergence, abs=1e-6)
        paid = (right * rewards).sum(axis=1).mean()
        assert view.curves["reward"].value[at] == pytest.approx(paid, abs=1e-6)
        assert view.sample_size[at] == pytest.approx(
            (1 / (right**2).sum(axis=1)).mean(), abs=1e-5
        )


@pytest.mark.parametrize(
    ("largest", "shown"), [(0, 0), (8, 8), (64, 64), (5000, 64 + 16)]
)
def test_very_large_groups_have_fewer_n_and_never_miss_the_largest(largest, shown):
    found = numbers_drawn(largest).tolist()
    assert (
        found[:64] == list(range(1, min(largest, 64) + 1))
        and found[-1:] == [largest][: len(found)]
    )
    assert len(found) == shown


def test_a_score_of_the_log_that_is_the_label_is_shown_once(tmp_path):
    rows = []
    for n in range(80):
        row = {"uid": str(n // 8), "input": "q", "output": "a", "gts": "4", "step": 1}
        rows.append({**row, "score": n % 7 / 6, "acc": float(n % 7 > 3)})
    file = tmp_path / "1.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    log = rk.load_rollouts(file)
    page = str(rk.forecast(rk.score(rk.recorded(log), log), label="acc"))
    assert "label 'logged/acc' from" in page and " acc" not in page
