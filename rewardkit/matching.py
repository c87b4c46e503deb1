"""Which prompt of a data set a prompt of a log is: chat messages, questions, rendered chat templates."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rewardkit.primitives.messages import as_list, content_text

__all__ = ["Matches", "match_prompts", "normal"]

ANCHOR, NEAR, WORDS = 16, 60, 8
"""Characters by which a place where a question may start is found, characters before it in which its role is
looked for, words by which the turn before it is found. Our choice: few places and turns share them."""

_SPECIAL = re.compile(
    r"<\|[^<>|\s]{1,60}\|>|<｜[^<>｜]{1,60}｜>|</?s>|<(?:bos|eos|pad)>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
)
"""What chat templates put around messages, in ChatML, Llama, DeepSeek, Gemma and Mistral."""

_ROLES = {role: role for role in ("user", "assistant", "system")} | {"[inst]": "user", "[/inst]": "assistant"}
"""Those that stand for a role, as in Phi's ``<|user|>``, and the role."""

_ASSISTANT = re.compile(
    r"\s*(?:(?:assistant|model)\b|(?:gpt|ai|bot)\s*:)\s*:?\s*(?:</?think(?:ing)?>\s*)*$", re.IGNORECASE
)
"""The end of a rendered prompt, behind the last message: the model is to speak, or to think, from here."""

_ROLE_AT_END = {
    "user": re.compile(r"(?:\s#{1,6})?\s*(?:user|human|instruction|question)\s*:?$", re.IGNORECASE),
    "assistant": re.compile(
        r"(?:\s#{1,6})?\s*(?:assistant|model|gpt|ai|bot|response)\s*:?\s*(?:final\s*)?(?:</?think(?:ing)?>\s*)*$",
        re.IGNORECASE,
    ),
}
"""The role before a message, at the end of the text up to it; some logs have it glued to the turn before."""

_SPOKEN = re.compile(
    r"^[ \t#*]*(?:(?:[aA]ssistant|model)[ \t]*:?[ \t*]*$|(?i:assistant|gpt|ai|bot|response)[ \t]*:)"
    r"|(?<=[^\s/-])assistant(?:\n\n|\s*\Z)|\bASSISTANT:",
    re.MULTILINE,
)
"""Where an assistant's turn begins in a text as it was logged, its special tokens being lines."""

_SYSTEM = re.compile(r"\W*(?:system|(?i:system)\s*:)(?=\s|$)\s*")
_OPENING = re.compile(r"\W*|" + _SYSTEM.pattern + ".*")
"""What may stand before the first turn of a rendered prompt for certain: nothing, or a system's message."""

_ABOVE = ("system", "developer")
_Turns = tuple[tuple[str, str], ...]  # role and normal text of each
_Others = tuple[_Turns, _Turns]  # those before the last message of the user, and those behind it


@dataclass(frozen=True)
class Matches:
    """For each value of the log the places of the data set's rows that it is, none where it is none of them.

    The others are places in the log. `unclear`: several different ones fit. `contradicted`: the last message
    of the user is there, but behind other turns or another system prompt; no match. `last_only`: a match,
    though the log has turns before that message and the rows have none. `other_system`: a match of a rendered
    text, though the rows' system prompt is not in it.
    """

    rows: Sequence[Sequence[int]]
    unclear: frozenset[int] = frozenset()
    contradicted: frozenset[int] = frozenset()
    last_only: frozenset[int] = frozenset()
    other_system: frozenset[int] = frozenset()


