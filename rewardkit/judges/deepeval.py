"""Judge `from_deepeval`: a single-turn metric of DeepEval as a component."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from rewardkit.errors import NotJudged, describe_error, did_you_mean, preview
from rewardkit.judges.model_judge import column_text
from rewardkit.judges.session import in_session
from rewardkit.primitives.primitive import VERDICT, Primitive, keyword_signature, note

CASE_COLUMNS = {
    "input": "prompt",
    "actual_output": "completion",
    "expected_output": "ground_truth",
}
"""Field of LLMTestCase -> its column, if that has another name."""

LIST_FIELDS = ("context", "retrieval_context")

UNCHANGED_FIELDS = ("metadata", "tags", "tools_called", "expected_tools")

PICTURE_MARK = "[DEEPEVAL:"
"""DeepEval's mark of a picture in a text; it would read and send that file."""


def _deepeval() -> Any:
    """Import the package with telemetry disabled."""
    os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "1")
    try:
        import deepeval.metrics
        import deepeval.metrics.utils
        import deepeval.test_case
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a metric of DeepEval needs deepeval, of the extra 'deepeval': pip install "
            "'reward-workbench[deepeval]'",
            name=error.name,
        ) from None
    return deepeval


def _metric(option: str, value: Any) -> Any:
    if not isinstance(value, _deepeval().metrics.BaseMetric):
        raise ValueError(
            f"{option}={preview(value)} is no single-turn metric of DeepEval; give "
            "one, such as GEval(...)"
        )
    return value


def _columns(option: str, value: Any) -> Any:
    fields = _deepeval().test_case.LLMTestCase.model_fields
    for name, column in dict(value).items():
        if name not in fields or not str(column).isidentifier():
            raise ValueError(
                f"{option}={value!r} does not fit; give the column for a field of "
                "LLMTestCase, such as {'context': 'passages'}"
                f"{did_you_mean(name, fields)}"
            )
    return dict(value)


def _plain(text: Any) -> str:
    """Return a column as text, with marks of pictures disabled."""
    return column_text(text).replace(PICTURE_MARK, "[\u200b" + PICTURE_MARK[1:])


def _value(field: str, value: Any) -> Any:
    """Return a column's value in the type of this field of LLMTestCase."""
    if field in UNCHANGED_FIELDS:
        return value
    if field not in LIST_FIELDS:
        return _plain(value)
    if not isinstance(value, list | tuple):
        value = [value]
    return list(map(_plain, value))


def _copy(metric: Any) -> Any:
    """Copy a metric with its options but without state, for a concurrent call."""
    return _deepeval().metrics.utils.copy_metrics([metric])[0]


class _Running:
    """The concurrent calls of one component, with a copy of its metric."""

    def __init__(self, metric: Any, concurrency: int) -> None:
        self.metric = _copy(metric)
        self.free = asyncio.Semaphore(concurrency)
        self.first = asyncio.Lock()

    @property
    def steps_missing(self) -> bool:
        """Whether it is a GEval without evaluation steps so far."""
        return getattr(self.metric, "evaluation_steps", ()) is None

    async def measure(self, case: Any) -> Any:
        """Measure a case with a copy of the metric, and return the copy."""
        metric = _copy(self.metric)
        options = {"_show_indicator": False}
        if "_show_indicator" not in inspect.signature(metric.a_measure).parameters:
            options = {}
        try:
            await metric.a_measure(case, **options)
        finally:
            if self.steps_missing:
                self.metric.evaluation_steps = metric.evaluation_steps
        return metric


_RUNNING: WeakKeyDictionary[Any, _Running] = WeakKeyDictionary()


