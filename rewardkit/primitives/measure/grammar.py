"""Measurement of form: the tags of a completion against a small grammar of names, counts and nesting."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

import regex

from rewardkit.primitives.extract.tagged import tag_name, tag_tokens
from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import STAR, OfText, Texts

Outside = Literal["anywhere", "before", "nowhere"]
Span = tuple[int, int]


class Rule(NamedTuple):
    """A name of a grammar, in lower case: in which other it stands, and how often there."""

    name: str
    parent: str
    least: float
    most: float


_COUNT = r"([?*+]|\{\d{1,6}(?:,\d{0,6})?\})?"
_ITEM = (
    regex.compile(  # a name, how often it stands, and a bracket with what stands in it
        rf"\s*([^\s,(){{}}?*+]+){_COUNT}(\((?:[^()]|(?3))+\))?{_COUNT}\s*(?:,|$)"
    )
)


def _read(written: str, parent: str = "") -> Iterator[Rule]:
    """The rules that are written side by side, each before those in it. ValueError: they cannot be read."""
    end = 0
    while end < len(written) or not end:
        item = _ITEM.match(written, end)
        least, most = _counts(item[2] or item[4] or "{1}") if item else (1, 0)
        if item is None or (item[2] and item[4]) or most < least:
            raise ValueError(
                f"{written!r} cannot be read; write a name, how often it stands as '+', '?', '*', '{{2}}' or "
                "'{1,3}', and in a bracket what stands in it, such as 'plan(goal, step+)'"
            )
        name = tag_name("name", item[1]).lower()
        yield Rule(name, parent, least, most)
        if item[3]:
            yield from _read(item[3][1:-1], name)
        end = item.end()


def _counts(text: str) -> tuple[float, float]:
    if text in "?*+":
        return float(text == "+"), 1 if text == "?" else math.inf
    least, comma, most = text[1:-1].partition(",")
    return int(least), int(most) if most else math.inf if comma else int(least)


@lru_cache(maxsize=256)
def _grammar(names: tuple[str, ...]) -> list[Rule]:
    """The rules that `names` write. ValueError: they write none."""
    rules = [rule for written in names for rule in _read(written)]
    if len({rule.name for rule in rules}) < len(rules):
        raise ValueError(f"tags takes each name once; got {names!r}")
    return rules


def _judge(
    rules: list[Rule], completion: str, prefilled: bool
) -> tuple[dict[str, str], list[Span]]:
    """What is wrong with each name that is required or there ("" if nothing), and the outermost pairs."""
    faults: dict[str, str] = {}
    pairs: dict[str, list[Span]] = {
        "": [(-2, len(completion))]
    }  # where they stand as the grammar has it
    behind: dict[Span, int] = {}  # in a pair, where what is right so far ends
    for rule in rules:
        every, fault = _pairs(rule.name, completion, prefilled and rule is rules[0])
        pairs[rule.name] = []
        for place in pairs[rule.parent]:
            own = every[bisect_left(every, place[:1]) : bisect_left(every, place[1:])]
            pairs[rule.name] += own
            wrong_here = _fault(rule, own, behind.get(place, -1), place[1])
            if own and not wrong_here:
                behind[place] = own[-1][1]
            fault = fault or wrong_here
        if len(every) > len(pairs[rule.name]):
            fault = fault or f"stands outside of <{rule.parent}>"
        required = rule.least > 0 and (not rule.parent or rule.parent in faults)
        if required and not pairs[rule.parent]:
            fault = fault or "is missing"
        if required or every or fault:
            faults[rule.name] = fault
    return faults, [
        pair for rule in rules if not rule.parent for pair in pairs[rule.name]
    ]


def _fault(rule: Rule, own: list[Span], behind: int, end: int) -> str:
    """What is wrong with the pairs of a rule in one place ("" if nothing)."""
    if not rule.least <= len(own) <= rule.most:
        return f"stands {len(own)} times" if own else "is missing"
    if own and own[0][0] < behind:
        return "does not follow the tag before it"
    return f"is not closed in <{rule.parent}>" if own and own[-1][1] > end else ""


def _pairs(name: str, completion: str, prefilled: bool) -> tuple[list[Span], str]:
    """The pairs of a tag in the order of the text; none, and why, where a tag has no other."""
    found = [(-1, 0, False)] if prefilled else []
    for match in tag_tokens(name).finditer(completion):
        found.append((*match.span(), bool(match[1])))
        if not match[1] and match[0].endswith("/>"):
            found.append((*match.span(), True))
    opening, closing = found[::2], found[1::2]
    closed = sum(closes for _, _, closes in found)
    if 2 * closed != len(found):
        return [], f"is opened {len(found) - closed} times and closed {closed} times"
    if any(closes for _, _, closes in opening):
        return [], "is not closed where it is opened"
    return [
        (first[0], last[1]) for first, last in zip(opening, closing, strict=True)
    ], ""


@dataclass(frozen=True, repr=False, init=False)
class tags(OfText):
    """1.0 if the tags of a text are those of a grammar, else 0.0.

    A name stands as exactly one pair, one after the other in this order and none inside
    another; ``"step+"``, ``"note?"``, ``"call*"``, ``"step{2,5}"`` and ``"code{0}"``
    (never) stand as often as they say, and ``"plan(goal, step+)"`` holds pairs of its
    own. Case, attributes and tags of other names do not matter; ``<name/>`` is an empty
    pair.

    Text outside the outermost pairs is allowed ``"anywhere"``, only ``"before"`` the
    first or ``"nowhere"`` (`outside`). ``prefilled=True`` is for a chat template that
    ends the prompt with the first name's opening tag. ``partial=True`` gives the share
    of the names, required or there, of which all holds; text where none is allowed
    counts as one more. Notes what is wrong. ValueError: no name, one that cannot be a
    tag, a bracket or count that cannot be read, the same name where it cannot be told
    apart, an option that is no bool.

    >>> tags("think", "answer")("<think>2+2</think> <answer>4</answer>")
    1.0
    >>> tags("think", "answer", partial=True)("<think>2+2 <answer>4</answer>")
    0.5
    >>> tags("plan(step+)", "answer?", outside="nowhere")("<plan><step>a</step><step>b</step></plan> Done.")
    0.0
    """

    names: Texts = field(metadata=STAR)
    _: KW_ONLY
    partial: bool = False
    outside: Outside = "anywhere"
    prefilled: bool = False

    def __init__(
        self,
        *args: str,
        names: tuple[str, ...] = (),
        partial: bool = False,
        outside: Outside = "anywhere",
        prefilled: bool = False,
    ) -> None:
        self._fill(
            names=args or names, partial=partial, outside=outside, prefilled=prefilled
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.names:
            raise ValueError(
                "tags takes one or more names, such as tags('think', 'answer')"
            )
        _grammar(self.names)

    def score(self, completion: str) -> float:
        judged, pairs = _judge(_grammar(self.names), completion, self.prefilled)
        faults = [f"<{name}> {fault}" for name, fault in judged.items() if fault]
        stray = self._stray(completion, pairs)
        if stray:
            faults.append(f"text stands outside of the tags: {stray[:40]!r}")
        note("tags", faults or "as asked for")
        if not self.partial:
            return float(not faults)
        wanted = len(judged) + bool(stray)
        return (wanted - len(faults)) / wanted if wanted else 1.0

    def _stray(self, completion: str, pairs: list[Span]) -> str:
        """The first text that stands where `outside` allows none; "" where there is none."""
        position = 0
        for start, end in (
            [*sorted(pairs), (len(completion), 0)] if self.outside != "anywhere" else []
        ):
            gap = completion[position : max(start, 0)].strip()
            if gap and (position or self.outside == "nowhere"):
                return gap
            position = max(position, end)
        return ""
