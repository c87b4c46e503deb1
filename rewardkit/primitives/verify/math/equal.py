"""Whether two mathematical answers are equal: numbers and words here, expressions in a worker process."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rewardkit.primitives.extract.mathematics import math_answer
from rewardkit.primitives.notes import note
from rewardkit.primitives.texts import is_missing
from rewardkit.primitives.verify.math.comparison import (
    Verdict,
    compare,
    is_known,
    plain_number,
)
from rewardkit.primitives.verify.math.latex import LONGEST, normal_form
from rewardkit.primitives.verify.tolerances import alike, check_tolerances
from rewardkit.workers.pool import Lost, WorkerEnded, Workers

CPU_SECONDS = 5.0
"""Of its own work that a pair may take. math-verify's own default, for each of its steps."""

SECONDS = 60.0
"""By the clock, where the kernel does not count. Our choice: a loaded machine still gets CPU_SECONDS done."""

LONGEST_SOLUTION = 100_000
"""Characters of a text whose answer is looked for. Our choice: some 30,000 tokens."""

MEMORY = 1 << 30
"""Bytes that a worker may take beyond what it starts with. Our choice."""

REMEMBERED = 1 << 13
"""Pairs of which the verdict is remembered: some 30 MB where all are as long as they may be. Our choice."""


def math_equal(
    prediction: Any, ground_truth: Any, *, absolute: float = 0.0, relative: float = 0.0
) -> bool | None:
    r"""Whether two mathematical expressions, LaTeX or not, are equal; of sentences and solutions the answers.

    Of what has words, lines or a box in it the final answer is taken on either side, as
    `rk.extract.math_answer` finds it: "The largest $n$ is 34." is 34.

    Numbers and words are compared exactly, as in `numbers_equal`, lists and sets by
    their elements, named values by what they are. Expressions are equal where their
    values are, of letters for some numbers put in for them; equations and inequalities
    where the differences of their sides are proportional; sequences with an ellipsis as
    texts. Other kinds (matrices, unions, an inequality beside an interval) are left to
    math-verify, and equal only if it says so in both orders.

    - Case counts in letters (R is not r), but not in words of three letters or more, nor in No. Two letters
      alone are a product (``ab`` is ``ba``), but capitals and longer ones a word; in ``2AB`` they commute.
    - Units do not count, whichever they are: words set as text behind a value (``5\text{ m}``), and bare ones
      of four letters (``5 apples``) or short known ones (``5 cm``). Bare letters are letters: ``5 m`` is 5
      times m. Number words count: ``5 million`` is 5000000, ``5 dozen`` 60; ``5 or more`` is not 5.
      Words that say another value are no units (``5 permille``, ``5 grand``, ``5 twice``, ``3 below``); the
      list of them is ours, and may lack some. ``50\%`` is 50 to one and a half to another: equal to both.
    - A base or index behind a number (``101_2``), a transpose and the prime of ``5'`` are told from none;
      what says "about" in front (``\approx``, a tilde) is left out.
    - ``60^\circ`` is equal to ``\pi/3`` and to 60; a labelled option, "(C) 12", to its letter and to
      its value; "none" and "no solution" to ``\emptyset``; bounds that exclude each other (``x<1, x>3``) to
      the union of their intervals. ``3:4`` is a fraction, but two times of day, such as ``10:50``, are not.
    - ``{1,2}`` is equal to ``(1,2)``: bare braces are often LaTeX's. Groups of three digits parted by spaces
      are one number.
    - ``x=5``, ``f(x)=2x`` and ``P(X=1)=0.5`` are equal to the value alone. Of two equations the names count,
      with what is in their brackets.
    - ``0.333\ldots`` is 1/3, and ``0.1234\ldots`` is equal only to itself.

    Rounding counts as a difference ("3.14" is not ``\pi``) unless a tolerance is asked
    for: `absolute`, or `relative` to the larger magnitude. It applies to real numbers,
    also in tuples, sets and ``x=5``. What is over 2,000 characters is not read, of a
    solution over 100,000. A prediction that cannot be read is wrong, and so is one that
    takes over 5 s of processor time to compare (that is noted as "math_equal"). A truth
    that is missing, too long, or cannot be read (in that time), is not judged
    (``None``), unless the prediction is the same text. ValueError: a tolerance that is
    negative or not finite.

    >>> math_equal(r"$\frac{2}{4}$", "0.5"), math_equal("0.33", r"\frac{1}{3}")
    (True, False)
    """
    check_tolerances(absolute, relative)
    truth, number = plain_number(ground_truth), plain_number(prediction)
    if truth is not None and number is not None:
        return alike(number, truth, absolute, relative)
    expected, given = _text(ground_truth), _text(prediction) or ""
    if expected is None or len(expected) > LONGEST:
        return True if expected is not None and given == expected else None
    given = given if len(given) <= LONGEST else ""
    verdict, why = _judge(given, expected, float(absolute), float(relative))
    if why:
        note("math_equal", why)
    return verdict


