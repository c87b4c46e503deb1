"""TRL's reward functions: f(prompts, completions, **columns) -> list[float | None].

Source: `GRPOTrainer._calculate_rewards` of TRL 1.16. Also read so: the batch functions of Tunix and ms-swift.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from rewardkit.primitives.messages import assistant_text
from rewardkit.primitives.notes import note
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import (
    Adapter,
    Row,
    columns_asked,
    fill,
    is_atropos,
    named,
    required,
    takes_anything,
)
from rewardkit.targets.calling import installed, loaded
from rewardkit.targets.exported import RewardHolder, identifier
from rewardkit.targets.making import made
from rewardkit.targets.reading import SAMPLE, Reading
from rewardkit.targets.target import Abilities, Called, Export, Target, Written
from rewardkit.targets.writing import answer, options, waits

__all__ = ["TARGET", "Combined", "Function", "Separate", "functions"]

FORM = "f(prompts, completions, **columns) -> list[float | None]"
PLACED = ("prompt", "completion", "messages")
TOGETHER = "those of one prompt at a time"
ASKED = {"completions", "completion_ids"}
OWN = ("prompts", "completions", "trainer_state", "log_extra", "log_metric", "environments")


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A batch function. Completions are texts, or lists of messages where `conversational`."""

    conversational: bool = field(default=False, kw_only=True)
    batch: ClassVar[bool] = True

    def arguments(self, rollout: Sequence[Row]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Lists of prompts, completions and of the columns that it asks for, and what the trainer tells."""
        own: dict[str, Any] = {
            "prompts": [_prompt(row) if self.conversational else row.get("prompt") for row in rollout],
            "completions": [_turns(row) if self.conversational else row.get("completion") for row in rollout],
            "trainer_state": SimpleNamespace(global_step=_step(rollout)),
            "log_extra": note,
            "log_metric": note,
        }
        columns = [fill(self.function, row, {}) for row in rollout]
        filled = fill(self.function, {}, own)
        for name in dict.fromkeys(name for row in columns for name in row if name not in OWN):
            filled[name] = [row.get(name) for row in columns]
        return (), filled

    def columns(self, row: Row) -> dict[str, Any]:
        """The columns that it asks for, which the trainer knows by these names only."""
        return {name: value for name, value in fill(self.function, row, {}).items() if name not in OWN}

    def result(self, answer: Any, rollout: Any) -> Any:
        """A list; a NaN there is a ``None``, as the trainer takes it."""
        once = isinstance(answer, Iterator)  # a generator, which the trainer takes as well
        plain = super().result(list(answer) if once else answer, rollout)
        return (
            plain
            if not isinstance(plain, list)
            else [None if isinstance(one, float) and math.isnan(one) else one for one in plain]
        )


def _step(rollout: Sequence[Row]) -> Any:
    """The step, which the trainer always has; where the log has none, the first."""
    step = rollout[0].get("step") if rollout else None
    return 0 if step is None else step


def _prompt(row: Row) -> list[Any]:
    """The prompt as messages: the given ones, those before the first answer, or the text as a user's."""
    prompt, turns = row.get("prompt"), row.get("messages")
    if isinstance(prompt, list):
        return list(prompt)
    return turns[: _given(row)] if isinstance(turns, list) else [{"role": "user", "content": prompt}]


def _turns(row: Row) -> list[Any]:
    """The generated turns of a transcript; else the completion as one turn of the assistant."""
    turns = row.get("messages")
    if not isinstance(turns, list):
        return [{"role": "assistant", "content": row.get("completion")}]
    return turns[_given(row) :]


def _given(row: Row) -> int:
    """How many turns of a transcript are the prompt's: those before the first of the assistant."""
    if isinstance(row.get("prompt"), list):
        return len(row["prompt"])
    roles = [turn.get("role") if isinstance(turn, dict) else None for turn in row["messages"]]
    return roles.index("assistant") if "assistant" in roles else len(roles)


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """Those of a function or object that asks for `completions`, with texts and with messages."""
    if isinstance(value, type) and hasattr(value, "as_fn"):  # llm-finetuning's classes
        value = made(value)
    sure = bool(ASKED & set(parameters(value)))
    if isinstance(value, type) or not (sure or takes_anything(value)) or is_atropos(value):
        return []
    own = {name: name for name in OWN if name in named(value)}
    needs = required(value, OWN, rows)
    if "prompts" in own:
        needs = ("prompt", *needs)
    mapping = {"completions": "completion", **({"prompts": "prompt"} if "prompts" in own else {})}
    mapping |= columns_asked(value, OWN, rows or SAMPLE)
    taken = next(
        (name for name in ("completions", "completion_ids") if name in parameters(value)), "**kwargs"
    )
    texts = Function(value, needs=needs)
    chat = replace(texts, conversational=True)
    conversational = any(isinstance(row.get(name), list) for row in rows for name in ("prompt", "messages"))
    ways = [
        Reading("trl", FORM, f"it takes {taken}, as {form}, {TOGETHER}", adapter, mapping, way=way, sure=sure)
        for way, form, adapter in (("texts", "texts", texts), ("messages", "lists of messages", chat))
    ]
    return [replace(ways[1], given=True), ways[0]] if conversational else ways  # as the trainer decides


@dataclass(frozen=True, repr=False)
class Combined(RewardHolder):
    """The whole reward as one function: ``None`` where a completion has none."""

    def __call__(
        self, prompts: Any, completions: Any, completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """Rewards of a batch, whose siblings are the completions of one prompt."""
        log_extra = columns.get("log_extra")
        rated = self.rate(_columns(prompts, completions, columns), len(completions))
        for name in dict.fromkeys(name for notes in rated.notes for name in notes):
            if callable(log_extra):
                log_extra(name, [notes.get(name) for notes in rated.notes])
        return rated.rewards


@dataclass(frozen=True, repr=False)
class Separate(RewardHolder):
    """One component as a function of its own, before its weight: ``None`` where it is missing."""

    component: str = field(kw_only=True)

    @property
    def __name__(self) -> str:
        return self.component

    def __call__(
        self, prompts: Any, completions: Any, completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """Scores of a batch."""
        return self.rate(_columns(prompts, completions, columns), len(completions)).scores[self.component]


def _columns(prompts: Any, completions: Any, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The batch as canonical columns; chat messages also as the whole transcript."""
    given = {
        name: list(values)
        for name, values in columns.items()
        if isinstance(values, Sequence) and not isinstance(values, str) and len(values) == len(completions)
    }
    step = getattr(columns.get("trainer_state"), "global_step", None)
    if step is not None:
        given.setdefault("step", [step] * len(completions))
    if any(isinstance(completion, list) for completion in completions):
        given["messages"] = [
            [*(prompt if isinstance(prompt, list) else []), *completion]
            for prompt, completion in zip(prompts, completions, strict=True)
        ]
    texts = [text if isinstance(text, str) else assistant_text(text) for text in completions]
    return given | {"prompt": list(prompts), "completion": texts}


def functions(
    reward: Reward, *, columns: Mapping[str, str] | None = None, separate: bool = False
) -> list[Callable[..., list[float | None]]]:
    """The reward for `GRPOTrainer(reward_funcs=...)`: one function, or one a component where `separate`.

    With separate functions give the weights as ``GRPOConfig(reward_weights=list(reward.weights.values()))``.
    """
    chosen = dict(columns or {})
    if not separate:
        return [Combined(reward, columns=chosen)]
    return [Separate(reward, columns=chosen, component=name) for name in reward.names]


def write(export: Export) -> Written:
    """Functions for `reward_funcs`, asynchronous where the reward has async components."""
    names = export.reward.names if export.separate else (identifier(export.reward.name),)
    config = f"GRPOConfig(..., reward_weights={list(export.reward.weights.values())!r})\n"
    listed = ", ".join(names)
    usage = f"from {{module}} import {listed}\nGRPOTrainer(..., reward_funcs=[{listed}])"
    return Written(
        "\n\n\n".join(_function(export, name) for name in names),
        ("import asyncio",) if waits(export) else (),
        config + usage if export.separate else usage,
        tuple(names),
        whole=not export.separate,
    )


def _function(export: Export, name: str) -> str:
    part = f"Separate(_reward, component={name!r}" if export.separate else "Combined(_reward"
    call = answer(f"_rate_{name}(prompts, completions, **columns)", awaited=waits(export))
    return f'''_rate_{name} = rk.targets.trl.{part}{options(export)})


{"async " if waits(export) else ""}def {name}(prompts, completions, **columns):
    """Rewards of a batch, a list with None for what is not judged."""
    return {call}'''


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What `GRPOTrainer._calculate_rewards` gives for the file's functions, without a model behind it."""
    version = installed("trl", "torch")
    import asyncio
    import threading

    import torch
    from accelerate import PartialState
    from trl import GRPOTrainer

    PartialState(cpu=True)  # the trainer's warnings about rows that nothing judges ask it

    module = loaded(path)
    names = list(written.functions)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    extra: dict[str, Any] = {}
    trainer: Any = SimpleNamespace(
        accelerator=SimpleNamespace(
            device=torch.device("cpu"), gather=lambda tensor: tensor, is_main_process=True
        ),
        reward_funcs=[getattr(module, name) for name in names],
        reward_processing_classes=[None] * len(names),
        reward_func_names=names,
        state=SimpleNamespace(global_step=0),
        environments=None,
        async_loop=loop,
        args=SimpleNamespace(report_to=[]),
        _log_completion_extra=extra.__setitem__,
        _log_metric=extra.__setitem__,
    )
    keep = {name: value for row in rows for name, value in row.items()}
    inputs = [{name: row.get(name) for name in keep if name not in PLACED} for row in rows]
    chat = any(isinstance(row.get(name), list) for row in rows for name in ("prompt", "messages"))
    try:
        scores = GRPOTrainer._calculate_rewards(
            trainer,
            inputs,
            [_prompt(row) if chat else row.get("prompt") for row in rows],
            [_turns(row) if chat else row["completion"] for row in rows],
            [[0] for _ in rows],
        ).tolist()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    by_name = {name: [row[at] for row in scores] for at, name in enumerate(names)}
    caller = f"GRPOTrainer._calculate_rewards of {version}"
    if written.whole:
        return Called(caller, by_name[names[0]], cast=("reward",))
    return Called(caller, [], by_name, cast=tuple(names))


TARGET = Target(
    "trl",
    "TRL",
    "1.0 to 1.16",
    FORM,
    readings,
    Abilities(weights="kept", missing="None", siblings="batch", waits="together", steps=True, turns=True),
    functions,
    write,
    call,
)
