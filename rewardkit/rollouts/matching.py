"""Which row of a data set a logged value is: prompts are compared by their turns."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.primitives.messages import as_list, content_text

_SPECIAL = re.compile(
    r"<\|(?P<bar>[^<>|\s]{1,60})\|>|<｜(?P<wide>[^<>｜]{1,60})｜>|\[\|(?P<square>[a-z]{1,20})\|\]"
    r"|\[(?P<inst>/?INST)\]|</?s>|<(?:bos|eos|pad)>|<(?:start|end)_of_turn>|<</?SYS>>|</?think(?:ing)?>"
)
"""What the chat templates of eight families put around messages."""

_USER = ("user", "human", "instruction", "question", "inst", "user_token")
_ASSISTANT = (
    "assistant",
    "model",
    "gpt",
    "ai",
    "bot",
    "response",
    "/inst",
    "chatbot_token",
)
_SYSTEM = ("system", "developer", "system_token")
_ROLES = {
    name: names[0]
    for names in (_USER, _ASSISTANT, _SYSTEM, ("tool",))
    for name in names
}  # as templates name them -> ours
_NAMES = "|".join(name for name in _ROLES if name.isalpha())
_TURN = re.compile(
    r"(?:(?<![ \t])(?P<line>user|assistant|model|system|developer|tool)[ "
    r"\t*]*(?:\n|\Z)"
    rf"|(?P<colon>{_NAMES})[ \t*]*[:：])[\s*]*",
    re.IGNORECASE,
)
"""Where a turn begins; some logs glue it to the turn before."""


def match(
    log: Sequence[Any], data: Sequence[Any], *, prompts: bool
) -> list[tuple[Sequence[int], bool]]:
    r"""Find for each logged value its rows in the data set, or those of its question.

    Texts are the same but for white space, all else as JSON writes it. Of prompts the
    turns are compared, without roles and special tokens: all of them; else those beside
    the system prompt; else the last one of the user alone, where the model has spoken
    before (few-shot examples that the data set has not).

    >>> logged = ["system\nBe brief.\nuser\n2+2?\nassistant\n"]
    >>> match(logged, ["3+3?", "2+2?"], prompts=True)
    [([1], False)]
    """
    keys_of = _prompt_keys if prompts else _value_keys
    index: dict[str, list[int]] = defaultdict(list)
    for at, value in enumerate(data):
        for key in dict.fromkeys(keys_of(value)[:2]):
            index[key].append(at)
    known: dict[str, tuple[Sequence[int], bool]] = {}
    matches = []
    for value in log:
        text = repr(value)
        if text not in known:
            keys = enumerate(keys_of(value))
            found = ((index[key], place == 2) for place, key in keys if key in index)
            known[text] = next(found, ((), False))
        matches.append(known[text])
    return matches


def _value_keys(value: Any) -> list[str]:
    if isinstance(value, str):
        return [" ".join(unicodedata.normalize("NFC", value).split())]
    return (
        []
        if value is None
        else [f"json {json.dumps(value, sort_keys=True, default=str)}"]
    )


def _prompt_keys(prompt: Any) -> list[str]:
    """Return a prompt with and without its system prompt, and its last question."""
    turns = _turns(prompt)
    waits = turns[-1:] == [("assistant", "")]  # for the model to go on
    if waits and len(turns) > 1 and not turns[0][0]:
        turns[0] = ("system", turns[0][1])
    asked = [turn for turn in turns if turn[0] != "system"]
    keys = [" ".join(text for _, text in some if text) for some in (turns, asked)]
    if waits and [role for role, _ in asked[-3:-1]] == ["assistant", "user"]:
        keys.append(asked[-2][1])
    return keys if keys[1] else []


def _turns(prompt: Any) -> list[tuple[str, str]]:
    """Return the role ("" if unnamed) and the text of each turn of a prompt."""
    messages = as_list(prompt)
    if messages is None:
        text = "" if prompt is None else str(prompt)
    else:
        spoken = [one for one in messages if isinstance(one, Mapping)]
        if (
            spoken and spoken[-1].get("role") == "assistant"
        ):  # an answer that was begun for the model
            spoken.pop()
        text = "".join(
            f"\n{one.get('role')}\n{content_text(one.get('content'))}\n"
            for one in spoken
        )
        text += "\nassistant\n"
    text = _SPECIAL.sub(_line, unicodedata.normalize("NFC", text))
    marks = list(_TURN.finditer(text))
    starts = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(text)]
    roles = ["", *(_ROLES[(mark["line"] or mark["colon"]).lower()] for mark in marks)]
    turns = [
        (role, _plain(text[start:end]))
        for role, start, end in zip(roles, starts, ends, strict=True)
    ]
    return turns if turns[0][1] else turns[1:]


def _line(token: re.Match[str]) -> str:
    """Return a special token as a line: the name of its role, or nothing."""
    name = next((name for name in token.groupdict().values() if name), "").lower()
    return f"\n{_ROLES[name]}\n" if name in _ROLES else "\n"


def _plain(text: str) -> str:
    """Return a text for comparison, without the marks of "### Response:"."""
    return " ".join(text.split()).rstrip("#* ")
