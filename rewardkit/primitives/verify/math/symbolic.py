"""Whether two expressions are equal: math-verify's verdict, and ours where it is wrong.

Runs in the worker process of `mathematics`, which bounds its time and memory: nothing here does. Importing it
takes a second, for sympy. Comparisons answer True (proven equal), False (proven different) or ``None`` (not
known), and what is not known is math-verify's to say.
"""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import sympy
from latex2sympy2_extended.latex2sympy2 import is_expr_of_only_symbols
from latex2sympy2_extended.logic import And
from math_verify import verify
from sympy import Eq, Expr, Interval, Mul, Poly, Rational, Symbol, Tuple, UnevaluatedExpr
from sympy.core.evalf import PrecisionExhausted
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from rewardkit.primitives.verify.math.latex import ELLIPSIS, same_text
from rewardkit.primitives.verify.math.parsing import parts_of, read

__all__ = ["decide", "worker"]

Verdict = bool | None
Same = Callable[[Any, Any], Verdict]
Tolerance = tuple[float, float]
"""Absolute and relative."""
EXACT: Tolerance = (0.0, 0.0)

DIGITS = 1000
"""To which two constants are told apart. Our choice: two that agree this far and differ nobody writes."""

FEW_DIGITS = 100
"""The same for values that are put in for letters, of which the functions of them may be slow to compute."""

LARGEST = 1 << 20
"""Bits of a power or factorial that is computed. Our choice: a fraction of a second."""


def worker(memory: int) -> Callable[..., bool | None]:
    """`decide` for a process of its own, which may take so many bytes more, and is silent."""
    warnings.simplefilter("ignore")
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    before = _memory()
    if before:
        import resource

        limit = (before + memory, resource.getrlimit(resource.RLIMIT_AS)[1])
        resource.setrlimit(resource.RLIMIT_AS, limit)

    def decided(*arguments: Any) -> bool | None:
        if (
            _memory() > before + memory // 2
        ):  # of what the parser remembers of many texts: let another take over
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


def decide(prediction: str | None, truth: str, absolute: float = 0.0, relative: float = 0.0) -> bool | None:
    """Whether two `latex.normal_form` are equal; ``None`` where the truth cannot be read."""
    tolerance = (absolute, relative)
    if prediction is not None and same_text(prediction, truth):
        return True
    if ELLIPSIS in truth:  # only the same text is known to go on alike
        return False
    expected = read(truth)
    if expected is None:
        return None
    if prediction is not None and _unread(prediction) != _unread(truth):
        return False
    answer = None if prediction is None or ELLIPSIS in prediction else read(prediction)
    if answer is None:
        return False
    if max(_bits(answer), _bits(expected)) > LARGEST:
        return bool(answer == expected)
    try:
        verdict = _compare(answer, expected, tolerance)
    except Exception:  # whatever sympy raises where it is asked for what it cannot do
        verdict = None
    return _held_equal(answer, expected) if verdict is None else verdict


_UNREAD = re.compile(
    r"""(?<![A-Za-z0-9_.])([0-9.]+)\s*_\s*(\{[^{}]*\}|\\[A-Za-z]+|[A-Za-z0-9])  # 101_2
    | \^\s*(\{\s*)?(T|\\top|\\intercal)(?![A-Za-z])\s*(?(3)\})  # a transpose
    | (?<=[0-9])\s*('+|\^\s*\{?\s*\\prime(?![A-Za-z]))""",  # feet or minutes
    re.VERBOSE,
)


def _unread(text: str) -> set[str]:
    r"""What the parser leaves out of a normal form though it tells two apart, as in ``101_2`` and ``A^T``."""
    return {re.sub(r"[{}\s]", "", found[0]) for found in _UNREAD.finditer(text)}


def _held_equal(a: Any, b: Any) -> bool:
    """math-verify's verdict in both directions, without its timer: this process has one."""
    return all(verify(*pair, allow_set_relation_comp=True, timeout_seconds=None) for pair in ((a, b), (b, a)))


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


# Structures


