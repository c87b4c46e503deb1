"""Logs of Inspect, read by its own reader: a sample of an epoch is a rollout."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import Columns
from rewardkit.rollouts.logs.log import LOGGED, Form, ParsedLog
from rewardkit.rollouts.values import Place, SourceRows

INSPECT_GRADES = {
    "C": 1.0,
    "I": 0.0,
    "P": 0.5,
    "N": 0.0,
    "yes": 1.0,
    "true": 1.0,
    "no": 0.0,
    "false": 0.0,
}
"""Inspect's grades as numbers: correct, incorrect, partial, no answer."""


def is_inspect_log(content: Any) -> bool:
    """Whether a JSON value is a log of Inspect: its specification beside its status."""
    return (
        isinstance(content, dict)
        and isinstance(content.get("eval"), dict)
        and "status" in content
    )


def read_inspect_log(path: Path) -> SourceRows:
    """Read the samples of a log as rows, scores as ``logged/<scorer>``.

    A sample that ended in an error before there was an output is kept out.
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
    # whatever it raises, the file is what the person has to look at
    except Exception as error:
        raise RolloutsError(
            f"{str(path)!r} is not a log that Inspect can read: "
            f"{type(error).__name__}: {error}"
        ) from None
    samples = enumerate(log.samples or (), start=1)
    placed = ((Place(line), _row(sample, log.eval)) for line, sample in samples)
    return SourceRows.of_rows(placed, form=INSPECT_LOG.name)


def _row(sample: Any, about: Any) -> dict[str, Any] | ValueError:
    error = sample.error.message if sample.error else None
    if error and not sample.output.completion:
        return ValueError(f"ended in an error: {' '.join(error.split())[:200]}")
    prompt, target = sample.input, sample.target
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
    row = {name: value for name, value in row.items() if value is not None}
    for scorer, score in (sample.scores or {}).items():
        column = LOGGED + scorer
        if not isinstance(score.value, Mapping):
            row[column] = number_of(score.value)
            continue
        for key, value in score.value.items():
            row[f"{column}_{key}" if key else column] = number_of(value)
    return row


def _plain(message: Any) -> dict[str, Any]:
    """Return a chat message with what rewardkit reads of it."""
    plain: dict[str, Any] = message.model_dump(exclude_none=True, mode="json")
    fields = ("role", "content", "tool_calls", "tool_call_id", "error")
    return {name: plain[name] for name in fields if name in plain}


def number_of(value: Any) -> float | None:
    """Return a score of Inspect as a number; None if it is none, or not finite.

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


def _parse(rows: SourceRows, keep: Collection[str]) -> ParsedLog:
    scores = [name for name in rows.columns if name.startswith(LOGGED)]
    total = scores[0] if len(scores) == 1 else None
    return ParsedLog(rows, dict.fromkeys(scores, 1.0), total=total, on_missing="skip")


def _fits(columns: Columns) -> bool:
    return False  # known by its file, not by its columns


INSPECT_LOG = Form("Inspect log", _fits, _parse)
