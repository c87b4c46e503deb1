"""A regular expression as a tree, made of what the standard library's parser gives."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

__all__ = [
    "Chain",
    "Chars",
    "Choice",
    "Kept",
    "Look",
    "Node",
    "Place",
    "Repeat",
    "Tree",
    "nodes",
    "read_tree",
]

USUAL = "a0A !\n\t_,<{é\0"
"""Characters that are tried beside those that stand in the expression, as what others stand for."""
STRANGEST = "!"
"""Of these, if no other is accepted at fewer places."""
MOST_NODES = 2_000
"""Of a tree: a reference to a group is one more copy of it. Our choice."""
LONGEST = 300
"""Characters of a sample. Our choice."""


@dataclass(frozen=True, eq=False)
class Chars:
    """One character, of those of the alphabet that are `accepted`, in its order."""

    accepted: Mapping[str, None]


@dataclass(frozen=True, eq=False)
class Chain:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """Any of these; none matches nothing."""

    items: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Repeat:
    """From `low` to `high` times; where it is `kept`, the engine never tries fewer."""

    body: Node
    low: int
    high: float
    kept: bool = False


@dataclass(frozen=True, eq=False)
class Kept:
    """A group that the engine does not come back to."""

    body: Node


@dataclass(frozen=True, eq=False)
class Place:
    """A place between characters: its name in the parser, and whether each line counts."""

    name: str
    lines: bool


@dataclass(frozen=True, eq=False)
class Look:
    """A look ahead, or `behind` by so many characters; what it sees must be there, or must not."""

    body: Node
    behind: int | None
    wanted: bool


Node = Chars | Chain | Choice | Repeat | Kept | Place | Look


@dataclass(frozen=True, eq=False)
class Tree:
    """An expression: its root, all that match one character, and the `alphabet` that stands for all texts."""

    root: Node
    chars: tuple[Chars, ...]
    alphabet: tuple[str, ...]

    def kinds(self) -> tuple[str, ...]:
        """One character of the alphabet for all that the expression does not tell apart, in its order."""
        seen: dict[tuple[bool, ...], str] = {}
        for char in self.alphabet:
            seen.setdefault(tuple(char in node.accepted for node in self.chars), char)
        return tuple(seen.values())

    def stranger(self) -> str:
        """The character, no line break, that the fewest places of the expression accept."""
        others = [STRANGEST, *(char for char in self.alphabet if char != "\n")]
        return min(others, key=lambda char: sum(char in node.accepted for node in self.chars))


def read_tree(pattern: str, flags: int = 0) -> Tree | None:
    """The tree of an expression of `re`; ``None`` where it does not compile or has what is not known here.

    >>> read_tree("(a"), len(read_tree("[ab]+c").chars)
    (None, 2)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = import_module("re._parser").parse(pattern, flags)
        return _Reader(parsed).tree()
    except (ImportError, LookupError, AttributeError, TypeError, ValueError, OverflowError):
        return None  # a Python whose parser is another one, which has no public name
    except (re.error, RecursionError):
        return None


class _Reader:
    """Makes nodes of what the parser gave: pairs of an operation and its argument."""

    def __init__(self, parsed: Any) -> None:
        self.parsed = parsed
        self.alphabet = tuple(dict.fromkeys([*USUAL, *_literals(parsed)]))
        self.chars: list[Chars] = []
        self.groups: dict[int, Any] = {}
        self.nodes = 0

    def tree(self) -> Tree:
        return Tree(self.chain(self.parsed, self.parsed.state.flags), tuple(self.chars), self.alphabet)

    def chain(self, items: Any, flags: int) -> Node:
        made = tuple(self.node(operation.name, argument, flags) for operation, argument in items)
        return made[0] if len(made) == 1 else Chain(made)

    def node(self, name: str, argument: Any, flags: int) -> Node:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise ValueError("too large")
        match name:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                taken = [char for char in self.alphabet if _takes(name, argument, char, flags)]
                self.chars.append(Chars(dict.fromkeys(taken)))
                return self.chars[-1]
            case "BRANCH":
                return Choice(tuple(self.chain(item, flags) for item in argument[1]))
            case "SUBPATTERN":
                group, added, removed, inner = argument
                self.groups[group] = inner, (flags | added) & ~removed
                return self.chain(*self.groups[group])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = argument
                most = math.inf if int(high) >= 1 << 31 else int(high)
                kept = name == "POSSESSIVE_REPEAT"
                return _flattened(Repeat(self.chain(inner, flags), int(low), most, kept))
            case "ATOMIC_GROUP":
                return Kept(self.chain(argument, flags))
            case "AT":
                return Place(argument.name, bool(flags & re.MULTILINE))
            case "ASSERT" | "ASSERT_NOT":
                direction, inner = argument
                width = int(inner.getwidth()[0]) if direction < 0 else None
                return Look(self.chain(inner, flags), width, name == "ASSERT")
            case "GROUPREF":  # what the group matched is one text, of which this is an example
                word = sample(self.chain(*self.groups[argument])) or ""
                self.chars += (made := [Chars({char: None}) for char in word])
                return Chain(tuple(made))
            case "GROUPREF_EXISTS":
                return Choice(tuple(self.chain(item or (), flags) for item in argument[1:]))
            case "FAILURE":
                return Choice(())
        raise ValueError(name)


