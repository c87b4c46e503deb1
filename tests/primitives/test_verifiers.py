"""Verifiers: what counts as equal, what as close, what earns nothing, and what is not judged."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabled import noted, table

from rewardkit.primitives.verify import (
    choice_equal,
    closeness,
    contains,
    f1,
    json_equal,
    lists_equal,
    matches,
    numbers_equal,
    sets_equal,
)

NAN = float("nan")
STEPS_DOWN = ((0, 1), (0.01, 0.8), (0.1, 0.5))
EXACT_NUMBERS = (
    ("15", "5", False, "the truth's digits inside another number earn nothing"),
    ("-5", "5", False, "the wrong sign"),
    ("0.333333", "1/3", False, "a rounded fraction"),
    ("4", "four", None, "a truth that is no number"),
)
TOLERANT_NUMBERS = (
    ("-100", "100", {"relative": 0.5}, False, "the wrong sign"),
    ("1e999999", "1e999999", {}, None, "more digits than a person would grade"),
)
CLOSE_IN_STEPS = (
    ("100", "-100", {}, 0.0, "the wrong sign"),
    ("0.001", "0", {}, 0.0, "a truth of 0, missed: no division by zero, no credit"),
)
MATCHING = (
    ("e\u0301t\u00e9", "\u00e9te\u0301", {}, True, "composed and decomposed letters"),
    ("STRASSE", "stra\u00dfe", {}, True, "case folding, not lower case"),
    ("-5", "5", {}, False, "a sign is no punctuation"),
    (" Paris", "Paris", {"white_space": True}, False, "white space at the ends counts where asked"),
    ("C#.", "c#", {}, True, "with a stop behind it"),
    ("5!", "5", {}, False, "a factorial"),
    ("5!.", "5!", {}, True, "with a stop behind it"),
    ("[1, 2].", "[1, 2]", {}, True, "with a stop behind it"),
    ("Paris ", "Paris", {"exact": True}, False, "exact: white space counts"),
)
CONTAINING = (
    ("it is PARIS", "paris", True, "case does not count"),
    ("15", "5", False, "fault in the wild: the truth's digits inside another number earn"),
    ("3-5", "5", True, "a range has no sign"),
    ("不正确", "正确", True, "so a word behind a not counts: the documented hole"),
    ("Rome or Paris or Oslo", "Paris", True, "the documented hole: every candidate listed"),
    ("Paris", "", None, "an empty truth is in everything: not judged"),
)
WORDS_IN_COMMON = (
    ("-5", "5", 0.0, "fault in the wild: a sign that is deleted"),
    ("1.5", "15", 0.0, "fault in the wild: a point that is deleted"),
    ("C#", "C", 0.0, "a sign that is a part of a name"),
    ("巴黎", "巴黎市", 0.8, "Chinese by characters: two of three, two of two"),
)
JSON = (
    ('{"a": 1}', {"a": 1}, 1.0, "text and object"),
    ({"a": np.array([1, 2])}, {"a": [1, 2]}, 1.0, "an array is a list"),
    ("false", "0", 0.0, "false is not 0"),
    ("[1, 2]", "[2, 1]", 0.0, "the order of a list counts"),
    ("1", b"1", None, "a truth in bytes"),
    ("1e99999999999999999999", "1", 0.0, "an exponent that no number has"),
)
JSON_IN_PART = (
    ('{"a": 1, "b": 3}', '{"a": 1, "b": 2}', 0.5, "one of two"),
    ('{"a": {"x": 1, "y": 2}}', '{"a": {"x": 1, "y": 3}}', 0.5, "a key earns what its value earns"),
)
VERDICTS = (
    *((numbers_equal, prediction, truth, {}, *row) for prediction, truth, *row in EXACT_NUMBERS),
    *((numbers_equal, *row) for row in TOLERANT_NUMBERS),
    (closeness, "4", "four", {}, None, "a truth that is no number"),
    (closeness, "9", "12", {"zero_at": 0.5}, 0.5, "an error of a quarter, nothing from a half"),
    *((closeness, a, b, {"steps": STEPS_DOWN, **options}, *row) for a, b, options, *row in CLOSE_IN_STEPS),
    *((matches, *row) for row in MATCHING),
    *((contains, prediction, truth, {}, *row) for prediction, truth, *row in CONTAINING),
    (contains, "it is paris", "Paris", {"case": True}, False, "case counts where asked"),
    *((f1, prediction, truth, {}, *row) for prediction, truth, *row in WORDS_IN_COMMON),
    (choice_equal, "B", "E", {}, None, "a truth that is no option"),
    *((json_equal, prediction, truth, {}, *row) for prediction, truth, *row in JSON),
    *((json_equal, prediction, truth, {"partial": True}, *row) for prediction, truth, *row in JSON_IN_PART),
    (json_equal, '{"city": " oslo. "}', {"city": "Oslo"}, {"text": "matches"}, 1.0, "case and a full stop"),
)


@pytest.mark.parametrize(("verify", "prediction", "truth", "options", "expected"), table(*VERDICTS))
def test_a_verifier_judges_a_prediction_by_its_truth(verify, prediction, truth, options, expected):
    found = verify(prediction, truth, **options)
    assert type(found) is type(expected)
    assert found == (pytest.approx(expected, rel=1e-15) if isinstance(expected, float) else expected)


ANSWERED = {
    **dict.fromkeys((numbers_equal, closeness, json_equal, sets_equal, lists_equal), "4"),
    **dict.fromkeys((matches, contains, f1), "Paris"),
    choice_equal: "B",
}


@pytest.mark.parametrize("verify", ANSWERED)
def test_no_prediction_is_wrong_and_without_a_truth_nothing_is_judged(verify):
    assert verify(ANSWERED[verify], ANSWERED[verify]) == 1.0 and verify(None, ANSWERED[verify]) == 0.0
    assert verify(ANSWERED[verify], None) is None and verify(ANSWERED[verify], NAN) is None


@pytest.mark.parametrize(
    "written",
    table(
        ("{1, 2, 3}", "a set"),
        ("1, 2, 3", "by commas"),
        (np.array([1, 2, 3]), "an array"),
    ),
)
def test_however_it_is_written_it_is_the_same_list(written):
    assert lists_equal(written, "[1, 2, 3]") == lists_equal([1, 2, 3], written) == 1.0
    assert sets_equal(written, "{3, 2, 1}") == 1.0
    assert lists_equal(written, "[1, 2, 4]") == 0.0


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "sets", "lists", "jaccard", "places"),
    table(
        ("3, 1, 2", "1, 2, 3", 1.0, 0.0, 1.0, 0.0, "another order"),
        ("1, 2, 2", "1, 2", 1.0, 0.0, 1.0, 2 / 3, "a duplicate"),
        ("1, 5, 3", "1, 2, 3", 0.0, 0.0, 2 / 4, 2 / 3, "one wrong"),
        ("15", "5", 0.0, 0.0, 0.0, 0.0, "the truth's digits inside another number"),
        ("Paris, ROME", "paris, 'Rome'", 1.0, 1.0, 1.0, 1.0, "texts as matches compares them"),
        ("'a, b', c", '["a, b", "c"]', 1.0, 1.0, 1.0, 1.0, "a comma in quotes"),
        ("1,234", "[1, 234]", 1.0, 1.0, 1.0, 1.0, "without them a comma separates: documented"),
        ('[{"a": 1, "b": 2}]', [{"b": 2.0, "a": 1}], 1.0, 1.0, 1.0, 1.0, "objects, their keys in any order"),
        ("{2, 1}, {3}", [{1, 2}, {3}], 1.0, 1.0, 1.0, 1.0, "the order in inner sets does not"),
        ("(0, 1]", "0, 1", 0.0, 0.0, 0.0, 0.0, "brackets that do not match"),
        ("1, " * 40_000, "1", 0.0, 0.0, 0.0, 0.0, "over 100,000 characters"),
        ("1", {"a": 1}, None, None, None, None, "a truth that is a dict"),
    ),
)
def test_sets_and_lists_and_their_partial_credit(prediction, ground_truth, sets, lists, jaccard, places):
    assert sets_equal(prediction, ground_truth) == sets
    assert lists_equal(prediction, ground_truth) == lists
    assert sets_equal(prediction, ground_truth, partial=True) == jaccard
    assert lists_equal(prediction, ground_truth, partial=True) == places


def test_the_wrong_keys_are_noted():
    for prediction, wrong in (
        ('{"a": 1, "b": 2}', []),
        ('{"a": 1, "b": [2], "c": 0}', ["b", "c"]),
        ("5", ["a", "b"]),
    ):
        found = noted(partial(json_equal, partial=True), prediction, {"a": 1, "b": 2})
        assert found == {"wrong_keys": wrong}


EXTREMES = st.sampled_from([Decimal(0), Decimal("1e-30"), Decimal("-1e40")])
NUMBERS = st.decimals(-10_000, 10_000, places=3) | EXTREMES
WRITTEN = NUMBERS.map(str) | st.builds("{}/{}".format, st.integers(-99, 99), st.integers(1, 99))
SAYINGS = st.lists(st.sampled_from("red house the 5 5.0 -5 C# - 中 文".split()), max_size=8).map(" ".join)
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "B", 0.5, 1.0])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
ELEMENTS = st.integers(-99, 99) | st.sampled_from(["red", "x y"]) | st.decimals(-9, 9, places=2).map(float)
LISTS = st.lists(ELEMENTS, max_size=6)
WRITERS = st.sampled_from([json.dumps, str, lambda items: "; ".join(map(str, items)) or "[]", list, tuple])
WRITTEN_LISTS = st.builds(lambda write, items: write(items), WRITERS, LISTS)
JUDGED = {
    "numbers_equal": (numbers_equal, WRITTEN),
    "closeness": (closeness, WRITTEN),
    "closeness, absolute": (partial(closeness, zero_at=100, scale="absolute"), WRITTEN),
    "closeness in steps": (partial(closeness, steps=STEPS_DOWN), WRITTEN),
    "matches": (matches, st.text(max_size=30)),
    "f1": (f1, SAYINGS),
    "choice_equal": (choice_equal, st.text("AB(). or", max_size=8)),
    "json_equal": (json_equal, VALUES.map(json.dumps)),
    "json_equal in part": (partial(json_equal, partial=True), VALUES.map(json.dumps)),
    "sets_equal": (sets_equal, WRITTEN_LISTS),
    "sets_equal in part": (partial(sets_equal, partial=True), WRITTEN_LISTS),
    "lists_equal": (lists_equal, WRITTEN_LISTS),
    "lists_equal in part": (partial(lists_equal, partial=True), WRITTEN_LISTS),
}


@pytest.mark.parametrize("name", JUDGED)
@given(data=st.data())
def test_a_verdict_is_symmetric_in_range_and_full_for_the_same(name, data):
    verify, texts = JUDGED[name]
    a, b = data.draw(texts), data.draw(texts)
    one, other = verify(a, b), verify(b, a)
    assert one == other or (None in (one, other) and not one and not other)
    assert 0.0 <= (one or 0.0) <= 1.0
    assert verify(a, a) in (1.0, None)


@given(a=NUMBERS, b=NUMBERS, tolerance=st.decimals(0, 2, places=2))
def test_a_relative_tolerance_is_a_share_of_the_larger_magnitude(a, b, tolerance):
    exact = [Fraction(str(number)) for number in (a, b, tolerance)]
    expected = abs(exact[0] - exact[1]) <= exact[2] * max(abs(exact[0]), abs(exact[1]))
    assert numbers_equal(a, b, relative=float(tolerance)) is expected


LARGER = "{1}{0} {0}{1} {1}.{0} {0}.{1} {0},{1}00 {1},{0} -{0} {0}% {1}/{0}".split()


@given(number=st.integers(0, 9999), digit=st.integers(1, 9), larger=st.sampled_from(LARGER))
def test_contains_never_finds_a_number_inside_another(number, digit, larger):
    text = larger.format(number, digit)
    assert contains(f"It is {text}.", str(number)) is (text == str(number))
    assert contains(f"It is {text}, or {number}.", str(number)) is True


BAGS = st.lists(st.sampled_from("bcde"), min_size=1, max_size=8)


@given(a=BAGS, b=BAGS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(a, b):
    common = sum((Counter(a) & Counter(b)).values())
    precision, recall = common / len(a), common / len(b)
    expected = 2 * precision * recall / (precision + recall) if common else 0.0
    assert f1(" ".join(a), " ".join(b)) == pytest.approx(expected)


FORMS = st.sampled_from(["{}", "({})", "{}.", "option {}", "The answer is {}", "**{}**", "{}) Paris"])
LETTERS = st.sampled_from("ABCD")


@given(a=LETTERS, b=LETTERS, one=FORMS, other=FORMS)
def test_every_form_of_a_letter_is_equal_to_every_other_and_to_no_other_letters(a, b, one, other):
    assert choice_equal(one.format(a), other.format(b)) is (a == b)


def strictly(value):
    """The value with its kinds spelled out, so that Python does not take True for 1."""
    if isinstance(value, dict):
        return {key: strictly(item) for key, item in value.items()}
    if isinstance(value, list):
        return [strictly(item) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return ("number", Decimal(value)) if is_number else (type(value), value)


@given(a=VALUES, b=VALUES)
def test_json_is_equal_as_its_values_are(a, b):
    assert json_equal(json.dumps(a), json.dumps(b)) == float(strictly(a) == strictly(b))


@given(a=LISTS, b=LISTS, one=WRITERS, other=WRITERS)
def test_sets_and_lists_are_equal_as_python_says_of_their_elements(a, b, one, other):
    assert sets_equal(one(a), other(b)) == float(set(a) == set(b))
    assert lists_equal(one(a), other(b)) == float(a == b)
