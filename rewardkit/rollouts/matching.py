"""Which prompt of a data set a prompt of a log is: chat messages, questions, rendered chat templates."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.primitives.messages import as_list, content_text
from rewardkit.rollouts.searching import (
    ASSISTANT,
    FEW,
    ROLE_AT_END,
    SPECIAL,
    Alike,
    Place,
    Search,
    Turns,
    aloud,
    before,
    last_start,
    normal,
    role_ends,
    role_of,
    stand_in,
    without_role,
)

__all__ = ["Matches", "match_prompts", "normal"]

WORDS = 8
"""Words by which the turn before a message is found. Our choice: few turns share them."""

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
_Others = tuple[Turns, Turns]  # those before the last message of the user, and those behind it


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
        self.endings: dict[tuple[str, tuple[str, ...]], Alike] = defaultdict(Alike)
        self.above: dict[str, set[str]] = defaultdict(set)  # last message -> system prompts
        self.lengths: dict[str, set[int]] = defaultdict(set)  # and their lengths
        self.searches: dict[tuple[str, _Others], Search] = {}
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
                words = tuple(aloud(said).split()[-WORDS:]) if role in ROLE_AT_END else ()
                self.endings[parts.last, words].turns.append(parts.others[0])
            others.setdefault(parts.others, {}).setdefault(parts.system, []).append(at)
            if parts.system:
                self.above[parts.last].add(parts.system)
                self.lengths[parts.last].add(len(parts.system))

    def like(self, prompt: _Prompt, message: str) -> _Found:
        """Rows with this last message that do not contradict the other messages of the log's prompt."""
        others = prompt.others if prompt.others in self.of[message] else ((), ())
        systems = self.of[message].get(others, {})
        rows = systems.get(prompt.system) or systems.get("", [])
        if not rows and not prompt.system:
            rows = sorted(at for some in systems.values() for at in some)
        return _Found(rows, last_only=bool(rows) and others != prompt.others)

    def by_user(self, message: str, head: str) -> bool:
        """Whether a user's turn begins before this message, be it with a system prompt of its rows."""
        return without_role(head, "user") is not None or self._opened(message, head) is not None

    def rendered(self, prompt: _Prompt, place: Place) -> _Found:
        """Rows whose last message stands at this place of a text and whose other turns stand before it.

        Rows with fewer turns count only where those of a row with more do not all stand there.
        """
        text, system = prompt.last[: place.start].rstrip(), ""
        if at := self._opened(place.message, text):  # as Mistral's template writes it since version 0.3
            text, system = text[:at].rstrip(), text[at:]
        opening = without_role(text, "user")
        waiting = place.end < len(prompt.last)  # the assistant's turn behind the place is the one to come
        spoken = _assistants(prompt.raw) - waiting
        words = tuple((opening or "").rsplit(None, WORDS)[-WORDS:])
        ends = [(place.message, words[at:]) for at in range(len(words) + 1)]
        alike = [self.endings[end].within(text) for end in ends if end in self.endings]
        fit: list[tuple[Turns, _Found]] = []
        doubtful = False
        for turns in (turns for some in alike for turns in some):
            found = self._behind(place.message, turns, before(turns, text), system, spoken)
            if found.rows and not found.last_only:
                fit.append((turns, found))
            else:
                doubtful = doubtful or stand_in(turns, text)
        if fit:
            return _best(fit, text)
        found = _Found([]) if doubtful else self._behind(place.message, (), text, system, spoken)
        if not found.rows:
            return _Found([], opening=text if opening is None else opening)
        return replace(found, other_system=found.other_system and not found.last_only and opening is not None)

    def _behind(self, message: str, turns: Turns, rest: str | None, system: str, spoken: int) -> _Found:
        """Rows with these turns, `rest` being the text before them; `last_only` where more were `spoken`."""
        systems = self.of[message].get((turns, ()))
        if rest is None or systems is None:
            return _Found([])
        role = turns[0][0] if turns and turns[0][0] in ROLE_AT_END else "user"
        bare = without_role(rest, role)
        start, other = rest if bare is None else bare, False
        if at := self._opened(message, rest):
            rows, start = systems.get(rest[at:], []), without_role(rest[:at].rstrip(), "user") or ""
        elif bare is None and turns and turns[0][0] == "user":
            rows = []  # the first turn was longer
        elif system:
            rows = systems.get(system, [])
        else:
            rows, other = self._of_system(message, turns, start)
        more = bool(rows) and spoken > sum(role == "assistant" for role, _ in turns)
        return _Found(rows, more and spoken > _assistants(self.data[rows[0]]), other, start)

    def _opened(self, message: str, text: str) -> int | None:
        """Where a system prompt begins that opens a user's turn and ends the text; ``None`` where none does.

        So Gemma, Mistral and Llama 2 write it. Only system prompts of rows with this last message count.
        """
        if not (lengths := self.lengths.get(message)):
            return None
        ends = (end for end in role_ends(text) if len(text) - end in lengths)
        return next((end for end in ends if text[end:] in self.above[message]), None)

    def _of_system(self, message: str, turns: Turns, opening: str) -> tuple[list[int], bool]:
        """Rows whose system prompt opens the text, else without one, else all; whether it has another."""
        systems = self.of[message][turns, ()]
        named = _SYSTEM.match(opening)
        own = (opening[named.end() :] if named else opening).strip()
        if own in systems:
            return systems[own], False
        standing = self._systems(message, turns, opening)
        if standing or "" in systems:
            return systems[max(standing, key=lambda system: (len(system), system), default="")], False
        if own and len(systems) > 1:  # they are told apart by it
            return [], True
        return sorted(at for rows in systems.values() for at in rows), bool(own)

    def _systems(self, message: str, turns: Turns, opening: str) -> list[str]:
        """System prompts of the rows with these turns that stand in the text."""
        systems = self.of[message][turns, ()]
        if len(systems) <= FEW:
            return [system for system in systems if system and last_start(system, opening) >= 0]
        key = message, (turns, ())
        if key not in self.searches:
            self.searches[key] = Search(list(filter(None, systems)))
        return self.searches[key].standing(opening)


