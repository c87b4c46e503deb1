"""Measures of words: keywords, patterns, steps and sections, similarity."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from rapidfuzz import fuzz

from rewardkit.primitives.primitive import (
    PRINTED_NAMED,
    STAR,
    OfText,
    Primitive,
    Texts,
    note,
    share_by_mode,
)
from rewardkit.primitives.texts import (
    Expression,
    Seconds,
    bare_words,
    compile_expression,
    in_time,
    is_missing,
    normal_form,
    places_of_word,
    plain_quotes,
    words,
)

KeywordMode = Literal["share", "all", "any", "count"]


@dataclass(frozen=True, repr=False, init=False)
class keywords(OfText):
    """Score the share of the given words that occur as whole words.

    ``mode="all"`` or ``"any"`` gives 1.0 if all or any occur. ``mode="count"`` counts
    all occurrences together, with 1.0 at `full_at`; repeating one word earns that too.
    In other modes the number of occurrences does not matter.

    Words may contain spaces; case (unless ``case=True``), the kind of white space and
    the shape of quotes do not matter. Chinese and Japanese have no borders between
    words: such a word counts anywhere, also inside a longer one or behind a "not"
    (不正确 contains 正确). Numbers count whole ("5" is not in "5.2"). Notes the words
    that occur. ValueError: no word, the same twice, unknown mode, `full_at` without
    ``mode="count"`` or the reverse, `case` no bool.

    >>> keywords("first", "then", "so")("First this, then that; also those")
    0.6666666666666666
    >>> keywords("because", mode="count", full_at=4)("Because it is. Because I say so.")
    0.5
    """

    words: Texts = field(metadata=STAR)
    _: KW_ONLY
    mode: KeywordMode = "share"
    full_at: int | None = None
    case: bool = False

    def __init__(
        self,
        *args: str,
        words: tuple[str, ...] = (),
        mode: KeywordMode = "share",
        full_at: int | None = None,
        case: bool = False,
    ) -> None:
        self._fill(words=args or words, mode=mode, full_at=full_at, case=case)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.words:
            raise ValueError(
                "keywords takes one or more words, such as "
                "keywords('because', 'therefore')"
            )
        if (self.mode == "count") != (self.full_at is not None):
            raise ValueError(
                f"mode={self.mode!r} and full_at={self.full_at!r} do not go together; "
                "mode='count' needs full_at, the number of occurrences that earns 1.0, "
                "and no other mode has one"
            )

    def _normal(self, text: str) -> str:
        text = " ".join(plain_quotes(normal_form(text, "NFC")).split())
        return text if self.case else text.casefold()

    def score(self, completion: str) -> float:
        text = self._normal(completion)
        if self.full_at is not None:
            counts = {}
            for word in self.words:
                places = places_of_word(self._normal(word), text)
                counts[word] = len(list(places))
            note("keywords", counts)
            return min(1.0, sum(counts.values()) / self.full_at)
        occurring = []
        for word in self.words:
            if next(places_of_word(self._normal(word), text), None) is not None:
                occurring.append(word)
        note("keywords", occurring)
        return share_by_mode(len(occurring) / len(self.words), self.mode)


@dataclass(frozen=True, repr=False)
class regex(OfText):
    r"""Score 1.0 if a regular expression matches anywhere in the text, else 0.0.

    With ``mode="fullmatch"`` it must match the whole text, white space at the ends
    included. ``.`` does not match line breaks unless the expression starts with
    ``(?s)``. The `regex` engine stops after `timeout` seconds with a TimeoutError, so
    that the row ends as ``error`` and is not judged. ValueError at construction: the
    expression does not compile.

    >>> regex(r"^\d+$")("= 42"), regex(r"(?m)^\d+$")("=\n42")
    (0.0, 1.0)
    """

    expression: Expression
    _: KW_ONLY
    mode: Literal["search", "fullmatch"] = "search"
    timeout: Seconds = 1.0

    def score(self, completion: str) -> float:
        pattern = compile_expression(self.expression)
        find = pattern.search if self.mode == "search" else pattern.fullmatch
        return float(
            in_time(self, lambda: find(completion, timeout=self.timeout)) is not None
        )


_CHINESE_NUMBER = "[一二三四五六七八九十百0-9０-９]{1,4}"
_STEP_MARK = rf"""
    ^[ \t>]{{0,20}}+
    (?: [\#*_ \t]{{0,12}}+ (?i:step|步骤) [ \t]{{0,3}} {_CHINESE_NUMBER}
      (?!\w) [*_ \t:：.,、)\-–—]{{0,8}}+
      | [\#*_ \t]{{0,12}}+ 第 {_CHINESE_NUMBER} 步 [*_ \t:：.,，、)\-–—]{{0,8}}+
      | \*{{0,3}} [(（]? [0-9]{{1,3}} (?: [.)）] (?![0-9]) | [、．] ) \*{{0,3}}+ [ \t]*+
      | [-*+•·–—] [ \t]++ )
"""
_STEP_LINE = re.compile(rf"{_STEP_MARK} (?P<text>[^\n]*+)", re.MULTILINE | re.VERBOSE)
_ANY_LINE = re.compile(
    rf"(?:{_STEP_MARK}|^) (?P<text>[^\n]++)", re.MULTILINE | re.VERBOSE
)
_HEADING = re.compile(
    r"""
    ^[ ]{0,3}+
    (?: \#{1,6}+ [ \t]++ (?P<marked>[^\n]*+)
      | (?:\*\*|__) (?P<bold>[^\n*_]++) (?:\*\*|__) [:：]? [ \t]*+ $ )
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, repr=False)
class steps(OfText):
    r"""Score the number of different steps in the text: steps / `full_at`, at most 1.0.

    ``kind="steps"`` counts lines with text behind a number ("1.", "2)", "(3)"), a
    bullet, "Step 4:", 第五步 or 步骤6; ``"lines"`` counts lines with a letter or digit;
    ``"sections"`` counts headings ("# ...", or a line all in bold) with text below.
    Repeats do not count, even with another case, number or punctuation. The score for
    steps and lines never falls when a line is added. That for sections never falls when
    a line is added at the end (higher up, the line may separate a heading from its
    text, or give two sections the same beginning). The measure rewards form, not
    thought: keep its weight small. Notes the number. ValueError: `full_at` under 1,
    unknown kind.

    >>> steps(4)("1. Add 2 and 2.\n2. Double it.\n3. Double it!")
    0.5
    """

    full_at: int
    _: KW_ONLY
    kind: Literal["steps", "lines", "sections"] = "steps"

    def score(self, completion: str) -> float:
        if self.kind == "sections":
            count = _count_sections(completion)
        else:
            pattern = _STEP_LINE if self.kind == "steps" else _ANY_LINE
            lines = pattern.finditer(completion)
            count = _count_different(line["text"] for line in lines)
        note(self.kind, count)
        return min(1.0, count / self.full_at)


