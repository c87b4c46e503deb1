"""A row as functions ask for it: a column by a parameter's name, or chat messages."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar

from rewardkit.primitives.messages import assistant_text
from rewardkit.rewards.component import parameters
from rewardkit.rollouts.columns import ALIASES, LOGGED
from rewardkit.scoring.callers import MadeColumn, RowColumns

Row = Mapping[str, Any]
"""One rollout: column -> value, under canonical names."""

T = TypeVar("T")

CANONICAL: dict[str, str] = {}
"""A parameter's name -> the canonical column that it asks for."""
for canonical_name, aliases in ALIASES.items():
    CANONICAL |= dict.fromkeys(aliases, canonical_name)
CANONICAL |= dict.fromkeys(
    (
        "label",
        "labels",
        "gt",
        "truth",
        "expected",
        "expected_answer",
        "correct_answer",
        "reference_answer",
    ),
    "ground_truth",
)

OF_DATA = ("prompt", "completion", "ground_truth", "data_source")
"""Canonical columns of training sets; no trainer hands over the others, a log's."""

FAMILIAR = ("answer", "solution", "question", "problem")
"""What functions look for in their ``**kwargs``."""

RIGHT = """<think>6 * 7 = 42</think>
<answer>42</answer>
The answer is \\boxed{42}.
#### 42"""
WRONG = RIGHT.replace("=", "may well be").replace("42", "41")  # of another length, too
SAMPLE: tuple[Row, ...] = tuple(
    {
        "prompt_id": "sample",
        "prompt": "What is 6 * 7?",
        "completion": completion,
        "ground_truth": "42",
        "data_source": "openai/gsm8k",
        "extra_info": {"index": 0, "split": "train"},
    }
    for completion in (RIGHT, WRONG)
)
"""Where no rollouts are given: a right and a wrong completion, in usual forms."""

# --- parameters


