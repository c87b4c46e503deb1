"""Which prompt of a data set a prompt of a log is: the same turns, be they text, messages or rendered."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.primitives.messages import as_list, content_text

__all__ = ["Matches", "match_prompts", "match_values"]

_SPECIAL = re.compile(
    r"<\|(?P<bar>[^<>|\s]{1,60})\|>|<｜(?P<wide>[^<>｜]{1,60})｜>|\[\|(?P<square>[a-z]{1,20})\|\]"
    r"|\[(?P<inst>/?INST)\]|</?s>|<(?:bos|eos|pad)>|<(?:start|end)_of_turn>|<</?SYS>>"
)
"""What chat templates put around messages, in ChatML, Llama, DeepSeek, Gemma, Mistral, Command R, EXAONE."""

_USER = ("user", "human", "instruction", "question", "inst", "user_token")
_ASSISTANT = ("assistant", "model", "gpt", "ai", "bot", "response", "/inst", "chatbot_token")
_SYSTEM = ("system", "developer", "system_token")
_ROLES = {
    name: names[0] for names in (_USER, _ASSISTANT, _SYSTEM, ("tool",)) for name in names
}  # as templates name them -> ours
_NAMES = "|".join(name for name in _ROLES if name.isalpha())
_TURN = re.compile(
    rf"(?:(?<![ \t])(?P<line>user|assistant|model|system|developer|tool)[ \t*]*(?:\n|\Z)"
    rf"|(?P<colon>{_NAMES})[ \t*]*[:：])[\s*]*",
    re.IGNORECASE,
)
"""Where a turn begins in a text whose special tokens are lines; some logs glue it to the turn before."""

_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>")
_THOUGHT_OPENED = re.compile(r"<think(?:ing)?>\s*\Z")

TURNS = 64
"""From the end of a prompt, with which a row of the data set may begin. Our choice, far above the usual."""

FEW = 100
"""System prompts of one question, up to which each is looked for in a longer one. Our choice."""

Turn = tuple[str, str]  # role, "" where none is named; its text, white space collapsed


@dataclass(frozen=True)
class Matches:
    """For each value of the log the places of the data set's rows that it is, none where it is none of them.

    The others are places in the log. `unclear`: rows with different system prompts fit, and the log does not
    say which; no match. `last_only`: a match, though the log has turns before that the rows have not.
    """

    rows: Sequence[Sequence[int]]
    unclear: frozenset[int] = frozenset()
    last_only: frozenset[int] = frozenset()


def match_values(log: Sequence[Any], data: Sequence[Any]) -> Matches:
    """Rows of the data set with the same value: texts but for white space, all else as JSON writes it."""
    index: dict[Hashable, list[int]] = defaultdict(list)
    for at, value in enumerate(data):
        if value is not None:
            index[_value(value)].append(at)
    return Matches([index.get(_value(value), ()) if value is not None else () for value in log])


def match_prompts(log: Sequence[Any], data: Sequence[Any]) -> Matches:
    r"""Rows of the data set whose turns are those at the end of the log's prompt.

    Roles, special tokens, thoughts and white space aside, texts must be the same. Before these turns a log
    may have a system prompt, or other turns of a conversation (`last_only`). Of rows with the same turns
    those whose system prompt stands there come first, then those without; where several are left with
    different ones, which it is cannot be known.

    >>> match_prompts(["system\nBe brief.\nuser\n2+2?\nassistant\n"], ["3+3?", "2+2?"]).rows
    [[1]]
    """
    rows: dict[str, dict[str, list[int]]] = {}  # turns -> system prompt -> rows
    for at, prompt in enumerate(data):
        turns = _turns(prompt)
        system = _texts(turn for turn in turns if turn[0] == "system")
        texts = _texts(turn for turn in turns if turn[0] != "system")
        if texts:
            rows.setdefault(texts, {}).setdefault(system, []).append(at)
            if system:  # as Gemma, Mistral and Llama 2 write it, into the user's turn
                rows.setdefault(f"{system} {texts}", {}).setdefault("", []).append(at)
    found: dict[str, tuple[list[int], str]] = {}
    each = []
    for prompt in log:
        key = repr(prompt)
        if key not in found:
            found[key] = _rows_of(_turns(prompt), rows)
        each.append(found[key])
    noted = {
        note: frozenset(at for at, (_, told) in enumerate(each) if told == note)
        for note in ("unclear", "last_only")
    }
    return Matches([places for places, _ in each], **noted)


def _rows_of(turns: Sequence[Turn], rows: Mapping[str, Mapping[str, list[int]]]) -> tuple[list[int], str]:
    """The rows that a prompt ends in, those with the most turns first; and what is to be noted."""
    waits = bool(turns) and turns[-1] == ("assistant", "")
    for start in [0, *range(max(1, len(turns) - TURNS), len(turns))]:
        head = turns[:start]
        systems = rows.get(_texts(turns[start:]))
        if systems is None or not _may_begin(head, waits):
            continue
        above = _texts(head)
        few = systems if len(systems) <= FEW else {above} & systems.keys()
        standing = [system for system in few if system and system in above]
        if standing:
            chosen = systems[max(standing, key=len)]
        elif "" in systems:
            chosen = systems[""]
        elif len(systems) > 1:
            return [], "unclear"
        else:
            (chosen,) = systems.values()
        return chosen, "last_only" if any(role == "assistant" and text for role, text in head) else ""
    return [], ""


def _may_begin(head: Sequence[Turn], waits: bool) -> bool:
    """Whether a conversation may go on behind this head, and not just a text that names a role."""
    if not any(text for _, text in head) or all(role == "system" or not text for role, text in head):
        return True
    return waits and head[-1][0] != "user"


def _turns(prompt: Any) -> list[Turn]:
    """The turns of a prompt, text or messages; an answer that was begun for the model is none."""
    messages = as_list(prompt)
    if messages is None:
        text = "" if prompt is None else str(prompt)
    else:
        said = [one for one in messages if isinstance(one, Mapping)]
        begun = bool(said) and said[-1].get("role") == "assistant"
        spoken = [f"\n{one.get('role')}\n{content_text(one.get('content'))}\n" for one in said]
        text = "".join(spoken[: len(said) - begun]) + "\nassistant\n"
    text = _SPECIAL.sub(_line, unicodedata.normalize("NFC", text))
    starts = list(_TURN.finditer(text))
    ends = [*(one.start() for one in starts[1:]), len(text)]
    turns = [("", _plain(text[: starts[0].start() if starts else len(text)]))]
    for one, end in zip(starts, ends, strict=True) if starts else ():
        turns.append((_ROLES[(one["line"] or one["colon"]).lower()], _plain(text[one.end() : end])))
    return turns if turns[0][1] else turns[1:]


def _line(token: re.Match[str]) -> str:
    """A special token as a line: the name of its role, or nothing."""
    name = next((name for name in token.groupdict().values() if name), "").lower()
    return f"\n{_ROLES[name]}\n" if name in _ROLES else "\n"


def _plain(text: str) -> str:
    """A turn for comparison: without its thought, which templates leave out of earlier turns."""
    aloud = _THOUGHT_OPENED.sub("", _THOUGHT_ENDS.split(text)[-1])
    return " ".join(aloud.split()).rstrip("#* ")  # of "### Response:"


def _texts(turns: Iterable[Turn]) -> str:
    return " ".join(text for _, text in turns if text)


def _value(value: Any) -> Hashable:
    if isinstance(value, str):
        return " ".join(unicodedata.normalize("NFC", value).split())
    return ("json", json.dumps(value, sort_keys=True, default=str))
