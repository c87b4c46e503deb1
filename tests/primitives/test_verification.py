"""Verification: what counts as equal, what as close, what earns nothing, and what is not judged."""

from __future__ import annotations

import math
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
        ("0.3", "1/3", {"relative": 0.1}, True, "at the limit of a fraction that has no end in decimals"),
        ("0.29", "1/3", {"relative": 0.1}, False, "past it"),
        ("1" * 900 + "e999999", "5", {"relative": 0.1}, False, "digits and exponent beyond any float"),
        ("1e999", "1.05e999", {"relative": 0.1}, True, "near each other, out there"),
        ("1e999", "2e999", {"relative": 0.1}, False, "not near each other, out there"),
        ("1e999999", "1e999999", {}, None, "more digits than a person would grade"),
        ("1e-999", "0", {"absolute": 0.1}, True, "nearly nothing"),
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
        ("1e400", "0", {"zero_at": 4, "scale": "absolute"}, 0.0, "an error beyond any float"),
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
        ("100", "90", {}, 0.5, "at the second limit, on the other side"),
        ("90", "100", {}, 0.5, "and the same the other way round"),
        ("89", "100", {}, 0.0, "past the last limit: a wrong answer does not earn half"),
        ("-99", "-100", {}, 0.8, "a negative truth earns as a positive one does"),
        ("-200", "-100", {}, 0.0, "a negative truth does not earn by itself"),
        ("100", "-100", {}, 0.0, "the wrong sign"),
        ("0", "0", {}, 1.0, "a truth of 0, met"),
        ("0.001", "0", {}, 0.0, "a truth of 0, missed: no division by zero, no credit"),
        ("0.05", "0", {"scale": "absolute"}, 0.5, "a truth of 0 and an absolute error"),
        ("0.2", "0", {"scale": "absolute"}, 0.0, "too large an absolute error"),
        ("3", "4", {"steps": ((0.25, 1.0),)}, 1.0, "one step, at its limit"),
        ("3", "4", {"steps": ((0.2, 1.0),)}, 0.0, "one step, missed"),
        ("0.3", "1/3", {"steps": [(0.1, 0.5)]}, 0.5, "exactly at the limit of a fraction; steps in a list"),
        ("1e999999", "1", {}, 0.0, "an exponent that would be an infinite float"),
        ("ninety", "100", {}, 0.0, "a prediction that is no number"),
        (None, "100", {}, 0.0, "no prediction"),
        ("100", "hundred", {}, None, "a truth that is no number"),
    ),
)
def test_closeness_in_steps(prediction, ground_truth, options, expected):
    assert closeness(prediction, ground_truth, **{"steps": STEPS_DOWN, **options}) == expected


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
        (".5", "5", {}, False, "a decimal point is no punctuation"),
        ("...5", "5", {"case": True}, False, "not even behind others"),
        ("\u20135", "5", {}, False, "a dash before a digit is a sign"),
        ("\uff0d5", "5", {}, False, "a full-width minus too"),
        ("\u2013 Paris", "Paris", {}, True, "a dash before a word is none"),
        ("5\uff05", "5", {}, False, "a full-width percent sign is no punctuation"),
        ("5\u2030", "5", {}, False, "nor is a per mille sign"),
        ("5.", "5", {}, True, "a full stop behind a digit is punctuation"),
        ("\u3010\u5df4\u9ece\u3011\u3002", "\u5df4\u9ece", {}, True, "Chinese brackets and full stop"),
        ("\uff30aris", "paris", {"unicode_form": "NFKC"}, True, "NFKC and case together"),
        ("\u0390", "\u03aa\u0301", {}, True, "a letter that case folding takes apart"),
        ("C#", "C", {}, False, "a sign that is a part of a name"),
        ("C#.", "c#", {}, True, "with a stop behind it"),
        (".NET", "NET", {}, False, "a stop that is a part of a name"),
        ("...Paris", "Paris", {}, True, "an ellipsis that is none"),
        ("!x", "x", {}, False, "a negation"),
        ("!Paris", "Paris", {}, True, "a mark before a word"),
        ("*p", "p", {}, False, "a pointer"),
        ("*p*", "p", {}, True, "emphasis"),
        ("\u22125", "-5", {}, True, "a typographic minus before digits"),
        ("\u2212.5", "-.5", {}, True, "before a point"),
        ("\u22125", "5", {}, False, "a typographic minus and none"),
        ("\u22125", "-5", {"exact": True}, False, "exact: two characters"),
        ("\ufb01n", "fin", {}, True, "a ligature that has no upper case"),
        ("\ufb01n", "fin", {"case": True}, False, "counts where case does"),
        ("#5", "5", {}, False, "or of a number"),
        ("# Paris", "Paris", {}, True, "not one that stands by itself"),
        ("@home", "home", {}, False, "an address"),
        ("/etc/", "etc", {}, False, "a path"),
        ("\\n", "n", {}, False, "an escape"),
        ("__init__", "init", {}, False, "underscores are letters of names"),
        ("**Paris**", "Paris", {}, True, "Markdown around a word"),
        ("**B.**", "B", {}, True, "or a letter"),
        ("C++", "C", {}, False, "a symbol is no punctuation"),
        ("5!", "5", {}, False, "a factorial"),
        ("5!.", "5!", {}, True, "with a stop behind it"),
        ('"5!"', "5!", {}, True, "and in quotes"),
        ("n!", "n", {}, False, "of a letter"),
        ("2n!", "2n", {}, False, "behind a digit"),
        ("(n+1)!", "(n+1)", {}, False, "of brackets"),
        ("x = 5!", "x = 5", {}, False, "at the end of an equation"),
        ("5\uff01", "5", {}, False, "in full width"),
        ("Paris!", "Paris", {}, True, "an exclamation"),
        ("是！", "是", {}, True, "of one Chinese character, which is a word"),
        ("5?", "5", {}, True, "a question mark says nothing of the number"),
        ("5,", "5", {}, True, "nor does a comma"),
        ("x'", "x", {}, False, "a derivative"),
        ("x’", "x'", {}, True, "with a typographic sign"),
        ("x''", "x'", {}, False, "of the second order"),
        ("'x'", "x", {}, True, "quotes around a letter"),
        ("“5”", "5", {}, True, "and around a digit"),
        ("5'", '5"', {}, False, "feet and inches"),
        ("p*", "p", {}, False, "a star behind a letter"),
        ("0.33...", "0.33", {}, False, "digits that go on"),
        ("0.33…", "0.33", {}, False, "behind another sign for it"),
        ("1, 2, 3, ...", "1, 2, 3", {}, False, "a list that goes on"),
        ("Well...", "well", {}, True, "a word that goes on"),
        ("(1, 2]", "[1, 2)", {}, False, "two intervals"),
        ("(1, 2)", "[1, 2]", {}, False, "open and closed"),
        ("((1, 2), 3)", "(1, 2), 3)", {}, False, "a pair in a pair"),
        ("[0, infinity)", "(0, infinity)", {}, False, "with a number at one end"),
        ("(minus one, 2]", "(minus one, 2)", {}, False, "and at the other"),
        ("[1, 2].", "[1, 2]", {}, True, "with a stop behind it"),
        ("{a,b}", "(a,b)", {}, False, "a set and a pair"),
        ("(5)", "5", {}, True, "brackets around one number"),
        ("(-5)", "-5", {}, True, "with its sign"),
        ("(B).", "B", {}, True, "around one letter"),
        ("B)", "b", {}, True, "as lists have it"),
        ("(in Paris)", "in Paris", {}, True, "around words"),
        ("(Paris, Rome)", "Paris, Rome", {}, True, "of which there are several"),
        ("don’t", "don't", {}, True, "a typographic apostrophe"),
        ("the “big” one", 'the "big" one', {}, True, "typographic quotes inside"),
        ("don’t", "don't", {"punctuation": True}, False, "where punctuation counts, so does its shape"),
        ("don’t", "don't", {"exact": True}, False, "exact: the shape counts"),
        ("it’s", "its", {}, False, "it is punctuation inside all the same"),
        ("Paris", "Paris", {"exact": True}, True, "exact: the same characters"),
        ("Paris ", "Paris", {"exact": True}, False, "exact: white space counts"),
        ("paris", "Paris", {"exact": True}, False, "exact: case counts"),
        ("Paris.", "Paris", {"exact": True}, False, "exact: punctuation counts"),
        ("e\u0301", "\u00e9", {"exact": True}, False, "exact: composition counts"),
        (4, "4", {"exact": True}, True, "exact: as it prints"),
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


