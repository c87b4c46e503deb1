"""Words in common: the truth as words of its own in a prediction, and token F1."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.verify import contains, f1


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ("It is Paris.", "Paris", True, "a word before a full stop"),
        ("it is PARIS", "paris", True, "case does not count"),
        ("Parisian", "Paris", False, "the beginning of a longer word"),
        ("New\n  York City", "new york", True, "several words over white space of any kind"),
        ("15", "5", False, "fault in the wild: the truth's digits inside another number earn"),
        ("5.2", "5", False, "the whole part of a decimal"),
        ("0.5", "5", False, "the decimals of a decimal"),
        ("1,500", "500", False, "the last group of thousands"),
        ("5,000", "5", False, "the first group of thousands"),
        ("x = -5", "5", False, "the wrong sign"),
        ("-5", "5", False, "the wrong sign at the beginning"),
        ("\u22125", "5", False, "a typographic minus"),
        ("-$5", "5", False, "a sign before the currency"),
        ("3-5", "5", True, "a range has no sign"),
        ("1/5", "5", False, "below a fraction bar"),
        ("5/6", "5", False, "above a fraction bar"),
        ("5%", "5", False, "a percentage"),
        ("5e3", "5", False, "before an exponent"),
        ("5, 6", "5", True, "in an enumeration"),
        ("It is 5.", "5", True, "before a full stop"),
        ("3-5", "-5", False, "which is no sign behind a number"),
        ("a.c", "abc", False, "the truth is no pattern"),
        ("答案是巴黎。", "巴黎", True, "Chinese has no borders of words"),
        ("不正确", "正确", True, "so a word behind a not counts: the documented hole"),
        ("Rome or Paris or Oslo", "Paris", True, "the documented hole: every candidate listed"),
        ("", "Paris", False, "an empty prediction"),
        (None, "Paris", False, "no prediction is wrong"),
        ("Paris", "", None, "an empty truth is in everything: not judged"),
        ("Paris", " \n", None, "and so is one of white space"),
        ("Paris", None, None, "no truth"),
        ("I don’t know", "don't", True, "a typographic apostrophe"),
        ("the “big” one", 'the "big" one', True, "typographic quotes"),
    ),
)
def test_contains_finds_the_truth_as_words_of_its_own(prediction, ground_truth, expected):
    assert contains(prediction, ground_truth) is expected


def test_contains_with_case():
    assert contains("it is paris", "Paris", case=True) is False
    assert contains("it is Paris", "Paris", case=True) is True
    assert contains("I Don’t", "Don't", case=True) is True


LARGER = st.sampled_from(
    ["{1}{0}", "{0}{1}", "{1}.{0}", "{0}.{1}", "{0},{1}00", "{1},{0}", "-{0}", "{0}%", "{1}/{0}"]
)


@given(number=st.integers(0, 9999), digit=st.integers(1, 9), larger=LARGER)
def test_contains_never_finds_a_number_inside_another(number, digit, larger):
    text = larger.format(number, digit)
    assert contains(f"It is {text}.", str(number)) is (text == str(number))
    assert contains(f"It is {text}, or {number}.", str(number)) is True


@given(
    words=st.lists(st.sampled_from(["a", "b", "ab", "5", "中"]), min_size=1, max_size=6), at=st.integers(0, 5)
)
def test_contains_finds_every_word_of_a_text(words, at):
    assert contains(" ".join(words), words[at % len(words)]) is True


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ("Paris", "Paris", 1.0, "the same"),
        ("The red house", "a red house", 1.0, "articles"),
        ("red house", "the red house", 1.0, "articles that are missing"),
        ("red", "red house", 2 / 3, "one of two: precision 1, recall a half"),
        ("Rome Paris Oslo", "Paris", 0.5, "every candidate listed earns less"),
        ("Paris Paris Paris", "Paris", 0.5, "words count as often as they stand"),
        ("London", "Paris", 0.0, "nothing in common"),
        ("don't", "dont", 1.0, "an apostrophe is deleted"),
        ("`red`, **house**", "red house", 1.0, "Markdown around words"),
        ("x < 5", "x > 5", 2 / 3, "a sign between spaces is a word"),
        ("a - b", "a + b", 0.5, "beside an article"),
        ("x \u2212 5", "x - 5", 1.0, "a typographic minus is one"),
        ("- red\n  * blue", "red blue", 1.0, "the marks of a list are none"),
        ("- y", "+ y", 0.5, "and before a letter"),
        ("<5", ">5", 0.0, "those at a number are a part of it"),
        ("-5", "5", 0.0, "fault in the wild: a sign that is deleted"),
        ("-$5", "$5", 0.0, "a sign before the currency"),
        ("1.5", "15", 0.0, "fault in the wild: a point that is deleted"),
        (".5", "5", 0.0, "a point in front"),
        ("(15).", "15.0", 1.0, "without what stands around them"),
        ("1/2", "0.5", 1.0, "a fraction"),
        ("3-5", "35", 0.0, "a range"),
        ("2024-01-05", "20240105", 0.0, "a date"),
        ("5%", "5", 0.0, "a percentage"),
        ("5 %", "5", 0.0, "with a space"),
        ("5 %", "5%", 1.0, "which is the same one"),
        ("x=-5", "x=5", 0.0, "a sign in an equation"),
        ("C#", "C", 0.0, "a sign that is a part of a name"),
        ("5!", "5", 0.0, "a factorial"),
        ("U.S.", "US", 1.0, "stops between letters"),
        ("2 + 3", "2 - 3", 2 / 3, "two sums that differ in a sign"),
        ("Oslo \u2014 Rome", "Oslo Rome", 1.0, "a dash is no sign"),
        ("5 5", "5", 2 / 3, "counts as often as it stands"),
        ("巴黎", "巴黎市", 0.8, "Chinese by characters: two of three, two of two"),
        ("", "Paris", 0.0, "an empty prediction"),
        ("", "", 1.0, "both empty"),
        ("A", "A", 1.0, "articles that are all there is"),
        ("\ud800", "Paris", 0.0, "a lone surrogate"),
        (None, "Paris", 0.0, "no prediction is wrong"),
        ("Paris", None, None, "no truth"),
        ("Paris", float("nan"), None, "a truth of NaN"),
    ),
)
def test_f1_of_words(prediction, ground_truth, expected):
    assert f1(prediction, ground_truth) == expected


TEXTS = st.lists(
    st.sampled_from(["red", "house", "the", "5", "5.0", "-5", "C#", "-", "中", "文"]), max_size=8
).map(" ".join)


@given(number=st.decimals(-9999, 9999, places=2), other=st.decimals(-9999, 9999, places=2))
def test_f1_holds_numbers_equal_by_their_values(number, other):
    assert f1(f"It is {number}.", f"it is {number:,}") == 1.0
    assert (f1(str(number), str(other)) == 1.0) is (number == other)


@given(a=TEXTS, b=TEXTS)
def test_f1_is_symmetric_in_range_and_1_for_the_same_text(a, b):
    assert f1(a, b) == f1(b, a)
    assert 0.0 <= f1(a, b) <= 1.0
    assert f1(a, a) == 1.0


@given(
    a=st.lists(st.sampled_from("bcde"), min_size=1, max_size=8),
    b=st.lists(st.sampled_from("bcde"), min_size=1, max_size=8),
)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(a, b):
    common = sum((Counter(a) & Counter(b)).values())
    precision, recall = common / len(a), common / len(b)
    expected = 2 * precision * recall / (precision + recall) if common else 0.0
    assert f1(" ".join(a), " ".join(b)) == pytest.approx(expected)
