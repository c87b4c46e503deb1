"""Compare two mathematical texts in normal form: numbers, words, lists, named values.

Other expressions are left to a function `compare_expressions`. A verdict is True,
False, or ``None`` if the expected text cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import product, starmap
from typing import Any, Final

from rewardkit.primitives.verify.math.latex import (
    DEGREES,
    ELLIPSIS,
    FUNCTIONS,
    SET_AS_TEXT,
    mark_unit,
)
from rewardkit.primitives.verify.math.units import (
    RADIANS,
    TEMPERATURES,
    Conversion,
    add_amounts,
    conversion,
    split_unit,
    split_units,
)
from rewardkit.primitives.verify.numbers import Number, alike, read_number
from rewardkit.primitives.verify.structures import find_separators, split_at

Verdict = bool | None
Tolerance = tuple[float, float]
"""Absolute and relative tolerance."""
EXACT: Final[Tolerance] = (0.0, 0.0)


class UndecidedEquality(Enum):
    """The result of a comparison that does not apply to its two texts."""

    UNDECIDED = "undecided"


UNDECIDED: Final = UndecidedEquality.UNDECIDED

Same = Callable[[Any, Any], Verdict]
"""A function that compares two parts."""

LARGEST_SET = 100
"""Elements of a set of expressions to compare pairwise, at most. Our choice."""


def compare(
    answer: str,
    truth: str,
    tolerance: Tolerance,
    compare_expressions: Callable[[str, str, Tolerance], Verdict],
) -> Verdict:
    """Compare two normal forms, with `compare_expressions` for symbolic ones."""

    def same(first: str, second: str) -> Verdict:
        return compare(first, second, tolerance, compare_expressions)

    if _plainest(answer) == _plainest(truth) and any(map(str.isalnum, truth)):
        return True
    if ELLIPSIS in answer + truth:  # only the same text is sure to continue alike
        return False
    for compare_parts in (
        partial(_compare_values, tolerance=tolerance),
        _compare_options,
        _compare_times,
        _compare_amounts,
        partial(_compare_lists, is_exact=tolerance == EXACT),
        _compare_named,
        _compare_units,
        _compare_percentages,
    ):
        verdict = compare_parts(answer, truth, same)
        if not isinstance(verdict, UndecidedEquality):
            return verdict
    if DEGREES in answer + truth:
        if same(answer.replace(DEGREES, ""), truth.replace(DEGREES, "")):
            return True
    verdict = compare_expressions(answer, truth, tolerance)
    if verdict is None and is_known(truth):
        return False
    return verdict


def _compare_values(
    answer: str, truth: str, same: Same, tolerance: Tolerance
) -> Verdict | UndecidedEquality:
    value = _read_value(answer)
    expected = _read_value(truth)
    if value is None or expected is None:
        return UNDECIDED
    if isinstance(value, str) or isinstance(expected, str):
        return value == expected
    return alike(value, expected, *tolerance)


def _compare_options(
    answer: str, truth: str, same: Same
) -> Verdict | UndecidedEquality:
    """Compare labelled options: (C) 12 is equal to C and to 12."""
    options = _split_option(answer)
    truths = _split_option(truth)
    if len(options) == len(truths) == 2:
        return all_of(map(same, options, truths))
    if len(options) + len(truths) == 3:
        return max(starmap(same, product(options, truths)), key=_CERTAINTY)
    return UNDECIDED


def _compare_times(answer: str, truth: str, same: Same) -> Verdict | UndecidedEquality:
    if _CLOCK_TIME.fullmatch(answer) and _CLOCK_TIME.fullmatch(truth):
        return answer.zfill(5) == truth.zfill(5)
    return UNDECIDED


def _compare_amounts(
    answer: str, truth: str, same: Same
) -> Verdict | UndecidedEquality:
    """Compare amounts in several units, such as hours and minutes, by their sums."""
    pair = (answer, truth)
    sums = [add_amounts(text, is_joined=True) for text in pair]
    if not any(sums):
        return UNDECIDED
    for text, total in zip(pair, sums, strict=True):
        if not total and _split_list(text)[1] != [text]:
            return UNDECIDED
    return same(sums[0] or answer, sums[1] or truth)


def _compare_lists(
    answer: str, truth: str, same: Same, is_exact: bool
) -> Verdict | UndecidedEquality:
    brackets, elements = _split_list(answer)
    true_brackets, true_elements = _split_list(truth)
    answer_is_list = elements != [answer]
    truth_is_list = true_elements != [truth]
    if not (answer_is_list or truth_is_list) or not (elements and true_elements):
        return UNDECIDED
    if not (answer_is_list and truth_is_list):
        # A named set, or a union of intervals, is not compared here.
        single, several = (truth, answer) if answer_is_list else (answer, truth)
        if _EQUALS.search(single) or _BOUND.search(several):
            return UNDECIDED
    kinds = {brackets, true_brackets}
    if kinds <= {"", "{}"}:
        values = set(map(_read_value, elements))
        truths = set(map(_read_value, true_elements))
        if is_exact and None not in values | truths:
            return values == truths
        if max(len(elements), len(true_elements)) <= LARGEST_SET:
            return members_equal(elements, true_elements, same)
    elif len(elements) == len(true_elements) and (
        len(kinds) == 1 or kinds == {"", "()"}
    ):
        return all_of(map(same, elements, true_elements))
    return UNDECIDED


def _compare_named(answer: str, truth: str, same: Same) -> Verdict | UndecidedEquality:
    """Compare named values, such as x = 5."""
    name, result = _split_name(answer, same)
    true_name, true_result = _split_name(truth, same)
    if name and true_name:
        if _plainest(name) == _plainest(true_name):
            return same(result, true_result)
        if "(" in name + true_name:  # f(1) and f(2)
            return False
    if (name and not _EQUALS.search(truth)) or (
        true_name and not _EQUALS.search(answer)
    ):
        return same(result, true_result)
    return UNDECIDED


def _compare_units(answer: str, truth: str, same: Same) -> Verdict | UndecidedEquality:
    """Compare values with units, which must agree if both sides have one."""
    (value, unit), (expected, true_unit) = split_units(answer, truth)
    if not (unit or true_unit):
        return UNDECIDED
    if unit and true_unit:
        converted = conversion(unit, true_unit)
        if converted is None:
            return False
        return same(_convert(value, converted), expected)
    bare = expected if unit else value
    if bare.endswith(r"\%"):
        return False
    if bare.endswith(DEGREES):
        if (unit or true_unit) in TEMPERATURES:
            degree = ""
        elif RADIANS in (unit, true_unit):
            degree = r" \cdot \frac{\pi}{180}"
        else:
            return False
        value, expected = (text.replace(DEGREES, degree) for text in (value, expected))
    return same(value, expected)


def _convert(value: str, conversion: Conversion) -> str:
    """Write a value in another unit, by a factor and a shift."""
    factor, shift = conversion
    if factor == 1 and not shift:
        return value
    number = plain_number(value)
    if number is not None:
        return str(Fraction(number) * factor + shift)
    return rf"({value}) \cdot ({factor}) + ({shift})"


def _compare_percentages(
    answer: str, truth: str, same: Same
) -> Verdict | UndecidedEquality:
    """Compare percentages: 50% is equal to 50 and to a half."""
    pair = (answer, truth)
    if not any(text.endswith(r"\%") for text in pair):
        return UNDECIDED
    plain = [text.removesuffix(r"\%") for text in pair]
    shares = [re.sub(r"(.*)\\%", r"\\frac{\1}{100}", text) for text in pair]
    return same(*plain) or same(*shares)


def is_known(text: str) -> bool:
    """Return whether a normal form has only numbers and words, nothing to compute."""
    elements = _split_list(text)[1]
    for element in elements:
        result = _split_name(split_unit(element)[0], lambda *_: False)[1]
        if _read_value(result) is None:
            return False
    return bool(elements)


def members_equal(first: Sequence[Any], second: Sequence[Any], same: Same) -> Verdict:
    """Return whether each element has an equal on the other side, in any order."""
    table = []
    for element in first:
        table.append([same(element, other) for other in second])
    lines = [*table, *zip(*table, strict=True)]
    return all_of(max(line, key=_CERTAINTY, default=False) for line in lines)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Return False if any verdict is False, else ``None`` if any is, else True."""
    return min(verdicts, key=_CERTAINTY, default=True)