_PROSE = re.compile(
    r"####|\\boxed|\n|(?i:answer)[*_]{0,3}\s?:|选|[\u4e00-\u9fff]{2}|(?<![a-z])[a-z]{2,}+ is "
    r"|\A\s*[A-Z][a-z]*+ [a-z]{2,}+ |(?:(?<![\\A-Za-z])[A-Za-z]{2,20}[ ,:]{1,3}(?:\S{1,20} ){0,3}){3}"
)
"""What only sentences and solutions have."""

_ANSWER = math_answer()


def _text(value: Any) -> str | None:
    """What is to be read: the answer of a sentence or solution. ``None`` for what is missing."""
    if is_missing(value):
        return None
    try:
        text = str(value)
    except ValueError:  # an int of thousands of digits
        return None
    if len(text) <= LONGEST_SOLUTION and _PROSE.search(text):
        return _ANSWER(text) or text
    return text


_DIGITS_GO_ON = re.compile(r"^([-+]?\d+\.\d+)\s*\\ldots$")


@lru_cache(maxsize=REMEMBERED)
def _judge(
    given: str, expected: str, absolute: float, relative: float
) -> tuple[Verdict, str | None]:
    """The verdict on two texts, and why there is no better one."""
    prediction, truth = normal_form(given), normal_form(expected)
    if not truth:
        return None, None
    if absolute or relative:
        prediction, truth = (
            _DIGITS_GO_ON.sub(r"\1", prediction),
            _DIGITS_GO_ON.sub(r"\1", truth),
        )
    if not prediction and is_known(truth):
        return False, None
    try:
        return compare(prediction, truth, (absolute, relative), _leave), None
    except (_LeftToTheWorker, RecursionError):
        answer = _ask(prediction, truth, absolute, relative)
    if isinstance(answer, Lost):
        readable = is_known(truth) or _ask("", truth, 0.0, 0.0) is False
        return (False if readable else None), f"not decided: {answer.error}"
    return answer, None


class _LeftToTheWorker(Exception):
    """There is an expression to compute."""


def _leave(*_: Any) -> Verdict:
    raise _LeftToTheWorker


def _ask(prediction: str, truth: str, absolute: float, relative: float) -> Any:
    """What `symbolic.decide` answers in the worker; Lost where it could not."""
    for _ in range(2):  # once more where the process ended for a reason of its own
        ((_, answer),) = _WORKERS.map(
            _DECIDE, [(prediction, truth, absolute, relative)]
        )
        if not (isinstance(answer, Lost) and isinstance(answer.error, WorkerEnded)):
            break
    return answer


class _Decide:
    """`symbolic.decide` for a worker: imported over there, so that this process does without sympy."""

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        return _in_the_worker, ()


def _in_the_worker() -> Callable[..., Verdict]:
    from rewardkit.primitives.verify.math import symbolic

    return symbolic.worker(MEMORY)


_WORKERS = Workers(seconds=SECONDS, cpu_seconds=CPU_SECONDS)
_DECIDE = _Decide()
