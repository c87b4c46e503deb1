"""verifiers' rewards of v1: async f(task, trace), also as marked methods of a Task.

Source: `Task.score` of verifiers 0.4.0, which passes by name those of `task`, `trace`
and `runtime` that a function asks for, and loads functions from files by its
configuration. `verifiers_rubrics.py` reads rewards before v1.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import compress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rewardkit.primitives.messages import assistant_text, content_text
from rewardkit.rewards.component import parameters
from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import Adapter, Arguments
from rewardkit.targets.columns import (
    CANONICAL,
    AliasedRow,
    Row,
    fill,
    required_parameters,
)
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    Abilities,
    RewardPart,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    require_installed,
    run_async,
)
from rewardkit.targets.turns import are_of_two_texts, conversations, split

V1_ARGUMENTS = {"task": "the row", "trace": "prompt and completion"}


def parts(value: Any) -> list[RewardPart]:
    """Return the methods of a Task that ``@vf.reward`` or ``@vf.metric`` marks.

    Metrics have weight 0.
    """
    if not isinstance(value, type):
        return []
    names: dict[str, None] = {}
    for base in value.__mro__:
        names |= dict.fromkeys(vars(base))
    methods = []
    for name in names:
        method = inspect.getattr_static(value, name)
        if not callable(method):
            continue
        if getattr(method, "reward", False) is True:
            weight = float(getattr(method, "_vf_weight", 1.0))
            methods.append(RewardPart(value, name, weight))
        elif getattr(method, "metric", False) is True:
            methods.append(RewardPart(value, name, 0.0))
    return sorted(methods, key=lambda part: not part.weight)


class Function(Adapter):
    """A function of `task` and `trace`, or a method of a class of tasks."""

    gives_row = True

    @property
    def called(self) -> Any:
        """Return the function, or the method, whose first argument is the task."""
        return getattr(self.function, self.method) if self.method else self.function

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the data of the tasks and finished traces.

        ValueError: the function requires `runtime`, an agent's sandbox.
        """
        if "runtime" in required_parameters(self.called):
            raise ValueError(
                "it asks for 'runtime', the box in which an agent worked, which a log "
                "does not have"
            )
        kind, task_name = None, "Task"
        if self.method:
            task_name = self.function.__name__
            if hasattr(self.function, "data_type"):
                kind = self.function.data_type()
        data = tasks_of(rows, kind)
        if self.method or _is_loaded():
            data = list(data)  # the same objects for all arguments
        if _is_loaded():
            traces = MadeColumn(partial(trace_of, task=task_name), rows.rows(), data)
        elif are_of_two_texts(rows):
            texts = (rows["prompt"], rows.column("completion"))
            traces = MadeColumn(StandInTrace, *texts)
        else:
            traces = MadeColumn(stand_in_trace, conversations(rows))
        arguments = {"task": data, "trace": traces}
        positional = [MadeColumn(self.function, data)] if self.method else []
        return positional, fill(self.called, {}, arguments)


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a marked method, or of a function of a trace."""
    if isinstance(value, RewardPart):
        reason = "a metric, which is not paid"
        if value.weight:
            reason = f"@vf.reward with weight {value.weight:g}"
        adapter = Function(value.owner, method=value.name)
        mapping = {"self.data": "the row", "trace": V1_ARGUMENTS["trace"]}
        weight = value.weight
    else:
        names = parameters(value)
        if isinstance(value, type) or "trace" not in names:
            return []
        if not set(required_parameters(value)) <= {*V1_ARGUMENTS, "runtime"}:
            return []
        reason, adapter = "it takes a trace, as in v1", Function(value)
        mapping = {name: V1_ARGUMENTS[name] for name in names if name in V1_ARGUMENTS}
        weight = float(getattr(value, "_vf_weight", 1.0))
    return [TrainerReading(reason, adapter, mapping, weight=weight, sure=True)]


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The reward as a function of a trace, or one `component` before its weight."""

    component: str | None = field(default=None, kw_only=True)

    def __call__(self, task: Any, trace: Any) -> float:
        """Return the reward or score, or `missing`.

        The judged scores of a whole reward become metrics of the trace.
        """
        rated = self.rate_rows([columns_of(task, trace)])
        if self.component is None:
            (value,) = rated.rewards
            for name, (score,) in rated.scores.items():
                if score is not None and hasattr(trace, "record_metric"):
                    trace.record_metric(name, score)
        else:
            (value,) = rated.scores[self.component]
        return self.missing if value is None else value