_CERTAINTY = {False: 0, None: 1, True: 2}.__getitem__
_IDLE_SPACE = re.compile(
    r"\s+(?![A-Za-z0-9])|(?<![A-Za-z0-9])\s+|(?<=[A-Za-z])\s+(?=\d)"
)


def _plainest(text: str) -> str:
    """Remove spaces without a meaning, and braces around one character."""
    return _IDLE_SPACE.sub("", re.sub(r"\{(\w)\}(?!\w)", r" \1", text))


_NO_NUMBER = re.compile("[%\uff05\ufe6a\u066a$\u20ac]|\\.\\.")


def plain_number(value: Any) -> Number | None:
    """Read a number, but not 50% (a half or 50), $5 or 0.333..."""
    if isinstance(value, str) and _NO_NUMBER.search(value):
        return None
    return read_number(value)


# Two letters, as of 无解, are a product in this form.
_NOTHING = re.compile(
    r"\\emptyset|\\\{\s*\\\}|none|(?:there (?:is|are) )?no (?:real )?solutions?"
    r"|(?:the )?empty set|空\*集|[无無]\*解"
)


def _read_value(text: str) -> Number | str | None:
    number = plain_number(text.removesuffix(DEGREES))
    if number is not None:
        return number
    phrase = words(text)
    return r"\emptyset" if _NOTHING.fullmatch(phrase or text) else phrase


_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|[\s.;:?'\"])*")
_SENTENCE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,}(?:,? [A-Za-z]{2,}){2}")


