r"""Mathematical text in one form of LaTeX, that numbers, lists and expressions are read from.

Text only, no sympy. Each rule is for a spelling that math-verify 0.9 does not read, or
misreads.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from rewardkit.primitives.extract.mathematics import CHINESE_FRACTION, boxes, joined
from rewardkit.primitives.verify.math.units import without_unit
from rewardkit.primitives.verify.numbers import PLAIN_SIGNS

LONGEST: Final = 2000
"""Characters of an expression; a longer one is not read. Our choice: far above any written answer."""

ELLIPSIS: Final = r"\ldots"
FUNCTIONS: Final = (
    "sqrt|exp|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|log|ln"
)


def normal_form(text: str) -> str:
    r"""The expression in `text`, without what wraps it, in spellings that math-verify reads; or "".

    >>> normal_form(r"$\boxed{\dfrac{9}{7}}$."), normal_form("-1 + exp(16)"), normal_form(r"\$1,000")
    ('\\frac{9}{7}', '-1 + e^{16}', '1000')
    """
    if not text.isascii():
        text = re.sub(CHINESE_FRACTION, _fraction, text)
        text = re.sub(r"[^\x00-\x7f]+", _ascii, text.translate(PLAIN_SIGNS))
    text = _unwrapped(_ELLIPSES.sub(r"\\ldots ", " ".join(text.split())))
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    while text != (braced := _PARENTHESES.sub(r"\1{\2}", text)):
        text = braced
    value, factor = without_unit(re.sub(r"\\exp\s*(?=\{)", "e^", text))
    return (
        _THOUSANDS.sub(lambda found: re.sub("[, ]", "", found[0]), value.strip())
        + factor
    )


def _fraction(spoken: re.Match[str]) -> str:
    """The LaTeX of a Chinese fraction; one of hundredths is percent."""
    whole, below, above = (_numeral(part) if part else "" for part in spoken.groups())
    return (
        rf"{above}\%"
        if spoken[2] == "百" and not whole
        else rf"{whole}\frac{{{above}}}{{{below}}}"
    )


def _numeral(text: str) -> str:
    """The digits of a number below a thousand that is written in Chinese, or in digits."""
    total = digit = 0
    for value in map(int, map(unicodedata.numeric, text)):
        total, digit = (
            (total + (digit or 1) * value, 0)
            if value >= 10
            else (total, digit * 10 + value)
        )
    return str(total + digit)


_SYMBOLS = {  # those that math-verify does not know
    **dict.fromkeys("…⋯", r"\ldots "),
    **dict.fromkeys("€£¥₹", ""),  # as it treats the dollar
    **dict.fromkeys("°º˚", r"^\circ "),
    **{"∞": r"\infty ", "∈": r"\in ", "、": ", ", "∶": ":"},
}
_FORMS = {
    "<super>": "^{%s}",
    "<sub>": "_{%s}",
    "<wide>": "%s",
    "<narrow>": "%s",
    "<font>": "%s",
}


def _ascii(run: re.Match[str]) -> str:
    """Characters that are not ASCII as LaTeX has them; those that it has not are left."""
    return "".join(map(_ascii_character, run[0])).replace("}^{", "").replace("}_{", "")


def _ascii_character(character: str) -> str:
    form = _FORMS.get(unicodedata.decomposition(character).partition(" ")[0])
    if character in _SYMBOLS:
        return _SYMBOLS[character]
    if form:
        return form % unicodedata.normalize("NFKC", character).replace("\u2212", "-")
    return (
        " " if character.isspace() else str(unicodedata.decimal(character, character))
    )


_FORMULA = re.compile(  # a currency sign is none: no digit stands behind a formula
    r"(?:\$\$((?:[^$\\]|\\.)*)\$\$|\$((?:[^$\\]|\\.)*)\$(?!\d)"
    r"|\\\(((?:[^\\]|\\[^()])*)\\\)|\\\[((?:[^\\]|\\[^\[\]])*)\\\])(\s*\\?%)?",
    re.DOTALL,
)
_GOES_ON = re.compile(r"[\s,;$]*(?:and|or)\s+\S*\d")
_BEHIND = re.compile(r"(?:\\\\|\\[,;:! ]|[.,;:\s\u3002])+$")
_WRAPPINGS = [  # the last group is what is in them
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?:=|~|\\(?:approx|therefore|implies)(?![A-Za-z]))\s*(.*)",
        r"\*\*(.+)\*\*",
        r"([\"'`])([^\"'`]+)\1",
        r"\\(?:displaystyle|textstyle|small|large|Large|huge|bf|rm)(?![A-Za-z])(.*)",
        r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|boldsymbol|bm|mbox)\s*\{([^A-Za-z\\{}]*)\}",
        r"\{((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*\})*+\})*+)\}",
    )
]


def _unwrapped(text: str) -> str:
    """Without math delimiters, the one box, what announces an answer, and punctuation behind it."""
    before = None
    while text != before:
        before = text
        text = _BEHIND.sub("", text.strip())
        for pattern in _WRAPPINGS:
            if match := pattern.fullmatch(text):
                text = match[match.lastindex or 0]
        text = _picked(text)
    return text.replace(r"\$", "").replace("$", "").strip()


def _picked(text: str) -> str:
    r"""What is in the last ``\boxed{}`` or formula and those joined to it."""
    pieces = {box.outer: text[slice(*box.inner)] for box in boxes(text)} or {
        match.span(): "".join(part or "" for part in match.groups())
        for match in _FORMULA.finditer(text)
    }
    if not pieces:
        return text
    picked = joined(text, list(pieces))
    if _GOES_ON.match(text, picked[-1][1]):  # two answers are not one of them
        return text
    return ", ".join(dict.fromkeys(pieces[span] for span in picked))


def _recurring(match: re.Match[str]) -> str:
    whole, once, again = match.groups()[:3]
    above = int(whole + once + again) - int(whole + once or 0)
    return rf"\frac{{{above}}}{{{(10 ** len(again) - 1) * 10 ** len(once)}}}"


_ELLIPSES = re.compile(r"\\[lc]?dots[bcmio]?(?![A-Za-z])|\.\.\.")
_FLAT = r"(?:[^{}]|\{[^{}]*\})*?"
_TEXT_COMMAND = r"\\(?:text|mathrm|mathit|mathbf|mathsf|mbox|textrm|operatorname)"
_SPELLINGS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:left|right)(?=\s*(?:[()\[\]|]|\\[{}|]))\s*|\\!\s*", ""),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\(le|ge|ne)q(?![A-Za-z])", r"\\\1"),
        (r"\{\s*\\rm\s+([^{}]*)\}", r"\\mathrm{\1}"),
        (
            rf"{_TEXT_COMMAND}\s*\{{\s*(e|i|\\pi)\s*\}}",
            r" \1 ",
        ),  # \mathrm{e} is a name to math-verify
        (
            r"[({]\s+|\s+(?=[)}])",
            lambda match: match[0].strip(),
        ),  # it cannot read \frac{1}{ e }
        (r"(?<=\d)(?:\{,\}|\\[, ])(?=\d{3}(?!\d))", ""),  # 1\,000 and 1{,}000
        (r"~|\\(?:q?quad|enspace|thinspace)(?![A-Za-z])|(?<!\\)\\[,;: ]", " "),
        (r"\\varnothing(?![A-Za-z])", r"\\emptyset"),
        (r"\\langle(?![A-Za-z])", "("),
        (r"\\rangle(?![A-Za-z])", ")"),
        (rf"\s*(?:{_TEXT_COMMAND}\s*\{{\s*\\?%\s*\}}|\\?%)", r"\\%"),
        (
            r"(?:\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree(?![A-Za-z]))\s*(?:[CF](?![A-Za-z]))?",
            r"^\\circ ",
        ),
        (
            r"\^\s*\{?(?:\s*\\prime(?![A-Za-z]))+\s*\}?",
            lambda match: "'" * match[0].count("prime"),
        ),
        (r":=", "="),
        (
            rf"(?:^|\{{)({_FLAT})\s*\\choose(?![A-Za-z])\s*({_FLAT})(?:\}}|$)",
            r"\\binom{\1}{\2}",
        ),
        (rf"\^\s*\{{?\s*{_TEXT_COMMAND}\s*\{{\s*(?:st|nd|rd|th)\s*\}}\s*\}}?", ""),
        (r"(?<=\d)\s*万", r" \\times 10^{4}"),
        (r"(?<=\d)\s*亿", r" \\times 10^{8}"),
        (
            r"(?<=[\d}%π])\s*(?:平方|立方)?(?:千米|厘米|毫米|千克|公里|公斤|小时|分钟|[元米克天岁个只人本页度次种])$",
            "",
        ),
        (
            r"^[-+]?\d{1,3}(?:\.\d{3})+,\d+(?=\s*[A-Za-z\\]|$)",
            lambda match: match[0].replace(".", "").replace(",", "."),
        ),
        # 0.1666..., 0.1\overline{6}
        (
            r"(?<![\w.}])(\d{0,100})\.(\d{0,100}?)(\d{2,6}|(\d)(?=\4\4))\3+\s*\\ldots$",
            _recurring,
        ),
        (
            r"(?<![\w.}])(\d{0,100})\.(\d{0,100})\\overline\s*\{\s*(\d{1,100})\s*\}",
            _recurring,
        ),
        # 6.02e23, but not the 2e3 of 2e3x
        (
            r"(?<![\w.\\])(\d+\.?\d*|\.\d+)[eE]([+-]?\d{1,6})(?![\w.])",
            r"(\1 \\times 10^{\2})",
        ),
        (r"\*\*", "^"),
        (r"(?<![A-Za-z\\])[Pp]i(?![A-Za-z])", r"\\pi "),
        (r"(?<![A-Za-z\\])(?:infinity|inf|oo)(?![A-Za-z])", r"\\infty "),
        (r"(?:√|(?<![A-Za-z\\])sqrt)\s*(\d[\d.]*)", r"\\sqrt{\1}"),
        (r"√", r"\\sqrt "),
        (
            rf"(?<![A-Za-z\\])({FUNCTIONS})(?![A-Za-z])(?=\s*[\d({{\\_^]|\s+[A-Za-z](?![A-Za-z]))",
            r"\\\1",
        ),
        (r"\^\s*([+-]\s*(?:\d+(?:\.\d+)?|[A-Za-z]))(?![\w.])", r"^{\1}"),
    )
]
_PARENTHESES = re.compile(  # x^(1/2), \sqrt(2) and \exp(16)
    r"(\\sqrt\s*(?:\[[^\[\]]*\])?|\\exp|\^)\s*\(((?:[^()]++|\((?:[^()]++|\([^()]*\))*+\))*+)\)"
)
_THOUSANDS = re.compile(r"^(?:[^,]*=\s*)?[+-]?\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?$")
