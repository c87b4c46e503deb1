"""TRL's reward functions: f(prompts, completions, **columns) -> list[float | None].

Source: `GRPOTrainer._calculate_rewards` of TRL 1.16. Also read so: the batch functions
of Tunix and ms-swift.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rewardkit.primitives.notes import note
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.scoring.calls import event_loop
from rewardkit.targets.adapter import (
    Adapter,
    Arguments,
    Row,
    columns_asked,
    fill,
    named,
    required,
    takes_anything,
)
from rewardkit.targets.atropos import is_atropos
from rewardkit.targets.calling import installed, loaded, made
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import batch_columns, split

FORM = "f(prompts, completions, **columns) -> list[float | None]"
ASKED = {"completions", "completion_ids"}
OWN = (
    "prompts",
    "completions",
    "trainer_state",
    "log_extra",
    "log_metric",
    "environments",
)


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A batch function. Completions are texts, or lists of messages where `conversational`."""

    conversational: bool = field(default=False, kw_only=True)
    together = "batch"

    def arguments(self, rollout: Sequence[Row]) -> Arguments:
        """Lists of prompts, completions and of the columns that it asks for, and what the trainer tells."""
        own: dict[str, Any] = {
            **_texts_or_turns(rollout, conversational=self.conversational),
            "trainer_state": SimpleNamespace(
                global_step=rollout[0].get("step") or 0 if rollout else 0
            ),
            "log_extra": note,
            "log_metric": note,
        }
        columns = [self.columns(row) for row in rollout]
        names = dict.fromkeys(name for row in columns for name in row)
        return (), fill(self.function, {}, own) | {
            name: [row.get(name) for row in columns] for name in names
        }

    def columns(self, row: Row) -> dict[str, Any]:
        """The columns that it asks for, which the trainer knows by these names only."""
        return {
            name: value
            for name, value in fill(self.function, row, {}).items()
            if name not in OWN
        }

    def result(self, answer: Any, rollout: Any) -> Any:
        """A list; a NaN there is a ``None``, as the trainer takes it."""
        once = isinstance(
            answer, Iterator
        )  # a generator, which the trainer takes as well
        plain = super().result(list(answer) if once else answer, rollout)
        if not isinstance(plain, list):
            return plain
        return [
            None if isinstance(one, float) and math.isnan(one) else one for one in plain
        ]


def _texts_or_turns(
    rows: Sequence[Row], *, conversational: bool
) -> dict[str, list[Any]]:
    """Prompts and completions, as texts or as lists of messages."""
    pairs = [
        split(row) if conversational else (row.get("prompt"), row.get("completion"))
        for row in rows
    ]
    return {
        name: [pair[at] for pair in pairs]
        for at, name in enumerate(("prompts", "completions"))
    }


def _are_chats(rows: Sequence[Row]) -> bool:
    return any(
        isinstance(row.get(name), list)
        for row in rows
        for name in ("prompt", "messages")
    )


def of_texts(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a function or object that asks for `completions`, which are texts."""
    sure = bool(ASKED & set(parameters(value)))
    if (
        isinstance(value, type)
        or not (sure or takes_anything(value))
        or is_atropos(value)
    ):
        return []
    prompts = {"prompts": "prompt"} if "prompts" in named(value) else {}
    mapping = {
        "completions": "completion",
        **prompts,
        **columns_asked(value, OWN, rows),
    }
    adapter = Function(value, needs=(*prompts.values(), *required(value, OWN, rows)))
    return [Reading(_reason(value, "texts"), adapter, mapping, sure=sure)]


def _reason(value: Any, form: str) -> str:
    taken = next((name for name in parameters(value) if name in ASKED), "**kwargs")
    return f"it takes {taken}, as {form}, those of one prompt at a time"


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """Those of such a function, with texts and with messages; of llm-finetuning's classes, too."""
    if isinstance(value, type) and hasattr(value, "as_fn"):
        value = made(value)
    found = []
    for one in of_texts(value, rows):
        turns = Function(value, needs=one.adapter.needs, conversational=True)
        reason, given = _reason(value, "lists of messages"), _are_chats(rows)
        chat = replace(one, way="messages", reason=reason, adapter=turns, given=given)
        found = [replace(one, way="texts"), chat]
    return sorted(found, key=lambda one: not one.given)  # as the trainer decides


class Combined(RewardHolder):
    """The whole reward as one function: ``None`` where a completion has none."""

    def __call__(
        self, prompts: Any, completions: Any, **columns: Any
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
        self, prompts: Any, completions: Any, **columns: Any
    ) -> list[float | None]:
        """Scores of a batch."""
        return self.rate(
            _columns(prompts, completions, columns), len(completions)
        ).scores[self.component]


def _columns(
    prompts: Any, completions: Any, columns: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """The batch as canonical columns; chat messages also as the whole transcript."""
    given = {**columns, "prompt": list(prompts)}
    if any(isinstance(completion, list) for completion in completions):
        given["messages"] = [
            [*(prompt if isinstance(prompt, list) else []), *completion]
            for prompt, completion in zip(prompts, completions, strict=True)
        ]
    return batch_columns(completions, given)


def functions(
    reward: Reward, *, separate: bool = False, **options: Any
) -> list[Callable[..., list[float | None]]]:
    """The reward for `GRPOTrainer(reward_funcs=...)`: one function, or one a component where `separate`.

    With separate functions give the weights as
    ``GRPOConfig(reward_weights=list(reward.weights.values()))``.
    """
    if not separate:
        return [Combined(reward, **options)]
    return [Separate(reward, **options, component=name) for name in reward.names]


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What `GRPOTrainer._calculate_rewards` gives for the file's functions, without a model behind it."""
    version = installed("trl", "torch")
    import torch
    from accelerate import PartialState
    from trl import GRPOTrainer

    PartialState(
        cpu=True
    )  # the trainer's warnings about rows that nothing judges ask it

    module, names = loaded(path), list(written.functions)
    extra: dict[str, Any] = {}
    trainer: Any = SimpleNamespace(
        accelerator=SimpleNamespace(
            device=torch.device("cpu"), gather=lambda found: found, is_main_process=True
        ),
        reward_funcs=[getattr(module, name) for name in names],
        reward_processing_classes=[None] * len(names),
        reward_func_names=names,
        state=SimpleNamespace(global_step=0),
        environments=None,
        async_loop=event_loop(os.getpid(), "GRPOTrainer"),
        args=SimpleNamespace(report_to=[]),
        _log_completion_extra=extra.__setitem__,
        _log_metric=extra.__setitem__,
    )
    keep = {name for row in rows for name in row} - {"prompt", "completion", "messages"}
    inputs = [{name: row.get(name) for name in keep} for row in rows]
    said = _texts_or_turns(rows, conversational=_are_chats(rows)).values()
    scores = GRPOTrainer._calculate_rewards(
        trainer, inputs, *said, [[0] for _ in rows]
    ).tolist()
    shown = ["reward"] if written.whole else names
    values = {name: [row[at] for row in scores] for at, name in enumerate(shown)}
    return Called(f"GRPOTrainer._calculate_rewards of {version}", values, tuple(shown))


ABLE = Abilities(
    weights="kept",
    missing="None",
    siblings="batch",
    waits="together",
    steps=True,
    turns=True,
)
TARGET = Target("trl", "TRL", "1.0 to 1.16", FORM, readings, ABLE, functions, call)
