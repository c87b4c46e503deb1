"""What can be said of a text by itself: format, length, repetition, keywords, similarity, schema, steps.

Every name here makes a small frozen callable that gives a score in [0, 1], in time that is linear in the
text or bounded by what its docstring states. What is no text is not judged: ``None``.

So is a field that was not found: a measure of it (``columns={"completion": "reasoning"}``) abstains where
there is none, and the reward of that row is NaN. Where that is to count as bad, put the component behind a
gate that is closed there (on `tags`, as `gallery:tagged` does), or measure a field of your own that returns
``reasoning or ""``.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field
from itertools import zip_longest
from typing import Any, Literal

from rapidfuzz import fuzz

from rewardkit.primitives.agents.conduct import (
    call_efficiency,
    calls_within,
    failed_calls,
    repeated_calls,
    tool_calls,
    turns,
)
from rewardkit.primitives.agents.evidence import citations, grounding
from rewardkit.primitives.agents.transcripts import ToolCall, read_calls
from rewardkit.primitives.expressions import regex
from rewardkit.primitives.factories import NAMED, STAR, OfText, Primitive
from rewardkit.primitives.measure.grammar import tags
from rewardkit.primitives.measure.lengths import length, overlong
from rewardkit.primitives.measure.repeating import diversity, repetition
from rewardkit.primitives.measure.schema import json_schema
from rewardkit.primitives.notes import note
from rewardkit.primitives.texts import bare_words, is_missing, normal_form, plain_quotes, standing, words

__all__ = [
    "ToolCall",
    "call_efficiency",
    "calls_within",
    "citations",
    "diversity",
    "failed_calls",
    "grounding",
    "json_schema",
    "keywords",
    "length",
    "overlong",
    "read_calls",
    "regex",
    "repeated_calls",
    "repetition",
    "similarity",
    "steps",
    "tags",
    "tool_calls",
    "turns",
]

KeywordMode = Literal["share", "all", "any", "count"]


@dataclass(frozen=True, repr=False, init=False)
class keywords(OfText):
    """Share of the words that occur as whole words; 1.0 or 0.0 with ``mode="all"`` or ``"any"``.

    How often each occurs does not count, except with ``mode="count"``: all occurrences together, 1.0 at
    `full_at`; saying one word again and again earns that too.

    Words may hold spaces; case (unless ``case=True``), the kind of white space and the shape of quotes do
    not matter. Chinese and Japanese have no borders of words: such a word counts anywhere, also inside a
    longer one or behind a "not" (不正确 holds 正确). Numbers count whole ("5" is not in "5.2"). Notes those
    found. ValueError: no word, the same twice, unknown mode, `full_at` without ``mode="count"`` or the
    reverse, `case` no bool.

    >>> keywords("first", "then", "so")("First this, then that; also those")
    0.6666666666666666
    >>> keywords("because", mode="count", full_at=4)("Because it is. Because I say so.")
    0.5
    """

    words: tuple[str, ...] = field(metadata=STAR)
    _: KW_ONLY
    mode: KeywordMode = "share"
    full_at: int | None = None
    case: bool = False

    def __init__(
        self, *words: str, mode: KeywordMode = "share", full_at: int | None = None, case: bool = False
    ) -> None:
        self._fill(words=words, mode=mode, full_at=full_at, case=case)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.words or not all(isinstance(word, str) and word.strip() for word in self.words):
            raise ValueError(
                "keywords takes one or more words, such as keywords('because', 'therefore'); got "
                f"{self.words!r}"
            )
        if len({self._normal(word) for word in self.words}) < len(self.words):
            raise ValueError(f"keywords takes each word once; got {self.words!r}")
        if (self.mode == "count") != (self.full_at is not None):
            raise ValueError(
                f"mode={self.mode!r} and full_at={self.full_at!r} do not go together; mode='count' needs "
                "full_at, the number of occurrences that earns 1.0, and no other mode has one"
            )

    def _normal(self, text: str) -> str:
        text = " ".join(plain_quotes(normal_form(text, "NFC")).split())
        return text if self.case else text.casefold()

    def score(self, completion: str) -> float:
        text = self._normal(completion)
        places = {word: standing(self._normal(word), text) for word in self.words}
        if self.full_at is not None:
            counts = {word: sum(1 for _ in found) for word, found in places.items()}
            note("keywords", counts)
            return min(1.0, sum(counts.values()) / self.full_at)
        found = [word for word, found in places.items() if next(found, None) is not None]
        note("keywords", found)
        if self.mode == "any":
            return float(bool(found))
        share = len(found) / len(self.words)
        return share if self.mode == "share" else float(share == 1.0)


COMPARED = 20_000
"""Characters of each text that are compared, at the most: rapidfuzz takes the square of their number."""

COMPARED_PIECE = 1_000
"""Characters of a piece that is looked for: there it takes more than the square."""


@dataclass(frozen=True, repr=False)
class similarity(Primitive):
    """Likeness of prediction and ground truth by rapidfuzz.

    1.0 when the texts (or their sets of words) are the same.

    "ratio" compares the texts, "token_sort" their words in any order, "token_set" the sets of words,
    "partial" the best-fitting piece: the last two are 1.0 for any text that contains the truth, a hole a
    policy finds. In Chinese and Japanese each character is a word. A prediction of ``None`` is 0.0, a missing
    truth is not judged. ValueError: unknown method.

    Of texts that differ the first 20,000 characters are compared (and in "partial" the first 1,000 of the
    shorter one); what is left over counts as different.

    >>> similarity()("kitten", "sitten")
    0.8333333333333335
    """

    method: Literal["ratio", "partial", "token_sort", "token_set"] = field(default="ratio", metadata=NAMED)

    def __call__(self, prediction: Any, ground_truth: Any) -> float | None:
        if is_missing(ground_truth):
            return None
        if prediction is None:
            return 0.0
        a, b = sorted((str(prediction), str(ground_truth)), key=lambda text: (len(text), text))
        if a == b:
            return 1.0
        if self.method == "partial":
            short, long = a[:COMPARED_PIECE], b[:COMPARED]
            return fuzz.partial_ratio(short, long) / 100.0 * len(short) / max(1, len(a))
        short, long = a[:COMPARED], b[:COMPARED]
        share = (len(short) + len(long)) / max(1, len(a) + len(b))
        if self.method != "ratio":  # so that words of Chinese are words, too
            short, long = " ".join(words(short)), " ".join(words(long))
        ratio = fuzz.ratio if self.method == "ratio" else getattr(fuzz, f"{self.method}_ratio")
        return float(ratio(short, long) / 100.0 * share)


_CHINESE_NUMBER = "[一二三四五六七八九十百0-9０-９]{1,4}"
_MARK = rf"""
    ^[ \t>]{{0,20}}+
    (?: [\#*_ \t]{{0,12}}+ (?i:step|步骤) [ \t]{{0,3}} {_CHINESE_NUMBER} (?!\w) [*_ \t:：.,、)\-–—]{{0,8}}+
      | [\#*_ \t]{{0,12}}+ 第 {_CHINESE_NUMBER} 步 [*_ \t:：.,，、)\-–—]{{0,8}}+
      | \*{{0,3}} [(（]? [0-9]{{1,3}} (?: [.)）] (?![0-9]) | [、．] ) \*{{0,3}}+ [ \t]*+
      | [-*+•·–—] [ \t]++ )
"""
_STEP = re.compile(rf"{_MARK} (?P<said>[^\n]*+)", re.MULTILINE | re.VERBOSE)
_LINE = re.compile(rf"(?:{_MARK}|^) (?P<said>[^\n]++)", re.MULTILINE | re.VERBOSE)
_HEADING = re.compile(
    r"""
    ^[ ]{0,3}+
    (?: \#{1,6}+ [ \t]++ (?P<marked>[^\n]*+)
      | (?:\*\*|__) (?P<bold>[^\n*_]++) (?:\*\*|__) [:：]? [ \t]*+ $ )
    """,
    re.MULTILINE | re.VERBOSE,
)


def _said(text: str) -> str:
    """What tells two steps apart: their words; "" where there is no letter or digit."""
    return " ".join(bare_words(text))


@dataclass(frozen=True, repr=False)
class steps(OfText):
    r"""Number of different steps in the text, as a share of `full_at`; 1.0 from there on.

    ``kind="steps"``: lines that start with a number ("1.", "2)", "(3)"), a bullet, "Step 4:", 第五步 or 步骤6
    and say something; ``"lines"``: lines with a letter or digit; ``"sections"``: headings ("# ...", or a
    line all in bold) with text below. What was said before, in any case, with another number in front or
    other punctuation, does not count again. steps and lines never fall when a line is added; sections not
    when it is added at the end (higher up, it may part a heading from its text, or make two texts begin
    alike). It pays for form, not for thought: keep its weight small. Notes the number. ValueError:
    `full_at` under 1, unknown kind.

    >>> steps(4)("1. Add 2 and 2.\n2. Double it.\n3. Double it!")
    0.5
    """

    full_at: int
    _: KW_ONLY
    kind: Literal["steps", "lines", "sections"] = "steps"

    def score(self, completion: str) -> float:
        if self.kind == "sections":
            count = _sections(completion)
        else:
            pattern = _STEP if self.kind == "steps" else _LINE
            count = len({_said(match["said"]) for match in pattern.finditer(completion)} - {""})
        note(self.kind, count)
        return min(1.0, count / self.full_at)


FIRST_LINES = 20
"""Of a section, in which it says something or is none."""


def _sections(text: str) -> int:
    """How many headed sections there are: different titles over different beginnings of texts."""
    headings = list(_HEADING.finditer(text))
    titles, beginnings = set(), set()
    for heading, after in zip_longest(headings, headings[1:]):
        body = text[heading.end() : after.start() if after else len(text)].strip()
        lines = body.split("\n", FIRST_LINES)[:FIRST_LINES] if body else []
        first = next(filter(_said, lines), "")
        if first:
            titles.add(heading["marked"] or heading["bold"] or "")
            beginnings.add(first)
    return min(len(set(map(_said, titles)) - {""}), len(set(map(_said, beginnings))))