@dataclass(frozen=True, repr=False, eq=False)
class from_deepeval(Primitive):
    """The score of a completion by a metric of DeepEval; an async component.

    Each row becomes an LLMTestCase with the fields that the metric needs: ``input``
    from `prompt`, ``actual_output`` from `completion`, ``expected_output`` from
    `ground_truth`, other fields from the column of the same name. `columns` names other
    columns, as ``{"retrieval_context": "passages"}``. Messages and other values become
    text; tools are DeepEval's ToolCall. Each row uses a copy of the metric, at most
    `concurrency` at a time. GEval writes its steps for the first row, and all other
    rows use these. Metrics of faults (bias, toxicity, hallucination) score 1 for the
    worst: give them a negative weight.

    Telemetry is disabled from now on (DEEPEVAL_TELEMETRY_OPT_OUT, unless it is set).
    The verdict has the metric's reason, cost and tokens. A row is not judged, with the
    reason, if a column is missing, or the metric fails or gives no score. ValueError:
    no such metric, invalid columns. ModuleNotFoundError: the extra 'deepeval' is
    missing.
    """

    asks_model = unbounded = True
    metric: Annotated[Any, _metric]
    columns: Annotated[Mapping[str, str], _columns] | None = None
    _: KW_ONLY
    concurrency: int = 8  # our choice: a metric makes several calls of a model

    @property
    def factory(self) -> str:
        return "rk.judges.from_deepeval"

    def __repr__(self) -> str:
        """Include the arguments of the metric, by which fingerprints differ."""
        metric = self.metric
        options = inspect.signature(type(self.metric)).parameters
        arguments = []
        for name, value in vars(metric).items():
            if name not in options or value is None:
                continue
            if name == "model":
                value = metric.evaluation_model
            if " at 0x" not in repr(value):
                arguments.append(f"{name}={value!r}")
        text = f"{type(metric).__name__}({', '.join(arguments)})"
        return self.format_call(lambda value: text if value is metric else repr(value))

    @cached_property
    def fields(self) -> dict[str, str]:
        """Field of LLMTestCase -> the column that fills it."""
        params = getattr(self.metric, "evaluation_params", None)
        params = params or self.metric._required_params
        names = ["input", "actual_output"]
        if isinstance(params, list | tuple):  # a user's metric may have none
            names = [param.value for param in params]
        columns = {name: CASE_COLUMNS.get(name, name) for name in names}
        return {**columns, **(self.columns or {})}

    @property
    def __signature__(self) -> inspect.Signature:
        return keyword_signature(dict.fromkeys(self.fields.values()))

    async def __call__(self, /, **columns: Any) -> float:
        verdict: dict[str, Any] = {}
        try:
            for name in self.fields.values():
                if columns[name] is None:
                    raise NotJudged(f"there is no {name!r}")
            metric = await in_session(self._measure(columns))
            input_tokens = getattr(metric, "input_tokens", None)
            verdict = {
                "reason": metric.reason or "",
                "cost": metric.evaluation_cost,
                "tokens": [input_tokens, getattr(metric, "output_tokens", None)],
            }
            if metric.score is None:
                raise NotJudged(f"{type(metric).__name__} gives no score")
            return float(metric.score)
        except Exception as error:  # whatever the metric or its model does
            is_ours = isinstance(error, NotJudged)
            reason = str(error) if is_ours else describe_error(error)
            verdict["reason"] = " ".join(reason.split())
            raise NotJudged(verdict["reason"]) from None
        finally:
            note(VERDICT, verdict)

    async def _measure(self, columns: Mapping[str, Any]) -> Any:
        """Measure these columns with a copy of the metric, and return the copy."""
        values = {"input": ""}
        for field, column in self.fields.items():
            values[field] = _value(field, columns[column])
        case = _deepeval().test_case.LLMTestCase(**values)
        running = _RUNNING.get(self)
        if running is None:
            running = _RUNNING[self] = _Running(self.metric, self.concurrency)
        async with running.free:
            if running.steps_missing:
                async with running.first:  # other rows wait for the steps
                    if running.steps_missing:
                        return await running.measure(case)
            return await running.measure(case)
