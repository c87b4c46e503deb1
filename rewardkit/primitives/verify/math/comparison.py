"""Two mathematical texts in normal form, compared: as numbers, words, lists, named values, percentages.

What is none of these is for a function of expressions to compare. A verdict is True,
False, or ``None`` where the expected text cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from rewardkit.primitives.verify.enumerations import between, separators
from rewardkit.primitives.verify.math.latex import ELLIPSIS, FUNCTIONS
from rewardkit.primitives.verify.math.units import DEGREES, TEXT, without_unit
from rewardkit.primitives.verify.numbers import Number, read_number
from rewardkit.primitives.verify.tolerances import alike

Verdict = bool | None
Tolerance = tuple[float, float]
"""Absolute and relative."""
EXACT: Final[Tolerance] = (0.0, 0.0)

Same = Callable[[Any, Any], Verdict]

LARGEST_SET = 100
"""Elements of a set of expressions that are compared each with each. Our choice."""


def compare(
    given: str,
    expected: str,
    tolerance: Tolerance,
    expressions: Callable[[str, str, Tolerance], Verdict],
) -> Verdict:
    """Whether two normal forms are equal, with the verdict of `expressions` on what is to be computed."""

    def same(one: str, other: str) -> Verdict:
        return compare(one, other, tolerance, expressions)

    if _plainest(given) == _plainest(expected) and any(map(str.isalnum, expected)):
        return True
    if ELLIPSIS in given + expected:  # only the same text is known to go on alike
        return False
    value, truth = _value(given), _value(expected)
    if value is not None and truth is not None:
        if isinstance(value, str) or isinstance(truth, str):
            return value == truth
        return alike(value, truth, *tolerance)
    left, right = _option(given), _option(expected)
    if len(left) == len(right) == 2:
        return all_of(map(same, left, right))
    if len(left) + len(right) == 3:  # (C) 12 is C to one, and 12 to another
        return max(
            (same(one, other) for one in left for other in right), key=_CERTAINTY
        )
    if _CLOCK.fullmatch(given) and _CLOCK.fullmatch(expected):
        return given.zfill(5) == expected.zfill(5)
    (brackets, items), (others, truths) = _list(given), _list(expected)
    several = [items != [given], truths != [expected]]
    single, listed = (expected, given) if several[0] else (given, expected)
    other_kind = _EQUALS.search(single) or _BOUND.search(
        listed
    )  # a named set, or a union of intervals
    if items and truths and (all(several) or (any(several) and not other_kind)):
        if {brackets, others} <= {"", "{}"}:
            values, known = set(map(_value, items)), set(map(_value, truths))
            if tolerance == EXACT and None not in values | known:
                return values == known
            if max(len(items), len(truths)) <= LARGEST_SET:
                return members_equal(items, truths, same)
        elif len(items) == len(truths) and (
            brackets == others or {brackets, others} == {"", "()"}
        ):
            return all_of(map(same, items, truths))
    (name, result), (other, wanted) = _named(given, same), _named(expected, same)
    if name and other and _plainest(name) == _plainest(other):
        return same(result, wanted)
    if name and other and "(" in name + other:  # f(1) and f(2)
        return False
    if (name and not _EQUALS.search(expected)) or (other and not _EQUALS.search(given)):
        return same(result, wanted)
    if given.endswith(r"\%") or expected.endswith(
        r"\%"
    ):  # 50% is 50 to one, and a half to another
        shares = [text.removesuffix(r"\%") for text in (given, expected)]
        hundredths = [
            re.sub(r"(.*)\\%", r"\\frac{\1}{100}", text) for text in (given, expected)
        ]
        return same(*shares) or same(*hundredths)
    if DEGREES in given + expected and same(
        given.replace(DEGREES, ""), expected.replace(DEGREES, "")
    ):
        return True
    verdict = expressions(given, expected, tolerance)
    return False if verdict is None and is_known(expected) else verdict


def is_known(text: str) -> bool:
    """Whether a normal form is read without computing: it is of numbers and words."""
    items = _list(text)[1]
    return bool(items) and all(
        _value(_named(item, lambda *_: False)[1]) is not None for item in items
    )


def members_equal(given: Sequence[Any], expected: Sequence[Any], same: Same) -> Verdict:
    """Whether each element has its like on the other side, in any order."""
    table = [[same(one, other) for other in expected] for one in given]
    return all_of(
        max(row, key=_CERTAINTY, default=False)
        for row in (*table, *zip(*table, strict=True))
    )


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """False where one is, else ``None`` where one is."""
    return min(verdicts, key=_CERTAINTY, default=True)


_CERTAINTY = {False: 0, None: 1, True: 2}.__getitem__
_IDLE_SPACE = re.compile(
    r"\s+(?![A-Za-z0-9])|(?<![A-Za-z0-9])\s+|(?<=[A-Za-z])\s+(?=\d)"
)


def _plainest(text: str) -> str:
    """Without the spaces that say nothing, and braces around one character."""
    return _IDLE_SPACE.sub("", re.sub(r"\{(\w)\}(?!\w)", r" \1", text))


_NO_NUMBER = re.compile("[%\uff05\ufe6a\u066a]|\\.\\.")


def plain_number(value: Any) -> Number | None:
    """A number; 50% is none here, as it is a half to one and 50 to another, nor are digits that go on."""
    return (
        None
        if isinstance(value, str) and _NO_NUMBER.search(value)
        else read_number(value)
    )


_NOTHING = re.compile(
    r"\\emptyset|\\\{\s*\\\}|none|(?:there (?:is|are) )?no (?:real )?solutions?|(?:the )?empty set"
    r"|空\*集|[无無]\*解"  # of two letters, which are a product
)


def _value(text: str) -> Number | str | None:
    number = plain_number(text.removesuffix(DEGREES))
    if number is not None:
        return number
    said = words(text)
    return r"\emptyset" if _NOTHING.fullmatch(said or text) else said


_TEXT = re.compile(TEXT)
_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|[\s.;:?'\"])*")
_SENTENCE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,}(?:,? [A-Za-z]{2,}){2}")


def words(text: str) -> str | None:
    r"""The words of a normal form of words, or of a sentence, as they are compared.

    Case counts in one letter or two, which are names more often than words; lower-case
    ones are a product. ``None`` for what is to be read as mathematics, and for the
    letters that may be numbers.

    >>> words(r"\text{No solution}"), words("It is not 5, but 7"), words("2x"), words("e")
    ('no solution', 'it is not 5, but 7', None, None)
    >>> words("b a") == words("ab"), words("BA") == words("AB"), words("on") == words("no")
    (True, False, False)
    """
    plain = " ".join(_TEXT.sub(r"\1", text).split())
    if plain in ("e", "i"):
        return None
    if not _WORDS.fullmatch(plain):
        return plain.casefold() if _SENTENCE.search(_TEXT.sub(" ", text)) else None
    plain = plain.strip(" .;:?")
    letters = plain.replace(" ", "")
    if letters.lower() in ("no", "ok"):
        return letters.casefold()
    if len(letters) == 2:
        return "*".join(sorted(letters) if letters.islower() else letters)
    return (
        plain.casefold() if re.search(r"[^\W\d_]{2}", plain) else letters
    )  # x y z is xyz


_LABEL = re.compile(r"\A\\(?:text|math)[a-z]*\s*\{([^{}]*)\}")
_OPTION = re.compile(r"\(?([A-J])[.)]\s+(\S.*)", re.DOTALL)


def _option(text: str) -> tuple[str, ...]:
    """The letter of a labelled option and what it says; else the text alone."""
    found = _OPTION.fullmatch(_LABEL.sub(r"\1 ", text).strip())
    return found.groups() if found else (text,)


_CLOCK = re.compile(r"\d\d?:[0-5]\d")
_BOUND = re.compile(r"[<>]|\\[lg]e(?![A-Za-z])")
_BRACKET = r"(?P<opening>\\?\{|[(\[])|(?P<closing>\\?\}|[)\]])"
_WORD = r"(?:\\text\s*\{\s*(?:and|or)\s*\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z]))"
_LISTED = re.compile(rf"{_BRACKET}|(?P<separator>,?\s*{_WORD}|[,;])")
_EITHER_SIGN = re.compile(r"\\pm(?![A-Za-z])")
_ENCLOSED = re.compile(r"(\\?[({\[])(.*?)(\\?[)}\]])", re.DOTALL)


def _list(text: str) -> tuple[str, list[str]]:
    r"""The brackets around a list and its items, ``\pm`` with either sign; else the text is the one item."""
    if r"\begin" in text:
        return "", [text]
    brackets = ""
    try:
        places, around = separators(text, _LISTED, half_open=True)
        if around and (enclosed := _ENCLOSED.fullmatch(text)):
            text, brackets = (
                enclosed[2].strip(),
                (enclosed[1] + enclosed[3]).replace("\\", ""),
            )
            places, _ = separators(text, _LISTED, half_open=True)
    except ValueError:
        return "", [text]
    if any(place["separator"] == ";" for place in places):  # it parts lists with commas
        places = [place for place in places if place["separator"] == ";"]
    items = between(text, places) if text else []
    if len(items) == 1 and brackets == "()":
        brackets = ""
    if len(items) > 1:
        items = ["".join(without_unit(item)) for item in items]
    if _EITHER_SIGN.search(text) and brackets in ("", "{}"):
        items = [_EITHER_SIGN.sub(sign, item) for item in items for sign in "+-"]
    return brackets, items


_EQUALS = re.compile(r"(?<![<>!:\\])=(?!=)|\\in(?![A-Za-z])")
_EQUATION = re.compile(rf"{_BRACKET}|(?P<separator>{_EQUALS.pattern})")
_LETTER = (
    rf"(?:[A-Za-z]|\\(?!(?:{FUNCTIONS}|frac)(?![A-Za-z]))[A-Za-z]++(?:\{{[^{{}}]*\}})?)"
)
_NAME = re.compile(
    rf"(?:{_LETTER}(?:_(?:\w|\{{[^{{}}]*\}})|'|\s)*+)++(?:\(.*\)|\[.*\])?\s*"
)


def _named(text: str, same: Same) -> tuple[str, str]:
    """The name of a value, or what it is computed from, and the value; "" and the text where none is."""
    try:
        first, *others = between(text, separators(text, _EQUATION, half_open=True)[0])
    except ValueError:
        return "", text
    if others and (
        _NAME.fullmatch(first)
        or (
            not re.search(r"(?<![A-Za-z\\])[A-Za-z]", first) and same(first, others[-1])
        )
    ):
        return first, others[-1]
    return "", text