def normal(text: str) -> str:
    r"""Text for comparison: Unicode NFC, special tokens of chat templates left out, white space collapsed.

    A token that stands for a role becomes its name.

    >>> normal("<|im_start|>user\nCafe\u0301?  <|im_end|>")
    'user Café?'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("：", "： ")
    return " ".join((_SPECIAL.sub(_role, text) if "<" in text or "[" in text else text).split())


def _role(token: re.Match[str]) -> str:
    text = token[0].lower()
    return f" {_ROLES.get(text, _ROLES.get(text.strip('<>|｜'), ''))} "


def match_prompts(log: Sequence[Any], data: Sequence[Any]) -> Matches:
    r"""Rows of the data set that have the log's prompt.

    The first of these that finds any: the same messages or text; the same last user message (a text is one);
    the data set's last user message inside the log's text, as a chat template renders it. The last holds
    only where the message fills the last turn (before it the user's role, behind it the assistant's; or
    nothing behind it, and before it no more than a system message), or where other messages are found between
    the same texts: a part of a longer question is no match. Of messages inside one another the longest
    counts; two different ones elsewhere are unclear.

    The turns around the last user message must be the same, in a rendered text too, but for a row that has
    none: that may stand behind examples. So must the system prompt where both sides have messages and one.
    Rows with the same turns and system prompt come before rows without.

    >>> match_prompts(["system\nBe brief.\nuser\n2+2?\nassistant\n"], ["3+3?", "2+2?"]).rows
    [[1]]
    >>> first, sure = {"role": "user", "content": "2+2?"}, {"role": "user", "content": "Sure?"}
    >>> match_prompts([[first, sure]], [[{**first, "content": "3+3?"}, sure]]).rows
    [[]]
    """
    known = _Rows(data)
    found: dict[str, _Found] = {}
    inside: dict[str, _Prompt] = {}  # what is still to be found: key of the log's prompt -> its parts
    texts = {text: _whole(text) for text in {prompt for prompt in log if isinstance(prompt, str)}}
    keys = [
        None if prompt is None else texts[prompt] if isinstance(prompt, str) else _whole(prompt)
        for prompt in log
    ]
    for key, prompt in zip(keys, log, strict=True):
        if key is None or key in found or key in inside:
            continue
        if key in known.whole:
            found[key] = _Found(known.whole[key])
        elif (parts := _parts(prompt, key)).last in known.of:
            found[key] = known.like(parts, parts.last)
        else:
            inside[key] = parts
    more, unclear = _find_inside(inside, known)
    found |= more
    nothing = _Found([])
    each = [nothing if key is None else found.get(key, nothing) for key in keys]
    return Matches(
        [one.rows for one in each],
        frozenset(at for at, key in enumerate(keys) if key in unclear),
        frozenset(at for at, one in enumerate(each) if one is not nothing and not one.rows),
        frozenset(at for at, one in enumerate(each) if one.last_only),
        frozenset(at for at, one in enumerate(each) if one.other_system),
    )


def _said(prompt: Any) -> list[tuple[str, str]] | None:
    """Role and text of each message; ``None`` for a text."""
    messages = as_list(prompt)
    if messages is None:
        return None
    said = [item for item in messages if isinstance(item, Mapping)]
    return [(str(item.get("role")), content_text(item.get("content"))) for item in said]


def _whole(prompt: Any) -> str:
    """All of a prompt as one text; chat messages with their roles."""
    if (said := _said(prompt)) is None:
        return normal(str(prompt))
    return "\n".join(f"{role}: {normal(text)}" for role, text in said)


@dataclass(frozen=True)
class _Prompt:
    """A prompt's last user message, "" where no user speaks; its other turns; its system prompt.

    An assistant's message that ends it is left out: the start of a completion. `raw` is the text as it was
    logged, ``None`` for messages.
    """

    last: str
    others: _Others = ((), ())
    system: str = ""
    raw: str | None = None


def _parts(prompt: Any, whole: str) -> _Prompt:
    if (said := _said(prompt)) is None:
        return _Prompt(whole, raw=str(prompt))
    system = " ".join(normal(text) for role, text in said if role in _ABOVE)
    turns = tuple((role, normal(text)) for role, text in said if role not in _ABOVE)
    at = max((at for at, (role, _) in enumerate(turns) if role == "user"), default=None)
    if at is None:
        return _Prompt("")
    behind = turns[at + 1 :]
    started = len(behind) == 1 and behind[0][0] == "assistant"
    return _Prompt(turns[at][1], (turns[:at], () if started else behind), system)


class _Place(NamedTuple):
    """Where a message was found in a text."""

    message: str
    start: int
    end: int


@dataclass(frozen=True)
class _Found:
    """Rows of the data set, none where all contradict; the rest as in `Matches`; what opens the text."""

    rows: Sequence[int]
    last_only: bool = False
    other_system: bool = False
    opening: str = ""


class _Rows:
    """The data set's rows by their last user message, by their other turns, by their system prompt."""

    def __init__(self, data: Sequence[Any]) -> None:
        self.data = data
        self.whole: dict[str, list[int]] = defaultdict(list)
        self.of: dict[str, dict[_Others, dict[str, list[int]]]] = {}
        self.endings: dict[tuple[str, tuple[str, ...]], list[_Turns]] = defaultdict(list)
        for at, prompt in enumerate(data):
            if prompt is None:
                continue
            whole = _whole(prompt)
            self.whole[whole].append(at)
            if not (parts := _parts(prompt, whole)).last:
                continue
            others = self.of.setdefault(parts.last, {})
            if parts.others not in others and parts.others[0] and not parts.others[1]:
                role, said = parts.others[0][-1]
                words = tuple(_aloud(said).split()[-WORDS:]) if role in _ROLE_AT_END else ()
                self.endings[parts.last, words].append(parts.others[0])
            others.setdefault(parts.others, {}).setdefault(parts.system, []).append(at)

    def like(self, prompt: _Prompt, message: str) -> _Found:
        """Rows with this last message that do not contradict the other messages of the log's prompt."""
        for others in dict.fromkeys((prompt.others, ((), ()))):
            systems = self.of[message].get(others, {})
            rows = systems.get(prompt.system) or systems.get("")
            if not rows and not prompt.system:
                rows = sorted(at for some in systems.values() for at in some)
            if rows:
                return _Found(rows, last_only=others != prompt.others)
        return _Found([])

    def rendered(self, prompt: _Prompt, place: _Place) -> _Found:
        """Rows whose last message stands at this place of a text and whose other turns stand before it."""
        head = prompt.last[: place.start].rstrip()
        known = self.of[place.message]
        opening = _without_role(head, "user")
        waiting = place.end < len(prompt.last)  # the assistant's turn behind the place is the one to come
        spoken = _assistants(prompt.raw) - waiting
        words = tuple((opening or "").rsplit(None, WORDS)[-WORDS:])
        ends = [(place.message, words[at:]) for at in range(len(words) + 1)]
        fit = [(turns, _before(turns, head)) for end in ends for turns in self.endings.get(end, ())]
        for turns, rest in [*sorted(fit, key=lambda one: -len(one[0])), ((), head)]:
            if rest is None or (turns, ()) not in known:
                continue
            start = rest if (bare := _without_role(rest, "user")) is None else bare
            rows, other = _of_system(known[turns, ()], start)
            more = spoken > sum(role == "assistant" for role, _ in turns)
            more = more and bool(rows) and spoken > _assistants(self.data[rows[0]])
            if rows and not (turns and more):
                return _Found(rows, more, other and not more and opening is not None, start)
        return _Found([], opening=head if opening is None else opening)


