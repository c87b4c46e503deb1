"""Measurement of form: the tags of a completion against a small grammar of names, counts and nesting."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from itertools import permutations
from typing import Literal

from rewardkit.primitives.extract.tagged import tag_name, tag_tokens
from rewardkit.primitives.factories import STAR, OfText
from rewardkit.primitives.notes import note

__all__ = ["tags"]

Outside = Literal["anywhere", "before", "nowhere"]


@dataclass(eq=False)
class Rule:
    """A name of a grammar: in what it stands, and how often."""

    name: str  # in lower case
    parent: Rule | None
    count: str = ""  # as it is written
    least: int = 1
    most: float = 1

    @property
    def above(self) -> list[Rule | None]:
        """What it stands in, up to the text."""
        return [self.parent, *self.parent.above] if self.parent else [None]


_PART = re.compile(r"[()?*+]|\{[^{}]*\}|[^\s,(){}?*+]+|[{}]")
_COUNT = re.compile(r"\{(\d{1,6})(?:(,)(\d{1,6})?)?\}")
_COUNTS = {"?": (0, 1), "*": (0, math.inf), "+": (1, math.inf)}


@lru_cache(maxsize=256)
def _rules(names: tuple[str, ...]) -> list[Rule]:
    """The grammar that `names` write, each rule before those in it. ValueError: they write none."""
    found = [rule for written in names for rule in _read(written)]
    for rule, other in permutations(found, 2):
        if rule.name == other.name and rule.parent in other.above:
            raise ValueError(
                f"<{rule.name}> stands twice in the grammar, in places that cannot be told apart"
            )
    return found


def _read(written: str) -> list[Rule]:
    found: list[Rule] = []
    opened: list[Rule] = []
    named = counted = None  # the rule that a bracket may follow, and the one that a count may
    for part in _PART.findall(written):
        if part == "(" and named:
            opened.append(named)
            named = counted = None
        elif part == ")" and opened:
            named, counted = None, opened.pop()
            if found[-1] is counted:
                raise ValueError(f"{written!r} has a bracket that is empty or not closed")
        elif part[0] in "?*+{" and counted and not counted.count:
            counted.count, (counted.least, counted.most) = part, _count(part, written)
        else:
            tag_name("name", part)
            named = counted = Rule(part.lower(), opened[-1] if opened else None)
            found.append(named)
    if opened:
        raise ValueError(f"{written!r} has a bracket that is empty or not closed")
    if sum(rule.parent is None for rule in found) != 1:
        raise ValueError(f"{written!r} is not one name with what stands in it, such as 'plan(step+, note?)'")
    return found


def _count(text: str, written: str) -> tuple[int, float]:
    if text in _COUNTS:
        return _COUNTS[text]
    match = _COUNT.fullmatch(text)
    least = int(match[1]) if match else 0
    most = math.inf if match and match[2] else least
    most = int(match[3]) if match and match[3] else most
    if not match or most < least:
        raise ValueError(
            f"{text!r} in {written!r} is not a count; write it as '+', '?', '*', '{{2}}' or '{{1,3}}'"
        )
    return least, most


Token = tuple[int, int, bool]
"""Where a tag starts and ends, and whether it is a closing one."""

Pair = tuple[Token, Token]
"""An opening tag and the closing one behind it."""


def _judge(rules: list[Rule], tokens: dict[str, list[Token]], end: int) -> tuple[dict[Rule, str], list[Pair]]:
    """What is wrong with each rule that is required or there ("" if nothing), and the outermost pairs."""
    faults: dict[Rule, str] = {}
    pairs: dict[Rule | None, list[Pair]] = {None: [((-1, -1, False), (end + 1, end + 1, True))]}
    behind: dict[Pair, int] = {}  # where, in a pair, the tags that are right so far end
    held: Counter[str] = Counter()
    for rule in rules:
        pairs[rule] = []
        for pair in pairs[rule.parent]:
            every = tokens[rule.name]
            own = every[bisect_left(every, pair[0][1:2]) : bisect_left(every, pair[1][:1])]
            held[rule.name] += len(own)
            found, fault = _judged(rule, own, behind.get(pair, -1))
            pairs[rule] += found
            if own or rule.least:
                faults[rule] = faults.get(rule) or fault
            if own and not fault:
                behind[pair] = own[-1][1]
    for rule in rules:
        if rule.parent and len(tokens[rule.name]) > held[rule.name]:
            faults[rule] = faults.get(rule) or "stands outside of it"
        if rule.least and rule.parent in faults and not pairs[rule.parent]:
            faults[rule] = faults.get(rule) or "is missing"
    return faults, [pair for rule in rules if rule.parent is None for pair in pairs[rule]]


def _judged(rule: Rule, own: list[Token], position: int) -> tuple[list[Pair], str]:
    """The pairs of one rule, where its tags are pairs, and what is wrong with them ("" if nothing)."""
    if not own:
        return [], "is missing" if rule.least else ""
    closed = len([token for token in own if token[2]])
    opened = len(own) - closed
    pairs: list[Pair] = []
    if opened == closed and not any(token[2] for token in own[::2]):
        pairs = list(zip(own[::2], own[1::2], strict=True))
    if opened != closed or not rule.least <= opened <= rule.most:
        return pairs, f"is opened {opened} times and closed {closed} times"
    if not pairs:
        return [], f"is {'closed before it is opened' if own[0][2] else 'inside itself'}"
    return pairs, "does not follow the tag before it" if own[0][0] < position else ""


def _tokens(name: str, completion: str, opened: bool) -> list[Token]:
    """All tags of one name in the order of the text; `opened`: one more in front of it."""
    found: list[Token] = [(-1, 0, False)] if opened else []
    for match in tag_tokens(name).finditer(completion):
        start, end = match.span()
        closing = bool(match[1])
        found.append((start, end, closing))
        if not closing and completion[end - 2] == "/":  # <name/> is a pair
            found.append((start, end, True))
    return found


def _text_outside(completion: str, spans: list[tuple[int, int]], outside: Outside) -> str:
    """The first text that stands where `outside` allows none; "" where there is none."""
    position = 0
    for start, end in [*sorted(spans), (len(completion), len(completion))]:
        gap = completion[position : max(start, 0)].strip()
        if gap and (position or outside == "nowhere"):
            return gap
        position = max(position, end)
    return ""


@dataclass(frozen=True, repr=False, init=False)
class tags(OfText):
    """1.0 if the tags of a text are those of a grammar, else 0.0.

    A name stands as exactly one pair, one after the other in this order and none inside another; ``"step+"``,
    ``"note?"``, ``"call*"``, ``"step{2,5}"`` and ``"code{0}"`` (never) stand as often as they say, and
    ``"plan(goal, step+)"`` holds pairs of its own. Case, attributes and tags of other names do not matter;
    ``<name/>`` is an empty pair.

    Text outside the outermost pairs is allowed ``"anywhere"``, only ``"before"`` the first or ``"nowhere"``
    (`outside`). ``prefilled=True`` is for a chat template that ends the prompt with the first name's opening
    tag. ``partial=True`` gives the share of the names, required or there, of which all holds; text where none
    is allowed counts as one more. Notes what is wrong. ValueError: no name, one that cannot be a tag, a
    bracket or count that cannot be read, the same name where it cannot be told apart, an option that is no
    bool.

    >>> tags("think", "answer")("<think>2+2</think> <answer>4</answer>")
    1.0
    >>> tags("think", "answer", partial=True)("<think>2+2 <answer>4</answer>")
    0.5
    >>> tags("plan(step+)", "answer?", outside="nowhere")("<plan><step>a</step><step>b</step></plan> Done.")
    0.0
    """

    names: tuple[str, ...] = field(metadata=STAR)
    _: KW_ONLY
    partial: bool = False
    outside: Outside = "anywhere"
    prefilled: bool = False

    def __init__(
        self, *names: str, partial: bool = False, outside: Outside = "anywhere", prefilled: bool = False
    ) -> None:
        self._fill(names=names, partial=partial, outside=outside, prefilled=prefilled)

    def __post_init__(self) -> None:
        super().__post_init__()
        texts = [name for name in self.names if isinstance(name, str)]
        if not texts or len(texts) < len(self.names) or len({name.lower() for name in texts}) < len(texts):
            raise ValueError(
                f"tags takes one or more different names, such as tags('think', 'answer'); got {self.names!r}"
            )
        _rules(self.names)

    def score(self, completion: str) -> float:
        rules = _rules(self.names)
        opened = rules[0].name if self.prefilled else ""
        names = {rule.name for rule in rules}
        tokens = {name: _tokens(name, completion, name == opened) for name in names}
        judged, pairs = _judge(rules, tokens, len(completion))
        faults = [
            f"<{rule.name}>{f' in <{rule.parent.name}>' if rule.parent else ''} {fault}"
            for rule, fault in judged.items()
            if fault
        ]
        spans = [(first[0], last[1]) for first, last in pairs]
        stray = "" if self.outside == "anywhere" else _text_outside(completion, spans, self.outside)
        if stray:
            faults.append(f"text stands outside of the tags: {stray[:40]!r}")
        note("tags", faults or "as asked for")
        if not self.partial:
            return float(not faults)
        wanted = len(judged) + bool(stray)
        return (wanted - len(faults)) / wanted if wanted else 1.0
