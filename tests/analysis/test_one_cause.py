"""One cause is one finding: what follows from a fault is told with it, and a second fault is still told."""

import inspect

import numpy as np
import pytest
from planted import FAULTS
from score_tables import sampled, scores_of

import rewardkit as rk
from rewardkit.analysis.suggestions import RULES
from rewardkit.findings import SENTENCES
from rewardkit.targets.load import reward_named

PROMPTS, SIBLINGS = 100, 8
GROUPS = np.repeat(np.arange(PROMPTS), SIBLINGS)
ROWS = len(GROUPS)


def loud(scores, **options):
    """Code, severity and component of what is above "info"."""
    found = rk.diagnose(scores, **options).findings
    return {(item.code, item.severity, item.component) for item in found if item.severity != "info"}


def task(seed=1, rate=0.45):
    correct, _ = sampled(seed, prompts=PROMPTS, generations=SIBLINGS, rate=rate, spread=0.05)
    return correct


def noise(seed=2):
    return np.random.default_rng(seed).random(ROWS)


@pytest.mark.parametrize(
    ("correct", "expected"),
    [
        pytest.param(np.zeros(ROWS), ("constant", "high", "correct"), id="never right"),
        pytest.param(task(rate=0.05), ("sparse", "high", "correct"), id="right in one of twenty"),
    ],
)
def test_what_holds_all_as_the_task_hardly_varies_is_not_dominant(correct, expected):
    scores = scores_of({"correct": correct, "tidy": noise()}, GROUPS, weights={"tidy": 0.3})
    assert scores.reward.primary == "correct"
    assert rk.diagnose(scores).views[0].effective_weights["tidy"] > 0.6  # it holds more than half
    assert loud(scores) == {expected}


def test_what_holds_most_where_a_sparse_task_varies_is_dominant_by_itself():
    words = 10 * noise()
    scores = scores_of({"correct": task(rate=0.05), "words": words}, GROUPS, weights={"words": 0.3})
    assert {code for code, _, _ in loud(scores)} == {"sparse", "dominant"}


@pytest.mark.parametrize(
    ("weight", "why", "severity"),
    [
        pytest.param(3.0, "this stage teaches layout", "info", id="heavier, and says why"),
        pytest.param(1.0, "as heavy, to start with", "info", id="as heavy, and says why"),
        pytest.param(3.0, "", "warn", id="heavier, without a reason"),
        pytest.param(0.9, "a nudge", "warn", id="declared lighter than the task that it outweighs"),
    ],
)
def test_what_is_declared_as_heavy_as_the_task_and_says_why_is_dominant_by_design(weight, why, severity):
    rows = [
        {"prompt_id": f"p{group}", "completion": str(row), "right": right, "neat": neat}
        for row, (group, right, neat) in enumerate(
            zip(GROUPS.tolist(), task().tolist(), (2 * (noise() > 0.5)).tolist(), strict=True)
        )
    ]
    reward = rk.Reward(
        "made",
        components=[
            rk.Component("correct", lambda right: right, primary=True),
            rk.Component("layout", lambda neat: neat, weight=weight, why=why, range=(0.0, 2.0)),
        ],
    )
    (found,) = rk.diagnose(rk.score(reward, rows))["dominant"]
    assert (found.component, found.severity) == ("layout", severity)
    assert ("declared on purpose" in found.sentence) == (severity == "info")
    assert bool(found.suggestions) == (severity == "warn")


def dominant_at(scores, name, weight):
    """Severity of the finding about a component that has this weight; "none" without one."""
    weighed = scores.reweigh({name: weight})
    found = [item for item in rk.diagnose(weighed)["dominant"] if item.component == name]
    return found[0].severity if found else "none"


def test_a_heavier_weight_is_never_judged_more_mildly_until_it_is_declared_so():
    scores = rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")
    weights = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.19, 0.2, 0.21, 0.5, 0.99)
    judged = [dominant_at(scores, "detail", weight) for weight in weights]
    assert judged == sorted(judged, key=("none", "warn").index)  # nothing at first, then always a warning
    assert judged[0] == "none" and set(judged[weights.index(0.05) :]) == {"warn"}
    heavy = [dominant_at(scores, "detail", weight) for weight in (1, 2, 20)]
    assert heavy == ["info"] * 3  # as heavy as the task, and it says why


