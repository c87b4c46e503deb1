"""Texts that regular expressions match, and texts on which they are slow.

A slow text repeats a part that the expression repeats; its slowness is measured.
"""

from __future__ import annotations

import re
import re._compiler as compiler  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from operator import call, itemgetter, methodcaller
from string import ascii_letters, digits
from typing import Any

from rewardkit.probes.code.constants import Pattern
from rewardkit.workers.pool import DeadlinePassed, Lost, Workers

TIMED_LENGTHS = (40, 1_000)
"""Characters of the timed texts. 40 are enough for most exponential patterns, 1,000
for the others and for cubic ones; quadratic ones are fast on both. Our choice."""

LONGEST_TEXT = 5_000
"""Characters of the longest text, on which a reward may take longer. Our choice."""

SLOW_SECONDS = 0.15
"""Processor time that makes a search slow. Our choice: most take a thousandth of it."""

MANY_REPEATS = 8
"""Allowed repeats from which a repeated part may be slow. Our choice."""

LONGEST_PATTERN_PART = 60
"""Characters of a repeated part. Our choice."""

MOST_PARTS = 400
"""Parts of one pattern that are tried. Our choice."""

MOST_GROUPS = 60
"""Brackets in a pattern; a pattern with more is not read. Our choice."""

MOST_ALTERNATIVES, MOST_SPELLINGS = 12, 40
"""Most members of a class that are alternatives, and most texts of a pattern. Our
choice."""

MOST_SLOW_PARTS = 2
"""Slow parts of one pattern that are returned. Our choice."""

USUAL_CHARACTERS = "a0A !\n\t_,<{é\r"
"""Characters that are tried besides those in the pattern."""

ENDINGS = ("", "!", "\n!", "\0")
"""Endings that may make the rest of a pattern fail."""

READ_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII


@dataclass(frozen=True)
class Node:
    """A part of a pattern with its counts: a single character or a group.

    Attributes:
        character: Matches the single character; None for a group.
        names: The characters that the pattern names for it.
        branches: The alternatives of a group.
        least: The smallest number of repeats.
        most: The largest number of repeats.
        is_look: Whether it is a look-around, which consumes no text.
        is_captured: Whether it is a capturing group.
    """

    character: re.Pattern[str] | None = None
    names: str = ""
    branches: tuple[tuple[Node, ...], ...] = ()
    least: int = 1
    most: int = 1
    is_look: bool = False
    is_captured: bool = False


Nodes = Sequence[Node]


def slow_texts(patterns: Iterable[Pattern]) -> Iterator[str]:
    """Yield texts on which a pattern takes too long.

    Each search is timed in a process that is killed when its time is over. The shortest
    length at which a repeated part is slow comes first.

    Args:
        patterns: Compiled patterns of `re` or `regex`. A pattern that `re` cannot read
            has no such texts.

    Yields:
        Texts of about 40 to 5,000 characters.
    """
    with Workers(seconds=10 * SLOW_SECONDS, cpu_seconds=SLOW_SECONDS) as workers:
        for pattern in patterns:
            yield from _slow_texts_of(pattern, workers)


Pump = tuple[str, str]
"""The text before a repeated part, and the part."""


def _slow_texts_of(pattern: Pattern, workers: Workers) -> Iterator[str]:
    """Yield the texts of one pattern, from the first length at which a part is slow."""
    pumps = _find_pumps(pattern)
    for place, length in enumerate(TIMED_LENGTHS):
        slow = _time_pumps(workers, pattern, pumps, length)
        if slow:
            lengths = (*TIMED_LENGTHS[place:], LONGEST_TEXT)
            for longer, pump, end in product(lengths, sorted(slow), ENDINGS):
                yield _pumped(pump, longer, end)
            return


def _find_pumps(pattern: Pattern) -> list[Pump]:
    """Find the repeated parts of a pattern, with texts of the characters it names."""
    nodes = _parse_pattern(pattern.pattern, pattern.flags & READ_FLAGS)
    names = (node.names for node in chain.from_iterable(_nested(nodes)))
    alphabet = tuple(dict.fromkeys(chain(USUAL_CHARACTERS, *names)))
    repeated = dict.fromkeys(_repeated_parts(nodes, "", alphabet))
    return list(islice(filter(itemgetter(1), repeated), MOST_PARTS))


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
    late = (
        place
        for place, answer in answers
        if isinstance(answer, Lost) and isinstance(answer.error, DeadlinePassed)
    )
    return {pumps[place % len(pumps)] for place in islice(late, MOST_SLOW_PARTS)}