def _assistants(prompt: Any) -> int:
    """How often an assistant speaks in a prompt, in the texts of its messages too."""
    said = _said(prompt)
    return sum(
        (role == "assistant")
        + len(_SPOKEN.findall(_SPECIAL.sub(lambda token: f"\n{_role(token).strip()}\n", text)))
        for role, text in ([("", str(prompt))] if said is None else said)
    )


def _aloud(said: str) -> str:
    """A message without its thought, which some templates leave out."""
    return said.rpartition("</think>")[2].strip()


def _without_role(text: str, role: str) -> str | None:
    """The text without the role that it ends in; ``None`` where it does not."""
    found = _ROLE_AT_END[role].search(text, max(0, len(text) - NEAR))
    return text[: found.start()] if found else None


def _before(turns: _Turns, head: str) -> str | None:
    """What stands before these turns, which end the head but for a role; ``None`` where they do not.

    Calls and results of tools, which each template writes in its own way, need only stand somewhere before.
    """
    rest, behind = head, "user"  # the role of the turn behind; "" where anything may stand between
    for role, said in reversed(turns):
        ruled = role in _ROLE_AT_END and said
        part = (_without_role(rest, behind) or "") if ruled and behind else rest
        forms = (said, _aloud(said) or said) if ruled else (said,)
        found = [(part.rfind(form), len(form)) for form in forms]
        ends = [at for at, length in found if at >= 0 and not (ruled and behind and at + length < len(part))]
        if not ends:
            return None
        rest, behind = part[: ends[0]].rstrip(), role if ruled else ""
        if role == "user" and _without_role(rest, role) is None:
            return None
    return rest


