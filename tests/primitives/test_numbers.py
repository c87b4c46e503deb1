"""Numbers: what a text or value stands for, exactly, and what is no number."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rewardkit.primitives.verify.numbers import LONGEST, as_decimal, distance, read_number


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("4", Decimal(4), "digits"),
        (" 4 \n", Decimal(4), "white space around it"),
        ("4.", Decimal(4), "a full stop behind it"),
        ("10.", Decimal(10), "ten and a full stop"),
        ("4。", Decimal(4), "a Chinese full stop behind it"),
        ("-4", Decimal(-4), "a sign"),
        ("+4", Decimal(4), "a plus"),
        ("\u22124", Decimal(-4), "a typographic minus"),
        ("\u20134", Decimal(-4), "an en dash for a minus"),
        ("\uff0d\uff14", Decimal(-4), "a full-width minus"),
        ("\uff0b4", Decimal(4), "a full-width plus"),
        ("1,234,567.5", Decimal("1234567.5"), "thousands separators"),
        ("1{,}234{,}567", Decimal(1234567), "LaTeX's separator in braces"),
        ("1,00,000", Decimal(100000), "India's separators"),
        ("-12,34,567.5", Decimal("-1234567.5"), "with a sign and decimals"),
        (r"1\,234", Decimal(1234), "LaTeX's thin space"),
        (r"12,\!345", Decimal(12345), "LaTeX's comma without its space"),
        ("1\u2009234\u2009567", Decimal(1234567), "thin spaces"),
        ("1\u00a0234", Decimal(1234), "a no-break space"),
        ("5 000", Decimal(5000), "a plain space"),
        ("-$2 000 000.5", Decimal("-2000000.5"), "several, with a sign and decimals"),
        ("250 000", Decimal(250000), "noughts behind three digits"),
        ("1 000 1/2", Fraction(2001, 2), "a mixed number with a space in the whole"),
        ("1 100/200", Fraction(3, 2), "a mixed number of three digits"),
        ("2 000/3", Fraction(2000, 3), "a fraction of thousands"),
        (r"\frac{1 200}{300}", Decimal(4), "in LaTeX"),
        ("负5", Decimal(-5), "a Chinese minus"),
        ("1\u202f234.5", Decimal("1234.5"), "a narrow no-break space"),
        (".5", Decimal("0.5"), "no digit before the point"),
        ("-.5", Decimal("-0.5"), "a sign before the point"),
        ("007", Decimal(7), "zeros in front"),
        ("0.10", Decimal("0.10"), "a zero at the end"),
        ("6.02e23", Decimal("6.02e23"), "an exponent"),
        ("1E-5", Decimal("1e-5"), "a negative exponent in upper case"),
        (r"6.02 \times 10^{23}", Decimal("6.02e23"), "LaTeX's powers of ten"),
        (r"6.02\cdot10^{-3}", Decimal("6.02e-3"), "with a dot and a negative exponent"),
        ("6.02 \u00d7 10^23", Decimal("6.02e23"), "a multiplication sign"),
        ("6.02*10^23", Decimal("6.02e23"), "an asterisk"),
        ("6.02 x 10^23", Decimal("6.02e23"), "a letter x"),
        ("6.02\u00d710\u00b2\u00b3", Decimal("6.02e23"), "raised digits"),
        ("2\u00d710\u207b\u00b2", Decimal("0.02"), "a raised minus"),
        ("10^{5}", Decimal(100000), "a power of ten alone"),
        ("-10^-2", Decimal("-0.01"), "a negative power of ten"),
        ("50%", Decimal("0.5"), "a percent sign"),
        (r"12.5\%", Decimal("0.125"), "LaTeX's percent sign"),
        ("50 %.", Decimal("0.5"), "a space before it and a stop behind it"),
        ("\uff15\uff10\uff05", Decimal("0.5"), "a full-width percent sign"),
        ("1/2%", Fraction(1, 200), "a fraction of a percent"),
        ("2/4", Fraction(1, 2), "a fraction"),
        ("-1/3", Fraction(-1, 3), "a negative fraction"),
        ("3/-4", Fraction(-3, 4), "a sign below"),
        ("1.5 / 2", Fraction(3, 4), "a fraction of decimals"),
        ("3\u20444", Fraction(3, 4), "a fraction slash"),
        ("0/5", Decimal(0), "nothing of five"),
        ("\u00bd", Fraction(1, 2), "a half in one character"),
        ("-2\u00bd", Fraction(-5, 2), "two and a half"),
        ("2 \u215e", Fraction(23, 8), "two and seven eighths"),
        ("1 1/2", Fraction(3, 2), "one and a half"),
        ("1,000 1/2", Fraction(2001, 2), "a mixed number with a separator"),
        (r"\frac{1}{2}", Fraction(1, 2), "LaTeX's fraction"),
        (r"\dfrac{9}{7}", Fraction(9, 7), "the one of displays"),
        (r"-\tfrac{1}{2}", Fraction(-1, 2), "the one of texts, with a sign"),
        (r"\frac12", Fraction(1, 2), "without braces"),
        (r"\frac{-1}{2}", Fraction(-1, 2), "a sign above"),
        (r"-\frac{-1}{-2}", Fraction(-1, 2), "three signs"),
        (r"1\frac{1}{2}", Fraction(3, 2), "LaTeX's mixed number"),
        (r"\frac{1{,}000}{3}", Fraction(1000, 3), "a separator above"),
        ("$1,234.50.", Decimal("1234.50"), "a currency sign"),
        ("-$5", Decimal(-5), "a sign before the currency"),
        ("$-5", Decimal(-5), "a sign behind the currency"),
        (r"\$1,000", Decimal(1000), "an escaped currency sign"),
        ("\u20ac 5", Decimal(5), "euros, with a space"),
        ("\uffe5\uff15", Decimal(5), "full-width yen"),
        ("\uff11\uff0c\uff12\uff13\uff14\uff0e\uff15", Decimal("1234.5"), "full-width digits and separators"),
        ("1\uff0c234", Decimal(1234), "a full-width comma between digits"),
        ("\u0661\u066c\u0662\u0663\u0664\u066b\u0665", Decimal("1234.5"), "Arabic digits and separators"),
        ("\u096a\u0968", Decimal(42), "Devanagari digits"),
        ("\U0001d7d2\U0001d7d0", Decimal(42), "bold mathematical digits"),
        ("$42$", Decimal(42), "in dollars"),
        ("$$42$$", Decimal(42), "in two dollars"),
        (r"\(42\)", Decimal(42), "in LaTeX's parentheses"),
        (r"\[42.\].", Decimal(42), "in LaTeX's brackets, with stops"),
        (r"$\frac{1}{2}$.", Fraction(1, 2), "a fraction in dollars"),
        ("1" * LONGEST, Decimal("1" * LONGEST), "1,000 characters"),
    ),
)
def test_read_number_reads_text_exactly(text, expected):
    assert read_number(text) == expected
    assert type(read_number(text)) in (Decimal, Fraction)


@pytest.mark.parametrize(
    ("value", "expected"),
    table(
        (7, Decimal(7), "an int"),
        (10**30, Decimal(10**30), "a long int"),
        (0.1, Decimal("0.1"), "a float reads as it prints"),
        (np.float64(0.1), Decimal("0.1"), "a numpy float too"),
        (
            np.float32(0.1),
            Decimal("0.1"),
            "a short numpy float as it prints, not as its double",
        ),
        (np.int64(2**53 + 1), Decimal(2**53 + 1), "a numpy integer is exact"),
        (Fraction(1, 3), Fraction(1, 3), "a Fraction is exact"),
        (Fraction(4, 2), Decimal(2), "a whole Fraction"),
        (Decimal("1.50"), Decimal("1.50"), "a Decimal"),
    ),
)
def test_read_number_takes_numbers_as_they_are(value, expected):
    assert read_number(value) == expected


@pytest.mark.parametrize(
    "value",
    table(
        ("1,23", "a comma in the wrong place"),
        ("0.333...", "decimals that go on"),
        ("$.5..$", "the same within dollars"),
        ("12,345,67", "the last group too short"),
        ("1,2345", "the last group too long"),
        ("128 256 512", "three numbers"),
        ("3 4 5", "digits that list"),
        ("0 123", "a nought in front of a group"),
        ("2019 100", "four digits in front of a group"),
        ("1 2345", "a group too long"),
        (r"\frac{1 2}{3}", "two numbers above"),
        ("5万", "a Chinese magnitude"),
        ("1,00,0000", "the last of India's groups too long"),
        ("01,00,000", "a nought in front of India's groups"),
        ("123,00,000", "three digits in front of them"),
        ("2024-01-15", "a date with hyphens"),
        ("1:30", "a time"),
        ("0x1F", "a hexadecimal number"),
        ("1.234,56", "a decimal comma behind a point for the thousands"),
        ("5\u00b2", "a square"),
        ("0,123", "a decimal comma, not nought thousand"),
        ("1.234.567", "points for separators"),
        ("1,234 567", "a space for a separator"),
        ("1,234\u2009567", "two kinds of separators"),
        ("3.14.15", "two points"),
        ("1_000", "an underscore"),
        ("1/0", "a division by zero"),
        (r"\frac{1}{0}", "a fraction of zero"),
        ("/5", "no numerator"),
        ("1/", "no denominator"),
        ("3/4/2024", "a date"),
        ("1 3/2", "a mixed number with more than one in its fraction"),
        ("1 2/2", "nor may it be one"),
        ("1 1/-2", "a mixed number with a sign inside"),
        ("1.5 1/2", "a mixed number that is not whole"),
        ("1.5\u00bd", "a half behind decimals"),
        ("\u00bd5", "a digit behind a half"),
        (r"1.\frac12", "a fraction behind a point"),
        (r"\frac345", "a digit behind a fraction"),
        (r"\frac{1 1}{2}", "two numbers above"),
        (r"\frac{x}{2}", "a letter above"),
        (r"10^\frac12", "a fraction for an exponent"),
        (r"1/2 \times 10^3", "a fraction times a power of ten"),
        ("10^3/2", "a fraction of a power of ten"),
        ("2^10", "a power of two"),
        ("210^5", "a power of another number"),
        ("10^{10^{10}}", "a tower of powers"),
        ("10^{9999999}", "an exponent beyond bounds"),
        ("1e9999999", "an exponent beyond bounds, in short"),
        ("1e2000/3", "a fraction beyond bounds"),
        ("5\u00b2", "a square"),
        ("--5", "two signs"),
        ("-$-5", "two signs around the currency"),
        ("- 5", "a list item"),
        ("5 kg", "a unit"),
        ("4 apples", "a word behind it"),
        ("5\u20ac", "a currency sign behind it is a unit"),
        ("%", "a percent sign alone"),
        ("5%%", "two percent signs"),
        ("four", "a word"),
        ("one half", "two words"),
        ("x", "a letter"),
        ("e5", "an exponent alone"),
        ("0x10", "hexadecimal digits"),
        ("\u2163", "a Roman number"),
        ("nan", "text that Python reads as NaN"),
        ("inf", "text that Python reads as an infinity"),
        ("", "empty text"),
        (" ", "white space"),
        (".", "a point alone"),
        ("$", "a currency sign alone"),
        ("$$", "empty mathematics"),
        ("**4**", "Markdown"),
        ("5\x00", "a control character"),
        ("\u202e5", "a direction mark"),
        ("5\u0301", "a combining mark"),
        ("\ud800", "a lone surrogate"),
        ("\U0001f600", "an emoji"),
        ("1" * (LONGEST + 1), "over 1,000 characters"),
        (float("nan"), "NaN"),
        (float("-inf"), "an infinity"),
        (Decimal("NaN"), "a decimal NaN"),
        (True, "a bool"),
        (np.True_, "a numpy bool"),
        (None, "nothing"),
        ([4], "a list"),
        (b"4", "bytes"),
        (1j, "a complex number"),
    ),
)
def test_what_is_no_number_is_not_read(value):
    assert read_number(value) is None


WHOLE = st.integers(-(10**20), 10**20)
DECIMALS = st.decimals(-(10**9), 10**9, places=6)


@given(number=WHOLE)
def test_all_ways_to_write_a_whole_number_stand_for_it(number):
    digits = f"{abs(number):,}"
    full_width = digits.translate({ord(c): ord(c) + 0xFEE0 for c in "0123456789,"})
    sign = "-" if number < 0 else ""
    separated = [digits.replace(",", separator) for separator in ("", ",", "{,}", r"\,", "\u2009")]
    for text in (*separated, full_width, digits + ".", digits + ".0", f"${digits}"):
        assert read_number(sign + text) == number, text
        assert read_number(f"  {sign}{text}\n") == number


@given(number=DECIMALS, power=st.integers(-30, 30))
def test_all_ways_to_write_a_power_of_ten_stand_for_the_same(number, power):
    expected = Fraction(number) * Fraction(10) ** power
    for between in (f"e{power}", rf" \times 10^{{{power}}}", f"*10^{power}", f" \u00d7 10^{power}"):
        assert Fraction(read_number(f"{number:f}{between}")) == expected


@given(above=st.integers(-999, 999), below=st.integers(1, 999), whole=st.integers(1, 999))
def test_all_ways_to_write_a_fraction_stand_for_it(above, below, whole):
    for text in (f"{above}/{below}", rf"\frac{{{above}}}{{{below}}}", rf"\dfrac{{{-above}}}{{{-below}}}"):
        assert read_number(text) == Fraction(above, below)
        assert read_number(f"{text}%") == Fraction(above, below) / 100
    assume(0 <= above < below)
    for text in (f"{whole} {above}/{below}", rf"{whole}\frac{{{above}}}{{{below}}}"):
        assert read_number(text) == whole + Fraction(above, below)
        assert read_number(f"-{text}") == -whole - Fraction(above, below)


@given(number=DECIMALS)
def test_a_percent_sign_divides_by_a_hundred_exactly(number):
    assert read_number(f"{number:f}%") * 100 == number


PIECES = [
    " ",
    "\u2009",
    "\ud800",
    *r"1 2 0 12 , . / - + $ % e 10^ { } \, {,} \frac \times ½ ² ٣ １ ， ． −".split(),
]


@given(text=st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=30))
def test_any_text_is_a_finite_number_or_none_and_white_space_does_not_matter(text):
    number = read_number(text)
    assert number is None or (isinstance(number, Fraction) or number.is_finite())
    assert read_number(f" \n{text}\t") == number


@pytest.mark.parametrize("piece", ["1", "\u00bd", "1 ", "1,", r"\frac{", "10^", "$", "\uff11", " ", r"1\,"])
def test_a_thousand_characters_of_anything_are_read_at_once(bounded, piece):
    for _ in range(200):
        read_number((piece * LONGEST)[:LONGEST])
    assert read_number(piece * 1_000_000) is None or piece == " "


def test_distance_and_as_decimal_have_60_digits():
    assert as_decimal(Fraction(1, 3)) == Decimal("0." + "3" * 60)
    assert distance(Fraction(1, 3), Decimal("0.5")) == Decimal("0.1" + "6" * 58 + "7")
    assert distance(Decimal(1), Decimal(4)) == 3
