"""Numbers: what a text or value stands for, exactly, and what is no number."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tabled import table

from rewardkit.primitives.verify.numbers import LONGEST, read_number


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("\u22124", Decimal(-4), "a typographic minus"),
        ("1E-5", Decimal("1e-5"), "a negative exponent in upper case"),
        ("\uff11\uff0c\uff12\uff13\uff14\uff0e\uff15", Decimal("1234.5"), "full-width digits and separators"),
        (r"\[42.\].", Decimal(42), "in LaTeX's brackets, with stops"),
        (0.1, Decimal("0.1"), "a float reads as it prints"),
        (Fraction(1, 3), Fraction(1, 3), "a Fraction is exact"),
        ("1,23", None, "a comma in the wrong place"),
        ("0.333...", None, "decimals that go on"),
        ("1.234,56", None, "a decimal comma behind a point for the thousands"),
        ("1 3/2", None, "a mixed number with more than one in its fraction"),
        ("10^{10^{10}}", None, "a tower of powers"),
        ("1" * (LONGEST + 1), None, "over 1,000 characters"),
        (True, None, "a bool"),
    ),
)
def test_read_number_reads_a_number_exactly_and_nothing_else(text, expected):
    assert read_number(text) == expected
    assert expected is None or type(read_number(text)) in (Decimal, Fraction)


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
def test_all_ways_to_write_a_power_of_ten_or_a_percentage_stand_for_the_same(number, power):
    expected = Fraction(number) * Fraction(10) ** power
    for between in (f"e{power}", rf" \times 10^{{{power}}}", f"*10^{power}", f" \u00d7 10^{power}"):
        assert Fraction(read_number(f"{number:f}{between}")) == expected
    assert read_number(f"{number:f}%") * 100 == number


@given(above=st.integers(-999, 999), below=st.integers(1, 999), whole=st.integers(1, 999))
def test_all_ways_to_write_a_fraction_stand_for_it(above, below, whole):
    for text in (f"{above}/{below}", rf"\frac{{{above}}}{{{below}}}", rf"\dfrac{{{-above}}}{{{-below}}}"):
        assert read_number(text) == Fraction(above, below)
        assert read_number(f"{text}%") == Fraction(above, below) / 100
    assume(0 <= above < below)
    for text in (f"{whole} {above}/{below}", rf"{whole}\frac{{{above}}}{{{below}}}"):
        assert read_number(text) == whole + Fraction(above, below)
        assert read_number(f"-{text}") == -whole - Fraction(above, below)


SIGNS = r"1 2 0 12 , . / - + $ % e 10^ { } \, {,} \frac \times ½ ² ٣ １ ， ． −".split()
PIECES = [" ", "\u2009", "\ud800", *SIGNS]


@given(text=st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=30))
def test_any_text_is_a_finite_number_or_none_and_white_space_does_not_matter(text):
    number = read_number(text)
    assert number is None or (isinstance(number, Fraction) or number.is_finite())
    assert read_number(f" \n{text}\t") == number
