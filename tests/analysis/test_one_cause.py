"""One cause is one finding: what follows from a fault is told with it, and a second fault is still told."""

import inspect

import numpy as np
import pytest
from planted import FAULTS
from planted.tables import outcomes, scores_of

import rewardkit as rk
from rewardkit.analysis.suggestions import RULES
from rewardkit.targets.load import reward_named

PROMPTS, SIBLINGS = 100, 8
ROWS = PROMPTS * SIBLINGS
AT, GROUPS = np.arange(ROWS), np.repeat(np.arange(PROMPTS), SIBLINGS)
UNSCALED = {"scale_rewards": "none"}


def loud(scores, training=None):
    """Code, severity and component of what is above "info"."""
    found = rk.diagnose(scores, training=training).findings
    return {(item.code, item.severity, item.component) for item in found if item.severity != "info"}


def task(seed=1, rate=0.45):
    return outcomes(np.random.default_rng(seed), PROMPTS, SIBLINGS, rate)[0]


def noise(seed=2):
    return np.random.default_rng(seed).random(ROWS)


def grades(seed=5):
    """A grade of its own for each prompt."""
    return (np.random.default_rng(seed).integers(2, 9, PROMPTS) / 10)[GROUPS]


def cancelling(groups, silent=0):
    """Two that cancel in so many groups, and do not vary in the last ones."""
    a, b = task(), np.where(GROUPS < groups, 1 - task(), noise())
    other = GROUPS >= PROMPTS - silent
    return {"a": np.where(other, 1.0, a), "b": np.where(other, 0.5, b)}


def outlying():
    return np.where(AT % 200 == 0, 5000, np.random.default_rng(6).normal(100, 10, ROWS))


WIDE = np.where(AT == 799, 30, np.where(GROUPS < 10, 40, 1) * noise())
NEARLY_ALL = np.where(noise() < 0.04, noise(3).round(1), 0.7)
TWO_FAULTS = np.where(GROUPS < 60, grades(8), np.where(noise() < 0.02, noise(3).round(1), 0.7))
OPPOSED, DEAD = ("opposed", "high", None), ("zero_std_groups", "high", None)
CLUSTERED, OPPOSED_IN_SOME = ("clustered", "high", None), ("opposed", "warn", None)
ONE_CAUSE = {
    "two that make it constant, of 0 and 1": ({"said": task(), "unsaid": 1 - task()}, None, {OPPOSED}),
    "most groups cancel: as bad as any other silence": (cancelling(70), None, {OPPOSED}),
    "more are": (cancelling(20, 50), None, {OPPOSED_IN_SOME, DEAD}),
    "tied at the grade that nearly all get": ({"grade": NEARLY_ALL}, None, {CLUSTERED}),
    "tied at grades of their own": (
        {"grade": np.where(GROUPS < 90, grades(), noise().round(1))},
        None,
        {DEAD},
    ),
    "both": ({"grade": TWO_FAULTS}, None, {("clustered", "warn", None), DEAD}),
    "wide as they hold outliers": ({"words": outlying()}, UNSCALED, {("outliers", "warn", "words")}),
    "wide all the same": ({"points": WIDE}, UNSCALED, {("high_variance", "warn", None)}),
}


@pytest.mark.parametrize(("parts", "training", "expected"), ONE_CAUSE.values(), ids=list(ONE_CAUSE))
def test_what_follows_from_a_fault_is_told_with_it_and_a_second_fault_is_told(parts, training, expected):
    assert loud(scores_of(parts, GROUPS), training) == expected


# dominant


