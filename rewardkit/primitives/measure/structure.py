"""Measurement of structure: the steps, lines and sections of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import OfText
from rewardkit.primitives.texts import bare_words

_CHINESE_NUMBER = "[一二三四五六七八九十百0-9０-９]{1,4}"
_MARK = rf"""
    ^[ \t>]{{0,20}}+
    (?: [\#*_ \t]{{0,12}}+ (?i:step|步骤) [ \t]{{0,3}} {_CHINESE_NUMBER}
      (?!\w) [*_ \t:：.,、)\-–—]{{0,8}}+
      | [\#*_ \t]{{0,12}}+ 第 {_CHINESE_NUMBER} 步 [*_ \t:：.,，、)\-–—]{{0,8}}+
      | \*{{0,3}} [(（]? [0-9]{{1,3}} (?: [.)）] (?![0-9]) | [、．] ) \*{{0,3}}+ [ \t]*+
      | [-*+•·–—] [ \t]++ )
"""
_STEP = re.compile(rf"{_MARK} (?P<text>[^\n]*+)", re.MULTILINE | re.VERBOSE)
_LINE = re.compile(rf"(?:{_MARK}|^) (?P<text>[^\n]++)", re.MULTILINE | re.VERBOSE)
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
    r"""Number of different steps in the text, as a share of `full_at`; 1.0 from there on.

    ``kind="steps"``: lines that start with a number ("1.", "2)", "(3)"), a bullet,
    "Step 4:", 第五步 or 步骤6 and say something; ``"lines"``: lines with a letter or digit;
    ``"sections"``: headings ("# ...", or a line all in bold) with text below. What was
    said before, in any case, with another number in front or other punctuation, does
    not count again. steps and lines never fall when a line is added; sections not when
    it is added at the end (higher up, it may part a heading from its text, or make two
    texts begin alike). It pays for form, not for thought: keep its weight small. Notes
    the number. ValueError: `full_at` under 1, unknown kind.

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
            lines = (_STEP if self.kind == "steps" else _LINE).finditer(completion)
            count = _different(line["text"] for line in lines)
        note(self.kind, count)
        return min(1.0, count / self.full_at)


def _different(texts: Iterable[str]) -> int:
    """How many different texts there are, by their words; one without any counts for nothing."""
    return len({tuple(bare_words(text)) for text in texts} - {()})


FIRST_LINES = 20
"""Of a section, in which it says something or is none."""


def _sections(text: str) -> int:
    """How many headed sections there are: different titles over different beginnings of texts."""
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings), len(text)][1:]
    titles, beginnings = [], []
    for heading, end in zip(headings, ends, strict=True):
        lines = text[heading.end() : end].strip().split("\n", FIRST_LINES)[:FIRST_LINES]
        first = next(filter(bare_words, lines), None)
        if first is not None:
            titles.append(heading["marked"] or heading["bold"] or "")
            beginnings.append(first)
    return min(_different(titles), _different(beginnings))
