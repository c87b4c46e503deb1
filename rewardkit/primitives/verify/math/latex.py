r"""Mathematical text in one form of LaTeX: what `mathematics` reads numbers from and hands to math-verify.

Text only, no sympy. Each rule is for a spelling that math-verify 0.9 does not read, or misreads.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from rewardkit.primitives.extract.mathematics import boxes, joined
from rewardkit.primitives.verify.math.units import TEXT, without_unit

__all__ = ["ELLIPSIS", "LONGEST", "normal_form", "same_text", "split", "words"]

LONGEST: Final = 2000
"""Characters of an expression; a longer one is not read. Our choice: far above any written answer."""

ELLIPSIS: Final = r"\ldots"

_SYMBOLS = {  # those that math-verify does not know
    **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\ufe63", "-"),
    **dict.fromkeys("…⋯", r"\ldots "),
    **dict.fromkeys("€£¥₹", ""),  # as it treats the dollar
    **dict.fromkeys("°º˚", r"^\circ "),
    **dict.fromkeys("≔≝", "="),
    **{"⁄": "/", "·": r"\cdot ", "√": r"\surd ", "∞": r"\infty ", "∈": r"\in "},
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
    text = _unwrapped(_ELLIPSES.sub(r"\\ldots ", " ".join(text.split()))).replace(r"\$", "").strip()
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    value, factor = without_unit(_braced(text))
    return _thousands(value) + factor or None


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


_FORMULA = re.compile(  # a currency sign is none: no digit stands behind a formula
    r"(?:\$\$((?:[^$\\]|\\.)*)\$\$|\$((?:[^$\\]|\\.)*)\$(?!\d)"
    r"|\\\(((?:[^\\]|\\[^()])*)\\\)|\\\[((?:[^\\]|\\[^\[\]])*)\\\])(\s*\\?%)?",
    re.DOTALL,
)
_GOES_ON = re.compile(r"[\s,;$]*(?:and|or)\s+\S*\d")
_WRAPPINGS = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"\*\*(.+)\*\*",
        r"'([^']+)'",
        r"`([^`]+)`",
        r'"([^"]+)"',
        r"\\(?:displaystyle|textstyle|small|large|Large|huge|bf|rm)(?![A-Za-z])(.*)",
        r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|boldsymbol|bm|mbox)\s*\{([^A-Za-z\\{}]*)\}",
    )
]
_BEFORE = re.compile(
    r"(?:(?:the\s+)?(?:final\s+)?answer\s*(?:is(?![A-Za-z])|:)\s*:?|=|\\(?:approx|therefore|implies)(?![A-Za-z]))\s*",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?:\\\\|\\[,;:! ]|[.,;:\s\u3002])+$")
_ALIGNED = re.compile(
    r"\\begin\{(aligned|align|gathered|gather|equation|split)\*?\}((?:[^\\]|\\(?!begin|end))*)\\end\{\1\*?\}"
)


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
        if match := _ALIGNED.fullmatch(text):  # a line that starts with a relation goes on, others list
            lines = re.sub(r"\\\\\s*&?\s*(?=[=<>]|\\[lg]eq?(?![A-Za-z]))", " ", match[2])
            text = lines.replace(r"\\", ",").replace("&", " ")
        text = _picked(text)
    if text.count("$") == 1 and not text.endswith("$"):  # a currency sign
        text = text.replace("$", r"\$").replace(r"\\$", r"\$")
    return text


def _picked(text: str) -> str:
    r"""What is in the last ``\boxed{}`` or formula and those joined to it, or in braces around all."""
    pieces = {box.outer: text[slice(*box.inner)] for box in boxes(text)} or {
        match.span(): "".join(part or "" for part in match.groups()) for match in _FORMULA.finditer(text)
    }
    if pieces:
        picked = joined(text, list(pieces))
        if _GOES_ON.match(text, picked[-1][1]):  # two answers are not one of them
            return text
        return ", ".join(dict.fromkeys(pieces[span] for span in picked))
    if text.startswith("{") and _closing(text, 0) == len(text) - 1:
        return text[1:-1]
    return text


def _closing(text: str, start: int) -> int | None:
    """Where the brace at `start` is closed."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None


def _binomial(match: re.Match[str]) -> str:
    above, below = (match[1] or match[3] or "", match[2] or match[4] or "")
    return rf"\binom{{{above.strip()}}}{{{below.strip()}}}"