ERRORS = [
    (partial(numbers_equal, "1", "1", absolute=True), "absolute=True", "a tolerance that is a bool"),
    (partial(numbers_equal, "1", "1", absolute=-1), "absolute=-1", "a negative absolute tolerance"),
    (partial(numbers_equal, "1", "1", relative=-0.1), "relative=-0.1", "a negative relative tolerance"),
    (partial(numbers_equal, "1", None, relative=-0.1), "must be 0 or above", "where nothing is judged"),
    (partial(numbers_equal, "1", "1", absolute=math.nan), "absolute=nan", "a tolerance that is no number"),
    (partial(closeness, "1", "1", zero_at=0), "zero_at=0 must be above 0", "a line without length"),
    (partial(closeness, "1", None, zero_at=-1), "zero_at=-1 must be above 0", "a line backwards"),
    (partial(numbers_equal, "1", "1", absolute=math.inf), "absolute=inf", "a tolerance without end"),
    (partial(numbers_equal, "1", "1", relative="0.1"), "relative='0.1'", "a tolerance in quotes"),
    (partial(closeness, "1", "1", zero_at=math.inf), "zero_at=inf must be above 0, and finite", "no end"),
    (partial(closeness, "1", "1", zero_at=math.nan), "zero_at=nan", "an end that is no number"),
    (partial(closeness, "1", "1", steps=()), "steps=() must be pairs", "no step"),
    (partial(closeness, "1", None, steps=(0.1, 0.5)), "must be pairs of (error, credit)", "one flat pair"),
    (partial(closeness, "1", "1", steps=((0.1, 0.5), (0.1, 0.4))), "errors that rise", "errors that stay"),
    (partial(closeness, "1", "1", steps=((0.1, 0.5), (0, 1))), "errors that rise", "errors that fall"),
    (partial(closeness, "1", "1", steps=((0, 0.5), (0.1, 0.5))), "credits that fall", "credits that stay"),
    (partial(closeness, "1", "1", steps=((0, 2), (0.1, 0.5))), "within [0, 1]", "credit above 1"),
    (partial(closeness, "1", "1", steps=((-1, 1),)), "from 0 or above", "a negative error"),
    (partial(closeness, "1", "1", steps=((math.inf, 1),)), "must be pairs", "an error without end"),
    (partial(closeness, "1", "1", steps=(("a", 1), (2, 0))), "must be pairs", "an error in letters"),
    (partial(closeness, "1", "1", steps=STEPS_DOWN, zero_at=2), "exclude each other", "steps and a line"),
    (partial(matches, "a", "a", exact=True, unicode_form="NFKC"), "exclude each other", "exact and folded"),
    (partial(closeness, "1", "1", scale="log"), "scale='log' is not known; use one of 'relative'", "a scale"),
    (partial(matches, "a", "a", exact="yes"), "exact='yes' does not fit; give True or False", "no bool"),
    (partial(matches, "a", "a", case=1), "case=1 does not fit", "a number for a bool"),
    (partial(matches, "a", None, white_space=None), "white_space=None does not fit", "nothing for a bool"),
    (partial(matches, "a", "a", punctuation="ends"), "punctuation='ends' does not fit", "a text for a bool"),
    (partial(matches, "a", "a", unicode_form="NFX"), "unicode_form='NFX' is not known", "a form"),
]


