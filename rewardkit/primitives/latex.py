r"""Mathematical text in one form of LaTeX: what `mathematics` reads numbers from and hands to math-verify.

Text only, no sympy. Each rule is for a spelling that math-verify 0.9 does not read, or misreads.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

__all__ = ["ELLIPSIS", "LONGEST", "is_prose", "normal_form", "same_text", "split"]

LONGEST: Final = 2000
"""Characters of an expression; a longer one is not read. Our choice: far above any written answer."""

ELLIPSIS: Final = r"\ldots"

_SYMBOLS = {  # those that math-verify does not know
    **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\ufe63", "-"),
    **dict.fromkeys("…⋯", r"\ldots "),
    **dict.fromkeys("€£¥₹", ""),  # as it treats the dollar
    **{"⁄": "/", "·": r"\cdot ", "√": r"\surd ", "∞": r"\infty ", "°": r"^\circ ", "∈": r"\in "},
}


def normal_form(text: str) -> str | None:
    r"""The expression in `text`, without what wraps it, in spellings that math-verify reads.

    ``None`` where there is none: over `LONGEST` characters, or nothing but white space.

    >>> normal_form(r"$\boxed{\dfrac{9}{7}}$."), normal_form("-1 + exp(16)"), normal_form(r"\$1,000")
    ('\\frac{9}{7}', '-1 + e^{16}', '1000')
    """
    if len(text) > LONGEST:
        return None
    if not text.isascii():
        text = re.sub(r"[^\x00-\x7f]+", _ascii, text)
    text = _unwrapped(_ELLIPSES.sub(r"\\ldots ", " ".join(text.split())))
    if "$" in text.replace(r"\$", "") or r"\boxed" in text:
        return text  # several expressions, or one in a sentence: math-verify picks
    text = text.replace(r"\$", "").strip()
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return _thousands(_braced(text)) or None


def _ascii(run: re.Match[str]) -> str:
    """Characters that are not ASCII as LaTeX has them; those that it has not are left."""
    return "".join(map(_ascii_character, run[0])).replace("}^{", "").replace("}_{", "")


def _ascii_character(character: str) -> str:
    if character in _SYMBOLS:
        return _SYMBOLS[character]
    if character.isspace():
        return " "
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    kind = unicodedata.decomposition(character).partition(" ")[0]
    simple = unicodedata.normalize("NFKC", character).replace("\u2212", "-")
    if kind == "<super>":
        return f"^{{{simple}}}"
    if kind == "<sub>":
        return f"_{{{simple}}}"
    if kind == "<fraction>":
        return r"\frac{{{}}}{{{}}}".format(*simple.partition("\u2044")[::2])
    return simple if kind in ("<wide>", "<narrow>", "<font>") else character


_WRAPPINGS = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"\$\$((?:[^$\\]|\\.)*)\$\$",
        r"\$((?:[^$\\]|\\.)*)\$",
        r"\\\(((?:[^\\]|\\[^()])*)\\\)",
        r"\\\[((?:[^\\]|\\[^\[\]])*)\\\]",
        r"\*\*(.+)\*\*",
        r"\\(?:displaystyle|textstyle|small|large|Large|huge|bf|rm)(?![A-Za-z])(.*)",
        r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|boldsymbol|bm|mbox)\s*\{([^A-Za-z\\{}]*)\}",
    )
]
_BEFORE = re.compile(
    r"(?:(?:the\s+)?(?:final\s+)?answer\s*(?:is(?![A-Za-z])|:)\s*:?|=|\\(?:approx|therefore|implies)(?![A-Za-z]))\s*",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?:\\\\|\\[,;:! ]|[.,;:\s\u3002])+$")


def _unwrapped(text: str) -> str:
    """Without math delimiters, the one box, what announces an answer, and punctuation behind it."""
    before = None
    while text != before:
        before = text
        text = _BEHIND.sub("", text.strip())
        if match := _BEFORE.match(text):
            text = text[match.end() :]
        for pattern in _WRAPPINGS:
            if match := pattern.fullmatch(text):
                text = match[1]
        text = _boxed(text)
    if text.count("$") == 1 and not text.endswith("$"):  # a currency sign
        text = text.replace("$", r"\$").replace(r"\\$", r"\$")
    return text


def _boxed(text: str) -> str:
    r"""What is in the ``\boxed{}``, where there is one; or between braces around the whole text."""
    start = 0
    if boxes := re.findall(r"\\(?:boxed|fbox)\s*\{", text):
        if len(boxes) > 1:
            return text
        start = text.index(boxes[0]) + len(boxes[0]) - 1
    elif not text.startswith("{"):
        return text
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + 1 : place] if boxes or place == len(text) - 1 else text
    return text


def _recurring(match: re.Match[str]) -> str:
    whole, once, again = match.groups()
    above = int(whole + once + again) - int(whole + once or 0)
    return rf"\frac{{{above}}}{{{(10 ** len(again) - 1) * 10 ** len(once)}}}"


_FUNCTIONS = "sqrt|exp|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|log|ln"
_ELLIPSES = re.compile(r"\\[lc]?dots[bcmio]?(?![A-Za-z])|\.\.\.")
_LETTER = r"(?:text|mathrm|mathit|mathbf|mathsf|textrm|operatorname|rm)"
_SPELLINGS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:left|right)(?=\s*(?:[()\[\]|]|\\[{}|]))\s*", ""),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\(le|ge|ne)q(?![A-Za-z])", r"\\\1"),
        # \mathrm{e} is a letter, which math-verify cuts off as if it were a unit; so is any after an operator
        (rf"\\{_LETTER}\s*\{{\s*(e|i|\\pi)\s*\}}|\{{\s*\\rm\s+(e|i)\s*\}}", r" \1\2 "),
        (rf"(?<=[-+/*^=(])\s*\\{_LETTER}\s*\{{\s*([A-Za-z])\s*\}}", r" \1"),
        (r"[({]\s+|\s+(?=[)}])", lambda match: match[0].strip()),  # math-verify cannot read \frac{1}{ e }
        # 1\,000 and 1{,}000
        (r"(?<=\d)(?:\{,\}|\\[, ])(?=\d{3}(?!\d))", ""),
        (r"~|\\(?:q?quad|enspace|thinspace)(?![A-Za-z])|(?<!\\)\\[,;: ]", " "),
        (r"\\degree(?![A-Za-z])", r"^\\circ "),
        (rf"\^\s*\{{?\s*\\{_LETTER}\s*\{{\s*(?:st|nd|rd|th)\s*\}}\s*\}}?", ""),
        (r"^([-+]?\d+\.\d+)\s*\\ldots$", r"\1"),
        # 6.02e23, but not the 2e3 of 2e3x
        (r"(?<![\w.\\])(\d+\.?\d*|\.\d+)[eE]([+-]?\d{1,6})(?![\w.])", r"(\1 \\times 10^{\2})"),
        # 0.1\overline{6}
        (r"(?<![\w.}])(\d{0,100})\.(\d{0,100})\\overline\s*\{\s*(\d{1,100})\s*\}", _recurring),
        (r"\*\*", "^"),
        (r"(?<![A-Za-z\\])[Pp]i(?![A-Za-z])", r"\\pi "),
        (r"(?<![A-Za-z\\])(?:infinity|inf|oo)(?![A-Za-z])", r"\\infty "),
        (r"(?:\\surd|(?<![A-Za-z\\])sqrt)\s*(\d[\d.]*)", r"\\sqrt{\1}"),
        (r"\\surd(?![A-Za-z])", r"\\sqrt"),
        (rf"(?<![A-Za-z\\])({_FUNCTIONS})(?![A-Za-z])(?=\s*[\d({{\\_^]|\s+[A-Za-z](?![A-Za-z]))", r"\\\1"),
        (r"\^\s*([+-]\s*(?:\d+(?:\.\d+)?|[A-Za-z]))(?![\w.])", r"^{\1}"),
    )
]
_TAKES_ARGUMENT = re.compile(r"(?:\\sqrt\s*(?:\[[^\[\]]*\])?|\\exp|\^)\s*$")


def _braced(text: str) -> str:
    r"""``\sqrt(2)``, ``x^(1/2)`` and ``\exp(16)`` with braces for the parentheses that belong to them."""
    if "(" not in text:
        return text
    written: list[str] = []
    opened: list[bool] = []
    for place, character in enumerate(text):
        if character == "(":
            opened.append(bool(_TAKES_ARGUMENT.search(text, max(0, place - 20), place)))
            character = "{" if opened[-1] else character
        elif character == ")" and opened and opened.pop():
            character = "}"
        written.append(character)
    return re.sub(r"\\exp\s*\{", "e^{", "".join(written)) if not any(opened) else text


_THOUSANDS = re.compile(r"([^,]*=\s*)?([+-]?\d{1,3})((?:[, ]\d{3})+)(\.\d+)?")


def _thousands(text: str) -> str:
    """A whole number, or one behind an equals sign, without its separators; inside brackets they list."""
    text = text.strip()
    if match := _THOUSANDS.fullmatch(text):
        before, first, groups, decimals = match.groups(default="")
        return f"{before}{first}{re.sub('[, ]', '', groups)}{decimals}"
    return text


_IDLE_SPACE = re.compile(r"\s+(?![A-Za-z0-9])|(?<![A-Za-z0-9])\s+|(?<=[A-Za-z])\s+(?=\d)")


def same_text(a: str, b: str) -> bool:
    """Whether two normal forms differ at most in spaces that say nothing and braces around one character."""
    return a == b or _plainest(a) == _plainest(b)


def _plainest(text: str) -> str:
    return _IDLE_SPACE.sub("", re.sub(r"\{(\w)\}(?!\w)", r" \1", text))


def is_prose(text: str) -> bool:
    """Whether a normal form is of words only, which stand for no number."""
    return re.fullmatch(r"[A-Za-z\s,.;:?'\"]+", text) is not None


def split(text: str, pattern: re.Pattern[str]) -> list[str]:
    """`text` before and between the places of a one-character pattern that are in no bracket.

    >>> split("a, f(b, c)", re.compile(","))
    ['a', 'f(b, c)']
    """
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if depth == 0 and pattern.match(text, place):
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]
