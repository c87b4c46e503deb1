"""Inputs that hang a pattern: texts on which a backtracking engine takes far more than linear time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import regex as engine

from rewardkit.errors import InputError, preview
from rewardkit.probes.contract.pattern_steps import Spent, steps
from rewardkit.probes.contract.pattern_tree import (
    Chain,
    Chars,
    Choice,
    Kept,
    Look,
    Node,
    Repeat,
    Tree,
    nodes,
    read_tree,
    sample,
)
from rewardkit.probes.contract.patterns_used import patterns_in

__all__ = ["Weakness", "patterns_in", "pumps", "weaknesses"]

ROUNDS = (8, 16, 32)
"""How often a text stands there to see how the steps grow: each twice the one before."""
SUPER_LINEAR = 2.2
"""Times the steps of half the length, where a linear growth has 2. Our choice."""
EXPONENTIAL, FASTEST = 1.5, 12
"""By so much the second ratio is above the first where it is no power, and it is over this. Our choice."""
HUGE = 4
"""Power of the length from which on the steps on so short a text are as good as exponential. Our choice."""
MANY = 8
"""Rounds from which on a bounded repetition is tried as an endless one is. Our choice."""
LONGEST_PUMP = 60
"""Characters of a text to be repeated. Our choice."""
WORK, WORK_EACH = 1_000_000, 200_000
"""Places looked at for one pattern and for one text: a second or two, and some tenths. Our choice."""
TOLD = 2
"""Weaknesses that are told, of those that are exponential and of the others. Our choice."""
LENGTHS = {"exponential": (40, 2_000), "cubic": (50_000,), "quadratic": (100_000,)}
"""Characters. A text of 40 is one that a reward may get; some only hang on a longer one. Our choice."""
FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII
"""What changes what a pattern matches; for another reason `re.DEBUG` must not come here: it prints."""


@dataclass(frozen=True)
class Weakness:
    """What makes a pattern slow: `prefix`, then `pump` again and again, then `suffix`, where it fails.

    `degree` is the power of the length with which the steps grow, inf where they grow exponentially.
    """

    prefix: str
    pump: str
    suffix: str
    degree: float

    @property
    def kind(self) -> str:
        """One of "exponential", "cubic" (that or a higher power), "quadratic"."""
        return "exponential" if self.degree == math.inf else "cubic" if self.degree > 2 else "quadratic"

    def text(self, length: int) -> str:
        """The text with so many characters of pumps, or a few more."""
        return self.prefix + self.pump * -(-length // len(self.pump)) + self.suffix

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts to try, the shortest first."""
        return tuple(self.text(length) for length in LENGTHS[self.kind])


def pumps(pattern: Any, flags: int = 0) -> tuple[str, ...]:
    r"""Texts on which a search of `pattern` takes far more than linear time, the worst first; or none.

    `pattern` is a text, with `flags` as in `re`, or is compiled by `re` or `regex`. For an exponential
    weakness they are of about 40 and 2,000 characters, for another power 50,000 or 100,000. Nothing is
    matched to find them; see `weaknesses`. InputError: no pattern.

    >>> [(len(text), text[-3:]) for text in pumps(r"^(\d+,?)+$")], pumps(r"^\d+(,\d+)*$")
    ([(41, '00!'), (2001, '00!')], ())
    """
    return tuple(dict.fromkeys(text for item in weaknesses(pattern, flags) for text in item.texts))


def weaknesses(pattern: Any, flags: int = 0) -> tuple[Weakness, ...]:
    r"""Why a search of `pattern` can be slow, the worst first: at most two exponential ones, two others.

    Texts that the parts of the pattern match are repeated, and the steps that a backtracking engine takes on
    them counted (`pattern_steps.steps`) as they grow. So found are nested repetitions (``(a+)+``), those of
    what can be read in two ways, neighbours that match the same, and searches that go through the rest of the
    text from each of many starts. A pattern that does not compile in `re` (`regex` knows more) has none that
    is known, nor has one of bytes. Engines that spare themselves steps, as `regex` often does, are quicker.
    InputError: no pattern.

    >>> [(item.kind, item.prefix, item.pump) for item in weaknesses(r"<answer>(.*?)</answer>", re.DOTALL)]
    [('quadratic', '', '<answer>')]
    """
    tree = read_tree(*_source(pattern, flags))
    if tree is None:
        return ()
    best: dict[int, Weakness] = {}  # by the part that is repeated
    work = WORK
    for part, prefix, pump in _candidates(tree):
        known = best.get(part)
        if known is not None and known.degree == math.inf:
            continue
        for suffix in _suffixes(tree):
            degree, work = _degree(tree, prefix, pump, suffix, work)
            if degree > (known.degree if known is not None else 1):
                best[part] = Weakness(prefix, pump, suffix, degree)
                break
    ranked = sorted(dict.fromkeys(best.values()), key=lambda item: -item.degree)
    endless = [item for item in ranked if item.degree == math.inf]
    return (*endless[:TOLD], *ranked[len(endless) :][:TOLD])