def _recurring(match: re.Match[str]) -> str:
    whole, once, again = match.groups()[:3]
    above = int(whole + once + again) - int(whole + once or 0)
    return rf"\frac{{{above}}}{{{(10 ** len(again) - 1) * 10 ** len(once)}}}"


_FUNCTIONS = "sqrt|exp|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|log|ln"
_ELLIPSES = re.compile(r"\\[lc]?dots[bcmio]?(?![A-Za-z])|\.\.\.")
_FLAT = r"(?:[^{}]|\{[^{}]*\})*?"
_LETTER = r"(?:text|mathrm|mathit|mathbf|mathsf|textrm|operatorname|rm)"
_SPELLINGS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:left|right)(?=\s*(?:[()\[\]|]|\\[{}|]))\s*", ""),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\(le|ge|ne)q(?![A-Za-z])", r"\\\1"),
        # \mathrm{e} is a name to math-verify
        (rf"\\{_LETTER}\s*\{{\s*(e|i|\\pi)\s*\}}|\{{\s*\\rm\s+(e|i)\s*\}}", r" \1\2 "),
        (r"\{\s*\\rm\s+([^{}]*)\}", r"\\mathrm{\1}"),
        (r"[({]\s+|\s+(?=[)}])", lambda match: match[0].strip()),  # math-verify cannot read \frac{1}{ e }
        # 1\,000 and 1{,}000
        (r"(?<=\d)(?:\{,\}|\\[, ])(?=\d{3}(?!\d))", ""),
        (r"^~", r"\\sim "),  # about, and no space
        (r"~|\\(?:q?quad|enspace|thinspace)(?![A-Za-z])|(?<!\\)\\[,;: ]", " "),
        (r"\\varnothing(?![A-Za-z])", r"\\emptyset"),
        (r"\\(?:text|mathrm|mbox)\s*\{\s*\\?%\s*\}", r"\\%"),
        (r"\\degree(?![A-Za-z])", r"^\\circ "),
        (r"\^\s*(?:\{\s*\\circ\s*\}|\\circ)\s*(?:[CF](?![A-Za-z]))?", r"^\\circ "),
        (r":=|\\coloneqq(?![A-Za-z])", "="),
        (
            rf"\{{({_FLAT})\\choose(?![A-Za-z])({_FLAT})\}}|^({_FLAT})\\choose(?![A-Za-z])({_FLAT})$",
            _binomial,
        ),
        (rf"\^\s*\{{?\s*\\{_LETTER}\s*\{{\s*(?:st|nd|rd|th)\s*\}}\s*\}}?", ""),
        # 0.1666...
        (r"(?<![\w.}])(\d{0,100})\.(\d{0,100}?)(\d{2,6}|(\d)(?=\4\4))\3+\s*\\ldots$", _recurring),
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


_TEXT = re.compile(TEXT)
_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|[\s.;:?'\"])*")
_SENTENCE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,}(?:,? [A-Za-z]{2,}){2}")
_TWO_LETTERS = frozenset(("no", "ok"))


def words(text: str) -> str | None:
    r"""The words of a normal form of words, or of a sentence, as they are compared.

    Case counts in one letter or two, which are names more often than words. ``None`` for what is to be read
    as mathematics, and for the letters that may be numbers.

    >>> words(r"\text{No solution}"), words("x y"), words("It is not 5, but 7"), words("2x"), words("e")
    ('no solution', 'xy', 'it is not 5, but 7', None, None)
    """
    plain = " ".join(_TEXT.sub(r"\1", text).split())
    if plain in ("e", "i"):
        return None
    if not _WORDS.fullmatch(plain):
        return plain.casefold() if _SENTENCE.search(_TEXT.sub(" ", text)) else None
    if not re.search(r"[^\W\d_]{2}", plain):  # x y is xy
        return plain.replace(" ", "")
    plain = plain.strip(" .;:?")
    return plain if len(plain) < 3 and plain.lower() not in _TWO_LETTERS else plain.casefold()


def split(text: str, pattern: re.Pattern[str]) -> list[str]:
    """`text` before and between the places of a pattern that are in no bracket.

    >>> split("a, f(b, c)", re.compile(","))
    ['a', 'f(b, c)']
    """
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if depth == 0 and place >= start and (match := pattern.match(text, place)):
            parts.append(text[start:place].strip())
            start = match.end()
    return [*parts, text[start:].strip()]
