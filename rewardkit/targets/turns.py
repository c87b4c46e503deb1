"""Convert rows to chat messages and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.primitives.messages import assistant_text, opening_turns
from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.columns import Row


def prompt_turns(row: Row) -> list[dict[str, Any]]:
    """Return the prompt as messages; a text is one message of the user."""
    prompt = row.get("prompt")
    if prompt is None:
        return []
    if isinstance(prompt, Sequence) and not isinstance(prompt, str):
        return [dict(turn) for turn in prompt]
    return question_turns(prompt)


def transcript(row: Row) -> list[dict[str, Any]]:
    """Return the column `messages`, else the prompt followed by the completion.

    >>> transcript({"prompt": "2+2?", "completion": "4"})
    [{'role': 'user', 'content': '2+2?'}, {'role': 'assistant', 'content': '4'}]
    """
    turns = row.get("messages")
    if isinstance(turns, Sequence) and not isinstance(turns, str) and turns:
        return [dict(turn) for turn in turns]
    return [*prompt_turns(row), *answer_turns(row.get("completion"))]


def from_messages(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a conversation as `prompt`, `completion` and `messages` of a row.

    The prompt is the list of turns before the assistant's first one, or the text of a
    single user turn. The completion is the text of the assistant's last turn.

    >>> from_messages(transcript({"prompt": "2+2?", "completion": "4"}))["prompt"]
    '2+2?'
    """
    turns = [dict(turn) for turn in messages]
    prompt: Any = opening_turns(turns)
    if len(prompt) == 1 and prompt[0].get("role") == "user":
        text = prompt[0].get("content")
        if isinstance(text, str):
            prompt = text
    return {"prompt": prompt, "completion": assistant_text(turns), "messages": turns}


def split(row: Row) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Split a transcript into the turns of the prompt and the generated turns.

    A prompt of messages has the length of the first part. Otherwise the generated part
    begins with the assistant's first turn.
    """
    turns = transcript(row)
    prompt = row.get("prompt")
    if not isinstance(prompt, list):
        prompt = opening_turns(turns)
    start = len(prompt)
    return turns[:start], turns[start:]


def conversations(rows: RowColumns) -> Sequence[dict[str, Any]]:
    """Return the rows with only `prompt`, `completion` and `messages`."""
    others = set(rows) - {"prompt", "completion", "messages"}
    return rows.without(others).rows()


def are_of_two_texts(rows: RowColumns) -> bool:
    """Return whether each conversation is a prompt text and a completion."""
    prompts = rows.column("prompt")
    return "messages" not in rows and {str}.issuperset(map(type, prompts))


def split_column(rows: RowColumns, name: str) -> Sequence[list[dict[str, Any]]]:
    """Return the turns of each row's prompt, or of its completion, by `name`."""
    if are_of_two_texts(rows):
        turns = question_turns if name == "prompt" else answer_turns
        return MadeColumn(turns, rows.column(name))
    place = 0 if name == "prompt" else 1
    return MadeColumn(lambda row: split(row)[place], conversations(rows))


def question_turns(text: Any) -> list[dict[str, Any]]:
    """Return a prompt as a single user turn."""
    return [{"role": "user", "content": text}]


def answer_turns(text: Any) -> list[dict[str, Any]]:
    """Return a completion as a single assistant turn."""
    return [{"role": "assistant", "content": text}]


def transcripts(rows: RowColumns) -> Sequence[list[dict[str, Any]]]:
    """Return the `transcript` of each row."""
    if not are_of_two_texts(rows):
        return MadeColumn(transcript, conversations(rows))
    return MadeColumn(_two_turns, rows["prompt"], rows.column("completion"))


def _two_turns(prompt: str, completion: Any) -> list[dict[str, Any]]:
    # inlined, as it runs for each row of a log
    return [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": completion},
    ]


def generated_texts(row: Row) -> list[str]:
    """Return the assistant's generated texts, one per turn."""
    if not isinstance(row.get("messages"), list):
        return [row["completion"]]
    texts = []
    for turn in split(row)[1]:
        if turn.get("role") == "assistant":
            texts.append(assistant_text([turn]) or "")
    return texts


def batch_columns(
    completions: Sequence[Any], arguments: Mapping[str, Any], *, spread: bool = False
) -> dict[str, list[Any]]:
    """Convert a trainer's arguments for a batch to columns.

    Columns are the completions as texts, each list of the same length, and the prompts
    of conversations in `messages`. With `spread` other values are repeated for all
    rows, else they are left out. The step of a `trainer_state` is a column.
    """
    count = len(completions)
    columns: dict[str, list[Any]] = {}
    repeated: dict[str, list[Any]] = {}
    for name, argument in arguments.items():
        if _is_column(name, argument, count):
            columns[name] = list(argument)
        elif spread:
            repeated[name] = [argument] * count
    step = getattr(arguments.get("trainer_state"), "global_step", None)
    if step is not None:
        repeated["step"] = [step] * count
    columns = repeated | columns
    columns["completion"] = [assistant_text(completion) for completion in completions]
    if _are_conversations(columns.get("messages", [])):
        _add_conversations(columns)
    if not any(columns.get("prompt_id", ())):  # a trainer's placeholder
        columns.pop("prompt_id", None)
    return columns


def _are_conversations(messages: Sequence[Any]) -> bool:
    for turns in messages:
        if not isinstance(turns, list) or not turns:
            return False
    return len(messages) > 0


def _is_column(name: str, values: Any, count: int) -> bool:
    """Return whether `values` is a column of `count` rows, not one conversation."""
    if not isinstance(values, list | tuple) or len(values) != count:
        return False
    return name != "messages" or not any(isinstance(turn, Mapping) for turn in values)


def _add_conversations(columns: dict[str, list[Any]]) -> None:
    """Fill prompts and completions from the conversations in `messages`."""
    rows = [from_messages(turns) for turns in columns["messages"]]
    columns["messages"] = [row["messages"] for row in rows]
    columns.setdefault("prompt", [row["prompt"] for row in rows])
    for place, row in enumerate(rows):
        last = row["messages"][-1]
        text = columns["completion"][place]
        if last.get("role") != "assistant" and last.get("content") == text:
            # the text of a tool is no completion
            columns["completion"][place] = row["completion"]
