"""Check the rows of a log: canonical columns, ids, and reasons to reject rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rewardkit.primitives.messages import assistant_text, opening_turns
from rewardkit.rollouts.columns import Columns
from rewardkit.rollouts.logs.log import inner
from rewardkit.rollouts.values import Place, SourceRows


def check_rows(
    rows: SourceRows, mapping: Mapping[str, str], are_by_file: bool | None
) -> tuple[SourceRows, bool]:
    """Rename columns to canonical names; give each row an id or a reason to reject it.

    `are_by_file` says whether logged ids are unique only within a file; None decides it
    from the rows. Return it with the rows.
    """
    missing = [None] * len(rows.places)
    columns = {}
    for name, column in mapping.items():
        columns[name] = rows.columns.get(column, missing)
    for name, cells in rows.columns.items():
        if name not in mapping and name not in mapping.values():
            columns[name] = cells
    columns.setdefault("completion", missing)
    for name in {"prompt", "completion", "messages"} & columns.keys():
        columns[name] = _parse_turns(columns[name])
    if "messages" in columns:
        columns |= _conversations(columns)
    elif any(
        isinstance(turns, list) and len(turns) > 1 for turns in columns["completion"]
    ):
        columns["messages"] = _join_turns(
            columns.get("prompt", missing), columns["completion"]
        )
    answers = columns["completion"]
    are_texts = set(map(type, answers)) == {str}
    if not are_texts:
        columns["completion"] = list(map(assistant_text, answers))
    logged = columns.get("rollout_id", missing)
    if are_by_file is None:
        are_by_file = _are_by_file(rows, logged)
    ids = columns["rollout_id"] = _ids(rows, logged, are_by_file)
    are_ids = set(map(type, ids)) <= {str, int} and len(set(ids)) == len(ids)
    places = rows.places
    if not (are_texts and are_ids):
        places = _judge_places(rows.places, answers, columns["completion"], ids)
    return replace(rows, columns=columns, places=places), are_by_file


TURNS_AS_JSON = re.compile(r'\s*\[\s*\{\s*"(?:role|content)"')
"""The start of chat messages that are written as JSON."""


def _parse_turns(cells: list[Any]) -> list[Any]:
    """Parse a column of conversations in JSON; return any other column as it is.

    At least half of its texts have to look like it. Texts that are not JSON stay texts.
    """
    texts = {row: cell for row, cell in enumerate(cells) if isinstance(cell, str)}
    rows = [row for row, text in texts.items() if TURNS_AS_JSON.match(text)]
    if not rows or 2 * len(rows) < len(texts):
        return cells
    conversations = list(cells)
    for row in rows:
        with suppress(ValueError):
            conversations[row] = json.loads(texts[row])
    return conversations


def _conversations(columns: Columns) -> Columns:
    """Return `messages`, `completion` and `prompt`, each filled in from the others."""
    conversations, completions, prompts = [], [], []
    rows = zip(columns["messages"], columns["completion"], strict=True)
    for messages, completion in rows:
        prompt = opening_turns(messages)
        if completion is None:
            completion = messages
        elif _is_unanswered(messages, completion):
            prompt = messages
            answer = {"role": "assistant", "content": assistant_text(completion)}
            messages = [*messages, answer]
        conversations.append(messages)
        completions.append(completion)
        prompts.append(prompt or None)
    texts = {"messages": conversations, "completion": completions}
    return texts if "prompt" in columns else {**texts, "prompt": prompts}


def _join_turns(prompts: Sequence[Any], completions: Sequence[Any]) -> list[Any]:
    """Join prompts and completions of several turns to conversations."""
    conversations = []
    for prompt, completion in zip(prompts, completions, strict=True):
        start, turns = prompt, completion
        if not isinstance(prompt, list):
            start = [{"role": "user", "content": prompt}] if prompt else []
        if not isinstance(completion, list):
            turns = [{"role": "assistant", "content": completion}]
        conversations.append([*start, *turns])
    return conversations


def _is_unanswered(messages: Any, completion: Any) -> bool:
    """Return whether a conversation lacks its last turn, the completion."""
    if not isinstance(messages, list) or not messages:
        return False
    is_open = inner(messages[-1], "role") in ("user", "system")
    return is_open and assistant_text(messages) != assistant_text(completion)


def _judge_places(
    places: Sequence[Place],
    answers: Sequence[Any],
    completions: Sequence[str | None],
    ids: Sequence[Any],
) -> list[Place]:
    """Return the places of rows, with the reason to reject a row that is no rollout."""
    judged = list(places)
    first_places: dict[Any, Place] = {}
    for row, place in enumerate(places):
        reason = place.reason or _fault(answers[row], completions[row], ids[row])
        if not reason:
            first = first_places.setdefault(ids[row], place)
            if first is not place:
                reason = f"repeats rollout_id {ids[row]!r} of {first.place}"
        if reason:
            judged[row] = place._replace(reason=reason)
    return judged


def _fault(answer: Any, completion: str | None, rollout_id: Any) -> str:
    """Return why a row is not a rollout, or ""."""
    if answer is None:
        return "has no completion"
    if completion is None:
        kind = type(answer).__name__
        return f"has a completion of type {kind}, not text or chat messages"
    if not isinstance(rollout_id, str | int | float):
        kind = type(rollout_id).__name__
        return f"has a rollout_id of type {kind}, not text or a number"
    return ""


def _are_by_file(rows: SourceRows, logged: Sequence[Any]) -> bool:
    """Return whether several files use the same logged id."""
    ids_in_files = set()
    for place, rollout_id in zip(rows.places, logged, strict=True):
        if isinstance(rollout_id, int | str):
            ids_in_files.add((place.file, rollout_id))
    return len(ids_in_files) > len({rollout_id for _, rollout_id in ids_in_files})


def _ids(rows: SourceRows, logged: Sequence[Any], are_by_file: bool) -> list[Any]:
    """Return the id of each row: the logged one, else one made from its line.

    In a folder the file's name precedes the line. If ids are unique only within a file,
    it precedes logged ids, too.
    """
    has_files = any(place.file for place in rows.places)
    if logged.count(None) == len(logged) and not has_files:
        return [place.line for place in rows.places]
    used = {rollout_id for rollout_id in logged if isinstance(rollout_id, int | str)}
    ids: list[Any] = []
    for place, rollout_id in zip(rows.places, logged, strict=True):
        prefix = f"{place.file.rpartition('.')[0]}:" if place.file else ""
        if rollout_id is None:
            line = f"{prefix}{place.line}" if prefix else place.line
            ids.append(f"line-{line}" if line in used else line)
        elif are_by_file and isinstance(rollout_id, int | str):
            ids.append(f"{prefix}{rollout_id}")
        else:
            ids.append(rollout_id)
    return ids
