"""LaTeX -> sympy, by the parser of math-verify, with its readings that are wrong put right.

Runs in the worker process of `math_equal`, which bounds its time and memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
from math_verify.grader import should_treat_as_complex
from sympy import Rational

# without its search for an expression in a text, its folding of case and its list of
# units
_NORMALIZATION = NormalizationConfig(
    units=False, malformed_operators=True, nits=True, boxed="none"
)
_CONVERSION = ConversionConfig(lowercase_symbols=False)


_MISREAD: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"(?<=[A-Za-z)}])('+)",
            lambda match: f"_{{{'p' * len(match[1])}}}",
        ),  # a prime
        (
            r"(?<=[\w)}])\^\s*\{?\s*(?:T|\\top|\\intercal)(?![A-Za-z])\s*\}?",
            "_{T}",
        ),  # a transpose
        (r"(?<![\w.])(\d+)\s*_\s*\{?(\w+)\}?", r"\\text{\1base\2}"),
        (r"(?<=\d)\s*'+", r"\\text{feet}"),
        (r"(\d+(?:\.\d+)?)\s*\^\\circ", r"(\\frac{\1 \\pi}{180})"),
        (
            r"\\(Gamma|gamma)(?![A-Za-z])(?!\s*[({])",
            r"\\text{greek\1}",
        ),  # Euler's constant to the parser
    )
]


@lru_cache(maxsize=256)
def read(text: str) -> Any:
    """What the parser of math-verify reads, with decimals as the fractions they are; ``None`` if nothing."""
    for pattern, replacement in _MISREAD:
        text = pattern.sub(replacement, text)
    text = normalize_latex(text, _NORMALIZATION)
    for mode in (
        PredictionMode.SLL,
        PredictionMode.LL,
    ):  # the first is fast, and reads most
        converter = _Converter(
            is_real=not should_treat_as_complex(text), config=_CONVERSION
        )
        converter.mode = mode
        try:
            found = converter.parse(text)
        except MemoryError:
            raise
        except Exception:  # of many kinds, its own and those of what it calls
            continue
        if not isinstance(found, sympy.Basic | sympy.MatrixBase):
            return None
        with sympy.evaluate(False):
            return found.xreplace(
                {
                    decimal: Rational(str(decimal))
                    for decimal in found.atoms(sympy.Float)
                }
            )
    return None


class _Converter(_Latex2Sympy):  # type: ignore[misc]
    """The parser of math-verify in a prediction mode of ANTLR."""

    mode = PredictionMode.LL

    def create_parser(self, text: str) -> Any:
        parser = super().create_parser(text)
        parser._interp.predictionMode = self.mode
        return parser
