"""Extraction of numbers: what counts as one number in running text, and the answer in GSM8K's form."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.extract import gsm8k, number
from rewardkit.primitives.verify.numbers import read_number


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("The answer is 4.", "4", "a full stop after it is not part of it"),
        ("3 and then 4", "4", "of several the last"),
        ("It costs $1,234.50.", "1,234.50", "thousands separator and decimals"),
        ("1,234,567", "1,234,567", "two separators"),
        ("1,23", None, "two digits behind the comma"),
        ("3,5 kg", None, "a decimal comma"),
        ("1,2,3", None, "a list without spaces"),
        ("1, 2, 3", "3", "a list with spaces"),
        ("12,34,567.50", "12,34,567.50", "with decimals"),
        ("on 2024-01-15", None, "a date"),
        ("in 2024-01", None, "a month"),
        ("on 15-1-2024.", None, "a date the other way round"),
        ("call 555-123-4567", None, "a telephone number"),
        ("2024-01-15T10:30:00Z", None, "a date with a time"),
        ("at 1:30", None, "a time"),
        ("0x1F", None, "a hexadecimal number"),
        ("0b101", None, "a binary one"),
        ("0 x 5", "5", "a letter with spaces around it"),
        ("5\u00b2", None, "a square"),
        ("5^2", None, "a square with a caret"),
        ("x^2", None, "an exponent"),
        (r"1\,234", r"1\,234", "LaTeX's thin space"),
        ("1\u2009234\u202f567 m", "1\u2009234\u202f567", "thin spaces"),
        ("in 2020 300 people", "300", "a space separates two numbers"),
        ("5 000", "5 000", "a plain space between thousands"),
        ("128 256 512", "512", "groups of three digits only list"),
        ("0 123", "123", "a nought in front"),
        ("in 2019 100 000 people", "100 000", "behind a year"),
        ("1 000 1/2", "1 000 1/2", "a mixed number of thousands"),
        (r"\frac{1 000}{3}", r"\frac{1 000}{3}", "in LaTeX"),
        ("5万", None, "a Chinese magnitude"),
        ("5 百", None, "behind a space"),
        ("5千", None, "a thousand"),
        ("5千克 or 5千米", "5", "units that begin with one"),
        ("42个", "42", "a measure word"),
        ("5元", "5", "a currency"),
        ("负5", "负5", "a Chinese minus"),
        ("±5", None, "in one character"),
        ("2的5次方", None, "a Chinese power"),
        ("5的平方", None, "a Chinese square"),
        ("5分之2", None, "a Chinese fraction"),
        ("so -6", "-6", "a sign"),
        ("9-6", "6", "a subtraction is no sign"),
        ("9--6", "-6", "a sign behind a minus"),
        ("pages 3\u20135", "5", "a range is no sign"),
        ("\u22125", "\u22125", "a typographic minus"),
        ("\uff0d\uff15", "\uff0d\uff15", "a full-width minus"),
        ("-$5", "-$5", "a sign before the currency"),
        ("$5$", "5", "in dollars"),
        ("about .5", ".5", "no digit before the point"),
        ("6.02e23 of them", "6.02e23", "an exponent"),
        ("1E5", "1E5", "an exponent in upper case"),
        ("1e9999999", None, "an exponent beyond bounds"),
        (r"6.02 \times 10^{23} of them", r"6.02 \times 10^{23}", "LaTeX's powers of ten"),
        ("6.02 \u00d7 10^23.", "6.02 \u00d7 10^23", "a multiplication sign and a caret"),
        ("6.02\u00d710\u00b2\u00b3", "6.02\u00d710\u00b2\u00b3", "raised digits"),
        ("6.02*10^-3", "6.02*10^-3", "an asterisk and a negative exponent"),
        ("10^5", "10^5", "a power of ten alone"),
        ("2^10", None, "a power of two"),
        ("12kg", "12", "letters after it are a unit"),
        ("一共有42个苹果", "42", "Chinese has no spaces around a number"),
        ("40%", "40", "a percent sign is left out"),
        ("3/4", "3/4", "a fraction"),
        ("12 / 4", "4", "a division with spaces is two numbers"),
        ("5 or 3/0", "5", "a division by zero is no number"),
        ("on 3/4/2024", None, "a date"),
        ("1 1/2 cups", "1 1/2", "a mixed number"),
        ("take 5 2/2", "2/2", "nor is one"),
        ("take 5 7/0", "5", "nor is a division by zero"),
        ("2\u00bd cups", "2\u00bd", "two and a half"),
        ("\u00bd cup", "\u00bd", "a half"),
        (r"x = -\dfrac{3}{4}.", r"-\dfrac{3}{4}", "with a sign"),
        (r"it is\ \frac12", r"\frac12", "without braces"),
        (r"1\frac{1}{2}", r"1\frac{1}{2}", "LaTeX's mixed number"),
        (r"3\frac{5}{2}", r"\frac{5}{2}", "more than one is a factor"),
        (r"\frac{x}{2}", None, "a fraction of a letter"),
        (r"\frac{\sqrt{3}}{2}", None, "of a root"),
        (r"\frac{1}{2}\pi", None, "times a constant"),
        (r"2^{\frac{1}{2}}", None, "a fraction for an exponent"),
        (r"\sqrt5", None, "without braces"),
        (r"\sqrt[3]{5}", None, "a cube root"),
        (r"\sqrt{\frac{1}{2}}", None, "of a fraction"),
        (r"4\sqrt{x+5}", None, "of a sum, with a factor"),
        ("2\u221a5", None, "in one character"),
        ("2sqrt(5)", None, "in letters"),
        (r"2\pi", None, "a multiple of a constant"),
        (r"2 \cdot \pi", None, "with a dot"),
        ("2\u03c0 or 2 pi", None, "without LaTeX"),
        ("GPT-4 and COVID-19", None, "a hyphen behind a letter"),
        ("GPT-4.5", None, "with decimals"),
        ("at 1.2.3.4 now", None, "an address"),
        ("x2 and b12", None, "digits inside a word"),
        ("four", None, "a number in words"),
        ("_4_ and __-5__", "-5", "with underscores"),
        (
            "\uff11\uff0c\uff12\uff13\uff14\uff0e\uff15",
            "\uff11\uff0c\uff12\uff13\uff14\uff0e\uff15",
            "full-width",
        ),
        ("I think...5", "5", "an ellipsis before it is no dotted run"),
        (
            "1\\frac\x1e1\x1c2",
            "1\\frac\x1e1\x1c2",
            "separators of records are white space to a pattern, not to int",
        ),
        ("1/3 = 0.333... or so", "0.333...", "decimals that go on are no rounded ones"),
        ("it is .5…", ".5…", "with an ellipsis"),
        (r"it is $0.12\ldots$", r"0.12\ldots", "in LaTeX"),
    ),
)
def test_number_gives_the_last_number_as_it_is_written(completion, expected):
    assert number()(completion) == expected


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("so 12.5 %.", "12.5 %", "with a space before it"),
        (r"50\%", r"50\%", "LaTeX's sign"),
        ("\uff15\uff10\uff05", "\uff15\uff10\uff05", "a full-width sign"),
        ("50 apples", "50", "without one"),
        ("50% of 8 is 4", "4", "of another number"),
    ),
)
def test_number_with_percent_keeps_the_sign(completion, expected):
    assert number(percent=True)(completion) == expected


def test_a_percent_sign_changes_the_number_only_where_it_is_kept():
    assert read_number(number()("So it is 50%.")) == 50
    assert read_number(number(percent=True)("So it is 50%.")) * 2 == 1


PIECES = (
    "1|2|0|12|000|,234|.|.5|,|/|-|\u2212|+|$|\\$|%|\\%|e5|E-3| x 10^3|10^|{|}|10^{5}|\u00b2|\\frac|{1}{2}|{3}"
    "|\\times | |\u2009345|{,}678|\\,901|\u00bd|\uff11|\uff0c\uff12\uff13\uff14"
    "|\u0663|_|*|a|\n|^|\ud800|1/2|\u20ac|:|'|0x|,12| 345| 000|负|万|\\sqrt|\\pi"
).split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=40)


@pytest.mark.parametrize("extractor", [number(), number(percent=True), number(which="first")], ids=repr)
@given(completion=TEXTS)
def test_every_number_that_is_found_can_be_read(extractor, completion):
    for start, end in extractor.occurrences(completion):
        assert read_number(completion[start:end]) is not None, completion[start:end]


@given(completion=TEXTS)
def test_numbers_stand_apart_and_hold_a_digit(completion):
    spans = number().occurrences(completion)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    for start, end in spans:
        assert any(unicodedata.numeric(character, -1) >= 0 for character in completion[start:end])


@given(
    completion=TEXTS,
    before=st.sampled_from(["", "So ", "Hence:\n", "**", "(", "$x = "]),
    behind=st.sampled_from(["", ".", ". Done.", "\n", "**", ")", " apples", "!", "; ", ", as it is"]),
)
def test_neutral_text_around_does_not_change_the_numbers(completion, before, behind):
    whole = f"A {completion} b"  # a space before and behind it
    found = [whole[slice(*span)] for span in number().occurrences(whole)]
    padded = f"{before}{whole}{behind}"
    assert [padded[slice(*span)] for span in number().occurrences(padded)] == found


@given(value=st.integers(-(10**9), 10**9) | st.decimals(-(10**6), 10**6, places=3))
@pytest.mark.parametrize(
    "sentence", ["It is {}.", "({})", "x = {}, so", "**{}**", "_{}_", "${}$", "{}%", "{}kg"]
)
def test_a_number_that_was_written_is_found_again(sentence, value):
    for text in (f"{value:f}" if hasattr(value, "as_tuple") else str(value), f"{value:,}"):
        assert number()(sentence.format(text)) == text
        assert read_number(number()(sentence.format(text))) == value


@pytest.mark.parametrize(
    ("completion", "strict", "flexible"),
    table(
        ("6 * 7 = 42\n#### 42", "42", "42", "as the data set has it"),
        ("#### 1,234", "1,234", "1,234", "a separator"),
        ("7\n#### 42万", "", "7", "a Chinese magnitude"),
        ("#### $1,234.50.", "1,234.50", "1,234.50", "a currency sign"),
        (r"#### \$5", "5", "5", "an escaped currency sign"),
        ("#### -3", "-3", "-3", "a sign"),
        ("#### -$3", "-$3", "-$3", "a sign before the currency"),
        ("#### \u22123", "\u22123", "\u22123", "a typographic minus"),
        ("#### **42**", "42", "42", "bold"),
        ("#### 50%", "50", "50", "a percent sign"),
        ("#### 3/4", "3/4", "3/4", "a fraction"),
        ("#### 1\n#### 2", "2", "2", "of several the last"),
        ("#### 42\nI checked it 3 times.", "42", "42", "numbers behind it"),
        ("7\n#### 42 or 43", "42", "42", "numbers around it"),
        ("5\n#### none", "", "5", "no number behind it"),
        ("5\n####\n42", "", "42", "the number on the next line"),
        ("####", "", "", "a mark alone"),
        ("8\n#### 3.14.15", "", "8", "no number but a dotted run"),
        ("#### `42`", "42", "42", "in backticks"),
        ("#### **`$42`**", "42", "42", "in bold backticks, with a currency sign"),
        ("#### 1,00,000", "1,00,000", "1,00,000", "India's separators"),
        ("7\n#### 2024-01-15", "", "7", "a date"),
        ("### 42", None, "42", "a shorter mark"),
        ("The answer is 42.", None, "42", "no mark"),
        ("", None, None, "empty completion"),
    ),
)
def test_gsm8k_gives_the_number_behind_the_last_mark(completion, strict, flexible):
    assert gsm8k()(completion) == strict
    assert gsm8k(mode="flexible")(completion) == flexible
