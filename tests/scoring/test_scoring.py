"""score(): the scored table, its counts and record, transforms, other weights, diagnosis after loading."""

import copy
import json
import math

import numpy as np
import pandas as pd
import pytest

import rewardkit as rk


def vowels(completion):
    return sum(letter in "aeiou" for letter in completion) / 4 if completion else None


def make(**options):
    return rk.Reward(
        "r",
        {"size": lambda completion: len(completion)},
        [
            rk.Component("vowels", vowels, weight=1.0, why="they sing"),
            rk.Component("short", lambda size: size < 3, weight=0.5, gate=rk.gate("vowels", at_least=0.25)),
        ],
        **options,
    )


ROWS = [
    {"prompt": prompt, "completion": text, "kept": number}
    for number, (prompt, text) in enumerate([("p", "aa"), ("p", "eeee"), ("p", "x"), ("q", ""), ("q", "ob")])
]


def test_the_table_has_the_rollouts_fields_scores_statuses_errors_and_rewards():
    table = rk.score(make(), ROWS).table
    assert list(table) == [
        "rollout_id", "prompt", "completion", "kept", "field/size",
        "score/vowels", "status/vowels", "error/vowels", "score/short", "status/short", "error/short",
        "reward_raw", "reward",
    ]  # fmt: skip
    assert table["kept"].tolist() == [0, 1, 2, 3, 4]
    assert table["field/size"].tolist() == [2, 4, 1, 0, 2]
    np.testing.assert_array_equal(table["score/vowels"], [0.5, 1.0, 0.0, math.nan, 0.25])
    np.testing.assert_array_equal(table["score/short"], [1.0, 0.0, math.nan, math.nan, 1.0])
    assert table["status/short"].tolist() == ["scored", "scored", "gated", "abstained", "scored"]
    np.testing.assert_array_equal(table["reward"], [1.0, 1.0, 0.0, math.nan, 0.75])


def test_counts_and_record_say_what_happened():
    scores = rk.score(make(), ROWS)
    assert scores.counts["short"] == {"scored": 3, "gated": 1, "abstained": 1, "error": 0}
    record = scores.record
    assert (record["rewards_missing"], record["seed"], record["counts"]) == (1, None, scores.counts)
    assert record["reward"]["components"][0]["why"] == "they sing"
    assert record["reward"]["weights"] == {"vowels": 1.0, "short": 0.5}
    assert set(record["reward"]["fingerprints"]) == {"scoring", "reward"}
    assert record["reward"]["sources"].keys() == {"test_scoring.py"}
    assert record["rollouts"]["fingerprint"] == rk.load_rollouts(ROWS).fingerprint
    assert {"python", "numpy", "reward-workbench"} <= record["versions"].keys()
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_the_callers_rows_table_and_rollouts_are_never_changed():
    rows, frame = copy.deepcopy(ROWS), pd.DataFrame(ROWS, index=[5, 4, 3, 2, 1])
    rollouts = rk.load_rollouts(ROWS)
    kept_frame, kept_table = frame.copy(deep=True), rollouts.table.copy(deep=True)
    for source in (rows, frame, rollouts):
        rk.score(make(transform=rk.weigh.rank()), source, notes=True)
    assert rows == ROWS
    pd.testing.assert_frame_equal(frame, kept_frame)
    pd.testing.assert_frame_equal(rollouts.table, kept_table)


def test_a_selection_of_rollouts_is_scored_in_its_order():
    rollouts = rk.load_rollouts(ROWS).select([4, 0])
    scores = rk.score(make(), rollouts)
    assert scores.table["rollout_id"].tolist() == [5, 1]
    assert scores.rewards.tolist() == [0.75, 1.0]
    assert scores.table.index.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["score/vowels", "status/x", "field/f", "note/x", "gate/reward"])
def test_rollouts_that_look_scored_already_are_an_error(name):
    with pytest.raises(rk.RolloutsError, match="load_scores"):
        rk.score(make(), [{"completion": "x", name: 1}])


def test_a_transform_comes_last_with_the_raw_reward_beside_it():
    rows = [
        {"prompt": p, "completion": c}
        for p, c in (("p", "a"), ("q", "aa"), ("p", "aaa"), ("q", "x"), ("q", ""))
    ]
    scores = rk.score(
        rk.Reward("r", components=[rk.Component("vowels", vowels)], transform=rk.weigh.min_max()), rows
    )
    np.testing.assert_array_equal(scores.table["reward_raw"], [0.25, 0.5, 0.75, 0.0, math.nan])
    np.testing.assert_array_equal(scores.table["reward"], [0.0, 1.0, 1.0, 0.0, math.nan])


def test_reweighing_applies_the_transform_again():
    rows = [{"prompt": "p", "completion": c} for c in ("a", "aa", "b", "")]
    parts = [rk.Component("vowels", vowels), rk.Component("b", lambda completion: "b" in completion)]
    reward = rk.Reward("r", components=parts, transform=rk.weigh.min_max(), on_missing="skip")
    other = rk.score(reward, rows).reweigh({"b": 0.25})
    np.testing.assert_array_equal(other.table["reward_raw"], [0.25, 0.5, 0.25, 0.0])
    np.testing.assert_array_equal(other.table["reward"], [0.5, 1.0, 0.5, 0.0])


