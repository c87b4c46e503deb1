"""Gates: what is behind a closed one is not run; what cannot be decided abstains; what fails is an error."""

import math

import numpy as np
import pytest

import rewardkit as rk

ROWS = [{"prompt": "p", "completion": text} for text in ("a", "bb", "ccc", "")]


def first(completion):
    """1.0, 0.5, 0.0 and not judged."""
    return {"a": 1.0, "bb": 0.5, "ccc": 0.0}.get(completion)


class Counted:
    """A component that counts its calls."""

    def __init__(self):
        self.seen = []

    def __call__(self, completion):
        self.seen.append(completion)
        return True


def score(*components, fields=None, ignore_gates=False, rows=ROWS, **options):
    return rk.score(rk.Reward("r", fields or {}, components, **options), rows, ignore_gates=ignore_gates)


def statuses(scores, name="c"):
    return scores.table[f"status/{name}"].tolist()


def reasons(scores, name="c"):
    return scores.table[f"error/{name}"].tolist()


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"at_least": 1.0}, ["a"]),
        ({"at_least": 0.5}, ["a", "bb"]),
        ({"at_most": 0.0}, ["ccc"]),
        ({"at_least": 0.1, "at_most": 0.9}, ["bb"]),
        ({"equals": 0.5}, ["bb"]),
    ],
)
def test_a_component_behind_a_gate_on_a_score_runs_only_where_it_is_open(limits, kept):
    counted = Counted()
    scores = score(rk.Component("first", first), rk.Component("c", counted, gate=rk.gate("first", **limits)))
    assert counted.seen == kept
    texts = ["a", "bb", "ccc"]
    assert statuses(scores)[:3] == ["scored" if text in kept else "gated" for text in texts]
    assert np.isnan(scores.score("c")).tolist() == [text not in kept for text in [*texts, ""]]


def test_a_gate_on_a_missing_score_abstains_with_the_reason():
    scores = score(
        rk.Component("first", first), rk.Component("c", Counted(), gate=rk.gate("first", at_least=0))
    )
    assert statuses(scores)[3] == "abstained"
    assert reasons(scores)[3] == "its gate needs 'first', which is missing"
    assert math.isnan(scores.rewards[3])


def test_a_gated_row_has_no_error_and_counts_nothing_in_a_sum():
    scores = score(
        rk.Component("first", first), rk.Component("c", Counted(), gate=rk.gate("first", at_least=1))
    )
    assert reasons(scores)[:3] == [None] * 3
    assert scores.rewards[:3].tolist() == [2.0, 0.5, 0.0]


def test_ignore_gates_runs_and_counts_every_component():
    counted = Counted()
    parts = (rk.Component("first", first), rk.Component("c", counted, gate=rk.gate("first", at_least=1)))
    scores = score(*parts, gate=rk.gate("completion", equals="none"), ignore_gates=True)
    assert counted.seen == ["a", "bb", "ccc", ""]
    assert statuses(scores) == ["scored"] * 4
    assert scores.rewards[:3].tolist() == [2.0, 1.5, 1.0]
    assert scores.record["ignore_gates"] is True


def test_a_chain_of_gates_passes_a_missing_score_on():
    scores = score(
        rk.Component("first", first),
        rk.Component("middle", Counted(), gate=rk.gate("first", at_least=1)),
        rk.Component("c", Counted(), gate=rk.gate("middle", at_least=1)),
    )
    assert (statuses(scores)[0], statuses(scores)[3]) == ("scored", "abstained")


@pytest.mark.parametrize(
    ("gate", "status"),
    [
        (rk.gate(lambda completion: len(completion) > 1), ["gated", "scored", "scored", "gated"]),
        (rk.gate(lambda first: first > 0), ["scored", "scored", "gated", "abstained"]),
        (rk.gate(lambda size: None if size == 2 else True), ["scored", "abstained", "scored", "scored"]),
        (rk.gate(lambda size: np.bool_(size == 2)), ["gated", "scored", "gated", "gated"]),
        (rk.gate("completion", equals="bb"), ["gated", "scored", "gated", "gated"]),
        (rk.gate("size", at_least=2), ["gated", "scored", "scored", "gated"]),
        (rk.gate("found", equals="yes"), ["scored", "abstained", "abstained", "abstained"]),
    ],
    ids=["predicate", "on a score", "undecided", "numpy bool", "column", "field", "missing field"],
)
def test_gates_on_predicates_columns_and_fields(gate, status):
    fields = {"size": lambda completion: len(completion),
              "found": lambda completion: "yes" if completion == "a" else None}  # fmt: skip
    scores = score(rk.Component("first", first), rk.Component("c", Counted(), gate=gate), fields=fields)
    assert statuses(scores) == status


def broken(completion):
    if completion == "bb":
        raise ValueError("broken")
    return completion


class NoTruth:
    def __bool__(self):
        raise ValueError("neither true nor false")


