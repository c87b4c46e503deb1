"""Sets and lists: however they are written, what is in them, and partial credit."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.verify import lists_equal, sets_equal


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    "written",
    table(
        ("[1, 2, 3]", "JSON"),
        ("{1, 2, 3}", "a set"),
        (r"\left\{1,\, 2,\; 3\right\}", "a set in LaTeX with growing braces and thin spaces"),
        (r"$\{1,2,3\}$", "in dollars"),
        (r"\((1,2,3)\)", "in round mathematics"),
        ("1, 2, 3", "by commas"),
        ("1; 2; 3", "by semicolons"),
        ("1 and 2 and 3", "by the word and"),
        ("1, 2 and 3", "with and before the last"),
        ("1, 2, and 3", "with a comma before it"),
        ("1、2、3", "by Chinese commas"),
        ("1，2，3", "by full-width commas"),
        ("[1, 2, 3,]", "with a comma behind the last"),
        ("['1', \"2\", '3']", "numbers in quotes"),
        (np.array([1, 2, 3]), "an array"),
        ([Decimal(1), Fraction(2), np.int64(3)], "numbers of all kinds"),
    ),
)
def test_however_it_is_written_it_is_the_same_list(written):
    assert lists_equal(written, "[1, 2, 3]") == 1.0
    assert lists_equal([1, 2, 3], written) == 1.0
    assert sets_equal(written, "{3, 2, 1}") == 1.0
    assert lists_equal(written, "[1, 2, 4]") == 0.0


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "sets", "lists", "jaccard", "places"),
    table(
        ("1, 2, 3", "1, 2, 3", 1.0, 1.0, 1.0, 1.0, "the same"),
        ("3, 1, 2", "1, 2, 3", 1.0, 0.0, 1.0, 0.0, "another order"),
        ("1, 2, 2", "1, 2", 1.0, 0.0, 1.0, 2 / 3, "a duplicate"),
        ("2, 3", "1, 2, 3", 0.0, 0.0, 2 / 3, 0.0, "one missing at the beginning moves the others"),
        ("1, 5, 3", "1, 2, 3", 0.0, 0.0, 2 / 4, 2 / 3, "one wrong"),
        ("15", "5", 0.0, 0.0, 0.0, 0.0, "the truth's digits inside another number"),
        (5, "5", 1.0, 1.0, 1.0, 1.0, "a number alone"),
        (r"\frac{1}{2}, \frac{1}{3}", "[0.5, 1/3]", 1.0, 1.0, 1.0, 1.0, "fractions in LaTeX"),
        ("Paris, ROME", "paris, 'Rome'", 1.0, 1.0, 1.0, 1.0, "texts as matches compares them"),
        ("C, c#", "C", 0.0, 0.0, 0.5, 0.5, "signs of names are a part of them"),
        ("'a, b', c", '["a, b", "c"]', 1.0, 1.0, 1.0, 1.0, "a comma in quotes"),
        ("['it\\'s', 'b']", ["it's", "b"], 1.0, 1.0, 1.0, 1.0, "an escaped quote in Python"),
        ("it's, that's", ["it's", "that's"], 1.0, 1.0, 1.0, 1.0, "apostrophes are no quotes"),
        ("'tis, 'twas", ["'tis", "'twas"], 1.0, 1.0, 1.0, 1.0, "not even in front"),
        ("f(x, y), g(x)", ["f(x, y)", "g(x)"], 1.0, 1.0, 1.0, 1.0, "commas in brackets do not separate"),
        ("(1, 2), (3, 4)", "[[1, 2], [3, 4]]", 1.0, 1.0, 1.0, 1.0, "pairs"),
        ("(2, 1), (3, 4)", "(1, 2), (3, 4)", 0.0, 0.0, 1 / 3, 0.5, "the order in pairs counts"),
        ("{2, 1}, {3}", [{1, 2}, {3}], 1.0, 1.0, 1.0, 1.0, "the order in inner sets does not"),
        ("(1, 2) and (3, 4)", "[(1, 2), (3, 4)]", 1.0, 1.0, 1.0, 1.0, "pairs joined by and"),
        ("1,234; 5", "[1234, 5]", 1.0, 1.0, 1.0, 1.0, "semicolons leave commas to numbers"),
        ("1,234", "[1, 234]", 1.0, 1.0, 1.0, 1.0, "without them a comma separates: documented"),
        ("x and y, z and w", ["x and y", "z and w"], 1.0, 1.0, 1.0, 1.0, "an and in each of them is theirs"),
        ('[{"a": 1, "b": 2}]', [{"b": 2.0, "a": 1}], 1.0, 1.0, 1.0, 1.0, "objects, their keys in any order"),
        ("∅", r"\emptyset", 1.0, 1.0, 1.0, 1.0, "the empty set in signs"),
        ("set()", set(), 1.0, 1.0, 1.0, 1.0, "the empty set in Python"),
        ("1", "[]", 0.0, 0.0, 0.0, 0.0, "something for nothing"),
        ("[]", "1", 0.0, 0.0, 0.0, 0.0, "nothing for something"),
        ("1,,2", "1, 2", 0.0, 0.0, 2 / 3, 1 / 3, "an empty element is one"),
        ("(0, 1]", "0, 1", 0.0, 0.0, 0.0, 0.0, "brackets that do not match"),
        ("[1, 2", "1, 2", 0.0, 0.0, 0.0, 0.0, "a bracket that is not closed"),
        ("1)", "1", 0.0, 0.0, 0.0, 0.0, "a bracket that is not opened"),
        ("1, " * 40_000, "1", 0.0, 0.0, 0.0, 0.0, "over 100,000 characters"),
        ("", "1", 0.0, 0.0, 0.0, 0.0, "an empty prediction"),
        (None, "1", 0.0, 0.0, 0.0, 0.0, "no prediction is wrong"),
        ("1", None, None, None, None, None, "no truth"),
        ("1", "", None, None, None, None, "an empty truth"),
        ("1", "(0, 1]", None, None, None, None, "a truth whose brackets do not match"),
        ("1", {"a": 1}, None, None, None, None, "a truth that is a dict"),
        ("1", float("nan"), None, None, None, None, "a truth of NaN"),
    ),
)  # fmt: skip
def test_sets_and_lists_and_their_partial_credit(prediction, ground_truth, sets, lists, jaccard, places):
    assert sets_equal(prediction, ground_truth) == sets
    assert lists_equal(prediction, ground_truth) == lists
    assert sets_equal(prediction, ground_truth, partial=True) == jaccard
    assert lists_equal(prediction, ground_truth, partial=True) == places


def test_a_list_that_holds_itself_is_none():
    endless = [1]
    endless.append(endless)
    assert lists_equal([1], endless) is None
    assert lists_equal(endless, [1]) == 0.0


ELEMENTS = (
    st.integers(-99, 99) | st.sampled_from(["red", "blue", "x y"]) | st.decimals(-9, 9, places=2).map(float)
)
LISTS = st.lists(ELEMENTS, max_size=6)
WRITERS = st.sampled_from([json.dumps, str, lambda items: "; ".join(map(str, items)) or "[]", list, tuple])


@given(a=LISTS, b=LISTS, one=WRITERS, other=WRITERS)
def test_equality_is_symmetric_and_what_python_says_of_the_elements(a, b, one, other):
    for equal, kind in ((sets_equal, set), (lists_equal, list)):
        assert equal(one(a), other(b)) == equal(other(b), one(a)) == float(kind(a) == kind(b))
        assert equal(one(a), other(a)) == 1.0


@given(a=LISTS, b=LISTS, one=WRITERS)
def test_partial_credit_is_symmetric_and_full_only_for_what_is_equal(a, b, one):
    for equal in (sets_equal, lists_equal):
        credit = equal(one(a), b, partial=True)
        assert credit == equal(b, one(a), partial=True)
        assert 0.0 <= credit <= 1.0
        assert (credit == 1.0) == (equal(a, b) == 1.0)


@given(items=st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True), more=st.integers(10, 99))
def test_an_added_wrong_element_never_pays(items, more):
    for equal in (sets_equal, lists_equal):
        assert equal([*items, more], items, partial=True) < equal(items, items, partial=True)


@given(text=st.text("()[]{},;'\"\\$ and1.x", max_size=40))
def test_no_text_raises_and_each_is_equal_to_itself_or_no_list(text):
    assert sets_equal(text, text) in (1.0, None)
    assert lists_equal(text, text, partial=True) in (1.0, None)
    assert sets_equal(text, "1, 2") in (0.0, 1.0)