def words(text: str) -> str | None:
    r"""Return the words of a normal form in a form to compare, or ``None``.

    Case matters in one or two letters, which are names more often than words; two
    lower-case letters are a product. Returns ``None`` for mathematics, and for e and i,
    which may be numbers.

    >>> words(r"\text{No solution}"), words("It is not 5, but 7")
    ('no solution', 'it is not 5, but 7')
    >>> words("2x"), words("e"), words("b a") == words("ab"), words("BA") == words("AB")
    (None, None, True, False)
    """
    plain = " ".join(SET_AS_TEXT.sub(r"\1", text).split())
    if plain in ("e", "i"):
        return None
    if not _WORDS.fullmatch(plain):
        if _SENTENCE.search(SET_AS_TEXT.sub(" ", text)):
            return plain.casefold()
        return None
    plain = plain.strip(" .;:?")
    letters = plain.replace(" ", "")
    if letters.lower() in ("no", "ok"):
        return letters.casefold()
    if len(letters) == 2:
        factors = list(letters)
        if letters.islower():
            factors.sort()
        return "*".join(factors)
    if re.search(r"[^\W\d_]{2}", plain):
        return plain.casefold()
    return letters  # x y z is xyz


_LABEL = re.compile(r"\A\\(?:text|math)[a-z]*\s*\{([^{}]*)\}")
_LABELLED_OPTION = re.compile(r"\(?([A-J])[.)]\s+(\S.*)", re.DOTALL)


def _split_option(text: str) -> tuple[str, ...]:
    """Split a labelled option into its letter and its text; else return the text."""
    option = _LABELLED_OPTION.fullmatch(_LABEL.sub(r"\1 ", text).strip())
    return option.groups() if option else (text,)


_CLOCK_TIME = re.compile(r"\d\d?:[0-5]\d")
_BOUND = re.compile(r"[<>]|\\[lg]e(?![A-Za-z])")
_OPEN_OR_CLOSE = r"(?P<opening>\\?\{|[(\[])|(?P<closing>\\?\}|[)\]])"
_AND_OR = r"(?:\\text\s*\{\s*(?:and|or)\s*\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z]))"
_LISTED = re.compile(rf"{_OPEN_OR_CLOSE}|(?P<separator>,?\s*{_AND_OR}|[,;])")
_EITHER_SIGN = re.compile(r"\\pm(?![A-Za-z])")
_ENCLOSED = re.compile(r"(\\?[({\[])(.*?)(\\?[)}\]])", re.DOTALL)


def _split_list(text: str) -> tuple[str, list[str]]:
    r"""Split a list into its brackets and elements; ``\pm`` gives two elements.

    Any other text is its own only element, without brackets.
    """
    if r"\begin" in text:
        return "", [text]
    brackets = ""
    try:
        places, around = find_separators(text, _LISTED, half_open=True)
        enclosed = _ENCLOSED.fullmatch(text) if around else None
        if enclosed:
            text = enclosed[2].strip()
            brackets = (enclosed[1] + enclosed[3]).replace("\\", "")
            places, _ = find_separators(text, _LISTED, half_open=True)
    except ValueError:
        return "", [text]
    semicolons = [place for place in places if place["separator"] == ";"]
    places = semicolons or places  # semicolons separate elements that have commas
    elements = split_at(text, places) if text else []
    if len(elements) == 1 and brackets == "()":
        brackets = ""
    if len(elements) > 1:
        elements = ["".join(mark_unit(element)) for element in elements]
    if _EITHER_SIGN.search(text) and brackets in ("", "{}"):
        signed = []
        for element in elements:
            signed += [_EITHER_SIGN.sub("+", element), _EITHER_SIGN.sub("-", element)]
        elements = signed
    return brackets, elements


_EQUALS = re.compile(r"(?<![<>!:\\])=(?!=)|\\in(?![A-Za-z])")
_EQUATION_TOKEN = re.compile(rf"{_OPEN_OR_CLOSE}|(?P<separator>{_EQUALS.pattern})")
_NAME_LETTER = (
    rf"(?:[A-Za-z]|\\(?!(?:{FUNCTIONS}|frac)(?![A-Za-z]))"
    r"[A-Za-z]++(?:\{[^{}]*\})?)"
)
_VALUE_NAME = re.compile(
    rf"(?:{_NAME_LETTER}(?:_(?:\w|\{{[^{{}}]*\}})|'|\s)*+)++(?:\(.*\)|\[.*\])?\s*"
)


def _split_name(text: str, same: Same) -> tuple[str, str]:
    """Split "name = value" or "computation = value"; the first part may be "".

    A computation is split off only if `same` finds it equal to the value.
    """
    try:
        places = find_separators(text, _EQUATION_TOKEN, half_open=True)[0]
    except ValueError:
        return "", text
    first, *others = split_at(text, places)
    is_list_of_names = len(others) > 1 and len(_split_list(text)[1]) > 1
    if not others or is_list_of_names:  # m = 3, p = 7
        return "", text
    result = others[-1]
    if _VALUE_NAME.fullmatch(first):
        return first, result
    has_letters = re.search(r"(?<![A-Za-z\\])[A-Za-z]", first)
    if not has_letters and same(first, result):
        return first, result
    return "", text
