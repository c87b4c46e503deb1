"""Verifiers: what counts as equal, what as close, what earns nothing, and what is not judged."""

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

import rewardkit as rk
from rewardkit.primitives.verify.numbers import LONGEST_NUMBER, read_number

verify = rk.verify
STEPS = partial(verify.closeness, steps=((0, 1), (0.01, 0.8), (0.1, 0.5)))
CASED = partial(verify.contains, case=True)
WHITE, EXACT = (
    partial(verify.matches, white_space=True),
    partial(verify.matches, exact=True),
)
PARTLY, SIMILAR = partial(verify.json_equal, partial=True), rk.measure.similarity
VERDICTS = {
    verify.numbers_equal: (
        ("15", "5", False, "the truth's digits inside another number earn nothing"),
        ("-5", "5", False, "a number of the wrong sign"),
        ("0.333333", "1/3", False, "a rounded fraction"),
        ("4", "four", None, "a truth that is no number"),
        ("1e999999", "1e999999", None, "more digits than a person would grade"),
    ),
    partial(verify.numbers_equal, relative=0.01): (
        ("0.333", "1/3", True, "a rounded fraction, tolerated"),
    ),
    verify.closeness: (
        ("4", "four", None, "close to a truth that is no number"),
    ),
    partial(verify.closeness, zero_at=0.5): (
        ("9", "12", 0.5, "an error of a quarter, nothing from a half"),
    ),
    STEPS: (
        ("100", "-100", 0.0, "the wrong sign, in steps"),
        ("0.001", "0", 0.0, "a truth of 0, missed: no division by zero, no credit"),
    ),
    verify.matches: (
        ("e\u0301t\u00e9", "\u00e9te\u0301", True, "composed and decomposed letters"),
        ("STRASSE", "stra\u00dfe", True, "case folding, not lower case"),
        ("C#.", "c#", True, "a name with a stop behind it"),
        ("5!", "5", False, "a factorial"),
        ("[1, 2].", "[1, 2]", True, "a list with a stop behind it"),
    ),
    WHITE: (
        (" Paris", "Paris", False, "white space at the ends counts where asked"),
    ),
    EXACT: (
        ("Paris ", "Paris", False, "exact: white space counts"),
    ),
    CASED: (
        ("it is paris", "Paris", False, "case counts where asked"),
    ),
    verify.contains: (
        ("15", "5", False, "fault in the wild: the truth's digits inside another number earn"),
        ("3-5", "5", True, "a range has no sign"),
        ("不正确", "正确", True, "so a word behind a not counts: the documented hole"),
        ("Paris", "", None, "an empty truth is in everything: not judged"),
    ),
    verify.f1: (
        ("The Red house", "red house", 1.0, "neither case nor an article counts"),
        ("-5", "5", 0.0, "fault in the wild: a sign that is deleted"),
        ("1.5", "15", 0.0, "fault in the wild: a point that is deleted"),
        ("C#", "C", 0.0, "a sign that is a part of a name"),
        ("巴黎", "巴黎市", 0.8, "Chinese by characters: two of three, two of two"),
    ),
    verify.choice_equal: (
        ("B", "E", None, "a truth that is no option"),
    ),
    verify.json_equal: (
        ({"a": np.array([1, 2])}, '{"a": [1, 2]}', 1.0, "an array is a list"),
        ("false", "0", 0.0, "false is not 0"),
        ("1", b"1", None, "a truth in bytes"),
        ("1e99999999999999999999", "1", 0.0, "an exponent that no number has"),
    ),
    partial(verify.json_equal, text="matches"): (
        ('[" oslo. "]', ["Oslo"], 1.0, "case and a full stop"),
    ),
    SIMILAR("token_set"): (
        ("it is Paris or London", "Paris", 1.0, "the documented hole: words around the truth"),
    ),
    SIMILAR(): (
        (None, "Paris", 0.0, "nothing is similar to a truth"),
        ("Paris", float("nan"), None, "a truth of NaN, which is how tables write a missing one"),
        ("a" * 40_000, "a" * 80_000, 40_000 / 120_000, "20,000 characters of each are compared"),
    ),
    PARTLY: (
        ('{"a": 1, "b": 3}', '{"a": 1, "b": 2}', 0.5, "one of two"),
        ('{"a": {"x": 1, "y": 2}}', '{"a": {"x": 1, "y": 3}}', 0.5, "a key earns what its value earns"),
    ),
}  # fmt: skip


