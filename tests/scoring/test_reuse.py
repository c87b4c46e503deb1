"""A reward that was changed: a call is made again only where it would be another."""

from dataclasses import replace

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.rewards.route import bind
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.rescore import rescore
from rewardkit.scoring.reuse import UNSCORED, Earlier, content_of

CALLS = []
COLUMNS = {"completion": ["a", "bb", "ccc", "ddd"], "ground_truth": ["a", "a", "ccc", "b"]}  # fmt: skip
GROUPS = np.array([0, 0, 1, 1])


def right(completion, ground_truth):
    CALLS.append(("right", completion))
    return completion == ground_truth


def long(size):
    CALLS.append(("long", size))
    return size > 2


def asks(long):
    CALLS.append(("asks", long))
    return long


def best(completion):
    CALLS.append(("best", *completion))
    return [float(text == max(completion)) for text in completion]


def is_short(completion):
    CALLS.append(("is_short", completion))
    return len(completion) < 3


def size(completion):
    return len(completion)


def at_most_two(completion):
    return min(len(completion), 2)


RIGHT = rk.Component("right", right)
LONG = rk.Component("long", long)
ASKS = rk.Component("asks", asks)
BEST = rk.Component("best", best, group=True)
OPEN = rk.gate("right", at_least=1.0)
SHORT = rk.gate(is_short)


def reward(*components, size=size, gate=None):
    return rk.Reward("r", {"size": size}, [RIGHT, *components], gate=gate)


def gated(item, gate=OPEN):
    return replace(item, gate=gate)


OTHERS = [("long", 2), ("long", 2)]
CHANGES = {
    "nothing": (reward(LONG, ASKS), reward(LONG, ASKS), []),
    "a weight": (reward(LONG), reward(replace(LONG, weight=3.0)), []),
    "a field, on two rows": (reward(LONG, ASKS), reward(LONG, ASKS, size=at_most_two), [*OTHERS, ("asks", 0.0), ("asks", 0.0)]),
    "a range": (reward(LONG), reward(replace(LONG, range=(0.0, 2.0))), [("long", n) for n in (1, 2, 3, 3)]),
    "a gate that closes": (reward(LONG), reward(gated(LONG)), []),
    "a gate that opens": (reward(gated(LONG)), reward(LONG), [("long", 2), ("long", 3)]),
    "what asks behind it": (reward(gated(LONG), ASKS), reward(LONG, ASKS), [("long", 2), ("long", 3), ("asks", 0.0), ("asks", 1.0)]),
    "siblings that come to it": (reward(gated(BEST)), reward(BEST), [("best", "a", "bb"), ("best", "ccc", "ddd")]),
    "siblings as they were": (reward(BEST, LONG), reward(BEST, gated(LONG)), []),
    "a predicate is kept": (reward(gated(LONG, SHORT), ASKS), reward(gated(LONG, SHORT)), []),
    "a predicate is new": (reward(LONG), reward(gated(LONG, SHORT)), [("is_short", text) for text in COLUMNS["completion"]]),
    "the gate on all closes": (reward(LONG), reward(LONG, gate=OPEN), []),
    "the gate on all opens": (reward(LONG, gate=OPEN), reward(LONG), [("long", 2), ("long", 3)]),
    "a predicate behind it": (reward(gated(LONG, SHORT), gate=OPEN), reward(gated(LONG, SHORT)), [("is_short", "bb"), ("is_short", "ddd"), ("long", 2)]),
    "a component is new": (reward(), reward(LONG), [("long", n) for n in (1, 2, 3, 3)]),
}  # fmt: skip


def scored(made, **options):
    return evaluate(bind(made, COLUMNS), COLUMNS, groups=GROUPS, **options)


@pytest.mark.parametrize("change", CHANGES)
def test_only_other_calls_are_made_and_what_comes_out_is_as_if_all_were(change):
    old, new, calls = CHANGES[change]
    before, fresh = scored(old), scored(new)
    CALLS.clear()
    again = scored(new, earlier=Earlier(before))
    assert CALLS == calls
    assert again.fields == fresh.fields
    np.testing.assert_array_equal(again.gate, fresh.gate)
    for name, outcome in fresh.components.items():
        np.testing.assert_array_equal(again.components[name].scores, outcome.scores)
        np.testing.assert_array_equal(again.components[name].status, outcome.status)
        assert again.components[name].reasons == outcome.reasons


def test_rows_that_a_gate_lets_in_have_no_score_where_nothing_may_be_called():
    before = scored(reward(gated(LONG)))
    CALLS.clear()
    outcomes = scored(reward(LONG), earlier=Earlier(before, opens=False))
    assert CALLS == []
    assert outcomes.components["long"].reasons == {1: UNSCORED, 3: UNSCORED}


def test_values_are_told_apart_by_content_or_else_by_their_place():
    values = ["1", 1, 1.0, True, [1], [1.0], (1,), object(), object()]
    assert len({content_of(value) for value in values}) == len(values)
    assert content_of([1, "a"]) == content_of([1, "a"])


def test_a_field_that_fails_no_more_leaves_no_reason_behind_in_the_table():
    def fails(completion):
        raise ValueError("no size")

    rows = [{"completion": text} for text in ("a", "ccc")]
    old, new = (rk.Reward("r", {"size": field}, [LONG]) for field in (fails, size))
    scores, _ = rescore(rk.score(old, rows), new)
    assert scores.reasons("size") == [None, None]
    assert scores.table.columns.tolist() == rk.score(new, rows).table.columns.tolist()
    assert scores.score("long").tolist() == [0.0, 1.0]
