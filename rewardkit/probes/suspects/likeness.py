"""Likeness of completions by their form: what stands where, not which words or which answer.

A completion is read as signs: its tags, fences, LaTeX commands and punctuation are kept, a number is `0`, a
lone capital letter (an option) `X`, words in a row are one `w`, and what comes three times or more in a row
is one sign, `…` and what is repeated. Of these are made four kinds of features, `PARTS`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

__all__ = ["ALIKE", "PARTS", "Likeness", "Shape", "likeness", "shape_of"]

ALIKE = 0.6
"""Likeness from which on a completion is like another. Our choice: copies that were planted are above."""
PARTS = {"places": 0.35, "order": 0.25, "counts": 0.15, "size": 0.15}
"""What each kind of features counts, before what it can tell. Our choice.

`places`: what stands between two tags, lines or fences: its signs, "long" above `LONG`, or "repetition".
`order`: signs and pairs of neighbours. `counts`: how often each sign comes, in powers of two. `size`: length
in halves of powers of two, how much of the text repeats in tenths, kinds of lines.
"""
TEXT = 0.15
"""What the likeness of the texts themselves counts, with digits as 0: the ratio of rapidfuzz. Our choice."""
RARE = 30
"""What fewer than one in so many completions have is as telling as if one had. Our choice."""
LONG = 8
"""Signs between two tags from which on only that it is long counts. Our choice."""
LONGEST = 4_000
"""Characters of a completion that are read, half from either end. Our choice."""
COMPARED = 2_000
"""Characters that rapidfuzz compares: it takes the square of their number."""
TOLD = 3
"""Traits that are told. Our choice."""
RARE_TRAIT = 0.2
"""Share of the completions under which a trait of one is rare, and told. Our choice: see `likeness`."""
_SAID = {
    "0": "\u2039number\u203a",
    "w": "\u2039words\u203a",
    "X": "\u2039letter\u203a",
    "\n": "\u2039line break\u203a",
}
"""What stands for many signs, as it is told: so that it is not read as the sign itself."""

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
_STANDS_FOR = {"fence": "```", "number": "0", "letter": "X", "word": "w", "line": "\n"}
_REPEATED = re.compile(r"(.)\1{2,}+|((.{1,23}?).)\2+\3", re.DOTALL)  # the last round may lack its last sign
_DIGITS = re.compile(r"\d+")
_LINES = (
    ("list", re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s")),
    ("heading", re.compile(r"\s*#{1,6}\s")),
    ("fence", re.compile(r"\s*(?:`{3}|~{3})")),
    ("quote", re.compile(r"\s*>")),
    ("table", re.compile(r"\s*\|")),
    ("tag", re.compile(r"\s*</?[A-Za-z]")),
    ("number", re.compile(r"\s*[-+$]?\d[\d.,]*+\s*$")),
    ("text", re.compile(r"\s*\S")),
)


@dataclass(frozen=True)
class Shape:
    """What is compared of a completion: its features by part, and its text with digits as 0."""

    parts: tuple[frozenset[str], ...]  # in the order of PARTS
    text: str


@dataclass(frozen=True, eq=False)
class Likeness:
    """How much each completion is like one: `values` (rows,) from 0 to 1.

    `traits` are the features of that one that are rarest among the completions, with the share that has each:
    only those that fewer than `RARE_TRAIT` of them have. What stands for many is in ‹ ›, as ‹number›.
    """

    values: NDArray[np.float64]
    traits: tuple[tuple[str, float], ...]


def likeness(completion: str, others: Sequence[str]) -> Likeness:
    """How much each of `others`, of which `completion` is one, is like it.

    Of each part the share of its features that another completion has, each counted by how rare it is (the
    log of one over the share of completions that have it; what it alone has counts once in all), then the
    mean over the parts, weighted by `PARTS` and by how rare the rarest feature of each is; and `TEXT` of the
    likeness of the texts. So what all have makes no likeness, and a rare form does, whatever its answer; one
    that a fifth of the completions have is told from the others less surely, as it is nothing rare.

    >>> plain = [f"<think>{n} + 1 = {n + 1}.</think><answer>{n + 1}</answer>" for n in range(30)]
    >>> empty = [f"<think></think><answer>{n}</answer>" for n in range(3)]
    >>> (likeness(empty[0], plain + empty).values >= ALIKE).nonzero()[0]
    array([30, 31, 32])
    """
    known = {text: shape_of(text) for text in dict.fromkeys([completion, *others])}
    one, shapes = known[completion], [known[text] for text in others]
    above, below = np.zeros(len(shapes)), 0.0
    traits: dict[str, float] = {}
    for part, weight in enumerate(PARTS.values()):
        own = one.parts[part]
        count = Counter(feature for shape in shapes for feature in shape.parts[part] & own)
        traits |= {feature: count[feature] / len(shapes) for feature in own}
        worth = {
            feature: math.log((len(shapes) + 1) / max(count[feature], len(shapes) / RARE, 1))
            for feature in own
        }
        alone = [worth[feature] for feature in own if count[feature] <= 1]
        whole = sum(worth[feature] for feature in own if count[feature] > 1) + max(alone, default=0.0)
        if whole:
            shared = {
                features: min(1.0, sum(worth[feature] for feature in own & features) / whole)
                for features in {shape.parts[part] for shape in shapes}
            }
            telling = weight * max(worth.values())
            above += telling * np.array([shared[shape.parts[part]] for shape in shapes])
            below += telling
    form = above / below if below else np.ones(len(shapes))
    text = process.cdist([one.text], [shape.text for shape in shapes], scorer=fuzz.ratio)[0] / 100
    rarest = sorted(traits, key=lambda feature: (traits[feature], len(feature), feature))[:TOLD]
    told = tuple((_said(name), traits[name]) for name in rarest if traits[name] < RARE_TRAIT)
    return Likeness((1 - TEXT) * form + TEXT * text, told)


def _said(feature: str) -> str:
    r"""A feature as a person reads it.

    >>> _said("between <answer> and </answer>: 0 w"), _said("\n <answer>"), _said("… 90 % w>")
    ('between <answer> and </answer>: ‹number› ‹words›', '‹line break› <answer>', '… 90 % w>')
    """
    return re.sub(r"(?<![^ \u2026])(?:[0wX](?![^ ])|\n(?![^ :]))", lambda match: _SAID[match[0]], feature)


def shape_of(completion: str) -> Shape:
    """The shape of a completion.

    >>> sorted(shape_of("<answer>4 or 5</answer>").parts[0])[1]
    'between <answer> and </answer>: 0 w 0'
    """
    text = completion
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + text[-LONGEST // 2 :]
    found = list(_signs(text))
    order = ["^", *_runs(found), "$"]
    pairs = (f"{left} {right}" for left, right in pairwise(order))
    times = ((sign, count) for sign, count in Counter(found).items() if count > 1)
    counts = (
        f"{1 << power} or more of {sign}" for sign, count in times for power in range(1, count.bit_length())
    )
    parts = (_places(order), [*order, *pairs], counts, _size(text, len(completion)))
    return Shape(tuple(map(frozenset, parts)), _DIGITS.sub("0", completion[:COMPARED]))


def _signs(text: str) -> Iterator[str]:
    """The signs of a text; a line break beside the inner side of a tag is none."""
    before, waiting = "\n", False
    for match in _SIGN.finditer(text):
        kind = str(match.lastgroup)
        sign = f"{match['tag'].lower()}>" if kind == "tag" else _STANDS_FOR.get(kind, match[0])
        if sign == "\n":
            waiting = before != "\n" and not _opens(before)
            continue
        if waiting and not sign.startswith("</"):
            yield "\n"
            before = "\n"
        waiting = False
        if sign != "w" or before != "w":
            yield sign
        before = sign


def _opens(sign: str) -> bool:
    return len(sign) > 2 and sign[0] == "<" and sign[1] != "/"


def _runs(signs: Sequence[str]) -> list[str]:
    """The signs, with what comes three times or more in a row as one: from its least beginning."""
    codes: dict[str, str] = {}
    for sign in signs:
        codes.setdefault(sign, chr(0x10000 + len(codes)))
    names = {code: sign for sign, code in codes.items()}
    text = "".join(codes[sign] for sign in signs)
    found: list[str] = []
    at = 0
    while match := _REPEATED.search(text, at):
        unit, end = match[1] or match[2], match.end()
        while end < len(text) and text[end] == text[end - len(unit)]:
            end += 1
        turned = min([names[code] for code in unit[start:] + unit[:start]] for start in range(len(unit)))
        found += [*(names[code] for code in text[at : match.start()]), f"\u2026{' '.join(turned)}"]
        at = end
    return [*found, *(names[code] for code in text[at:])]


def _places(order: Sequence[str]) -> Iterator[str]:
    """What stands between two signs that are tags, fences, line breaks or an end."""
    left, between = order[0], list[str]()
    for sign in order[1:]:
        if sign not in ("\n", "$", "```") and not (len(sign) > 2 and sign.startswith("<")):
            between.append(sign)
            continue
        again = any(inner.startswith("\u2026") and len(inner) > 1 for inner in between)
        short = " ".join(between) or "nothing"
        told = "repetition" if again else short if len(between) <= LONG else "long"
        yield f"between {left} and {sign}: {told}"
        left, between = sign, []


def _size(text: str, length: int) -> Iterator[str]:
    """Length, repetition and lines, as what it reaches and what it does not."""
    for half in range(2, 28):
        limit = round(2 ** (half / 2))
        yield f"{limit} characters or more" if length >= limit else f"under {limit} characters"
    words = _DIGITS.sub("0", text.lower()).split()
    threes = list(zip(words, words[1:], words[2:], strict=False))
    repeated = 1 - len(set(threes)) / len(threes) if threes else 0.0
    for tenth in range(1, 10):
        reached = repeated >= tenth / 10
        yield f"{tenth * 10} % or more repeats" if reached else f"under {tenth * 10} % repeats"
    kinds = [_line(line) for line in text.split("\n")]
    yield "lines: " + ", ".join(kind for kind, after in pairwise([*kinds, ""]) if kind != after and kind)


def _line(line: str) -> str:
    return next((kind for kind, pattern in _LINES if pattern.match(line)), "")
