"""Gates: what is behind a closed one is not run; what cannot be decided abstains; what fails is an error."""

import math

import numpy as np
import pytest
from scored import Seen, made, outcome, reasons, score, statuses

import rewardkit as rk

ROWS = ("a", "bb", "ccc", "")
OPEN, SHUT = (1.0, "scored", None), (None, "gated", None)


def unknown(name):
    return None, "abstained", f"its gate needs {name!r}, which is missing"


def failed(why):
    return None, "error", f"its gate failed: {why}"


def first(completion):
    """1.0, 0.5, 0.0 and not judged."""
    return {"a": 1.0, "bb": 0.5, "ccc": 0.0}.get(completion)


def broken(completion):
    if completion == "bb":
        raise ValueError("broken")
    return completion


class NoTruth:
    def __bool__(self):
        raise ValueError("neither true nor false")

    def __repr__(self):
        return "NoTruth()"


FIELDS = {
    "size": lambda completion: len(completion),
    "found": lambda completion: "yes" if completion == "a" else None,
    "f": broken,
    "mixed": lambda completion: "text" if completion == "bb" else 2,
}
TYPES = "supported between instances of 'str' and 'int'"
BROKEN, RETURNED = "ValueError: broken", "its predicate returned"
ANSWER = "; a predicate returns True, False or None"


def answer_of(size, at_two):
    return at_two if size == 2 else True


@pytest.mark.parametrize(
    ("gate", "outcomes"),
    [
        (rk.gate("first", at_least=1.0), [OPEN, SHUT, SHUT, unknown("first")]),
        (rk.gate("first", at_least=0.1, at_most=0.9), [SHUT, OPEN, SHUT, unknown("first")]),
        (rk.gate(lambda first: first > 0), [OPEN, OPEN, SHUT, unknown("first")]),
        (rk.gate("found", equals="yes"), [OPEN, *[unknown("found")] * 3]),
        (rk.gate("f", equals="a"), [OPEN, failed(f"field 'f' failed: {BROKEN}"), SHUT, SHUT]),
        (rk.gate("mixed", at_least=1), [OPEN, failed(f"TypeError: '>=' not {TYPES}"), OPEN, OPEN]),
        (rk.gate(lambda size: answer_of(size, None)), [OPEN, unknown("size"), OPEN, OPEN]),
        (rk.gate(lambda size: answer_of(size, 1)), [OPEN, failed(f"{RETURNED} 1{ANSWER}"), OPEN, OPEN]),
        (rk.gate(lambda size: answer_of(size, NoTruth())),
         [OPEN, failed(f"{RETURNED} NoTruth(){ANSWER}"), OPEN, OPEN]),
    ],
)  # fmt: skip
def test_a_component_is_run_only_where_its_gate_is_open_and_says_elsewhere_why_not(gate, outcomes):
    seen = Seen()
    scores = score(rk.Component("first", first), rk.Component("c", seen, gate=gate), rows=ROWS, fields=FIELDS)
    assert outcome(scores) == outcomes
    assert seen.calls == [text for text, (value, *_) in zip(ROWS, outcomes, strict=True) if value]
    gains = [{"scored": 1.0, "gated": 0.0}.get(how, math.nan) for _, how, _ in outcomes]
    np.testing.assert_array_equal(scores.rewards, np.add([1.0, 0.5, 0.0, math.nan], gains))


def test_ignore_gates_runs_and_counts_every_component():
    seen = Seen()
    parts = (rk.Component("first", first), rk.Component("c", seen, gate=rk.gate("first", at_least=1)))
    gate = rk.gate("completion", equals="none")
    scores = score(*parts, rows=ROWS, reward={"gate": gate}, ignore_gates=True)
    assert seen.calls == list(ROWS)
    assert outcome(scores) == [OPEN] * 4
    assert scores.rewards[:3].tolist() == [2.0, 1.5, 1.0]
    assert scores.record["ignore_gates"] is True


