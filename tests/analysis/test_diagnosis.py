"""What a diagnosis counts, weighs and says of a table, by hand arithmetic, and of the bundled rewards."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from planted.tables import FAILS, scores_of

import rewardkit as rk
from rewardkit.analysis.statistics import deciding_end
from rewardkit.targets.adapter import Key


@pytest.fixture(scope="module")
def good(good_scores):
    return rk.diagnose(good_scores)


@pytest.fixture(scope="module")
def flawed(flawed_scores):
    return rk.diagnose(flawed_scores)


def test_dead_groups_are_split_into_all_wrong_all_right_and_otherwise_tied():
    by_group = np.ravel(
        [[0, 0], [0, 0], [1, 1], [0.5, 0.5], [0, 1], [1, 0]] * 4
    ).astype(float)
    parts, weights = {"correct": by_group, "other": np.zeros(48)}, {"correct": 3.0}
    scores = scores_of(
        parts, np.repeat(np.arange(24), 2), weights=weights, aggregation="weighted_mean"
    )
    (found,) = rk.diagnose(scores)["zero_std_groups"]
    assert found.evidence["value"] == pytest.approx(4 / 6)
    split = "33 % all wrong, 17 % all right, 17 % all right in part"
    assert split in found.sentence


ERRORS = [
    (1.0, "nan", "high", "their reward is missing, not low"),
    (1.0, "zero", "high", "these rows are paid without it"),
    (0.0, "nan", "info", "it is not paid, so no reward is lost"),
]


@pytest.mark.parametrize(("weight", "on_missing", "severity", "words"), ERRORS)
def test_an_error_says_what_it_did_to_the_reward(weight, on_missing, severity, words):
    parts = {
        "fine": np.arange(80) % 2,
        "broken": np.where(np.arange(80) % 2, 1.0, FAILS),
    }
    scores = scores_of(
        parts, np.arange(80) // 4, weights={"broken": weight}, on_missing=on_missing
    )
    (found,) = rk.diagnose(scores)["errors"]
    assert found.severity == severity and words in found.sentence


def test_keys_that_differ_by_row_are_told_once_of_the_component_that_is_paid():
    def returned(completion):
        return {"score": 1.0} if completion == "1" else {"read": 0.0, "said": 1.0}

    weights = {"read": 0.0, "score": 1.0, "said": 0.0}
    components = [
        rk.Component(name, Key(name), columns={"result": "f"}, weight=weight)
        for name, weight in weights.items()
    ]
    rows = [
        {"prompt_id": str(n // 4), "completion": str(n % 2), "ground_truth": "1"}
        for n in range(80)
    ]
    scores = rk.score(rk.Reward("made", {"f": returned}, components), rows)
    (found,) = rk.diagnose(scores)["errors"]
    assert found.component == "score"
    assert "without 'score', which other rows have" in found.sentence


def test_rows_that_a_route_has_no_reward_for_are_unjudged_and_where_all_are_it_is_an_error():
    rows = [
        {"prompt_id": str(n // 4), "completion": str(n), "data_source": "ab"[n >= 60]}
        for n in range(80)
    ]
    known = rk.Reward(
        "known",
        components=[rk.Component("c", lambda completion: int(completion) % 3 == 1)],
    )
    route = rk.Route("data_source", {"a": known})
    (found,) = rk.diagnose(rk.score(route, rows))["abstentions"]
    assert "no reward for data_source='b'" in found.sentence and set(
        found.rollout_ids
    ) <= set(range(61, 81))
    with pytest.raises(rk.InputError, match="no row of these scores has a reward"):
        rk.diagnose(rk.score(route, rows[60:]))


@pytest.mark.parametrize(
    ("left_out", "severity"),
    [
        (lambda n: n // 4 < 2, "info"),  # two prompts of twenty, whole
        (lambda n: n % 40 == 0, "info"),  # two calls of eighty
        (lambda n: n % 4 == 0 and n < 32, "warn"),  # a sibling of eight prompts
        (lambda n: n // 4 < 5, "high"),  # a quarter of the prompts
    ],
)
def test_prompts_that_are_not_judged_as_a_whole_are_no_warning_until_they_are_many(
    left_out, severity
):
    rows = [{"prompt_id": str(n // 4), "completion": str(n)} for n in range(80)]

    def parity(completion):
        return None if left_out(int(completion)) else int(completion) % 2

    reward = rk.Reward("made", components=[rk.Component("parity", parity)])
    (found,) = rk.diagnose(rk.score(reward, rows))["abstentions"]
    assert found.severity == severity


@pytest.mark.parametrize(
    ("every", "severities"), [(2, ["info", "info"]), (4, ["high", "high"])]
)
def test_components_of_which_each_scores_another_source_are_no_warning(
    every, severities
):
    rows = [{"prompt_id": str(n // 4), "completion": str(n)} for n in range(80)]

    def odd(completion):
        n = int(completion)
        return n % 2 if n // 4 % 2 else None

    def even(completion):
        n = int(completion)
        return None if n // 4 % every else n % 2

    components = [rk.Component("odd", odd), rk.Component("even", even)]
    reward = rk.Reward("made", components=components, on_missing="skip")
    found = rk.diagnose(rk.score(reward, rows))["abstentions"]
    graded = [item.severity for item in found if item.component]
    assert graded == severities


def test_a_share_whose_interval_reaches_the_threshold_is_inconclusive_and_says_how_many_prompts_would_do():
    correct = (np.random.default_rng(2).random(60) < 0.2).astype(float)
    (found,) = rk.diagnose(
        scores_of({"correct": correct}, np.repeat(np.arange(15), 4))
    )["sparse"]
    value, (low, _) = found.evidence["value"], found.evidence["interval"]
    assert found.severity == "info" and found.evidence["inconclusive"]
    half = (
        (value - low) * 1.644854 / 1.959964
    )  # the verdict leaves 5 % on its side, the interval 2.5 %
    assert found.evidence["n_needed"] == np.ceil(15 * (half / (value - 0.75)) ** 2)
    assert found.sentence.endswith("needed in all).")
    many = replace(found, evidence={**found.evidence, "n_needed": 244_367})
    assert many.sentence.endswith(
        "Inconclusive: too few prompts (about 240,000 needed in all)."
    )


@pytest.mark.parametrize("tests", [1, 20])
@pytest.mark.parametrize("above", [True, False])
def test_a_verdict_leaves_one_chance_in_twenty_on_its_side(tests, above):
    """Of normal estimates of a value that is at the threshold itself, past it by the end that decides."""
    found = np.random.default_rng(tests).standard_normal(200_000)
    half = NormalDist().inv_cdf(1 - 0.025 / tests)  # of the interval that is shown
    ends = deciding_end(found, found + (-1 if above else 1) * half, tests)
    passed = (ends > 0).mean() if above else (ends < 0).mean()
    assert passed == pytest.approx(0.05 / tests, rel=0.1)


def test_tied_pairs_are_the_pairs_of_siblings_with_the_same_score_counted_by_hand():
    a, b = (
        [1.0, 1.0, 0.0, 0.5, 0.5, 0.5, 0.0],
        [0.1, 0.2, 0.3, np.nan, np.nan, 0.3, 0.4],
    )
    table = rk.diagnose(
        scores_of({"a": a, "b": b}, [0, 0, 0, 1, 1, 1, 2], on_missing="skip")
    ).components
    assert (
        table["tied_pairs"].tolist() == [4 / 6, 0.0]
        and table["dead_groups"].tolist()[0] == 1 / 2
    )


DOCUMENTED = "errors correct, saturated format, redundant closed, constant steps, dominant detail"


def test_the_documented_faults_of_the_flawed_gallery_reward_are_found_and_survive_the_disk(
    flawed, tmp_path
):
    assert set(DOCUMENTED.split(", ")) <= {
        f"{item.code} {item.component}" for item in flawed.findings
    }
    loaded = rk.load_scores(flawed.scores.save(tmp_path))
    assert rk.diagnose(loaded).record() == flawed.record()


def test_the_good_gallery_reward_has_only_findings_that_are_true_of_its_data(good):
    allowed = {
        ("sparse", "correct", ""),
        ("binary", "correct", ""),
        ("phantom", "format", ""),  # likewise: it goes with the task
        ("zero_std_groups", None, "task=two-steps"),
        (
            "saturated",
            "format",
            "policy=five-shot",
        ),  # for information: beside the task that is no fault
    }
    assert {(item.code, item.component, item.part) for item in good.findings} == allowed
    assert good["saturated"][0].severity == "info"
    (hard,) = good["zero_std_groups"]
    table = good.scores.table.assign(group=good.scores.groups)
    rewards = table[table["task"] == "two-steps"].groupby("group")["reward"]
    dead = rewards.max() == rewards.min()
    assert hard.severity == "warn"
    assert hard.evidence["value"] == pytest.approx(dead.mean())
    by_policy = good.group_signal.set_index("slice")["none_right"]
    assert by_policy[["policy=five-shot", "policy=one-shot"]].tolist() == pytest.approx(
        [0.42, 0.58], abs=0.005
    )


def test_every_finding_of_the_bundled_rewards_has_an_interval_a_threshold_and_rows_to_read(
    good, flawed
):
    assert good.findings and flawed.findings
    for item in (*good.findings, *flawed.findings):
        low, high = item.evidence["interval"]
        assert low - 1e-9 <= item.evidence["value"] <= high + 1e-9, item.code
        assert item.threshold is not None and item.rollout_ids, item.code


def test_progress_rises_to_all_of_the_work_and_ends_it_where_it_says_so(good):
    heard = []
    with_slices = rk.diagnose(
        good.scores, by=["task"], progress=lambda share: not heard.append(share)
    )
    assert heard == sorted(heard) and heard[-1] == pytest.approx(1.0) and len(heard) > 5
    assert with_slices.record() == rk.diagnose(good.scores, by=["task"]).record()
    calls = []
    with pytest.raises(rk.Cancelled):
        rk.diagnose(good.scores, by=["task"], progress=calls.append)
    assert len(calls) == 1
