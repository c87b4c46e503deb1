"""Whether two expressions are equal: by their values where they have some, else as math-verify has it.

Runs in a worker process, which bounds its time and memory: nothing here does. Importing
it takes a second, for sympy.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import sympy
from latex2sympy2_extended.logic import And
from math_verify import verify
from sympy import Eq, Expr, Mul, Rational, Symbol
from sympy.core.evalf import PrecisionExhausted
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from rewardkit.primitives.verify.math.comparison import (
    EXACT,
    Verdict,
    all_of,
    compare,
    members_equal,
)
from rewardkit.primitives.verify.math.parsing import read
from rewardkit.primitives.verify.tolerances import alike

Tolerance = tuple[float, float]

DIGITS = 1000
"""To which two numbers are told apart. Our choice: two that agree this far and differ nobody writes."""

FEW_DIGITS = 100
"""The same for values that are put in for letters, of which the functions of them may be slow to compute."""

LARGEST = 1 << 20
"""Bits of a power or factorial that is computed. Our choice: a fraction of a second."""


def worker(memory: int) -> Callable[..., Verdict]:
    """`decide` for a process of its own, which may take so many bytes more, and is silent."""
    warnings.simplefilter("ignore")
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    before = _memory()
    if before:
        import resource

        limit = (before + memory, resource.getrlimit(resource.RLIMIT_AS)[1])
        resource.setrlimit(resource.RLIMIT_AS, limit)

    def decided(*arguments: Any) -> Verdict:
        if (
            _memory() > before + memory // 2
        ):  # of what the parser remembers: let another take over
            os._exit(0)
        return decide(*arguments)

    return decided


def _memory() -> int:
    """Bytes that this process takes; 0 where that is not known."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # not on Linux
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def decide(
    given: str, expected: str, absolute: float = 0.0, relative: float = 0.0
) -> Verdict:
    """Whether two normal forms are equal; ``None`` where the expected one cannot be read."""
    return compare(given, expected, (absolute, relative), _expressions)


def _expressions(given: str, expected: str, tolerance: Tolerance) -> Verdict:
    b = read(expected)
    if b is None:
        return None
    a = read(given)
    if a is None:
        return False
    a, b = _union(a), _union(b)
    if max(_bits(a), _bits(b)) > LARGEST:
        return bool(a == b)
    try:
        if _chain(a) and _chain(b):
            verdict = members_equal(_chain(a), _chain(b), _relation)
        else:
            verdict = (
                _scalars(a, b, tolerance)
                if isinstance(a, Expr) and isinstance(b, Expr)
                else None
            )
    except Exception:  # whatever sympy raises where it is asked for what it cannot do
        verdict = None
    if verdict is not None:
        return verdict
    # in both directions, and without its timer: this process has one
    return all(
        verify(*pair, allow_set_relation_comp=True, timeout_seconds=None)
        for pair in ((a, b), (b, a))
    )


def _union(a: Any) -> Any:
    """The union of the intervals that bounds of one letter list, as in x < 1 or x > 3; of others as it is."""
    if (
        not isinstance(a, sympy.FiniteSet)
        or len(a.free_symbols) != 1
        or not all(map(_chain, a))
    ):
        return a
    intervals = [sympy.And(*_chain(part)).as_set() for part in a]
    apart = all(one.is_disjoint(other) for one, other in combinations(intervals, 2))
    return (
        sympy.Union(*intervals) if apart else a
    )  # those that overlap may hold at once


def _bits(node: Any) -> float:
    """About how many binary digits the integers have that computing an expression would meet."""
    if isinstance(node, Rational):
        return max(int(node.p).bit_length(), int(node.q).bit_length())
    parts: list[float] = [_bits(part) for part in getattr(node, "args", ())]
    if isinstance(node, sympy.Pow | sympy.factorial) and not node.args[-1].free_symbols:
        small = parts[-1] < 200  # then its value is at hand, and a closer bound
        exponent = _bits(node.args[-1].doit()) if small else parts[-1]
        return float(parts[0] * 2.0 ** min(exponent, 64.0))
    return sum(parts) if isinstance(node, Mul) else max(parts, default=1.0)


def _chain(a: Any) -> tuple[Any, ...]:
    """The relations of 1 < x < 2; none where there are others than relations."""
    parts = a.args if isinstance(a, And) else (a,)
    return parts if all(isinstance(part, Relational) for part in parts) else ()


def _relation(a: Any, b: Any) -> Verdict:
    """Whether the differences of the sides are proportional; those of equations without denominators."""
    a, b = (
        side.reversed if isinstance(side, sympy.Gt | sympy.Ge) else side
        for side in (a, b)
    )
    if a.func != b.func:
        return False
    x, y = (_plain(side.lhs - side.rhs) for side in (a, b))
    if isinstance(a, Eq | sympy.Ne):
        x, y = (sympy.fraction(sympy.together(side))[0] for side in (x, y))
    values = _values(x, y)
    factor = (
        values[0][0] / values[0][1] if x.free_symbols | y.free_symbols else sympy.S.One
    )
    if not isinstance(a, Eq | sympy.Ne) and not factor.is_positive:
        return False
    return all_of(_numbers_equal(one, factor * other) for one, other in values)


def _scalars(a: Expr, b: Expr, tolerance: Tolerance) -> Verdict:
    """By their values; those with letters by some values that are put in for them."""
    x, y = _plain(a), _plain(b)
    if not x.free_symbols | y.free_symbols:
        return _numbers_equal(x, y, tolerance, DIGITS)
    if x.has(*_ENDLESS) or y.has(*_ENDLESS):
        return None
    *positive, negative = (_numbers_equal(*values) for values in _values(x, y))
    verdict = all_of(positive)
    return (
        verdict if verdict is not True or negative else None
    )  # it may be a law of roots or logarithms


def _plain(a: Expr) -> Expr:
    """Computed as far as that is exact; a letter is the same in every text, and f(2) a name as it is."""
    computed = a.doit()
    names = {symbol: Symbol(symbol.name) for symbol in computed.free_symbols}
    return computed.xreplace(
        names | {value: Symbol(str(value)) for value in computed.atoms(AppliedUndef)}
    )


def _values(x: Expr, y: Expr) -> list[tuple[Expr, Expr]]:
    """Of both, where all letters are above 1, between 0 and 1, and below 0."""
    names = list(enumerate(sorted(x.free_symbols | y.free_symbols, key=str)))
    above = {name: Rational(10 * place + 23, 7) for place, name in names}
    between = {name: Rational(5, 10 * place + 17) for place, name in names}
    below = {name: Rational(-10 * place - 19, 9) for place, name in names}
    return [(x.subs(point), y.subs(point)) for point in (above, between, below)]


_ENDLESS = (sympy.nan, sympy.zoo, sympy.oo)


def _numbers_equal(
    x: Expr, y: Expr, tolerance: Tolerance = EXACT, digits: int = FEW_DIGITS
) -> Verdict:
    """Of two exact numbers: by their difference, to so many digits of it."""
    if x.has(*_ENDLESS) or y.has(*_ENDLESS):
        return True if x == y and not x.has(sympy.nan, sympy.zoo) else None
    if tolerance != EXACT and x.is_real and y.is_real:
        return alike(Decimal(str(x.evalf(60))), Decimal(str(y.evalf(60))), *tolerance)
    difference = x - y
    if difference == 0:
        return True
    if isinstance(difference, Rational):
        return False
    try:
        value = difference.evalf(
            30, maxn=digits, strict=True
        )  # at fewer sympy may give up
    except PrecisionExhausted:
        return True
    return False if value.is_number and value.is_finite and value != 0 else None