def _source(pattern: Any, flags: int) -> tuple[str, int]:
    """The text and the flags of a pattern; of one of bytes none."""
    if isinstance(pattern, str):
        return pattern, flags & FLAGS
    if isinstance(pattern, re.Pattern | engine.Pattern):
        is_ascii = pattern.flags & (re.ASCII if isinstance(pattern, re.Pattern) else engine.ASCII)
        kept = pattern.flags & (FLAGS ^ re.ASCII) | (re.ASCII if is_ascii else 0)
        return (pattern.pattern if isinstance(pattern.pattern, str) else ""), kept
    raise InputError(f"{preview(pattern)} is no pattern; give a text, or what re.compile gave")


def _suffixes(tree: Tree) -> tuple[str, ...]:
    """Ends that may make the rest of a pattern fail."""
    strange = tree.stranger()
    return "", strange, f"\n{strange}"


def _degree(tree: Tree, prefix: str, pump: str, suffix: str, work: int) -> tuple[float, int]:
    """The power that the steps grow with, inf if with none, 1 if no faster than the text; the work left."""
    counts: list[int] = []
    for rounds in ROUNDS:
        given, text = min(work, WORK_EACH), prefix + pump * rounds + suffix
        try:
            count, left = steps(tree, text, given)
        except Spent:
            return 1.0, work - given
        work -= given - left
        counts.append(count)
        if count > len(text) ** HUGE:
            return math.inf, work
        if count == 0 or (len(counts) > 1 and count < SUPER_LINEAR * counts[-2]):
            return 1.0, work
    first, second = counts[1] / counts[0], counts[2] / counts[1]
    if second > max(FASTEST, EXPONENTIAL * first):
        return math.inf, work
    return float(max(2, round(math.log2(second)))), work


def _candidates(tree: Tree) -> Iterator[tuple[int, str, str]]:
    """What to repeat: the part of the pattern it is for, what stands before it, the text."""
    kinds, strange = tree.kinds(), tree.stranger()
    found = [*_of(tree.root, "", kinds), *_heads(tree.root)]
    for part, prefix, pump in found:
        yield part, prefix, pump
        if not prefix:  # where what is repeated must not stand at the start
            yield part, strange, pump


def _of(node: Node, prefix: str, kinds: tuple[str, ...]) -> Iterator[tuple[int, str, str]]:
    """For each repetition in a node, which stands behind `prefix`, texts of its body."""
    match node:
        case Chain():
            for item in node.items:
                yield from _of(item, prefix, kinds)
                text = sample(item)
                if text is None:
                    return
                prefix += text
        case Choice():
            for item in node.items:
                yield from _of(item, prefix, kinds)
        case Repeat():
            if node.high >= MANY:
                yield from ((id(node), prefix, pump) for pump in _words(node.body, kinds))
            yield from _of(node.body, prefix, kinds)
        case Kept() | Look():
            yield from _of(node.body, prefix, kinds)


def _words(body: Node, kinds: tuple[str, ...]) -> list[str]:
    """Single characters that a body accepts somewhere, and texts that it matches, by each of its choices."""
    inside = list(nodes(body))
    accepted = {char for node in inside if isinstance(node, Chars) for char in node.accepted}
    singles = [char for char in kinds if char in accepted]
    choices = [item for node in inside if isinstance(node, Choice) for item in node.items]
    longer = [sample(body, char, full=full) for full in (False, True) for char in singles]
    longer += [sample(body, full=full, taken=item) for item in choices for full in (False, True)]
    return list(dict.fromkeys([*singles, *(word for word in longer if word and len(word) <= LONGEST_PUMP)]))


def _heads(root: Node) -> Iterator[tuple[int, str, str]]:
    """The beginnings of a pattern: each may start a search that goes through all that comes behind."""
    head = ""
    for item in root.items if isinstance(root, Chain) else ():
        if head and not isinstance(item, Chars):
            yield 0, "", head
        text = sample(item)
        if text is None or len(head) + len(text) > LONGEST_PUMP:
            return
        head += text
    if head:
        yield 0, "", head
