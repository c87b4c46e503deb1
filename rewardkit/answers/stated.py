"""What a completion states as its answer, where it stands, and whether it is right."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from rewardkit.answers.dates import find_day_first, read_date
from rewardkit.answers.formats import THINKING, blank_tools
from rewardkit.answers.kinds import (
    OPTION_LETTERS,
    SHARE,
    is_nothing,
    kind_of,
    read_truth,
)
from rewardkit.answers.marks import CLEAR_MARKS, LOOSE_MARKS, find_likely_place
from rewardkit.primitives import verify
from rewardkit.primitives.extract import answer_phrase
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.math.units import UNCHANGED, conversion, read_unit
from rewardkit.primitives.verify.numbers import (
    CONTEXT,
    Number,
    as_decimal,
    distance,
    read_number,
)

LONGEST_STATED = 2_000
"""Characters of an answer that is compared with a truth. Our choice."""
STATED_END = 8_000
"""Characters at a completion's end in which its answer is looked for. Our choice."""
LONGEST_TRUTH_STATED = 100
"""Characters of a truth from which a marked answer may differ. Our choice."""
LEAST_VERBATIM = 12
"""Characters of a truth that no completion ends with by chance. Our choice."""
WRONG_BY = Decimal("0.1")
"""Share of a number by which another one is certainly wrong. Our choice."""
_ANSWER_PHRASE = answer_phrase()
OBJECT_MARKS = ("object", "fenced object")
ON_PURPOSE = ("tag", "box", "####", *OBJECT_MARKS, "verbatim")
"""Marks that no completion has by chance."""
UNCLOSED = "unclosed"
"""The mark of an answer behind a tag that nothing closes."""
UNSURE_MARKS = ("brackets", "colon", "number", UNCLOSED)
"""Marks that others may have where no answer is stated."""

THOUSANDS = re.compile(
    r"(?<=\d)(?:[\u00a0\u2009\u202f'\u2019_]|\{,\}|\\[,!])(?=\d{3}(?!\d))"
)
"""What stands between thousands and is no point, comma or plain space."""
NUMBER = re.compile(
    r"(?<![\d.,A-Za-z_])(?<!\d[\u00a0\u2009\u202f])(?<!\d\{,\})(?<!\d\\!)"
    r"(?!(?<=\d['\u2019])\d{3}(?!\d))[-+−]?[$€£]?"  # begins within no other number
    rf"\d(?:(?:[\d.,\u00a0\u2009\u202f]|{THOUSANDS.pattern}){{0,200}}\d)?+"
    r"(?![\dA-Za-z_])"
)
UNCLOSED_TAG = re.compile(r"<([A-Za-z_][\w.-]{0,30})>([^<>]+)\Z")
NO_ANSWERS = (
    *THINKING,
    *("tool_call", "tool_response", "tool_result", "information", "observation"),
)
"""Tags that hold no answer, closed or not."""
DECIMAL_COMMA = re.compile(
    r"[-+−]?(\d+,(\d{1,2}|\d{4,})|\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}"
    r"|\d{1,3}([\u00a0\u2009\u202f]\d{3})+,\d+)"
)
"""What is written only where a comma stands before decimals."""
DECIMAL_POINT = re.compile(
    r"[-+−]?(\d+\.(\d{1,2}|\d{4,})|\d{1,3}(,\d{3})+\.\d+|\d{1,3}(,\d{3}){2,}"
    r"|\d{1,3}([\u00a0\u2009\u202f'\u2019_]\d{3})+\.\d+)"
)
"""What is written only where a point stands before decimals."""
FEW_OF_OTHER_LOCALE = 0.1
"""Share of the numbers of a log that may be slips into another locale. Our choice."""


@dataclass(frozen=True)
class Statement:
    """An answer as a completion states it.

    `mark` names what shows where it stands: "tag" (of any name), "box", "####",
    "object" or "fenced object" where the truth is one, "colon" (a line such as
    "Result: 12"); of a text that is announced it is the word before it: "is" in "The
    answer is Oslo, because". Where there is none of these it is "number" for the last
    number, "whole" for all of the completion, "verbatim" for a truth that ends it,
    "fence" for a block of code, and "" where no answer is stated.
    `before` and `behind` count the characters of the completion on either side.
    """

    mark: str
    answer: str
    before: int
    behind: int

    @property
    def is_marked(self) -> bool:
        """Whether the answer is marked on purpose."""
        return self.mark in ON_PURPOSE


NOTHING_STATED = Statement("", "", 0, 0)