def _count_different(texts: Iterable[str]) -> int:
    """Count the texts with different words; ignore texts without words."""
    return len({tuple(bare_words(text)) for text in texts} - {()})


SECTION_LINES = 20
"""Lines at the start of a section that must contain its first words."""


def _count_sections(text: str) -> int:
    """Count the sections with different titles and different beginnings."""
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings), len(text)][1:]
    titles = []
    beginnings = []
    for heading, end in zip(headings, ends, strict=True):
        lines = text[heading.end() : end].strip().split("\n", SECTION_LINES)
        first = next(filter(bare_words, lines[:SECTION_LINES]), None)
        if first is not None:
            titles.append(heading["marked"] or heading["bold"] or "")
            beginnings.append(first)
    return min(_count_different(titles), _count_different(beginnings))


LONGEST_COMPARED = 20_000
"""Characters of each text to compare, at most: rapidfuzz takes quadratic time."""

LONGEST_PIECE = 1_000
"""Characters of a piece to search for, at most: rapidfuzz takes even longer here."""


@dataclass(frozen=True, repr=False)
class similarity(Primitive):
    """Score the similarity of prediction and ground truth, by rapidfuzz.

    It is 1.0 if the texts (or their sets of words) are the same. "ratio" compares the
    texts, "token_sort" their words in any order, "token_set" their sets of words,
    "partial" the best-fitting piece. The last two give 1.0 for any text that contains
    the truth, a hole that a policy finds. In Chinese and Japanese each character is a
    word. A prediction of ``None`` scores 0.0, a missing truth is not judged.
    ValueError: unknown method.

    In long texts the first 20,000 characters are compared (with "partial" the first
    1,000 of the shorter text); the rest counts as different.

    >>> similarity()("kitten", "sitten")
    0.8333333333333335
    """

    method: Literal["ratio", "partial", "token_sort", "token_set"] = field(
        default="ratio", metadata=PRINTED_NAMED
    )

    def __call__(self, prediction: Any, ground_truth: Any) -> float | None:
        if is_missing(ground_truth):
            return None
        if prediction is None:
            return 0.0
        texts = (str(prediction), str(ground_truth))
        a, b = sorted(texts, key=lambda text: (len(text), text))
        if a == b:
            return 1.0
        long = b[:LONGEST_COMPARED]
        if self.method == "partial":
            short = a[:LONGEST_PIECE]
            return fuzz.partial_ratio(short, long) / 100.0 * len(short) / max(1, len(a))
        short = a[:LONGEST_COMPARED]
        share = (len(short) + len(long)) / max(1, len(a) + len(b))
        if self.method == "ratio":
            return float(fuzz.ratio(short, long) / 100.0 * share)
        # With spaces between words, as Chinese has none.
        short = " ".join(words(short))
        long = " ".join(words(long))
        ratio = getattr(fuzz, f"{self.method}_ratio")
        return float(ratio(short, long) / 100.0 * share)