def _compare(a: Any, b: Any, tolerance: Tolerance) -> Verdict:
    def same(x: Any, y: Any) -> Verdict:
        return _compare(x, y, tolerance)

    a, b = _value(a, b), _value(b, a)
    if _is_relation(a) and _is_relation(b):
        return _relations(a, b, same)
    if _is_relation(a) or _is_relation(b):  # -2 < x < 2 is an interval, not the pair that this may look like
        return False if any(isinstance(side, Tuple | sympy.FiniteSet) for side in (a, b)) else None
    if isinstance(a, Expr) and isinstance(b, Expr):
        return _scalars(a, b, tolerance)
    if isinstance(a, Interval) and isinstance(b, Interval):
        open_alike = (a.left_open, a.right_open) == (b.left_open, b.right_open)
        return _all([same(a.start, b.start), same(a.end, b.end)]) if open_alike else None
    if isinstance(a, sympy.MatrixBase) and isinstance(b, sympy.MatrixBase):
        return _all(map(same, a, b)) if a.shape == b.shape else None
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return _all(map(same, a, b)) if len(a) == len(b) else None
    verdict = _matched(_elements(a), _elements(b), same)
    both_sets = isinstance(a, sympy.FiniteSet) and isinstance(b, sympy.FiniteSet)
    return verdict if both_sets or verdict is False else None


def _all(verdicts: Iterable[Verdict]) -> Verdict:
    found = list(verdicts)
    return False if False in found else None if None in found else True


def _any(verdicts: Iterable[Verdict]) -> Verdict:
    found = list(verdicts)
    return True if True in found else None if None in found else False


def _matched(a: Sequence[Any], b: Sequence[Any], same: Same) -> Verdict:
    """Whether each element has its like on the other side, in any order."""
    if not a or not b:
        return None
    table = [[same(x, y) for y in b] for x in a]
    return _all([_any(row) for row in (*table, *zip(*table, strict=True))])


def _elements(a: Any) -> Sequence[Any]:
    """Of a tuple, a set, or an interval that may be meant as a pair; a number is its own."""
    if isinstance(a, Interval):
        return (a.start, a.end) if a.left_open and a.right_open else ()
    return tuple(a.args) if isinstance(a, Tuple | sympy.FiniteSet) else (a,) if isinstance(a, Expr) else ()


# Relations


def _is_relation(a: Any) -> bool:
    return isinstance(a, Relational) or (isinstance(a, And) and all(map(_is_relation, parts_of(a))))


def _chain(a: Any) -> Sequence[Any]:
    return parts_of(a) if isinstance(a, And) else (a,)


def _value(a: Any, other: Any) -> Any:
    """5 for ``x=5`` beside what is no equation, and for ``2+3=5``; ``x=5`` for ``x=2+3=5``."""
    if not _is_relation(a) or not all(isinstance(part, Eq) for part in _chain(a)):
        return a
    first, last = _chain(a)[0].lhs, _chain(a)[-1].rhs
    if isinstance(first, AppliedUndef) or is_expr_of_only_symbols(first):
        return Eq(first, last, evaluate=False) if isinstance(_chain(other)[-1], Eq) else last
    computed = isinstance(first, Expr) and not first.free_symbols and _compare(first, last, EXACT)
    return last if computed else a


def _relations(a: Any, b: Any, same: Same) -> Verdict:
    def alike(x: Any, y: Any) -> Verdict:
        return _relation(x, y, same)

    return _matched(_chain(a), _chain(b), alike) if len(_chain(a)) == len(_chain(b)) else None


def _relation(a: Any, b: Any, same: Same) -> Verdict:
    """Whether two relations say the same: of one name, or by differences that are proportional."""
    a, b = (side.reversed if isinstance(side, sympy.Gt | sympy.Ge) else side for side in (a, b))
    if a.func != b.func:
        return None
    for name, said, other_name, other_said in ((*a.args, *b.args), (*a.args[::-1], *b.args[::-1])):
        if name == other_name and isinstance(name, Symbol | AppliedUndef) and not said.has(name):
            return same(said, other_said)
    if not all(isinstance(side, Expr) for side in (*a.args, *b.args)):
        return None
    if not a.free_symbols and not b.free_symbols:
        return _all(map(same, a.args, b.args))
    x, y = _plain(a.lhs - a.rhs), _plain(b.lhs - b.rhs)
    factor = _factor(x, y)
    if factor is not None:
        return True if isinstance(a, Eq | sympy.Ne) or factor.is_positive else None
    return False if _solutions_differ(x, y) else None


def _factor(x: Expr, y: Expr) -> Expr | None:
    """The constant c of x = c y that is not 0, where there is one."""
    values, others = _points(x, y)
    above, below = x.subs(values), y.subs(values)
    if not (above.is_finite and below.is_finite) or _constants(above, sympy.S.Zero) is not False:
        return None
    if _constants(below, sympy.S.Zero) is not False:
        return None
    factor = above / below
    if _constants(x.subs(others), factor * y.subs(others)) is False:
        return None
    return factor if sympy.expand(x - factor * y) == 0 else None


