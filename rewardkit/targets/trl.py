"""TRL's reward functions: f(prompts, completions, **columns) -> list[float | None].

Source: `GRPOTrainer._calculate_rewards` of TRL 1.16. The batch functions of Tunix and
ms-swift are read in the same way.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.primitives.primitive import note
from rewardkit.primitives.texts import is_missing
from rewardkit.rewards.component import parameters
from rewardkit.rewards.load import make_object
from rewardkit.rewards.reward import ROLLOUT, Reward
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.scoring.awaiting import event_loop
from rewardkit.scoring.callers import RowColumns
from rewardkit.targets.adapter import Adapter, Arguments, plain_values
from rewardkit.targets.areal import is_areal
from rewardkit.targets.atropos import is_atropos
from rewardkit.targets.columns import (
    Row,
    T,
    asks_for,
    column_of,
    columns_asked,
    fill,
    filled_columns,
    is_called_with_anything,
    keywords_name,
    reads_keywords,
    required_columns,
    required_parameters,
    takes_anything,
    takes_argument,
)
from rewardkit.targets.exported import RatedBatch, RewardHolder, component_metrics
from rewardkit.targets.target import (
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
    require_installed,
)
from rewardkit.targets.turns import batch_columns, split_column

SURE_PARAMETERS = {"completions", "completion_ids"}
"""Parameters by which a function is surely TRL's."""
TRL_ARGUMENTS = (
    "prompts",
    "completions",
    "trainer_state",
    "log_extra",
    "log_metric",
    "environments",
)


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A batch function of texts, or of lists of messages (`conversational`)."""

    conversational: bool = field(default=False, kw_only=True)
    together = "batch"

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the prompts, completions and columns that the function asks for."""
        arguments = {}
        for name in ("prompts", "completions"):
            if takes_argument(self.function, name):
                arguments[name] = texts_or_turns(
                    rows, name.removesuffix("s"), conversational=self.conversational
                )
        return (), arguments | self.columns(rows)

    def shared(self, rows: RowColumns) -> dict[str, Callable[[int], Any]]:
        """Return the state of the trainer, and the functions that log."""
        steps = rows.column("step")
        shared: dict[str, Callable[[int], Any]] = {
            "trainer_state": lambda place: SimpleNamespace(
                global_step=steps[place] or 0
            ),
            "log_extra": lambda place: note,
            "log_metric": lambda place: note,
        }
        return fill(self.function, {}, shared)

    @property
    def shared_columns(self) -> tuple[str, ...]:
        """Return the step, as a call with the trainer's state is for one step."""
        return ("step",) if takes_argument(self.function, "trainer_state") else ()

    def gives(self, column: str) -> bool:
        """Return whether the trainer hands a column over; the step in its state."""
        if column == "step":
            return asks_for(self.function, "trainer_state")
        return column in (*TRL_ARGUMENTS, "completion_ids")

    def reads(self, column: str) -> bool:
        """Return whether the function's code reads a column, or the row by keywords."""
        if column == ROLLOUT:
            return reads_keywords(self.called)
        return super().reads(column)

    def columns(self, row: Mapping[str, T]) -> dict[str, T]:
        """Return the columns that the function asks for, by its own names."""
        return filled_columns(self.function, row, TRL_ARGUMENTS)

    def result(self, answer: Any) -> Any:
        """Return a list with ``None`` for NaN, which mean the same to the trainer."""
        if isinstance(answer, Iterator):  # such as a generator
            answer = list(answer)
        scores = plain_values(answer)
        if not isinstance(scores, list):
            return scores
        if {float}.issuperset(map(type, scores)) and not math.isnan(sum(scores)):
            return scores
        return [None if is_missing(score) else score for score in scores]


def texts_or_turns(
    rows: RowColumns, name: str, *, conversational: bool
) -> Sequence[Any]:
    """Return the prompts or the completions, as texts or as lists of messages."""
    return split_column(rows, name) if conversational else rows.column(name)


def _are_chats(rows: Sequence[Row]) -> bool:
    """Return whether the trainer hands over messages, as for a prompt of messages.

    A column of messages beside two texts says the same again, unless the assistant
    speaks several times.
    """
    for row in rows:
        prompt, turns = row.get("prompt"), row.get("messages")
        if isinstance(prompt, list):
            return True
        if isinstance(turns, list):
            roles = [turn.get("role") for turn in turns if isinstance(turn, Mapping)]
            if not isinstance(prompt, str) or roles.count("assistant") > 1:
                return True
    return False


