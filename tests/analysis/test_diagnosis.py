"""Each finding: a planted fault that it must find, and a clean control on which it must be silent."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from score_tables import sampled, scores_of

import rewardkit as rk
from rewardkit.analysis.findings.rule import finding
from rewardkit.analysis.statistics.bootstrap import deciding_end

PROMPTS, SIBLINGS = 100, 8


def healthy(seed=0, rate=0.45):
    """A 0/1 component at a middling pass rate and a small, varied, unrelated second one."""
    correct, groups = sampled(seed, prompts=PROMPTS, generations=SIBLINGS, rate=rate, spread=0.05)
    tidy = np.random.default_rng(seed + 500).beta(3, 2, size=len(correct))
    return {"correct": correct, "tidy": tidy}, groups


def codes(scores, **options):
    return {
        (item.code, item.component)
        for item in rk.diagnose(scores, **options).findings
        if not item.evidence.get("inconclusive")
    }


def test_few_groups_that_carry_the_unscaled_advantage_are_found_without_scaling_only():
    parts, groups = healthy(7)
    wide = np.repeat(np.arange(PROMPTS) < 10, SIBLINGS)
    scores = scores_of({"points": np.where(wide, 40 * parts["correct"], parts["correct"])}, groups)
    assert ("high_variance", None) in codes(scores, training={"scale_rewards": "none"})
    assert ("high_variance", None) not in codes(scores)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rate", [0.35, 0.5, 0.65])
def test_a_healthy_reward_earns_no_warning(seed, rate):
    parts, groups = healthy(seed, rate)
    diagnosis = rk.diagnose(scores_of(parts, groups, weights={"correct": 1.0, "tidy": 0.5}))
    assert [item for item in diagnosis.findings if item.severity != "info"] == []


@pytest.mark.parametrize("seed", range(6))
def test_a_small_extra_earns_at_most_the_warning_that_group_scaling_blows_it_up(seed):
    parts, groups = healthy(seed)
    found = codes(scores_of(parts, groups, weights={"correct": 1.0, "tidy": 0.1}))
    assert found <= {("binary", "correct"), ("amplified_noise", None), ("bimodal", None)}


def test_a_penalty_that_rarely_fires_is_not_sparse():
    parts, groups = healthy(1)
    loops = (np.random.default_rng(2).random(len(groups)) < 0.02).astype(float)
    found = codes(
        scores_of({**parts, "loops": loops}, groups, weights={"correct": 1.0, "tidy": 0.2, "loops": -0.5})
    )
    assert not [code for code, component in found if component == "loops"]


def test_errors_and_scores_out_of_range_are_two_findings():
    rows = [{"prompt_id": str(i // 4), "completion": str(i)} for i in range(80)]

    def faulty(completion):
        number = int(completion)
        return 1 / (number % 5) if number % 5 != 1 else 7.0

    reward = rk.Reward("r", components=[rk.Component("faulty", faulty)])
    diagnosis = rk.diagnose(rk.score(reward, rows))
    (errors,), (outside,) = diagnosis["errors"], diagnosis["out_of_range"]
    assert errors.evidence["rows"] == outside.evidence["rows"] == 16
    assert "ZeroDivisionError" in errors.sentence
    assert "7.0" in outside.sentence
    assert errors.severity == outside.severity == "high"
    assert set(errors.rollout_ids) <= {row + 1 for row in range(0, 80, 5)}


def test_a_gate_that_is_hardly_ever_open_is_found():
    parts, groups = healthy(3)
    rows = [
        {
            "prompt_id": str(group),
            "completion": "x",
            "right": parts["correct"][row],
            "lucky": float(row % 50 == 0),
        }
        for row, group in enumerate(groups)
    ]
    reward = rk.Reward("r", components=[
        rk.Component("correct", lambda right: right),
        rk.Component("bonus", lambda right: right, gate=rk.gate("lucky", at_least=1.0)),
        rk.Component("often", lambda right: right, gate=rk.gate("correct", at_least=1.0)),
    ])  # fmt: skip
    assert {item.component for item in rk.diagnose(rk.score(reward, rows))["gate_rarely_open"]} == {"bonus"}


def test_the_shares_of_a_sparse_finding_are_those_of_a_count_by_hand():
    correct = np.array([0, 0, 0, 0, 0, 0, 0, 1] * 5 + [0] * 8 * 7, dtype=float)
    groups = np.repeat(np.arange(12), 8)
    (finding,) = rk.diagnose(scores_of({"correct": correct}, groups))["sparse"]
    assert finding.evidence["value"] == pytest.approx(91 / 96)
    assert finding.evidence["groups_at_minimum"] == pytest.approx(7 / 12)
    assert finding.n == 96
    assert finding.severity == "high"


def test_dead_groups_are_split_into_all_wrong_all_right_and_otherwise_tied():
    by_group = [[0, 0], [0, 0], [1, 1], [0.5, 0.5], [0, 1], [1, 0]] * 4
    scores = scores_of({"correct": np.ravel(by_group).astype(float)}, np.repeat(np.arange(24), 2))
    (finding,) = rk.diagnose(scores)["zero_std_groups"]
    evidence = finding.evidence
    assert evidence["value"] == pytest.approx(4 / 6)
    assert (evidence["all_wrong"], evidence["all_right"], evidence["otherwise"]) == pytest.approx(
        (2 / 6, 1 / 6, 1 / 6)
    )


def test_a_share_whose_interval_reaches_the_threshold_is_inconclusive_and_says_how_many_prompts_would_do():
    correct, groups = sampled(2, prompts=15, generations=4, rate=0.2)
    (finding,) = rk.diagnose(scores_of({"correct": correct}, groups))["sparse"]
    assert finding.severity == "info"
    assert finding.evidence["inconclusive"]
    assert finding.evidence["n_needed"] > 15
    assert "Inconclusive: too few prompts (about" in finding.sentence
    many = replace(finding, evidence={**finding.evidence, "n_needed": 244_367})
    assert many.sentence.endswith("Inconclusive: too few prompts (about 240,000 needed in all).")
    alone = replace(finding, evidence={**finding.evidence, "too_few": 1})
    assert alone.sentence.endswith("Inconclusive: 1 group is too few for a verdict.")


def test_effective_weights_are_the_mean_share_of_the_variance_over_live_groups():
    a = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    b = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    scores = scores_of({"a": a, "b": b}, [0, 0, 1, 1, 2, 2], weights={"a": 1.0, "b": 0.5})
    view = rk.diagnose(scores).views[0]
    # group 0 varies by a alone, group 1 by b alone, group 2 is dead
    assert view.effective_weights == pytest.approx({"a": 0.5, "b": 0.5})
    unscaled = rk.diagnose(scores, training={"scale_rewards": "none"}).views[0]
    assert unscaled.effective_weights == pytest.approx({"a": 0.8, "b": 0.2})  # variances 0.5 and 0.125


@pytest.mark.parametrize("aggregation", ["weighted_sum", "weighted_mean"])
def test_effective_weights_add_up_to_one(aggregation):
    parts, groups = healthy(4)
    scores = scores_of(parts, groups, weights={"correct": 1.0, "tidy": 0.7}, aggregation=aggregation)
    for scaling in ("group", "batch", "none"):
        view = rk.diagnose(scores, training={"scale_rewards": scaling}).views[0]
        assert sum(view.effective_weights.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("components", "groups"),
    [
        ({"c": [1.0]}, [0]),
        ({"c": [1.0, 0.0, 1.0]}, [0, 1, 2]),
        ({"c": [1.0, 0.0, 1.0, 0.0]}, [0, 0, 0, 0]),
        ({"c": [np.nan, np.nan, 0.5]}, [0, 0, 1]),
        ({"c": [1.0, 1.0, 1.0]}, [0, 0, 1]),
        ({"c": [0.0, 1.0, 0.5]}, [0, 0, 1]),
    ],
    ids=["one row", "groups of one", "one group", "nearly all missing", "all the same", "ragged groups"],
)
def test_small_and_odd_tables_give_a_diagnosis_without_a_verdict_that_they_cannot_bear(components, groups):
    diagnosis = rk.diagnose(scores_of(components, groups))
    lost = ("abstentions", "errors")
    assert {item.severity for item in diagnosis.findings if item.code not in lost} <= {"info"}
    assert len(diagnosis.components) == 1
    assert repr(diagnosis).startswith("made: ")


def test_scores_without_a_single_reward_are_an_error_or_say_that_nothing_was_judged():
    rows = [{"prompt_id": "p", "completion": "x", "data_source": "other"}]
    route = rk.Route(
        "data_source", {"known": rk.Reward("r", components=[rk.Component("c", lambda completion: 1.0)])}
    )
    with pytest.raises(rk.InputError, match="no row of these scores has a reward"):
        rk.diagnose(rk.score(route, rows))


def test_every_finding_is_about_its_own_part_of_a_route():
    diagnosis = rk.diagnose(rk.score(rk.load_reward("gallery:mixed"), "gallery:mixed"))
    assert {item.part for item in diagnosis.findings} == {"people-json", "largest-choice"}
    assert [view.part for view in diagnosis.views] == ["people-json", "largest-choice"]


def test_unknown_thresholds_and_scalings_are_refused():
    scores = scores_of({"c": [0.0, 1.0]}, [0, 0])
    with pytest.raises(rk.InputError, match="did you mean 'sparse'"):
        rk.diagnose(scores, thresholds={"sparce": 0.5})
    with pytest.raises(ValueError, match="scale_rewards='std'"):
        rk.diagnose(scores, training={"scale_rewards": "std"})


def test_a_threshold_can_be_set_by_the_caller():
    parts, groups = healthy(1)
    scores = scores_of(parts, groups, weights={"correct": 1.0, "tidy": 0.2})
    assert rk.diagnose(scores)["sparse"] == []
    assert rk.diagnose(scores, thresholds={"sparse": 0.3})["sparse"]


def test_the_diagnosis_of_loaded_scores_is_the_one_of_the_scores(tmp_path):
    scores = rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")
    loaded = rk.load_scores(scores.save(tmp_path))
    assert rk.diagnose(loaded).record() == rk.diagnose(scores).record()


def test_the_good_gallery_reward_has_only_findings_that_are_true_of_its_data():
    diagnosis = rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic"))
    allowed = {
        ("sparse", "correct", ""),
        ("binary", "correct", ""),
        ("zero_std_groups", None, "task=two-steps"),
        ("saturated", "format", "policy=five-shot"),  # for information: beside the task that is no fault
    }
    assert {(item.code, item.component, item.part) for item in diagnosis.findings} == allowed
    assert diagnosis["saturated"][0].severity == "info"
    (hard,) = diagnosis["zero_std_groups"]
    rows = [at for at, row in enumerate(diagnosis.scores.rollouts) if row["task"] == "two-steps"]
    rewards, groups = diagnosis.scores.rewards[rows], diagnosis.scores.groups[rows]
    dead = [np.ptp(rewards[groups == group]) == 0 for group in np.unique(groups)]
    assert hard.evidence["value"] == pytest.approx(np.mean(dead)) and hard.severity == "warn"
    by_policy = diagnosis.group_signal.set_index("slice")["none_right"]
    assert by_policy["policy=five-shot"] == pytest.approx(0.42, abs=0.005)
    assert by_policy["policy=one-shot"] == pytest.approx(0.58, abs=0.005)


def test_a_diagnosis_in_a_notebook_is_a_short_page_of_harmless_html():
    diagnosis = rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic"))
    page = diagnosis._repr_html_()
    assert "92 % of 200 groups have a signal" in page and page.count("<table>") == 3
    assert all(item.code in page for item in diagnosis.findings) and len(page) < 12_000
    held = diagnosis.views[0].effective_weights["detail"]
    assert f"{held:.0%}".replace("%", " %") in page
    hostile = rk.Reward("<script>alert(1)</script>", components=[rk.Component("a", lambda completion: 1.0)])
    found = rk.diagnose(rk.score(hostile, [{"completion": "x"}, {"completion": "y"}]))._repr_html_()
    assert "<script>" not in found and "&lt;script&gt;" in found
    assert "No group has two completions with a reward" in found


def test_the_documented_faults_of_the_flawed_gallery_reward_are_found():
    found = codes(rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic"))
    documented = {
        ("errors", "correct"),
        ("saturated", "format"),
        ("redundant", "closed"),
        ("constant", "steps"),
        ("dominant", "detail"),
    }
    assert documented <= found


@pytest.mark.parametrize(
    "options",
    [
        {"gate": rk.gate("correct", at_least=0.95)},
        {"aggregation": "weighted_mean", "on_missing": "skip"},
        {"on_missing": "zero"},
    ],
    ids=["whole-reward gate", "mean that skips", "missing as zero"],
)
def test_effective_weights_add_up_to_one_whatever_is_gated_or_missing(options):
    parts, groups = healthy(4)
    missing = np.random.default_rng(1).random(len(groups)) < 0.2
    parts["tidy"] = np.where(missing, np.nan, parts["tidy"])
    diagnosis = rk.diagnose(scores_of(parts, groups, weights={"correct": 1.0, "tidy": 0.7}, **options))
    assert sum(diagnosis.views[0].effective_weights.values()) == pytest.approx(1.0)
    assert diagnosis["opposed"] == []


def test_rows_that_a_route_has_no_reward_for_are_said_to_be_unjudged():
    rows = [
        {"prompt_id": str(n // 4), "completion": "x" * (n % 3), "data_source": "ab"[n >= 60]}
        for n in range(80)
    ]
    known = rk.Reward("known", components=[rk.Component("c", lambda completion: len(completion) == 1)])
    diagnosis = rk.diagnose(rk.score(rk.Route("data_source", {"a": known}), rows))
    (finding,) = diagnosis["abstentions"]
    assert (finding.component, finding.severity, finding.evidence["rows"]) == (None, "high", 20)
    assert "no reward for data_source='b'" in finding.sentence
    assert set(finding.rollout_ids) <= set(range(61, 81))


@pytest.mark.parametrize(
    ("weight", "on_missing", "severity", "words"),
    [
        (1.0, "nan", "high", "their reward is missing, not low"),
        (1.0, "zero", "high", "these rows are paid without it"),
        (0.0, "nan", "info", "it is not paid, so no reward is lost"),
    ],
)
def test_an_error_says_what_it_did_to_the_reward(weight, on_missing, severity, words):
    rows = [{"prompt_id": str(n // 4), "completion": str(n)} for n in range(80)]
    parts = [
        rk.Component("fine", lambda completion: int(completion) % 2),
        rk.Component("broken", lambda completion: 1 / (int(completion) % 2), range=None, weight=weight),
    ]
    (finding,) = rk.diagnose(rk.score(rk.Reward("r", components=parts, on_missing=on_missing), rows))[
        "errors"
    ]
    assert finding.severity == severity
    assert words in finding.sentence


def test_every_finding_of_the_bundled_rewards_has_an_interval_a_threshold_and_rows_to_read():
    for name in ("arithmetic.flawed", "arithmetic"):
        for item in rk.diagnose(rk.score(rk.load_reward(f"gallery:{name}"), "gallery:arithmetic")).findings:
            low, high = item.evidence["interval"]
            assert low - 1e-9 <= item.evidence["value"] <= high + 1e-9, item.code
            assert item.threshold is not None, item.code
            assert item.rollout_ids, item.code


def test_intervals_resample_prompts_that_several_policies_share():
    """The same prompt under eight policies with the same outcome is one draw, not eight."""
    generator = np.random.default_rng(3)
    hard = generator.random(40) < 0.8
    rows = [
        {
            "prompt_id": f"p{p}",
            "policy": f"v{v}",
            "completion": f"{p}-{v}-{s}",
            "score": 0.0 if hard[p] else s,
        }
        for p in range(40)
        for v in range(8)
        for s in range(2)
    ]
    reward = rk.Reward("r", components=[rk.Component("correct", lambda score: score)])
    scores = rk.score(reward, rows)
    low, high = rk.diagnose(scores, thresholds={"sparse": 0.5})["sparse"][0].evidence["interval"]
    # 40 prompts: about 2 * 1.96 * .2 / sqrt(40) = .12; 320 groups would give .04
    assert high - low > 0.08


def test_prompts_of_one_id_in_two_data_sources_are_two_prompts():
    rows = [{"prompt_id": "1", "data_source": source, "completion": "x"} for source in "aabb"]
    assert rk.load_rollouts(rows).prompts.tolist() == [0, 0, 1, 1]


def test_unscaled_effective_weights_count_a_group_by_its_squared_deviation():
    """Group 0: a varies, 2 siblings, sum of squares 0.5. Group 1: b varies, 8 siblings, sum of squares 2."""
    a = np.array([0.0, 1.0] + [0.0] * 8)
    b = np.array([0.0, 0.0] + [0.0, 1.0] * 4)
    view = rk.diagnose(
        scores_of({"a": a, "b": b}, [0, 0] + [1] * 8), training={"scale_rewards": "none"}
    ).views[0]
    assert view.effective_weights == pytest.approx({"a": 0.2, "b": 0.8})


def test_the_prompts_needed_grow_with_the_square_of_the_interval():
    correct, groups = sampled(2, prompts=15, generations=4, rate=0.2)
    (finding,) = rk.diagnose(scores_of({"correct": correct}, groups))["sparse"]
    value, (low, _) = finding.evidence["value"], finding.evidence["interval"]
    half = (value - low) * 1.644854 / 1.959964  # the verdict leaves 5 % on its side, the interval 2.5 %
    assert finding.evidence["n_needed"] == np.ceil(15 * (half / (value - 0.75)) ** 2)


@pytest.mark.parametrize("tests", [1, 20])
@pytest.mark.parametrize("above", [True, False])
def test_a_verdict_leaves_one_chance_in_twenty_on_its_side(tests, above):
    """Of normal estimates of a value that is at the threshold itself, past it by the end that decides."""
    generator, normal = np.random.default_rng(tests), NormalDist()
    found = generator.standard_normal(200_000)
    half = normal.inv_cdf(1 - 0.025 / tests)  # of the interval that is shown
    side = -1 if above else 1
    ends = deciding_end(found, found + side * half, tests)
    passed = (ends > 0).mean() if above else (ends < 0).mean()
    assert passed == pytest.approx(0.05 / tests, rel=0.1)


def test_a_finding_is_sure_where_its_shown_interval_reaches_a_little_across_the_threshold():
    view = rk.diagnose(scores_of({"c": [0.0, 1.0] * 20}, np.repeat(np.arange(20), 2))).views[0]

    def graded(low, **options):
        measured = {"value": 0.6, "interval": (low, 0.8), "limit": 0.5}
        return finding(view, "sparse", "c", n=40, **measured, **options)

    assert graded(0.49).severity == "warn" and graded(0.49).evidence["interval"] == (0.49, 0.8)
    assert graded(0.47).severity == "info" and graded(0.47).evidence["inconclusive"]
    assert graded(0.485).severity == "warn" and graded(0.485, tests=20).severity == "info"


def test_components_that_are_only_recorded_do_not_oppose():
    parts, groups = healthy(2)
    parts = {"a": parts["correct"], "b": 1 - parts["correct"], "c": parts["tidy"]}
    scores = scores_of(parts, groups, weights={"a": 1.0, "b": 0.0, "c": 0.0})
    assert rk.diagnose(scores)["opposed"] == []


@pytest.mark.parametrize("aggregation", ["weighted_sum", "weighted_mean"])
def test_dead_groups_are_all_right_by_the_scores_of_the_task_whatever_they_are_paid(aggregation):
    correct = np.repeat([0.0, 1.0, 1.0, 0.0], 4 * 5)
    groups = np.repeat(np.arange(20), 4)
    parts = {"correct": correct, "other": np.zeros(80)}
    scores = scores_of(parts, groups, weights={"correct": 3.0, "other": 1.0}, aggregation=aggregation)
    (finding,) = rk.diagnose(scores)["zero_std_groups"]
    assert (finding.evidence["all_wrong"], finding.evidence["all_right"]) == pytest.approx((0.5, 0.5))


def test_progress_rises_to_all_of_the_work_and_ends_it_where_it_says_so():
    scores = rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")
    heard = []
    with_slices = rk.diagnose(scores, by=["task"], progress=lambda share: not heard.append(share))
    assert heard == sorted(heard) and heard[-1] == pytest.approx(1.0) and len(heard) > 5
    assert with_slices.record() == rk.diagnose(scores, by=["task"]).record()
    calls = []
    with pytest.raises(rk.Cancelled):
        rk.diagnose(scores, by=["task"], progress=lambda share: calls.append(share))
    assert len(calls) == 1


def test_a_mean_of_one_component_and_a_penalty_shows_its_diagnosis():
    parts = [
        rk.Component("correct", rk.verify.matches, columns={"prediction": "completion"}),
        rk.Component("style", lambda completion: len(completion) / 100, weight=-0.5),
    ]
    reward = rk.Reward("r", components=parts, aggregation="weighted_mean")
    rows = [
        {"prompt_id": f"p{at // 4}", "completion": "ab"[at % 2] * (1 + at % 3), "ground_truth": "a"}
        for at in range(40)
    ]
    diagnosis = rk.diagnose(rk.score(reward, rows))
    influence = diagnosis.components.set_index("component")["sign_influence"]
    assert np.isnan(influence["correct"]) and influence["style"] >= 0
    assert "correct" in diagnosis._repr_html_()


def test_where_nothing_can_be_judged_the_text_says_why_in_full():
    few = rk.diagnose(scores_of({"a": [0.0, 1.0] * 3}, [0, 0, 1, 1, 2, 2]))
    (item,) = few["not_enough"]
    assert "cannot be judged yet" in repr(few) and item.sentence in " ".join(repr(few).split())
