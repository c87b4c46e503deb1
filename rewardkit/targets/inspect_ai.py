"""Inspect's scorers: async score(state, target) -> Score, made by an @scorer.

Source: `scorer`, `TaskState` and `value_to_float` of inspect-ai 0.3: the values "C",
"I", "P", "N" are 1, 0, 0.5, 0 as there, and NaN is "unscored". The text of a turn is
passed on, its tool calls are not.
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
from rewardkit.primitives.texts import is_missing
from rewardkit.rewards.component import parameters
from rewardkit.rewards.load import make_object
from rewardkit.rollouts.columns import INSPECT_GRADES
from rewardkit.targets.adapter import Adapter, plain_values
from rewardkit.targets.columns import Row
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
    require_installed,
)
from rewardkit.targets.turns import from_messages, prompt_turns, transcript

# --- Inspect's side: a row as a state and a target

INSPECT_MODEL = "mockllm/model"


class TargetTexts(list[str]):
    """A stand-in for Inspect's `Target` if Inspect is not installed."""

    @property
    def text(self) -> str:
        """Return all texts, joined."""
        return "".join(self)


def texts_of(truth: Any) -> list[str]:
    """Return a ground truth as a list of texts, as Inspect takes it."""
    truths = truth if isinstance(truth, list) else [truth]
    return [str(text) for text in truths if text is not None]


def target_of(row: Row) -> Any:
    """Return the ground truth as Inspect's `Target`, or its stand-in."""
    if find_spec("inspect_ai") is None:
        return TargetTexts(texts_of(row.get("ground_truth")))
    from inspect_ai.scorer import Target

    return Target(texts_of(row.get("ground_truth")))


def metadata_of(row: Row) -> dict[str, Any]:
    """Return the columns of a row that go into a state's metadata."""
    columns = dict(row)
    columns.pop("prompt", None)
    columns.pop("completion", None)
    return deepcopy(columns)


def state_of(row: Row) -> Any:
    """Return a finished `TaskState`, or a stand-in with the parts that scorers read."""
    turns = []
    for turn in transcript(row):
        turns.append((str(turn.get("role")), content_text(turn.get("content"))))
    completion = row.get("completion") or ""
    if find_spec("inspect_ai") is None:
        messages: list[Any] = []
        for role, text in turns:
            messages.append(SimpleNamespace(role=role, content=text, text=text))
        return SimpleNamespace(
            input=_input_of(row, messages),
            messages=messages,
            output=SimpleNamespace(completion=completion, message=messages[-1]),
            metadata=metadata_of(row),
            completed=True,
        )
    from inspect_ai import model
    from inspect_ai.solver import TaskState

    kinds = {"assistant": "Assistant", "system": "System", "tool": "Tool"}
    messages = []
    for role, text in turns:
        kind = getattr(model, f"ChatMessage{kinds.get(role, 'User')}")
        messages.append(kind(content=text))
    return TaskState(
        model=model.ModelName(INSPECT_MODEL),
        sample_id=str(row.get("rollout_id", "")),
        epoch=1,
        input=_input_of(row, messages),
        messages=messages,
        target=target_of(row),
        output=model.ModelOutput.from_content(INSPECT_MODEL, completion),
        metadata=metadata_of(row),
        completed=True,
    )


def _input_of(row: Row, messages: list[Any]) -> Any:
    """Return the prompt of a row, as a text or else as messages."""
    prompt = row.get("prompt")
    return prompt if isinstance(prompt, str) else messages[: len(prompt_turns(row))]


class Scorer(Adapter):
    """A scorer, or the function that makes it.

    Its state and target are Inspect's own if Inspect is installed.
    """

    gives_row = True
    makers = (state_of, target_of)

    @property
    def called(self) -> Any:
        """Return the scorer: the function itself, or the one that it makes (cached)."""
        if _takes_state_and_target(self.function):
            return self.function
        return make_object(self.function)

    def result(self, answer: Any) -> Any:
        """Return the value as a number, or a dict of numbers.

        ValueError: the value is a text that stands for no number.
        """
        value = answer
        if isinstance(answer, Mapping) and "value" in answer:
            value = answer["value"]
        value = plain_values(getattr(value, "value", value))
        if isinstance(value, Mapping):
            return {name: _read_value(value[name]) for name in value}
        return _read_value(value)