@pytest.mark.parametrize("weight", [0.02, 0.1, 0.15])
def test_a_penalty_that_rarely_fires_is_no_measure_of_what_others_hold(weight):
    scores = rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")
    assert scores.reward.names[-1] == "repetition" and dominant_at(scores, "format", weight) != "warn"


def test_a_lighter_one_that_varies_as_often_is_still_a_measure():
    tags = (np.random.default_rng(4).random(ROWS) < 0.6).astype(float)
    often = 0.5 + 0.02 * noise(5)
    rarely = np.where(GROUPS < 15, often, 0.5)
    for style, expected in ((often, "warn"), (rarely, "none")):
        parts = {"correct": task(), "style": style, "tags": tags}
        scores = scores_of(parts, GROUPS, weights={"style": 0.5, "tags": 0.49})
        assert dominant_at(scores, "tags", 0.49) == expected


def test_two_that_make_the_reward_constant_are_not_redundant_as_well():
    for first in (task(), noise()):  # 0 and 1, and numbers whose sums differ in the last digit
        scores = scores_of({"said": first, "unsaid": 1 - first}, GROUPS)
        assert loud(scores) == {("opposed", "high", None)}


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        pytest.param(0.7, {("opposed", "high", None)}, id="most groups: as bad as any other silence"),
        pytest.param(0.4, {("opposed", "warn", None)}, id="some"),
    ],
)
def test_groups_where_components_cancel_are_not_told_of_as_silent_as_well(share, expected):
    a = task()
    b = np.where(GROUPS < share * PROMPTS, 1 - a, noise())
    assert loud(scores_of({"a": a, "b": b}, GROUPS)) == expected


@pytest.mark.parametrize(
    ("cancelled", "silent", "expected"),
    [
        pytest.param(20, 50, {"opposed", "zero_std_groups"}, id="more for another reason"),
        pytest.param(55, 42, {"opposed", "zero_std_groups"}, id="fewer, and a fault by themselves"),
        pytest.param(40, 15, {"opposed"}, id="few for another reason"),
    ],
)
def test_groups_that_are_silent_for_another_reason_are_told_of_as_well(cancelled, silent, expected):
    a, b = task(), noise()
    b = np.where(GROUPS < cancelled, 1 - a, b)
    other = GROUPS >= PROMPTS - silent
    a, b = np.where(other, 1.0, a), np.where(other, 0.5, b)
    found = {code for code, _, _ in loud(scores_of({"a": a, "b": b}, GROUPS))}
    assert found & {"opposed", "zero_std_groups"} == expected


def test_groups_tied_at_the_grade_that_nearly_all_get_are_told_of_with_the_grade():
    grade = np.where(noise() < 0.04, noise(3).round(1), 0.7)
    scores = scores_of({"grade": grade}, GROUPS)
    assert loud(scores) == {("clustered", "high", None)}
    (found,) = rk.diagnose(scores)["clustered"]
    tied = [np.ptp(grade[GROUPS == group]) == 0 and grade[GROUPS == group][0] == 0.7 for group in range(100)]
    assert found.evidence["tied_groups"] == pytest.approx(np.mean(tied)) and np.mean(tied) > 0.6


@pytest.mark.parametrize("tied", [70, 90])
def test_groups_tied_at_grades_of_their_own_are_silent_and_not_clustered(tied):
    grade = (np.random.default_rng(5).integers(2, 9, PROMPTS) / 10)[GROUPS]
    grade = np.where(GROUPS < tied, grade, noise().round(1))
    assert loud(scores_of({"grade": grade}, GROUPS)) == {("zero_std_groups", "high", None)}