def read_with_texts(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function of `completions`, with completions as texts."""
    sure = not SURE_PARAMETERS.isdisjoint(parameters(value))
    if isinstance(value, type) or is_atropos(value) or is_areal(value):
        return []
    if not (sure or takes_anything(value) or _takes_columns(value, rows)):
        return []
    prompts = {"prompts": "prompt"} if "prompts" in required_parameters(value) else {}
    columns = columns_asked(value, TRL_ARGUMENTS, rows)
    mapping = {"completions": "completion", **prompts, **columns}
    needs = (*prompts.values(), *required_columns(value, TRL_ARGUMENTS, rows))
    adapter = Function(value, needs=needs)
    return [TrainerReading(_reason(value, "texts"), adapter, mapping, sure=sure)]


def _takes_columns(value: Any, rows: Sequence[Row]) -> bool:
    """Return whether it takes columns of these rows, and all else as keywords.

    The trainer hands over no `prompt` and no `completion`.
    """
    columns = set(rows[0]) - {"prompt", "completion"} if rows else set()
    names = required_parameters(value)
    is_filled = all(column_of(name, rows) in columns for name in names)
    return is_filled and bool(names) and keywords_name(value) is not None


def _reason(value: Any, form: str) -> str:
    names = [name for name in parameters(value) if name in SURE_PARAMETERS]
    name = names[0] if names else "**kwargs"
    if not names and required_parameters(value):
        return f"it takes columns and {name}, those of one prompt at a time"
    return f"it takes {name}, as {form}, those of one prompt at a time"


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose readings of a function of `completions`, with texts and with messages.

    Classes of llm-finetuning and those with ``__call__(**kwargs)`` are read, too.
    """
    if isinstance(value, type):
        if not (hasattr(value, "as_fn") or is_called_with_anything(value)):
            return []
        value = make_object(value)
    ways = []
    for texts in read_with_texts(value, rows):
        adapter = Function(value, needs=texts.adapter.needs, conversational=True)
        chats = replace(
            texts,
            way="messages",
            reason=_reason(value, "lists of messages"),
            adapter=adapter,
            fits_rows=_are_chats(rows),
        )
        ways = [replace(texts, way="texts"), chats]
    return sorted(ways, key=lambda way: not way.fits_rows)  # the trainer's rule


@dataclass(frozen=True, repr=False)
class Combined(RewardHolder):
    """The whole reward as one function, ``None`` for a completion without a reward.

    Notes of components go to the trainer's ``log_extra``, and with `metrics` the
    metrics of `component_metrics` to its ``log_metric``.
    """

    metrics: bool = field(default=True, kw_only=True)

    def __call__(
        self, /, prompts: Any, completions: Any, **columns: Any
    ) -> list[float | None]:
        """Return the rewards of a batch; siblings are the completions of one prompt."""
        return self.rate_batch(prompts, completions, columns).rewards

    def rate_batch(
        self, prompts: Any, completions: Any, columns: Mapping[str, Any]
    ) -> RatedBatch:
        """Score a batch, and log notes and metrics once a batch."""
        rated = self.rate(_columns(prompts, completions, columns), len(completions))
        log_extra, log_metric = columns.get("log_extra"), columns.get("log_metric")
        if not self.is_first:
            return rated
        if callable(log_extra):
            for name, notes in lists_of_columns(rated.notes).items():
                log_extra(name, notes)
        if self.metrics and callable(log_metric):
            metrics = component_metrics(self.reward, rated.outcomes)
            for name, value in metrics.items():
                log_metric(name, value)
        return rated


@dataclass(frozen=True, repr=False)
class Separate(Combined):
    """One component as a function, before its weight, ``None`` for a missing score."""

    component: str = field(kw_only=True)

    @property
    def __name__(self) -> str:
        return self.component

    def __call__(
        self, /, prompts: Any, completions: Any, **columns: Any
    ) -> list[float | None]:
        """Return the component's scores of a batch."""
        rated = self.rate_batch(prompts, completions, columns)
        return rated.scores[self.component]


def _columns(
    prompts: Any, completions: Any, columns: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return the batch as canonical columns, with transcripts of chats."""
    batch = {**columns, "prompt": list(prompts)}
    if any(isinstance(completion, list) for completion in completions):
        batch["messages"] = []
        for prompt, completion in zip(prompts, completions, strict=True):
            before = prompt if isinstance(prompt, list) else []
            batch["messages"].append([*before, *completion])
    return batch_columns(completions, batch)


def functions(
    reward: Reward, *, separate: bool = False, **options: Any
) -> list[Callable[..., list[float | None]]]:
    """Return the reward for `GRPOTrainer(reward_funcs=...)`.

    With `separate` there is one function per component: then give the weights as
    ``GRPOConfig(reward_weights=list(reward.weights.values()))``.
    """
    if not separate:
        return [Combined(reward, **options)]
    if reward.is_scheduled:
        raise RewardError(
            f"reward {reward.name!r} has weights that depend on the step, and "
            "reward_weights are the same at every step; take one function, without "
            "separate"
        )
    return [Separate(reward, **options, component=name) for name in reward.names]


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call `GRPOTrainer._calculate_rewards` on the file, without a model."""
    version = require_installed("trl", "torch")
    import torch
    from accelerate import PartialState
    from trl import GRPOTrainer

    # the trainer warns of unjudged rows through accelerate, which needs this state
    PartialState(cpu=True)
    module, names = import_file(path), list(code.functions)
    extra: dict[str, Any] = {}
    trainer: Any = SimpleNamespace(
        accelerator=SimpleNamespace(
            device=torch.device("cpu"),
            gather=lambda tensor: tensor,
            is_main_process=True,
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
    columns = set().union(*rows) - {"prompt", "completion", "messages"}
    inputs = []
    for row in rows:
        inputs.append({name: row.get(name) for name in columns})
    texts = []
    for name in ("prompt", "completion"):
        texts.append(
            texts_or_turns(RowColumns.of(rows), name, conversational=_are_chats(rows))
        )
    token_ids = [[0] for _ in rows]
    scores = GRPOTrainer._calculate_rewards(trainer, inputs, *texts, token_ids)
    score_names = ["reward"] if code.combined else names
    values = dict(zip(score_names, scores.T.tolist(), strict=True))
    caller = f"GRPOTrainer._calculate_rewards of {version}"
    return TrainerValues(caller, values, tuple(score_names))


TRL = Target(
    name="trl",
    title="TRL",
    versions="1.0 to 1.16",
    form="f(prompts, completions, **columns) -> list[float | None]",
    readings=readings,
    abilities=Abilities(
        weights="kept",
        missing="None",
        siblings="batch",
        waits="together",
        steps=True,
        turns=True,
    ),
    functions=functions,
    call=call,
)
