"""A measure of form: tags against a small grammar of names, counts and nesting."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

import regex

from rewardkit.primitives.extract.enclosed import tag_name, tag_tokens
from rewardkit.primitives.extract.extractor import Span
from rewardkit.primitives.primitive import STAR, OfText, Texts, note

Outside = Literal["anywhere", "before", "nowhere"]


class TagRule(NamedTuple):
    """A tag of a grammar, in lower case, its parent and its number of pairs there."""

    name: str
    parent: str
    least: float
    most: float


_COUNT = r"([?*+]|\{\d{1,6}(?:,\d{0,6})?\})?"
# A name, its count, and a bracket with the names inside it.
_GRAMMAR_ENTRY = regex.compile(
    rf"\s*([^\s,(){{}}?*+]+){_COUNT}(\((?:[^()]|(?3))+\))?{_COUNT}\s*(?:,|$)"
)


def _read_rules(text: str, parent: str = "") -> Iterator[TagRule]:
    """Yield the rules of a grammar, each before those in its bracket.

    Raises:
        ValueError: `text` cannot be read.
    """
    end = 0
    while end < len(text) or not end:
        entry = _GRAMMAR_ENTRY.match(text, end)
        least, most = _read_count(entry[2] or entry[4] or "{1}") if entry else (1, 0)
        if entry is None or (entry[2] and entry[4]) or most < least:
            raise ValueError(
                f"{text!r} cannot be read; write a name, how often it stands as '+', "
                "'?', '*', '{2}' or '{1,3}', and in a bracket what stands in it, such "
                "as 'plan(goal, step+)'"
            )
        name = tag_name("name", entry[1]).lower()
        yield TagRule(name, parent, least, most)
        if entry[3]:
            yield from _read_rules(entry[3][1:-1], name)
        end = entry.end()


def _read_count(text: str) -> tuple[float, float]:
    signs = {"?": (0, 1), "*": (0, math.inf), "+": (1, math.inf)}
    if text in signs:
        return signs[text]
    least, comma, most = text[1:-1].partition(",")
    if most:
        return int(least), int(most)
    return int(least), math.inf if comma else int(least)


@lru_cache(maxsize=256)
def _grammar(names: tuple[str, ...]) -> list[TagRule]:
    """Read the rules of `names`, or raise a ValueError."""
    rules: list[TagRule] = []
    for text in names:
        rules += _read_rules(text)
    if len({rule.name for rule in rules}) < len(rules):
        raise ValueError(f"tags takes each name once; got {names!r}")
    return rules


def _find_faults(
    rules: list[TagRule], completion: str, prefilled: bool
) -> tuple[dict[str, str], list[Span]]:
    """Find the fault of each name that is required or present ("" for none).

    Returns the faults by name, and the outermost pairs.
    """
    faults: dict[str, str] = {}
    # The pairs at a place that the grammar allows, by name.
    placed: dict[str, list[Span]] = {"": [(-2, len(completion))]}
    ends: dict[Span, int] = {}  # pair -> end of its last correct inner pair so far
    for rule in rules:
        pairs, fault = _find_pairs(
            rule.name, completion, prefilled and rule is rules[0]
        )
        placed[rule.name] = []
        for parent in placed[rule.parent]:
            first = bisect_left(pairs, parent[:1])
            last = bisect_left(pairs, parent[1:])
            inner = pairs[first:last]
            placed[rule.name] += inner
            inner_fault = _fault_of(rule, inner, ends.get(parent, -1), parent[1])
            if inner and not inner_fault:
                ends[parent] = inner[-1][1]
            fault = fault or inner_fault
        if len(pairs) > len(placed[rule.name]):
            fault = fault or f"stands outside of <{rule.parent}>"
        is_required = rule.least > 0 and (not rule.parent or rule.parent in faults)
        if is_required and not placed[rule.parent]:
            fault = fault or "is missing"
        if is_required or pairs or fault:
            faults[rule.name] = fault
    outermost: list[Span] = []
    for rule in rules:
        if not rule.parent:
            outermost += placed[rule.name]
    return faults, outermost


def _fault_of(rule: TagRule, pairs: list[Span], start: int, end: int) -> str:
    """Return the fault of a rule's pairs between two places, or ""."""
    if not rule.least <= len(pairs) <= rule.most:
        return f"stands {len(pairs)} times" if pairs else "is missing"
    if pairs and pairs[0][0] < start:
        return "does not follow the tag before it"
    if pairs and pairs[-1][1] > end:
        return f"is not closed in <{rule.parent}>"
    return ""


def _find_pairs(name: str, completion: str, prefilled: bool) -> tuple[list[Span], str]:
    """Find the pairs of a tag in text order, or return no pairs and the fault."""
    tokens = [(-1, 0, False)] if prefilled else []
    for match in tag_tokens(name).finditer(completion):
        tokens.append((*match.span(), bool(match[1])))
        if not match[1] and match[0].endswith("/>"):
            tokens.append((*match.span(), True))
    openings = tokens[::2]
    closings = tokens[1::2]
    closed = sum(is_closing for _, _, is_closing in tokens)
    if 2 * closed != len(tokens):
        return [], f"is opened {len(tokens) - closed} times and closed {closed} times"
    if any(is_closing for _, _, is_closing in openings):
        return [], "is not closed where it is opened"
    pairs = []
    for opening, closing in zip(openings, closings, strict=True):
        pairs.append((opening[0], closing[1]))
    return pairs, ""


@dataclass(frozen=True, repr=False, init=False)
class tags(OfText):
    """Score 1.0 if the tags of a text fit a grammar, else 0.0.

    Each name requires exactly one pair, in this order and not inside another;
    ``"step+"``, ``"note?"``, ``"call*"``, ``"step{2,5}"`` and ``"code{0}"`` (never)
    require other counts, and ``"plan(goal, step+)"`` requires pairs inside a pair.
    Case, attributes and tags of other names do not matter; ``<name/>`` is an empty
    pair.

    `outside` allows text outside the outermost pairs ``"anywhere"``, only ``"before"``
    the first or ``"nowhere"``. ``prefilled=True`` is for a chat template that ends the
    prompt with the opening tag of the first name. ``partial=True`` gives the share of
    names without a fault among those required or present; forbidden text counts as one
    more name with a fault. Notes the faults. ValueError: no name, one that cannot be a
    tag, a bracket or count that cannot be read, the same name twice, an option that is
    no bool.

    >>> tags("think", "answer")("<think>2+2</think> <answer>4</answer>")
    1.0
    >>> tags("think", "answer", partial=True)("<think>2+2 <answer>4</answer>")
    0.5
    >>> plan = "<plan><step>a</step><step>b</step></plan> Done."
    >>> tags("plan(step+)", "answer?", outside="nowhere")(plan)
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
        faults, pairs = _find_faults(_grammar(self.names), completion, self.prefilled)
        notes = [f"<{name}> {fault}" for name, fault in faults.items() if fault]
        count = len(faults)
        stray = self._find_stray(completion, pairs)
        if stray:
            notes.append(f"text stands outside of the tags: {stray[:40]!r}")
            count += 1
        note("tags", notes or "as asked for")
        if not self.partial:
            return float(not notes)
        return (count - len(notes)) / count if count else 1.0

    def _find_stray(self, completion: str, pairs: list[Span]) -> str:
        """Return the first text that `outside` forbids, or ""."""
        if self.outside == "anywhere":
            return ""
        position = 0
        for start, end in [*sorted(pairs), (len(completion), 0)]:
            gap = completion[position : max(start, 0)].strip()
            if gap and (position or self.outside == "nowhere"):
                return gap
            position = max(position, end)
        return ""
