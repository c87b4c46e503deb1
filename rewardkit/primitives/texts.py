"""What texts are compared and counted by: normal forms, words, and where a word stands alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import regex

CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Chinese characters and kana, for a class of a pattern: what is written without spaces between words."""

_CJK = re.compile(f"[{CJK}]")
_PIECES = re.compile(
    f"[{CJK}]|[^{CJK}\u3001-\u303f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)


def is_missing(value: Any) -> bool:
    """None, or the NaN that tables write for it."""
    return value is None or (isinstance(value, float) and value != value)


# Two signs of kana, too, become marks when compatibility forms are folded.
_MANY_MARKS = regex.compile(r"([\p{M}\uff9e\uff9f]{31,}+)")

FOLDED = 100_000
"""Characters of a text whose compatibility forms are folded, at the most: one can become eighteen."""


def normal_form(text: str, form: Any) -> str:
    """The text in a Unicode form, in linear time; a text of over 100,000 characters in NFC for NFKC.

    Python sorts a run of combining marks in the square of its length, so runs of over
    30 (the bound that Unicode's stream-safe format has) stay as they are.
    """
    if form is None or text.isascii():
        return text
    form = "NFC" if form == "NFKC" and len(text) > FOLDED else form
    pieces = _MANY_MARKS.split(text)
    return "".join(
        piece if at % 2 else unicodedata.normalize(form, piece)
        for at, piece in enumerate(pieces)
        if piece
    )


_MINUS = re.compile(r"\u2212(?=[.\uff0e]?\d)")
_TYPOGRAPHIC = str.maketrans(
    "\u2018\u2019\u201a\u201b\u02bc\uff07\u201c\u201d\u201e\u201f\uff02",
    "'" * 6 + '"' * 5,
)


def plain_quotes(text: str) -> str:
    """The text with typographic quotes, apostrophes and minus signs of numbers as a keyboard has them."""
    return text if text.isascii() else _MINUS.sub("-", text).translate(_TYPOGRAPHIC)


def normal_text(
    text: str,
    *,
    case: bool = False,
    white_space: bool = False,
    punctuation: bool = False,
    unicode_form: Any = "NFC",
) -> str:
    """The text without the differences that do not count; each option says that one does."""
    text = normal_form(text, unicode_form)
    text = text if case else normal_form(text.casefold(), unicode_form)
    text = (
        text
        if punctuation
        else _strip_punctuation(plain_quotes(text), spaces=not white_space)
    )
    return text if white_space else " ".join(text.split())


# What is never left out at the ends: all but punctuation, and of that what is a part of
# the word it stands at: an underscore, what makes another number, and the signs of
# names and paths beside a letter or digit.
_SIGNS = r"[#&@/\\\u00a7\u2020\u2021\uff03\uff06\uff20\uff0f\uff3c]"
_KEPT = rf"[^\p{{P}}]|[-_%\u066a\u2030\u2031\ufe6a\uff05\u2032\u2033]|(?<=\w){_SIGNS}|{_SIGNS}(?=\w)"
_OUTER = {
    False: (regex.compile(_KEPT), regex.compile(f"(?r){_KEPT}")),
    True: (
        regex.compile(rf"(?!\s|[\x1c-\x1f])(?:{_KEPT})"),
        regex.compile(rf"(?r)(?!\s|[\x1c-\x1f])(?:{_KEPT})"),
    ),
}
_SIGN = regex.compile(r"[\p{Pd}.\uff0e](?=\p{Nd})")
_WORD = rf"[\p{{L}}\p{{M}}]{{2}}|[{CJK}]"
_WORD_STARTS, _WORD_ENDS = regex.compile(_WORD), regex.compile(f"(?r){_WORD}")
_SEVERAL = regex.compile(r"[\s,;\u3001\uff0c\uff1b]")
_BRACKETS = ("(", ")", "[", "]", "{", "}", "\uff08", "\uff09", "\uff3b", "\uff3d")
_MARKS = ("!", "\uff01", "..", "\u2026")
_PAIRED = ("'", '"', "*")


def _strip_punctuation(text: str, *, spaces: bool) -> str:
    """Without punctuation and white space at its ends, unless nothing else is there.

    Kept is what is a part of a word (C#, -5, .5, 5%), and beside a digit or a lone
    letter, where punctuation says something: "5!", "0.33...", "x'" (but not "'x'"), and
    the brackets of "(1, 2]" (but not of "(B)").
    """
    first, last = (pattern.search(text) for pattern in _OUTER[spaces])
    if first is None or last is None:
        return text
    start, end = first.start(), last.end()
    if start and (_SIGN.match(text, start - 1) or _is_part(text, start, end)):
        start -= 1
    before, behind = text[:start], text[end:]
    brackets = (
        _BRACKETS if (before or behind) and _SEVERAL.search(text, start, end) else ()
    )
    if before and brackets and not _WORD_STARTS.match(text, start):
        start = min((at for at in map(before.find, brackets) if at >= 0), default=start)
    if behind and not _WORD_ENDS.match(text, 0, end):
        marks = (*_MARKS, *(mark for mark in _PAIRED if mark not in before), *brackets)
        end += max(
            (behind.rfind(mark) + len(mark) for mark in marks if mark in behind),
            default=0,
        )
    return text[start:end]


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether the sign before the word at `start` is a part of it: .NET, and !x and *p (but not *p*)."""
    sign = text[start - 1]
    if sign == ".":
        return text[start].isalpha() and not text.startswith("..", max(0, start - 2))
    alone = text[start].isalpha() and not (text[start + 1 : end][:1]).isalpha()
    return (
        alone
        and sign in ("!", "*")
        and sign not in text[end:]
        and not _WORD_STARTS.match(text, start)
    )


def words(text: str) -> list[str]:
    """Runs without white space; where Chinese or Japanese stands in one, each of its characters is a word.

    What is left of such a run is a word where a letter or digit is in it, so that
    punctuation is none.

    >>> words("one two, three"), words("我有3个apple。")
    (['one', 'two,', 'three'], ['我', '有', '3', '个', 'apple'])
    """
    if text.isascii() or not _CJK.search(text):
        return text.split()
    found: list[str] = []
    for run in text.split():
        if _CJK.search(run):
            found += [
                piece for piece in _PIECES.findall(run) if any(map(str.isalnum, piece))
            ]
        else:
            found.append(run)
    return found


def runs(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """The runs of so many words that stand one after the other."""
    return zip(*(words[start:] for start in range(size)), strict=False)


_BARE = re.compile(rf"[{CJK}]|[^\W{CJK}]+(?:'[^\W{CJK}]+)*")


def bare_words(text: str) -> list[str]:
    """Runs of letters and digits, in lower case; each Chinese or Japanese character is one.

    >>> bare_words("It's the end. The END!")
    ["it's", 'the', 'end', 'the', 'end']
    """
    return _BARE.findall(plain_quotes(text).casefold())


_SIGN_BEFORE = r"(?<!\A[-+\u2212])(?<![^\w)\]}][-+\u2212])(?<![-+\u2212][$€£¥])"
_BEFORE = {
    "word": re.compile(rf"(?<![^\W{CJK}])"),
    "number": re.compile(rf"(?<![^\W{CJK}])(?<!\d[.,/]){_SIGN_BEFORE}"),
    "cjk": re.compile(""),
}
_AFTER = {
    "word": re.compile(rf"(?![^\W{CJK}])"),
    "number": re.compile(rf"(?![^\W{CJK}])(?![.,/]\d)(?!\s?%)"),
    "cjk": re.compile(""),
}
_RUN = re.compile(rf"[^\W{CJK}]*")

WORK = 10**8
"""Characters that places which turn out not to count may take in all, before a search gives up."""


def _border(character: str) -> str:
    return (
        "cjk" if _CJK.match(character) else "number" if character.isdigit() else "word"
    )


def standing(word: str, text: str) -> Iterator[int]:
    """Where the word stands alone: not inside another word, nor as a part of another number.

    Between Chinese or Japanese characters there are no such borders: a word that starts
    or ends with one is found anywhere. Places do not overlap.

    >>> list(standing("5", "5, 15, 5.2 and -5")), list(standing("so", "so, also 是so的"))
    ([0], [0, 10])
    """
    before, after = _BEFORE[_border(word[0])], _AFTER[_border(word[-1])]
    work, at = WORK, text.find(word)
    while at >= 0 and work > 0:
        end = at + len(word)
        if before.match(text, at) and after.match(text, end):
            yield at
        else:
            work -= len(word)
            run = _RUN.match(
                text, at
            )  # no other place in a run of letters has a border before it
            end = max(at + 1, run.end() if run else 0)
        at = text.find(word, end)
