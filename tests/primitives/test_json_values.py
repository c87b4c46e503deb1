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
        ('{"a": 1}', '{"a": 1}', 1.0, "the same text"),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', 1.0, "the order of keys"),
        (' {"a":\n1} ', '{"a": 1}', 1.0, "white space"),
        ('{"a": 1}', {"a": 1}, 1.0, "text and object"),
        ({"a": (1, 2)}, {"a": [1, 2]}, 1.0, "a tuple is a list"),
        ({"a": np.array([1, 2])}, {"a": [1, 2]}, 1.0, "an array is a list"),
        ("1", "1.0", 1.0, "a number written otherwise"),
        ("1e2", "100", 1.0, "an exponent"),
        ("-0", "0", 1.0, "zero has no sign"),
        ("0.1", 0.1, 1.0, "a float as it prints"),
        ("0.1", np.float32(0.1), 1.0, "a numpy float too"),
        ("0.1", "0.10000000000000000001", 0.0, "numbers are exact"),
        ("9007199254740993", "9007199254740992", 0.0, "beyond what floats can tell apart"),
        ("1" * 5000, "1" * 5000, 1.0, "more digits than Python reads as an int"),
        ("1e99999999999999999999", "1", 0.0, "an exponent that no number has"),
        ("true", "1", 0.0, "true is not 1"),
        ("false", "0", 0.0, "false is not 0"),
        ("true", "true", 1.0, "true is true"),
        ("true", np.True_, 1.0, "also in numpy"),
        ("null", "null", 1.0, "null is a value"),
        ("null", "false", 0.0, "and no false"),
        ('"1"', "1", 0.0, "a text is no number"),
        ('"Paris"', '"paris"', 0.0, "texts are the same characters"),
        ('"\\u0041"', '"A"', 1.0, "however they are escaped"),
        ("[1, 2]", "[2, 1]", 0.0, "the order of a list counts"),
        ("[1, 2]", "[1, 2, 2]", 0.0, "and so does its length"),
        ('{"a": null}', "{}", 0.0, "null is not a missing key"),
        ('{"a": 1, "a": 2}', '{"a": 2}', 1.0, "of a key that stands twice the last counts"),
        ("{}", "[]", 0.0, "an empty object is no empty list"),
        ("{}", "{}", 1.0, "both empty"),
        (json.dumps(PERSON), PERSON, 1.0, "values inside values"),
        ("{'a': 1}", '{"a": 1}', 0.0, "single quotes are no JSON"),
        ("NaN", "1", 0.0, "NaN is no JSON"),
        ('{"a": 1} or so', '{"a": 1}', 0.0, "text around it"),
        ("[" * 100_000, "[]", 0.0, "brackets without end"),
        ("[" * 101 + "]" * 101, "[]", 0.0, "nested too deeply"),
        ("", '{"a": 1}', 0.0, "an empty prediction"),
        (None, '{"a": 1}', 0.0, "no prediction is wrong"),
        (None, "null", 0.0, "and not null"),
        (float("nan"), "1", 0.0, "a NaN is no JSON"),
        ("1", None, None, "no truth"),
        ("1", float("nan"), None, "a truth of NaN"),
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
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2}', 1.0, "all keys"),
        ('{"a": 1, "b": 3}', '{"a": 1, "b": 2}', 0.5, "one of two"),
        ('{"a": 1}', '{"a": 1, "b": 2}', 0.5, "one missing"),
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "b": 2}', 2 / 3, "one added"),
        ('{"a": 1, "c": 0}', '{"a": 1, "b": 2}', 1 / 3, "one missing and one added"),
        ('{"b": 2, "c": 3}', '{"a": 1}', 0.0, "nothing right"),
        ('{"a": true}', '{"a": 1}', 0.0, "true is not 1"),
        ('{"a": null}', '{"b": null}', 0.0, "null is not a missing key"),
        ('{"a": {"x": 1, "y": 2}}', '{"a": {"x": 1, "y": 3}}', 0.5, "a key earns what its value earns"),
        ('{"a": {"x": 1, "y": 2}, "b": 1}', '{"a": {"x": 1, "y": 3}, "b": 1}', 0.75, "and counts as one"),
        ('{"a": [1, 2, 3]}', '{"a": [1, 2, 4]}', 2 / 3, "lists by position"),
        ('{"a": [1, 2]}', '{"a": [1, 2, 3]}', 2 / 3, "a shorter list"),
        ('{"a": {}}', '{"a": []}', 0.0, "an object is no list"),
        ("[1, 2]", "[1, 3]", 0.5, "a list at the top"),
        ("1", "1", 1.0, "a number at the top"),
        ("1", "2", 0.0, "another number at the top"),
        ("{}", "{}", 1.0, "both empty"),
        ("{}", '{"a": 1}', 0.0, "an empty prediction"),
        ("no JSON", '{"a": 1}', 0.0, "no JSON"),
        (None, '{"a": 1}', 0.0, "no prediction"),
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


def test_a_text_option_that_is_unknown_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="text='loose' is not known; use one of 'exact', 'matches'"):
        json_equal("1", "1", text="loose")


@pytest.mark.parametrize("partial", ["yes", 1, 0, None], ids=repr)
def test_an_option_that_is_no_bool_is_refused(partial):
    with pytest.raises(ValueError, match=f"partial={partial!r} does not fit; give True or False"):
        json_equal("1", None, partial=partial)


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


@pytest.mark.parametrize(
    "piece", ["[1,", "[[1],", '"k":1,', '{"a":', '"', "1", "-", "true,", '"a",'], ids=ascii
)
def test_a_megabyte_of_anything_is_no_trouble(bounded, piece):
    text = piece * (1_000_000 // len(piece))
    for whole in (text, f"[{text}1]", f"{{{text}}}"):
        for partial in (False, True):
            assert json_equal(whole, '{"a": [1]}', partial=partial) == 0.0
