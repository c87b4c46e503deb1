"""Near misses: answers that are wrong by a little, which must not earn full marks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import wraps
from operator import add, lt

from rewardkit.answers.kinds import ESTIMATE
from rewardkit.answers.locales import AMOUNT, NUMBER, read_date
from rewardkit.answers.marks import CLEAR_MARKS
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.math.units import UNCHANGED, conversion, read_unit
from rewardkit.primitives.verify.numbers import read_decimal
from rewardkit.strategies.strategy import (
    Attempt,
    Strategy,
    Subject,
    near_miss,
    strategy,
)

NAME_WORDS = 3
"""Most words of a text in which each word counts, unlike in a sentence. Our choice."""
BETWEEN_TERMS = re.compile(r"(\s*(?:\+|->|=>|→|=|\\(?:long)?rightarrow\b|\\to\b)\s*)")
"""A separator of the terms of a formula or reaction, each with its coefficient."""
TELLING_SIGN = re.compile(
    r"(?<!\w)[A-Za-z]([#♯♭])"  # F#
    r"|(?<![\w*])(?:[A-Z][a-z]?\d*)+(?:\^\d)?([+−-]{1,2}|\*)(?![\w*>])"  # C++, A*, Na+
    r"|(?:[3-9]|\d\d)(!)"  # 5!
    r"|(?:^|[(\[,=:]\s?|\^\{?|\d[eE])([−-])(?=[\d.])"  # -5 °C, 10^-3
    r"|^([<>≤≥]=?)(?=\s?[\d.-])"  # >5
)
"""A sign that changes the meaning of an answer, in one of the groups."""
ARITHMETIC = re.compile(r"[\d\s()+*/×÷−-]{3,200}")
"""A sum of whole numbers, with brackets."""
NEGATION = re.compile(r"(?i)\b(?:no|not|without|never)\s+(?=\w{2})")
"""A negation with the space behind it."""
DENYING_SHARE = 0.3
"""Least share of right answers with a negation on which negations matter. Our choice:
in reports of findings it is about a half."""
USUAL_UNITS = "mm cm m km mg g kg ml l s min h km/h mph kJ J kW W kB MB GB".split()
"""Units among which the nearest one of the same kind is tried."""
NUMBER_OF_CODE = re.compile(
    r"(?ms)#[^\n]*|^\s*//[^\n]*|--\s[^\n]*|/\*.*?\*/|\"{3}.*?\"{3}|'{3}.*?'{3}"
    r"|((?<![\w.])\d+(?![\w.]*\d))"
)
"""A comment, or a whole number of code, in its group."""
LEAST_CERTAIN = Decimal("0.7")
"""Least estimate, or complement of one, that has an opposite. Our choice."""
LARGEST_SMALL = 99
"""Largest number for which a difference of one is more than a hundredth."""

EVASIONS = {
    "A": "Actually unsure",
    "B": "Beats me",
    "C": "Can't say",
    "D": "Don't know",
    "E": "Each looks wrong",
    "F": "For me it is unclear",
    "G": "Guessing will not help",
    "H": "Hard to say",
    "I": "Impossible to say",
    "J": "Just unclear",
}
"""Words that choose nothing, by the option whose letter they begin with."""

NumberChange = Callable[[Decimal], Iterable[Decimal | str]]
TextChange = Callable[[str], Iterable[str]]


def near_number(says: str) -> Callable[[NumberChange], Strategy]:
    """Make a strategy of a function from the right number to numbers near it."""

    def decorate(change: NumberChange) -> Strategy:
        @wraps(change)
        def build(subject: Subject) -> Iterator[str]:
            yield from _write_numbers(subject, change)

        return near_miss(says, kinds=("number",))(build)

    return decorate


def near_text(says: str, *kinds: str) -> Callable[[TextChange], Strategy]:
    """Make a strategy of a function from the right answer to answers near it."""

    def decorate(change: TextChange) -> Strategy:
        @wraps(change)
        def build(subject: Subject) -> Iterator[str]:
            yield from map(subject.write, change(subject.right.strip()))

        return near_miss(says, kinds=kinds)(build)

    return decorate


def _write_numbers(subject: Subject, change: NumberChange) -> Iterator[str]:
    number = read_decimal(subject.right)
    if number is not None:
        for value in change(number):
            text = value if isinstance(value, str) else _in_digits(value)
            yield subject.write(text)


def _in_digits(value: Decimal) -> str:
    return f"{value.normalize():f}"


@near_number("an answer with another first digit")
def digit_changed(value: Decimal) -> Iterator[str]:
    match = re.fullmatch(r"(-?)(\d)(\d+)", _in_digits(value))
    if match:
        sign, first, rest = match.groups()
        yield f"{sign}{int(first) % 9 + 1}{rest}"


@near_number("the answer with the other sign")
def sign_flipped(value: Decimal) -> Iterator[Decimal]:
    if value:
        yield -value


@near_number("a tenth of the answer")
def a_tenth(value: Decimal) -> Iterator[Decimal]:
    if value:
        yield value / 10


@near_number("a hundred times the answer")
def hundredfold(value: Decimal) -> Iterator[Decimal]:
    """Leave out numbers up to 1, which may be shares: 1 is 100 %."""
    if abs(value) > 1:
        yield value * 100


@near_number("a hundredth of the answer")
def a_hundredth(value: Decimal) -> Iterator[Decimal]:
    if abs(value) > 1:
        yield value / 100


@near_number("ten times the answer")
def tenfold(value: Decimal) -> Iterator[Decimal]:
    if value:
        yield value * 10


@near_number("the answer and nine tenths")
def and_nine_tenths(value: Decimal) -> Iterator[Decimal]:
    if value == int(value) and abs(value) <= LARGEST_SMALL:
        yield value + Decimal("0.9").copy_sign(value)


@near_number("an answer off by one")
def one_off(value: Decimal) -> Iterator[Decimal]:
    if abs(value) <= LARGEST_SMALL:
        yield value + 1
        yield value - 1


@near_number("an answer off by a fifth")
def a_fifth_more(value: Decimal) -> Iterator[Decimal]:
    if abs(value) >= 5:
        yield (value * Decimal("1.2")).to_integral_value()
        yield (value * Decimal("0.8")).to_integral_value()


def _add_digits(value: Decimal) -> Iterator[str]:
    digits = _in_digits(value)
    if digits.isdecimal():
        yield f"{digits}7"
        yield f"3{digits}"


def _drop_digits(value: Decimal) -> Iterator[str]:
    digits = _in_digits(value)
    if re.fullmatch(r"[1-9]\d+", digits):
        yield digits[0]
        yield digits[1:].lstrip("0") or digits[:-1]


@near_text("an amount with its decimal mark moved by a place", "text", "prose")
def mark_moved(text: str) -> Iterator[str]:
    match = re.fullmatch(r"(?s)(.*?)(\d[\d.,\s]*?)([.,])(\d)(\d)(\D*)", text)
    if match:
        lead, integer, mark, first, second, tail = match.groups()
        digits = re.sub(r"\D", "", integer)
        yield f"{lead}{digits}{first}{mark}{second}{tail}"


@near_text(
    "the answer without a sign that makes it another one",
    *("text", "choice", "mathematics", "list"),
)
def sign_left_out(text: str) -> Iterator[str]:
    for match in TELLING_SIGN.finditer(text):
        start, end = match.span(match.lastindex or 0)
        yield text[:start] + text[end:]


@near_text("words of giving up that begin with the letter of the answer", "choice")
def evasive_word(text: str) -> Iterator[str]:
    letter = read_choice(text, "".join(EVASIONS))
    if letter:
        yield EVASIONS[letter]


@near_miss("the answer to another prompt that is most like the right one")
def nearest_answer(subject: Subject) -> Iterator[str]:
    if subject.nearest:
        yield subject.write(subject.nearest)


@near_miss("a longer answer that contains the right one", kinds=("number", "text"))
def too_much(subject: Subject) -> Iterator[str]:
    text = subject.right.strip()
    if subject.kind == "number":
        yield from _write_numbers(subject, _add_digits)
    elif len(text.split()) <= NAME_WORDS and not re.search(r"[\n\d]", text):
        yield subject.write(f"un{text}")
        yield subject.write(f"{text}less")


@near_miss("a part of the answer", kinds=("number", "text", "code"))
def too_little(subject: Subject) -> Iterator[str]:
    text = subject.right.strip()
    if subject.kind == "number":
        yield from _write_numbers(subject, _drop_digits)
    elif len(text) > 5:
        part = text[: len(text) // 2].rstrip()
        has_number = NUMBER.match(text) is not None
        # "42 metres" without the end of its unit is no other answer
        if not has_number or NUMBER.findall(part) != NUMBER.findall(text):
            yield subject.write(part)


@near_miss("the number of the answer with another unit", kinds=("text",))
def other_unit(subject: Subject) -> Iterator[str]:
    """Write the nearest unit of the same kind, such as 5 g for 5 mg.

    If the truth has a magnitude, write another one, such as 5 billion for 5 million.
    """
    text = subject.right.strip()
    truth = str(subject.columns.get("ground_truth")).lower()
    amount = AMOUNT.fullmatch(text)
    if amount and amount[2].lower() in truth:
        other = "million" if amount[2].lower() == "billion" else "billion"
        yield subject.write(f"{amount[1]} {other}{amount[3]}")
    yield from map(subject.write, _nearest_units(text))


def _nearest_units(text: str) -> Iterator[str]:
    amount = re.fullmatch(r"(-?\d[\d.,\s]*)([^\W\d_][\w/]*)", text)
    if not amount or not re.search("[1-9]", amount[1]):
        return
    number, name = amount.groups()
    unit, _ = read_unit(name)
    nearest: dict[float, str] = {}
    for other in USUAL_UNITS:
        converted = conversion(read_unit(other)[0], unit)
        if converted is not None and converted != UNCHANGED:
            nearest.setdefault(abs(math.log(converted[0])), other)
    if nearest:
        yield f"{number}{nearest[min(nearest)]}"


@near_text("the opposite estimate (6 % for 94 %)", ESTIMATE)
def opposite_share(text: str) -> Iterator[str]:
    """Write the opposite in percent and as a number from 0 to 1."""
    number = re.search(r"\d*\.?\d+", text)
    if number is None:
        return
    share = Decimal(number[0])
    if re.search("%|percent", text):
        share /= 100
    opposite = 1 - share
    if share >= LEAST_CERTAIN or opposite >= LEAST_CERTAIN:
        yield f"{_in_digits(100 * opposite)}%"
        yield _in_digits(opposite)


@near_text("an answer that is right up to its first closing brace", "mathematics")
def behind_brace(text: str) -> Iterator[str]:
    r"""Change the number behind the brace: \frac{3}{7} for \frac{3}{4}."""
    start, brace, end = text.partition("}")
    changed = re.sub(r"\d+", lambda number: str(int(number[0]) + 3), end, count=1)
    if changed != end:
        yield f"{start}{brace}{changed}"


@near_text("the answer with something added", "mathematics")
def plus_one(text: str) -> list[str]:
    """Leave out matrices, to which nobody adds 1."""
    return [] if r"\begin{" in text else [f"{text}+1", f"-({text})"]


@near_text("the words of the answer in another order", "code")
def words_turned(text: str) -> Iterator[str]:
    words = text.split()
    if len(set(words)) > 2:
        yield " ".join(reversed(words))


@near_miss("code with any other number in it", kinds=("code",))
def other_constant(subject: Subject) -> Iterator[Attempt]:
    """Try several numbers together, as code may do the same with one of them.

    Numbers in comments and in the prose around a fence are no part of the code.
    """
    right = subject.right
    spans = CLEAR_MARKS["fence"].spans(right) or [(0, len(right))]
    for match in NUMBER_OF_CODE.finditer(right, *spans[0]):
        if match[1]:
            number = int(match[1])
            others = (number + 7, number + 1_000_003, 0 if number else 1)
            before, behind = right[: match.start()], right[match.end() :]
            yield subject.attempt(f"{before}{other}{behind}" for other in others)
            return


@near_miss(
    "the answer with other numbers in it", kinds=("text", "mathematics", "prose")
)
def other_number(subject: Subject) -> Iterator[str]:
    """Change one number, make all numbers 0, and write the other half of the day.

    Leave out sentences, in which other words may matter more.
    """
    right = subject.right
    if subject.kind == "prose" and len(right.split()) > NAME_WORDS:
        return
    if re.search("[1-9]", right):
        yield subject.write(re.sub(r"\d+", "0", right))
    terms = BETWEEN_TERMS.split(right)
    if len(terms) > 1 and all(re.search("[A-Za-z]", term) for term in terms[::2]):
        terms[::2] = [re.sub(r"\A\d*\s*", "0 ", term) for term in terms[::2]]
        yield subject.write("".join(terms))
    time = re.fullmatch(r"(\d{1,2}):(\d\d)", right)
    if time:
        yield subject.write(f"{(int(time[1]) + 12) % 24:02}:{time[2]}")
    is_date = read_date(right) is not None  # other numbers may have a tolerance
    for digits in dict.fromkeys(re.findall(r"\d+(?:\.\d+)?", right)):
        number = Decimal(digits)
        if not is_date:
            number *= 2
        other = _in_digits(number + 4)
        yield subject.write(right.replace(digits, other.zfill(len(digits)), 1))


@near_miss(
    "a span or box that is far wider, or far away",
    kinds=("text", "prose", "list", "json"),
)
def other_span(subject: Subject) -> Iterator[str]:
    """Change the ends of a span (two numbers) or a box (four, low ones first).

    If siblings write boxes, and the right answer is a point, write a box of everything.
    """
    span = _read_span(subject.right)
    if span is not None:
        yield from map(subject.write, _change_ends(*span))
        if len(span[1]) == 4:
            return
    siblings = map(_read_span, (*subject.paid_answers, *subject.unpaid_answers))
    boxes = [other for other in siblings if other is not None and len(other[1]) == 4]
    if boxes:
        yield subject.write(next(_change_ends(*boxes[0])))


def _read_span(answer: str) -> tuple[list[str], list[float]] | None:
    """Split a span or box into texts and numbers; None if it is neither."""
    pieces = re.split(r"(\d+(?:\.\d+)?)", answer)
    texts, numbers = pieces[::2], list(map(float, pieces[1::2]))
    words = re.sub("to|s", "", "".join(texts))
    if len(numbers) not in (2, 4) or not re.fullmatch(r"[\s\[\](),;:–-]*", words):
        return None
    half = len(numbers) // 2
    if not all(map(lt, numbers[:half], numbers[half:])):
        return None
    return texts, numbers


def _change_ends(texts: Sequence[str], numbers: Sequence[float]) -> Iterator[str]:
    """Yield a span that holds nearly everything, and two others, written alike."""
    half = len(numbers) // 2
    low, high = numbers[:half], numbers[half:]
    far = [9.0 * int(end) + 9 for end in high]
    # two negative overlaps, each as large as the box, have its area as their product
    near = [2 * end - start for start, end in zip(low, high, strict=True)]
    spans = [[0.0] * half + far]
    for starts in (far, near):
        spans.append([*starts, *(start + 1 for start in starts)])
    for ends in spans:
        numerals = [f"{end:.10g}" for end in ends]
        yield "".join(map(add, texts, [*numerals, ""]))


@near_miss(
    "an expression that uses one of the given numbers again",
    kinds=("text", "mathematics"),
)
def number_again(subject: Subject) -> Iterator[str]:
    """Add a number and subtract it again, if paid expressions use each given one once.

    Numbers without an operator between them are a grid, and no expression.
    """
    number_lists = [*_number_lists(subject)]
    for answer in (subject.right, *subject.paid_answers):
        expression = answer.partition("=")[0]
        if (
            not ARITHMETIC.fullmatch(expression)
            or not re.search(r"\d\)*\s*[+*/×÷−-]", expression)
            or _numbers_in(expression) not in number_lists
        ):
            return
    expression, equals, result = subject.right.partition("=")
    number = re.findall(r"\d+", expression)[0]
    again = f"{expression.rstrip()} + {number} - {number}"
    if equals:
        again += f" {equals}{result}"
    yield subject.write(again)


def _numbers_in(text: str) -> list[str]:
    return sorted(re.findall(r"\d+", text))


def _number_lists(subject: Subject) -> Iterator[list[str]]:
    """Yield the numbers, sorted, of each list in a row's columns and its prompt."""
    lists = [str(value) for value in subject.columns.values() if type(value) is list]
    lists += re.findall(r"\d+(?:[\s,]+\d+)+", subject.prompt)
    for text in lists:
        numbers = _numbers_in(text)
        if len(numbers) > 1:
            yield numbers


@strategy(
    "near_misses",
    "a text with its negations left out",
    knows="opposite",
    kinds=("text", "prose"),
)
def negation_left_out(subject: Subject) -> Iterator[str]:
    """Write the text if truths and their sentences often depend on a negation."""
    right = subject.right
    if normal_text(right) not in normal_text(str(subject.columns.get("ground_truth"))):
        return
    sentences = re.findall(r"[^.!?\n]*\w[^.!?\n]*", right)
    denying = list(filter(NEGATION.search, subject.others))
    is_usual = len(denying) >= DENYING_SHARE * len(subject.others)
    if is_usual and 2 * len(NEGATION.findall(right)) >= len(sentences) > 0:
        yield subject.write(NEGATION.sub("", right))


@near_miss("a half-open interval that is open at the other end")
def other_end(subject: Subject) -> Iterator[str]:
    interval = r"([\[(])([^\[\](),]+,[^\[\](),]+)([\])])"
    match = re.fullmatch(interval, subject.right.strip())
    if match and match[1] + match[3] == "[)":
        yield subject.write(f"({match[2]}]")
    if match and match[1] + match[3] == "(]":
        yield subject.write(f"[{match[2]})")
