"""Units and number words behind a value in LaTeX: what of them counts."""

from __future__ import annotations

import re
from itertools import starmap
from typing import Final

DEGREES: Final = r"^\circ"

TEXT_COMMAND: Final = (
    r"\\(?:text|textbf|textit|textrm|textnormal|mathrm|mbox)"
    r"\s*\{((?:[^{}\\]|\\cdot|\^\{-?\d\})*)\}"
)
"""Words set as text."""

MOST_UNITS = 5
"""Words of a unit, as in "square feet per hour". Our choice: more are a sentence."""

_BARE_LETTERS = r"(?<![A-Za-z\\])([A-Za-z]++)"
_UNIT_POWER = r"(?:\^\s*(?:\{\s*-?\d\s*\}|-?\d))?"
_UNIT_WORD = re.compile(f"{TEXT_COMMAND}|{_BARE_LETTERS}")
_UNITS_BEHIND = re.compile(
    rf"""(?:(?<=[\d)}}!%])|(?<=\\pi)) (?:\s*\^\\circ)?
    (?:[\s/]*+(?:{TEXT_COMMAND}|{_BARE_LETTERS}){_UNIT_POWER})*+ \s*$""",
    re.VERBOSE,
)
_FACTORS = {
    "dozen": r" \cdot 12",
    "hundred": r" \times 10^{2}",
    "thousand": r" \times 10^{3}",
    "million": r" \times 10^{6}",
    "billion": r" \times 10^{9}",
    "trillion": r" \times 10^{12}",
}
_PERCENT_WORDS = frozenset(("percent", "percentage", "pct"))
_SHORT_UNITS = frozenset(
    "cm mm km kg ft lb lbs oz mph kph hr hrs min mins sec secs deg day yr cup men way "
    "per of the th st nd rd".split()
)
_LETTER_UNITS = frozenset("mshgdlLNJWVAKCFTHΩ")
# Words that say another number, or more than one.
_NO_UNIT = re.compile(
    r"zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)ieths?"
    r"|(?:hundred|thousand|milli(?:on|ard)|billi?on|trilli?on|lakh|crore|dozen|gross"
    r"|score|pair|couple|half|halve|third|quarter|fourth|fifth|sixth|seventh|eighth"
    r"|ninth|tenth|twelfth|double|triple|percent|permil|infinit|approx|root|factorial"
    r"|square[dr]|cube[dr])\w*|twice|thrice|fold|grand|basis|bps|pct|mille|divided"
    r"|multiplied|negative|wrong|incorrect|false|about|around|roughly|nearly|almost"
    r"|below|above|under|down|less|fewer|lower|or|and|nor|not|but|if|when|where"
    r"|because|since|is|are|plus|minus|times|over|mod|modulo|choose|than|least|most"
    r"|odd|even|(?:a|arc)?(?:sin|cos|tan|sec|csc|cot)h?|sqrt|log|exp|alpha|beta|gamma"
    r"|delta|epsilon|theta|lambda|sigma|omega|prime"
)


def without_unit(text: str) -> tuple[str, str]:
    r"""Split a text into its value, without a unit, and the factor of a number word.

    Words set as text are a unit, and so are bare ones of four letters, or short ones
    that are known; letters alone only set as text, and where they are a unit's name.
    Words that say another number are none. Degrees stay, as they may be radians to
    others.

    >>> without_unit(r"5\text{ cm}^2"), without_unit("5 million apples")
    (('5', ''), ('5', ' \\times 10^{6}'))
    >>> without_unit("5 or more")
    ('5 or more', '')
    """
    units = _UNITS_BEHIND.search(text)
    if units is None or not re.search(r"\d|\\pi", text[: units.start()]):
        return text, ""
    words: list[tuple[str, bool]] = []  # each with whether it stands without \text
    for set_as_text, bare in map(re.Match.groups, _UNIT_WORD.finditer(units[0])):
        for word in re.split(r"(?:[-\s/().,^{}\d]|\\cdot)+", bare or set_as_text):
            if word:
                words.append((word, bare is not None))
    factor = DEGREES if DEGREES in units[0] else ""
    while words and words[0][0].lower().removesuffix("s") in _FACTORS:
        word, _ = words.pop(0)
        factor += _FACTORS[word.lower().removesuffix("s")]
    value = text[: units.start()]
    if "".join(word for word, _ in words).lower() in _PERCENT_WORDS:
        return value, factor + r"\%"
    if len(words) > MOST_UNITS or not all(starmap(_is_unit, words)):
        return text, ""
    return value, factor


def _is_unit(word: str, is_bare: bool) -> bool:
    if len(word) == 1:
        return not is_bare and word in _LETTER_UNITS
    if _NO_UNIT.fullmatch(word.lower()) or not word.isalpha():
        return False
    return not is_bare or len(word) >= 4 or word in _SHORT_UNITS
