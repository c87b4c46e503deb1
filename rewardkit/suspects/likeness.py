"""Likeness of completions by their form: what stands where, not which words or which answer.

A completion is read as signs: its tags, fences, LaTeX commands and punctuation are kept, a number is
‹number›, a lone capital letter (an option) ‹letter›, words in a row are one ‹words›, and what comes three
times or more in a row is one sign, `…` and what is repeated. Its form is the set of its signs, of their
neighbours, and of what stands between two tags, lines or fences.
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

ALIKE = 0.48
"""Likeness from which on a completion is like another. Our choice: planted copies are above it."""
RARE = 30
"""One in so many completions is the least share that weighs: a rarer feature weighs as much. Our choice."""
LONG = 8
"""Signs between two tags from which on only that it is long counts. Our choice."""
LONGEST = 4_000
"""Characters of a completion that are read, half from either end. Our choice."""
TRAITS = 3
"""Traits that are told. Our choice."""
RARE_TRAIT = 0.2
"""Share of the completions below which a trait is rare, and told. Our choice."""

_SIGN = re.compile(
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
_EDGE = re.compile(r"(<[A-Za-z][\w-]{0,30}+[^<>\n]{0,60}+>)\s++|(?<!\s)\s++(?=</)")
_REPEATED = engine.compile(r"(?<!\S)((?:\S+ ){1,8}?)\1{2,}")  # re gives no group here
NO_BREAK = "\u00a0"
WORDS, NEWLINE = "\u2039words\u203a", "\u2039newline\u203a"
_STANDS_FOR = {"number": "\u2039number\u203a", "letter": "\u2039letter\u203a"}
_STANDS_FOR |= {"fence": "```", "word": WORDS, "line": NEWLINE}


@dataclass(frozen=True, eq=False)
class Likeness:
    """How much each completion is like one: `values` (rows,) from 0 to 1.

    `traits` are the rarest features of that one, with the share of the completions that have each: only those
    that fewer than `RARE_TRAIT` have.
    """

    values: NDArray[np.float64]
    traits: tuple[tuple[str, float], ...]


def likeness(completion: str, others: Sequence[str]) -> Likeness:
    """How much each of `others`, of which `completion` is one, is like it.

    The share of its features that another completion has, each weighted by how rare it is: the third power
    of the log of one over the share of completions that have it. What it alone has counts once in all. So
    what all have makes no likeness, and a rare form does, whatever its answer.

    >>> plain = [f"<think>{n} + 1 = {n + 1}.</think><answer>{n + 1}</answer>" for n in range(30)]
    >>> empty = [f"<think></think><answer>{n}</answer>" for n in range(3)]
    >>> (likeness(empty[0], plain + empty).values >= ALIKE).nonzero()[0]
    array([30, 31, 32])
    """
    own, total = form_of(completion), len(others)
    shared = {text: own & form_of(text) for text in dict.fromkeys(others)}
    count = Counter(feature for text in others for feature in shared[text])
    weight = {
        name: math.log((total + 1) / max(count[name], total / RARE, 1)) ** 3
        for name in own
    }
    alone = max((weight[name] for name in own if count[name] <= 1), default=0.0)
    whole = alone + sum(weight[name] for name in own if count[name] > 1)
    like = {
        text: min(1.0, sum(weight[name] for name in some) / whole)
        for text, some in shared.items()
    }
    share = {name: count[name] / total for name in own}
    rarest = sorted(own, key=lambda name: (share[name], len(name), name))[:TRAITS]
    traits = tuple((name, share[name]) for name in rarest if share[name] < RARE_TRAIT)
    return Likeness(np.array([like[text] for text in others]), traits)


def form_of(completion: str) -> frozenset[str]:
    """The features of a completion's form.

    >>> max(form_of("<answer>4 or 5</answer>"), key=len)
    'between <answer> and </answer>: ‹number› ‹words› ‹number›'
    """
    text = completion
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + text[-LONGEST // 2 :]
    signs = "".join(f"{sign} " for sign in _signs(text))
    signs = _REPEATED.sub(
        lambda match: f"\u2026{match[1].strip().replace(' ', NO_BREAK)} ", signs
    )
    order = ["^", *signs.split(" ")[:-1], "$"]
    pairs = (f"{left} {right}" for left, right in pairwise(order))
    return frozenset([*order, *pairs, *_places(order)])


def _signs(text: str) -> list[str]:
    """The signs of a text; a line break at the inner side of a tag is none."""
    found = ["^"]
    for match in _SIGN.finditer(_EDGE.sub(r"\1", text.strip())):
        kind = str(match.lastgroup)
        sign = (
            f"{match['tag'].lower()}>"
            if kind == "tag"
            else _STANDS_FOR.get(kind, match[0])
        )
        if sign != WORDS or found[-1] != WORDS:
            found.append(sign)
    return found[1:]


def _places(order: Sequence[str]) -> Iterator[str]:
    """What stands between two signs that are tags, fences, line breaks or an end."""
    left, between = order[0], list[str]()
    for sign in order[1:]:
        if sign not in (NEWLINE, "$", "```") and not (
            len(sign) > 2 and sign.startswith("<")
        ):
            between.append(sign)
            continue
        again = any(inner.startswith("\u2026") and len(inner) > 1 for inner in between)
        short = " ".join(between) or "nothing"
        told = "repetition" if again else short if len(between) <= LONG else "long"
        yield f"between {left} and {sign}: {told}"
        left, between = sign, []