@pytest.mark.parametrize(
    ("gate", "failing", "said"),
    [
        (
            rk.gate(lambda completion: broken(completion) is not None),
            "bb",
            "its gate failed: ValueError: broken",
        ),
        (rk.gate("f", equals="a"), "bb", "field 'f' failed: ValueError: broken"),
        (rk.gate(lambda f: f == "a"), "bb", "field 'f' failed: ValueError: broken"),
        (
            rk.gate(lambda completion: NoTruth() if completion == "bb" else True),
            "bb",
            "predicate returned",
        ),
        (
            rk.gate(lambda completion: np.array([1, 0]) if completion == "bb" else True),
            "bb",
            "predicate returned",
        ),
        (rk.gate("mixed", at_least=1), "bb", "TypeError"),
    ],
    ids=[
        "predicate raises",
        "field failed",
        "predicate on a failed field",
        "no truth value",
        "array",
        "text and number",
    ],
)
def test_a_gate_that_fails_makes_an_error_of_its_component_and_not_a_crash(gate, failing, said):
    fields = {"f": broken, "mixed": lambda completion: "text" if completion == "bb" else 2}
    scores = score(rk.Component("c", Counted(), gate=gate), fields=fields)
    assert statuses(scores)[1] == "error"
    assert said in reasons(scores)[1]
    assert statuses(scores)[0] == "scored"


@pytest.mark.parametrize(
    "gate", [rk.gate("mixed", at_least=1), rk.gate(lambda mixed: NoTruth() if mixed == "text" else True)]
)
def test_a_whole_reward_gate_that_fails_leaves_its_rows_unjudged_and_the_others_alone(gate):
    fields = {"mixed": lambda completion: "text" if completion == "bb" else 2}
    scores = score(rk.Component("c", Counted()), fields=fields, gate=gate)
    assert np.isnan(scores.rewards).tolist() == [False, True, False, False]


def test_a_closed_whole_reward_gate_gives_zero_and_keeps_later_components_from_running():
    before, after = Counted(), Counted()
    scores = score(
        rk.Component("before", before, weight=3.0),
        rk.Component("first", first),
        rk.Component("after", after),
        gate=rk.gate("first", at_least=0.5),
    )
    assert before.seen == ["a", "bb", "ccc", ""]
    assert after.seen == ["a", "bb"]
    assert scores.rewards[:3].tolist() == [5.0, 4.5, 0.0]
    assert math.isnan(scores.rewards[3])
    assert statuses(scores, "after") == ["scored", "scored", "gated", "abstained"]
    assert reasons(scores, "after")[3] == "the gate on the whole reward has no value"
    np.testing.assert_array_equal(scores.table["gate/reward"], [1.0, 1.0, 0.0, math.nan])


def test_a_whole_reward_gate_on_a_column_comes_before_every_component():
    counted = Counted()
    scores = score(rk.Component("c", counted), gate=rk.gate(lambda completion: completion == "bb"))
    assert counted.seen == ["bb"]
    assert scores.rewards.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_a_whole_reward_gate_on_the_last_component_still_closes():
    scores = score(
        rk.Component("c", Counted()), rk.Component("first", first), gate=rk.gate("first", at_least=1)
    )
    assert scores.rewards[:3].tolist() == [2.0, 0.0, 0.0]


@pytest.mark.parametrize("aggregation", ["weighted_sum", "weighted_mean", "product", "minimum"])
def test_a_closed_whole_reward_gate_is_zero_under_every_aggregation(aggregation):
    for on_missing in ("nan", "zero", "skip"):
        scores = score(
            rk.Component("c", Counted()), aggregation=aggregation, on_missing=on_missing,
            gate=rk.gate("completion", equals="a"),
        )  # fmt: skip
        assert scores.rewards.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_an_open_whole_reward_gate_adds_no_column():
    scores = score(rk.Component("c", Counted()), gate=rk.gate(lambda completion: True))
    assert "gate/reward" not in scores.table


def test_what_a_closed_gate_keeps_from_running_closes_the_gates_behind_it():
    """A chain: c behind b behind a. A wrong row is gated all along and its reward is judged, not missing."""
    ran = []
    reward = rk.Reward(
        "chain",
        components=[
            rk.Component("a", lambda right: right),
            rk.Component("b", lambda right: 1.0, gate=rk.gate("a", at_least=1.0)),
            rk.Component("c", lambda right: ran.append(right) or 1.0, gate=rk.gate("b", at_least=1.0)),
            rk.Component("d", lambda b: b),
            rk.Component("e", lambda right: 1.0, gate=rk.gate(lambda b: b > 0.5)),
        ],
    )
    wrong = reward(right=0.0)
    assert wrong.status == {"a": "scored", "b": "gated", "c": "gated", "d": "gated", "e": "gated"}
    assert wrong.reward == 0.0
    assert reward(right=1.0).reward == 5.0
    assert ran == [1.0]


def test_a_gate_on_the_whole_reward_is_closed_by_a_component_that_was_gated():
    reward = rk.Reward(
        "r",
        components=[
            rk.Component("a", lambda right: right),
            rk.Component("b", lambda right: 1.0, gate=rk.gate("a", at_least=1.0)),
        ],
        gate=rk.gate("b", at_least=1.0),
    )
    assert reward(right=0.0).reward == 0.0
    assert reward(right=1.0).reward == 2.0


@pytest.mark.parametrize("answer", ["yes", 1, math.nan], ids=repr)
def test_a_predicate_that_does_not_answer_with_a_bool_is_an_error_not_an_open_gate(answer):
    part = rk.Component("c", lambda completion: 1.0, gate=rk.gate(lambda completion: answer))
    result = rk.Reward("r", components=[part])(completion="x")
    assert result.status["c"] == "error"
    assert "a predicate returns True, False or None" in result.errors["c"]