def test_what_a_closed_gate_keeps_from_running_closes_the_gates_behind_it():
    """A chain: c behind b behind a. A wrong row is gated all along and its reward is judged, not missing."""
    ran = []
    reward = made(
        rk.Component("a", lambda right: right),
        rk.Component("b", lambda right: 1.0, gate=rk.gate("a", at_least=1.0)),
        rk.Component("c", lambda right: ran.append(right) or 1.0, gate=rk.gate("b", at_least=1.0)),
        rk.Component("d", lambda b: b),
        rk.Component("e", lambda right: 1.0, gate=rk.gate(lambda b: b > 0.5)),
    )
    wrong = reward(right=0.0)
    assert wrong.status == {"a": "scored", "b": "gated", "c": "gated", "d": "gated", "e": "gated"}
    assert (wrong.reward, wrong.errors) == (0.0, {})
    assert reward(right=1.0).reward == 5.0
    assert ran == [1.0]
    missing = reward(right=None)
    assert set(missing.status.values()) == {"abstained"} and math.isnan(missing.reward)
    assert missing.errors["c"] == "its gate needs 'b', which is missing"


@pytest.mark.parametrize(
    "answer", [lambda mixed: None if mixed == "text" else True, lambda mixed: mixed == 2 or 1]
)
def test_a_whole_reward_gate_that_cannot_tell_or_fails_leaves_its_rows_unjudged(answer):
    seen = Seen()
    scores = score(seen, rows=ROWS, fields=FIELDS, reward={"gate": rk.gate(answer)})
    assert outcome(scores)[1] == (None, "abstained", "the gate on the whole reward has no value")
    np.testing.assert_array_equal(scores.rewards, [1.0, math.nan, 1.0, 1.0])
    np.testing.assert_array_equal(scores.table["gate/reward"], [1.0, math.nan, 1.0, 1.0])
    assert seen.calls == ["a", "ccc", ""]


def test_a_closed_whole_reward_gate_gives_zero_and_keeps_later_components_from_running():
    before, after = Seen(), Seen()
    scores = score(
        rk.Component("before", before, weight=3.0), rk.Component("first", first),
        rk.Component("after", after), rows=ROWS, reward={"gate": rk.gate("first", at_least=0.5)},
    )  # fmt: skip
    assert before.calls == list(ROWS) and after.calls == ["a", "bb"]
    np.testing.assert_array_equal(scores.rewards, [5.0, 4.5, 0.0, math.nan])
    assert statuses(scores, "after") == ["scored", "scored", "gated", "abstained"]
    assert reasons(scores, "after") == [None] * 3 + ["the gate on the whole reward has no value"]
    np.testing.assert_array_equal(scores.table["gate/reward"], [1.0, 1.0, 0.0, math.nan])


def test_a_whole_reward_gate_is_asked_as_early_as_it_can_be_and_at_the_latest_in_the_end():
    seen = Seen()
    for aggregation in ("weighted_sum", "product"):  # which leaves out what is gated
        how = {"gate": rk.gate(lambda completion: completion == "bb"), "aggregation": aggregation}
        assert score(seen, rows=ROWS, reward=how).rewards.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert seen.calls == ["bb"] * 2
    assert "gate/reward" not in score(seen, reward={"gate": rk.gate(lambda completion: True)}).table
    last = score(
        Seen(), rk.Component("first", first), rows=ROWS, reward={"gate": rk.gate("first", at_least=1)}
    )
    np.testing.assert_array_equal(last.rewards, [2.0, 0.0, 0.0, math.nan])
    shut = rk.Component("shut", first, gate=rk.gate("completion", equals="a"))
    behind = score(shut, rows=ROWS, reward={"gate": rk.gate("shut", at_least=0)})
    assert behind.rewards.tolist() == [1.0, 0.0, 0.0, 0.0]
