"""Whether two mathematical expressions are equal: plain numbers here, the others in a worker process."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from rewardkit.deadlines import Killed, Raised, WorkerEnded, Workers
from rewardkit.primitives.latex import LONGEST, is_prose, normal_form, same_text, split
from rewardkit.primitives.numbers import Number, alike, check_tolerances, read_number
from rewardkit.primitives.texts import is_missing
from rewardkit.trace import note

__all__ = ["math_equal"]

CPU_SECONDS = 5.0
"""Of its own work that a pair may take. math-verify's own default, for each of its steps."""

SECONDS = 60.0
"""By the clock, where the kernel does not count. Our choice: a loaded machine still gets CPU_SECONDS done."""

MEMORY = 1 << 30
"""Bytes that a worker may take beyond what it starts with. Our choice."""


def math_equal(
    prediction: Any, ground_truth: Any, *, absolute: float = 0.0, relative: float = 0.0
) -> bool | None:
    r"""Whether two mathematical expressions, LaTeX or not, are equal.

    Plain numbers and lists of them are compared exactly, as in `numbers_equal`. Of all else math-verify is
    asked, once for each pair, and overruled where it can be shown to be wrong: constants are compared by
    their exact difference, letters by values put in for them, equations up to a factor, sets and tuples by
    their elements, sequences with an ellipsis term by term; and what it cannot read is not equal to a number
    found in it. Other kinds (percent, units, words, ``x=5`` beside 5, matrices, functions) are math-verify's
    to decide, and equal only if it says so in both orders.

    Rounding counts as a difference ("3.14" is not ``\pi``) unless a tolerance is asked for: `absolute`, or
    `relative` to the larger magnitude. It applies to real numbers, also in tuples, sets and ``x=5``. What is
    over 2,000 characters is not read. A prediction that cannot be read is wrong, and so is one that takes
    over 5 s of processor time to compare (that is noted as "math_equal"); a truth that is missing, or cannot
    be read in that time, is not judged (``None``). ValueError: a tolerance that is negative or not finite.

    >>> math_equal(r"$\frac{2}{4}$", "0.5"), math_equal("0.33", r"\frac{1}{3}")
    (True, False)
    """
    check_tolerances(absolute, relative)
    truth, number = _number(ground_truth), _number(prediction)
    if truth is not None and number is not None:
        return alike(number, truth, absolute, relative)
    expected, given = _text(ground_truth), _text(prediction) or ""
    if expected is None:
        return None if truth is None else False
    cached = _short if len(given) + len(expected) <= SHORT else _long
    verdict, why = cached(given, expected, float(absolute), float(relative))
    if why:
        note("math_equal", why)
    return verdict


def _text(value: Any) -> str | None:
    """What is to be read as an expression; ``None`` for what is missing or too long."""
    if is_missing(value):
        return None
    try:
        text = str(value)
    except ValueError:  # an int of thousands of digits
        return None
    return text if len(text) <= LONGEST else None


_PERCENT = frozenset("%\uff05\ufe6a\u066a")


def _number(value: Any) -> Number | None:
    """A plain number; 50% is none, as it is 0.5 to one and 50 to another: that is math-verify's to say."""
    return None if isinstance(value, str) and not _PERCENT.isdisjoint(value) else read_number(value)


def _judge(given: str, expected: str, absolute: float, relative: float) -> tuple[bool | None, str | None]:
    """The verdict on two texts, and why there is no better one."""
    prediction, truth = normal_form(given), normal_form(expected)
    if truth is None:
        return None, None
    exact, number = _number(truth), _number(prediction)
    if prediction is None:
        verdict = None if exact is None else False
    elif exact is not None and number is not None:
        verdict = alike(number, exact, absolute, relative)
    elif same_text(prediction, truth) and any(map(str.isalnum, truth)):
        verdict = True
    elif (exact is not None and is_prose(prediction)) or (number is not None and is_prose(truth)):
        verdict = False
    else:
        verdict = _lists_equal(prediction, truth, absolute, relative)
    if verdict is not None:
        return verdict, None
    answer = _ask(prediction, truth, absolute, relative)
    if isinstance(answer, Killed | Raised):
        readable = exact is not None or _ask(None, truth, 0.0, 0.0) is False
        return (False if readable else None), f"not decided: {answer.error}"
    return cast(bool | None, answer), None


def _lists_equal(a: str, b: str, absolute: float, relative: float) -> bool | None:
    """Of lists of plain numbers between the same brackets; ``None`` for others, which the worker reads."""
    (brackets, first), (others, second) = _list(a), _list(b)
    if brackets != others or not first or not second:
        return None
    if brackets not in ("{}", ""):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(alike(*pair, absolute, relative) for pair in pairs)
    if absolute or relative:
        return None
    return set(first) == set(second)


_LIST = re.compile(r"(?:(\(|\[|\\\{)(.*?)(\)|\]|\\\})|(.*))", re.DOTALL)


def _list(text: str) -> tuple[str, list[Number]]:
    """Brackets and numbers of a list, or no numbers."""
    opening, inner, closing, bare = cast(re.Match[str], _LIST.fullmatch(text)).groups(default="")
    numbers = [_number(item) for item in split(inner or bare, _COMMA)]
    known = [number for number in numbers if number is not None]
    complete = len(known) == len(numbers) > (1 if opening != "\\{" else 0)
    return (opening + closing).replace("\\", ""), known if complete else []


_COMMA = re.compile(",")

SHORT = 200
"""Characters of a pair, of which many are remembered; of longer ones a few, to keep little."""

_short = lru_cache(maxsize=1 << 15)(_judge)
_long = lru_cache(maxsize=1 << 8)(_judge)


def _ask(prediction: str | None, truth: str, absolute: float, relative: float) -> Any:
    """What `symbolic.decide` answers in the worker; Killed or Raised where it could not."""
    for _ in range(2):  # once more where the process ended for a reason of its own
        ((_, answer),) = _WORKERS.map(_DECIDE, [(prediction, truth, absolute, relative)])
        if not (isinstance(answer, Killed) and isinstance(answer.error, WorkerEnded)):
            break
    return answer


class _Decide:
    """`symbolic.decide` for a worker: imported over there, so that this process does without sympy."""

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        return _in_the_worker, ()


def _in_the_worker() -> Callable[..., bool | None]:
    from rewardkit.primitives import symbolic

    return symbolic.worker(MEMORY)


_WORKERS = Workers(seconds=SECONDS, cpu_seconds=CPU_SECONDS)
_DECIDE = _Decide()
