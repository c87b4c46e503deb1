"""Verification: what counts as equal, what as close, what earns nothing, and what is not judged."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rewardkit.primitives.verification import closeness, matches, math_equal, numbers_equal, read_number


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("value", "expected"),
    table(
        ("4", Decimal(4), "digits"),
        (" 4 \n", Decimal(4), "white space around it"),
        ("4.", Decimal(4), "a full stop behind it"),
        ("-4", Decimal(-4), "a sign"),
        ("\u22124", Decimal(-4), "a typographic minus"),
        ("1,234,567.5", Decimal("1234567.5"), "thousands separators"),
        ("$1,234.50.", Decimal("1234.50"), "a currency sign"),
        ("-$5", Decimal(-5), "a sign before the currency"),
        ("\\$5", Decimal(5), "an escaped currency sign"),
        (".5", Decimal("0.5"), "no digit before the point"),
        ("6.02e23", Decimal("6.02e23"), "an exponent"),
        ("2/4", Fraction(1, 2), "a fraction"),
        ("-1/3", Fraction(-1, 3), "a negative fraction"),
        ("0/5", Decimal(0), "nothing of five"),
        (7, Decimal(7), "an int"),
        (0.1, Decimal("0.1"), "a float reads as it prints"),
        (np.float64(0.1), Decimal("0.1"), "a numpy float too"),
        (np.int64(2**53 + 1), Decimal(2**53 + 1), "a numpy integer is exact"),
        (Fraction(1, 3), Fraction(1, 3), "a Fraction is exact"),
        ("1,23", None, "a comma in the wrong place"),
        ("1_000", None, "an underscore"),
        ("1/0", None, "a division by zero"),
        ("/5", None, "no numerator"),
        ("1/", None, "no denominator"),
        ("--5", None, "two signs"),
        ("4 apples", None, "a unit"),
        ("four", None, "a word"),
        ("nan", None, "text that Python reads as NaN"),
        ("inf", None, "text that Python reads as an infinity"),
        ("", None, "empty text"),
        (".", None, "a point alone"),
        ("5\x00", None, "a control character"),
        ("\ud800", None, "a lone surrogate"),
        ("1" * 1001, None, "over 1,000 characters"),
        (float("nan"), None, "NaN"),
        (float("-inf"), None, "an infinity"),
        (True, None, "a bool"),
        (np.True_, None, "a numpy bool"),
        (None, None, "nothing"),
        ([4], None, "a list"),
    ),
)
def test_read_number_reads_exactly_or_not_at_all(value, expected):
    assert read_number(value) == expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ("4", "4", True, "the same text"),
        ("4.0", "4", True, "the same number"),
        ("1,234.50", 1234.5, True, "text and float"),
        ("1/2", "0.5", True, "fraction and decimal"),
        ("0.1", 0.1, True, "a float as it prints"),
        ("-0", "0", True, "zero has no sign"),
        ("15", "5", False, "the truth's digits inside another number earn nothing"),
        ("5", "15", False, "part of the truth's digits earns nothing"),
        ("-5", "5", False, "the wrong sign"),
        ("0.1", "0.10000000001", False, "exact means exact"),
        ("0.333333", "1/3", False, "a rounded fraction"),
        ("9007199254740993", "9007199254740992", False, "beyond what floats can tell apart"),
        ("1e999999", "1", False, "an exponent that would be an infinite float"),
        ("2 or 4", "4", False, "two numbers are not one"),
        ("", "0", False, "an empty prediction is not 0"),
        ("four", "4", False, "a prediction in words"),
        (None, "4", False, "no prediction is wrong"),
        ("4", None, None, "no truth"),
        ("4", "four", None, "a truth that is no number"),
        ("4", "", None, "an empty truth"),
        ("4", float("nan"), None, "a truth of NaN"),
        (None, None, None, "neither"),
    ),
)
def test_numbers_equal_is_exact(prediction, ground_truth, expected):
    assert numbers_equal(prediction, ground_truth) is expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "options", "expected"),
    table(
        ("4.1", "4", {"absolute": 0.1}, True, "at the absolute limit"),
        ("4.1000001", "4", {"absolute": 0.1}, False, "just past the absolute limit"),
        ("90", "100", {"relative": 0.1}, True, "at the relative limit"),
        ("100", "90", {"relative": 0.1}, True, "the larger magnitude counts, whichever it is"),
        ("89.9", "100", {"relative": 0.1}, False, "just past the relative limit"),
        ("-90", "-100", {"relative": 0.1}, True, "negative numbers"),
        ("-100", "100", {"relative": 0.5}, False, "the wrong sign"),
        ("0.001", "0", {"relative": 0.5}, False, "nothing is relatively near 0"),
        ("0.001", "0", {"relative": 0.5, "absolute": 0.01}, True, "the wider of the two tolerances"),
        ("0.333", "1/3", {"absolute": 0.001}, True, "a fraction within a tolerance"),
        (None, "4", {"absolute": 9.0}, False, "no prediction is near nothing"),
    ),
)
def test_numbers_equal_within_a_tolerance(prediction, ground_truth, options, expected):
    assert numbers_equal(prediction, ground_truth, **options) is expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ("12", "12", 1.0, "equal"),
        ("9", "12", 0.75, "three of twelve too small"),
        ("12", "9", 0.75, "and the other way round"),
        ("24", "12", 0.5, "twice as large"),
        ("-9", "-12", 0.75, "a negative truth"),
        ("12", "-12", 0.0, "the wrong sign earns nothing"),
        ("-1", "-64", 1 / 64, "a negative truth far away earns little"),
        ("0", "-12", 0.0, "nothing of a negative truth"),
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
        ("3", "12", {"zero_at": 0.5}, 0.0, "past the end of the line"),
        ("1", "0", {"zero_at": 4, "scale": "absolute"}, 0.75, "absolute error beside a truth of 0"),
        ("-3", "-1", {"zero_at": 4, "scale": "absolute"}, 0.5, "absolute error beside a negative truth"),
        ("-2", "2", {"zero_at": 4, "scale": "absolute"}, 0.0, "absolute error over the sign"),
        ("7", "2", {"zero_at": 4, "scale": "absolute"}, 0.0, "absolute error past the end"),
    ),
)
def test_closeness_with_options(prediction, ground_truth, options, expected):
    assert closeness(prediction, ground_truth, **options) == expected


@pytest.mark.parametrize(
    ("near", "far", "truth"),
    table(
        ("-12", "-1200", "12", "the wrong sign and a hundredfold"),
        ("1", "0", "12", "a twelfth and nothing"),
        ("24", "-12", "12", "twice as large and the wrong sign"),
        ("-1", "-2", "1", "the wrong sign and farther"),
    ),
)
def test_a_wide_closeness_does_not_pay_more_for_the_farther_answer(near, far, truth):
    assert closeness(near, truth, zero_at=2) >= closeness(far, truth, zero_at=2)


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "options", "expected"),
    table(
        (" Paris. ", "paris", {}, True, "case, white space and a full stop do not count"),
        ("New \n York", "new york", {}, True, "runs of white space are one space"),
        ('"Paris!"', "Paris", {}, True, "quotes and exclamation marks at the ends"),
        ("\u00bfParis?", "Paris", {}, True, "punctuation that is not ASCII"),
        ("e\u0301t\u00e9", "\u00e9te\u0301", {}, True, "composed and decomposed letters"),
        ("STRASSE", "stra\u00dfe", {}, True, "case folding, not lower case"),
        ("4", 4, {}, True, "text and number"),
        ("", "", {}, True, "nothing and nothing"),
        ("\u202eParis", "Paris", {}, False, "a direction mark is a difference"),
        ("\ud800", "\ud800", {}, True, "a lone surrogate is like itself"),
        ("London", "Paris", {}, False, "a wrong answer earns nothing"),
        ("in Paris", "Paris", {}, False, "the truth among other words earns nothing"),
        ("Paris or London", "Paris", {}, False, "two answers earn nothing"),
        ("Par", "Paris", {}, False, "a part of the truth earns nothing"),
        ("", "Paris", {}, False, "an empty prediction earns nothing"),
        ("...", "!", {}, False, "punctuation alone is kept"),
        ("-5", "5", {}, False, "a sign is no punctuation"),
        ("5%", "5", {}, False, "a percent sign is no punctuation"),
        ("$5", "5", {}, False, "a currency sign is no punctuation"),
        ("it's", "its", {}, False, "punctuation inside counts"),
        (None, "Paris", {}, False, "no prediction is wrong"),
        ("Paris", None, {}, None, "no truth"),
        (None, None, {}, None, "neither"),
        ("Paris", float("nan"), {}, None, "a truth of NaN, which is how tables write a missing one"),
        ("nan", float("nan"), {}, None, "a truth of NaN is not the word nan"),
        ("Paris", "paris", {"case": True}, False, "case counts where asked"),
        ("Paris.", "Paris", {"punctuation": True}, False, "punctuation counts where asked"),
        (" Paris ", "Paris", {"punctuation": True}, True, "white space does not count beside it"),
        ("New  York", "New York", {"white_space": True}, False, "white space inside counts where asked"),
        (" Paris", "Paris", {"white_space": True}, False, "white space at the ends counts where asked"),
        ("\uff21", "a", {}, False, "full-width forms count"),
        ("\uff21", "a", {"unicode_form": "NFKC"}, True, "unless NFKC is asked for"),
        ("e\u0301", "\u00e9", {"unicode_form": None}, False, "without a form composition counts"),
    ),
)
def test_matches_compares_texts_after_normalisation(prediction, ground_truth, options, expected):
    assert matches(prediction, ground_truth, **options) is expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        (r"\frac{1}{2}", "0.5", True, "LaTeX without dollars"),
        (r"$\frac{1}{2}$", "1/2", True, "LaTeX in dollars"),
        (r"\boxed{5}", "5", True, "in a box"),
        (r"\sqrt{4}", "2", True, "a root"),
        ("$1+x$", "$x+1$", True, "the order of a sum does not matter"),
        (r"\{1,2\}", r"\{2,1\}", True, "the order of a set does not matter"),
        ("$(1,2)$", "$(2,1)$", False, "the order of a pair does"),
        ("0.1", "0.10000000001", False, "plain numbers are compared exactly"),
        ("15", "5", False, "the truth's digits inside another number"),
        ("-3", "3", False, "the wrong sign"),
        (r"\frac{1}{2}", r"\frac{1}{3}", False, "another fraction"),
        ("", "5", False, "an empty prediction"),
        (None, "5", False, "no prediction beside a number"),
        (None, r"\frac{1}{2}", False, "no prediction beside LaTeX"),
        ("10^{10^{10}}", r"\pi", False, "a tower of powers"),
        ("\ud800", "5", False, "a lone surrogate"),
        ("5", None, None, "no truth"),
        ("5", "", None, "an empty truth"),
        ("5", "\x00", None, "a truth without mathematics"),
        ("1+x", "x+1", True, "an expression without dollars, as the docstring allows"),
        ("x", "x", True, "a variable without dollars"),
        ("(1,2)", "(1,2)", True, "a pair without dollars"),
        ("1+y", "1+x", False, "a wrong expression without dollars earns nothing"),
        ("15 or 5", "5", False, "two answers are not equal to one of them"),
        ("It is 7, not 5", "5", False, "a sentence that ends in the truth is not equal to it"),
    ),
)
def test_math_equal_compares_expressions(prediction, ground_truth, expected):
    assert math_equal(prediction, ground_truth) is expected


def test_math_equal_works_in_a_thread_that_is_not_the_main_one():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(math_equal, r"\frac{1}{2}", "0.5").result() is True
        assert pool.submit(math_equal, r"\frac{1}{3}", "0.5").result() is False


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


@given(a=WRITTEN, b=WRITTEN, zero_at=st.floats(0.01, 100), scale=st.sampled_from(["relative", "absolute"]))
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


@given(text=st.text(max_size=30), white=st.sampled_from(["", " ", "\n\t"]))
def test_a_text_matches_itself_in_any_case_and_white_space(text, white):
    assert matches(f"{white}{text}{white}", text) is True
    assert matches(text, text, case=True, white_space=True, punctuation=True, unicode_form=None) is True


ERRORS = [
    (partial(numbers_equal, "1", "1", absolute=-1), "absolute=-1", "a negative absolute tolerance"),
    (partial(numbers_equal, "1", "1", relative=-0.1), "relative=-0.1", "a negative relative tolerance"),
    (partial(numbers_equal, "1", None, relative=-0.1), "must be 0 or above", "where nothing is judged"),
    (partial(numbers_equal, "1", "1", absolute=math.nan), "absolute=nan", "a tolerance that is no number"),
    (partial(closeness, "1", "1", zero_at=0), "zero_at=0 must be above 0", "a line without length"),
    (partial(closeness, "1", None, zero_at=-1), "zero_at=-1 must be above 0", "a line backwards"),
    (partial(closeness, "1", "1", scale="log"), "scale='log' is not known; use one of 'relative'", "a scale"),
    (partial(matches, "a", "a", unicode_form="NFX"), "unicode_form='NFX' is not known", "a form"),
]


@pytest.mark.parametrize(("call", "piece"), table(*ERRORS))
def test_an_option_without_meaning_is_refused_in_a_sentence(call, piece):
    with pytest.raises(ValueError) as caught:
        call()
    assert piece in str(caught.value)


@pytest.mark.parametrize("verify", [numbers_equal, closeness, matches, math_equal])
def test_hostile_predictions_earn_nothing(bounded, verify):
    if verify is not math_equal:  # math-verify has its own bound, by the same signal as `bounded`
        for piece in ("1", "-", "/", " ", "1,", "\ud800", "(", "$"):
            assert verify(piece * 500_000 + "x", "7") == 0.0
    assert verify("1/0", "7") == 0.0
