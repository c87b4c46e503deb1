"""Backtracking: texts on which a regular expression takes too long, made from what it repeats, then timed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain, islice, product
from operator import call, methodcaller
from typing import Any

from rewardkit.probes.contract.constants import Pattern
from rewardkit.workers.pool import DeadlinePassed, Lost, Workers

LENGTHS = (40, 1_000)
"""Characters that are repeated and timed: 40 are enough for most exponential patterns, 1,000 for the others
and for cubic ones; a quadratic one is through with them in no time. Our choice."""
LAST = 5_000
"""Characters of the longest texts that are made, on which a reward may take longer still. Our choice."""
SECONDS = 0.15
"""Of processor time, from which on a search is slow. Our choice: an ordinary one takes a thousandth."""
REPEATED = 8  # times that a part may stand, from which on it is tried: our choice
LONGEST = 60  # characters of a part: our choice
MOST = 400  # parts of a pattern: our choice
GROUPS = 60  # brackets of a pattern, beyond which it is not read: our choice
TOLD = 2  # slow parts of a pattern: our choice
USUAL = "a0A !\n\t_,<{é\r"
"""Characters that are tried beside those that stand in the pattern."""
ENDS = ("", "!", "\n!", "\0")
"""What may make the rest of a pattern fail."""
FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII

Items = Sequence[tuple[Any, Any]]
"""As the parser of the standard library gives them: an operation and its argument."""


def slow_texts(patterns: Iterable[Pattern], seconds: float = SECONDS) -> Iterator[str]:
    r"""Texts on which a search takes over `seconds` of processor time, of about 40 to 5,000 characters.

    They are made for each pattern of `re` or `regex`, and timed in a process that is ended when it is over:
    what two of its parts, repeated, give from the shortest length on at which they are slow. A pattern that
    `re` cannot read has none.
    """
    with Workers(seconds=10 * seconds, cpu_seconds=seconds) as workers:
        for pattern in patterns:
            pumps = _pumps(pattern)
            for at, length in enumerate(LENGTHS):
                ways = [
                    (end, method) for end in ENDS for method in ("search", "fullmatch")
                ]
                tried = [
                    (methodcaller(method, _text(pump, length, end)), pattern)
                    for end, method in ways
                    for pump in pumps
                ]
                late = filter(
                    _is_late, workers.map(call, tried)
                )  # a function whose import takes no time
                slow = {pumps[place % len(pumps)] for place, _ in islice(late, TOLD)}
                if slow:
                    longer = product((*LENGTHS[at:], LAST), sorted(slow), ENDS)
                    yield from (
                        _text(pump, length, end) for length, pump, end in longer
                    )
                    break


def _is_late(answered: tuple[int, Any]) -> bool:
    return isinstance(answered[1], Lost) and isinstance(
        answered[1].error, DeadlinePassed
    )


def _text(pump: tuple[str, str], length: int, end: str) -> str:
    """What stands before a part, the part again and again until it is so long, and an end."""
    before, part = pump
    return before + part * -(-length // len(part)) + end


def _pumps(pattern: Pattern) -> list[tuple[str, str]]:
    """What to repeat in texts for a pattern, and what stands before it."""
    items = _parsed(pattern.pattern, pattern.flags & FLAGS)
    kinds = tuple(dict.fromkeys([*USUAL, *_literals(items)]))
    return list(
        islice(
            dict.fromkeys(pump for pump in _parts(items, "", kinds) if pump[1]), MOST
        )
    )


def _parsed(pattern: str, flags: int = 0) -> Items:
    """A pattern as the standard library's parser gives it; nothing where it cannot read it."""
    if pattern.count("(") > GROUPS:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(import_module("re._parser").parse(pattern, flags))
    except (re.error, RecursionError, OverflowError, ValueError):
        return []


def _inside(operation: Any, argument: Any) -> Sequence[Items]:
    """The patterns in one operation: each of a choice, the body of a repetition, of a group, of a look."""
    name = operation.name
    if name == "BRANCH":
        return [list(item) for item in argument[1]]
    if name in (
        "SUBPATTERN",
        "MAX_REPEAT",
        "MIN_REPEAT",
        "POSSESSIVE_REPEAT",
        "ASSERT",
        "ASSERT_NOT",
    ):
        return [list(argument[-1])]
    return [list(argument)] if name == "ATOMIC_GROUP" else []