def _of_system(systems: Mapping[str, list[int]], opening: str) -> tuple[list[int], bool]:
    """Rows whose system prompt opens the text, else without one, else all; whether the text has another."""
    named = _SYSTEM.match(opening)
    own = (opening[named.end() :] if named else opening).strip()
    if own in systems:
        return systems[own], False
    standing = [system for system in systems if system and system in opening]
    if standing or "" in systems:
        return systems[max(standing, key=len, default="")], False
    if own and len(systems) > 1:  # they are told apart by it
        return [], True
    return sorted(at for rows in systems.values() for at in rows), bool(own)


def _find_inside(prompts: Mapping[str, _Prompt], known: _Rows) -> tuple[dict[str, _Found], set[str]]:
    """Key of a prompt -> what its text holds; and the keys of texts with several different messages."""
    search = _Search(list(known.of))
    places = {key: search.places(prompt.last) for key, prompt in prompts.items()}
    before: dict[str, set[str]] = defaultdict(set)
    after: dict[str, set[str]] = defaultdict(set)
    for key, found in places.items():
        for place in found:
            before[prompts[key].last[: place.start]].add(place.message)
            after[prompts[key].last[place.end :]].add(place.message)

    def found_at(prompt: _Prompt, place: _Place) -> _Found | None:
        """What the place holds; ``None`` where the message may be a part of something else."""
        head, tail = prompt.last[: place.start].rstrip(), prompt.last[place.end :]
        by_user = _without_role(head, "user") is not None
        same_head = len(before[prompt.last[: place.start]]) > 1
        turn = by_user and (not tail or _ASSISTANT.match(tail))
        framed = (not head or by_user or same_head) and len(after[tail]) > 1
        if not (turn or (framed if tail else same_head)):
            return None
        rendered = prompt.raw is not None
        rows = known.rendered(prompt, place) if rendered else known.like(prompt, place.message)
        opening = rows.opening if rendered else _without_role(head, "user") or ""
        # Without an assistant behind it, the user's role may be a word of a longer question.
        return rows if tail or same_head or _OPENING.fullmatch(opening) else None

    inside, unclear = {}, set()
    for key, places_there in places.items():
        found_there = [(place.message, found_at(prompts[key], place)) for place in places_there]
        fit = {message: one for message, one in found_there if one is not None and one.rows}
        if len(fit) > 1:
            unclear.add(key)
        elif fit or any(one is not None for _, one in found_there):
            inside[key] = next(iter(fit.values()), _Found([]))
    return inside, unclear


class _Search:
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

    def places(self, text: str) -> list[_Place]:
        """Where messages stand between spaces or the ends, without those that lie inside of a longer one."""
        found: list[_Place] = []
        reached = -1
        start = 0
        while start < len(text):
            if any(text[start : start + length] in self.anchors for length in self.lengths):
                message = self._longest_at(text, start)
                if message is not None and start + len(message) > reached:
                    reached = start + len(message)
                    found.append(_Place(message, start, reached))
            space = text.find(" ", start)
            start = space + 1 if space >= 0 else len(text)
        return found

    def _longest_at(self, text: str, start: int) -> str | None:
        rest = text[start:]
        at = bisect_right(self.sorted, rest) - 1
        while at >= 0:
            message = self.sorted[at]
            if rest.startswith(message) and self._ends(rest, len(message)):
                return message
            at = self.shorter[at]
        return None

    @staticmethod
    def _ends(rest: str, length: int) -> bool:
        """Whether a message may end here: before a space or an assistant's role, or at the end."""
        return len(rest) == length or rest[length] == " " or _ASSISTANT.match(rest, length) is not None
