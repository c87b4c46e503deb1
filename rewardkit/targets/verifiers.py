"""verifiers' rewards: v1's async f(task, trace), also as methods of a Task, and functions of older rubrics.

Source: `Task.score` of verifiers 0.4.0, which calls by name with those of `task`, `trace` and `runtime` that
a function asks for, and takes functions from files by its configuration; `Rubric` of 0.1.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Row, named
from rewardkit.targets.calling import awaited, installed
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.verifiers_rubric import Weighed, functions_of
from rewardkit.targets.verifiers_rubric import readings as of_rubrics
from rewardkit.targets.verifiers_trace import columns_of, data_of, trace_of

__all__ = ["TARGET", "Function", "Method", "Rewards", "functions"]

FORM = "async f(task, trace) -> float | dict[str, float], or f(completion, answer, state, ...) -> float"
GIVEN = {"task": "the row", "trace": "prompt and completion"}


@dataclass(frozen=True)
class Tagged:
    """One of the methods of a task that ``@vf.reward`` or ``@vf.metric`` marks."""

    task: Any
    method: str
    weight: float

    @property
    def __name__(self) -> str:
        return self.method


def parts(value: Any) -> list[Tagged] | list[Weighed]:
    """The marked methods of a task (class or object), metrics with weight 0; the functions of a rubric."""
    kind = value if isinstance(value, type) else type(value)
    names = dict.fromkeys(name for base in kind.__mro__ for name in vars(base))
    found = {name: inspect.getattr_static(kind, name) for name in names}
    tagged = [
        Tagged(value, name, float(getattr(one, "_vf_weight", 1.0)) if _is(one, "reward") else 0.0)
        for name, one in found.items()
        if _is(one, "reward") or _is(one, "metric")
    ]
    if tagged or isinstance(value, type):
        return sorted(tagged, key=lambda one: not one.weight)
    return functions_of(value)


def _is(function: Any, mark: str) -> bool:
    return callable(function) and getattr(function, mark, False) is True


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function of v1: of those of `task` and `trace` that it asks for."""

    def arguments(self, rollout: Row) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The task's data and a finished trace."""
        data = data_of(rollout)
        return (), _injected(self.called, data, trace_of(rollout, data))


def _injected(function: Callable[..., Any], data: Any, trace: Any) -> dict[str, Any]:
    """What v1 hands over. ValueError: it needs the runtime, which is gone when there is a log."""
    if "runtime" in named(function):
        raise ValueError("it asks for 'runtime', the box in which an agent worked, which a log does not have")
    return {name: one for name, one in (("task", data), ("trace", trace)) if name in parameters(function)}


@dataclass(frozen=True, repr=False)
class Method(Adapter):
    """A marked method of a task: of the task that a row makes."""

    method: str = field(kw_only=True)

    @property
    def called(self) -> Any:
        """The method, before it knows its task."""
        return getattr(self.function if isinstance(self.function, type) else type(self.function), self.method)

    def arguments(self, rollout: Row) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The task, its data and a finished trace."""
        kind = self.function if isinstance(self.function, type) else type(self.function)
        data = data_of(rollout, kind.data_type() if hasattr(kind, "data_type") else None)
        if kind is self.function:
            task = kind(data)
        else:
            task = self.function.with_data()
            task.data = data
        return (task,), _injected(self.called, data, trace_of(rollout, data, kind.__name__))


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """Those of a marked method, of a function of v1, and of one before it."""
    if isinstance(value, Tagged):
        reason = f"@vf.reward with weight {value.weight:g}" if value.weight else "a metric, which is not paid"
        mapping = {"self.data": "the row", "trace": GIVEN["trace"]}
        return [_reading(reason, Method(value.task, method=value.method), mapping, value.weight)]
    if isinstance(value, Weighed):
        found = of_rubrics(value.function, FORM, value.parser, in_rubric=True)
        return [replace(one, weight=value.weight, sure=True) for one in found]
    if isinstance(value, type) or not callable(value):
        return []
    asked = parameters(value)
    if "trace" in asked and set(named(value)) <= {"task", "trace", "runtime"}:
        mapping = {name: GIVEN[name] for name in asked if name in GIVEN}
        weight = float(getattr(value, "_vf_weight", 1.0))
        return [_reading("it takes a trace, as in v1", Function(value), mapping, weight)]
    return of_rubrics(value, FORM)


def _reading(reason: str, adapter: Adapter, mapping: Mapping[str, str], weight: float) -> Reading:
    return Reading("verifiers", FORM, reason, adapter, mapping, weight=weight, sure=True)


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The reward of a trace as a number, or the score of one `component` before its weight."""

    component: str | None = field(default=None, kw_only=True)

    def __call__(self, task: Any, trace: Any) -> float:
        """The number, `missing` where there is none."""
        rated = self.rate_rows([columns_of(task, trace)])
        found = (rated.rewards if self.component is None else rated.scores[self.component])[0]
        return self.missing if found is None else found


def functions(
    reward: Reward, *, separate: bool = False, **options: Any
) -> Callable[[Any, Any], float] | dict[str, Callable[[Any, Any], float]]:
    """The reward as a function of (task, trace), to await in a thread; one a component where `separate`."""
    held = Rewards.holding(reward, **options)
    return {name: replace(held, component=name) for name in reward.names} if separate else held


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What verifiers' `Task.score` gives for a task whose configuration names the file's functions."""
    version = installed("verifiers", "verifiers", "pydantic", "renderers")
    import verifiers.v1 as vf

    plugged = {name: vf.RewardFunctionConfig(fn=f"{path.resolve()}:{name}") for name in written.functions}
    config = vf.TaskConfig(rewards=plugged)

    async def scored(row: Row) -> Any:
        data = data_of(row)
        trace = trace_of(row, data)
        await vf.Task(data, config).score(trace)
        return trace

    async def run() -> list[Any]:
        return list(await asyncio.gather(*map(scored, rows)))

    traces = awaited(run())
    caller = f"Task.score of {version}"
    if written.whole:
        return Called(caller, [trace.reward for trace in traces])
    return Called(
        caller, [], {name: [trace.rewards[name].score for trace in traces] for name in written.functions}
    )


ABLE = Abilities(weights="kept", siblings="none", waits="each", turns=True)
TARGET = Target("verifiers", "verifiers", "0.4.0", FORM, readings, ABLE, functions, call, parts)