ROWS = [(verifier, *row) for verifier, rows in VERDICTS.items() for row in rows]


@pytest.mark.parametrize(("verifier", "prediction", "truth", "expected"), table(*ROWS))
def test_a_verifier_judges_a_prediction_by_its_truth(
    verifier, prediction, truth, expected
):
    found = verifier(prediction, truth)
    assert type(found) is type(expected)
    assert found == (
        pytest.approx(expected, rel=1e-15) if isinstance(expected, float) else expected
    )


ANSWERED = {
    "numbers_equal": "4",
    "closeness": "4",
    "json_equal": "4",
    "sets_equal": "4",
    "sets_f1": "4",
    "lists_equal": "4",
}
ANSWERED |= {
    "matches": "Paris",
    "contains": "Paris",
    "f1": "Paris",
    "choice_equal": "B",
}


@pytest.mark.parametrize(("name", "answer"), ANSWERED.items())
def test_no_prediction_is_wrong_and_without_a_truth_nothing_is_judged(name, answer):
    verifier = getattr(verify, name)
    assert verifier(answer, answer) == 1.0 and verifier(None, answer) == 0.0
    assert verifier(answer, None) is None and verifier(answer, float("nan")) is None


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "sets", "lists", "jaccard", "places"),
    table(
        ("{1, 2, 3}", "[1, 2, 3]", 1.0, 1.0, 1.0, 1.0, "a set"),
        ("1, 2, 3", [1, 2, 3], 1.0, 1.0, 1.0, 1.0, "by commas"),
        (np.array([1, 2, 3]), "1, 2, 3", 1.0, 1.0, 1.0, 1.0, "an array"),
        ("3, 1, 2", "1, 2, 3", 1.0, 0.0, 1.0, 0.0, "another order"),
        ("1, 2, 2", "1, 2", 1.0, 0.0, 1.0, 2 / 3, "a duplicate"),
        ("1, 5, 3", "1, 2, 3", 0.0, 0.0, 2 / 4, 2 / 3, "one wrong"),
        ("15", "5", 0.0, 0.0, 0.0, 0.0, "the truth's digits inside another number"),
        (
            "Paris, ROME",
            "paris, 'Rome'",
            1.0,
            1.0,
            1.0,
            1.0,
            "texts as matches compares them",
        ),
        ("'a, b', c", '["a, b", "c"]', 1.0, 1.0, 1.0, 1.0, "a comma in quotes"),
        (
            "1,234",
            "[1, 234]",
            1.0,
            1.0,
            1.0,
            1.0,
            "without them a comma separates: documented",
        ),
        (
            '[{"a": 1, "b": 2}]',
            [{"b": 2.0, "a": 1}],
            1.0,
            1.0,
            1.0,
            1.0,
            "objects, their keys in any order",
        ),
        (
            "{2, 1}, {3}",
            [{1, 2}, {3}],
            1.0,
            1.0,
            1.0,
            1.0,
            "the order in inner sets does not",
        ),
        ("(0, 1]", "0, 1", 0.0, 0.0, 0.0, 0.0, "brackets that do not match"),
        ("1, " * 40_000, "1", 0.0, 0.0, 0.0, 0.0, "over 100,000 characters"),
        ("1", {"a": 1}, None, None, None, None, "a truth that is a dict"),
    ),
)
def test_sets_and_lists_and_their_partial_credit(
    prediction, ground_truth, sets, lists, jaccard, places
):
    for verifier, whole, part in (
        (verify.sets_equal, sets, jaccard),
        (verify.lists_equal, lists, places),
    ):
        assert verifier(prediction, ground_truth) == whole
        assert verifier(prediction, ground_truth, partial=True) == part


