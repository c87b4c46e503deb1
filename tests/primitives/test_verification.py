"""Verification: what counts as equal, what as close, what earns nothing, and what is not judged."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rewardkit.primitives.verify import closeness, matches, numbers_equal


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ("4", "4", True, "the same text"),
        ("4.0", "4", True, "the same number"),
        ("1,234.50", 1234.5, True, "text and float"),
        ("0.1", 0.1, True, "a float as it prints"),
        ("15", "5", False, "the truth's digits inside another number earn nothing"),
        ("-5", "5", False, "the wrong sign"),
        ("0.333333", "1/3", False, "a rounded fraction"),
        ("9007199254740993", "9007199254740992", False, "beyond what floats can tell apart"),
        ("1e999999", "1", False, "an exponent that would be an infinite float"),
        ("2 or 4", "4", False, "two numbers are not one"),
        ("", "0", False, "an empty prediction is not 0"),
        (None, "4", False, "no prediction is wrong"),
        ("4", None, None, "no truth"),
        ("4", "four", None, "a truth that is no number"),
        ("4", float("nan"), None, "a truth of NaN"),
    ),
)
def test_numbers_equal_is_exact(prediction, ground_truth, expected):
    assert numbers_equal(prediction, ground_truth) is expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "options", "expected"),
    table(
        ("4.1000001", "4", {"absolute": 0.1}, False, "just past the absolute limit"),
        ("90", "100", {"relative": 0.1}, True, "at the relative limit"),
        ("89.9", "100", {"relative": 0.1}, False, "just past the relative limit"),
        ("-100", "100", {"relative": 0.5}, False, "the wrong sign"),
        ("0.001", "0", {"relative": 0.5}, False, "nothing is relatively near 0"),
        ("0.333", "1/3", {"absolute": 0.001}, True, "a fraction within a tolerance"),
        (None, "4", {"absolute": 9.0}, False, "no prediction is near nothing"),
        ("1e999999", "1.05e999999", {"relative": 0.1}, True, "near each other, out there"),
        ("1e999999", "2e999999", {"relative": 0.1}, False, "not near each other, out there"),
        ("4.1", "4", {"absolute": Decimal("0.1")}, True, "a tolerance that is a Decimal"),
        ("2" + "0" * 69 + "2", "1" + "0" * 69 + "1", {"relative": 0.5}, True, "71 digits, at the limit"),
        ("2" + "0" * 69 + "3", "1" + "0" * 69 + "1", {"relative": 0.5}, False, "71 digits, past it"),
        ("1" * 40 + ".5", "1" * 40, {"absolute": 0.5}, True, "more digits than a float has"),
        ("1" * 40 + ".6", "1" * 40, {"absolute": 0.5}, False, "and just past the limit"),
    ),
)
def test_numbers_equal_within_a_tolerance(prediction, ground_truth, options, expected):
    assert numbers_equal(prediction, ground_truth, **options) is expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ("12", "12", 1.0, "equal"),
        ("9", "12", 0.75, "three of twelve too small"),
        ("12", "-12", 0.0, "the wrong sign earns nothing"),
        ("0", "0", 1.0, "a truth of 0, met"),
        ("0.0", 0, 1.0, "a truth of 0, written otherwise"),
        ("1", "0", 0.0, "a truth of 0, missed"),
        ("1e-9", "0", 0.0, "a truth of 0, missed by little, relatively missed by all"),
        ("1e999999", "1", 0.0, "an exponent that would be an infinite float"),
        ("four", "4", 0.0, "a prediction that is no number"),
        (None, "4", 0.0, "no prediction is wrong"),
        ("4", None, None, "no truth"),
        ("4", "four", None, "a truth that is no number"),
    ),
)
def test_closeness_by_relative_error(prediction, ground_truth, expected):
    assert closeness(prediction, ground_truth) == expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "options", "expected"),
    table(
        ("9", "12", {"zero_at": 0.5}, 0.5, "relative error of a quarter, nothing from a half"),
        ("6", "12", {"zero_at": 0.5}, 0.0, "at the end of the line"),
        ("-3", "-1", {"zero_at": 4, "scale": "absolute"}, 0.5, "absolute error beside a negative truth"),
        ("7", "2", {"zero_at": 4, "scale": "absolute"}, 0.0, "absolute error past the end"),
        ("0.3", "1/3", {"zero_at": 0.2}, 0.5, "a fraction that has no end in decimals"),
    ),
)
def test_closeness_with_options(prediction, ground_truth, options, expected):
    assert closeness(prediction, ground_truth, **options) == expected


STEPS_DOWN = ((0, 1), (0.01, 0.8), (0.1, 0.5))


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "options", "expected"),
    table(
        ("100", "100", {}, 1.0, "equal"),
        ("100.0", 100, {}, 1.0, "equal, written otherwise"),
        ("99", "100", {}, 0.8, "at the first limit"),
        ("98.9", "100", {}, 0.5, "just past the first limit"),
        ("89", "100", {}, 0.0, "past the last limit: a wrong answer does not earn half"),
        ("-200", "-100", {}, 0.0, "a negative truth does not earn by itself"),
        ("100", "-100", {}, 0.0, "the wrong sign"),
        ("0.001", "0", {}, 0.0, "a truth of 0, missed: no division by zero, no credit"),
        ("3", "4", {"steps": ((0.25, 1.0),)}, 1.0, "one step, at its limit"),
        ("0.3", "1/3", {"steps": [(0.1, 0.5)]}, 0.5, "exactly at the limit of a fraction; steps in a list"),
        ("1e999999", "1", {}, 0.0, "an exponent that would be an infinite float"),
        ("ninety", "100", {}, 0.0, "a prediction that is no number"),
    ),
)
def test_closeness_in_steps(prediction, ground_truth, options, expected):
    assert closeness(prediction, ground_truth, **{"steps": STEPS_DOWN, **options}) == expected


@pytest.mark.parametrize(
    ("near", "far", "truth"),
    table(
        ("-12", "-1200", "12", "the wrong sign and a hundredfold"),
        ("1", "0", "12", "a twelfth and nothing"),
        ("-1", "-2", "1", "the wrong sign and farther"),
    ),
)
def test_a_wide_closeness_does_not_pay_more_for_the_farther_answer(near, far, truth):
    assert closeness(near, truth, zero_at=2) >= closeness(far, truth, zero_at=2)


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "options", "expected"),
    table(
        (" Paris. ", "paris", {}, True, "case, white space and a full stop do not count"),
        ("e\u0301t\u00e9", "\u00e9te\u0301", {}, True, "composed and decomposed letters"),
        ("STRASSE", "stra\u00dfe", {}, True, "case folding, not lower case"),
        ("London", "Paris", {}, False, "a wrong answer earns nothing"),
        ("in Paris", "Paris", {}, False, "the truth among other words earns nothing"),
        ("", "Paris", {}, False, "an empty prediction earns nothing"),
        ("-5", "5", {}, False, "a sign is no punctuation"),
        ("it's", "its", {}, False, "punctuation inside counts"),
        (None, "Paris", {}, False, "no prediction is wrong"),
        ("Paris", None, {}, None, "no truth"),
        ("nan", float("nan"), {}, None, "a truth of NaN is not the word nan"),
        ("Paris", "paris", {"case": True}, False, "case counts where asked"),
        ("Paris.", "Paris", {"punctuation": True}, False, "punctuation counts where asked"),
        ("New  York", "New York", {"white_space": True}, False, "white space inside counts where asked"),
        (" Paris", "Paris", {"white_space": True}, False, "white space at the ends counts where asked"),
        ("\uff21", "a", {}, False, "full-width forms count"),
        ("\uff21", "a", {"unicode_form": "NFKC"}, True, "unless NFKC is asked for"),
        ("e\u0301", "\u00e9", {"unicode_form": None}, False, "without a form composition counts"),
        (".5", "5", {}, False, "a decimal point is no punctuation"),
        ("\u20135", "5", {}, False, "a dash before a digit is a sign"),
        ("\uff0d5", "5", {}, False, "a full-width minus too"),
        ("\u2013 Paris", "Paris", {}, True, "a dash before a word is none"),
        ("\uff30aris", "paris", {"unicode_form": "NFKC"}, True, "NFKC and case together"),
        ("C#", "C", {}, False, "a sign that is a part of a name"),
        ("C#.", "c#", {}, True, "with a stop behind it"),
        (".NET", "NET", {}, False, "a stop that is a part of a name"),
        ("...Paris", "Paris", {}, True, "an ellipsis that is none"),
        ("!x", "x", {}, False, "a negation"),
        ("*p", "p", {}, False, "a pointer"),
        ("*p*", "p", {}, True, "emphasis"),
        ("\u22125", "-5", {}, True, "a typographic minus before digits"),
        ("\u2212.5", "-.5", {}, True, "before a point"),
        ("\ufb01n", "fin", {"case": True}, False, "counts where case does"),
        ("@home", "home", {}, False, "an address"),
        ("/etc/", "etc", {}, False, "a path"),
        ("\\n", "n", {}, False, "an escape"),
        ("__init__", "init", {}, False, "underscores are letters of names"),
        ("**Paris**", "Paris", {}, True, "Markdown around a word"),
        ("**B.**", "B", {}, True, "or a letter"),
        ("5!", "5", {}, False, "a factorial"),
        ("5!.", "5!", {}, True, "with a stop behind it"),
        ("5\uff01", "5", {}, False, "in full width"),
        ("Paris!", "Paris", {}, True, "an exclamation"),
        ("是！", "是", {}, True, "of one Chinese character, which is a word"),
        ("x'", "x", {}, False, "a derivative"),
        ("x''", "x'", {}, False, "of the second order"),
        ("“5”", "5", {}, True, "and around a digit"),
        ("5'", '5"', {}, False, "feet and inches"),
        ("p*", "p", {}, False, "a star behind a letter"),
        ("0.33...", "0.33", {}, False, "digits that go on"),
        ("0.33…", "0.33", {}, False, "behind another sign for it"),
        ("1, 2, 3, ...", "1, 2, 3", {}, False, "a list that goes on"),
        ("(1, 2]", "[1, 2)", {}, False, "two intervals"),
        ("((1, 2), 3)", "(1, 2), 3)", {}, False, "a pair in a pair"),
        ("[0, infinity)", "(0, infinity)", {}, False, "with a number at one end"),
        ("(minus one, 2]", "(minus one, 2)", {}, False, "and at the other"),
        ("[1, 2].", "[1, 2]", {}, True, "with a stop behind it"),
        ("{a,b}", "(a,b)", {}, False, "a set and a pair"),
        ("(5)", "5", {}, True, "brackets around one number"),
        ("(B).", "B", {}, True, "around one letter"),
        ("(in Paris)", "in Paris", {}, True, "around words"),
        ("(Paris, Rome)", "Paris, Rome", {}, True, "of which there are several"),
        ("don’t", "don't", {}, True, "a typographic apostrophe"),
        ("the “big” one", 'the "big" one', {}, True, "typographic quotes inside"),
        ("don’t", "don't", {"punctuation": True}, False, "where punctuation counts, so does its shape"),
        ("Paris", "Paris", {"exact": True}, True, "exact: the same characters"),
        ("Paris ", "Paris", {"exact": True}, False, "exact: white space counts"),
        ("paris", "Paris", {"exact": True}, False, "exact: case counts"),
        ("e\u0301", "\u00e9", {"exact": True}, False, "exact: composition counts"),
        (None, "Paris", {"exact": True}, False, "exact: no prediction is wrong"),
        ("Paris", None, {"exact": True}, None, "exact: no truth"),
    ),
)
def test_matches_compares_texts_after_normalisation(prediction, ground_truth, options, expected):
    assert matches(prediction, ground_truth, **options) is expected


EXTREMES = st.sampled_from([Decimal(0), Decimal("1e-30"), Decimal("-1e40")])
NUMBERS = st.decimals(-10_000, 10_000, places=3) | EXTREMES
FRACTIONS = st.builds("{}/{}".format, st.integers(-99, 99), st.integers(1, 99))
WRITTEN = NUMBERS.map(str) | FRACTIONS
TOLERANCES = st.floats(0, 2)


@given(a=WRITTEN, b=WRITTEN, absolute=TOLERANCES, relative=TOLERANCES)
def test_numbers_equal_is_symmetric(a, b, absolute, relative):
    equal = partial(numbers_equal, absolute=absolute, relative=relative)
    assert equal(a, b) is equal(b, a)
    assert equal(a, a) is True


@given(truth=st.integers(-9999, 9999), digit=st.integers(0, 9))
def test_a_digit_more_is_another_number(truth, digit):
    assume((truth, digit) != (0, 0))
    assert numbers_equal(f"{truth}{digit}", str(truth)) is False


SCALES = st.sampled_from(["relative", "absolute"])


@given(a=WRITTEN, b=WRITTEN, zero_at=st.floats(0.01, 100), scale=SCALES)
def test_closeness_is_symmetric_in_range_and_1_when_equal(a, b, zero_at, scale):
    close = partial(closeness, zero_at=zero_at, scale=scale)
    assert close(a, b) == close(b, a)
    assert 0.0 <= close(a, b) <= 1.0
    assert close(a, a) == 1.0


STEPS = st.decimals(0, 10_000, places=3)


@given(truth=NUMBERS, step=STEPS, more=STEPS, sign=st.sampled_from([-1, 1]), zero_at=st.floats(0.01, 1))
def test_closeness_falls_with_the_relative_error(truth, step, more, sign, zero_at):
    near, far = truth + sign * step, truth + sign * (step + more)
    assert closeness(near, truth, zero_at=zero_at) >= closeness(far, truth, zero_at=zero_at)


@given(truth=NUMBERS, near=STEPS, more=STEPS, signs=st.tuples(*[st.sampled_from([-1, 1])] * 2))
def test_closeness_falls_with_the_absolute_error_on_either_side(truth, near, more, signs):
    close = partial(closeness, zero_at=5000, scale="absolute")
    assert close(truth + signs[0] * near, truth) >= close(truth + signs[1] * (near + more), truth)


@given(truth=NUMBERS, near=STEPS, more=STEPS, sign=st.sampled_from([-1, 1]), scale=SCALES)
def test_closeness_in_steps_falls_with_the_error_and_is_symmetric(truth, near, more, sign, scale):
    close = partial(closeness, steps=((0.001, 1), (0.3, 0.7), (40, 0.1)), scale=scale)
    assert close(truth + sign * near, truth) >= close(truth + sign * (near + more), truth)
    assert close(truth + sign * near, truth) == close(truth, truth + sign * near)


@given(a=NUMBERS, b=NUMBERS, tolerance=st.decimals(0, 2, places=2))
def test_a_relative_tolerance_is_a_share_of_the_larger_magnitude(a, b, tolerance):
    exact = [Fraction(str(number)) for number in (a, b, tolerance)]
    expected = abs(exact[0] - exact[1]) <= exact[2] * max(abs(exact[0]), abs(exact[1]))
    assert numbers_equal(a, b, relative=float(tolerance)) is expected


@given(text=st.text(max_size=30), white=st.sampled_from(["", " ", "\n\t"]))
def test_a_text_matches_itself_in_any_case_and_white_space(text, white):
    assert matches(f"{white}{text}{white}", text) is True
    assert matches(text, text, case=True, white_space=True, punctuation=True, unicode_form=None) is True