def _nested(items: Items) -> Iterator[Items]:
    """A pattern and all in it."""
    yield items
    for item in items:
        for inner in _inside(*item):
            yield from _nested(inner)


def _literals(items: Items) -> Iterator[str]:
    """Characters that a pattern names, and the ends of its ranges."""
    for operation, argument in chain.from_iterable(_nested(items)):
        for kind, value in (
            argument if operation.name == "IN" else [(operation, argument)]
        ):
            if kind.name in ("LITERAL", "NOT_LITERAL", "RANGE"):
                yield from map(chr, value if kind.name == "RANGE" else [value])


def _parts(
    items: Items, prefix: str, kinds: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What to repeat, and what stands before it: the bodies of repetitions."""
    for operation, argument in items:
        inner = _inside(operation, argument)
        if operation.name.endswith("REPEAT") and argument[1] >= REPEATED:
            yield from ((prefix, part) for part in _words(inner[0], kinds))
        for item in inner:
            yield from _parts(item, prefix, kinds)
        prefix += _sample([(operation, argument)])


def _words(body: Items, kinds: Sequence[str]) -> list[str]:
    """Single characters, and texts that a body, or a part of it, matches."""
    inner = list(_nested(body))
    longer = [
        _sample(item, char, full=full)
        for item in inner
        for full in (False, True)
        for char in kinds
    ]
    return [word for word in dict.fromkeys([*kinds, *longer]) if len(word) <= LONGEST]


def _sample(items: Items, prefer: str = "", *, full: bool = False) -> str:
    """A short text that a pattern matches, of the character `prefer` where it may be.

    With `full`, what may be left out is there once.
    """
    return "".join(
        _sampled(operation, argument, prefer, full) for operation, argument in items
    )


def _sampled(operation: Any, argument: Any, prefer: str, full: bool) -> str:
    name: str = operation.name
    if name == "LITERAL":
        return chr(argument)
    if name in ("NOT_LITERAL", "ANY", "IN"):
        chars = (prefer, *_literals([(operation, argument)]), *USUAL)
        return next(
            (char for char in chars if char and _takes(name, argument, char)), ""
        )
    texts = [_sample(item, prefer, full=full) for item in _inside(operation, argument)]
    if name == "BRANCH":
        return min(
            texts, key=lambda text: (bool(prefer) and prefer not in text, len(text))
        )
    if name.endswith("REPEAT"):
        times = max(argument[0], int(full and argument[1] > 0))
        return str(texts[0] * min(times, LONGEST))[: LONGEST + 1]
    return texts[0] if name in ("SUBPATTERN", "ATOMIC_GROUP") else ""


def _takes(name: str, argument: Any, char: str) -> bool:
    """Whether one operation matches a character, its flags aside."""
    match name:
        case "ANY":
            return char != "\n"
        case "NOT_LITERAL":
            return not _takes("LITERAL", argument, char)
        case "IN":
            negated: bool = argument[0][0].name == "NEGATE"
            hit = any(
                _takes(kind.name, value, char) for kind, value in argument[negated:]
            )
            return hit is not negated
        case "CATEGORY":
            kind = argument.name.rpartition("_")[2]
            hit = (
                re.match({"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[kind], char)
                is not None
            )
            return hit != ("_NOT_" in argument.name)
    low, high = argument if name == "RANGE" else (argument, argument)
    return bool(low <= ord(char) <= high)


def samples(pattern: str) -> list[str]:
    """Texts that a pattern matches: the shortest, the fullest, and one for each alternative in it; or none.

    >>> samples(r"step (one|two)s?")
    ['step one', 'step ones', 'one', 'two']
    """
    items = _parsed(pattern)
    every = chain.from_iterable(_nested(items))
    choices = [item for item in every if item[0].name == "BRANCH"]
    branches = chain.from_iterable(_inside(*choice) for choice in choices)
    found = [_sample(items), _sample(items, full=True), *map(_sample, branches)]
    return list(dict.fromkeys(filter(None, found)))
