"""Comparison: whether an answer is the right one, however either is written."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from rewardkit.answers.kinds import (
    OPTION_LETTERS,
    SHARE,
    is_nothing,
    kind_of,
    read_truth,
)
from rewardkit.answers.locales import (
    AMOUNT,
    DECIMAL_COMMA,
    DECIMAL_POINT,
    NUMBER,
    USUAL_LOCALE,
    Locale,
    read_date,
    read_local,
    spell_out,
)
from rewardkit.answers.stated import (
    LONGEST_TRUTH_STATED,
    UNSURE_MARKS,
    Statement,
    read_statement,
)
from rewardkit.primitives import verify
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.math.units import UNCHANGED, conversion, read_unit
from rewardkit.primitives.verify.numbers import (
    Number,
    as_decimal,
    distance,
    read_number,
)

WRONG_BY = Decimal("0.1")
"""Share of a number by which another one is certainly wrong. Our choice."""
NOTATIONS = {
    r"\A(0?\d|1[0-2])[./-](0?\d|1[0-2])[./-]\d{4}\Z": (
        "a day up to 12 and a month in numbers"
    ),
    r"[\u00a0\u2009\u202f]": "thin spaces between thousands",
    r"\d['\u2019]\d{3}": "apostrophes between thousands",
    r"\d\.\d{3}\b.*[.,]|\d\.\d{3}\Z": "points between thousands",
    r"\d,(\d{1,2}|\d{4,})\Z": "a comma before the decimals",
    r"\d,\d{2},\d{3}": "commas between thousands and lakhs, as in India",
    r"\d,\d{3}": "commas between thousands",
    r"\\[A-Za-z]+": "LaTeX",
    r"[$€£%]|[A-Za-z]": "a sign, a unit or words",
}
"""Expression -> how a number or date is written that it finds; the first one counts."""


@lru_cache(maxsize=4096)
def answers_truth(
    answer: str, truth: str, locale: Locale = USUAL_LOCALE
) -> bool | None:
    r"""Return whether an answer is the right one; None where that is not certain.

    Args:
        answer: The answer, as a completion states it.
        truth: What `read_truth` reads of the truth.
        locale: How answers are written.

    >>> answers_truth("38.705", "38705"), answers_truth("3 apples", "4")
    (False, False)
    >>> answers_truth("302", "292") is None
    True
    >>> counted = Locale(has_counts=True)
    >>> answers_truth("302", "292", counted), answers_truth("290", "292", counted)
    (False, None)
    >>> answers_truth("38.705", "38705", Locale(decimal_comma=True))
    True
    >>> texts = "38.705", "38.705,0", "9.705,0"
    >>> [answers_truth(text, "38705", Locale(decimal_comma=None)) for text in texts]
    [None, True, False]
    >>> answers_truth("05/04/2025", "2025-05-04", Locale(day_first=True))
    False
    >>> answers_truth("the city of Oslo", "Oslo") is None
    True
    >>> answers_truth("5 metres", "5 m"), answers_truth("5 cm", "5 m")
    (True, False)
    >>> answers_truth("5 billion", "5 million"), answers_truth("5,000,000", "5 million")
    (False, True)
    >>> answers_truth("7 T17 D4", "66") is None
    True
    >>> answers_truth("['-78', '2.5']", "['-78.00', '2.50']")
    True
    >>> answers_truth("SELECT a FROM t;", "SELECT a FROM t")
    True
    >>> texts = '{"n": 5.0}', '{"n": 7}', '{"n": "5"}', "7"
    >>> [answers_truth(text, '{"n": 5}') for text in texts]
    [True, False, None, None]
    """
    if answer.strip() == truth.strip():
        return True
    if locale.decimal_comma is None:
        return _answers_in_any_locale(answer, truth, locale)
    spelled = _spell_out_both(answer, truth, locale)
    if spelled is None:
        return None
    answer, truth = spelled
    kind = kind_of(truth)
    if kind == "json":
        return _agree_by_key(answer, truth, locale)
    if kind == "number":
        number, right = read_local(answer, locale), read_number(truth)
        if number is None or right is None:
            return None
        return _agree(number, right, are_counts=locale.has_counts)
    if kind == "choice":
        letter = read_choice(answer, OPTION_LETTERS)
        return None if letter is None else letter == read_choice(truth, OPTION_LETTERS)
    day = read_date(truth, day_first=locale.day_first)
    if day is not None:
        stated = read_date(answer, day_first=locale.day_first)
        return None if stated is None else stated == day
    return _agree_as_texts(answer, truth, kind, locale)


def _answers_in_any_locale(answer: str, truth: str, locale: Locale) -> bool | None:
    """Return whether an answer is right however its commas are read, or None."""
    verdicts = set()
    for decimal_comma, other in ((True, DECIMAL_POINT), (False, DECIMAL_COMMA)):
        if not other.fullmatch(answer.strip()):
            locale = replace(locale, decimal_comma=decimal_comma)
            verdicts.add(answers_truth(answer, truth, locale))
    return verdicts.pop() if len(verdicts) == 1 else None


def _spell_out_both(answer: str, truth: str, locale: Locale) -> tuple[str, str] | None:
    """Spell amounts out; of the answer alone only where that makes it equal.

    None where "5" is said for "5 million", whose prompt may give the rest.
    """
    digits = spell_out(answer, locale)
    if AMOUNT.fullmatch(truth):
        number = read_local(answer, locale)
        is_same = number is not None and number == read_local(truth)
        if is_same and not AMOUNT.fullmatch(answer):
            return None
        return digits, spell_out(truth)
    if digits != answer and read_local(digits) == read_number(truth):
        return digits, truth
    return answer, truth


def _agree(number: Number, right: Number, *, are_counts: bool) -> bool | None:
    """Return whether two numbers are the same; None where one may stand for the other.

    It may where they are close, or where it is a percentage, or has another sign. Of
    counts that are close only one that is rounded may stand for the other.
    """
    if number == right:
        return True
    truth = as_decimal(right)
    for factor in ("1", "-1", "100", "0.01"):
        answer = as_decimal(number) * Decimal(factor)
        if distance(answer, right) <= WRONG_BY * abs(truth):
            is_whole = are_counts and answer == int(answer)
            if not is_whole or _is_rounded(int(answer), int(truth)):
                return None
    return False


def _is_rounded(number: int, other: int) -> bool:
    """Return whether one of two whole numbers may be the other one rounded."""
    texts = str(number), str(other)
    zeros = max(len(digits) - len(digits.rstrip("0")) for digits in texts)
    return bool(2 * abs(number - other) <= 10**zeros)


def _agree_by_key(answer: str, truth: str, locale: Locale) -> bool | None:
    """Return whether objects of the same keys have the same values, None of others."""
    stated, right = read_json(answer), read_json(truth)
    if not isinstance(stated, dict) or not isinstance(right, dict):
        return True if stated is not None and stated == right else None
    if stated.keys() != right.keys():
        return None
    verdicts = [_agree_on_value(stated[key], right[key], locale) for key in right]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _agree_on_value(stated: Any, right: Any, locale: Locale) -> bool | None:
    """Return whether two values of objects agree; None of other types that may.

    A schema may ask for the number where a text spells it out.
    """
    if stated == right:
        return True
    texts = []
    for value in (stated, right):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        texts.append(str(value))
    is_same = answers_truth(*texts, locale)
    is_other_type = isinstance(stated, str) != isinstance(right, str)
    return None if is_same and is_other_type else is_same


def _agree_as_texts(answer: str, truth: str, kind: str, locale: Locale) -> bool | None:
    """Return whether a text or formula is the truth, in another writing perhaps."""
    if kind == "mathematics":
        return True if verify.math_equal(answer, truth) else None
    is_equal = normal_text(answer) == normal_text(truth)
    numbers = _numbers_in(truth)
    if numbers and None not in numbers:
        is_equal = is_equal or _numbers_in(answer) == numbers
    if kind == "text" and len(truth.split()) <= 2:  # a number and its unit
        number = read_local(answer, locale)
        if number is not None and number == read_local(truth):
            return not _have_other_units(answer, truth)
    return True if is_equal else None


@lru_cache(maxsize=256)
def _numbers_in(text: str) -> tuple[Number | None, ...]:
    """Return what stands in a list in brackets as numbers, () where it is no list.

    >>> _numbers_in("['-78.00', '2', 'x']"), _numbers_in("1, 2")
    ((Decimal('-78.00'), Decimal('2'), None), ())
    """
    brackets = re.fullmatch(r"[\[(]([^\[\]()]*)[\])]", text.strip())
    if brackets is None:
        return ()
    return tuple(read_number(item.strip(" '\"")) for item in brackets[1].split(","))


def _have_other_units(answer: str, truth: str) -> bool:
    """Return whether both have a known unit, and not the same."""
    texts = answer, truth
    units = [read_unit(NUMBER.sub("", text, count=1))[0] for text in texts]
    are_known = all(unit[:1].isdigit() for unit in units)
    return are_known and conversion(*units) != UNCHANGED


def read_only_truth(truth: Any) -> str | None:
    """Return the answer of a truth; None where it has none, or several."""
    is_list = isinstance(truth, list | tuple)
    is_several = isinstance(truth, dict) or (is_list and len(truth) != 1)
    return None if is_several else read_truth(truth)


def accepted_answers(truth: Any) -> list[str]:
    """Return the answers of which a truth accepts any; [] where it wants several.

    These are more than one under "target" alone, as data sets for search have them.

    >>> accepted_answers({"target": ["Oslo", "Oslo, Norway"]}), accepted_answers("7")
    (['Oslo', 'Oslo, Norway'], ['7'])
    """
    answers = [read_only_truth(truth)]
    if isinstance(truth, dict) and truth.keys() == {"target"}:
        target = truth["target"]
        answers = [*map(read_truth, target if isinstance(target, list) else [target])]
    return [answer for answer in answers if answer is not None]


def states_truth(
    completion: str, truth: Any, statement: Statement | None = None
) -> float:
    r"""Return 1.0 where a completion states the truth as its answer, else 0.0.

    An empty completion states nothing. NaN where that is not certain: the truth cannot
    be read, is empty, or has several answers; the answer differs from an expression, a
    list or code, to which it may be equal all the same; or words state it that nothing
    marks. The `statement` is read, where it is not given.

    >>> states_truth("The answer is 12.", "12"), states_truth("It is Oslo.", "Oslo")
    (1.0, nan)
    >>> states_truth("<answer>12</answer>", "12"), states_truth("#### 3", "12")
    (1.0, 0.0)
    >>> states_truth("Answer: B, A", "A, B"), states_truth("Answer: B, C", "A, B")
    (nan, 0.0)
    >>> states_truth("```python\ndef f(): ...\n```", "def f(): return 1")
    nan
    """
    answers = accepted_answers(truth)
    if len(answers) != 1:
        # NaN where one is not certain, and none is stated
        shares = [states_truth(completion, answer) for answer in answers]
        return 1.0 if 1.0 in shares else math.fsum(shares or [math.nan])
    (right,) = answers
    if not completion.strip():
        return math.nan if is_nothing(right) else 0.0
    statement = statement or read_statement(completion, truth)
    answer, mark = statement.answer, statement.mark
    is_right = answers_truth(answer, right) if answer else None
    if is_right:
        return 1.0
    kind = kind_of(right)
    if kind == "json" and is_right is False:
        return 0.0
    if len(right) > LONGEST_TRUTH_STATED or kind not in ("number", "choice", "text"):
        return math.nan
    if kind == "text":
        is_reordered = _words_of(answer) == _words_of(right)
        if is_reordered or (mark == "colon" and SHARE.fullmatch(answer)):
            return math.nan  # a list in another order, or how likely the truth is
    is_stated = statement.is_marked or mark in UNSURE_MARKS
    return 0.0 if is_stated or kind == "choice" else math.nan


def _words_of(text: str) -> list[str]:
    """Return what stands between spaces and separators, sorted."""
    return sorted(re.findall(r"[^\s,;|/{}\\]+", text.replace(r"\text", "")))


def describe_notation(answer: str, truth: str) -> str:
    """Say how a number or date is not written as its truth; "" for other answers.

    >>> describe_notation("38.705", "38705"), describe_notation("9,5", "9.5")
    ('points between thousands', 'a comma before the decimals')
    >>> describe_notation("[78, 2]", "[78.00, 2.00]")
    'numbers of a list with other decimals'
    >>> describe_notation("9,74,074", "974074")
    'commas between thousands and lakhs, as in India'
    >>> [describe_notation(text, "5 million") for text in ("5,000,000", "5 billion")]
    ['an amount in digits', 'the number with another magnitude']
    """
    if answer == truth:
        return ""
    amount, right_amount = AMOUNT.fullmatch(answer), AMOUNT.fullmatch(truth)
    if right_amount:
        if amount is None:
            return "an amount in digits" if answers_truth(answer, truth) else ""
        is_same = read_local(amount[1]) == read_local(right_amount[1])
        is_other = amount[2].lower() != right_amount[2].lower()
        return "the number with another magnitude" if is_same and is_other else ""
    if _numbers_in(answer):
        texts = [re.sub(r"[\s\"']", "", text) for text in (answer, truth)]
        return "" if texts[0] == texts[1] else "numbers of a list with other decimals"
    if kind_of(truth) != "number" and not read_date(truth):
        return ""
    if re.search(r"\d", answer) and not re.search(r"[0-9]", answer):
        return "digits of another script"
    for expression, name in NOTATIONS.items():
        if re.search(expression, answer):
            return name
    return ""