def test_a_transform_within_the_batch_does_not_look_at_groups():
    reward = rk.Reward(
        "r", components=[rk.Component("vowels", vowels)], transform=rk.weigh.rank(within="batch")
    )
    rows = [{"prompt": p, "completion": c} for p, c in (("p", "a"), ("q", "aa"), ("r", "aaa"))]
    assert rk.score(reward, rows).rewards.tolist() == [0.0, 0.5, 1.0]


def test_a_standardised_reward_is_clipped_and_has_mean_zero_in_each_group():
    reward = rk.Reward(
        "r", components=[rk.Component("vowels", vowels)], transform=rk.weigh.standardise(clip=1.0)
    )
    rows = [{"prompt": "p", "completion": "a" * n} for n in (1, 1, 1, 4)]
    scores = rk.score(reward, rows)
    raw = np.array([0.25, 0.25, 0.25, 1.0])
    expected = np.clip((raw - raw.mean()) / raw.std(ddof=1), -1.0, 1.0)
    np.testing.assert_allclose(scores.rewards, expected)
    assert scores.rewards.max() == 1.0


def test_a_transform_of_ones_own_gets_rewards_and_group_codes():
    def shifted(rewards, groups):
        rewards += 10 * groups  # in place: it works on a copy
        return rewards

    scores = rk.score(
        rk.Reward("r", components=[rk.Component("c", lambda completion: True)], transform=shifted), ROWS
    )
    assert scores.rewards.tolist() == [1.0, 1.0, 1.0, 11.0, 11.0]
    assert scores.table["reward_raw"].tolist() == [1.0] * 5


def test_a_transform_that_loses_rows_is_an_error():
    reward = rk.Reward(
        "r", components=[rk.Component("c", vowels)], transform=lambda rewards, groups: rewards[:1]
    )
    with pytest.raises(rk.RewardError, match=r"transform returned shape \(1,\) for 5 rewards"):
        rk.score(reward, ROWS)


def test_a_transform_that_raises_is_an_error_of_the_reward():
    reward = rk.Reward("r", components=[rk.Component("c", vowels)], transform=lambda rewards, groups: 1 / 0)
    with pytest.raises(rk.RewardError, match="ZeroDivisionError"):
        rk.score(reward, ROWS)


def test_reweighing_gives_new_scores_without_running_a_component():
    calls = []

    def counted(completion):
        calls.append(completion)
        return True

    scores = rk.score(
        rk.Reward("r", components=[rk.Component("c", counted), rk.Component("d", counted)]), ROWS
    )
    before = len(calls)
    other = scores.reweigh({"c": 0.25})
    assert len(calls) == before == 10
    assert (other.rewards.tolist(), scores.rewards.tolist()) == ([1.25] * 5, [2.0] * 5)
    assert other.reward.weights == {"c": 0.25, "d": 1.0}
    assert other.table["score/c"].equals(scores.table["score/c"])


def test_reweighing_an_unknown_component_is_an_error():
    with pytest.raises(rk.RewardError, match=r"did you mean 'vowels'\?"):
        rk.score(make(), ROWS).reweigh({"vowel": 1})


def test_reweighing_keeps_a_closed_whole_reward_gate_closed():
    scores = rk.score(make(gate=rk.gate("vowels", at_least=0.5)), ROWS)
    np.testing.assert_array_equal(scores.reweigh({"vowels": 8.0}).rewards, [4.5, 8.0, 0.0, math.nan, 0.0])


def test_the_repr_is_a_summary():
    text = repr(rk.score(make(), ROWS))
    assert text.startswith("scores of 'r' on 5 rollouts, mean reward 0.688")
    assert "3 scored, 1 gated, 1 abstained" in text
    assert "no reward judged" in repr(
        rk.score(rk.Reward("r", components=[rk.Component("c", lambda completion: None)]), ROWS)
    )


def test_rows_may_be_scored_by_components_that_ask_for_nothing():
    assert (
        rk.score(rk.Reward("r", components=[rk.Component("c", lambda: 0.5)]), ROWS).rewards.tolist()
        == [0.5] * 5
    )


def test_whole_numbers_with_gaps_reach_a_component_as_whole_numbers_and_none():
    seen = []

    def f(n):
        seen.append(n)
        return True

    rk.score(
        rk.Reward("r", components=[rk.Component("c", f)]), [{"completion": "a", "n": n} for n in (1, None, 3)]
    )
    assert seen == [1, None, 3] and type(seen[0]) is int


def test_progress_shows_every_field_and_component_and_changes_nothing(capfd):
    scores = rk.score(make(), ROWS, progress=True)
    assert scores.table.equals(rk.score(make(), ROWS).table)
    assert capfd.readouterr().out == ""
