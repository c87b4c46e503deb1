"""Texts for regular expressions: such as they match, and such as they are slow on.

The latter repeat what an expression repeats; whether it is slow on them is measured.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from operator import call, methodcaller
from typing import Any

from rewardkit.probes.code.constants import Pattern
from rewardkit.workers.pool import DeadlinePassed, Lost, Workers

TIMED_LENGTHS = (40, 1_000)
"""Characters of the timed texts. 40 are enough for most exponential patterns, 1,000
for the others and for cubic ones; quadratic ones are fast on both. Our choice."""

LONGEST_TEXT = 5_000
"""Characters of the longest text: a reward may take longer on it still. Our choice."""

SLOW_SECONDS = 0.15
"""Processor time that makes a search slow. Our choice: most take a thousandth of it."""

MANY_REPEATS = 8
"""Largest count of a repeated part that is tried. Our choice."""

LONGEST_PART = 60
"""Characters of a repeated part. Our choice."""

MOST_PARTS = 400
"""Parts of one pattern that are tried. Our choice."""

MOST_GROUPS = 60
"""Brackets in a pattern; one with more is not read. Our choice."""

MOST_SLOW_PARTS = 2
"""Slow parts of one pattern that are given. Our choice."""

USUAL_CHARACTERS = "a0A !\n\t_,<{é\r"
"""Characters that are tried besides those that stand in the pattern."""

ENDINGS = ("", "!", "\n!", "\0")
"""Endings that may make the rest of a pattern fail."""

READ_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII

TOKEN = re.compile(
    r"""(?P<times>(?:[*+?]|\{(?:\d+(?:,\d*)?|,\d*)\})[+?]?)
    |(?P<look>\(\?<?[=!])
    |(?P<group>\((?:\?(?:P?<\w+>|P=\w+|>|\(\w+\)|\#[^)]*|[a-zA-Z-]*(?::|(?=\)))))?)
    |(?P<anchor>[$^]|\\[AbBzZ]|\\[1-9]\d?)
    |(?P<item>\[\^?\]?(?:\\.|[^\]\\])*\]|\\x..|\\u.{4}|\\U.{8}|\\0\d*|\\?.)""",
    re.DOTALL | re.VERBOSE,
)
COMMENTS = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s|#.*", re.DOTALL)
"""White space and comments of a verbose pattern, and what may not be taken for them."""

CONTROL_CHARACTERS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True)
class Node:
    """One part of a pattern with its counts: a single character or a group.

    `source` is the text of a part that takes one character, such as `[a-z]`; a group
    has `branches` instead. A look-around takes no text.
    """

    source: str
    branches: tuple[tuple[Node, ...], ...] = ()
    least: int = 1
    most: int = 1
    is_look: bool = False


Nodes = Sequence[Node]


def slow_texts(patterns: Iterable[Pattern]) -> Iterator[str]:
    """Yield texts on which a pattern takes too long.

    Each is timed in a process that is ended when its time is over. The shortest length
    at which a repeated part is slow is given first.

    Args:
        patterns: Compiled patterns of `re` or `regex`; one that `re` cannot read has no
            such texts.

    Yields:
        Texts of about 40 to 5,000 characters.
    """
    with Workers(seconds=10 * SLOW_SECONDS, cpu_seconds=SLOW_SECONDS) as workers:
        for pattern in patterns:
            pumps = _find_pumps(pattern)
            for place, length in enumerate(TIMED_LENGTHS):
                slow = _time_pumps(workers, pattern, pumps, length)
                if slow:
                    lengths = (*TIMED_LENGTHS[place:], LONGEST_TEXT)
                    for longer, pump, end in product(lengths, sorted(slow), ENDINGS):
                        yield _pumped(pump, longer, end)
                    break


Pump = tuple[str, str]
"""What stands before a repeated part, and the part."""


def _time_pumps(
    workers: Workers, pattern: Pattern, pumps: Sequence[Pump], length: int
) -> set[Pump]:
    """Find the first pumps that are slow at a length, with any ending."""
    methods = ("search", "fullmatch")
    calls = [
        (methodcaller(method, _pumped(pump, length, end)), pattern)
        for end, method, pump in product(ENDINGS, methods, pumps)
    ]
    answers = workers.map(call, calls)  # a function whose import takes no time
    late = filter(_is_late, answers)
    return {pumps[place % len(pumps)] for place, _ in islice(late, MOST_SLOW_PARTS)}


def _is_late(answer: tuple[int, Any]) -> bool:
    return isinstance(answer[1], Lost) and isinstance(answer[1].error, DeadlinePassed)


def _pumped(pump: Pump, length: int, end: str) -> str:
    """Write the prefix, then the part until it has this length, then the ending."""
    prefix, part = pump
    return prefix + part * -(-length // len(part)) + end


def _find_pumps(pattern: Pattern) -> list[Pump]:
    """Find what to repeat in texts for a pattern."""
    nodes = _parse_pattern(pattern.pattern, pattern.flags & READ_FLAGS)
    alphabet = tuple(dict.fromkeys([*USUAL_CHARACTERS, *_literals(nodes)]))
    pumps = (pump for pump in _repeated_parts(nodes, "", alphabet) if pump[1])
    return list(islice(dict.fromkeys(pumps), MOST_PARTS))


# --- reading a pattern


def _parse_pattern(pattern: str, flags: int = 0) -> Nodes:
    """Read a pattern into nodes; one that `re` refuses has none."""
    if pattern.count("(") > MOST_GROUPS:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError, ValueError):
        return ()
    if compiled.flags & re.VERBOSE:
        pattern = COMMENTS.sub(r"\1", pattern)
    branches = _read_branches(TOKEN.finditer(pattern))
    return branches[0] if len(branches) == 1 else (Node("", branches),)


def _read_branches(tokens: Iterator[re.Match[str]]) -> tuple[tuple[Node, ...], ...]:
    """Read alternatives up to the bracket that closes them."""
    branches: list[list[Node]] = [[]]
    for token in tokens:
        nodes, text = branches[-1], token[0]
        match token.lastgroup:
            case "times" if nodes:
                least, most = _read_counts(text)
                nodes[-1] = replace(nodes[-1], least=least, most=most)
            case "group" | "look" as kind:
                inner = _read_branches(tokens)
                nodes.append(Node("", inner, is_look=kind == "look"))
            case "item" if text == "|":
                branches.append([])
            case "item" if text == ")":
                break
            case "item":
                nodes.append(Node(text))
    return tuple(tuple(branch) for branch in branches)


def _read_counts(text: str) -> tuple[int, int]:
    """Read a quantifier such as `*`, `+?` or `{2,5}`."""
    if text[0] in "*+?":
        return int(text[0] == "+"), 1 if text[0] == "?" else sys.maxsize
    low, comma, high = text.rstrip("+?")[1:-1].partition(",")
    least = int(low or 0)
    if high:
        return least, int(high)
    return least, sys.maxsize if comma else least


def _nested(nodes: Nodes) -> Iterator[Nodes]:
    """Yield a sequence of nodes and all sequences in it."""
    yield nodes
    for node in nodes:
        for branch in node.branches:
            yield from _nested(branch)


def _literals(nodes: Nodes) -> Iterator[str]:
    """Yield the characters that a pattern names, ends of ranges among them."""
    for node in chain.from_iterable(_nested(nodes)):
        yield from _characters_in(node.source)


def _characters_in(source: str) -> Iterator[str]:
    """Yield the characters that a one-character part names."""
    if len(source) > 1 and source[0] == "[":
        for token in TOKEN.finditer(source[1:-1].removeprefix("^")):
            yield from _characters_in(token[0])
    elif len(source) > 1 and source[1] in "xuU":
        yield chr(int(source[2:], 16))
    elif len(source) > 1 and source[1] == "0":
        yield chr(int(source[1:], 8))
    elif len(source) > 1 and source[1].isalnum():
        yield from CONTROL_CHARACTERS.get(source[1], "")
    elif source != ".":
        yield source[-1:]


# --- writing texts


def _repeated_parts(
    nodes: Nodes, prefix: str, alphabet: Sequence[str]
) -> Iterator[Pump]:
    """Yield what a pattern repeats, with a text that leads there."""
    for node in nodes:
        if node.most >= MANY_REPEATS:
            for part in _sample_parts((replace(node, least=1, most=1),), alphabet):
                yield prefix, part
        for branch in node.branches:
            yield from _repeated_parts(branch, prefix, alphabet)
        prefix += _sample((node,))


def _sample_parts(body: Nodes, alphabet: Sequence[str]) -> list[str]:
    """Write single characters, and texts that a body, or a part of it, matches."""
    samples = [
        _sample(nodes, character, full=full)
        for nodes, full, character in product(_nested(body), (False, True), alphabet)
    ]
    parts = dict.fromkeys([*alphabet, *samples])
    return [part for part in parts if len(part) <= LONGEST_PART]


def _sample(nodes: Nodes, prefer: str = "", *, full: bool = False) -> str:
    """Write a short text that nodes match, of the character `prefer` where possible.

    With `full`, each optional part is there once.
    """
    text = ""
    for node in nodes:
        if node.is_look:
            continue
        once = _sample_once(node, prefer, full)
        times = max(node.least, int(full and node.most > 0))
        text += (once * min(times, LONGEST_PART))[: LONGEST_PART + 1]
    return text


def _sample_once(node: Node, prefer: str, full: bool) -> str:
    """Write a short text that a node matches once, whatever its counts."""
    if node.branches:
        texts = [_sample(branch, prefer, full=full) for branch in node.branches]
        return min(texts, key=lambda text: (prefer not in text, len(text)))
    named = tuple(_characters_in(node.source))
    if len(named) == 1 and node.source[0] != "[":
        return named[0]
    candidates: list[str] = [prefer, *named, *USUAL_CHARACTERS]
    for character in candidates:
        if character and re.fullmatch(node.source, character):
            return character
    return ""


def samples(pattern: str) -> list[str]:
    """Write texts that a pattern matches: shortest, fullest, and each alternative.

    >>> samples(r"step (one|two)s?")
    ['step one', 'step ones', 'one', 'two']
    """
    nodes = _parse_pattern(pattern)
    texts = [_sample(nodes), _sample(nodes, full=True)]
    for node in chain.from_iterable(_nested(nodes)):
        choices = [_sample(branch) for branch in node.branches]
        if len(choices) > 1 and any(len(text) > 1 for text in choices):
            texts += choices
    return list(dict.fromkeys(filter(None, texts)))