functions = Rewards


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call verifiers' `Task.score` with a configuration of the file's functions."""
    version = require_installed("verifiers", "verifiers", "pydantic", "renderers")
    import verifiers.v1 as vf

    rewards = {}
    for name in code.functions:
        rewards[name] = vf.RewardFunctionConfig(fn=f"{path.resolve()}:{name}")
    config = vf.TaskConfig(rewards=rewards)

    async def run() -> list[Any]:
        traces = []
        for row in rows:
            data = data_of(row)
            traces.append(trace_of(row, data))
            await vf.Task(data, config).score(traces[-1])
        return traces

    traces = run_async(run())
    values: dict[str, list[float]] = {}
    if code.combined:
        values["reward"] = [trace.reward for trace in traces]
    else:
        for name in code.functions:
            values[name] = [trace.rewards[name].score for trace in traces]
    return TrainerValues(f"Task.score of {version}", values)


# --- verifiers' side: a row as data of a task and as a finished trace, and back


def data_of(row: Row) -> Any:
    """Return the data of the task of a row, see `tasks_of`."""
    return tasks_of(RowColumns.of([row]))[0]


def tasks_of(rows: RowColumns, kind: Any = None) -> Sequence[Any]:
    """Return the data of tasks, of the class `kind` or verifiers' class for any data.

    If verifiers is not loaded, the data is a stand-in. ValueError: a field of the class
    has no column, or a value of the wrong type.
    """
    is_loose = kind is None and "verifiers.v1.task" in sys.modules
    if is_loose:
        kind = sys.modules["verifiers.v1.task"].WireTaskData
    columns = rows.without({"messages"})
    if kind is None:
        return MadeColumn(StandInTask, columns.rows())
    validated = partial(_validated, kind=kind, is_loose=is_loose)
    return MadeColumn(validated, columns.rows(AliasedRow))


class StandInTask:
    """A stand-in for the data of a task, with columns as attributes."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.__dict__ = row

    def __getattr__(self, name: str) -> Any:
        try:
            return AliasedRow(vars(self))[name]
        except KeyError:
            raise AttributeError(name) from None


def _validated(row: AliasedRow, kind: Any, *, is_loose: bool) -> Any:
    """Return an object of a class of tasks, with its fields filled from columns.

    A loose class takes all columns, each also by its aliases.
    """
    fields = kind.model_fields
    names = [name for name in fields if name in row]
    if is_loose:
        info = row.get("extra_info")
        others = {*CANONICAL, *row, *(info if isinstance(info, Mapping) else ())}
        others -= {"prediction"} - row.keys()  # many rewards have a field of this name
        names = [name for name in others - set(fields) if name in row]
        names += [name for name in ("prompt", "system_prompt") if name in row]
    values = {}
    for name in names:
        value = row[name]
        if value is not None or name not in fields or fields[name].is_required():
            values[name] = value
    return kind.model_validate(values)


def _is_loaded() -> bool:
    return "verifiers.v1.trace" in sys.modules


def trace_of(row: Row, data: Any, task: str = "Task") -> Any:
    """Return a finished trace of the logged turns, or a stand-in for it."""
    if not _is_loaded():
        return stand_in_trace(row)
    turns, is_sampled = _sampled_turns(row)
    traces = sys.modules["verifiers.v1.trace"]
    agents = sys.modules["verifiers.v1.configs.agent"]
    nodes: list[dict[str, Any]] = []
    for place, turn in enumerate(turns):
        nodes.append(
            {
                "parent": place - 1 if place else None,
                "message": _verifiers_message(turn),
                "sampled": is_sampled[place],
            }
        )
    calls = []
    if row.get("finish_reason") in ("stop", "length"):
        calls.append({"node": len(nodes) - 1, "finish_reason": row["finish_reason"]})
    return traces.Trace(
        task=traces.TraceTask(type=task, data=data),
        agent=traces.AgentInfo(config=agents.WireAgentConfig()),
        nodes=nodes,
        calls=calls,
        is_completed=True,
        ok=True,
        stop_condition="agent_completed",
    )