def _read_value(value: Any) -> Any:
    if isinstance(value, str):
        number = INSPECT_GRADES.get(value, INSPECT_GRADES.get(value.lower()))
        try:
            value = float(value) if number is None else number
        except ValueError:
            raise ValueError(
                f"its value is {preview(value)}, neither a number nor C, I, P, N, "
                "yes, no"
            ) from None
    return None if is_missing(value) else value


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function of state and target, or of a @scorer.

    A @scorer must work without arguments.
    """
    if isinstance(value, type):
        if not _takes_state_and_target(value.__call__):
            return []
        value = make_object(value)
    info = getattr(value, "__registry_info__", None)
    is_marked = getattr(info, "type", None) == "scorer"
    if not _takes_state_and_target(value):
        if not is_marked or not _takes_state_and_target(make_object(value)):
            return []
    mapping = {"state": "all columns", "target": "ground_truth"}
    reason = "it is a @scorer" if is_marked else "it takes state and target"
    return [
        TrainerReading(reason, Scorer(value, needs=("completion",)), mapping, sure=True)
    ]


def _takes_state_and_target(function: Any) -> bool:
    return {"state", "target"} <= parameters(function).keys()


class Score(RewardHolder):
    """The reward of one state as the fields of a `Score`."""

    def __call__(self, state: Any, target: Any) -> dict[str, Any]:
        """Return ``value``, NaN without a reward, and the scores as ``metadata``."""
        turns = []
        for message in state.messages:
            turns.append({"role": message.role, "content": message.text})
        columns = from_messages(turns)
        prompt = columns["prompt"]
        if isinstance(state.input, str):
            prompt = state.input
        row = {
            "ground_truth": target.text,
            "messages": columns["messages"],
            **state.metadata,
            "prompt": prompt,
            "completion": state.output.completion,
        }
        rated = self.rate_rows([row])
        (reward,) = rated.rewards
        scores = {name: values[0] for name, values in rated.scores.items()}
        return {"value": math.nan if reward is None else reward, "metadata": scores}


functions = Score


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call Inspect's own `eval`, with a solver that replays the completions."""
    version = require_installed("inspect-ai", "inspect_ai")
    scorer = getattr(import_file(path), code.functions[0])()
    rewards = []
    for score in evaluated(scorer, rows):
        rewards.append({**score.metadata, "score": score.value})
    return TrainerValues.of_dicts(f"eval of {version}", rewards)


def evaluated(scorer: Any, rows: Sequence[Row]) -> list[Any]:
    """Return the scores of `eval`, with a solver that sets the states of the rows."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import solver

    def replay() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            finished = state_of(rows[int(state.sample_id)])
            state.messages, state.output = finished.messages, finished.output
            state.completed = True
            return state

        return solve

    samples = []
    for place, row in enumerate(rows):
        sample = Sample(
            id=place,
            input=state_of(row).input or "-",
            target=texts_of(row.get("ground_truth")),
            metadata=metadata_of(row),
        )
        samples.append(sample)
    with TemporaryDirectory() as folder:
        task = Task(dataset=samples, solver=solver(replay)(), scorer=scorer)
        (log,) = eval(
            task, model=INSPECT_MODEL, display="none", log_dir=folder, log_samples=True
        )
        if log.status != "success":
            raise RuntimeError(f"Inspect's eval ended with {log.status}: {log.error}")
        scores = {}
        for sample in log.samples:  # read from the folder
            scores[sample.id] = next(iter(sample.scores.values()))
    return [scores[place] for place in range(len(rows))]


INSPECT = Target(
    name="inspect",
    title="Inspect",
    versions="0.3",
    form="async score(state, target) -> Score",
    readings=readings,
    abilities=Abilities(missing="None", waits="each"),
    functions=functions,
    call=call,
)
