"""verifiers' rewards before v1: rubrics, and f(completion, answer, state, ...).

Source: `Rubric` of verifiers 0.1, whose classes verifiers 0.4 still has. They are only
read; files for verifiers have functions of v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.primitives.messages import content_text
from rewardkit.rewards.component import parameters
from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import Adapter, Arguments, plain_values
from rewardkit.targets.columns import (
    AliasedRow,
    Row,
    fill,
    required_parameters,
    takes_argument,
)
from rewardkit.targets.target import RewardPart, Target, TrainerReading
from rewardkit.targets.turns import split_column

RUBRIC_ARGUMENTS = {
    "prompt": "prompt",
    "completion": "completion",
    "answer": "ground_truth",
    "state": "the row",
    "info": "info",
    "task": "data_source",
    "parser": "verifiers' plain Parser",
}
"""Argument of a function in a rubric -> the column that it is made of."""
GROUP_ARGUMENTS = {"parser": RUBRIC_ARGUMENTS["parser"]}
"""Argument of a function of a whole group -> the column that it is made of."""
for argument, column in RUBRIC_ARGUMENTS.items():
    if argument != "parser":
        GROUP_ARGUMENTS[f"{argument}s"] = column


def parts(value: Any) -> list[RewardPart]:
    """Return the functions of a rubric with its weights, or [] for another value."""
    functions = getattr(value, "funcs", None) or getattr(value, "reward_funcs", None)
    weights = getattr(value, "weights", None) or getattr(value, "reward_weights", None)
    if not isinstance(functions, list) or not isinstance(weights, list):
        return []
    if len(functions) != len(weights):
        return []
    members = []
    for function, weight in zip(functions, weights, strict=True):
        name = str(getattr(function, "__name__", type(function).__name__))
        members.append(RewardPart(value, name, float(weight), function))
    return members


class Parser:
    """A stand-in for verifiers' plain Parser, which leaves texts unchanged."""

    def parse(self, text: str) -> str:
        """Return the text unchanged."""
        return text

    def parse_answer(self, completion: Any) -> str | None:
        """Return the text of a completion, or of its last message."""
        if isinstance(completion, str):
            return completion
        return content_text(completion[-1].get("content"))


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function of a rubric, of messages if it is `conversational`, else of texts."""

    conversational: bool = field(default=True, kw_only=True)
    parser: Any = field(default=None, kw_only=True)
    gives_row = True

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the arguments that the function names, or all for ``**kwargs``."""
        return (), fill(self.function, {}, self.row_arguments(rows))

    def row_arguments(self, rows: RowColumns) -> dict[str, Sequence[Any]]:
        """Return a column for each argument that a function may ask for."""
        columns: dict[str, Sequence[Any]] = {}
        for name in ("prompt", "completion"):
            columns[name] = rows.column(name)
            if self.conversational:
                columns[name] = split_column(rows, name)
                argument = f"{name}s" if self.together else name
                if takes_argument(self.function, argument):
                    # the state contains the same objects
                    columns[name] = list(columns[name])
        answers = []
        for truth in rows.column("ground_truth"):
            answers.append("" if truth is None else truth)
        columns["answer"] = answers
        task_name = "task" if "task" in rows else "data_source"
        columns["task"] = [task or "default" for task in rows.column(task_name)]
        info_name = "info" if "info" in rows else "extra_info"
        infos = []
        for info in rows.column(info_name):
            infos.append(info if isinstance(info, dict) else {})
        columns["info"] = infos
        columns["state"] = _states(rows, columns)
        parser = Parser() if self.parser is None else self.parser
        columns["parser"] = [parser] * rows.count
        return columns


def _states(
    rows: RowColumns, arguments: Mapping[str, Sequence[Any]]
) -> Sequence[dict[str, Any]]:
    """Return the states: rollouts with the arguments and verifiers' own fields."""
    columns = {
        **arguments,
        "turn": [1] * rows.count,
        "trajectory": MadeColumn(list, [()] * rows.count),
        "timing": MadeColumn(dict, [TIMING] * rows.count),
    }
    return rows.with_columns(columns).rows(AliasedRow)


TIMING = {"generation_ms": 0.0, "scoring_ms": 0.0}


class Grouped(Function):
    """A function of a rubric that takes lists, those of a whole group."""

    together = "group"

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the lists that the function names."""
        columns = self.row_arguments(rows)
        lists = {f"{name}s": columns[name] for name in columns}
        return (), fill(self.function, {}, lists)

    def shared(self, rows: RowColumns) -> dict[str, Callable[[int], Any]]:
        """Return the parser, if the function asks for it."""
        parser = Parser() if self.parser is None else self.parser
        return fill(self.function, {}, {"parser": lambda place: parser})

    def result(self, answer: Any) -> Any:
        """Return the scores of a group as a list."""
        return plain_values(list(answer))


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose readings of a function in a rubric, with messages and with texts."""
    if isinstance(value, type):
        return []
    part = value if isinstance(value, RewardPart) else RewardPart(None, "", 1.0, value)
    in_rubric = part.owner is not None
    names = parameters(part.function)
    kind: type[Function] = Function
    arguments = RUBRIC_ARGUMENTS
    if names.keys() & GROUP_ARGUMENTS.keys() - {"parser"}:
        kind, arguments = Grouped, GROUP_ARGUMENTS
    mapping = {name: arguments[name] for name in names if name in arguments}
    needed = required_parameters(part.function)
    if not mapping or not set(needed) <= mapping.keys():
        return []
    rubric_names = names.keys() & {"state", "parser", "answers", "states", "infos"}
    if not (
        in_rubric or rubric_names or "info" in names or _reads_messages(part.function)
    ):
        return []
    reads_text = any(name.startswith(("prompt", "completion")) for name in mapping)
    columns = {mapping[name] for name in needed}
    row_columns = ("prompt", "completion", "ground_truth")
    texts = kind(
        part.function,
        needs=tuple(name for name in row_columns if name in columns),
        conversational=False,
        parser=getattr(part.owner, "parser", None),
    )
    proposals = []
    for way in ("messages", "texts"):
        proposals.append(
            TrainerReading(
                f"it takes {', '.join(mapping)}, as the functions of rubrics before "
                f"v1; as {way}",
                replace(texts, conversational=way == "messages"),
                mapping,
                weight=part.weight,
                sure=in_rubric or bool(rubric_names and reads_text),
                way=way,
            )
        )
    return proposals


def _reads_messages(function: Any) -> bool:
    """Return whether code has keys of messages, so that completions are messages."""
    if "completion" not in parameters(function):
        return False
    return _has_keys_of_messages(getattr(function, "__code__", None))


def _has_keys_of_messages(code: Any) -> bool:
    constants = getattr(code, "co_consts", ())
    if "content" in constants or "role" in constants:
        return True
    return any(map(_has_keys_of_messages, constants))


VERIFIERS_RUBRIC = Target(
    name="verifiers-rubric",
    title="verifiers before v1",
    versions="0.1",
    form="f(completion, answer, state, ...) -> float, or a Rubric of such functions",
    readings=readings,
    parts=parts,
)