def test_groups_that_are_wide_as_they_hold_outliers_are_told_of_with_these():
    words = np.random.default_rng(6).normal(100, 10, ROWS)
    words[::200] = 5000
    scores = scores_of({"words": words}, GROUPS)
    assert loud(scores, training={"scale_rewards": "none"}) == {("outliers", "warn", "words")}
    wide = np.where(GROUPS < 10, 40, 1) * noise()
    scores = scores_of({"points": np.where(np.arange(ROWS) == 799, 30, wide)}, GROUPS)
    assert {code for code, _, _ in loud(scores, training={"scale_rewards": "none"})} == {"high_variance"}


def test_a_grade_that_nearly_all_get_and_groups_tied_at_grades_of_their_own_are_two_faults():
    own = (np.random.default_rng(5).integers(0, 5, PROMPTS) / 10 + 0.1)[GROUPS]
    grade = np.where(GROUPS < 60, own, np.where(noise() < 0.02, noise(3).round(1), 0.7))
    assert loud(scores_of({"grade": grade}, GROUPS)) == {
        ("clustered", "warn", None),
        ("zero_std_groups", "high", None),
    }


@pytest.mark.parametrize("few_siblings", [True, False])
def test_a_reward_that_is_nearly_always_0_as_the_task_is_missed_is_sparse_and_not_clustered(few_siblings):
    groups = GROUPS if few_siblings else np.repeat(np.arange(20), 40)
    grade = np.where(noise() < 0.06, noise(3).round(1), 0.0)
    found = {code for code, _, _ in loud(scores_of({"grade": grade}, groups))}
    assert found == ({"sparse", "zero_std_groups"} if few_siblings else {"sparse"})


# what findings name


def test_every_suggestion_that_a_finding_names_is_one_that_there_is():
    """Codes of findings on planted faults, among those of suggestions in the source and of normalizations."""
    sources = "".join(map(inspect.getsource, {inspect.getmodule(rule) for rule in RULES}))
    normalizations = set()
    for training in ({}, {"scale_rewards": "none"}):
        diagnosis = rk.diagnose(scores_of({"a": task(), "b": noise()}, GROUPS), training=training)
        normalizations |= set(rk.suggest(diagnosis).table["code"])
    named = set()
    easily_right = scores_of({"a": (noise() > 0.02).astype(float), "b": noise()}, GROUPS)
    made = [fault.made(name, 0, hard=False) for name, fault in FAULTS.items()]
    for scores, options in [*made, (easily_right, {})]:
        for item in rk.diagnose(scores, **options).findings:
            named |= set(item.suggestions)
    assert {"looser_reading", "stricter_reading", "gate_component", "pay_component", "no_std"} <= named
    assert {code for code in named if f'"{code}"' not in sources} - normalizations == set()
    assert {fault.code for fault in FAULTS.values()} == {
        code for code in SENTENCES if not code.startswith("probe:")
    }


def two(seed=0, prompts=60, **weights):
    """A task of rates of all kinds, and noise, of eight siblings each."""
    draw = np.random.default_rng(seed)
    groups = np.repeat(np.arange(prompts), 8)
    task = (draw.random(len(groups)) < np.repeat(draw.beta(2, 2, prompts), 8)).astype(float)
    return task, draw.random(len(groups)), groups


def test_what_two_components_share_between_prompts_only_is_not_redundant():
    task, noise, groups = two()
    level = np.repeat(np.random.default_rng(1).random(60), 8)
    first, second = 0.9 * level + 0.1 * task, 0.9 * level + 0.1 * noise
    assert np.corrcoef(first, second)[0, 1] > 0.95
    assert not rk.diagnose(scores_of({"a": first, "b": second}, groups))["redundant"]
    drawn = np.random.default_rng(2).random(60).repeat(8)  # and what they share among siblings alone is
    apart = scores_of({"a": 0.1 * noise, "b": 0.9 * drawn + 0.1 * noise}, groups)
    (found,) = rk.diagnose(apart)["redundant"]
    assert found.evidence["value"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("second", "weight"),
    [pytest.param(lambda x: x, -0.5, id="a penalty"), pytest.param(lambda x: 1 - x, 0.5, id="the reverse")],
)
def test_what_takes_back_what_another_pays_is_not_said_to_pay_for_the_same(second, weight):
    task, noise, groups = two()
    parts = {"task": task, "bonus": noise, "other": second(noise)}
    diagnosis = rk.diagnose(scores_of(parts, groups, weights={"bonus": 0.5, "other": weight}))
    (found,) = diagnosis["opposed"]
    assert (found.severity, found.evidence["components"]) == ("warn", "bonus, other")
    assert "bonus, other cancel: within groups what they pay has a correlation of -1.00" in found.sentence
    assert not diagnosis["redundant"]