def _solutions_differ(x: Expr, y: Expr) -> bool:
    """Whether x = 0 and y = 0 are proven to have different solutions."""
    values = _points(x, y)[0]
    for name in values:
        point = {other: value for other, value in values.items() if other != name}
        fractions = [sympy.fraction(sympy.together(side.subs(point))) for side in (x, y)]
        if not all(above.is_polynomial(name) for above, _ in fractions):
            continue
        a, b = (Poly(above, name) for above, _ in fractions)
        if a.degree() == b.degree() == 1:
            roots = [-side.nth(0) / side.nth(1) for side in (a, b)]
            return _constants(*roots) is False
        if all(side.domain in (sympy.ZZ, sympy.QQ) and not side.is_zero for side in (a, b)):
            return _roots_differ(a.sqf_part(), b.sqf_part())
    return False


def _roots_differ(a: Poly, b: Poly) -> bool:
    """Of two polynomials without multiple roots: their real roots, or where neither has any, all."""
    common = a.gcd(b)
    alone = [side.quo(common) for side in (a, b)]
    if a.count_roots() or b.count_roots():
        return any(side.count_roots() for side in alone)
    return any(side.degree() > 0 for side in alone)


# Scalars


def _scalars(a: Expr, b: Expr, tolerance: Tolerance) -> Verdict:
    if a == b and not a.has(sympy.nan, sympy.zoo):
        return True
    percent_a, percent_b = _percent(a), _percent(b)
    if percent_a is not None and percent_b is not None:
        return _scalars(percent_a, percent_b, tolerance)
    if percent_a is not None or percent_b is not None:  # 50% is 0.5, and to math-verify it is 50 too
        both = ((a if percent_a is None else percent_a), (b if percent_b is None else percent_b))
        hundredth = _scalars(_plain(a), _plain(b), tolerance)
        return None if hundredth is not True and _scalars(*both, EXACT) is not False else hundredth
    x, y = _plain(a), _plain(b)
    if not x.free_symbols and not y.free_symbols:
        verdict = _constants(x, y, tolerance, DIGITS)
        if verdict is None and not _held_equal(a, b) and (x - y).equals(0):
            return True  # alike to all digits and proven: a false difference
        return verdict
    if any(_constants(x.subs(values), y.subs(values)) is False for values in _points(x, y)):
        return False
    difference = sympy.expand(x - y)
    if difference.has(sympy.factorial, sympy.binomial):
        difference = sympy.combsimp(difference)
    return True if difference == 0 else None


def _percent(a: Expr) -> Expr | None:
    """The number before the percent sign."""
    is_percent = isinstance(a, Mul) and len(a.args) == 2 and a.args[1] == UnevaluatedExpr(Rational(1, 100))
    return a.args[0] if is_percent else None


def _plain(a: Expr) -> Expr:
    """Computed as far as that is exact; a letter is the same in every text, and f(2) a name as it is."""
    computed = a.doit()
    names = {symbol: Symbol(symbol.name) for symbol in computed.free_symbols}
    return computed.xreplace(names | {value: Symbol(str(value)) for value in computed.atoms(AppliedUndef)})


def _points(x: Expr, y: Expr) -> list[dict[Symbol, Rational]]:
    """Values for the letters in them: above 1 and below. Positive, as laws of roots and logarithms want."""
    names = sorted(x.free_symbols | y.free_symbols, key=str)
    return [
        {name: Rational(10 * place + 23, 7) for place, name in enumerate(names)},
        {name: Rational(5, 10 * place + 17) for place, name in enumerate(names)},
    ]


def _constants(x: Expr, y: Expr, tolerance: Tolerance = EXACT, digits: int = FEW_DIGITS) -> Verdict:
    """Of two exact numbers: by their difference, to so many digits of it."""
    if x.has(sympy.nan, sympy.zoo, sympy.oo) or y.has(sympy.nan, sympy.zoo, sympy.oo):
        return True if x == y and not x.has(sympy.nan, sympy.zoo) else None
    difference = x - y
    if difference == 0 or (any(tolerance) and _near(x, y, tolerance)):
        return True
    if isinstance(difference, Rational):
        return False
    try:
        value = difference.evalf(30, maxn=digits, strict=True)  # at fewer sympy may give up
    except PrecisionExhausted:
        return None
    return False if value.is_number and value.is_finite and value != 0 else None


def _near(x: Expr, y: Expr, tolerance: Tolerance) -> bool:
    absolute, relative = (Rational(repr(float(share))) for share in tolerance)
    if not (x.is_real and y.is_real):
        return False
    if not (isinstance(x, Rational) and isinstance(y, Rational)):
        x, y = x.evalf(60), y.evalf(60)
    return bool(abs(x - y) <= max(absolute, relative * max(abs(x), abs(y))))