def _sampled_turns(row: Row) -> tuple[list[dict[str, Any]], list[bool]]:
    """Return the turns of a conversation, and whether the model wrote each."""
    before, after = split(row)
    is_sampled = [False] * len(before)
    is_sampled += [turn.get("role") == "assistant" for turn in after]
    return [*before, *after], is_sampled


def stand_in_trace(row: Row) -> StandInTrace:
    """Return the stand-in for a trace, after a check that its messages can be read."""
    trace = StandInTrace(row.get("prompt"), row.get("completion"), row.get("messages"))
    _ = trace.messages
    return trace


class StandInTrace:
    """A stand-in for a trace, with the attributes that functions read."""

    root_reply = None

    def __init__(self, prompt: Any, completion: Any, messages: Any = None) -> None:
        self._texts = (prompt, completion, messages)

    @cached_property
    def messages(self) -> list[Any]:
        """Return all turns."""
        fields = {"content": None, "tool_calls": None}
        row = dict(zip(("prompt", "completion", "messages"), self._texts, strict=True))
        turns, self._is_sampled = _sampled_turns(row)
        return [SimpleNamespace(**{**fields, **turn}) for turn in turns]

    @cached_property
    def assistant_messages(self) -> list[Any]:
        """Return the turns that the model wrote."""
        messages = self.messages
        return list(compress(messages, self._is_sampled))

    @cached_property
    def tool_messages(self) -> list[Any]:
        """Return the turns of tools."""
        return [message for message in self.messages if message.role == "tool"]

    @cached_property
    def last_message(self) -> Any:
        """Return the last turn."""
        return self.messages[-1]

    @property
    def last_reply(self) -> str:
        """Return the text of the last turn that the model wrote."""
        _, completion, messages = self._texts
        if not messages:
            return content_text(completion).strip()
        replies = self.assistant_messages
        return content_text(replies[-1].content).strip() if replies else ""

    @cached_property
    def num_turns(self) -> int:
        """Return the number of turns that the model wrote."""
        return len(self.assistant_messages)

    @cached_property
    def transcript(self) -> str:
        """Return all turns as one text."""
        texts = []
        for message in self.messages:
            texts.append(f"[{message.role}]\n{content_text(message.content)}")
        return "\n\n".join(texts)


def _verifiers_message(turn: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a message from OpenAI's form to verifiers', with flat tool calls."""
    message = {name: value for name, value in turn.items() if value is not None}
    calls = []
    for place, call in enumerate(message.pop("tool_calls", ())):
        function = call.get("function", call)
        arguments = function.get("arguments", "")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        calls.append(
            {
                "id": str(call.get("id", place)),
                "name": function.get("name", ""),
                "arguments": arguments,
            }
        )
    if calls:
        message["tool_calls"] = calls
    if message.get("role") == "tool":
        message.setdefault("tool_call_id", "")
    return message


def columns_of(task: Any, trace: Any) -> dict[str, Any]:
    """Convert a trace to a row: fields of the task, messages, and the last reply."""
    completion = getattr(trace, "root_reply", None)
    if completion is None:
        last = [_fields_of(reply) for reply in trace.assistant_messages[-1:]]
        completion = assistant_text(last)
    return {
        **_fields_of(task, exclude_none=False),
        "messages": [_fields_of(message) for message in trace.messages],
        "completion": completion,
    }


def _fields_of(record: Any, *, exclude_none: bool = True) -> dict[str, Any]:
    """Return the fields of a pydantic model, or of its stand-in."""
    if hasattr(record, "model_dump"):
        return dict(record.model_dump(exclude_none=exclude_none))
    return dict(vars(record))


VERIFIERS = Target(
    name="verifiers",
    title="verifiers",
    versions="0.4.0",
    form="async f(task, trace) -> float | dict[str, float]",
    readings=readings,
    abilities=Abilities(weights="kept", siblings="none", waits="each", turns=True),
    functions=functions,
    call=call,
    parts=parts,
)
