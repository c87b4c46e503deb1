"""Which prompt of a data set a prompt of a log is: chat messages, questions, rendered chat templates."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.primitives.messages import as_list, content_text

__all__ = ["Matches", "match_prompts", "match_values", "normal"]

ANCHOR = 16
"""Characters by which a place where a question may start is found. Our choice: few places share them."""

_SPECIAL = re.compile(
    r"<\|[^<>|\s]{1,60}\|>|<｜[^<>｜]{1,60}｜>|</?s>|<(?:bos|eos|pad)>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
)
"""What chat templates put around messages, in ChatML, Llama, DeepSeek, Gemma and Mistral."""

_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "[inst]": "user",
    "[/inst]": "assistant",
}
"""Those that stand for a role, as in Phi's ``<|user|>``, and the role."""

_USER = re.compile(r"(?:^|[\W_]|(?<=[a-z.]))(?:user|human|instruction|question)\s*:?$", re.IGNORECASE)
_ASSISTANT = re.compile(
    r"\s*(?:(?:assistant|model)\b|(?:gpt|ai|bot)\s*:)\s*:?\s*(?:</?think(?:ing)?>\s*)*$", re.IGNORECASE
)
"""The end of a rendered prompt, behind the last message: the model is to speak, or to think, from here."""


@dataclass(frozen=True)
class Matches:
    """For each value of the log the places of the data set's rows that it is, none where it is none of them.

    `unclear` are the places in the log where several different ones fit.
    """

    rows: Sequence[Sequence[int]]
    unclear: frozenset[int] = frozenset()


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


def match_values(log: Sequence[Any], data: Sequence[Any]) -> Matches:
    """Rows of the data set with the same value: texts as `normal` has them, all else as JSON writes it."""
    index: dict[Hashable, list[int]] = defaultdict(list)
    for at, value in enumerate(data):
        if value is not None:
            index[_key(value)].append(at)
    return Matches([index.get(_key(value), ()) if value is not None else () for value in log])


def match_prompts(log: Sequence[Any], data: Sequence[Any]) -> Matches:
    r"""Rows of the data set that have the log's prompt.

    The first of these that finds any: the same messages or text; the same last user message (a text is one);
    the data set's last user message inside the log's text, as a chat template renders it. The last holds
    only where the message fills the last turn (before it the user's role, behind it the assistant's or
    nothing), or where other messages are found between the same texts: a part of a longer question is no
    match. Of messages inside one another the longest counts; two different ones elsewhere are unclear.

    >>> match_prompts(["system\nBe brief.\nuser\n2+2?\nassistant\n"], ["3+3?", "2+2?"]).rows
    [[1]]
    """
    whole: dict[str, list[int]] = defaultdict(list)
    last: dict[str, list[int]] = defaultdict(list)
    for at, prompt in enumerate(data):
        if prompt is not None:
            whole[_whole(prompt)].append(at)
            last[_last_user(prompt)].append(at)
    last.pop("", None)
    rows: dict[str, list[int]] = {}
    texts: dict[str, str] = {}  # what is still to be found: key of the log's prompt -> its text
    keys = [None if prompt is None else _whole(prompt) for prompt in log]
    for key, prompt in zip(keys, log, strict=True):
        if key is None or key in rows or key in texts:
            continue
        found = whole.get(key) or last.get(_last_user(prompt))
        if found:
            rows[key] = found
        else:
            texts[key] = _last_user(prompt)
    inside, unclear = _find_inside(texts, list(last))
    rows |= {key: last[message] for key, message in inside.items()}
    return Matches(
        [rows.get(key, []) if key is not None else [] for key in keys],
        frozenset(at for at, key in enumerate(keys) if key in unclear),
    )


def _key(value: Any) -> Hashable:
    if isinstance(value, str):
        return normal(value)
    return ("json", json.dumps(value, sort_keys=True, default=str))


def _whole(prompt: Any) -> str:
    """All of a prompt as one text; chat messages with their roles."""
    messages = as_list(prompt)
    if messages is None:
        return normal(str(prompt))
    said = [item for item in messages if isinstance(item, Mapping)]
    return "\n".join(f"{item.get('role')}: {normal(content_text(item.get('content')))}" for item in said)


def _last_user(prompt: Any) -> str:
    """The last message of a user; a text as it is; "" where no user speaks."""
    messages = as_list(prompt)
    if messages is None:
        return normal(str(prompt))
    said = [item for item in messages if isinstance(item, Mapping) and item.get("role") == "user"]
    return normal(content_text(said[-1].get("content"))) if said else ""


@dataclass(frozen=True)
class _Place:
    """Where a message was found in a text."""

    message: str
    start: int
    end: int


def _find_inside(texts: Mapping[str, str], messages: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    """Key of a text -> the message in it; and the keys of texts with several different ones."""
    search = _Search(messages)
    places = {key: search.places(text) for key, text in texts.items()}
    before: dict[str, set[str]] = defaultdict(set)
    after: dict[str, set[str]] = defaultdict(set)
    for key, found in places.items():
        for place in found:
            before[texts[key][: place.start]].add(place.message)
            after[texts[key][place.end :]].add(place.message)

    def sure(text: str, place: _Place) -> bool:
        head, tail = text[: place.start].rstrip(), text[place.end :]
        if _USER.search(head) and (not tail or _ASSISTANT.match(tail)):
            return True
        opens = not head or _USER.search(head) or len(before[text[: place.start]]) > 1
        return bool(opens and (not tail or len(after[tail]) > 1))

    inside, unclear = {}, set()
    for key, found in places.items():
        different = {place.message for place in found if sure(texts[key], place)}
        if len(different) == 1:
            inside[key] = different.pop()
        elif different:
            unclear.add(key)
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
