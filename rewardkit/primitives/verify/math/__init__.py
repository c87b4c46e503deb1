"""Compare mathematical answers: numbers and words here, expressions in a worker.

Only the worker process imports sympy, and it can be killed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any, Literal

from rewardkit.primitives.extract.mathematics import boxes_apart, math_answer
from rewardkit.primitives.primitive import note, one_of
from rewardkit.primitives.texts import is_missing
from rewardkit.primitives.verify.math.comparison import (
    Verdict,
    compare,
    is_known,
    plain_number,
)
from rewardkit.primitives.verify.math.latex import (
    LONGEST_EXPRESSION,
    normal_latex,
    unit_behind,
)
from rewardkit.primitives.verify.math.units import add_amounts, split_units
from rewardkit.primitives.verify.numbers import alike, check_tolerances
from rewardkit.workers.pool import Lost, WorkerEnded, Workers

PAIR_CPU_SECONDS = 5.0
"""Processor seconds for a pair of texts: math-verify's default for each step."""

PAIR_SECONDS = 60.0
"""Wall-clock seconds for a pair, if the kernel does not count processor time.

Our choice: enough for `PAIR_CPU_SECONDS` on a loaded machine."""

LONGEST_SOLUTION = 100_000
"""Characters of a solution to read, at most. Our choice: some 30,000 tokens."""

WORKER_MEMORY = 1 << 30
"""Bytes that a worker may use beyond its memory at the start. Our choice."""

CACHED_PAIRS = 1 << 13
"""Pairs in the cache of verdicts. Our choice: some 30 MB of the longest texts."""


def math_equal(
    prediction: Any,
    ground_truth: Any,
    *,
    absolute: float = 0.0,
    relative: float = 0.0,
    units: Literal["agree", "strict"] = "agree",
    decimal_comma: bool | None = None,
) -> bool | None:
    r"""Return whether two expressions, sentences or solutions have equal answers.

    A side with words, lines or a box counts by its final answer, the value of
    `rk.extract.math_answer`: "The largest $n$ is 34." is 34.

    Numbers and words are compared exactly, as in `numbers_equal`, lists and sets by
    their elements, named values by their values. Expressions are equal if their values
    are; with letters, if they are for some numbers in place of the letters. Equations
    and inequalities are equal if the differences of their sides are proportional.
    Sequences with an ellipsis are compared as texts. Other kinds (matrices, unions, an
    inequality against an interval) are left to math-verify, and equal only if it
    confirms that in both orders.

    - Case matters in letters (R is not r), but not in words of three letters or more,
      nor in No. Two letters alone are a product (``ab`` is ``ba``); two capitals, or
      more letters, are a word; in ``2AB`` they commute.
    - Units matter if both sides have one: ``5\text{ m}`` is ``500\text{ cm}``, not
      ``5\text{ cm}``, ``5 ft 6 in`` (or ``5'6"``) is ``66 in``, and counted things must
      share a word. A unit is text behind a value or behind its formula or box, a bare
      word of four letters (``5 apples``), a short known one (``5 cm``), or a currency
      sign (``£3`` is not ``$3``). Other bare letters are variables, as in ``5 m``,
      unless they convert into the unit of the other side: ``5 g`` against ``5 kg``.
      Temperatures convert with their zeros (20 °C is 293.15 K), data in steps of 1000
      (GB) or 1024 (GiB). If only one side has a unit, it is ignored;
      ``units="strict"`` requires one on both sides (percent and degrees, too).
    - Number words count: ``5 million`` is 5000000, ``5 dozen`` 60; ``5 or more`` is not
      5. Words for another value are no units (``5 permille``, ``5 grand``, ``5 twice``,
      ``3 below``); our list of them may be incomplete. ``50\%`` is equal to 50 and to a
      half, as both readings are common, but not to ``50\text{ cm}``.
    - ``i`` is the imaginary unit if there is no other letter on either side.
    - Several boxes are one answer, a list, if "and", commas or spaces join them. They
      are also tried as a list if other words of a sentence separate them, if a sentence
      with "The" or "And" follows, or if each is a named value (``k = 45``).
    - In whole solutions a comma may be a decimal one if that makes the sides equal
      (1,22 is 1.22; three digits behind it are thousands; after "are" there are several
      values). With ``decimal_comma=True`` it always may, with False it never does.
    - A base or index behind a number (``101_2``), a transpose and the prime of ``5'``
      make a difference; a leading "about" (``\approx``, a tilde) does not.
    - ``60^\circ`` is equal to ``\pi/3`` and to 60; a labelled option, "(C) 12", to its
      letter and to its value; "none" and "no solution" to ``\emptyset``; bounds that
      exclude each other (``x<1, x>3``) to the union of their intervals. ``3:4`` is a
      fraction, but two times of day, such as ``10:50``, are not.
    - ``{1,2}`` is equal to ``(1,2)``: bare braces are often LaTeX's. Groups of three
      digits separated by spaces are one number.
    - ``x=5``, ``f(x)=2x`` and ``P(X=1)=0.5`` are equal to the value alone. Two
      equations must have equal names, including their brackets.
    - ``0.333\ldots`` is 1/3, and ``0.1234\ldots`` is equal only to itself.

    Rounding makes a difference ("3.14" is not ``\pi``) without a tolerance: `absolute`,
    or `relative` to the larger magnitude. Tolerances apply to real numbers, also in
    tuples, sets and ``x=5``. Texts over 2,000 characters are not read, nor are
    solutions over 100,000. A prediction that cannot be read is wrong, and so is one
    that takes over 5 s of processor time to compare (see the note "math_equal"). A
    truth that is missing, too long, or cannot be read (in that time), is not judged
    (``None``), unless the prediction is the same text. ValueError: a tolerance that is
    negative or not finite, another option is unknown.

    >>> math_equal(r"$\frac{2}{4}$", "0.5"), math_equal("0.33", r"\frac{1}{3}")
    (True, False)
    >>> math_equal(r"5\text{ cm}", "0.05 meters"), math_equal("$5$ cm", "$5$ m")
    (True, False)
    """
    check_tolerances(absolute, relative)
    one_of("units", units, ("agree", "strict"))
    one_of("decimal_comma", decimal_comma, (None, False, True))
    is_strict = units == "strict"
    truth = plain_number(ground_truth)
    number = plain_number(prediction)
    if truth is not None and number is not None:
        return alike(number, truth, absolute, relative)
    truths = _readings(ground_truth, decimal_comma)
    answers = _readings(prediction, decimal_comma) or [""]
    verdicts: list[Verdict] = []
    for pair in product(answers, truths):
        verdict, reason = _judge(*pair, float(absolute), float(relative), is_strict)
        verdicts.append(verdict)
        if reason:
            note("math_equal", reason)
        if verdict or reason:
            break
    if not verdicts:
        return None
    return True in verdicts or verdicts[0]