@pytest.mark.parametrize(
    ("weight", "why", "ends", "severity"),
    [
        pytest.param(3.0, "this stage teaches layout", (0, 2), "info", id="heavier, and says why"),
        pytest.param(3.0, "", (0, 2), "warn", id="heavier, without a reason"),
        pytest.param(0.9, "a nudge", (0, 2), "warn", id="declared lighter than the task that it outweighs"),
        pytest.param(1.0, "the docstring of a function", None, "warn", id="how heavy it is was not declared"),
    ],
)
def test_what_is_declared_as_heavy_as_the_task_and_says_why_is_dominant_by_design(
    weight, why, ends, severity
):
    parts = {"correct": task(), "layout": 2.0 * (noise() > 0.5)}
    components = {"correct": {"primary": True}, "layout": {"weight": weight, "why": why}}
    scores = scores_of(parts, GROUPS, components=components, ranges={"layout": ends})
    (found,) = rk.diagnose(scores)["dominant"]
    assert (found.component, found.severity) == ("layout", severity)
    assert ("declared on purpose" in found.sentence) == (severity == "info")
    assert bool(found.suggestions) == (severity == "warn")


def dominant_at(scores, name, weight):
    """Severity of the finding about a component that has this weight; "none" without one."""
    weighed = scores.reweigh({name: weight})
    found = [item for item in rk.diagnose(weighed)["dominant"] if item.component == name]
    return found[0].severity if found else "none"


def test_a_heavier_weight_is_never_judged_more_mildly():
    scores = rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")
    weights = (0.005, 0.05, 0.2, 0.99, 20)
    judged = [dominant_at(scores, "detail", weight) for weight in weights]
    assert judged == sorted(judged, key=("none", "warn").index)  # nothing at first, then always a warning
    assert judged[0] == "none" and set(judged[1:]) == {"warn"}


# redundant and opposed


LEVEL = noise(1)[GROUPS]
SHARED = {"a": 0.9 * LEVEL + 0.1 * task(), "b": 0.9 * LEVEL + 0.1 * noise()}
COPIES = {"b": "a", "c": "a"}


@pytest.mark.parametrize(
    ("parts", "others"),
    [
        pytest.param(SHARED, {}, id="between prompts only"),
        pytest.param(dict.fromkeys("abc", task()), COPIES, id="of three copies each once"),
        pytest.param({"a": task(), "b": 1 - task(), "c": np.zeros(ROWS)}, {}, id="cancelled"),
    ],
)
def test_redundant_is_what_two_components_share_among_siblings(parts, others):
    found = rk.diagnose(scores_of(parts, GROUPS))["redundant"]
    assert {item.component: item.evidence["other"] for item in found} == others
    assert np.corrcoef(SHARED["a"], SHARED["b"])[0, 1] > 0.9


@pytest.mark.parametrize(
    ("other", "weight"),
    [pytest.param(noise(), -0.5, id="a penalty"), pytest.param(1 - noise(), 0.5, id="the reverse")],
)
def test_what_takes_back_what_another_pays_is_not_said_to_pay_for_the_same(other, weight):
    parts = {"task": task(), "bonus": noise(), "other": other}
    diagnosis = rk.diagnose(scores_of(parts, GROUPS, weights={"bonus": 0.5, "other": weight}))
    (found,) = diagnosis["opposed"]
    assert (found.severity, found.evidence["components"]) == ("warn", "bonus, other")
    assert "bonus, other cancel: within groups what they pay has a correlation of -1.00" in found.sentence
    assert not diagnosis["redundant"]


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


# what findings name, and what a stranger found


def test_every_suggestion_that_a_finding_names_is_one_that_there_is():
    """Codes of findings on planted faults, among those of suggestions in the source and of normalizations."""
    sources = "".join(map(inspect.getsource, {inspect.getmodule(rule) for rule in RULES}))
    normalizations = set()
    for training in ({}, UNSCALED):
        diagnosis = rk.diagnose(scores_of({"a": task(), "b": noise()}, GROUPS), training=training)
        normalizations |= set(rk.suggest(diagnosis).table["code"])
    easily_right = scores_of({"a": (noise() > 0.02).astype(float), "b": noise()}, GROUPS)
    made = [fault.made(name, 0, hard=False) for name, fault in FAULTS.items()]
    named = set()
    for scores, options in [*made, (easily_right, {})]:
        for item in rk.diagnose(scores, **options).findings:
            named |= set(item.suggestions)
    assert {"looser_reading", "stricter_reading", "gate_component", "pay_component", "no_std"} <= named
    assert {code for code in named if f'"{code}"' not in sources} - normalizations == set()


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
