"""Texts of prompts as they are compared; where known messages and turns stand in a rendered one."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

__all__ = [
    "ASSISTANT",
    "FEW",
    "ROLE_AT_END",
    "SPECIAL",
    "Alike",
    "Place",
    "Search",
    "Turns",
    "aloud",
    "before",
    "last_start",
    "normal",
    "role_ends",
    "role_of",
    "stand_in",
    "without_role",
]

ANCHOR, NEAR, FEW = 16, 60, 32
"""Characters by which a place where a message may start is found, characters before it in which its role is
looked for, texts up to which each is tried. Our choice: few places share that many characters."""

SPECIAL = re.compile(
    r"<\|[^<>|\s]{1,60}\|>|<｜[^<>｜]{1,60}｜>|</?s>|<(?:bos|eos|pad)>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
    r"|\[\|[a-z]{1,20}\|\]"
)
"""What chat templates put around messages, in ChatML, Llama, DeepSeek, Gemma, Mistral, Command R, EXAONE."""

_ROLES = {
    **{role: role for role in ("user", "assistant", "system")},
    **{"inst": "user", "/inst": "assistant"},
    **{"user_token": "user", "chatbot_token": "assistant", "system_token": "system"},
}
"""Those that stand for a role, as in Phi's ``<|user|>``, and the role."""

ASSISTANT = re.compile(
    r"\s*(?:(?:assistant|model)\b|(?:gpt|ai|bot)\s*:)\s*:?\s*(?:</?think(?:ing)?>\s*)*$", re.IGNORECASE
)
"""The end of a rendered prompt, behind the last message: the model is to speak, or to think, from here."""

_USERS = re.compile(r"(?=[uUhHiIqQ])(?i:user|human|instruction|question)\s*:?\s*")  # the first part for speed
ROLE_AT_END = {
    "user": re.compile(r"(?:\s#{1,6})?\s*(?:user|human|instruction|question)\s*:?$", re.IGNORECASE),
    "assistant": re.compile(
        r"(?:\s#{1,6})?\s*(?:assistant|model|gpt|ai|bot|response)\s*:?\s*(?:final\s*)?(?:</?think(?:ing)?>\s*)*$",
        re.IGNORECASE,
    ),
}
"""The role before a message, at the end of the text up to it; some logs have it glued to the turn before."""

_STARTS = re.compile(r"(?<!\w)\S")
Turns = tuple[tuple[str, str], ...]  # role and normal text of each


def normal(text: str) -> str:
    r"""Text for comparison: Unicode NFC, special tokens of chat templates left out, white space collapsed.

    A token that stands for a role becomes its name.

    >>> normal("<|im_start|>user\nCafe\u0301?  <|im_end|>")
    'user Café?'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("：", "： ")
    return " ".join(
        (
            SPECIAL.sub(lambda token: f" {role_of(token)} ", text) if "<" in text or "[" in text else text
        ).split()
    )


def role_of(token: re.Match[str]) -> str:
    """The role that a special token stands for, "" where none."""
    return _ROLES.get(token[0].lower().strip("<>[]|｜"), "")


def without_role(text: str, role: str) -> str | None:
    """The text without the role that it ends in; ``None`` where it does not."""
    found = ROLE_AT_END[role].search(text, max(0, len(text) - NEAR))
    return text[: found.start()] if found else None


def role_ends(text: str) -> Iterator[int]:
    """Where something ends that may be a user's role, the white space behind it left out."""
    return (found.end() for found in _USERS.finditer(text))


def aloud(said: str) -> str:
    """A message without its thought, which some templates leave out."""
    return said.rpartition("</think>")[2].strip()


def last_start(said: str, text: str, end: int | None = None) -> int:
    """Where a message stands last in a text up to an end, begun where a word begins; -1 where it does not."""
    at = text.rfind(said, 0, end)
    while at > 0 and said and (text[at - 1].isalnum() or text[at - 1] == "_"):
        at = text.rfind(said, 0, at + len(said) - 1)
    return at


def before(turns: Turns, head: str) -> str | None:
    """What stands before these turns, which end the head but for a role; ``None`` where they do not.

    The user's role before the first of them is left in, and not asked for: a system prompt may stand between.
    Calls and results of tools, which each template writes in its own way, need only stand somewhere before.
    """
    rest, behind = head, "user"  # the role of the turn behind; "" where anything may stand between
    for at in reversed(range(len(turns))):
        role, said = turns[at]
        ruled = role in ROLE_AT_END and said
        part = (without_role(rest, behind) or "") if ruled and behind else rest
        forms = (said, aloud(said) or said) if ruled else (said,)
        found = [(last_start(form, part), len(form)) for form in forms]
        ends = [at for at, length in found if at >= 0 and not (ruled and behind and at + length < len(part))]
        if not ends:
            return None
        rest, behind = part[: ends[0]].rstrip(), role if ruled else ""
        if at and role == "user" and without_role(rest, role) is None:
            return None
    return rest


