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
        ("about 10.", "10", "nor of ten"),
        ("10. First, add.", "10", "nor of the number of a step"),
        ("3 and then 4", "4", "of several the last"),
        ("It costs $1,234.50.", "1,234.50", "thousands separator and decimals"),
        ("1,234,567", "1,234,567", "two separators"),
        ("12345,678", None, "a comma after more than three digits"),
        ("1,2345", None, "four digits behind the comma"),
        ("0,123", None, "a comma behind a nought"),
        ("1,23", None, "two digits behind the comma"),
        ("3,5 kg", None, "a decimal comma"),
        ("1.234,56", None, "a decimal comma behind a point for the thousands"),
        ("1,2,3", None, "a list without spaces"),
        ("1, 2, 3", "3", "a list with spaces"),
        ("4 or 1,2345", "4", "another number before what is none"),
        ("1,00,000 rupees", "1,00,000", "India's separators"),
        ("12,34,567.50", "12,34,567.50", "with decimals"),
        ("1,00,0000", None, "with a group too long"),
        ("01,00,000", None, "with a nought in front"),
        ("1'000", None, "a separator that is not read"),
        ("1_000", None, "an underscore between digits"),
        ("on 2024-01-15", None, "a date"),
        ("in 2024-01", None, "a month"),
        ("on 15-1-2024.", None, "a date the other way round"),
        ("call 555-123-4567", None, "a telephone number"),
        ("2024-01-15T10:30:00Z", None, "a date with a time"),
        ("at 1:30", None, "a time"),
        ("from 12:30:45 on", None, "with seconds"),
        ("answer: 5: yes", "5", "colons that stand between no digits"),
        ("0x1F", None, "a hexadecimal number"),
        ("0b101", None, "a binary one"),
        ("0 x 5", "5", "a letter with spaces around it"),
        ("5\u00b2", None, "a square"),
        ("5 m\u00b2", "5", "a unit with a square"),
        ("5^2", None, "a square with a caret"),
        ("5^{2}", None, "and braces"),
        ("x^2", None, "an exponent"),
        ("x^{-2}", None, "an exponent with a sign"),
        (r"45^\circ", "45", "degrees"),
        ("No.5", "5", "right behind an abbreviation"),
        ("about.5", "5", "a stop behind a word is no point"),
        ("1{,}234", "1{,}234", "LaTeX's separator in braces"),
        (r"1\,234", r"1\,234", "LaTeX's thin space"),
        ("1\u2009234\u202f567 m", "1\u2009234\u202f567", "thin spaces"),
        ("in 2020 300 people", "300", "a space separates two numbers"),
        ("5 000", "5 000", "a plain space between thousands"),
        ("12 345 apples", "12 345", "behind two digits"),
        ("-$2 000 000.50.", "-$2 000 000.50", "with a sign, a currency and decimals"),
        ("250 000", "250 000", "behind three digits a group of noughts says so"),
        ("128 256 512", "512", "groups of three digits only list"),
        ("0 123", "123", "a nought in front"),
        ("3 4 5", "5", "single digits list"),
        ("10 20", "20", "and so do two"),
        ("10 20 300 4", "4", "a list with three digits in it"),
        ("5 300 4", "4", "a list that begins like thousands"),
        ("20 5 300", "300", "or ends like them"),
        ("20 000 5", "5", "noughts in a list are no number"),
        ("10 20 000", "20", "nor at its end"),
        ("in 2019 100 000 people", "100 000", "behind a year"),
        ("1 000 1/2", "1 000 1/2", "a mixed number of thousands"),
        ("1 100/200", "1 100/200", "a mixed number of three digits"),
        ("2 000/3", "2 000/3", "a fraction of thousands"),
        (r"\frac{1 000}{3}", r"\frac{1 000}{3}", "in LaTeX"),
        ("5万", None, "a Chinese magnitude"),
        ("5 百", None, "behind a space"),
        ("3万5000", None, "between two parts"),
        ("5千", None, "a thousand"),
        ("5千克 or 5千米", "5", "units that begin with one"),
        ("42个", "42", "a measure word"),
        ("5元", "5", "a currency"),
        ("负5", "负5", "a Chinese minus"),
        ("正负5", None, "a number of two signs"),
        ("±5", None, "in one character"),
        ("2的5次方", None, "a Chinese power"),
        ("5的平方", None, "a Chinese square"),
        ("做了5次", "5", "a count of times"),
        ("5分之2", None, "a Chinese fraction"),
        ("百分之5", "5", "a Chinese percent sign is left out too"),
        ("so -6", "-6", "a sign"),
        ("9-6", "6", "a subtraction is no sign"),
        ("9--6", "-6", "a sign behind a minus"),
        ("x=-5", "-5", "a sign behind an equals sign"),
        ("(3)-5", "5", "a subtraction from a bracket is no sign"),
        ("pages 3\u20135", "5", "a range is no sign"),
        ("\u22125", "\u22125", "a typographic minus"),
        ("\uff0d\uff15", "\uff0d\uff15", "a full-width minus"),
        ("-$5", "-$5", "a sign before the currency"),
        (r"-\$5", r"-\$5", "a sign before an escaped currency"),
        ("$-5", "-5", "a sign behind the currency"),
        (r"\$5", "5", "an escaped currency"),
        ("$5$", "5", "in dollars"),
        ("5\u20ac", "5", "a currency behind it"),
        ("about .5", ".5", "no digit before the point"),
        ("6.02e23 of them", "6.02e23", "an exponent"),
        ("1E5", "1E5", "an exponent in upper case"),
        ("5e", "5", "a letter e alone is no exponent"),
        ("1e9999999", None, "an exponent beyond bounds"),
        (r"6.02 \times 10^{23} of them", r"6.02 \times 10^{23}", "LaTeX's powers of ten"),
        ("6.02 \u00d7 10^23.", "6.02 \u00d7 10^23", "a multiplication sign and a caret"),
        ("6.02\u00d710\u00b2\u00b3", "6.02\u00d710\u00b2\u00b3", "raised digits"),
        ("6.02*10^-3", "6.02*10^-3", "an asterisk and a negative exponent"),
        ("10^5", "10^5", "a power of ten alone"),
        ("10^n", "10", "a letter for an exponent"),
        ("2^10", None, "a power of two"),
        ("12kg", "12", "letters after it are a unit"),
        ("一共有42个苹果", "42", "Chinese has no spaces around a number"),
        ("3或4", "4", "two numbers with a Chinese word between"),
        ("温度是-5度", "-5", "a sign behind a Chinese word"),
        ("価格は￥1,234.50円", "1,234.50", "Japanese, with a currency sign"),
        ("the 2nd", "2", "an ordinal"),
        ("5/hour", "5", "a slash and a word are a unit"),
        ("40%", "40", "a percent sign is left out"),
        ("3/4", "3/4", "a fraction"),
        ("so 12.5/5", "12.5/5", "a fraction of decimals"),
        ("-3/4", "-3/4", "a fraction with a sign"),
        ("12 / 4", "4", "a division with spaces is two numbers"),
        ("5 or 3/0", "5", "a division by zero is no number"),
        ("on 3/4/2024", None, "a date"),
        ("in /tmp/3/4", None, "a path"),
        ("1 1/2 cups", "1 1/2", "a mixed number"),
        ("take 5 7/2", "7/2", "more than one is no part of a mixed number"),
        ("take 5 2/2", "2/2", "nor is one"),
        ("take 5 7/0", "5", "nor is a division by zero"),
        ("1\n1/2", "1/2", "a mixed number stands on one line"),
        ("2\u00bd cups", "2\u00bd", "two and a half"),
        ("\u00bd cup", "\u00bd", "a half"),
        (r"\frac{1}{2}", r"\frac{1}{2}", "LaTeX's fraction"),
        (r"x = -\dfrac{3}{4}.", r"-\dfrac{3}{4}", "with a sign"),
        (r"it is\ \frac12", r"\frac12", "without braces"),
        (r"2\pi\frac12", None, "a fraction that is a factor"),
        (r"1\frac{1}{2}", r"1\frac{1}{2}", "LaTeX's mixed number"),
        (r"3\frac{5}{2}", r"\frac{5}{2}", "more than one is a factor"),
        (r"\frac{x}{2}", None, "a fraction of a letter"),
        (r"\frac{1}{x}", None, "by a letter"),
        (r"-\frac{\pi}{2}", None, "of a constant"),
        (r"\frac{\sqrt{3}}{2}", None, "of a root"),
        (r"\frac{1}{2}\pi", None, "times a constant"),
        (r"x\frac{1}{2}", None, "a letter times a fraction"),
        (r"2^{\frac{1}{2}}", None, "a fraction for an exponent"),
        (r"\sqrt{5}", None, "a root"),
        (r"\sqrt5", None, "without braces"),
        (r"\sqrt[3]{5}", None, "a cube root"),
        (r"\sqrt{\frac{1}{2}}", None, "of a fraction"),
        (r"4\sqrt{x+5}", None, "of a sum, with a factor"),
        ("2\u221a5", None, "in one character"),
        ("2sqrt(5)", None, "in letters"),
        (r"2\pi", None, "a multiple of a constant"),
        (r"2 \cdot \pi", None, "with a dot"),
        ("2\u03c0 or 2 pi", None, "without LaTeX"),
        ("5 pints", "5", "a word that begins like one"),
        (r"5\text{ cm}", "5", "a unit in LaTeX"),
        ("GPT-4 and COVID-19", None, "a hyphen behind a letter"),
        ("GPT-4.5", None, "with decimals"),
        ("The answer is 5!", "5", "an exclamation mark is no factorial"),
        (r"\boxed{42}", "42", "in braces"),
        ("x_{1} or x_2", None, "indices"),
        ("version 3.14.15", None, "a dotted run is no number"),
        ("at 1.2.3.4 now", None, "an address"),
        ("v1.2", None, "a version"),
        ("x2 and b12", None, "digits inside a word"),
        ("four", None, "a number in words"),
        ("", None, "empty completion"),
        ("**4**", "4", "bold in Markdown"),
        ("_4_ and __-5__", "-5", "with underscores"),
        ("`4`", "4", "in backticks"),
        (
            "\uff11\uff0c\uff12\uff13\uff14\uff0e\uff15",
            "\uff11\uff0c\uff12\uff13\uff14\uff0e\uff15",
            "full-width",
        ),
        ("3\uff0c200", "200", "a full-width comma between other digits ends a clause"),
        ("\u0661\u066c\u0662\u0663\u0664", "\u0661\u066c\u0662\u0663\u0664", "Arabic digits"),
        ("\u202e4\u202c\x00", "4", "direction marks and control characters around it"),
        ("I think...5", "5", "an ellipsis before it is no dotted run"),
        (
            "1\\frac\x1e1\x1c2",
            "1\\frac\x1e1\x1c2",
            "separators of records are white space to a pattern, not to int",
        ),
        ("1/3 = 0.333... or so", "0.333...", "decimals that go on are no rounded ones"),
        ("it is .5…", ".5…", "with an ellipsis"),
        (r"it is $0.12\ldots$", r"0.12\ldots", "in LaTeX"),
        ("I think 42... maybe", "42", "a whole number does not go on"),
        ("it is 0.5.", "0.5", "one stop is a full stop"),
        ("so ...-5", "-5", "an ellipsis before its sign does not take the sign away"),
        ("\ud8004\U0001f600", "4", "a lone surrogate and an emoji around it"),
    ),
)
def test_number_gives_the_last_number_as_it_is_written(completion, expected):
    assert number()(completion) == expected


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("50%", "50%", "the sign"),
        ("so 12.5 %.", "12.5 %", "with a space before it"),
        (r"50\%", r"50\%", "LaTeX's sign"),
        ("\uff15\uff10\uff05", "\uff15\uff10\uff05", "a full-width sign"),
        ("1/2%", "1/2%", "of a fraction"),
        ("50 apples", "50", "without one"),
        ("50% of 8 is 4", "4", "of another number"),
        ("3.14.15%", None, "of no number"),
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
        ("####42", "42", "42", "no space"),
        ("####\t 42 ", "42", "42", "more space"),
        ("#### 42.", "42", "42", "a full stop"),
        ("#### 1,234", "1,234", "1,234", "a separator"),
        ("#### 1 000", "1 000", "1 000", "a plain space for one"),
        ("7\n#### 42万", "", "7", "a Chinese magnitude"),
        ("#### $1,234.50.", "1,234.50", "1,234.50", "a currency sign"),
        (r"#### \$5", "5", "5", "an escaped currency sign"),
        ("#### $5$", "5", "5", "mathematics"),
        ("#### -3", "-3", "-3", "a sign"),
        ("#### -$3", "-$3", "-$3", "a sign before the currency"),
        ("#### \u22123", "\u22123", "\u22123", "a typographic minus"),
        ("#### **42**", "42", "42", "bold"),
        ("#### 50%", "50", "50", "a percent sign"),
        ("#### 3/4", "3/4", "3/4", "a fraction"),
        ("#### 42 apples", "42", "42", "a unit"),
        ("##### 42", "42", "42", "a mark that is longer"),
        ("#### 1\n#### 2", "2", "2", "of several the last"),
        ("#### 42\nI checked it 3 times.", "42", "42", "numbers behind it"),
        ("7\n#### 42 or 43", "42", "42", "numbers around it"),
        ("5\n#### none", "", "5", "no number behind it"),
        ("#### 41\n#### done", "", "41", "no number behind the last"),
        ("5\n####\n42", "", "42", "the number on the next line"),
        ("5\n#### x = 42", "", "42", "a number that is not right behind it"),
        ("####", "", "", "a mark alone"),
        ("8\n#### 3.14.15", "", "8", "no number but a dotted run"),
        ("#### `42`", "42", "42", "in backticks"),
        ("#### **`$42`**", "42", "42", "in bold backticks, with a currency sign"),
        ("#### 1,00,000", "1,00,000", "1,00,000", "India's separators"),
        ("7\n#### 1,23", "", "7", "no number but a piece of one"),
        ("7\n#### 2024-01-15", "", "7", "a date"),
        ("### 42", None, "42", "a shorter mark"),
        ("The answer is 42.", None, "42", "no mark"),
        ("forty-two", None, None, "no number"),
        ("", None, None, "empty completion"),
        ("#### \u202e42\ud800", "", "42", "a direction mark before it"),
        ("\ud800#### \uff14\uff12", "\uff14\uff12", "\uff14\uff12", "full-width digits"),
    ),
)
def test_gsm8k_gives_the_number_behind_the_last_mark(completion, strict, flexible):
    assert gsm8k()(completion) == strict
    assert gsm8k(mode="flexible")(completion) == flexible


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("1" + ",111" * 250_000, "1" + ",111" * 250_000, "a number of a megabyte"),
        ("1" + ",111" * 250_000 + ".5.5", None, "a dotted run of a megabyte"),
        ("1" + "\u2009111" * 200_000 + "/2/3", None, "a date of a megabyte"),
        ("1" * 500_000 + " 1/2", "1" * 500_000 + " 1/2", "a mixed number of a megabyte"),
        ("1/1 " * 250_000, "1/1", "fractions"),
        ("-" * 1_000_000, None, "signs"),
        (r"\frac{1" * 150_000, "1", "fractions that do not end"),
        ("10^" * 300_000, None, "powers that do not end"),
        ("1-1" * 300_000, None, "a date that does not end"),
        ("1" + ",11" * 300_000, None, "separators at the wrong places"),
        ("1:1 " * 200_000, None, "times"),
        ("-" + "1" * 1_000_000 + "-1-1", None, "a date of one part of a megabyte"),
        ("1e" * 500_000, "1e1", "exponents that do not end"),
        ("1{,}" * 250_000, "1", "separators that separate nothing"),
        ("1" + " 111" * 250_000, "1" + " 111" * 250_000, "spaces of a megabyte"),
        ("1" + " 111" * 250_000 + " 1", "1", "a list of a megabyte"),
        ("111" + " 111" * 250_000, "111", "one of three digits"),
        (r"\sqrt{" * 150_000, None, "roots that do not end"),
        (r"\sqrt{{a}" * 100_000, None, "with braces in them"),
        (r"\frac{{" * 150_000, None, "fractions in braces that do not end"),
        (r"\sqrt[" * 150_000, None, "degrees that do not end"),
        ("1 " * 500_000, "1", "digits and spaces"),
        ("负" * 300_000, None, "Chinese signs"),
    ),
)
def test_long_numbers_are_no_trouble(bounded, text, expected):
    assert number()(text) == expected
    gsm8k(mode="flexible")("#### " + text)