def _pumped(pump: Pump, length: int, end: str) -> str:
    """Write the prefix, then the part until it has this length, then the ending."""
    prefix, part = pump
    return prefix + part * -(-length // len(part)) + end


# --- reading a pattern


def _parse_pattern(pattern: str, flags: int = 0) -> Nodes:
    """Parse a pattern into nodes; return none if `re` refuses it."""
    if pattern.count("(") > MOST_GROUPS:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _read_parts(parser.parse(pattern, flags))
    except (re.error, RecursionError, OverflowError, ValueError):
        return ()


def _read_parts(parts: Any) -> tuple[Node, ...]:
    """Convert a parsed pattern to nodes, without anchors and references."""
    nodes = []
    for place, (operator, value) in enumerate(parts):
        match str(operator):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = value
                node = _group(_read_parts(inner))
                nodes.append(replace(node, least=least, most=int(most)))
            case "SUBPATTERN":
                node = _group(_read_parts(value[-1]))
                nodes.append(replace(node, is_captured=value[0] is not None))
            case "ATOMIC_GROUP":
                nodes.append(_group(_read_parts(value)))
            case "BRANCH":
                nodes.append(Node(branches=tuple(map(_read_parts, value[1]))))
            case "ASSERT" | "ASSERT_NOT":
                nodes.append(Node(branches=(_read_parts(value[1]),), is_look=True))
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                pattern = compiler.compile(parts[place : place + 1])
                nodes.append(Node(pattern, "".join(_names_of(operator, value))))
    return tuple(nodes)


def _group(nodes: tuple[Node, ...]) -> Node:
    """Return the one character without counts, or a group of all nodes."""
    if len(nodes) == 1:
        (node,) = nodes
        if node.character and node.least == node.most == 1:
            return node
    return Node(branches=(nodes,))


def _names_of(operator: Any, value: Any) -> Iterator[str]:
    """Yield the characters that a one-character part names, and ends of ranges."""
    match str(operator):
        case "LITERAL" | "NOT_LITERAL":
            yield chr(value)
        case "RANGE":
            yield from map(chr, value)
        case "IN":
            for inner in value:
                yield from _names_of(*inner)


def _nested(nodes: Nodes) -> Iterator[Nodes]:
    """Yield a sequence of nodes and all sequences in it."""
    yield nodes
    for node in nodes:
        for branch in node.branches:
            yield from _nested(branch)


# --- writing texts


def _repeated_parts(
    nodes: Nodes, prefix: str, alphabet: Sequence[str]
) -> Iterator[Pump]:
    """Yield the repeated parts of a pattern, each with a text that leads there."""
    for node in nodes:
        if node.most >= MANY_REPEATS:
            for part in _sample_parts((replace(node, least=1, most=1),), alphabet):
                yield prefix, part
        for branch in node.branches:
            yield from _repeated_parts(branch, prefix, alphabet)
        prefix += _sample((node,))


def _sample_parts(body: Nodes, alphabet: Sequence[str]) -> list[str]:
    """Write single characters, and texts that a body or a part of it matches."""
    samples = [
        _sample(nodes, character, full=full)
        for nodes, full, character in product(_nested(body), (False, True), alphabet)
    ]
    parts = dict.fromkeys([*alphabet, *samples])
    return [part for part in parts if len(part) <= LONGEST_PATTERN_PART]


def _sample(nodes: Nodes, prefer: str = "", *, full: bool = False) -> str:
    """Write a short text that nodes match, of the character `prefer` if possible.

    With `full`, each optional part occurs once.
    """
    text = ""
    for node in nodes:
        if node.is_look:
            continue
        once = _sample_once(node, prefer, full)
        times = max(node.least, int(full))
        text += (once * min(times, LONGEST_PATTERN_PART))[: LONGEST_PATTERN_PART + 1]
    return text


def _sample_once(node: Node, prefer: str, full: bool) -> str:
    """Write a short text that a node matches once, ignoring its counts."""
    if node.branches:
        texts = [_sample(branch, prefer, full=full) for branch in node.branches]
        return min(texts, key=lambda text: (prefer not in text, len(text)))
    if node.character is not None:
        for text in chain([prefer], node.names, USUAL_CHARACTERS):
            if node.character.fullmatch(text):
                return text
    return ""


def spellings(pattern: str, fillers: Sequence[str] = ()) -> list[str]:
    r"""Write texts that a pattern matches: each alternative, and fillers in open parts.

    >>> spellings(r"(?i)mark:\s*([A-C]|none)"), spellings(r"mark: (10|\d)", ["7", "x"])
    (['mark:A', 'mark:B', 'mark:C', 'mark:none'], ['mark: 10', 'mark: 7'])
    """
    return list(dict.fromkeys(_spell(_parse_pattern(pattern), fillers, False)))


def _spell(nodes: Nodes, fillers: Sequence[str], is_captured: bool) -> list[str]:
    texts = [""]
    for node in nodes:
        options = _spell_part(node, fillers, is_captured or node.is_captured)
        texts = [text + option for text, option in product(texts, options)]
        texts = texts[:MOST_SPELLINGS]
    return texts


def _spell_part(node: Node, fillers: Sequence[str], is_captured: bool) -> list[str]:
    """Write texts that a part may match; an open part takes any of the fillers."""
    sample = [_sample((node,))]
    if node.is_look or not (node.least or (is_captured and node.character)):
        return sample
    if node.character is None:
        branches = (_spell(branch, fillers, is_captured) for branch in node.branches)
        return list(chain.from_iterable(branches))
    if len(node.names) == 1:
        return sample
    letters = filter(node.character.fullmatch, digits + ascii_letters)
    members = list({letter.lower(): letter for letter in letters}.values())
    if len(members) <= MOST_ALTERNATIVES and "".join(members) != digits:
        return members or sample
    fitting = []
    for filler in fillers:
        is_short = node.least <= len(filler) <= node.most
        if is_short and all(map(node.character.fullmatch, filler)):
            fitting.append(filler)
    return fitting or sample