def stand_in(turns: Turns, head: str) -> bool:
    """Whether the texts of all turns stand in the head in their order, whatever stands between."""
    end = len(head)
    for _, said in reversed(turns):
        if (end := last_start(aloud(said) or said, head, end)) < 0:
            return False
    return True


class Place(NamedTuple):
    """Where a message was found in a text."""

    message: str
    start: int
    end: int


class Search:
    """Finds which of many messages stand in a text, in time that hardly depends on how many there are.

    A place where one may start is known by its first characters; the messages that start there are
    neighbours in alphabetical order, the shorter ones reached from the longer.
    """

    def __init__(self, messages: Sequence[str]) -> None:
        self.sorted = sorted(messages)
        self.anchors = {message[:ANCHOR] for message in messages}
        self.lengths = sorted({len(anchor) for anchor in self.anchors})
        self.shorter: list[int] = []  # the longest other message that this one starts with; -1: none
        for at, message in enumerate(self.sorted):
            near = at - 1
            while near >= 0 and not message.startswith(self.sorted[near]):
                near = self.shorter[near]
            self.shorter.append(near)

    def places(self, text: str) -> list[Place]:
        """Where messages stand between spaces or the ends, without those that lie inside of a longer one."""
        found: list[Place] = []
        reached = -1
        start = 0
        while start < len(text):
            if self._anchored(text, start):
                rest = text[start:]
                fit = (message for message in self._starting(rest) if self._ends(rest, len(message)))
                message = next(fit, None)
                if message is not None and start + len(message) > reached:
                    reached = start + len(message)
                    found.append(Place(message, start, reached))
            space = text.find(" ", start)
            start = space + 1 if space >= 0 else len(text)
        return found

    def standing(self, text: str) -> list[str]:
        """All messages that stand in the text from the start of a word on, inside of one another too."""
        found: dict[str, None] = {}  # in the order of the text
        for one in _STARTS.finditer(text):
            start = one.start()
            if self._anchored(text, start):
                found |= dict.fromkeys(self._starting(text[start:]))
        return list(found)

    def _anchored(self, text: str, start: int) -> bool:
        """Whether the first characters are those of a message: a loop, as it runs for every word."""
        for length in self.lengths:
            if text[start : start + length] in self.anchors:
                return True
        return False

    def _starting(self, rest: str) -> Iterator[str]:
        """Messages that the rest of a text starts with, the longest first."""
        at = bisect_right(self.sorted, rest) - 1
        while at >= 0:
            if rest.startswith(self.sorted[at]):
                yield self.sorted[at]
            at = self.shorter[at]

    @staticmethod
    def _ends(rest: str, length: int) -> bool:
        """Whether a message may end here: before a space or an assistant's role, or at the end."""
        return len(rest) == length or rest[length] == " " or ASSISTANT.match(rest, length) is not None


class Alike:
    """Conversations that end alike, told apart in a text by the turn in which they differ most."""

    def __init__(self, turns: Iterable[Turns] = (), told: frozenset[int] = frozenset()) -> None:
        self.turns = list(turns)
        self.told = told  # turns, counted from the end, that tell nothing more

    def within(self, head: str) -> Iterator[Turns]:
        """Those that may stand in a text; all where they are few."""
        if len(self.turns) <= FEW or self._split is None:
            yield from self.turns
            return
        search, groups, others = self._split
        for text in search.standing(head):
            yield from groups[text].within(head)
        yield from others.within(head)

    @cached_property
    def _split(self) -> tuple[Search, dict[str, Alike], Alike] | None:
        """Those of each text of one turn, and those without; ``None`` where no turn differs.

        Texts without their thoughts: these stand in the text whether the thought was left out or not.
        """
        texts: dict[int, dict[str, list[Turns]]] = defaultdict(lambda: defaultdict(list))
        for turns in self.turns:
            for at, (_, said) in enumerate(reversed(turns)):
                if said and at not in self.told:
                    texts[at][aloud(said) or said].append(turns)
        at = max(texts, key=lambda at: len(texts[at]), default=-1)
        if at < 0 or len(texts[at]) < 2:
            return None
        told = self.told | {at}
        groups = {text: Alike(some, told) for text, some in texts[at].items()}
        others = (turns for turns in self.turns if len(turns) <= at or not turns[-1 - at][1])
        return Search(list(groups)), groups, Alike(others, told)