def test_the_wrong_keys_are_noted():
    for prediction, wrong in (
        ('{"a": 1, "b": 2}', []),
        ('{"a": 1, "b": [2], "c": 0}', ["b", "c"]),
    ):
        assert noted(PARTLY, prediction, {"a": 1, "b": 2}) == {"wrong_keys": wrong}


NUMBERS = st.decimals(-10_000, 10_000, places=3) | st.sampled_from(
    [*map(Decimal, ("0", "1e-30", "-1e40"))]
)
WRITTEN = NUMBERS.map(str) | st.builds(
    "{}/{}".format, st.integers(-99, 99), st.integers(1, 99)
)
SAYINGS = st.lists(
    st.sampled_from("red house the 5 5.0 -5 C# - 中 文".split()), max_size=8
).map(" ".join)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "a", "B", 0.5, 1.0])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
ELEMENTS = (
    st.integers(-99, 99)
    | st.sampled_from(["red", "x y"])
    | st.decimals(-9, 9, places=2).map(float)
)
LISTS = st.lists(ELEMENTS, max_size=6)
WRITERS = st.sampled_from(
    [json.dumps, str, lambda items: "; ".join(map(str, items)) or "[]", list, tuple]
)
WRITTEN_LISTS = st.builds(lambda write, items: write(items), WRITERS, LISTS)
JUDGED = {
    "numbers_equal": (verify.numbers_equal, WRITTEN),
    "closeness": (verify.closeness, WRITTEN),
    "closeness, absolute": (
        partial(verify.closeness, zero_at=100, scale="absolute"),
        WRITTEN,
    ),
    "closeness in steps": (STEPS, WRITTEN),
    "matches": (verify.matches, st.text(max_size=30)),
    "f1": (verify.f1, SAYINGS),
    "choice_equal": (verify.choice_equal, st.text("AB(). or", max_size=8)),
    "json_equal": (verify.json_equal, VALUES.map(json.dumps)),
    "json_equal in part": (PARTLY, VALUES.map(json.dumps)),
    "sets_equal in part": (partial(verify.sets_equal, partial=True), WRITTEN_LISTS),
    "lists_equal in part": (partial(verify.lists_equal, partial=True), WRITTEN_LISTS),
}


@pytest.mark.parametrize("name", JUDGED)
@given(data=st.data())
def test_a_verdict_is_symmetric_in_range_and_full_for_the_same(name, data):
    verifier, texts = JUDGED[name]
    a, b = data.draw(texts), data.draw(texts)
    one, other = verifier(a, b), verifier(b, a)
    assert one == other or (None in (one, other) and not one and not other)
    assert 0.0 <= (one or 0.0) <= 1.0
    assert verifier(a, a) in (1.0, None)


@given(a=NUMBERS, b=NUMBERS, tolerance=st.decimals(0, 2, places=2))
def test_a_relative_tolerance_is_a_share_of_the_larger_magnitude(a, b, tolerance):
    exact = [Fraction(str(number)) for number in (a, b, tolerance)]
    expected = abs(exact[0] - exact[1]) <= exact[2] * max(abs(exact[0]), abs(exact[1]))
    assert verify.numbers_equal(a, b, relative=float(tolerance)) is expected


LARGER = "{1}{0} {0}{1} {1}.{0} {0}.{1} {0},{1}00 {1},{0} -{0} {0}% {1}/{0}".split()


@given(
    number=st.integers(0, 9999), digit=st.integers(1, 9), larger=st.sampled_from(LARGER)
)
def test_contains_never_finds_a_number_inside_another(number, digit, larger):
    text = larger.format(number, digit)
    assert verify.contains(f"It is {text}.", str(number)) is (text == str(number))
    assert verify.contains(f"It is {text}, or {number}.", str(number)) is True


BAGS = st.lists(st.sampled_from("bcde"), min_size=1, max_size=8)


