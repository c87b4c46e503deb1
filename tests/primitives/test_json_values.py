"""JSON values: equal by value, and partial credit by key."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.notes import listen
from rewardkit.primitives.verify import json_equal


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


PERSON = {"name": "Uma", "age": 59, "cities": ["Rome", "Oslo"], "address": {"zip": "0150", "no": 4}}


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', 1.0, "the order of keys"),
        ('{"a": 1}', {"a": 1}, 1.0, "text and object"),
        ({"a": np.array([1, 2])}, {"a": [1, 2]}, 1.0, "an array is a list"),
        ("1", "1.0", 1.0, "a number written otherwise"),
        ("0.1", np.float32(0.1), 1.0, "a numpy float too"),
        ("9007199254740993", "9007199254740992", 0.0, "beyond what floats can tell apart"),
        ("true", "1", 0.0, "true is not 1"),
        ("false", "0", 0.0, "false is not 0"),
        ("true", np.True_, 1.0, "also in numpy"),
        ("null", "null", 1.0, "null is a value"),
        ('"Paris"', '"paris"', 0.0, "texts are the same characters"),
        ("[1, 2]", "[2, 1]", 0.0, "the order of a list counts"),
        ("[1, 2]", "[1, 2, 2]", 0.0, "and so does its length"),
        ('{"a": null}', "{}", 0.0, "null is not a missing key"),
        ('{"a": 1, "a": 2}', '{"a": 2}', 1.0, "of a key that stands twice the last counts"),
        ("{}", "[]", 0.0, "an empty object is no empty list"),
        (json.dumps(PERSON), PERSON, 1.0, "values inside values"),
        ("{'a': 1}", '{"a": 1}', 0.0, "single quotes are no JSON"),
        ('{"a": 1} or so', '{"a": 1}', 0.0, "text around it"),
        ("[" * 101 + "]" * 101, "[]", 0.0, "nested too deeply"),
        ("", '{"a": 1}', 0.0, "an empty prediction"),
        (None, '{"a": 1}', 0.0, "no prediction is wrong"),
        (None, "null", 0.0, "and not null"),
        ("1", None, None, "no truth"),
        ("1", "Paris", None, "a truth that is no JSON"),
        ("1", {1: 2}, None, "a truth with a key that is no text"),
        ("1", {1, 2}, None, "a truth that JSON cannot hold"),
        ("1", b"1", None, "a truth in bytes"),
    ),
)
def test_json_is_equal_by_value(prediction, ground_truth, expected):
    assert json_equal(prediction, ground_truth) == expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ('{"a": 1, "b": 3}', '{"a": 1, "b": 2}', 0.5, "one of two"),
        ('{"a": 1, "c": 0}', '{"a": 1, "b": 2}', 1 / 3, "one missing and one added"),
        ('{"a": {"x": 1, "y": 2}}', '{"a": {"x": 1, "y": 3}}', 0.5, "a key earns what its value earns"),
        ('{"a": [1, 2]}', '{"a": [1, 2, 3]}', 2 / 3, "a shorter list"),
        ('{"a": {}}', '{"a": []}', 0.0, "an object is no list"),
        ("[1, 2]", "[1, 3]", 0.5, "a list at the top"),
        ("1", "1", 1.0, "a number at the top"),
        ("{}", "{}", 1.0, "both empty"),
        ("{}", '{"a": 1}', 0.0, "an empty prediction"),
        ("no JSON", '{"a": 1}', 0.0, "no JSON"),
    ),
)
def test_partial_credit_is_the_mean_over_the_keys_of_either(prediction, ground_truth, expected):
    assert json_equal(prediction, ground_truth, partial=True) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("prediction", "expected"),
    table(
        ('{"city": " oslo. "}', 1.0, "case, white space and a full stop do not count"),
        ('{"city": "Rome"}', 0.0, "another text does"),
        ('{"city": ["oslo"]}', 0.0, "and so does another kind"),
        ('{"CITY": "Oslo"}', 0.0, "keys are the same characters"),
    ),
)
def test_texts_can_be_compared_as_matches_does(prediction, expected):
    assert json_equal(prediction, {"city": "Oslo"}, text="matches") == expected
    assert json_equal(prediction, {"city": "Oslo"}, text="matches", partial=True) == expected


@pytest.mark.parametrize(
    ("prediction", "noted"),
    table(
        ('{"a": 1, "b": 2}', [], "nothing is wrong"),
        ('{"b": 3, "c": 0}', ["a", "b", "c"], "missing, wrong and added, in order"),
        ("no JSON", ["a", "b"], "all are wrong where there is no JSON"),
    ),
)
def test_the_wrong_keys_are_noted(prediction, noted):
    with listen() as notes:
        json_equal(prediction, {"a": 1, "b": 2}, partial=True)
    assert notes == {"wrong_keys": noted}


def test_an_object_that_holds_itself_is_no_json():
    endless = {}
    endless["a"] = endless
    assert json_equal("{}", endless) is None


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "a", "B"])
    | st.sampled_from([0.5, 1.0])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def strictly(value):
    """The value with its kinds spelled out, so that Python does not take True for 1."""
    if isinstance(value, dict):
        return {key: strictly(item) for key, item in value.items()}
    if isinstance(value, list):
        return [strictly(item) for item in value]
    return (
        ("number", Decimal(value))
        if isinstance(value, int | float) and not isinstance(value, bool)
        else (type(value), value)
    )


@given(a=VALUES, b=VALUES)
def test_equality_is_what_it_is_for_the_values(a, b):
    assert json_equal(json.dumps(a), json.dumps(b)) == float(strictly(a) == strictly(b))
    assert json_equal(json.dumps(a), json.dumps(a)) == 1.0


@given(a=VALUES, b=VALUES)
def test_partial_credit_is_symmetric_in_range_and_full_only_for_what_is_equal(a, b):
    a, b = json.dumps(a), json.dumps(b)
    credit = json_equal(a, b, partial=True)
    assert credit == json_equal(b, a, partial=True)
    assert 0.0 <= credit <= 1.0
    assert (credit == 1.0) == (json_equal(a, b) == 1.0)


def test_partial_credit_does_not_hang_on_the_order_of_keys():
    def tenths(**right):
        return {key: [0] * number + [key] * (10 - number) for key, number in right.items()}

    truth = {key: [0] * 10 for key in "zyx"}  # 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floats
    found = tenths(x=1, y=2, z=3)
    assert json_equal(found, truth, partial=True) == json_equal(truth, found, partial=True)


@given(truth=st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), min_size=1))
def test_an_added_key_always_costs(truth):
    assert json_equal({**truth, "z": 1}, truth, partial=True) < 1.0