def test_components_that_cancel_are_told_of_once():
    task, _, groups = two()
    found = rk.diagnose(scores_of({"a": task, "b": 1 - task, "c": 0.5 * task}, groups, weights={"c": 0.01}))
    assert [item.evidence["components"] for item in found["opposed"]] == ["a, b"]
    cancelled = rk.diagnose(scores_of({"a": task, "b": 1 - task, "c": np.round(task * 0)}, groups))
    codes = [item.code for item in cancelled.findings]
    assert "redundant" not in codes


def test_of_three_copies_each_is_told_of_once():
    task, _, groups = two()
    found = rk.diagnose(scores_of({"a": task, "b": task, "c": task}, groups))["redundant"]
    assert [(item.component, item.evidence["other"]) for item in found] == [("b", "a"), ("c", "a")]


# what a stranger found


def test_the_task_is_never_the_one_too_many_whatever_is_declared_first():
    rows = [
        {"prompt_id": f"p{at // 8}", "completion": str(at), "ground_truth": "1", "given": float(value)}
        for at, value in enumerate(task())
    ]
    twin = rk.Component("twin", lambda given: given)
    correct = rk.Component("correct", lambda given, ground_truth: given)
    for components in ([twin, correct], [correct, twin]):
        found = rk.diagnose(rk.score(rk.Reward("r", components=components), rows))
        assert [item.component for item in found["redundant"]] == ["twin"]


def test_a_score_of_the_log_is_not_dominant_by_design_and_its_advantages_are_no_bias():
    rows = [
        {
            "prompt": f"p{at // 8}",
            "completion": str(at),
            "correct": float(right),
            "quality": 30 * float(extra),
            "advantage": float(right) + 30 * float(extra),
        }
        for at, (right, extra) in enumerate(zip(task(), noise(), strict=True))
    ]
    log = rk.load_rollouts(rows)
    diagnosis = rk.diagnose(rk.score(rk.recorded(log, weights={"correct": 1.0, "quality": 1.0}), log))
    assert [(item.component, item.severity) for item in diagnosis["dominant"]] == [("logged_quality", "warn")]
    assert not diagnosis["column_bias"]


def test_a_finding_that_a_setting_answers_says_so_in_place_of_nothing():
    tiny = np.where(GROUPS % 3 > 0, 0.5 + 0.0003 * noise(), noise())
    advice = rk.suggest(rk.diagnose(scores_of({"a": tiny}, GROUPS)))
    assert any(
        "amplified_noise is answered by: advantage with no std (GRPOConfig" in note for note in advice.notes
    )
    assert not any("no fix is known" in note for note in advice.notes)


@pytest.mark.parametrize("taken", ['kwargs["answer"]', 'kwargs.get("answer")'])
def test_a_function_that_takes_the_truth_out_of_its_kwargs_is_the_task(tmp_path, taken):
    file = tmp_path / "rewards.py"
    file.write_text(
        "def tidy(completions, **kwargs):\n    return [float('answer' in c) for c in completions]\n\n"
        f"def right(completions, **kwargs):\n    truths = {taken}\n"
        "    return [float(c == t) for c, t in zip(completions, truths)]\n\nreward_funcs = [tidy, right]\n"
    )
    rollouts = rk.load_rollouts([{"prompt": "2+2?", "completion": "4", "answer": "4"}] * 4)
    assert reward_named(f"{file}:reward_funcs", rollouts).task == ("right",)
