"""Inspect's scorers: async score(state, target) -> Score, given back by a function with @scorer.

Source: `scorer`, `TaskState` and `value_to_float` of inspect-ai 0.3: the values "C",
"I", "P", "N" are 1, 0, 0.5, 0 as there, and NaN is "unscored". A turn's tool calls are
not handed over, its text is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from rewardkit.errors import preview
from rewardkit.primitives.messages import content_text
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Arguments, Row, plain
from rewardkit.targets.calling import installed, loaded, made
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import asked, from_messages, transcript

FORM = "async score(state, target) -> Score"
VALUES = {
    "C": 1.0,
    "I": 0.0,
    "P": 0.5,
    "N": 0.0,
    "yes": 1.0,
    "true": 1.0,
    "no": 0.0,
    "false": 0.0,
}


class Scorer(Adapter):
    """A scorer, or the function that makes it."""

    @property
    def called(self) -> Any:
        """The scorer, made once in a process."""
        return self.function if _scores(self.function) else made(self.function)

    def arguments(self, rollout: Row) -> Arguments:
        """State and target, Inspect's own where it is installed."""
        return [state_of(rollout), target_of(rollout)], {}

    def result(self, answer: Any, rollout: Any) -> Any:
        """The value as a number, or a dict of them. ValueError: a text that stands for none."""
        value = (
            answer["value"]
            if isinstance(answer, Mapping) and "value" in answer
            else answer
        )
        value = plain(getattr(value, "value", value))
        return (
            {k: _number(v) for k, v in value.items()}
            if isinstance(value, Mapping)
            else _number(value)
        )


def _number(value: Any) -> Any:
    if isinstance(value, str):
        known = value if value in VALUES else value.lower()
        try:
            value = VALUES[known] if known in VALUES else float(value)
        except ValueError:
            raise ValueError(
                f"its value is {preview(value)}, neither a number nor C, I, P, N, yes, no"
            ) from None
    return None if isinstance(value, float) and math.isnan(value) else value


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a function of state and target, or of a @scorer that can be made without arguments."""
    if isinstance(value, type) and _scores(value.__call__):
        value = made(value)
    marked = (
        getattr(getattr(value, "__registry_info__", None), "type", None) == "scorer"
    )
    if isinstance(value, type) or not (
        _scores(value) or (marked and _scores(made(value)))
    ):
        return []
    mapping = {"state": "all columns", "target": "ground_truth"}
    reason = "it is a @scorer" if marked else "it takes state and target"
    return [Reading(reason, Scorer(value, needs=("completion",)), mapping, sure=True)]


def _scores(function: Any) -> bool:
    return {"state", "target"} <= parameters(function).keys()


class Score(RewardHolder):
    """The reward of one state as the fields of a `Score`."""

    def __call__(self, state: Any, target: Any) -> dict[str, Any]:
        """``value``, NaN where there is no reward, and the scores as ``metadata``."""
        told = from_messages(
            [{"role": turn.role, "content": turn.text} for turn in state.messages]
        )
        prompt = state.input if isinstance(state.input, str) else told["prompt"]
        own = {"prompt": prompt, "completion": state.output.completion}
        given = {
            "ground_truth": target.text,
            "messages": told["messages"],
            **state.metadata,
            **own,
        }
        rated = self.rate_rows([given])
        scores = {name: scores[0] for name, scores in rated.scores.items()}
        return {
            "value": math.nan if rated.rewards[0] is None else rated.rewards[0],
            "metadata": scores,
        }


functions = Score


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What Inspect's own `eval` gives, with a solver that says the completions again."""
    version = installed("inspect-ai", "inspect_ai")
    found = evaluated(getattr(loaded(path), written.functions[0])(), rows)
    rewards = [{**one.metadata, "score": one.value} for one in found]
    return Called.of_dicts(f"eval of {version}", rewards)


# --- Inspect's side: a row as its state and target, and its own eval over rows that
# were sampled before

MODEL = "mockllm/model"


class Texts(list[str]):
    """Stands for Inspect's `Target` where it is not installed."""

    @property
    def text(self) -> str:
        """All of them, joined."""
        return "".join(self)


def texts_of(truth: Any) -> list[str]:
    """A ground truth as the texts that Inspect takes."""
    return [
        str(one)
        for one in (truth if isinstance(truth, list) else [truth])
        if one is not None
    ]


def target_of(row: Row) -> Any:
    """The ground truth as Inspect's `Target`, or what stands for it."""
    if find_spec("inspect_ai") is None:
        return Texts(texts_of(row.get("ground_truth")))
    from inspect_ai.scorer import Target

    return Target(texts_of(row.get("ground_truth")))


def metadata_of(row: Row) -> dict[str, Any]:
    """The columns that have no place of their own."""
    return deepcopy(
        {name: row[name] for name in row if name not in ("prompt", "completion")}
    )


def state_of(row: Row) -> Any:
    """A finished `TaskState`, or what stands for it: input, messages, output, metadata."""
    turns = [
        (str(turn.get("role")), content_text(turn.get("content")))
        for turn in transcript(row)
    ]
    text, question = row.get("completion") or "", row.get("prompt")
    known: dict[str, Any] = {"metadata": metadata_of(row), "completed": True}
    if find_spec("inspect_ai") is None:
        own: list[Any] = [
            SimpleNamespace(role=role, content=said, text=said) for role, said in turns
        ]
        return SimpleNamespace(
            input=question if isinstance(question, str) else own[: len(asked(row))],
            messages=own,
            output=SimpleNamespace(completion=text, message=own[-1]),
            **known,
        )
    from inspect_ai import model
    from inspect_ai.solver import TaskState

    kinds = {"assistant": "Assistant", "system": "System", "tool": "Tool"}
    own = [
        getattr(model, f"ChatMessage{kinds.get(role, 'User')}")(content=said)
        for role, said in turns
    ]
    return TaskState(
        model=model.ModelName(MODEL),
        sample_id=str(row.get("rollout_id", "")),
        epoch=1,
        input=question if isinstance(question, str) else own[: len(asked(row))],
        messages=own,
        target=target_of(row),
        output=model.ModelOutput.from_content(MODEL, text),
        **known,
    )


def evaluated(scorer: Any, rows: Sequence[Row]) -> list[Any]:
    """The scores that Inspect's `eval` gives the rows, with a solver that puts their states in place."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import solver

    def replay() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            made = state_of(rows[int(state.sample_id)])
            state.messages, state.output, state.completed = (
                made.messages,
                made.output,
                True,
            )
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
        (log,) = eval(
            task, model=MODEL, display="none", log_dir=folder, log_samples=True
        )
        if log.status != "success":
            raise RuntimeError(f"Inspect's eval ended with {log.status}: {log.error}")
        found = {
            one.id: next(iter(one.scores.values())) for one in log.samples
        }  # read from the folder
    return [found[at] for at in range(len(rows))]


ABLE = Abilities(missing="None", waits="each")
TARGET = Target("inspect", "Inspect", "0.3", FORM, readings, ABLE, functions, call)
