"""Locales: numbers as the language of a prompt writes them.

The language is that of the data source, of a column, or of the prompt's script: German
writes 1.234,5, French 1 234,5 with narrow spaces, Bengali has its own digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from rewardkit.primitives.verify.numbers import read_decimal
from rewardkit.strategies.notations import NOTATION, layout
from rewardkit.strategies.strategy import Subject, near_miss

POINT_LANGUAGES = "de es it pt nl id tr da el hr ro sl vi".split()
"""Languages with a decimal comma that write 1.234,5."""

SPACE_LANGUAGES = "fr ru pl cs sv fi nb no uk bg sk hu lt lv et".split()
"""Languages with a decimal comma that write 1 234,5, with narrow spaces."""

COMMA_LANGUAGES = {*POINT_LANGUAGES, *SPACE_LANGUAGES}
NARROW_SPACES = "\u202f\u00a0"
LANGUAGE_COLUMNS = ("language", "lang", "locale")
SCRIPT_SHARE = 0.2  # least share of letters for the script of a prompt: our choice


def find_language(subject: Subject) -> str:
    """Return the code of the language that a subject's columns name, or ""."""
    row = subject.columns
    info = row.get("extra_info")
    named = {**info, **row} if isinstance(info, dict) else row
    for name in LANGUAGE_COLUMNS:
        if isinstance(named.get(name), str):
            return str(named[name])[:2].lower()
    source = str(row.get("data_source") or "")
    return re.split(r"[^A-Za-z]+", source)[-1].lower()


def find_zero(prompt: str) -> str:
    """Return the digit 0 in the script of a prompt.

    >>> find_zero("মোট কত?"), find_zero("How many?")
    ('০', '0')
    """
    scripts = Counter(
        unicodedata.name(letter, "").partition(" ")[0]
        for letter in prompt
        if letter.isalpha()
    )
    for script, count in scripts.most_common():
        if script == "LATIN" or count < SCRIPT_SHARE * scripts.total():
            continue
        name = script.replace("ARABIC", "ARABIC-INDIC")
        try:
            return unicodedata.lookup(f"{name} DIGIT ZERO")
        except KeyError:  # Greek or Cyrillic, which have no digits of their own
            continue
    return "0"


def _write_number(subject: Subject, thousands: str) -> str | None:
    """Write the right number with a decimal comma; None if that changes nothing."""
    number = read_decimal(subject.right)
    if number is None or not re.fullmatch(r"-?[\d,]+(?:\.\d+)?", subject.right):
        return None
    text = f"{number:,f}"
    written = text.translate({ord(","): thousands, ord("."): ","})
    return None if written == subject.right else written


@layout("1.234,5 for 1234.5, as its language writes it", "number", of=NOTATION)
def decimal_comma(subject: Subject) -> Iterator[str]:
    if find_language(subject) in POINT_LANGUAGES:
        written = _write_number(subject, ".")
        if written is not None:
            yield subject.write(written)


@layout("1 234,5 with narrow spaces, as its language writes it", "number", of=NOTATION)
def narrow_spaces(subject: Subject) -> Iterator[str]:
    if find_language(subject) in SPACE_LANGUAGES:
        for space in NARROW_SPACES:
            written = _write_number(subject, space)
            if written is not None:
                yield subject.write(written)


@layout("digits of the prompt's script", "number", of=NOTATION)
def native_digits(subject: Subject) -> Iterator[str]:
    zero = find_zero(subject.prompt)
    if zero != "0" and re.fullmatch(r"-?[\d.,]+", subject.right):
        digits = {48 + digit: chr(ord(zero) + digit) for digit in range(10)}
        yield subject.write(subject.right.translate(digits))


@near_miss("a tenth, with a decimal comma (2,5 for 25)", kinds=("number",))
def comma_lost(subject: Subject) -> Iterator[str]:
    is_whole = re.fullmatch(r"[1-9]\d*[1-9]", subject.right) is not None
    if is_whole and find_language(subject) in COMMA_LANGUAGES:
        yield subject.write(f"{subject.right[:-1]},{subject.right[-1]}")
