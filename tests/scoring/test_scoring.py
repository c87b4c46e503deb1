"""score(): the scored table, its counts and record, transforms, other weights, and how scores read."""

import copy
import json
import math

import numpy as np
import pandas as pd
import pytest
from scored import Seen, made, score

import rewardkit as rk


def vowels(completion):
    return sum(letter in "aeiou" for letter in completion) / 4 if completion else None


def make(**options):
    parts = [
        rk.Component("vowels", vowels, why="they sing"),
        rk.Component("short", lambda size: size < 3, weight=0.5, gate=rk.gate("vowels", at_least=0.25)),
    ]
    return made(*parts, fields={"size": lambda completion: len(completion)}, **options)


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
    assert (record["timeout"], record["ignore_gates"]) == (None, False)
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


@pytest.mark.parametrize(
    ("reward", "rollouts", "said"),
    [
        (vowels, ROWS, "score takes a Reward, not <function vowels>; load or make one first"),
        (make(), 3, "not int"),
        (make(), [{"completion": "x", "score/vowels": 1}], "load_scores"),
        (make(transform=lambda rewards, groups: rewards[:1]), ROWS, r"returned shape \(1,\) for 5 rewards"),
        (make(transform=lambda rewards, groups: 1 / 0), ROWS, "ZeroDivisionError"),
    ],
)
def test_what_cannot_be_scored_is_said_in_a_sentence(reward, rollouts, said):
    with pytest.raises(rk.InputError, match=said):
        rk.score(reward, rollouts)


def shifted(rewards, groups):
    rewards += 10 * groups  # in place: it works on a copy
    return rewards


@pytest.mark.parametrize(
    ("transform", "rows", "final"),
    [
        (rk.weigh.min_max(), "pa qaa paaa qx q", [0.0, 1.0, 1.0, 0.0, math.nan]),
        (shifted, "pa pa qaa", [0.25, 0.25, 10.5]),
    ],
)
def test_a_transform_comes_last_with_the_raw_reward_beside_it(transform, rows, final):
    table = [{"prompt": row[0], "completion": row[1:]} for row in rows.split()]
    scores = score(rk.Component("vowels", vowels), rows=table, reward={"transform": transform})
    np.testing.assert_array_equal(scores.table["reward_raw"], scores.score("vowels"))
    np.testing.assert_allclose(scores.rewards, final)


def test_reweighing_gives_new_scores_without_running_a_component():
    seen = Seen()
    scores = score(rk.Component("c", seen), rk.Component("d", seen), rows="abc")
    other = scores.reweigh({"c": 0.25})
    assert len(seen.calls) == 6
    assert (other.rewards.tolist(), scores.rewards.tolist()) == ([1.25] * 3, [2.0] * 3)
    assert other.reward.weights == {"c": 0.25, "d": 1.0}
    shut = rk.score(make(gate=rk.gate("vowels", at_least=0.5)), ROWS).reweigh({"vowels": 8.0})
    np.testing.assert_array_equal(shut.rewards, [4.5, 8.0, 0.0, math.nan, 0.0])


def test_the_repr_is_a_summary_with_the_most_frequent_reason_of_errors():
    def fails(completion):
        raise ValueError("no\n" + "x" * 200 if completion else "odd")

    text = repr(rk.score(make(), ROWS)).splitlines()
    assert text[0] == "scores of 'r' on 5 rollouts, mean reward 0.688"
    assert text[2].split(maxsplit=3)[3] == "3 scored, 1 gated, 1 abstained"
    parts = (rk.Component("c", fails), rk.Component("size", len, columns={"obj": "completion"}, range=None))
    assert repr(score(*parts, rows=("", "a", "bbb"))).splitlines()[:3] == [
        "scores of 'r' on 3 rollouts, no reward judged",
        f"  {'c':<20} mean      -  0 scored, 3 error, most often ValueError: no {'x' * 85} (2 of 3)",
        f"  {'size':<20} mean  1.333  3 scored, from 0 to 3",
    ]


def test_progress_changes_nothing_and_stays_out_of_the_output(capfd):
    assert rk.score(make(), ROWS, progress=True).table.equals(rk.score(make(), ROWS).table)
    shown = capfd.readouterr()
    assert shown.out == "" and "scoring" in shown.err


@pytest.mark.parametrize("options", [{}, {"timeout": 30.0}], ids=str)
def test_a_reward_that_changes_its_arguments_changes_nobody_elses(options):
    def takes(ground_truth, parsed):
        ground_truth["a"].sort()
        parsed.append(1)
        return len(ground_truth["a"]) / 4 * len(parsed) / 4

    def takes_all(ground_truth):
        return [len(truth.pop("a")) / 4 for truth in ground_truth]

    shared = {"a": [3, 1, 2]}
    rollouts = rk.load_rollouts([{"prompt": "p", "completion": "x", "ground_truth": shared}] * 3)
    parts = [
        rk.Component("c", takes),
        rk.Component("d", takes, gate=rk.gate(lambda parsed: len(parsed) == 3)),
        rk.Component("e", takes_all, group=True),
        rk.Component("f", takes),
    ]
    reward = made(*parts, fields={"parsed": lambda completion: [1, 2, 3]})
    before = rollouts.fingerprint
    for _ in range(2):
        scores = rk.score(reward, rollouts, **options)
        assert {scores.score(name).sum() for name in "cdef"} == {2.25}
        assert scores.table["ground_truth"].tolist() == [{"a": [3, 1, 2]}] * 3
        assert scores.table["field/parsed"].tolist() == [[1, 2, 3]] * 3
    assert rollouts.fingerprint == before and shared == {"a": [3, 1, 2]}