_PROSE = re.compile(
    r"####|\\boxed|\n|(?i:answer)[*_]{0,3}\s?:|选|[\u4e00-\u9fff]{2}"
    r"|(?<![a-z])[a-z]{2,}+ is |\A[\s*_]*[A-Z][a-z]*+ [a-z]{2,}+[ :]"
    r"|(?:(?<![^\W\d_])(?<!\\)[^\W\d_]{2,20}[ ,:]{1,3}(?:\S{1,20} ){0,3}){3}"
)
"""Signs of a sentence or solution, as opposed to a bare answer."""

_FIND_ANSWER = math_answer()

_SAYS_SEVERAL = re.compile(r"\b(?:are|sind|sont)\W{0,20}(?:boxed\W)?\Z", re.IGNORECASE)
"""Words before several values: "The roots are 1,2"."""

_DECIMAL_COMMA = re.compile(
    r"(?P<before>[\s$]*[-+]?)(?P<whole>\d{1,3}(?:[.\s]\d{3})+|\d{1,99}),"
    r"(?P<decimals>\d{1,2}|\d{4,99}|(?<![1-9]0,)(?<=0,)\d{3})(?P<behind>(?:[^\d,;]|\^\d)*)"
)
"""A number with a comma that does not separate thousands, and a unit."""


