"""Measurement of form: the tags of a completion against a small grammar of names, counts and nesting."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Literal

from rewardkit.primitives.extract.tagged import tag_name, tag_tokens
from rewardkit.primitives.factories import STAR, Primitive
from rewardkit.primitives.notes import note

__all__ = ["tags"]

Outside = Literal["anywhere", "before", "nowhere"]


@dataclass(frozen=True, eq=False)
class Rule:
    """A name of a grammar: how often it stands, in what, and what stands in it."""

    name: str  # in lower case
    least: int
    most: float
    parent: str = ""
    inner: tuple[Rule, ...] = ()

    def walk(self) -> Iterator[Rule]:
        """The rule and all below it."""
        yield self
        for rule in self.inner:
            yield from rule.walk()

    def said(self, fault: str) -> str:
        """The fault in a phrase."""
        return f"<{self.name}>{f' in <{self.parent}>' if self.parent else ''} {fault}"


_PART = re.compile(r"[()?*+]|\{[^{}]*\}|[^\s,(){}?*+]+|[{}]")
_COUNT = re.compile(r"\{(\d{1,6})(?:(,)(\d{1,6})?)?\}")
_COUNTS = {"": (1, 1), "?": (0, 1), "*": (0, math.inf), "+": (1, math.inf)}


@lru_cache(maxsize=256)
def _rules(names: tuple[str, ...]) -> tuple[Rule, ...]:
    """The grammar that the arguments of `tags` write. ValueError: they write none."""
    found: list[Rule] = []
    for written in names:
        parts = _PART.findall(written)[::-1]
        rules = _level(parts, "", written)
        if len(rules) != 1 or parts:
            raise ValueError(
                f"{written!r} is not one name with what stands in it, such as 'plan(step+, note?)'"
            )
        found += rules
    _check_places(tuple(found))
    return tuple(found)


def _level(parts: list[str], parent: str, written: str) -> tuple[Rule, ...]:
    """The rules up to the end of a bracket; `parts` is read from its end."""
    found: list[Rule] = []
    while parts and parts[-1] != ")":
        name = parts.pop()
        tag_name("name", name)
        count = parts.pop() if parts and parts[-1][0] in "?*+{" else ""
        inner: tuple[Rule, ...] = ()
        if parts and parts[-1] == "(":
            parts.pop()
            inner = _level(parts, name.lower(), written)
            if not inner or not parts or parts.pop() != ")":
                raise ValueError(f"{written!r} has a bracket that is empty or not closed")
            if not count and parts and parts[-1][0] in "?*+{":
                count = parts.pop()
        found.append(Rule(name.lower(), *_count(count, written), parent, inner))
    return tuple(found)


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


def _check_places(level: tuple[Rule, ...]) -> None:
    """Raise a ValueError where it cannot be said which rule a tag follows."""
    names = [rule.name for rule in level]
    below = {rule.name for parent in level for inner in parent.inner for rule in inner.walk()}
    for name in names:
        if names.count(name) > 1 or name in below:
            raise ValueError(f"<{name}> stands twice in the grammar, in places that cannot be told apart")
    for rule in level:
        _check_places(rule.inner)


Token = tuple[int, int, bool]
"""Where a tag starts and ends, and whether it is a closing one."""

Pair = tuple[Token, Token]
"""An opening tag and the closing one behind it."""


class _Reading:
    """What one completion holds of a grammar: the rules that are required or there, and what is wrong."""

    def __init__(self, tokens: dict[str, list[Token]]) -> None:
        self.tokens = tokens  # by name, in the order of the text
        self.wanted: dict[Rule, None] = {}
        self.faults: dict[Rule, str] = {}  # the first of each

    def fault(self, rule: Rule, fault: str) -> None:
        self.wanted[rule] = None
        self.faults.setdefault(rule, fault)

    def missing(self, rules: tuple[Rule, ...]) -> None:
        """Nothing can be right in what is not there."""
        for rule in rules:
            if rule.least:
                self.fault(rule, "is missing")
                self.missing(rule.inner)

    def between(self, name: str, start: int, end: int) -> list[Token]:
        """The tags of one name that start between two places."""
        tokens = self.tokens[name]
        if start < 0:  # the outermost level: all of them
            return tokens
        return tokens[bisect_left(tokens, start, key=_start) : bisect_left(tokens, end, key=_start)]

    def level(self, rules: tuple[Rule, ...], start: int, end: int) -> list[tuple[int, int]]:
        """Judge the rules of one level by the tags in it, and those below; the spans of their pairs."""
        position = start
        found: dict[Rule, list[Pair]] = {}
        for rule in rules:
            own = self.between(rule.name, start, end)
            if own or rule.least:
                self.wanted[rule] = None
            found[rule], fault = _judged(rule, own, position)
            if fault:
                self.fault(rule, fault)
            elif own:
                position = own[-1][1]
        nested = {rule: pairs for rule, pairs in found.items() if rule.inner}
        if nested:
            self.below(nested, start, end)
        return [(first[0], last[1]) for pairs in found.values() for first, last in pairs]

    def below(self, nested: dict[Rule, list[Pair]], start: int, end: int) -> None:
        """Judge what stands in the pairs of one level, and what should but stands outside of them."""
        held: Counter[str] = Counter()
        for rule, pairs in nested.items():
            names = {inner.name for inner in rule.walk()} - {rule.name}
            for first, last in pairs:
                self.level(rule.inner, first[1], last[0])
                for name in names:
                    held[name] += len(self.between(name, first[1], last[0]))
        for rule, pairs in nested.items():
            for inner in islice(rule.walk(), 1, None):
                if len(self.between(inner.name, start, end)) > held[inner.name]:
                    self.fault(inner, "stands outside of it")
            if not pairs and rule in self.wanted:
                self.missing(rule.inner)


def _start(token: Token) -> int:
    return token[0]


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


@lru_cache(maxsize=256)
def _names(rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """Every name of a grammar, once."""
    return tuple(dict.fromkeys(rule.name for outer in rules for rule in outer.walk()))


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
class tags(Primitive):
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

    def __call__(self, completion: str | None) -> float | None:
        if not isinstance(completion, str):
            return None
        rules = _rules(self.names)
        opened = rules[0].name if self.prefilled else ""
        reading = _Reading({name: _tokens(name, completion, name == opened) for name in _names(rules)})
        spans = reading.level(rules, -1, len(completion))
        faults = [rule.said(fault) for rule, fault in reading.faults.items()]
        stray = "" if self.outside == "anywhere" else _text_outside(completion, spans, self.outside)
        if stray:
            faults.append(f"text stands outside of the tags: {stray[:40]!r}")
        note("tags", faults or "as asked for")
        if not self.partial:
            return float(not faults)
        wanted = len(reading.wanted) + bool(stray)
        return (wanted - len(faults)) / wanted if wanted else 1.0
