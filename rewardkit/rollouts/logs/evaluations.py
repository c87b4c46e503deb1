"""Logs of evaluation libraries: Inspect, verifiers, lm-eval, Qwen's mathematics.

Inspect's logs are read by its own reader; a sample of an epoch is a rollout. verifiers
v1 appends one episode per line to traces.jsonl, with a graph of messages for each agent
(0.4.0); vf-eval wrote results.jsonl. lm-eval logs one line per document and filter
(samples_*.jsonl). The evaluation of Qwen2.5-Math, which is widely used, has one line
per question with lists of completions (`code`), extracted answers and verdicts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError
from rewardkit.plain import Plain, Record
from rewardkit.rollouts.columns import INSPECT_GRADES, LOGGED, Columns
from rewardkit.rollouts.logs.log import (
    Form,
    ParsedLog,
    columns_of_objects,
    first,
    has,
    inner,
    listed,
    numeric,
    scored_table,
    unrolled,
)
from rewardkit.rollouts.values import Place, SourceRows


def is_inspect_log(content: Any) -> bool:
    """Return whether a JSON value has the specification and status of Inspect."""
    return isinstance(inner(content, "eval"), dict) and "status" in content


def read_inspect_log(path: Path) -> SourceRows:
    """Read the samples of a log as rows, scores as ``logged/<scorer>``.

    A sample that failed before it had an output is rejected.
    RolloutsError: inspect_ai is not installed, or cannot read the file.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ModuleNotFoundError as error:
        raise RolloutsError(
            f"{str(path)!r} is a log of Inspect, which needs {error.name} to be read: "
            "pip install inspect-ai"
        ) from None
    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    # any error means that the file is not readable
    except Exception as error:
        raise RolloutsError(
            f"{str(path)!r} is not a log that Inspect can read: "
            f"{type(error).__name__}: {error}"
        ) from None
    samples = enumerate(log.samples or (), start=1)
    placed = ((Place(line), _sample_row(sample, log.eval)) for line, sample in samples)
    return SourceRows.of_rows(placed, form=INSPECT_LOG.name)


def _sample_row(sample: Any, about: Any) -> Record | ValueError:
    error = sample.error.message if sample.error else None
    if error and not sample.output.completion:
        return ValueError(f"ended in an error: {' '.join(error.split())[:200]}")
    prompt = sample.input
    target = sample.target
    if not isinstance(prompt, str):
        prompt = list(map(_plain, prompt))
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    row = {
        "rollout_id": sample.uuid or f"{sample.id}:{sample.epoch}",
        "prompt_id": str(sample.id),
        "prompt": prompt,
        "completion": sample.output.completion if sample.output.choices else None,
        "messages": list(map(_plain, sample.messages)) or None,
        "ground_truth": target,
        "data_source": about.task,
        "policy": about.model,
        "epoch": sample.epoch,
        "metadata": dict(sample.metadata) or None,
        "sample_error": error,
    }
    row = _without_missing(row)
    for scorer, score in (sample.scores or {}).items():
        column = LOGGED + scorer
        values = score.value
        if not isinstance(values, Mapping):
            values = {"": values}
        for key, value in values.items():
            name = f"{column}_{key}" if key else column
            row[name] = number_of(value)
    return row


def _without_missing(row: Plain) -> Record:
    return {name: value for name, value in row.items() if value is not None}


def _plain(message: Any) -> Record:
    """Return a chat message with the fields that rewardkit reads."""
    plain: Record = message.model_dump(exclude_none=True, mode="json")
    fields = ("role", "content", "tool_calls", "tool_call_id", "error")
    return {name: plain[name] for name in fields if name in plain}


def number_of(value: Any) -> float | None:
    """Return a score of Inspect as a finite number, or None.

    >>> [number_of(value) for value in ("C", True, "0.5", float("nan"), "refused")]
    [1.0, 1.0, 0.5, None, None]
    """
    text = str(value).strip()
    for grade in (text, text.lower()):
        if grade in INSPECT_GRADES:
            return INSPECT_GRADES[grade]
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _parse_inspect(rows: SourceRows) -> ParsedLog:
    scores = [name for name in rows.columns if name.startswith(LOGGED)]
    total = scores[0] if len(scores) == 1 else None
    return ParsedLog(rows, dict.fromkeys(scores, 1.0), total=total, on_missing="skip")


