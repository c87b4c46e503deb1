"""Turns: a row as the chat messages that some trainers hand over, and these as columns of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.primitives.messages import assistant_text
from rewardkit.targets.adapter import Row


def prompt_turns(row: Row) -> list[dict[str, Any]]:
    """The prompt's turns: as they are, a text as one turn of the user; none where there is no prompt."""
    prompt = row.get("prompt")
    if isinstance(prompt, Sequence) and not isinstance(prompt, str):
        return [dict(turn) for turn in prompt]
    return [] if prompt is None else [{"role": "user", "content": prompt}]


def transcript(row: Row) -> list[dict[str, Any]]:
    """The whole conversation: the column `messages`, else the prompt with the completion behind it.

    >>> transcript({"prompt": "2+2?", "completion": "4"})
    [{'role': 'user', 'content': '2+2?'}, {'role': 'assistant', 'content': '4'}]
    """
    turns = row.get("messages")
    if isinstance(turns, Sequence) and not isinstance(turns, str) and turns:
        return [dict(turn) for turn in turns]
    return [*prompt_turns(row), {"role": "assistant", "content": row.get("completion")}]


def from_messages(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row's `prompt`, `completion` and `messages`, of a conversation with turns of its prompt first.

    The prompt is what stands before the first turn of the assistant: a text where that
    is one turn of the user. The completion is the text of the assistant's last turn.

    >>> from_messages([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}])["prompt"]
    '2+2?'
    """
    turns = [dict(turn) for turn in messages]
    roles = [turn.get("role") for turn in turns]
    before = turns[: roles.index("assistant")] if "assistant" in roles else turns
    one = (
        len(before) == 1
        and before[0].get("role") == "user"
        and isinstance(before[0].get("content"), str)
    )
    prompt: Any = before[0]["content"] if one else before
    return {"prompt": prompt, "completion": assistant_text(turns), "messages": turns}


def split(row: Row) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The turns of the prompt, and those that were generated: from the first of the assistant on.

    A prompt of messages says by its length where that is.
    """
    turns, prompt = transcript(row), row.get("prompt")
    roles = [turn.get("role") for turn in turns]
    first = roles.index("assistant") if "assistant" in roles else len(turns)
    start = len(prompt) if isinstance(prompt, list) else first
    return turns[:start], turns[start:]


def spoken(row: Row) -> list[str]:
    """The texts that were generated, a turn each: of the transcript where there is one."""
    if not isinstance(row.get("messages"), list):
        return [row["completion"]]
    return [
        assistant_text([turn]) or ""
        for turn in split(row)[1]
        if turn.get("role") == "assistant"
    ]


def batch_columns(
    completions: Sequence[Any], given: Mapping[str, Any], *, spread: bool = False
) -> dict[str, list[Any]]:
    """The columns of a batch: what is a list of its length, what `messages` tell, the completions as texts.

    Other values are a column, too, where the trainer gives one for all (`spread`); else
    they are left out, but for the step that a `trainer_state` tells.
    """
    count = len(completions)
    whole = {
        name: list(value)
        for name, value in given.items()
        if _is_column(name, value, count)
    }
    others = {
        name: [value] * count
        for name, value in given.items()
        if spread and name not in whole
    }
    step = getattr(given.get("trainer_state"), "global_step", None)
    others |= {} if step is None else {"step": [step] * count}
    columns = {
        **others,
        **whole,
        "completion": [assistant_text(one) for one in completions],
    }
    conversations = columns.get("messages", [])
    if conversations and all(
        isinstance(turns, list) and turns for turns in conversations
    ):
        told = [from_messages(turns) for turns in conversations]
        columns["messages"] = [one["messages"] for one in told]
        columns.setdefault("prompt", [one["prompt"] for one in told])
        for at, (turns, text) in enumerate(
            zip(conversations, columns["completion"], strict=True)
        ):
            if (
                turns[-1].get("role") != "assistant"
                and turns[-1].get("content") == text
            ):
                columns["completion"][at] = told[at][
                    "completion"
                ]  # what a tool said is no completion
    if not any(columns.get("prompt_id", ())):  # a trainer's placeholder
        columns.pop("prompt_id", None)
    return columns


def _is_column(name: str, value: Any, count: int) -> bool:
    """Whether a value is a column of so many; a single conversation is none, though it is a list."""
    if not isinstance(value, list | tuple) or len(value) != count:
        return False
    return name != "messages" or not any(isinstance(one, Mapping) for one in value)
