"""Reward: what a definition may say, how scores add up, other weights, one completion."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewardkit as rk


def yes(completion):
    return True


def len_of(completion):
    return len(completion)


def letter(completion, *, at):
    """1.0 for a, 0.5 for b, not judged for c, an error for anything else."""
    return {"a": 1.0, "b": 0.5, "c": None}[completion[at]]


def part(name, function=yes, **options):
    return rk.Component(name, function, **options)


def on(name):
    return rk.gate(name, at_least=1)


CONTRADICTIONS = [
    ({"components": [part("c"), part("c")]}, "two components are called 'c'"),
    ({"fields": {"c": yes}}, "'c' is the name of a field and of a component"),
    (
        {"fields": {"f": rk.extract.boxed}},
        "function that is needed; call it: boxed(...)",
    ),
    ({"fields": {"f": lambda g: g, "g": yes}}, "field 'f' asks for 'g'"),
    (
        {"components": [part("c", gate=on("d")), part("d")]},
        "gate of component 'c' asks for 'd', which",
    ),
    (
        {"components": [part("c", lambda d: d), part("d")]},
        "component 'c' asks for 'd', which is not",
    ),
    ({"aggregation": "mean"}, "aggregation='mean' is not known"),
    ({"components": [yes]}, "is not a component; wrap it in rk.Component"),
    ({"name": ""}, "needs a name"),
    (
        {"components": [part("c", weight=-1)], "aggregation": "product"},
        "has no penalties",
    ),
    ({"transform": "rank"}, "transform='rank' is not a function"),
]


@pytest.mark.parametrize(("definition", "said"), CONTRADICTIONS)
def test_a_definition_that_contradicts_itself_is_an_error_in_one_sentence(
    definition, said
):
    with pytest.raises(rk.RewardError) as raised:
        rk.Reward(**{"name": "r", "components": [part("c")], **definition})
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_an_unknown_name_is_an_error_that_lists_what_there_is_with_the_nearest():
    asks, gated = part("concise", lambda lenght: 1.0), part("c", gate=on("lenght"))
    for component, who in (
        (asks, "component 'concise'"),
        (gated, "the gate of component 'c'"),
    ):
        said = rf"^{who} asks for 'lenght'; this table has \[.*'completion'.*did you mean 'length'\?"
        with pytest.raises(rk.RewardError, match=said):
            rk.score(
                rk.Reward("r", components=[component]),
                [{"completion": "x", "length": 3}],
            )


def test_a_column_that_was_read_under_another_name_is_named_as_it_is_to_be_asked_for():
    reward = rk.Reward("r", components=[part("right", lambda answer: 1.0)])
    row = {"question": "2 + 2?", "completion": "4", "answer": "4"}
    said = r"^component 'right' asks for 'answer', and the log's 'answer' was read as "
    said += r"'ground_truth': ask for ground_truth$"
    with pytest.raises(rk.RewardError, match=said):
        rk.score(reward, [row])
    with pytest.raises(rk.RewardError, match=r"the route .*'prompt': ask for prompt$"):
        rk.score(rk.Route("question", {"2 + 2?": reward}), [row])
    with pytest.raises(rk.RewardError, match="this table has"):
        rk.score(reward, [{"completion": "4"}])


@pytest.mark.parametrize(
    ("kind", "name"), [("field", "size"), ("component", "correct")]
)
def test_a_name_of_a_field_or_component_that_is_a_column_too_is_an_error_where_it_is_asked_for(
    kind, name
):
    row = {"completion": "x", name: 7}
    reward = rk.Reward(
        "r", {"size": yes}, [part("correct"), part("good", gate=on(name))]
    )
    for call in (lambda: rk.score(reward, [row]), lambda: reward(**row)):
        with pytest.raises(
            rk.RewardError, match=f"'{name}' is a {kind} and also a column"
        ):
            call()
    unasked = rk.Reward("r", {"size": yes}, [part("correct")])
    scores = rk.score(unasked, [row])
    assert scores.table[name].tolist() == [7] and scores.score("correct").tolist() == [
        1.0
    ]
    assert unasked(**row).scores == {"correct": 1.0}


def test_who_asks_for_the_rollout_gets_the_whole_row_unless_a_column_is_called_so():
    reward = rk.Reward(
        "r", components=[part("columns", lambda rollout: len(rollout), range=None)]
    )
    rows = [
        {"completion": "a", "x": 1},
        {"completion": "b", "y": [2], "ground_truth": "z"},
    ]
    assert rk.score(reward, rows).score("columns").tolist() == [
        5,
        5,
    ]  # with rollout_id; missing ones as None
    assert reward(completion="x", extra=None).reward == 2
    assert rk.explain(reward, rk.load_rollouts(rows)[1]).result.reward == 5
    assert reward(completion="x", rollout="mine").reward == 4


def test_a_reward_called_on_one_completion_tells_everything_of_it():
    judged = part("b", lambda size: rk.note("looked_at", size))
    parts = [part("a", weight=2), judged, part("c", gate=on("size"))]
    how = {"on_missing": "zero", "transform": rk.weigh.standardise()}
    result = rk.Reward("r", {"size": len_of}, parts, **how)(
        completion="", ground_truth="unused"
    )
    assert result.reward == 2.0  # before the transform
    assert result.status == {"a": "scored", "b": "abstained", "c": "gated"}
    assert result.errors == {"b": "returned None"}
    assert (result.fields, result.notes) == ({"size": 0}, {"looked_at": 0})
    assert math.isnan(result.scores["b"]) and result.scores["a"] == 1.0


PRIMARY = {
    "largest weight": ([part("a", weight=1), part("b", weight=3)], "b"),
    "declared": (
        [part("z", weight=0.5, primary=True), part("a"), part("b", weight=3)],
        "z",
    ),
    "reads the truth": (
        [part("style"), part("reads", lambda ground_truth: True)],
        "reads",
    ),
    "by a field": ([part("style"), part("reads", lambda distance: distance)], "reads"),
    "of equal ones that reads data": (
        [
            part("style"),
            part("of_length", lambda response_length: True),
            part("reads", lambda positives: True),
        ],
        "reads",
    ),
    "the largest weight before data": (
        [part("style", weight=3), part("reads", lambda positives: True)],
        "style",
    ),
    "of equal readers what says so by its name": (
        [part(name, lambda ground_truth: 1.0) for name in ("b", "is_correct", "a")],
        "is_correct",
    ),
    "of equal ones not how an answer looks": (
        [part("quality"), part("answer_format"), part("solved")],
        "solved",
    ),
    "of equal ones what compares answers, by any word of its name": (
        [part("b"), part("compare_answer_of_turn"), part("c")],
        "compare_answer_of_turn",
    ),
    "of equal ones not what is paid on a condition": (
        [part("quality"), part("short_if_right")],
        "quality",
    ),
    "of equal ones no penalty": (
        [part("a", why="Penalize repeats."), part("length_penalty"), part("z")],
        "z",
    ),
}


@pytest.mark.parametrize(("parts", "primary"), PRIMARY.values(), ids=list(PRIMARY))
def test_primary_is_the_declared_one_else_the_heaviest_else_one_that_reads_the_truth(
    parts, primary
):
    fields = {"size": len_of, "distance": lambda size, ground_truth: 1.0}
    for ordered in (parts, parts[::-1]):
        assert rk.Reward("r", fields, ordered).primary == primary


def test_needs_are_the_rollout_columns_and_nothing_of_its_own():
    parts = [
        part("a", lambda f, completion: 1),
        part("b", lambda a: a, gate=rk.gate(lambda step: True)),
    ]
    reward = rk.Reward(
        "r", {"f": lambda prompt: 1}, parts, gate=rk.gate("policy", equals="x")
    )
    assert set(reward.needs) == {"prompt", "completion", "step", "policy"}


def fingerprints(**definition):
    return rk.Reward(**{"name": "r", "components": [part("a")], **definition}).record()[
        "fingerprints"
    ]


def test_how_scores_are_combined_changes_only_the_reward_fingerprint(tmp_path):
    made, path = [], tmp_path / "scale.py"
    for factor in (2, 3):  # the source of a transform counts, too
        path.write_text(
            f"def scaled(rewards, groups):\n    return rewards * {factor}\n"
        )
        names = {}
        exec(compile(path.read_text(), str(path), "exec"), names)
        made.append(fingerprints(transform=names["scaled"]))
    made += [
        fingerprints(transform=rk.weigh.standardise(clip=clip)) for clip in (None, 2.0)
    ]
    others = (
        {"aggregation": "minimum"},
        {"on_missing": "zero"},
        {"components": [part("a", weight=2.0)]},
        {},
    )
    made += [fingerprints(**one) for one in others]
    assert (
        len({one["reward"] for one in made}) == 8
        and len({one["scoring"] for one in made}) == 1
    )
    changed = (
        {"gate": on("step")},
        *({"fields": {"f": rk.extract.tag(name)}} for name in "ab"),
    )
    made += [fingerprints(**one) for one in changed]
    assert (
        len({one["scoring"] for one in made}) == 4
    )  # by a gate on the whole, and by a field


def test_weights_that_cannot_be_are_an_error():
    for weights, said in (
        ({"fromat": 1}, r"no component 'fromat' to weigh.*did you mean 'format'\?"),
        ({"format": math.nan}, "not a finite number"),
        ({"format": "1"}, "not a finite number"),
    ):
        with pytest.raises(rk.RewardError, match=said):
            rk.Reward("r", components=[part("format")]).reweigh(weights)


weights = st.floats(-2, 2).map(lambda value: round(value, 3))


@settings(max_examples=20)
@given(st.lists(st.text("abcx", min_size=2, max_size=2), min_size=1, max_size=8), weights, weights,
       st.sampled_from(["nan", "zero", "skip"]))  # fmt: skip
def test_other_weights_on_the_same_scores_equal_scoring_with_them(
    completions, one, two, on_missing
):
    def reward(a, b):
        second = part(
            "second",
            partial(letter, at=1),
            weight=b,
            gate=rk.gate("first", at_least=0.7),
        )
        parts = [part("first", partial(letter, at=0), weight=a), second]
        return rk.Reward(
            "r",
            components=parts,
            on_missing=on_missing,
            transform=rk.weigh.standardise(),
        )

    rows = [{"prompt": "p", "completion": text} for text in completions]
    fresh = rk.score(reward(one, two), rows)
    again = rk.score(reward(1.0, 1.0), rows).reweigh({"first": one, "second": two})
    for name in ("reward_raw", "reward"):
        np.testing.assert_array_equal(fresh.table[name], again.table[name])