INSPECT_LOG = Form("Inspect log", _parse_inspect)

SUM = f"{LOGGED}sum of rewards"
"""The reward that verifiers trains on: the weighted sum of the rewards that exist."""

TASK = frozenset(
    "idx id name description prompt system_prompt image workdir agent_user skills "
    "network_allow network_block artifacts artifact_max_bytes resources "
    "timeout".split()
)
"""Keys of every task (TaskData of verifiers 0.4.0); other keys become columns."""

NO_METRIC = frozenset(
    "generation_ms scoring_ms total_ms is_completed is_truncated example_id id step "
    "advantage".split()
)
"""Columns of numbers in results that are not metrics of a rubric."""


def _are_traces(columns: Columns) -> bool:
    traces = columns.get("traces", ())
    tasks = columns.get("task", ())
    return isinstance(first(traces), list) and isinstance(first(tasks), Mapping)


def _parse_traces(rows: SourceRows) -> ParsedLog:
    weights: dict[str, float] = {}
    placed: list[tuple[Any, Any]] = []
    for place, episode in zip(rows.places, rows.rows(), strict=True):
        if place.reason:
            placed.append((place, {}))
        else:
            placed += [(place, row) for row in _rows_of(episode, weights)]
    rows = rows.with_rows(placed)
    for name in weights.keys() - rows.columns.keys():
        del weights[name]
    return ParsedLog(rows, weights, beside=[SUM], total=SUM, on_missing="skip")


def _rows_of(episode: Plain, weights: dict[str, float]) -> list[Record | ValueError]:
    """Return a rollout for each trace of an episode, or a ValueError.

    The completion is the model's last message, `messages` the path to it through the
    graph, and the prompt the messages before the model's first. Siblings share the
    group's id, else the task's key. Scores have ``logged/`` names; their weights are
    written to `weights`, 0 for a metric.
    """
    rows: list[Record | ValueError] = []
    try:
        for trace in episode["traces"] or ():
            path = _path(trace)
            if path:
                rows.append(_trace_row(episode, trace, path, weights))
            else:
                trace_id = trace.get("id")
                error = _error(trace)
                rows.append(
                    ValueError(f"trace {trace_id} has no message of a model{error}")
                )
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        kind = type(error).__name__
        return [ValueError(f"is no episode that can be read ({kind}: {error})")]
    return rows or [ValueError(f"the episode has no trace{_error(episode)}")]


def _trace_row(
    episode: Plain,
    trace: Plain,
    path: Sequence[Plain],
    weights: dict[str, float],
) -> Record:
    task = trace.get("task") or episode["task"]
    data = task.get("data") or {}
    group_id = inner(episode, "group", "id")
    messages = [node["message"] for node in path]
    sampled = [bool(node.get("sampled")) for node in path]
    calls = trace.get("calls") or ()
    row = {
        "rollout_id": trace.get("id"),
        "prompt_id": group_id or task.get("key") or task.get("hash"),
        "prompt": messages[: sampled.index(True)] or data.get("prompt"),
        "completion": trace.get("root_reply") or messages[-1].get("content") or "",
        "messages": messages,
        "data_source": inner(episode, "env", "id"),
        "policy": first(call.get("model") or None for call in calls),
        "step": first([inner(episode, "run", "work", "step"), episode.get("step")]),
        "agent": inner(trace, "agent", "name"),
        "stop_condition": trace.get("stop_condition"),
    }
    for name, value in data.items():
        if name not in TASK:
            row[name] = value
    return {**_without_missing(row), **_scores(trace, weights)}


def _scores(trace: Plain, weights: dict[str, float]) -> Record:
    """Return the scores of a trace and their sum; write each weight to `weights`."""
    scores: Record = {}
    total = None
    for name, reward in (trace.get("rewards") or {}).items():
        column = LOGGED + name
        weights.setdefault(column, 1.0)
        scores[column] = None
        if reward:  # else scoring did not run
            weights[column] = float(reward.get("weight", 1.0))
            scores[column] = reward["score"]
            total = (total or 0.0) + reward["score"] * weights[column]
    for name, value in (trace.get("metrics") or {}).items():
        weights.setdefault(LOGGED + name, 0.0)
        scores.setdefault(LOGGED + name, value)
    return {**scores, SUM: total}


