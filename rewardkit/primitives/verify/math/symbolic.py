"""Compare expressions by their values, or by math-verify.

This runs in a worker process that bounds time and memory, as nothing here does. The
import takes a second, for sympy.
"""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import sympy
from antlr4.atn.PredictionMode import PredictionMode
from latex2sympy2_extended.latex2sympy2 import (
    ConversionConfig,
    NormalizationConfig,
    _Latex2Sympy,
    normalize_latex,
)
from latex2sympy2_extended.logic import And
from math_verify import verify
from math_verify.grader import should_treat_as_complex
from sympy import Eq, Expr, Mul, Rational, Symbol
from sympy.core.evalf import PrecisionExhausted
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from rewardkit.primitives.verify.math.comparison import (
    EXACT,
    Tolerance,
    Verdict,
    all_of,
    compare,
    members_equal,
)
from rewardkit.primitives.verify.math.latex import Replacement
from rewardkit.primitives.verify.numbers import alike

DIGITS_OF_NUMBERS = 1000
"""Digits of numbers to compare. Our choice: far beyond any answer."""

DIGITS_OF_SAMPLES = 100
"""Digits of samples to compare: functions of them may be slow to compute."""

MOST_POWER_BITS = 1 << 20
"""Bits of a power or factorial, at most. Our choice: a fraction of a second."""


def worker(memory: int) -> Callable[..., Verdict]:
    """Prepare this process as a worker, and return a `decide` for it.

    The process logs nothing and may take `memory` bytes more. Once half of that is in
    use, the function ends the process before its next call. Both limits need Linux.
    """
    warnings.simplefilter("ignore")
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    at_start = _memory_in_use()
    if at_start:
        import resource

        limit = (at_start + memory, resource.getrlimit(resource.RLIMIT_AS)[1])
        resource.setrlimit(resource.RLIMIT_AS, limit)

    def decide_or_exit(*arguments: Any) -> Verdict:
        # The caches of the parser grow: let another process take over.
        if _memory_in_use() > at_start + memory // 2:
            os._exit(0)
        return decide(*arguments)

    return decide_or_exit