def read_statement(completion: str, truth: Any = None) -> Statement:
    r"""Read what a completion states as its answer.

    Where nothing marks an answer, the last number is one if the truth is a number. What
    tools reply is none of the completion's own.

    >>> read_statement("So it is\n#### 12", "12")
    Statement(mark='####', answer='12', before=14, behind=0)
    >>> read_statement("Die Antwort lautet 1.234,5.", 1234.5)
    Statement(mark='number', answer='1.234,5', before=19, behind=1)
    >>> read_statement("So. Answer: Oslo. Oslo lies in Norway.", "Oslo")
    Statement(mark='answer:', answer='Oslo', before=12, behind=22)
    >>> read_statement("The answer is **Oslo**, as we know.", "Oslo").mark
    'is'
    """
    completion = blank_tools(completion)
    end = completion[-STATED_END:]
    right = read_truth(truth) or ""
    kind = _kind_of_truth(right)
    mark, answer = _find_answer(end, truth, kind)
    place = completion.rfind(answer)
    if mark not in ON_PURPOSE and right and kind == "text":
        announced = _find_announced(end, right)
        if announced is not None:
            before = end[: announced.start()].rstrip(" *_`\"'“‘")
            mark = before.split()[-1].strip("*_").lower()
            answer = announced[1]
            place = len(completion) - len(end) + announced.start(1)
    if not answer or len(answer) > LONGEST_STATED:
        return NOTHING_STATED
    return Statement(mark, answer, place, len(completion) - place - len(answer))


def read_unclosed(completion: str) -> Statement:
    """Read what stands behind the last tag, where nothing closes it.

    Some rewards take it, others do not, so it is no answer to `read_statement`.

    >>> read_unclosed("<think>so</think><answer>)]")
    Statement(mark='unclosed', answer=')]', before=25, behind=0)
    >>> read_unclosed("<answer>)]</answer>").mark, read_unclosed("<think>)]").mark
    ('', '')
    """
    tag = UNCLOSED_TAG.search(blank_tools(completion)[-STATED_END:])
    if tag is None or tag[1].lower() in NO_ANSWERS:
        return NOTHING_STATED
    answer = tag[2].strip()
    before = completion.rfind(answer)
    return Statement(UNCLOSED, answer, before, len(completion) - before - len(answer))


_kind_of_truth = lru_cache(maxsize=256)(kind_of)  # siblings have one truth


def _find_answer(completion: str, truth: Any, kind: str) -> tuple[str, str]:
    """Find the name of the mark and the answer in it, of a truth of this kind."""
    text = truth.strip() if isinstance(truth, str) else ""
    if len(text) >= LEAST_VERBATIM and completion.rstrip().endswith(text):
        return "verbatim", text
    name, start, stop = find_likely_place(completion)
    name, answer = name.partition(" ")[0], completion[start:stop].strip()
    if name != "tag" and "####" in completion:
        return "####", (CLEAR_MARKS["####"](completion) or "").strip()
    if kind == "json" and name != "tag":
        for start, stop in CLEAR_MARKS["object"].spans(completion):
            is_fenced = completion[:start].rstrip().endswith(("```", "```json"))
            return OBJECT_MARKS[is_fenced], completion[start:stop]
    fence = CLEAR_MARKS["fence"](completion) if kind == "code" else None
    if fence:
        return "fence", fence.strip()
    if name == "tag":
        return name, CLEAR_MARKS["box"](answer) or answer
    if name != "box" and kind == "number":
        numbers = NUMBER.findall(completion)
        return "number", numbers[-1] if numbers else ""
    if name == "bare":
        name = "whole"
    return name, answer


def _find_announced(completion: str, truth: str) -> re.Match[str] | None:
    """Find a truth in the last sentence or line that announces an answer.

    The sentence ends behind it, or goes on with a reason. "The answer is Oslo or Rome"
    and "Oslo only if" state no answer.
    """
    if len(truth) > LONGEST_TRUTH_STATED or truth.lower() not in completion.lower():
        return None
    announced = _ANSWER_PHRASE.spans(completion) or LOOSE_MARKS["colon"].spans(
        completion
    )
    pattern = re.compile(
        rf"""[\s*_`"'“‘]*+ ({re.escape(truth)}) [*_`"'”’]*+
            (?: [ ]*+\Z | [ ]*+\n | [.!;。][*_`"'”’]*+(?:\s|\Z)
              | ,?[ ](?:because|since|as|so|which|given)\b | [ ][–—-][ ] )""",
        re.VERBOSE | re.IGNORECASE,
    )
    return pattern.match(completion, announced[0][0]) if announced else None


