"""Write mathematical text in a normal form of LaTeX, for numbers and expressions.

This is text work without sympy. Each rule is for a spelling that math-verify 0.9 does
not read, or misreads.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from rewardkit.primitives.extract.mathematics import (
    CHINESE_FRACTION,
    joined_to_last,
    names_before,
    outermost_boxes,
)
from rewardkit.primitives.verify.math.units import add_amounts, read_unit
from rewardkit.primitives.verify.numbers import PLAIN_SIGNS

DEGREES: Final = r"^\circ"

TEXT_COMMAND: Final = (
    r"\\(?:text|textbf|textit|textrm|textnormal|mathrm|mbox)"
    r"\s*\{((?:[^{}\\]|\\cdot|\^\{-?\d\})*)\}"
)
"""Pattern of words set as text, which are group 1."""

SET_AS_TEXT: Final = re.compile(TEXT_COMMAND)

MOST_UNITS = 5
"""Words of a unit, at most: "square feet per hour". Our choice: more are a sentence."""

_BARE_LETTERS = r"(?<![A-Za-z\\])([A-Za-z]++)"
_UNIT_POWER = r"(?:\^\s*(?:\{\s*-?\d\s*\}|-?\d))?"
_UNITS_BEHIND = re.compile(
    rf"""(?:(?<=[\d)}}!%π])|(?<=\\pi)) (?:\s*\^\\circ)?
    (?:[\s/]*+(?:{TEXT_COMMAND}|{_BARE_LETTERS}){_UNIT_POWER})*+ \s*$""",
    re.VERBOSE,
)
_CLOSING = re.compile(r"[\s~$}]*(?:\\[)\]]\s*)?")
_NUMBER_WORDS = {
    "dozen": r" \cdot 12",
    "hundred": r" \times 10^{2}",
    "thousand": r" \times 10^{3}",
    "million": r" \times 10^{6}",
    "billion": r" \times 10^{9}",
    "trillion": r" \times 10^{12}",
    **dict.fromkeys(("percent", "percentage", "pct"), r"\%"),
    **dict.fromkeys(("degree", "deg"), DEGREES),
}
_SHORT_UNITS = frozenset(
    "cm mm km kg in ft yd lb lbs oz gal qt tsp mph kph hr hrs min mins sec secs deg "
    "ml mL day yr cup men way per of the th st nd rd USD EUR GBP bit".split()
)
_LETTER_UNITS = frozenset("mshgdlLNJWVAKCFTHΩ")
NUMBER_WORDS = (
    r"zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)ieths?"
    r"|(?:hundred|thousand|milli(?:on|ard)|billi?on|trilli?on|lakh|crore|dozen|gross"
    r"|score|pair|couple|half|halve|third|quarter|fourth|fifth|sixth|seventh|eighth"
    r"|ninth|tenth|twelfth|double|triple|percent|permil|infinit)\w*"
)
"""Expression of the words of numbers, in lower case."""
# Words that change a value and so are no units.
_NO_UNIT = re.compile(
    rf"{NUMBER_WORDS}|(?:approx|root|factorial"
    r"|square[dr]|cube[dr])\w*|twice|thrice|fold|grand|basis|bps|pct|mille|divided"
    r"|multiplied|negative|wrong|incorrect|false|about|around|roughly|nearly|almost"
    r"|below|above|under|down|less|fewer|lower|or|and|nor|not|but|if|when|where"
    r"|because|since|is|are|plus|minus|times|over|mod|modulo|choose|than|least|most"
    r"|odd|even|(?:a|arc)?(?:sin|cos|tan|sec|csc|cot)h?|sqrt|log|exp|alpha|beta|gamma"
    r"|delta|epsilon|theta|lambda|sigma|omega|prime"
)


def mark_unit(text: str) -> tuple[str, str]:
    r"""Split a text into its value and the normal form of its factor and unit.

    A factor is a number word or a percent sign. A unit is text in ``\text{}``, a bare
    word of four letters, or a short known one. A single letter is a unit only in
    ``\text{}`` or beside such a word. Words that change the value are no unit. Degrees
    of an angle are a factor, as they are comparable to radians; degrees Celsius and
    Fahrenheit are units.

    >>> mark_unit(r"5\text{ cm}"), mark_unit("5 million apples")
    (('5', '\\unit{1/100|m^1}'), ('5', ' \\times 10^{6}\\unit{|apple}'))
    >>> mark_unit("5 or more")
    ('5 or more', '')
    """
    behind = _UNITS_BEHIND.search(text)
    if behind is None or not re.search(r"\d|\\pi", text[: behind.start()]):
        return text, ""
    unit = behind[0].replace(DEGREES, "")
    bare = re.findall(_BARE_LETTERS, SET_AS_TEXT.sub(" ", unit))
    plain = SET_AS_TEXT.sub(r" \1 ", unit).replace(r"\cdot", " ")
    words = re.findall(r"[^-\s/().,^{}\d]+", plain)
    factor = DEGREES if DEGREES in behind[0] else ""
    while words and words[0].lower().removesuffix("s") in _NUMBER_WORDS:
        word = words.pop(0)
        factor += _NUMBER_WORDS[word.lower().removesuffix("s")]
        unit = unit.partition(word)[2]
    is_named = any(len(word) > 1 and _is_unit(word, word in bare) for word in words)
    for word in words:
        if not _is_unit(word, word in bare and not is_named):
            return text, ""
    if len(words) > MOST_UNITS:
        return text, ""
    name = "" if r"\%" in factor else read_unit(unit)[0]
    if name.endswith(("celsius^1", "fahrenheit^1")):
        factor = factor.replace(DEGREES, "")
    if name:
        factor += rf"\unit{{{name}}}"
    return text[: behind.start()], factor


def unit_behind(text: str, end: int) -> str:
    r"""Return the known unit or percent sign behind a box or formula, or "".

    >>> unit_behind(r"$\boxed{5}$ cm wide", 10), unit_behind("$5$ wide", 3)
    ('\\text{ cm}', '')
    """
    closed = _CLOSING.match(text, end)
    start = closed.end() if closed else end
    if text.startswith(("%", r"\%"), start):
        return r"\%"
    name, stop = read_unit(text, start)
    unit = SET_AS_TEXT.sub(r"\1", text[start:stop])
    return rf"\text{{ {unit}}}" if name[:1].isdigit() else ""


def _is_unit(word: str, is_bare: bool) -> bool:
    if len(word) == 1:
        return not is_bare and word in _LETTER_UNITS
    if _NO_UNIT.fullmatch(word.lower()) or not word.isalpha():
        return False
    return not is_bare or len(word) >= 4 or word in _SHORT_UNITS


LONGEST_EXPRESSION: Final = 2000
"""Characters of an expression, at most. Our choice: far above any answer."""

ELLIPSIS: Final = r"\ldots"
FUNCTIONS: Final = (
    "sqrt|exp|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|log|ln"
)


def normal_latex(text: str) -> str:
    r"""Unwrap an expression and write it in the LaTeX that math-verify reads, or "".

    >>> normal_latex(r"$\boxed{\dfrac{9}{7}}$."), normal_latex("-1 + exp(16)")
    ('\\frac{9}{7}', '-1 + e^{16}')
    >>> normal_latex(r"\$1,000")
    '1000\\unit{1|dollar^1}'
    """
    if not text.isascii():
        text = re.sub(CHINESE_FRACTION, _read_chinese_fraction, text)
        text = re.sub(r"[^\x00-\x7f]+", _in_ascii, text.translate(PLAIN_SIGNS))
    text = " ".join(text.split())
    text = _unwrap(_ELLIPSES.sub(r"\\ldots ", text))
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    before = ""
    while text != before:
        before = text
        text = _PARENTHESES.sub(r"\1{\2}", text)
    text = re.sub(r"\\exp\s*(?=\{)", "e^", text)
    amount = add_amounts(text)
    if amount:
        return amount
    value, unit = mark_unit(text)
    value = value.strip()
    if _THOUSANDS.fullmatch(value):
        value = re.sub("[, ]", "", value)
    return value + unit


def _read_chinese_fraction(fraction: re.Match[str]) -> str:
    """Write a Chinese fraction in LaTeX, one of hundredths as a percentage."""
    integer, below, above = map(_read_chinese_number, fraction.groups(default=""))
    if fraction[2] == "百" and not integer:
        return rf"{above}\%"
    return rf"{integer}\frac{{{above}}}{{{below}}}"


def _read_chinese_number(text: str) -> str:
    """Return the digits of a number below a thousand, in Chinese or in digits."""
    if not text:
        return ""
    total = digit = 0
    for value in map(int, map(unicodedata.numeric, text)):
        if value >= 10:
            total += (digit or 1) * value
            digit = 0
        else:
            digit = digit * 10 + value
    return str(total + digit)


_SYMBOLS = {  # symbols that math-verify does not know
    **dict.fromkeys("…⋯", r"\ldots "),
    **{"€": r"\euro ", "£": r"\sterling ", "₹": r"\rupee "},
    **dict.fromkeys("¥￥", r"\yen "),
    **dict.fromkeys("°º˚", r"^\circ "),
    **{"℃": r"^\circ C", "℉": r"^\circ F"},
    **{"∞": r"\infty ", "∈": r"\in ", "、": ", ", "∶": ":"},
}
_DECOMPOSITIONS = {
    "<super>": "^{%s}",
    "<sub>": "_{%s}",
    "<wide>": "%s",
    "<narrow>": "%s",
    "<font>": "%s",
}


def _in_ascii(run: re.Match[str]) -> str:
    """Write characters outside ASCII in LaTeX; keep those without a form there."""
    text = "".join(map(_character_in_ascii, run[0]))
    return text.replace("}^{", "").replace("}_{", "")


def _character_in_ascii(character: str) -> str:
    if character in _SYMBOLS:
        return _SYMBOLS[character]
    kind = unicodedata.decomposition(character).partition(" ")[0]
    if kind in _DECOMPOSITIONS:
        plain = unicodedata.normalize("NFKC", character).replace("\u2212", "-")
        return _DECOMPOSITIONS[kind] % plain
    if character.isspace():
        return " "
    return str(unicodedata.decimal(character, character))


# A formula has no digit behind it, unlike a currency sign.
_DELIMITED = re.compile(
    r"(?:\$\$((?:[^$\\]|\\.)*)\$\$|\$((?:[^$\\]|\\.)*)\$(?!\d)"
    r"|\\\(((?:[^\\]|\\[^()])*)\\\)|\\\[((?:[^\\]|\\[^\[\]])*)\\\])(\s*\\?%)?",
    re.DOTALL,
)
_SECOND_ANSWER = re.compile(r"[\s,;$]*(?:and|or)\s+\S*\d")
_PUNCTUATION_BEHIND = re.compile(r"(?:\\\\|\\[,;:! ]|[.,;:\s\u3002])+$")
# The last group of each pattern is the content of the wrapping.
_WRAPPINGS = (
    r"(?:=|~|\\(?:approx|therefore|implies)(?![A-Za-z]))\s*(.*)",
    r"\*\*(.+)\*\*",
    r"([\"'`])([^\"'`]+)\1",
    r"\\(?:displaystyle|textstyle|small|large|Large|huge|bf|rm)(?![A-Za-z])(.*)",
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|boldsymbol|bm|mbox)"
    r"\s*\{([^A-Za-z\\{}]*)\}",
    r"\{((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*\})*+\})*+)\}",
)
_WRAPPING_PATTERNS = [re.compile(wrapping, re.DOTALL) for wrapping in _WRAPPINGS]


def _unwrap(text: str) -> str:
    """Remove delimiters, a box, leading signs such as "=", and punctuation."""
    before = None
    while text != before:
        before = text
        text = _PUNCTUATION_BEHIND.sub("", text.strip())
        for pattern in _WRAPPING_PATTERNS:
            match = pattern.fullmatch(text)
            if match:
                text = match[match.lastindex or 0]
        text = _pick_last(text)
    price = _PRICE.fullmatch(text) or _PRICE_BEHIND.fullmatch(text)
    if price:
        currency = price["currency"] or "dollar"
        return rf"{price['value']}\text{{ {currency}}}"
    return re.sub(rf"\\?\$|\\{_CURRENCY_COMMANDS} ?", "", text).strip()


_CURRENCY_COMMANDS = "(?:euro|sterling|pounds|yen|rupee)"
_SIGN = (
    rf"(?:(?:US)?\\?\$|(?:\\text\{{\s*)?\\(?P<currency>{_CURRENCY_COMMANDS})\s*\}}?)"
)
_ONE_SIGN = rf"(?=[^$]*\$[^$]*\Z|[^$]*\\{_CURRENCY_COMMANDS})"
_VALUE = r"[-+]?\d(?:[\d.,\s]|\{,\}|\\[,!])*"
_PRICE = re.compile(rf"{_ONE_SIGN}\s*{_SIGN}\s*(?P<value>{_VALUE}[A-Za-z/\s]*)")
_PRICE_BEHIND = re.compile(rf"{_ONE_SIGN}\s*(?P<value>{_VALUE})~?{_SIGN}")


def _pick_last(text: str) -> str:
    r"""Return the content of the last ``\boxed{}`` or formula, and of those joined."""
    pieces = {box.outer: text[slice(*box.inner)] for box in outermost_boxes(text)}
    if not pieces:
        for match in _DELIMITED.finditer(text):
            pieces[match.span()] = "".join(match.groups(default=""))
    if not pieces:
        return text
    spans = joined_to_last(text, list(pieces))
    if _SECOND_ANSWER.match(text, spans[-1][1]):  # two answers are not one of them
        return text
    last = pieces[spans[-1]]
    name, stop = read_unit(last)
    if name[:1].isdigit() and stop == len(last) and spans[0][0]:  # 20 $cm^2$
        return text.replace(f"${last}$", rf"\text{{{last}}}")
    if len(spans) > 1:  # \(a = \boxed{3}\) and \(b = \boxed{4}\): names decide
        for span, name in zip(spans, names_before(text, spans), strict=True):
            pieces[span] = name + pieces[span]
    picked = ", ".join(dict.fromkeys(pieces[span] for span in spans))
    return picked + unit_behind(text, spans[-1][1])


def _read_recurring(match: re.Match[str]) -> str:
    integer, once, again = match.groups()[:3]
    above = int(integer + once + again) - int(integer + once or 0)
    return rf"\frac{{{above}}}{{{(10 ** len(again) - 1) * 10 ** len(once)}}}"


_ELLIPSES = re.compile(r"\\[lc]?dots[bcmio]?(?![A-Za-z])|\.\.\.")
_ONE_BRACE_DEEP = r"(?:[^{}]|\{[^{}]*\})*?"
_TEXT_STYLE = r"\\(?:text|mathrm|mathit|mathbf|mathsf|mbox|textrm|operatorname)"
Replacement = str | Callable[[re.Match[str]], str]
_DEGREES_OF = {None: r"^\circ ", "C": r"\text{celsius}", "F": r"\text{fahrenheit}"}
_HALVES_OF_A_DAY = {"a": r"\text{ forenoon}", "p": r"\text{ afternoon}"}
_SPELLING_RULES: tuple[tuple[str, Replacement], ...] = (
    (r"\\(?:left|right)(?=\s*(?:[()\[\]|]|\\[{}|]))\s*|\\!\s*", ""),
    (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
    (r"\\(le|ge|ne)q(?![A-Za-z])", r"\\\1"),
    (r"\{\s*\\rm\s+([^{}]*)\}", r"\\mathrm{\1}"),
    # math-verify takes \mathrm{e} for a name, and cannot read \frac{1}{ e }
    (rf"{_TEXT_STYLE}\s*\{{\s*(e|i|\\pi)\s*\}}", r" \1 "),
    (r"[({]\s+|\s+(?=[)}])", lambda match: match[0].strip()),
    (r"(?<=\d)(?:\{,\}|\\[, ])(?=\d{3}(?!\d))", ""),  # 1\,000 and 1{,}000
    (r"(?<=\d)\{,\}(?=\d)", "."),  # a comma that is set as part of a number
    # {x | x > 2} is x > 2
    (
        r"^\\\{\s*([A-Za-z])(?:\s*\\in\s*\\mathbb\s*\{?\s*R\s*\}?)?\s*(?:\||\\mid(?![A-Za-z])|:)(?=\s*\S)(?=.*\1)(.*)\\\}$",
        r"\2",
    ),
    # words and all set as text: 5 cm; half past four
    (
        rf"^{_TEXT_STYLE}\s*\{{\s*(-?\d[\d.,:/]*)\s*([^{{}}\d]*)\}}$",
        r"\1\\text{ \2}",
    ),
    (
        r"(\d:\d\d)\s*(?:\\text\s*\{\s*)?([apAP])\.?\s?[mM]\.?\s*\}?$",
        lambda match: match[1] + _HALVES_OF_A_DAY[match[2].lower()],
    ),
    (r"~|\\(?:q?quad|enspace|thinspace)(?![A-Za-z])|(?<!\\)\\[,;: ]", " "),
    (r"\\varnothing(?![A-Za-z])", r"\\emptyset"),
    (r"\\langle(?![A-Za-z])", "("),
    (r"\\rangle(?![A-Za-z])", ")"),
    (rf"\s*(?:{_TEXT_STYLE}\s*\{{\s*\\?%\s*\}}|\\?%)", r"\\%"),
    (
        r"(?:\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree(?![A-Za-z]))"
        rf"\s*(?:(?:{_TEXT_STYLE}\s*\{{\s*)?([CF])(?![A-Za-z])\s*\}}?)?",
        lambda match: _DEGREES_OF[match[1]],
    ),
    (
        r"\^\s*\{?(?:\s*\\prime(?![A-Za-z]))+\s*\}?",
        lambda match: "'" * match[0].count("prime"),
    ),
    (r":=", "="),
    (
        rf"(?:^|\{{)({_ONE_BRACE_DEEP})\s*\\choose(?![A-Za-z])\s*({_ONE_BRACE_DEEP})(?:\}}|$)",
        r"\\binom{\1}{\2}",
    ),
    (rf"\^\s*\{{?\s*{_TEXT_STYLE}\s*\{{\s*(?:st|nd|rd|th)\s*\}}\s*\}}?", ""),
    (r"(?<=\d)\s*万", r" \\times 10^{4}"),
    (r"(?<=\d)\s*亿", r" \\times 10^{8}"),
    (
        r"(?<=[\d}%π])\s*(?:平方|立方)?"
        r"(?:千米|厘米|毫米|千克|公里|公斤|小时|分钟|[元米克天岁个只人本页度次种])$",
        "",
    ),
    (
        r"^[-+]?\d{1,3}(?:\.\d{3})+,\d+(?=\s*[A-Za-z\\]|$)",
        lambda match: match[0].replace(".", "").replace(",", "."),
    ),
    # 0.1666..., 0.1\overline{6}
    (
        r"(?<![\w.}])(\d{0,100})\.(\d{0,100}?)(\d{2,6}|(\d)(?=\4\4))\3+\s*\\ldots$",
        _read_recurring,
    ),
    (
        r"(?<![\w.}])(\d{0,100})\.(\d{0,100})\\overline\s*\{\s*(\d{1,100})\s*\}",
        _read_recurring,
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
        rf"(?<![A-Za-z\\])({FUNCTIONS})(?![A-Za-z])"
        r"(?=\s*[\d({\\_^]|\s+[A-Za-z](?![A-Za-z]))",
        r"\\\1",
    ),
    (r"\^\s*([+-]\s*(?:\d+(?:\.\d+)?|[A-Za-z]))(?![\w.])", r"^{\1}"),
)
_SPELLINGS = [(re.compile(pattern), change) for pattern, change in _SPELLING_RULES]
# x^(1/2), \sqrt(2) and \exp(16)
_PARENTHESES = re.compile(
    r"(\\sqrt\s*(?:\[[^\[\]]*\])?|\\exp|\^)"
    r"\s*\(((?:[^()]++|\((?:[^()]++|\([^()]*\))*+\))*+)\)"
)
_THOUSANDS = re.compile(r"^(?:[^,]*=\s*)?[+-]?\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?$")