def _memory_in_use() -> int:
    """Return the bytes of memory of this process, 0 if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # not on Linux
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def decide(
    answer: str, truth: str, absolute: float = 0.0, relative: float = 0.0
) -> Verdict:
    """Return whether two normal forms are equal, ``None`` if `truth` is unreadable."""
    return compare(answer, truth, (absolute, relative), _compare_expressions)


def _compare_expressions(answer: str, truth: str, tolerance: Tolerance) -> Verdict:
    b = read_latex(truth)
    if b is None:
        return None
    a = read_latex(answer)
    if a is None:
        return False
    a = _as_union(a)
    b = _as_union(b)
    if max(_count_bits(a), _count_bits(b)) > MOST_POWER_BITS:
        return bool(a == b)
    verdict = None
    try:
        if _relations(a) and _relations(b):
            verdict = members_equal(_relations(a), _relations(b), _same_relation)
        elif isinstance(a, Expr) and isinstance(b, Expr):
            verdict = _same_values(a, b, tolerance)
    except Exception:  # sympy raises errors of many types
        verdict = None
    if verdict is not None:
        return verdict
    # In both directions, and without a timer, as the pool limits this process.
    for pair in ((a, b), (b, a)):
        if not verify(*pair, allow_set_relation_comp=True, timeout_seconds=None):
            return False
    return True


def _as_union(a: Any) -> Any:
    """Return disjoint bounds of one letter as a union of intervals, else `a` itself."""
    if not isinstance(a, sympy.FiniteSet) or len(a.free_symbols) != 1:
        return a
    if not all(map(_relations, a)):
        return a
    intervals = [sympy.And(*_relations(part)).as_set() for part in a]
    for first, second in combinations(intervals, 2):
        if not first.is_disjoint(second):  # overlapping bounds may mean "and"
            return a
    return sympy.Union(*intervals)


def _count_bits(node: Any) -> float:
    """Estimate the bits of the largest integer in a computation of the value."""
    if isinstance(node, Rational):
        return max(int(node.p).bit_length(), int(node.q).bit_length())
    parts: list[float] = [_count_bits(part) for part in getattr(node, "args", ())]
    if isinstance(node, sympy.Pow | sympy.factorial) and not node.args[-1].free_symbols:
        exponent = parts[-1]
        if exponent < 200:  # cheap to compute, which gives a closer bound
            exponent = _count_bits(node.args[-1].doit())
        return float(parts[0] * 2.0 ** min(exponent, 64.0))
    if isinstance(node, Mul):
        return sum(parts)
    return max(parts, default=1.0)


def _relations(a: Any) -> tuple[Any, ...]:
    """Return the relations of a chain such as 1 < x < 2; () if `a` is not one."""
    parts = a.args if isinstance(a, And) else (a,)
    return parts if all(isinstance(part, Relational) for part in parts) else ()


def _same_relation(a: Any, b: Any) -> Verdict:
    """Return whether the differences of the sides of two relations are proportional.

    For equations, the differences are compared without denominators.
    """
    if isinstance(a, sympy.Gt | sympy.Ge):
        a = a.reversed
    if isinstance(b, sympy.Gt | sympy.Ge):
        b = b.reversed
    if a.func != b.func:
        return False
    x = _simplify(a.lhs - a.rhs)
    y = _simplify(b.lhs - b.rhs)
    is_equation = isinstance(a, Eq | sympy.Ne)
    if is_equation:
        x = sympy.fraction(sympy.together(x))[0]
        y = sympy.fraction(sympy.together(y))[0]
    samples = _sample(x, y)
    factor = sympy.S.One
    if x.free_symbols | y.free_symbols:
        factor = samples[0][0] / samples[0][1]
    if not is_equation and not factor.is_positive:
        return False
    return all_of(_same_number(first, factor * second) for first, second in samples)


def _same_values(a: Expr, b: Expr, tolerance: Tolerance) -> Verdict:
    """Compare values; put sample numbers in place of letters.

    If i is the only letter, it is the imaginary unit.
    """
    letters = a.free_symbols | b.free_symbols
    if {letter.name for letter in letters} == {"i"}:
        unit = dict.fromkeys(letters, sympy.I)
        parts = [value.subs(unit).doit().as_real_imag() for value in (a, b)]
        return all_of(
            _same_number(first, second, tolerance, DIGITS_OF_NUMBERS)
            for first, second in zip(*parts, strict=True)
        )
    x = _simplify(a)
    y = _simplify(b)
    if not x.free_symbols | y.free_symbols:
        return _same_number(x, y, tolerance, DIGITS_OF_NUMBERS)
    if x.has(*_ENDLESS) or y.has(*_ENDLESS):
        return None
    *positive, negative = (_same_number(*values) for values in _sample(x, y))
    verdict = all_of(positive)
    if verdict and not negative:  # it may be a law of roots or logarithms
        return None
    return verdict


def _simplify(a: Expr) -> Expr:
    """Compute exactly where possible, and unify the letters of different texts.

    An unknown function such as f(2) becomes a letter.
    """
    computed = a.doit()
    names = {symbol: Symbol(symbol.name) for symbol in computed.free_symbols}
    for function in computed.atoms(AppliedUndef):
        names[function] = Symbol(str(function))
    return computed.xreplace(names)


def _sample(x: Expr, y: Expr) -> list[tuple[Expr, Expr]]:
    """Evaluate both expressions with letters above 1, between 0 and 1, and below 0."""
    letters = sorted(x.free_symbols | y.free_symbols, key=str)
    above = {}
    between = {}
    below = {}
    for place, letter in enumerate(letters):
        above[letter] = Rational(10 * place + 23, 7)
        between[letter] = Rational(5, 10 * place + 17)
        below[letter] = Rational(-10 * place - 19, 9)
    return [(x.subs(point), y.subs(point)) for point in (above, between, below)]


_ENDLESS = (sympy.nan, sympy.zoo, sympy.oo)


def _same_number(
    x: Expr, y: Expr, tolerance: Tolerance = EXACT, digits: int = DIGITS_OF_SAMPLES
) -> Verdict:
    """Compare two exact numbers by `digits` digits of their difference."""
    if x.has(*_ENDLESS) or y.has(*_ENDLESS):
        return True if x == y and not x.has(sympy.nan, sympy.zoo) else None
    if tolerance != EXACT and x.is_real and y.is_real:
        first, second = (Decimal(str(value.evalf(60))) for value in (x, y))
        return alike(first, second, *tolerance)
    difference = x - y
    if difference == 0:
        return True
    if isinstance(difference, Rational):
        return False
    try:  # at fewer than 30 digits sympy may give up
        value = difference.evalf(30, maxn=digits, strict=True)
    except PrecisionExhausted:
        return True
    is_different = value.is_number and value.is_finite and value != 0
    return False if is_different else None


# Switches off the search for an expression in a text, and the handling of units.
_NORMALIZATION = NormalizationConfig(
    units=False, malformed_operators=True, nits=True, boxed="none"
)
_CONVERSION = ConversionConfig(lowercase_symbols=False)


_MISREADINGS: tuple[tuple[str, Replacement], ...] = (
    # a prime
    (r"(?<=[A-Za-z)}])('+)", lambda match: f"_{{{'p' * len(match[1])}}}"),
    # a transpose
    (r"(?<=[\w)}])\^\s*\{?\s*(?:T|\\top|\\intercal)(?![A-Za-z])\s*\}?", "_{T}"),
    (r"(?<![\w.])(\d+)\s*_\s*\{?(\w+)\}?", r"\\text{\1base\2}"),
    (r"(?<=\d)\s*'+", r"\\text{feet}"),
    (r"(\d+(?:\.\d+)?)\s*\^\\circ", r"(\\frac{\1 \\pi}{180})"),
    # Euler's constant to the parser
    (r"\\(Gamma|gamma)(?![A-Za-z])(?!\s*[({])", r"\\text{greek\1}"),
)
_CORRECTIONS = [(re.compile(pattern), change) for pattern, change in _MISREADINGS]


@lru_cache(maxsize=256)
def read_latex(text: str) -> Any:
    """Parse LaTeX as math-verify does, decimals as fractions, or return ``None``.

    `_CORRECTIONS` prevents misreadings of that parser.
    """
    for pattern, replacement in _CORRECTIONS:
        text = pattern.sub(replacement, text)
    text = normalize_latex(text, _NORMALIZATION)
    # The first mode is fast and reads most texts.
    for mode in (PredictionMode.SLL, PredictionMode.LL):
        is_real = not should_treat_as_complex(text)
        converter = _Converter(is_real=is_real, config=_CONVERSION)
        converter.mode = mode
        try:
            expression = converter.parse(text)
        except MemoryError:
            raise
        except Exception:  # the parser raises errors of many types
            continue
        if not isinstance(expression, sympy.Basic | sympy.MatrixBase):
            return None
        decimals = expression.atoms(sympy.Float)
        fractions = {decimal: Rational(str(decimal)) for decimal in decimals}
        with sympy.evaluate(False):
            return expression.xreplace(fractions)
    return None


class _Converter(_Latex2Sympy):  # type: ignore[misc]
    """The parser of math-verify with a choice of ANTLR's prediction mode."""

    mode = PredictionMode.LL

    def create_parser(self, text: str) -> Any:
        parser = super().create_parser(text)
        parser._interp.predictionMode = self.mode
        return parser
