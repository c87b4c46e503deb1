"""Normal forms of texts, words and their places in a text, and timed patterns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Any, TypeVar

import regex

from rewardkit.primitives.primitive import Positive

CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Chinese characters and kana, written without spaces, for a character class."""

_CJK = re.compile(f"[{CJK}]")
_PIECES = re.compile(
    f"[{CJK}]|[^{CJK}\u3001-\u303f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, or the NaN that tables hold in its place."""
    return value is None or (isinstance(value, float) and value != value)


# Folding compatibility forms also turns two kana signs into combining marks.
_MANY_MARKS = regex.compile(r"([\p{M}\uff9e\uff9f]{31,}+)")

LONGEST_FOLDED = 100_000
"""Characters of a text to fold in NFKC, at most: one character may become 18."""


def normal_form(text: str, form: Any) -> str:
    """Convert a text to a Unicode form, in linear time.

    A text over `LONGEST_FOLDED` gets NFC in place of NFKC. Python sorts combining marks
    in quadratic time, so that runs of over 30 (the bound of Unicode's stream-safe
    format) stay unchanged.
    """
    if form is None or text.isascii():
        return text
    if form == "NFKC" and len(text) > LONGEST_FOLDED:
        form = "NFC"
    pieces = _MANY_MARKS.split(text)
    for place in range(0, len(pieces), 2):  # between the runs of marks
        pieces[place] = unicodedata.normalize(form, pieces[place])
    return "".join(pieces)


_MINUS = re.compile(r"\u2212(?=[.\uff0e]?\d)")
_TYPOGRAPHIC = str.maketrans(
    "\u2018\u2019\u201a\u201b\u02bc\uff07\u201c\u201d\u201e\u201f\uff02",
    "'" * 6 + '"' * 5,
)


def plain_quotes(text: str) -> str:
    """Replace typographic quotes, apostrophes and minus signs by plain ones."""
    if text.isascii():
        return text
    return _MINUS.sub("-", text).translate(_TYPOGRAPHIC)


def normal_text(
    text: str,
    *,
    case: bool = False,
    white_space: bool = False,
    punctuation: bool = False,
    unicode_form: Any = "NFC",
) -> str:
    """Remove differences that do not count; each option keeps one of them."""
    text = normal_form(text, unicode_form)
    if not case:
        text = normal_form(text.casefold(), unicode_form)
    if not punctuation:
        text = _strip_punctuation(plain_quotes(text), spaces=not white_space)
    if not white_space:
        text = " ".join(text.split())
    return text


# Characters that are never stripped at the ends: all but punctuation, and punctuation
# that belongs to the word beside it: an underscore, signs that change a number, and
# signs of names and paths beside a letter or digit.
_NAME_SIGNS = r"[#&@/\\\u00a7\u2020\u2021\uff03\uff06\uff20\uff0f\uff3c]"
_KEPT = (
    r"[^\p{P}]|[-_%\u066a\u2030\u2031\ufe6a\uff05\u2032\u2033]"
    rf"|(?<=\w){_NAME_SIGNS}|{_NAME_SIGNS}(?=\w)"
)
_OUTER = {
    False: (regex.compile(_KEPT), regex.compile(f"(?r){_KEPT}")),
    True: (
        regex.compile(rf"(?!\s|[\x1c-\x1f])(?:{_KEPT})"),
        regex.compile(rf"(?r)(?!\s|[\x1c-\x1f])(?:{_KEPT})"),
    ),
}
_NUMBER_START = regex.compile(r"[\p{Pd}.\uff0e](?=\p{Nd})")
_WORD_EDGE = rf"[\p{{L}}\p{{M}}]{{2}}|[{CJK}]"
_WORD_STARTS = regex.compile(_WORD_EDGE)
_WORD_ENDS = regex.compile(f"(?r){_WORD_EDGE}")
_SEVERAL = regex.compile(r"[\s,;\u3001\uff0c\uff1b]")
_BRACKETS = ("(", ")", "[", "]", "{", "}", "\uff08", "\uff09", "\uff3b", "\uff3d")
_END_MARKS = ("!", "\uff01", "..", "\u2026")
_PAIRED_MARKS = ("'", '"', "*")


def _strip_punctuation(text: str, *, spaces: bool) -> str:
    """Strip punctuation and white space at the ends, unless nothing else is there.

    Signs that are part of a word stay (C#, -5, .5, 5%), as do signs with a meaning
    beside a digit or a lone letter: "5!", "0.33...", "x'" (but not "'x'"), and the
    brackets of "(1, 2]" (but not of "(B)").
    """
    first, last = (pattern.search(text) for pattern in _OUTER[spaces])
    if first is None or last is None:
        return text
    start = first.start()
    end = last.end()
    if start and (
        _NUMBER_START.match(text, start - 1) or _is_part_of_word(text, start, end)
    ):
        start -= 1
    before = text[:start]
    behind = text[end:]
    has_several = bool(_SEVERAL.search(text, start, end))
    brackets = _BRACKETS if has_several else ()
    if before and not _WORD_STARTS.match(text, start):
        places = [before.find(bracket) for bracket in brackets if bracket in before]
        start = min(places, default=start)
    if behind and not _WORD_ENDS.match(text, 0, end):
        marks = [*_END_MARKS, *brackets]
        marks += [mark for mark in _PAIRED_MARKS if mark not in before]
        ends = [behind.rfind(mark) + len(mark) for mark in marks if mark in behind]
        end += max(ends, default=0)
    return text[start:end]


def _is_part_of_word(text: str, start: int, end: int) -> bool:
    """Return whether the sign before a word belongs to it, as in .NET, !x and *p."""
    sign = text[start - 1]
    if not text[start].isalpha():
        return False
    if sign == ".":
        return not text.startswith("..", max(0, start - 2))
    if sign not in ("!", "*") or sign in text[end:]:
        return False
    is_longer = text[start + 1 : end][:1].isalpha()
    return not is_longer and not _WORD_STARTS.match(text, start)


def words(text: str) -> list[str]:
    """Split a text at white space, and Chinese and Japanese into characters.

    Beside such characters, a piece is a word only if it has a letter or digit, so that
    punctuation does not count.

    >>> words("one two, three"), words("我有3个apple。")
    (['one', 'two,', 'three'], ['我', '有', '3', '个', 'apple'])
    """
    if text.isascii() or not _CJK.search(text):
        return text.split()
    result: list[str] = []
    for run in text.split():
        if not _CJK.search(run):
            result.append(run)
            continue
        for piece in _PIECES.findall(run):
            if any(map(str.isalnum, piece)):
                result.append(piece)
    return result


def runs(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """Yield all runs of `size` consecutive words."""
    return zip(*(words[start:] for start in range(size)), strict=False)


_BARE_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+(?:'[^\W{CJK}]+)*")


def bare_words(text: str) -> list[str]:
    """Find runs of letters and digits, in lower case, and single CJK characters.

    >>> bare_words("It's the end. The END!")
    ["it's", 'the', 'end', 'the', 'end']
    """
    return _BARE_WORD.findall(plain_quotes(text).casefold())


_SIGN_BEFORE = r"(?<!\A[-+\u2212])(?<![^\w)\]}][-+\u2212])(?<![-+\u2212][$€£¥])"
_BEFORE_BORDER = {
    "word": re.compile(rf"(?<![^\W{CJK}])"),
    "number": re.compile(rf"(?<![^\W{CJK}])(?<!\d[.,/]){_SIGN_BEFORE}"),
    "cjk": re.compile(""),
}
_AFTER_BORDER = {
    "word": re.compile(rf"(?![^\W{CJK}])"),
    "number": re.compile(rf"(?![^\W{CJK}])(?![.,/]\d)(?!\s?%)"),
    "cjk": re.compile(""),
}
_LETTER_RUN = re.compile(rf"[^\W{CJK}]*")

MOST_REJECTED = 10**8
"""Characters of rejected places, in all, after which a search gives up."""


def _border(character: str) -> str:
    if _CJK.match(character):
        return "cjk"
    return "number" if character.isdigit() else "word"


def places_of_word(word: str, text: str) -> Iterator[int]:
    """Yield where a word stands alone, not inside another word or number.

    Chinese and Japanese have no borders between words: a word that starts or ends with
    such a character is found anywhere. Places do not overlap.

    >>> list(places_of_word("5", "5, 15, 5.2 and -5"))
    [0]
    >>> list(places_of_word("so", "so, also 是so的"))
    [0, 10]
    """
    before = _BEFORE_BORDER[_border(word[0])]
    after = _AFTER_BORDER[_border(word[-1])]
    rejected = 0
    at = text.find(word)
    while at >= 0 and rejected < MOST_REJECTED:
        end = at + len(word)
        if before.match(text, at) and after.match(text, end):
            yield at
        else:
            rejected += len(word)
            # Inside a run of letters, no other place has a border before it.
            run = _LETTER_RUN.match(text, at)
            end = max(at + 1, run.end() if run else 0)
        at = text.find(word, end)


T = TypeVar("T")


def compile_expression(expression: Any) -> regex.Pattern[str]:
    """Compile a regular expression, or raise a ValueError if it does not compile."""
    if not isinstance(expression, str):
        raise ValueError(f"pattern {expression!r} does not compile: it is no text")
    return _compile_cached(expression)


@lru_cache(maxsize=256)
def _compile_cached(expression: str) -> regex.Pattern[str]:
    try:
        return regex.compile(expression)
    except (regex.error, RecursionError) as error:
        raise ValueError(f"pattern {expression!r} does not compile: {error}") from None


def _expression(option: str, value: Any) -> Any:
    compile_expression(value)
    return value


Expression = Annotated[str, _expression]
Seconds = Positive


def in_time(search: Any, find: Callable[[], T]) -> T:
    """Return `find()`; add the expression of `search` to its TimeoutError."""
    try:
        return find()
    except TimeoutError:
        raise TimeoutError(
            f"pattern {search.expression!r} took longer than {search.timeout:g} s"
        ) from None