def _path(trace: Plain) -> list[Plain]:
    """Return the messages from the root to the model's last one."""
    nodes = trace.get("nodes") or []
    sampled = [at for at, node in enumerate(nodes) if node.get("sampled")]
    at = sampled[-1] if sampled else None
    path: list[Plain] = []
    while at is not None:
        if len(path) == len(nodes):
            raise ValueError("its messages go in circles")
        path.append(nodes[at])
        at = nodes[at].get("parent")
    return path[::-1]


def _error(record: Plain) -> str:
    errors = record.get("errors")
    if not errors:
        return ""
    return f" ({errors[-1].get('type')}: {errors[-1].get('message')})"[:200]


def _parse_results(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    by_name = columns_of_objects(columns.get("metrics", ()))  # as vf-eval writes them
    columns |= by_name
    chats: list[Any] = []
    for chat in zip(columns["prompt"], columns["completion"], strict=True):
        is_chat = all(isinstance(turns, list) for turns in chat)
        chats.append(chat[0] + chat[1] if is_chat else None)
    columns = {"messages": chats, **columns}
    return scored_table(
        replace(rows, columns=columns),
        unpaid=NO_METRIC - by_name.keys(),
        usual={"prompt_id": "example_id", "data_source": "task"},
    )


PRIME_RL = Form(
    "prime-rl rollouts",
    _parse_results,
    has("example_id prompt completion reward advantage"),
)
"""Results of verifiers with the advantages of the training."""


def _parse_lm_eval(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    columns["prompt"] = list(map(_lm_eval_prompt, columns.pop("arguments")))
    completions = []
    for cell in columns.pop("resps"):
        texts = first(_list(cell))
        completions.append(texts if isinstance(texts, list) else [texts])
    columns["completion"] = completions
    columns["extra_info"] = columns.pop("doc")
    if "filter" in columns:  # each of several filters has rows of its own
        columns.setdefault("data_source", columns["filter"])
    columns.pop("filtered_resps", None)
    metrics = chain.from_iterable(map(_list, columns.pop("metrics", ())))
    scores = []
    for name in dict.fromkeys([*map(str, metrics), *columns]):
        if name != "doc_id" and numeric(columns.get(name, ())):
            scores.append(name)
    usual = {"ground_truth": "target", "prompt_id": "doc_id"}
    has_repeats = any(len(texts) > 1 for texts in completions)
    rows = unrolled(replace(rows, columns=columns), "completion")
    if "prompt" in rows.columns:  # not earlier, as one message is a list of length 1
        prompts = list(map(_read_turns, rows.columns["prompt"]))
        rows = replace(rows, columns={**rows.columns, "prompt": prompts})
    if scores and not has_repeats:
        return scored_table(rows, total=scores[0], unpaid=("doc_id",), usual=usual)
    warnings: tuple[str, ...] = ()
    if scores:
        warnings = (
            f"{listed(scores)}: what lm-eval's filter made of several completions is "
            "no score of each: not taken",
        )
    return ParsedLog(rows, usual=usual, warnings=warnings)


def _list(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else []


def _lm_eval_prompt(arguments: Any) -> Any:
    """Return the prompt of a request."""
    if isinstance(arguments, Mapping):
        prompt = inner(arguments, "gen_args_0", "arg_0")
    else:
        prompt = first(_list(arguments))
    while isinstance(prompt, list) and prompt and not isinstance(prompt[0], Mapping):
        prompt = prompt[0]
    return prompt


def _read_turns(prompt: Any) -> Any:
    """Parse a prompt of chat messages in JSON; return any other prompt as it is."""
    if isinstance(prompt, str) and prompt.lstrip().startswith('[{"role"'):
        with suppress(ValueError):
            return json.loads(prompt)
    return prompt


def _parse_qwen_math(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    columns["completion"] = columns.pop("code")
    rows = unrolled(replace(rows, columns=columns), "completion")
    usual = {"ground_truth": "gt", "prompt_id": "idx"}
    return scored_table(rows, total="score", unpaid=("idx",), usual=usual)


EVALUATION_FORMS = (
    Form("verifiers traces", _parse_traces, _are_traces),
    Form(
        "verifiers results", _parse_results, has("example_id prompt completion reward")
    ),
    Form("lm-eval samples", _parse_lm_eval, has("doc_id doc target arguments resps")),
    Form("Qwen math evaluation", _parse_qwen_math, has("code pred gt score question")),
)
