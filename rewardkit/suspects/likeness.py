"""Likeness of completions by their form: what stands where, not which words or answer.

A completion is read as signs: its tags, fences, LaTeX commands and punctuation are
kept, a number is ‹number›, a lone capital letter (an option) ‹letter›, words in a row
are one ‹words›, and what comes three times or more in a row is one sign, `…` and what
is repeated. Its form is the set of its signs, of pairs of neighbours, and of what
stands between two tags, lines or fences.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import regex as engine
from numpy.typing import NDArray

LEAST_LIKENESS = 0.48
"""Likeness from which a completion is like another one.

Our choice: planted copies are above it.
"""
LEAST_WEIGHED_SHARE = 1 / 30
"""Share of the completions below which a rarer feature weighs no more. Our choice."""
LONG_PLACE = 8
"""Signs between two tags from which only counts that it is long. Our choice."""
LONGEST_READ = 4_000
"""Characters of a completion that are read, half from either end. Our choice."""
MOST_TRAITS = 3
"""Traits that are reported. Our choice."""
LEAST_RARE_SHARE = 0.2
"""Share of the completions below which a trait is rare. Our choice."""

_SIGN_PATTERN = re.compile(
    r"""(?P<tag></?[A-Za-z][\w-]{0,30}+)[^<>\n]{0,60}+>
      | (?P<fence>`{3,}+|~{3,}+)
      | (?P<kept>\\[A-Za-z]{1,20}+)
      | (?P<number>\d++(?:[.,]\d++)*+)
      | (?P<letter>(?<!\w)[A-HJ-Z](?!\w))
      | (?P<word>\w++(?:['\u2019-]\w++)*+)
      | (?P<line>\n\s*+)
      | (?P<other>[^\w\s])""",
    re.VERBOSE,
)
_TAG_EDGE = re.compile(r"(<[A-Za-z][\w-]{0,30}+[^<>\n]{0,60}+>)\s++|(?<!\s)\s++(?=</)")
_REPEATED = engine.compile(r"(?<!\S)((?:\S+ ){1,8}?)\1{2,}")  # re gives no group here
_NO_BREAK = "\u00a0"
_ELLIPSIS = "\u2026"
_WORDS_SIGN, _NEWLINE_SIGN = "\u2039words\u203a", "\u2039newline\u203a"
_SIGNS_BY_KIND = {
    "number": "\u2039number\u203a",
    "letter": "\u2039letter\u203a",
    "fence": "```",
    "word": _WORDS_SIGN,
    "line": _NEWLINE_SIGN,
}


@dataclass(frozen=True, eq=False)
class Likeness:
    """How much each completion is like one of them: `values` (rows,) from 0 to 1.

    `traits` are the rarest features of that one, with the share of completions that
    have each; only features that fewer than `LEAST_RARE_SHARE` have.
    """

    values: NDArray[np.float64]
    traits: tuple[tuple[str, float], ...]


def measure_likeness(completion: str, others: Sequence[str]) -> Likeness:
    """Measure how much each of `others`, `completion` among them, is like it.

    The share of its features that another one has, each weighted by how rare it is: the
    third power of the log of one over the share of completions that have it. Features
    that it alone has count once in all. So what all have makes no likeness, and a rare
    form does, whatever its answer.

    >>> plain = [f"<think>{n} + 1.</think><answer>{n + 1}</answer>" for n in range(30)]
    >>> empty = [f"<think></think><answer>{n}</answer>" for n in range(3)]
    >>> likeness = measure_likeness(empty[0], plain + empty)
    >>> (likeness.values >= LEAST_LIKENESS).nonzero()[0]
    array([30, 31, 32])
    """
    own, total = read_form(completion), len(others)
    shared = {text: own & read_form(text) for text in dict.fromkeys(others)}
    counts = Counter(feature for text in others for feature in shared[text])
    weights = {}
    for name in own:
        weighed = max(counts[name], total * LEAST_WEIGHED_SHARE, 1)
        weights[name] = math.log((total + 1) / weighed) ** 3
    alone = [weights[name] for name in own if counts[name] <= 1]
    whole = max(alone, default=0.0)
    whole += sum(weights[name] for name in own if counts[name] > 1)
    values = {}
    for text, features in shared.items():
        values[text] = min(1.0, sum(weights[name] for name in features) / whole)
    share = {name: counts[name] / total for name in own}
    rarest = sorted(own, key=lambda name: (share[name], len(name), name))[:MOST_TRAITS]
    traits = tuple(
        (name, share[name]) for name in rarest if share[name] < LEAST_RARE_SHARE
    )
    return Likeness(np.array([values[text] for text in others]), traits)


def read_form(completion: str) -> frozenset[str]:
    """Read the features of a completion's form.

    >>> max(read_form("<answer>4 or 5</answer>"), key=len)
    'between <answer> and </answer>: ‹number› ‹words› ‹number›'
    """
    text = completion
    if len(text) > LONGEST_READ:
        text = text[: LONGEST_READ // 2] + text[-LONGEST_READ // 2 :]
    line = "".join(f"{sign} " for sign in _read_signs(text))
    signs = ["^", *_REPEATED.sub(_as_one_sign, line).split(" ")[:-1], "$"]
    pairs = (f"{left} {right}" for left, right in pairwise(signs))
    return frozenset([*signs, *pairs, *_read_places(signs)])


def _as_one_sign(match: engine.Match[str]) -> str:
    return f"{_ELLIPSIS}{match[1].strip().replace(' ', _NO_BREAK)} "


def _read_signs(text: str) -> list[str]:
    """Read the signs of a text; a line break at the inner side of a tag is none."""
    signs = ["^"]
    for match in _SIGN_PATTERN.finditer(_TAG_EDGE.sub(r"\1", text.strip())):
        kind = str(match.lastgroup)
        sign = _SIGNS_BY_KIND.get(kind, match[0])
        if kind == "tag":
            sign = f"{match['tag'].lower()}>"
        if sign != _WORDS_SIGN or signs[-1] != _WORDS_SIGN:
            signs.append(sign)
    return signs[1:]


def _read_places(signs: Sequence[str]) -> Iterator[str]:
    """Yield what stands between two tags, fences, line breaks or ends."""
    left, between = signs[0], list[str]()
    for sign in signs[1:]:
        is_tag = len(sign) > 2 and sign.startswith("<")
        if not is_tag and sign not in (_NEWLINE_SIGN, "$", "```"):
            between.append(sign)
            continue
        content = " ".join(between) or "nothing"
        if any(inner.startswith(_ELLIPSIS) and len(inner) > 1 for inner in between):
            content = "repetition"
        elif len(between) > LONG_PLACE:
            content = "long"
        yield f"between {left} and {sign}: {content}"
        left, between = sign, []
