"""Reward: what a definition may say, how scores add up, other weights, one completion."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk


def yes(completion):
    return True


def first_letter(completion):
    """1.0 for a, 0.5 for b, not judged for c, an error for anything else."""
    return {"a": 1.0, "b": 0.5, "c": None}[completion[:1]]


def second_letter(completion):
    return {"a": 1.0, "b": 0.5, "c": None}[completion[1:2]]


def part(name, function=yes, **options):
    return rk.Component(name, function, **options)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: rk.Reward("r"), "reward 'r' has no components"),
        (lambda: rk.Reward("", components=[part("c")]), "needs a name"),
        (lambda: rk.Reward(3, components=[part("c")]), "needs a name"),
        (lambda: rk.Reward("r", components=[yes]), "is not a component; wrap it in rk.Component"),
        (
            lambda: rk.Reward("r", components=[part("c"), part("c")]),
            "two components are called 'c'",
        ),
        (lambda: rk.Reward("r", {"c": yes}, [part("c")]), "'c' is the name of a field and of a component"),
        (lambda: rk.Reward("r", {"a-b": yes}, [part("c")]), "must be a Python identifier"),
        (lambda: rk.Reward("r", {"f": "answer"}, [part("c")]), "field 'f' needs a function"),
        (
            lambda: rk.Reward("r", components=[part("c", gate=rk.gate("d", at_least=1)), part("d")]),
            "the gate of component 'c' is on 'd', which is not declared before it",
        ),
        (
            lambda: rk.Reward("r", components=[part("c", gate=rk.gate("c", at_least=1))]),
            "not declared before it",
        ),
        (
            lambda: rk.Reward("r", components=[part("c", gate=rk.gate(lambda d: True)), part("d")]),
            "is on 'd'",
        ),
        (
            lambda: rk.Reward("r", components=[part("c", lambda d: d), part("d")]),
            "component 'c' asks for 'd', which is not declared before it",
        ),
        (lambda: rk.Reward("r", components=[part("c", lambda c: c)]), "asks for 'c', which is not declared"),
        (lambda: rk.Reward("r", {"f": lambda g: g, "g": yes}, [part("c")]), "field 'f' asks for 'g'"),
        (lambda: rk.Reward("r", {"f": lambda c: c}, [part("c")]), "field 'f' asks for 'c'"),
        (
            lambda: rk.Reward("r", components=[part("c")], aggregation="mean"),
            "aggregation='mean' is not known",
        ),
        (lambda: rk.Reward("r", components=[part("c")], on_missing="drop"), "on_missing='drop' is not known"),
        (
            lambda: rk.Reward("r", components=[part("c", weight=-1)], aggregation="product"),
            "has no penalties",
        ),
        (
            lambda: rk.Reward("r", components=[part("c", weight=0)], aggregation="weighted_mean"),
            "at least one weight",
        ),
        (
            lambda: rk.Reward("r", components=[part("c")], transform="rank"),
            "transform='rank' is not a function",
        ),
    ],
)
def test_a_definition_that_contradicts_itself_is_an_error_in_one_sentence(make, said):
    with pytest.raises(rk.RewardError) as raised:
        make()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


ASKING = {
    "component": rk.Reward("r", components=[part("concise", lambda lenght: 1.0)]),
    "component 'concise'": rk.Reward(
        "r", components=[part("concise", yes, columns={"completion": "lenght"})]
    ),
    "field 'f'": rk.Reward("r", {"f": lambda lenght: 1}, [part("c")]),
    "the gate of component 'c'": rk.Reward("r", components=[part("c", gate=rk.gate("lenght", at_least=1))]),
    "the gate of reward 'r'": rk.Reward("r", components=[part("c")], gate=rk.gate("lenght", at_least=1)),
}


@pytest.mark.parametrize("who", ASKING)
def test_an_unknown_name_is_an_error_that_lists_what_there_is_with_the_nearest(who):
    with pytest.raises(rk.RewardError) as raised:
        rk.score(ASKING[who], [{"completion": "x", "length": 3}])
    said = str(raised.value)
    assert said.startswith(who) and "asks for 'lenght'; this table has [" in said
    assert "'completion'" in said and "did you mean 'length'?" in said


@pytest.mark.parametrize("kind", ["field", "component"])
def test_a_name_that_is_asked_for_and_is_a_column_and_a_field_or_component_is_an_error(kind):
    name = "size" if kind == "field" else "correct"
    reward = rk.Reward("r", {"size": yes}, [part("correct"), part("good", gate=rk.gate(name, at_least=1))])
    said = f"'{name}' is a {kind} and also a column of the rollouts; rename the {kind}"
    with pytest.raises(rk.RewardError, match=said):
        rk.score(reward, [{"completion": "x", name: 1}])
    with pytest.raises(rk.RewardError, match=said):
        reward(completion="x", **{name: 1})


def test_a_column_named_like_a_component_that_nobody_asks_for_does_no_harm():
    reward = rk.Reward("r", {"size": yes}, [part("correct")])
    scores = rk.score(reward, [{"completion": "x", "correct": 0.25, "size": 7}])
    assert scores.table["correct"].tolist() == [0.25] and scores.score("correct").tolist() == [1.0]
    assert reward(completion="x", correct=0.25).scores == {"correct": 1.0}


def test_who_asks_for_the_rollout_gets_the_whole_row():
    def columns(rollout):
        return len(rollout)

    reward = rk.Reward("r", components=[rk.Component("columns", columns, range=None)])
    rows = [{"completion": "a", "x": 1}, {"completion": "b", "y": [2], "ground_truth": "z"}]
    assert rk.score(reward, rows).score("columns").tolist() == [5, 5]  # with rollout_id; missing ones as None
    assert reward(completion="x", extra=None).reward == 2
    assert rk.explain(reward, rk.load_rollouts(rows)[1]).result.reward == 5


def test_a_column_called_rollout_comes_before_the_row():
    reward = rk.Reward("r", components=[rk.Component("same", lambda rollout: rollout == "mine")])
    assert reward(completion="x", rollout="mine").reward == 1


def test_rollouts_without_ground_truth_where_one_is_asked_for_are_an_error():
    with pytest.raises(rk.RewardError, match="asks for 'ground_truth'; this table has"):
        rk.score(rk.load_reward("gallery:arithmetic"), [{"prompt": "p", "completion": "x"}])


# weights 2 and 1; scores 1 and 0.5 | abstained and 1 | gated and 1 | both abstained
@pytest.mark.parametrize(
    ("aggregation", "on_missing", "both", "one_missing", "one_gated", "none"),
    [
        ("weighted_sum", "nan", 2.5, None, 1.0, None),
        ("weighted_sum", "zero", 2.5, 1.0, 1.0, 0.0),
        ("weighted_sum", "skip", 2.5, 1.0, 1.0, None),
        ("weighted_mean", "nan", 2.5 / 3, None, 1 / 3, None),
        ("weighted_mean", "zero", 2.5 / 3, 1 / 3, 1 / 3, 0.0),
        ("weighted_mean", "skip", 2.5 / 3, 1.0, 1 / 3, None),
        ("product", "nan", 0.5, None, 1.0, None),
        ("product", "zero", 0.5, 0.0, 1.0, 0.0),
        ("product", "skip", 0.5, 1.0, 1.0, None),
        ("minimum", "nan", 0.5, None, 1.0, None),
        ("minimum", "zero", 0.5, 0.0, 1.0, 0.0),
        ("minimum", "skip", 0.5, 1.0, 1.0, None),
    ],
)
def test_aggregations_and_missing_scores(aggregation, on_missing, both, one_missing, one_gated, none):
    reward = rk.Reward(
        "r",
        components=[
            part("first", first_letter, weight=2, gate=rk.gate(lambda completion: completion[0] != "g")),
            part("second", second_letter, weight=1),
        ],
        aggregation=aggregation,
        on_missing=on_missing,
    )
    for completion, expected in (("ab", both), ("ca", one_missing), ("ga", one_gated), ("cc", none)):
        got = reward(completion=completion).reward
        assert got == pytest.approx(math.nan if expected is None else expected, nan_ok=True), completion


def test_errors_count_as_missing_like_abstentions():
    parts = [part("first", first_letter), part("second", second_letter)]
    for on_missing, expected in (("nan", math.nan), ("zero", 1.0), ("skip", 1.0)):
        result = rk.Reward("r", components=parts, on_missing=on_missing)(completion="xa")
        assert result.status == {"first": "error", "second": "scored"}
        assert result.reward == pytest.approx(expected, nan_ok=True)


def test_penalties_are_scores_with_a_negative_weight_and_weight_zero_is_recorded_only():
    result = rk.Reward(
        "r",
        components=[part("a", weight=1.0), part("loops", weight=-0.25), part("seen", first_letter, weight=0)],
    )(completion="?")
    assert result.reward == 0.75
    assert result.status["seen"] == "error"


def test_a_reward_called_on_one_completion_tells_everything_of_it():
    def judged(size):
        rk.note("looked_at", size)
        return None

    reward = rk.Reward(
        "r", {"size": len_of},
        [part("a", weight=2), part("b", judged), part("c", gate=rk.gate("size", at_least=9))],
        on_missing="zero", transform=rk.weigh.standardise(),
    )  # fmt: skip
    result = reward(completion="four", ground_truth="unused")
    assert result.reward == 2.0  # before the transform
    assert result.status == {"a": "scored", "b": "abstained", "c": "gated"}
    assert result.errors == {"b": "returned None"}
    assert (result.fields, result.notes) == ({"size": 4}, {"looked_at": 4})
    assert math.isnan(result.scores["b"]) and result.scores["a"] == 1.0


def len_of(completion):
    return len(completion)


def test_the_primary_component_is_the_declared_one_else_the_one_of_the_largest_weight():
    parts = [part("a", weight=1), part("b", weight=3)]
    assert rk.Reward("r", components=parts).primary == "b"
    assert rk.Reward("r", components=[part("z", weight=0.5, primary=True), *parts]).primary == "z"


def test_needs_are_the_rollout_columns_and_nothing_of_its_own():
    reward = rk.Reward(
        "r", {"f": lambda prompt: 1},
        [part("a", lambda f, completion: 1), part("b", lambda a: a, gate=rk.gate(lambda step: True))],
        gate=rk.gate("policy", equals="x"),
    )  # fmt: skip
    assert set(reward.needs) == {"prompt", "completion", "step", "policy"}


def test_reweigh_leaves_the_original_and_the_scoring_fingerprint_alone():
    reward = rk.Reward("r", components=[part("a", why="task", weight=0.75), part("b", weight=0.5)])
    other = reward.reweigh({"b": 0.25})
    assert (reward.weights, other.weights) == ({"a": 0.75, "b": 0.5}, {"a": 0.75, "b": 0.25})
    assert other.components[0].why == "task"
    one, two = reward.record()["fingerprints"], other.record()["fingerprints"]
    assert one["scoring"] == two["scoring"] and one["reward"] != two["reward"]


@pytest.mark.parametrize(
    "options",
    [{"aggregation": "minimum"}, {"on_missing": "zero"}, {"transform": rk.weigh.rank()},
     {"transform": rk.weigh.standardise(clip=2.0)}],
)  # fmt: skip
def test_how_scores_are_combined_changes_only_the_reward_fingerprint(options):
    one = rk.Reward("r", components=[part("a")]).record()["fingerprints"]
    two = rk.Reward("r", components=[part("a")], **options).record()["fingerprints"]
    assert one["scoring"] == two["scoring"] and one["reward"] != two["reward"]


def test_a_gate_on_the_whole_reward_and_a_field_change_the_scoring_fingerprint():
    definitions = [
        ({}, None),
        ({}, rk.gate("step", at_least=1)),
        ({"f": rk.extract.tag("a")}, None),
        ({"f": rk.extract.tag("b")}, None),
    ]
    prints = [
        rk.Reward("r", fields, [part("a")], gate=gate).record()["fingerprints"]["scoring"]
        for fields, gate in definitions
    ]
    assert len(set(prints)) == 4


def test_the_source_of_a_transform_is_part_of_the_reward_fingerprint(tmp_path):
    prints = []
    for factor in (2, 3):
        (tmp_path / "scale.py").write_text(f"def scaled(rewards, groups):\n    return rewards * {factor}\n")
        made = {}
        exec(compile((tmp_path / "scale.py").read_text(), str(tmp_path / "scale.py"), "exec"), made)
        record = rk.Reward("r", components=[part("a")], transform=made["scaled"]).record()
        prints.append(record["fingerprints"])
    assert prints[0]["reward"] != prints[1]["reward"]
    assert prints[0]["scoring"] == prints[1]["scoring"]


def test_weights_of_unknown_components_are_an_error_with_the_nearest_name():
    reward = rk.Reward("r", components=[part("format")])
    with pytest.raises(rk.RewardError, match=r"no component 'fromat' to weigh.*did you mean 'format'\?"):
        reward.reweigh({"fromat": 1})
    for weight in (math.nan, "1", None):
        with pytest.raises(rk.RewardError, match="not a finite number"):
            reward.reweigh({"format": weight})


def test_the_callers_fields_and_components_are_not_shared():
    fields, components = {"f": len_of}, [part("a")]
    reward = rk.Reward("r", fields, components)
    fields["g"] = yes
    components.clear()
    assert (list(reward.fields), reward.names) == (["f"], ("a",))


weights = st.floats(-2, 2).map(lambda value: round(value, 3))


@given(st.lists(st.text("abcx", min_size=2, max_size=2), min_size=1, max_size=8), weights, weights,
       st.sampled_from(["nan", "zero", "skip"]))  # fmt: skip
def test_other_weights_on_the_same_scores_equal_scoring_with_them(completions, one, two, on_missing):
    def reward(a, b):
        open_gate = rk.gate("first", at_least=0.7)
        parts = [
            part("first", first_letter, weight=a),
            part("second", second_letter, weight=b, gate=open_gate),
        ]
        return rk.Reward("r", components=parts, on_missing=on_missing, transform=rk.weigh.standardise())

    rows = [{"prompt": "p", "completion": text} for text in completions]
    fresh = rk.score(reward(one, two), rows)
    again = rk.score(reward(1.0, 1.0), rows).reweigh({"first": one, "second": two})
    for name in ("reward_raw", "reward"):
        np.testing.assert_array_equal(fresh.table[name], again.table[name])