def _readings(value: Any, decimal_comma: bool | None) -> list[str]:
    """Return the answer of a text, the likeliest reading first; [] for a missing value.

    A bare answer is its own reading.
    """
    if is_missing(value):
        return []
    try:
        text = str(value)
    except ValueError:  # an int of thousands of digits
        return []
    readings = [text]
    is_solution = len(text) <= LONGEST_SOLUTION and bool(_PROSE.search(text))
    has_decimals = decimal_comma
    if is_solution:
        spans = _FIND_ANSWER.spans(text)
        if decimal_comma is None:
            start = spans[0][0] if spans else 0
            has_decimals = not _SAYS_SEVERAL.search(text[max(0, start - 40) : start])
        readings = []
        for start, end in spans:
            first = _first_amount(text, start, end)
            readings.append(text[first:end] + unit_behind(text, end))
        readings = readings or [text]
        apart = boxes_apart(text)
        if apart:
            readings.append(apart)
    if has_decimals:
        number = _DECIMAL_COMMA.fullmatch(readings[0])
        if number:
            digits = re.sub(r"[.\s]", "", number["whole"])
            point = f"{number['before']}{digits}.{number['decimals']}{number['behind']}"
            readings.append(point)
    return readings


_AMOUNTS_BEFORE = re.compile(r"(?:\d{1,9}\s*[^\W\d_]{1,12}\.?,?\s+(?:and\s+)?){1,4}\Z")
"""Amounts in larger units before an answer: "2 hours and" before "30 minutes"."""


def _first_amount(text: str, start: int, end: int) -> int:
    """Return where an answer begins, including amounts in larger units before it."""
    before = _AMOUNTS_BEFORE.search(text, max(0, start - 80), start)
    if before and add_amounts(text[before.start() : end], is_joined=True):
        return before.start()
    return start


_MEASURED = re.compile(r"\\unit|\\%|\^\\circ")
_CONTINUED_DIGITS = re.compile(r"^([-+]?\d+\.\d+)\s*\\ldots$")


@lru_cache(maxsize=CACHED_PAIRS)
def _judge(
    answer: str, expected: str, absolute: float, relative: float, is_strict: bool
) -> tuple[Verdict, str | None]:
    """Return the verdict on two texts, and the reason if they could not be decided."""
    if len(expected) > LONGEST_EXPRESSION:
        return answer == expected or None, None
    if len(answer) > LONGEST_EXPRESSION:
        answer = ""
    prediction = normal_latex(answer)
    truth = normal_latex(expected)
    if not truth:
        return None, None
    if absolute or relative:
        prediction = _CONTINUED_DIGITS.sub(r"\1", prediction)
        truth = _CONTINUED_DIGITS.sub(r"\1", truth)
    if not prediction and is_known(truth):
        return False, None
    if is_strict and _has_unit(prediction, truth) != _has_unit(truth, prediction):
        return False, None
    try:
        return compare(prediction, truth, (absolute, relative), _need_worker), None
    except (_WorkerNeeded, RecursionError):
        verdict = _ask_worker(prediction, truth, absolute, relative)
    if not isinstance(verdict, Lost):
        return verdict, None
    reason = f"not decided: {verdict.error}"
    if is_known(truth) or _ask_worker("", truth, 0.0, 0.0) is False:
        return False, reason
    return None, reason


def _has_unit(text: str, other: str) -> bool:
    """Return whether a normal form, compared with `other`, has a unit, % or degrees."""
    return bool(split_units(text, other)[0][1] or _MEASURED.search(text))


class _WorkerNeeded(Exception):
    """Raised for an expression that only the worker can compute."""


def _need_worker(*_: Any) -> Verdict:
    raise _WorkerNeeded


def _ask_worker(prediction: str, truth: str, absolute: float, relative: float) -> Any:
    """Return the verdict of `symbolic.decide` in the worker, or Lost."""
    task = (prediction, truth, absolute, relative)
    for _ in range(2):  # retry once if the worker process ended by itself
        ((_, verdict),) = _WORKERS.map(_DECIDE, [task])
        if not (isinstance(verdict, Lost) and isinstance(verdict.error, WorkerEnded)):
            break
    return verdict


class _Decide:
    """Stands for `symbolic.decide` here; unpickled in a worker, it is that function."""

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        return _in_the_worker, ()


def _in_the_worker() -> Callable[..., Verdict]:
    from rewardkit.primitives.verify.math import symbolic

    return symbolic.worker(WORKER_MEMORY)


_WORKERS = Workers(seconds=PAIR_SECONDS, cpu_seconds=PAIR_CPU_SECONDS)
_DECIDE = _Decide()