@given(a=BAGS, b=BAGS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(a, b):
    common = sum((Counter(a) & Counter(b)).values())
    precision, recall = common / len(a), common / len(b)
    expected = 2 * precision * recall / (precision + recall) if common else 0.0
    assert verify.f1(" ".join(a), " ".join(b)) == pytest.approx(expected)


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
    assert verify.json_equal(json.dumps(a), json.dumps(b)) == float(
        strictly(a) == strictly(b)
    )


@given(a=LISTS, b=LISTS, one=WRITERS, other=WRITERS)
def test_sets_and_lists_are_equal_as_python_says_of_their_elements(a, b, one, other):
    assert verify.sets_equal(one(a), other(b)) == float(set(a) == set(b))
    assert verify.lists_equal(one(a), other(b)) == float(a == b)


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("\u22124", Decimal(-4), "a typographic minus"),
        ("1E-5", Decimal("1e-5"), "a negative exponent in upper case"),
        (
            "\uff11\uff0c\uff12\uff13\uff14\uff0e\uff15",
            Decimal("1234.5"),
            "full-width digits and separators",
        ),
        (r"\[42.\].", Decimal(42), "in LaTeX's brackets, with stops"),
        (0.1, Decimal("0.1"), "a float reads as it prints"),
        (Fraction(1, 3), Fraction(1, 3), "a Fraction is exact"),
        ("1,23", None, "a comma in the wrong place"),
        ("0.333...", None, "decimals that go on"),
        ("1.234,56", None, "a decimal comma behind a point for the thousands"),
        ("1 3/2", None, "a mixed number with more than one in its fraction"),
        ("10^{10^{10}}", None, "a tower of powers"),
        ("1" * (LONGEST_NUMBER + 1), None, "over 1,000 characters"),
        (True, None, "a bool"),
    ),
)
def test_read_number_reads_a_number_exactly_and_nothing_else(text, expected):
    assert read_number(text) == expected
    assert expected is None or type(read_number(text)) in (Decimal, Fraction)


@given(number=st.integers(-(10**20), 10**20))
def test_all_ways_to_write_a_whole_number_stand_for_it(number):
    digits, sign = f"{abs(number):,}", "-" if number < 0 else ""
    full_width = digits.translate({ord(c): ord(c) + 0xFEE0 for c in "0123456789,"})
    separated = [
        digits.replace(",", separator)
        for separator in ("", ",", "{,}", r"\,", "\u2009")
    ]
    for text in (*separated, full_width, digits + ".", digits + ".0", f"${digits}"):
        assert read_number(sign + text) == read_number(f"  {sign}{text}\n") == number, (
            text
        )


@given(number=st.decimals(-(10**9), 10**9, places=6), power=st.integers(-30, 30))
def test_all_ways_to_write_a_power_of_ten_or_a_percentage_stand_for_the_same(
    number, power
):
    expected = Fraction(number) * Fraction(10) ** power
    for between in (
        f"e{power}",
        rf" \times 10^{{{power}}}",
        f"*10^{power}",
        f" \u00d7 10^{power}",
    ):
        assert Fraction(read_number(f"{number:f}{between}")) == expected
    assert read_number(f"{number:f}%") * 100 == number


@given(
    above=st.integers(-999, 999), below=st.integers(1, 999), whole=st.integers(1, 999)
)
def test_all_ways_to_write_a_fraction_stand_for_it(above, below, whole):
    for text in (
        f"{above}/{below}",
        rf"\frac{{{above}}}{{{below}}}",
        rf"\dfrac{{{-above}}}{{{-below}}}",
    ):
        assert (
            read_number(text) == Fraction(above, below) == read_number(f"{text}%") * 100
        )
    above = abs(above) % below
    for text in (f"{whole} {above}/{below}", rf"{whole}\frac{{{above}}}{{{below}}}"):
        assert (
            read_number(text)
            == -read_number(f"-{text}")
            == whole + Fraction(above, below)
        )