def _flattened(node: Repeat) -> Repeat:
    """Endless repetition of an endless one of an endless one as two of them, which are as slow."""
    inner = node.body
    if _endless(node) and _endless(inner) and isinstance(inner, Repeat) and _endless(inner.body):
        return replace(node, body=inner.body)
    return node


def _endless(node: Node) -> bool:
    return isinstance(node, Repeat) and node.low < 2 and node.high == math.inf and not node.kept


def _literals(item: Any) -> Iterator[str]:
    """The characters that stand in what the parser gave, ends of ranges among them."""
    if isinstance(item, tuple) and len(item) == 2 and hasattr(item[0], "name"):
        name, argument = item[0].name, item[1]
        if name in ("LITERAL", "NOT_LITERAL"):
            yield chr(argument)
        elif name == "RANGE":
            yield from map(chr, argument)
        else:
            yield from _literals(argument)
    elif not isinstance(item, int | None):
        for part in item:
            yield from _literals(part)


def _takes(name: str, argument: Any, char: str, flags: int) -> bool:
    """Whether one operation of the parser matches a character."""
    match name:
        case "ANY":
            return bool(flags & re.DOTALL) or char != "\n"
        case "NOT_LITERAL":
            return not _takes("LITERAL", argument, char, flags)
        case "IN":
            negated: bool = argument[0][0].name == "NEGATE"
            hit = any(_takes(item.name, value, char, flags) for item, value in argument[negated:])
            return hit != negated
        case "CATEGORY":
            return _of_category(argument.name, char, bool(flags & re.ASCII))
    codes = {ord(char)}
    if flags & re.IGNORECASE:
        codes |= {ord(other) for other in (char.lower(), char.upper()) if len(other) == 1}
    low, high = argument if name == "RANGE" else (argument, argument)
    return any(low <= code <= high for code in codes)


def _of_category(name: str, char: str, ascii_only: bool) -> bool:
    known = not ascii_only or char.isascii()
    kind = name.rpartition("_")[2]
    held = {"DIGIT": char.isdecimal(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_"}
    return (held[kind] and known) != ("_NOT_" in name)


def sample(node: Node, prefer: str = "", *, full: bool = False, taken: Node | None = None) -> str | None:
    """A short text that a node matches, of the character `prefer` where it may be; ``None``: none is known.

    With `full`, what may be left out is there once; of a choice that has it, `taken` is the item to take.
    """
    match node:
        case Chars():
            return prefer if prefer and prefer in node.accepted else next(iter(node.accepted), None)
        case Chain():
            parts = [sample(item, prefer, full=full, taken=taken) for item in node.items]
            found = None if None in parts else "".join(part or "" for part in parts)
            return found if found is None or len(found) <= LONGEST else None
        case Choice():
            items = [taken] if taken is not None and taken in node.items else node.items
            texts = [sample(item, prefer, full=full, taken=taken) for item in items]
            known = [text for text in texts if text is not None]
            return min(known, key=lambda text: (bool(prefer) and prefer not in text, len(text)), default=None)
        case Repeat():
            times = max(node.low, int(full and node.high > 0))
            inner = sample(node.body, prefer, full=full, taken=taken) if times else ""
            return inner * times if inner is not None and len(inner) * times <= LONGEST else None
        case Kept():
            return sample(node.body, prefer, full=full, taken=taken)
    return ""


def nodes(node: Node) -> Iterator[Node]:
    """A node and all in it."""
    yield node
    match node:
        case Chain() | Choice():
            for item in node.items:
                yield from nodes(item)
        case Repeat() | Kept() | Look():
            yield from nodes(node.body)
