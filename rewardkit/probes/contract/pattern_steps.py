"""The steps that a backtracking engine takes on a text, counted instead of taken."""

from __future__ import annotations

from dataclasses import replace

from rewardkit.probes.contract.pattern_tree import Chain, Chars, Choice, Kept, Look, Node, Place, Repeat, Tree

__all__ = ["Spent", "steps"]


class Spent(Exception):
    """The work that may be done was not enough."""


Ways = dict[int, int]
"""Place in a text -> in how many ways the engine comes there."""


def steps(tree: Tree, text: str, work: int) -> tuple[int, int]:
    """Steps of a search that fails at every start before its first match, and the work left of `work`.

    A step is one thing tried at one place, counted for each of the ways that lead there; they are not taken
    but counted, in a time that is a small power of the length. Spent: that was more than `work`.

    >>> from rewardkit.probes.contract.pattern_tree import read_tree
    >>> [steps(read_tree("(a+)+b"), "a" * size, 10**6)[0] for size in (4, 8)]
    [53, 1005]
    """
    every = _Count(text, work)
    if not every.run(tree.root, dict.fromkeys(range(len(text) + 1), 1)):
        return every.steps, every.work
    total, left = 0, every.work
    for start in range(len(text) + 1):
        one = _Count(text, left)
        found = one.run(tree.root, {start: 1})
        left = one.work
        if found:
            break
        total += one.steps
    return total, left


class _Count:
    """Counts the steps on one text."""

    def __init__(self, text: str, work: int) -> None:
        self.text, self.work, self.steps = text, work, 0

    def run(self, node: Node, at: Ways) -> Ways:
        """Where a node ends, from these places, each with the number of ways to it."""
        self.work -= len(at)
        if self.work < 0:
            raise Spent
        if not at:
            return at
        match node:
            case Chars():
                self.steps += sum(at.values())
                size, text, taken = len(self.text), self.text, node.accepted
                return {
                    place + 1: ways for place, ways in at.items() if place < size and text[place] in taken
                }
            case Chain():
                for item in node.items:
                    at = self.run(item, at)
                return at
            case Choice():
                found: Ways = {}
                for item in node.items:
                    _add(found, self.run(item, at))
                return found
            case Repeat():
                return self.kept(replace(node, kept=False), at) if node.kept else self.repeat(node, at)
            case Kept():
                return self.kept(node.body, at)
            case Place():
                self.steps += sum(at.values())
                return {place: ways for place, ways in at.items() if self.holds(node, place)}
            case Look():
                return {
                    place: ways for place, ways in at.items() if self.seen(node, place, ways) is node.wanted
                }

    def repeat(self, node: Repeat, at: Ways) -> Ways:
        for _ in range(min(node.low, len(self.text) + 1)):
            at = self.run(node.body, at)
        if not at:
            return at
        more = node.high - node.low
        reach = dict(at)
        if more >= len(self.text):
            for place in range(min(at), len(self.text)):
                if ways := reach.get(place, 0):
                    _add(reach, self.onwards(node.body, place, ways))
            return reach
        for _ in range(int(more)):
            further: Ways = {}
            for place, ways in at.items():
                _add(further, self.onwards(node.body, place, ways))
            _add(reach, further)
            at = further
        return reach

    def onwards(self, body: Node, place: int, ways: int) -> Ways:
        """Where one more round ends; one that takes nothing is the last, as in the engine."""
        return {end: count for end, count in self.run(body, {place: ways}).items() if end > place}

    def kept(self, body: Node, at: Ways) -> Ways:
        found: Ways = {}
        for place, ways in at.items():
            ends = self.apart(body, place, ways)
            if ends:
                _add(found, {max(ends): ways})
        return found

    def apart(self, body: Node, place: int, ways: int) -> Ways:
        """Where a node that is tried by itself ends; the engine stops at the first of them."""
        inner = _Count(self.text, self.work)
        ends = inner.run(body, {place: 1})
        self.work = inner.work
        self.steps += ways * (max(ends) - place + 1 if ends else inner.steps)
        return ends

    def seen(self, node: Look, place: int, ways: int) -> bool:
        start = place - (node.behind or 0)
        ends = self.apart(node.body, start, ways) if start >= 0 else {}
        return bool(ends) if node.behind is None else place in ends

    def holds(self, node: Place, place: int) -> bool:
        text, size = self.text, len(self.text)
        match node.name:
            case "AT_BEGINNING":
                return place == 0 or (node.lines and text[place - 1] == "\n")
            case "AT_BEGINNING_STRING":
                return place == 0
            case "AT_END":
                last = place == size or (place == size - 1 and text[place] == "\n")
                return last or (node.lines and text[place] == "\n")
            case "AT_END_STRING":
                return place == size
        beside = [0 <= at < size and (text[at].isalnum() or text[at] == "_") for at in (place - 1, place)]
        return (beside[0] != beside[1]) == (node.name == "AT_BOUNDARY")


def _add(into: Ways, more: Ways) -> None:
    for place, ways in more.items():
        into[place] = into.get(place, 0) + ways