@dataclass(frozen=True)
class Locale:
    """How the answers of a part of a log are written.

    `decimal_comma` says whether a comma stands before decimals, `day_first` whether a
    date of numbers begins with the day; None where that is open, as a log may mix both.
    `has_counts` says that all truths are whole numbers: what is counted is not measured
    within a tolerance.
    """

    decimal_comma: bool | None = False
    day_first: bool | None = None
    has_counts: bool = False


def find_locale(answers: Sequence[str]) -> Locale:
    """Return the locale in which alone nearly all these answers can be read.

    >>> find_locale(["38.705", "77,5"]), find_locale(["28/02/2025"]).day_first
    (Locale(decimal_comma=True, day_first=None, has_counts=False), True)
    >>> find_locale(["38.705", "77,5", "77.5"]).decimal_comma is None
    True
    """
    commas = sum(bool(DECIMAL_COMMA.fullmatch(answer.strip())) for answer in answers)
    points = sum(bool(DECIMAL_POINT.fullmatch(answer.strip())) for answer in answers)
    decimal_comma: bool | None = commas > points
    if min(commas, points) > FEW_OF_OTHER_LOCALE * max(commas, points):
        decimal_comma = None
    return Locale(decimal_comma, find_day_first(answers))


@lru_cache(maxsize=4096)
def answers_truth(
    answer: str,
    truth: str,
    locale: Locale = Locale(),
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
    if _may_lack_magnitude(answer, truth, locale):
        return None
    answer, truth = _spell_out_both(answer, truth, locale)
    kind = kind_of(truth)
    if kind == "json":
        return _agree_by_key(answer, truth, locale)
    if kind == "number":
        number = _read_local(answer, locale)
        right = read_number(truth)
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


def _agree_as_texts(answer: str, truth: str, kind: str, locale: Locale) -> bool | None:
    """Return whether a text or formula is the truth, in another writing perhaps."""
    is_equal = normal_text(answer) == normal_text(truth)
    numbers = _numbers_in(truth)
    if numbers and None not in numbers:
        is_equal = is_equal or _numbers_in(answer) == numbers
    if kind == "text" and len(truth.split()) <= 2:  # a number and its unit
        number = _read_local(answer, locale)
        if number is not None and number == _read_local(truth):
            return not _have_other_units(answer, truth)
    if kind == "mathematics":
        is_equal = bool(verify.math_equal(answer, truth))
    return True if is_equal else None


def _answers_in_any_locale(answer: str, truth: str, locale: Locale) -> bool | None:
    """Return whether an answer is right however its commas are read, or None."""
    verdicts = set()
    for decimal_comma, other in ((True, DECIMAL_POINT), (False, DECIMAL_COMMA)):
        if not other.fullmatch(answer.strip()):
            locale = replace(locale, decimal_comma=decimal_comma)
            verdicts.add(answers_truth(answer, truth, locale))
    return verdicts.pop() if len(verdicts) == 1 else None


def _agree_by_key(answer: str, truth: str, locale: Locale) -> bool | None:
    """Return whether objects of the same keys have the same values, None of others."""
    stated, right = read_json(answer), read_json(truth)
    if not isinstance(stated, dict) or not isinstance(right, dict):
        return True if stated is not None and stated == right else None
    if stated.keys() != right.keys():
        return None
    verdicts: list[bool | None] = []
    for key, value in right.items():
        verdicts.append(_agree_on_value(stated[key], value, locale))
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _agree_on_value(stated: Any, right: Any, locale: Locale) -> bool | None:
    """Return whether two values of objects agree; None of other types that may.

    A schema may ask for the number where a text spells it out.
    """
    if stated == right:
        return True
    texts = [
        str(value)
        for value in (stated, right)
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    if len(texts) < 2:
        return None
    is_same = answers_truth(*texts, locale)
    is_other_type = isinstance(stated, str) != isinstance(right, str)
    return None if is_same and is_other_type else is_same


MAGNITUDES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
"""Word behind a number -> how many zeros it stands for."""
AMOUNT = re.compile(
    rf"(?i)\s*([-+−]?[$€£]?\d[\d.,]*)[\s-]*({'|'.join(MAGNITUDES)})s?\b(.*)"
)
"""A number that begins an answer, its magnitude, and what follows, such as a unit."""


def spell_out(answer: str, locale: Locale = Locale()) -> str:
    """Write an amount that begins an answer in digits; else return the answer.

    >>> spell_out("$2.5 million"), spell_out("5 million dollars"), spell_out("5 mg")
    ('2500000', '5000000 dollars', '5 mg')
    """
    amount = AMOUNT.fullmatch(answer)
    number = _read_local(amount[1], locale) if amount else None
    if amount is None or number is None:
        return answer
    value = as_decimal(number).scaleb(MAGNITUDES[amount[2].lower()])
    return f"{value.normalize():f}{amount[3]}"


def _may_lack_magnitude(answer: str, truth: str, locale: Locale) -> bool:
    """Return whether "5" is said for "5 million", whose prompt may give the rest."""
    if not AMOUNT.fullmatch(truth) or AMOUNT.fullmatch(answer):
        return False
    number = _read_local(answer, locale)
    return number is not None and number == _read_local(truth)


def _spell_out_both(answer: str, truth: str, locale: Locale) -> tuple[str, str]:
    """Spell amounts out; of the answer alone only where that makes it equal."""
    digits = spell_out(answer, locale)
    if AMOUNT.fullmatch(truth):
        return digits, spell_out(truth)
    if digits != answer and _read_local(digits) == read_number(truth):
        return digits, truth
    return answer, truth


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
    units = []
    for text in (answer, truth):
        unit = read_unit(NUMBER.sub("", text, count=1))[0]
        if not unit[:1].isdigit():
            return False
        units.append(unit)
    return conversion(*units) != UNCHANGED


def read_only_truth(truth: Any) -> str | None:
    """Return the answer of a truth; None where it has none, or several."""
    is_several = isinstance(truth, dict)
    if isinstance(truth, list | tuple):
        is_several = len(truth) != 1
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
        answers = list(
            map(read_truth, target if isinstance(target, list) else [target])
        )
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
    is_right = answers_truth(statement.answer, right) if statement.answer else None
    if is_right:
        return 1.0
    kind = kind_of(right)
    if kind == "json" and is_right is False:
        return 0.0
    if len(right) > LONGEST_TRUTH_STATED or kind not in ("number", "choice", "text"):
        return math.nan
    if kind == "text" and _words_of(statement.answer) == _words_of(right):
        return math.nan  # a list in another order, or with other marks between
    if (
        kind == "text"
        and statement.mark == "colon"
        and SHARE.fullmatch(statement.answer)
    ):
        return math.nan  # it may say how likely the truth is
    is_stated = statement.is_marked or statement.mark in UNSURE_MARKS
    return 0.0 if is_stated or kind == "choice" else math.nan


def _words_of(text: str) -> list[str]:
    """Return what stands between spaces and separators, sorted."""
    return sorted(re.findall(r"[^\s,;|/{}\\]+", text.replace(r"\text", "")))


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
    zeros = 0
    for digits in (str(number), str(other)):
        zeros = max(zeros, len(digits) - len(digits.rstrip("0")))
    return bool(2 * abs(number - other) <= 10**zeros)


def find_factor(answer: str, truth: str) -> str | None:
    """Return what an answer divided by its truth is, to 6 digits.

    None without numbers, and where one is 0 or the other one's negative, as no unit is,
    or where no float holds the factor.

    >>> find_factor("250", "2.5 m"), find_factor("7", "7"), find_factor("0", "7")
    ('100', '1', None)
    >>> find_factor("5", "-5"), find_factor("7", "1e-400"), find_factor("1e400", "1")
    (None, None, None)
    """
    number, right = _read_local(answer), _read_local(truth)
    if not number or not right:
        return None
    factor = float(CONTEXT.divide(as_decimal(number), as_decimal(right)))
    is_factor = math.isfinite(factor) and factor not in (0, -1)
    return f"{factor:.6g}" if is_factor else None


_NAMED_BY_NUMBER = re.compile(r"(?<![A-Za-z])(?![a-z]?m[23](?!\w))[A-Za-z]{1,3}\d")
"""The start of a name with a number in it, T20, which is no square metre."""


def _read_local(answer: str, locale: Locale = Locale()) -> Number | None:
    """Read the number of an answer, or the only number in it."""
    number = None if locale.decimal_comma else read_number(answer)
    numbers = NUMBER.findall(answer)
    if number is not None or len(numbers) != 1 or _NAMED_BY_NUMBER.search(answer):
        return number
    text = THOUSANDS.sub("", numbers[0])
    if locale.decimal_comma:
        text = text.translate({ord("."): None, ord(","): "."})
    return read_number(text)


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
            is_right = answers_truth(answer, truth)
            return "an amount in digits" if is_right else ""
        is_same = _read_local(amount[1]) == _read_local(right_amount[1])
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