def named_parameters(function: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters but for ``*args`` and ``**kwargs``."""
    named = {}
    for name, parameter in parameters(function).items():
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            named[name] = parameter
    return named


def required_parameters(function: Any) -> list[str]:
    """Return the names of the parameters without a default."""
    names = []
    for name, parameter in named_parameters(function).items():
        if parameter.default is parameter.empty:
            names.append(name)
    return names


def keywords_name(function: Any) -> str | None:
    """Return the name of its ``**kwargs``, None where it has none."""
    for name, parameter in parameters(function).items():
        if parameter.kind is parameter.VAR_KEYWORD:
            return name
    return None


def takes_all(function: Any) -> bool:
    """Whether it has ``**kwargs``."""
    return keywords_name(function) is not None


def takes_anything(function: Any) -> bool:
    """Whether it takes all keywords and names none, as a decorated function may."""
    return takes_all(function) and not named_parameters(function)


def uses(function: Any, parameter: str) -> bool:
    """Whether the function's code reads the parameter; true where nobody can tell.

    >>> uses(lambda completion, ground_truth: len(completion), "ground_truth")
    False
    """
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(type(function).__call__, "__code__", None)
    return not isinstance(code, CodeType) or _reads(code, parameter)


def reads_keywords(function: Any) -> bool:
    """Whether it has ``**kwargs`` and may read them: its own code does, or none shows.

    >>> reads_keywords(lambda completion, **kwargs: len(completion))
    False
    """
    name = keywords_name(function)
    if name is None:
        return False
    if not isinstance(function, FunctionType | MethodType):
        function = type(function).__call__
    code = getattr(function, "__code__", None)
    if hasattr(function, "__wrapped__") or not isinstance(code, CodeType):
        return True
    return not SEES_VARIABLES.isdisjoint(code.co_names) or _reads(code, name)


SEES_VARIABLES = {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"}
"""Functions by which code sees its own variables."""


@lru_cache
def _reads(code: CodeType, parameter: str) -> bool:
    """Whether code reads a parameter; true where it has none of this name."""
    if parameter not in code.co_varnames:
        return True
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("STORE", "DELETE", "COPY_FREE", "MAKE_CELL")):
            continue
        names = instruction.argval  # a tuple where one instruction reads two
        if names == parameter or (isinstance(names, tuple) and parameter in names):
            return True
    return False


# --- the columns that fill them


def column_of(parameter: str, rows: Sequence[Row] = ()) -> str:
    """Return the column that a parameter without a default takes.

    That is the canonical column that it is a name for. A column of the log's own under
    the same name comes first, where it holds something else; a score of the log of that
    name comes last.
    """
    canonical = CANONICAL.get(parameter, parameter)
    logged = LOGGED + parameter
    if any(logged in row for row in rows):
        if not any(parameter in row or canonical in row for row in rows):
            return logged
    for row in rows:
        if parameter in row and (
            canonical not in row or row[canonical] is not row[parameter]
        ):
            return parameter
    return canonical


def source_of(parameter: inspect.Parameter, row: Collection[str]) -> str | None:
    """Return the column of a row that fills a parameter, None for its default.

    One without a default takes the column of its name, else the canonical one that it
    is a name for, else the log's score of its name. One with a default is filled by the
    column of its name, if that is no column of the log alone; by a canonical one only
    where the default says that there may be none: ``answer=""``, not ``target=100``.
    """
    name, canonical = parameter.name, CANONICAL.get(parameter.name)
    is_canonical = canonical in row
    if parameter.default is parameter.empty:
        sources = (name, canonical, LOGGED + name)
        return next((source for source in sources if source in row), None)
    if name in row and canonical in (None, *OF_DATA):
        return name
    is_empty = parameter.default is None or (
        isinstance(parameter.default, str) and not parameter.default
    )
    return canonical if is_empty and is_canonical and canonical in OF_DATA else None


class AliasedRow(dict[str, Any]):
    """A row whose columns can also be read under their other names.

    So can what its `extra_info` holds. Only its own names are listed.

    >>> AliasedRow(ground_truth="4")["answer"]
    '4'
    """

    def __missing__(self, name: str) -> Any:
        info = dict.get(self, "extra_info")
        if isinstance(info, Mapping) and name in info:
            return info[name]
        canonical = CANONICAL.get(name, name)
        if canonical == name or not dict.__contains__(self, canonical):
            raise KeyError(name)
        return self[canonical]

    def __contains__(self, name: object) -> bool:
        return self.get(name, self) is not self

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the value of a name, or the default."""
        try:
            return self[name]
        except KeyError:
            return default


def columns_by_parameter(
    function: Any, columns: Collection[str], trainer_arguments: Collection[str] = ()
) -> dict[str, str]:
    """Return for each parameter that a column fills, which one.

    Those of `trainer_arguments` are left out. Each other parameter takes the column
    that `source_of` says; ``**kwargs`` gets all columns, and the prompt and the truth
    also under the names that functions look for.
    """
    named = named_parameters(function)
    sources = {}
    for name, parameter in named.items():
        source = source_of(parameter, columns)
        if source is not None:
            sources[name] = source
    if reads_keywords(function):
        others = {}
        for name in FAMILIAR:
            if CANONICAL[name] in columns:
                others[name] = CANONICAL[name]
        for name in columns:
            others[name] = name
        sources |= {name: others[name] for name in others if name not in named}
    return {name: sources[name] for name in sources if name not in trainer_arguments}


def takes(function: Any, name: str) -> bool:
    """Whether a function gets what a trainer calls so, in its ``**kwargs`` or not."""
    return name in named_parameters(function) or reads_keywords(function)


def fill(
    function: Any, row: Mapping[str, T], trainer_arguments: Mapping[str, T]
) -> dict[str, T]:
    """Return keyword arguments for a function that asks for columns by name.

    `row` is one row, or all as columns; `trainer_arguments` are what the trainer hands
    over itself.
    """
    arguments = {}
    for name in trainer_arguments:
        if takes(function, name):
            arguments[name] = trainer_arguments[name]
    sources = columns_by_parameter(function, row.keys(), trainer_arguments)
    return arguments | {name: row[source] for name, source in sources.items()}


def required_columns(
    function: Any, trainer_arguments: Collection[str], rows: Sequence[Row] = ()
) -> tuple[str, ...]:
    """Return the columns that fill the parameters without a default.

    `trainer_arguments` are left out; a ground truth that the function takes out of its
    ``**kwargs`` is counted.
    """
    columns: dict[str, None] = {}  # in order, each once
    for name in [*required_parameters(function), *_truths_taken(function, rows)]:
        if name not in trainer_arguments:
            columns[column_of(name, rows)] = None
    return tuple(columns)


def _truths_taken(function: Any, rows: Sequence[Row]) -> list[str]:
    """Return names of the truth that a function's source takes as ``kwargs["answer"]``.

    Or as ``kwargs.get("answer")``, where these rows have it.
    """
    kwargs = keywords_name(function)
    if kwargs is None:
        return []
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return []
    keys = []
    for key, is_required in _keys_read(tree, kwargs):
        if key in ALIASES["ground_truth"] and key not in keys:
            if is_required or any(key in row for row in rows):
                keys.append(key)
    return keys


def _keys_read(tree: ast.AST, name: str) -> Iterator[tuple[Any, bool]]:
    """Yield the keys that code reads of a dict, and whether it fails without them."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=dict_name), slice=ast.Constant(key)):
                if dict_name == name:
                    yield key, True
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=dict_name)),
                args=[ast.Constant(key), *_],
            ):
                if dict_name == name:
                    yield key, False


def columns_asked(
    function: Any, trainer_arguments: Collection[str], rows: Sequence[Row]
) -> dict[str, str]:
    """Return for each parameter that a column of these rows fills, which column.

    `trainer_arguments` are left out.
    """
    columns = {}
    for name, parameter in named_parameters(function).items():
        is_filled = parameter.default is parameter.empty or any(
            source_of(parameter, row) is not None for row in rows or SAMPLE
        )
        if is_filled and name not in trainer_arguments:
            columns[name] = column_of(name, rows or SAMPLE)
    kwargs = keywords_name(function)
    if kwargs is not None:
        columns[f"**{kwargs}"] = f"all columns, some also as {', '.join(FAMILIAR)}"
    return columns


# --- chat messages


def prompt_turns(row: Row) -> list[dict[str, Any]]:
    """Return the prompt's turns, a text as one turn of the user."""
    prompt = row.get("prompt")
    if prompt is None:
        return []
    if isinstance(prompt, Sequence) and not isinstance(prompt, str):
        return [dict(turn) for turn in prompt]
    return [{"role": "user", "content": prompt}]


def transcript(row: Row) -> list[dict[str, Any]]:
    """Return the column `messages`, else the prompt with the completion behind it.

    >>> transcript({"prompt": "2+2?", "completion": "4"})
    [{'role': 'user', 'content': '2+2?'}, {'role': 'assistant', 'content': '4'}]
    """
    turns = row.get("messages")
    if isinstance(turns, Sequence) and not isinstance(turns, str) and turns:
        return [dict(turn) for turn in turns]
    return [*prompt_turns(row), {"role": "assistant", "content": row.get("completion")}]


def from_messages(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a conversation as a row's `prompt`, `completion` and `messages`.

    The prompt is what stands before the first turn of the assistant: a text where that
    is one turn of the user. The completion is the text of the assistant's last turn.

    >>> from_messages(transcript({"prompt": "2+2?", "completion": "4"}))["prompt"]
    '2+2?'
    """
    turns = [dict(turn) for turn in messages]
    prompt: Any = turns[: _first_answer(turns)]
    if len(prompt) == 1 and prompt[0].get("role") == "user":
        text = prompt[0].get("content")
        if isinstance(text, str):
            prompt = text
    return {"prompt": prompt, "completion": assistant_text(turns), "messages": turns}


def _first_answer(turns: Sequence[Mapping[str, Any]]) -> int:
    """Return the place of the assistant's first turn, behind all where it has none."""
    roles = [turn.get("role") for turn in turns]
    return [*roles, "assistant"].index("assistant")


def split(row: Row) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the turns of the prompt, and those that were generated.

    A prompt of messages says by its length where that is; else the first turn of the
    assistant begins what was generated.
    """
    turns, prompt = transcript(row), row.get("prompt")
    start = len(prompt) if isinstance(prompt, list) else _first_answer(turns)
    return turns[:start], turns[start:]


def conversations(rows: RowColumns) -> Sequence[dict[str, Any]]:
    """Return what each row has of `prompt`, `completion` and `messages`."""
    others = set(rows) - {"prompt", "completion", "messages"}
    return rows.without(others).rows()


def are_of_two_texts(rows: RowColumns) -> bool:
    """Whether each conversation is a prompt and a completion, which are texts."""
    prompts = rows.column("prompt")
    return "messages" not in rows and {str}.issuperset(map(type, prompts))


def split_column(rows: RowColumns, name: str) -> Sequence[list[dict[str, Any]]]:
    """Return the turns of each `prompt`, or those of each `completion`."""
    if are_of_two_texts(rows):
        turns = question_turns if name == "prompt" else answer_turns
        return MadeColumn(turns, rows.column(name))
    place = 0 if name == "prompt" else 1
    return MadeColumn(lambda row: split(row)[place], conversations(rows))


def question_turns(text: Any) -> list[dict[str, Any]]:
    """Return a prompt as the user's one turn."""
    return [{"role": "user", "content": text}]


def answer_turns(text: Any) -> list[dict[str, Any]]:
    """Return a completion as the assistant's one turn."""
    return [{"role": "assistant", "content": text}]


def transcripts(rows: RowColumns) -> Sequence[list[dict[str, Any]]]:
    """Return the `transcript` of each row."""
    if not are_of_two_texts(rows):
        return MadeColumn(transcript, conversations(rows))
    return MadeColumn(_two_turns, rows["prompt"], rows.column("completion"))


def _two_turns(prompt: str, completion: Any) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": completion},
    ]


def generated_texts(row: Row) -> list[str]:
    """Return the assistant's generated texts, one a turn."""
    if not isinstance(row.get("messages"), list):
        return [row["completion"]]
    texts = []
    for turn in split(row)[1]:
        if turn.get("role") == "assistant":
            texts.append(assistant_text([turn]) or "")
    return texts


def batch_columns(
    completions: Sequence[Any], arguments: Mapping[str, Any], *, spread: bool = False
) -> dict[str, list[Any]]:
    """Return what a trainer hands over of a batch as columns.

    Columns are the completions as texts, each list of their length, and what
    conversations in `messages` say. Other values are repeated where the trainer gives
    one for all (`spread`), else left out; the step of a `trainer_state` is a column.
    """
    count = len(completions)
    columns: dict[str, list[Any]] = {}
    repeated: dict[str, list[Any]] = {}
    for name, argument in arguments.items():
        if _is_column(name, argument, count):
            columns[name] = list(argument)
        elif spread:
            repeated[name] = [argument] * count
    step = getattr(arguments.get("trainer_state"), "global_step", None)
    if step is not None:
        repeated["step"] = [step] * count
    columns = {
        **repeated,
        **columns,
        "completion": [assistant_text(completion) for completion in completions],
    }
    if _are_conversations(columns.get("messages", [])):
        _add_conversations(columns)
    if not any(columns.get("prompt_id", ())):  # a trainer's placeholder
        columns.pop("prompt_id", None)
    return columns


def _are_conversations(messages: Sequence[Any]) -> bool:
    for turns in messages:
        if not isinstance(turns, list) or not turns:
            return False
    return len(messages) > 0


def _is_column(name: str, values: Any, count: int) -> bool:
    """Whether it is a column of so many values, and no single conversation."""
    if not isinstance(values, list | tuple) or len(values) != count:
        return False
    return name != "messages" or not any(isinstance(turn, Mapping) for turn in values)


def _add_conversations(columns: dict[str, list[Any]]) -> None:
    """Put what the conversations in `messages` say into the other columns."""
    rows = [from_messages(turns) for turns in columns["messages"]]
    columns["messages"] = [row["messages"] for row in rows]
    columns.setdefault("prompt", [row["prompt"] for row in rows])
    for place, row in enumerate(rows):
        last = row["messages"][-1]
        text = columns["completion"][place]
        if last.get("role") != "assistant" and last.get("content") == text:
            # what a tool said is no completion
            columns["completion"][place] = row["completion"]