@pytest.mark.parametrize(("call", "piece"), table(*ERRORS))
def test_an_option_without_meaning_is_refused_in_a_sentence(call, piece):
    with pytest.raises(ValueError) as caught:
        call()
    assert piece in str(caught.value)


JUDGES = [numbers_equal, partial(numbers_equal, relative=0.1), closeness, matches]


@pytest.mark.parametrize(
    "verify", [*JUDGES, partial(matches, unicode_form="NFKC")], ids=range(len(JUDGES) + 1)
)
def test_hostile_predictions_earn_nothing(bounded, verify):
    for piece in (
        "1",
        "-",
        "/",
        " ",
        "1,",
        "\ud800",
        "(",
        "$",
        "e\u0301",
        "\u0301\u0316",
        "!",
        "\ufdfa",
        ".",
        "-5",
    ):
        assert verify(piece * (1_000_000 // len(piece)) + "x", "7") == 0.0
    assert verify("1/0", "7") == 0.0


def test_compatibility_forms_are_folded_in_texts_of_up_to_100_000_characters():
    for size, same in ((100_000, True), (100_001, False)):
        assert matches("\uff21" * size, "a" * size, unicode_form="NFKC") is same


@pytest.mark.parametrize("unit", ["\uff9e\u0301", "\uff9f\u0316\u0301", "\ufdfa", "\u0344"], ids=ascii)
def test_signs_that_folding_turns_into_marks_take_no_time(bounded, unit):
    text = unit * (100_000 // len(unit))
    assert matches(f"x{text}", f"x{text}", unicode_form="NFKC") is True
    assert matches(f"x{text}", f"y{text}", unicode_form="NFKC") is False


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_runs_of_combining_marks_are_compared_in_linear_time(bounded, form):
    marks = "\u0301\u0316" * 500_000
    assert matches(f"e{marks}", f"e{marks}", unicode_form=form) is True
    assert matches(f"e{marks}", f"a{marks}", unicode_form=form) is False
