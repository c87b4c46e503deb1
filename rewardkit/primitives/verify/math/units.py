"""Units and number words behind a value in LaTeX: what of them counts."""

from __future__ import annotations

import re
from typing import Final

DEGREES: Final = r"^\circ"

TEXT: Final = r"\\(?:text|textbf|textit|textrm|textnormal|mathrm|mbox)\s*\{((?:[^{}\\]|\\cdot|\^\{-?\d\})*)\}"
"""Words set as text."""

MOST_UNITS = 5
"""Words of a unit, as in "square feet per hour". Our choice: more are a sentence."""

_BARE = r"(?<![A-Za-z\\])([A-Za-z]++)"
_POWER = r"(?:\^\s*(?:\{\s*-?\d\s*\}|-?\d))?"
_UNIT = re.compile(f"{TEXT}|{_BARE}")
_BEHIND = re.compile(
    rf"(?:(?<=[\d)}}!%])|(?<=\\pi))(?:\s*\^\\circ)?(?:[\s/]*+(?:{TEXT}|{_BARE}){_POWER})*+\s*$"
)
_POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_FACTORS = {"dozen": r" \cdot 12"} | {
    word: rf" \times 10^{{{power}}}" for word, power in _POWERS.items()
}
_PERCENT = frozenset(("percent", "percentage", "pct"))
_SHORT_UNITS = frozenset(
    "cm mm km kg ft lb lbs oz mph kph hr hrs min mins sec secs deg day yr cup men way per of the"
    " th st nd rd".split()
)
_LETTER_UNITS = frozenset("mshgdlLNJWVAKCFTHΩ")
_NO_UNIT = re.compile(  # words that say another number, or more than one
    r"zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|(?:twen|thir|for|fif|six|seven"
    r"|eigh|nine)ty|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)ieths?"
    r"|(?:hundred|thousand|milli(?:on|ard)|billi?on|trilli?on|lakh|crore|dozen|gross|score|pair|couple|half|halve"
    r"|third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|twelfth|double|triple|percent|permil|infinit"
    r"|approx|root|factorial|square[dr]|cube[dr])\w*|twice|thrice|fold|grand|basis|bps|pct|mille|divided|multiplied"
    r"|negative|wrong|incorrect|false|about|around|roughly|nearly|almost|below|above|under|down|less|fewer|lower"
    r"|or|and|nor|not|but|if|when|where|because|since|is|are|plus|minus|times|over|mod|modulo|choose|than|least"
    r"|most|odd|even|(?:a|arc)?(?:sin|cos|tan|sec|csc|cot)h?|sqrt|log|exp|alpha|beta|gamma|delta|epsilon|theta"
    r"|lambda|sigma|omega|prime"
)


def without_unit(text: str) -> tuple[str, str]:
    r"""The value without the unit behind it, and the factor that a number word there says; else all of it.

    Words set as text are a unit, and so are bare ones of four letters, or short ones
    that are known; letters alone only set as text, and where they are a unit's name.
    Words that say another number are none. Degrees stay, as they may be radians to
    others.

    >>> without_unit(r"5\text{ cm}^2"), without_unit("5 million apples"), without_unit("5 or more")
    (('5', ''), ('5', ' \\times 10^{6}'), ('5 or more', ''))
    """
    found = _BEHIND.search(text)
    if found is None or not re.search(r"\d|\\pi", text[: found.start()]):
        return text, ""
    words = [
        (word, bare is not None)
        for as_text, bare in (unit.groups() for unit in _UNIT.finditer(found[0]))
        for word in re.split(r"(?:[-\s/().,^{}\d]|\\cdot)+", bare or as_text)
        if word
    ]
    factor = DEGREES if DEGREES in found[0] else ""
    while words and (named := _FACTORS.get(words[0][0].lower().removesuffix("s"))):
        factor, words = factor + named, words[1:]
    if "".join(word for word, _ in words).lower() in _PERCENT:
        return text[: found.start()], factor + r"\%"
    if len(words) > MOST_UNITS or not all(_is_unit(word, bare) for word, bare in words):
        return text, ""
    return text[: found.start()], factor


def _is_unit(word: str, bare: bool) -> bool:
    if len(word) == 1:
        return not bare and word in _LETTER_UNITS
    if _NO_UNIT.fullmatch(word.lower()) or not word.isalpha():
        return False
    return not bare or len(word) >= 4 or word in _SHORT_UNITS