def _best(fit: Sequence[tuple[Turns, _Found]], text: str) -> _Found:
    """Of rows that fit those with the most turns, the system prompt, all thoughts, the longest texts.

    Several where they differ only in thoughts that were left out.
    """
    if len(fit) == 1:
        return fit[0][1]
    ranked: dict[tuple[int, bool, bool, int], list[_Found]] = defaultdict(list)
    for turns, found in fit:
        length = sum(len(aloud(said) or said) for _, said in turns)
        whole = all(said in text for _, said in turns)
        ranked[len(turns), not found.other_system, whole, length].append(found)
    best = ranked[max(ranked)]
    return replace(best[0], rows=sorted(at for found in best for at in found.rows))


def _assistants(prompt: Any) -> int:
    """How often an assistant speaks in a prompt, in the texts of its messages too."""
    said = _said(prompt)
    return sum(
        (role == "assistant") + len(_SPOKEN.findall(SPECIAL.sub(lambda token: f"\n{role_of(token)}\n", text)))
        for role, text in ([("", str(prompt))] if said is None else said)
    )


def _find_inside(prompts: Mapping[str, _Prompt], known: _Rows) -> tuple[dict[str, _Found], set[str]]:
    """Key of a prompt -> what its text holds; and the keys of texts with several different messages."""
    search = Search(list(known.of))
    places = {key: search.places(prompt.last) for key, prompt in prompts.items()}
    heads: dict[str, set[str]] = defaultdict(set)  # text before messages -> the messages
    tails: dict[str, set[str]] = defaultdict(set)
    for key, found in places.items():
        for place in found:
            heads[prompts[key].last[: place.start]].add(place.message)
            tails[prompts[key].last[place.end :]].add(place.message)

    def found_at(prompt: _Prompt, place: Place) -> _Found | None:
        """What the place holds; ``None`` where the message may be a part of something else."""
        head, tail = prompt.last[: place.start].rstrip(), prompt.last[place.end :]
        rendered = prompt.raw is not None
        by_user = known.by_user(place.message, head) if rendered else without_role(head, "user") is not None
        same_head = len(heads[prompt.last[: place.start]]) > 1
        turn = by_user and (not tail or ASSISTANT.match(tail))
        framed = (not head or by_user or same_head) and len(tails[tail]) > 1
        if not (turn or (framed if tail else same_head)):
            return None
        rows = known.rendered(prompt, place) if rendered else known.like(prompt, place.message)
        opening = rows.opening if rendered else without_role(head, "user") or ""
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
