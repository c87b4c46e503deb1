"""LaTeX -> sympy, by the parser of math-verify, with its readings that are wrong put right.

Runs in the worker process of `mathematics`, which bounds its time and memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import sympy
from antlr4.atn.PredictionMode import PredictionMode
from latex2sympy2_extended.latex2sympy2 import (
    ConversionConfig,
    NormalizationConfig,
    _Latex2Sympy,
    normalize_latex,
)
from latex2sympy2_extended.sets import FiniteSet
from math_verify.grader import should_treat_as_complex
from sympy import Eq, Rational, Symbol

from rewardkit.primitives.verify.math.latex import split

__all__ = ["parts_of", "read"]

_EQUALS, _LISTS = re.compile("="), re.compile("[,;]|(?<![A-Za-z])(?:and|or)(?![A-Za-z])")
_NAME = re.compile(r"\\?[A-Za-z]+\s*(?:\(.*\)|\[.*\])")


@lru_cache(maxsize=256)
def read(text: str) -> Any:
    """What the parser of math-verify reads, with decimals as the fractions they are; ``None`` if nothing.

    A name that it cannot read is one: in ``P(X=1)=0.5`` as in ``P(A|B)=0.5``.
    """
    found = _parsed(text)
    if found is None:
        name, *others = split(text, _EQUALS) if len(split(text, _LISTS)) == 1 else (text,)
        value = _parsed(others[-1]) if others and _NAME.fullmatch(name) else None
        found = None if value is None else Eq(Symbol("".join(name.split())), value, evaluate=False)
    return found


_NORMALIZATION = NormalizationConfig(units=False, malformed_operators=True, nits=True, boxed="none")
_CONVERSION = ConversionConfig(lowercase_symbols=False)
_PRIMES = re.compile(r"(?<=[A-Za-z)}])('+|\^\s*(?:\{(?:\\prime\s*)+\}|\\prime(?![A-Za-z])))")
_GAMMA = re.compile(r"\\(Gamma|gamma)(?![A-Za-z])(?!\s*[({])")


def _parsed(text: str) -> Any:
    """Without math-verify's search for an expression in a text, its folding of case and its list of units."""
    text = _PRIMES.sub(lambda match: r"_{%s}" % ("p" * (match[0].count("'") or match[0].count("p"))), text)
    text = _GAMMA.sub(r"\\text{greek\1}", text)  # which is Euler's constant to the parser
    text = normalize_latex(text, _NORMALIZATION)
    for mode in (PredictionMode.SLL, PredictionMode.LL):  # the first is fast, and reads most
        converter = _Converter(is_real=not should_treat_as_complex(text), config=_CONVERSION)
        converter.mode = mode
        try:
            found = converter.parse(text)
        except MemoryError:
            raise
        except Exception:  # of many kinds, its own and those of what it calls
            continue
        return _exact(found) if isinstance(found, sympy.Basic | sympy.MatrixBase) else None
    return None


class _Converter(_Latex2Sympy):  # type: ignore[misc]
    """The parser of math-verify in a prediction mode of ANTLR."""

    mode = PredictionMode.LL

    def create_parser(self, text: str) -> Any:
        parser = super().create_parser(text)
        parser._interp.predictionMode = self.mode
        return parser


def _exact(node: Any) -> Any:
    if isinstance(node, sympy.Float):
        return Rational(str(node))
    if not node.has(sympy.Float):
        return node
    if isinstance(node, sympy.MatrixBase):
        return node.applyfunc(_exact)
    parts = [_exact(part) for part in parts_of(node)]
    if isinstance(node, FiniteSet):  # it keeps the order in which it is written
        return type(node)(*parts)
    with sympy.evaluate(False):
        return node.func(*parts)


def parts_of(node: Any) -> Sequence[Any]:
    """Its arguments in the order they are written in, where math-verify keeps it."""
    return getattr(node, "_unsorted_args", node.args)  # type: ignore[no-any-return]
