"""Inspect's side: a row as its state and target, and its own eval over rows that were sampled before."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from rewardkit.primitives.messages import content_text
from rewardkit.targets.adapter import Row
from rewardkit.targets.turns import asked, transcript

__all__ = ["evaluated", "state_of", "target_of"]

MODEL = "mockllm/model"


class Texts(list[str]):
    """Stands for Inspect's `Target` where it is not installed."""

    @property
    def text(self) -> str:
        """All of them, joined."""
        return "".join(self)


def texts_of(truth: Any) -> list[str]:
    """A ground truth as the texts that Inspect takes."""
    return [str(one) for one in (truth if isinstance(truth, list) else [truth]) if one is not None]


def target_of(row: Row) -> Any:
    """The ground truth as Inspect's `Target`, or what stands for it."""
    if find_spec("inspect_ai") is None:
        return Texts(texts_of(row.get("ground_truth")))
    from inspect_ai.scorer import Target

    return Target(texts_of(row.get("ground_truth")))


def metadata_of(row: Row) -> dict[str, Any]:
    """The columns that have no place of their own."""
    return deepcopy({name: row[name] for name in row if name not in ("prompt", "completion")})


def state_of(row: Row) -> Any:
    """A finished `TaskState`, or what stands for it: input, messages, output, metadata."""
    turns = [(turn.get("role"), content_text(turn.get("content"))) for turn in transcript(row)]
    text, question = row.get("completion") or "", row.get("prompt")
    if find_spec("inspect_ai") is None:
        messages = [SimpleNamespace(role=role, content=said, text=said) for role, said in turns]
        output = SimpleNamespace(completion=text, message=messages[-1])
        known = question if isinstance(question, str) else messages[: len(asked(row))]
        users = [said for role, said in turns if role == "user"]
        return SimpleNamespace(
            input=known,
            input_text=question if isinstance(question, str) else (users or [""])[-1],
            messages=messages,
            output=output,
            metadata=metadata_of(row),
            completed=True,
        )
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        ModelName,
        ModelOutput,
    )
    from inspect_ai.solver import TaskState

    kinds = {"assistant": ChatMessageAssistant, "system": ChatMessageSystem, "tool": ChatMessageTool}
    own = [kinds.get(str(role), ChatMessageUser)(content=said) for role, said in turns]
    return TaskState(
        model=ModelName(MODEL),
        sample_id=str(row.get("rollout_id", "")),
        epoch=1,
        input=question if isinstance(question, str) else own[: len(asked(row))],
        messages=own,
        target=target_of(row),
        output=ModelOutput.from_content(MODEL, text),
        completed=True,
        metadata=metadata_of(row),
    )


def evaluated(scorer: Any, rows: Sequence[Row]) -> list[Any]:
    """The scores that Inspect's `eval` gives the rows, with a solver that puts their states in place."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import solver

    def replay() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            made = state_of(rows[int(state.sample_id)])
            state.messages, state.output, state.completed = made.messages, made.output, True
            return state

        return solve

    samples = [
        Sample(
            id=at,
            input=state_of(row).input or "-",
            target=texts_of(row.get("ground_truth")),
            metadata=metadata_of(row),
        )
        for at, row in enumerate(rows)
    ]
    with TemporaryDirectory() as folder:
        task = Task(dataset=samples, solver=solver(replay)(), scorer=scorer)
        (log,) = eval(task, model=MODEL, display="none", log_dir=folder, log_samples=True)
        if log.status != "success":
            raise RuntimeError(f"Inspect's eval ended with {log.status}: {log.error}")
        found = {one.id: next(iter(one.scores.values())) for one in log.samples}  # read from the folder
    return [found[at] for at in range(len(rows))]
