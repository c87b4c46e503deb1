"""OpenRLHF's reward_func(queries, prompts, labels) -> {"rewards", "scores", ...}.

Source: `SingleTurnAgentExecutor` of OpenRLHF 0.11.2, which calls for one completion at
a time, by position. A query is the decoded prompt followed by the completion, with all
special tokens. If a function raises an error, that is logged and the completion has no
reward. A label is a value of the training set's only label column.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.primitives.messages import content_text
from rewardkit.rewards.component import parameters
from rewardkit.rollouts.columns import JUDGED_PREFIX
from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import Adapter, Arguments, plain_values
from rewardkit.targets.columns import Row, filled_columns, required_columns
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    JUDGED,
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    is_judged_key,
    require_installed,
    run_async,
)
from rewardkit.targets.turns import prompt_turns

log = logging.getLogger(__name__)

OPENRLHF_ARGUMENTS = ("queries", "prompts", "labels")

ENDS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|end|>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
    "<｜end▁of▁sentence｜>",
    "<pad>",
)
"""Tokens by which common models end a turn or a text, removed at the end of a query."""

PROMPT_OVERLAP = 32
"""Characters that a query must share with a prompt cut at the left. Our choice."""


class Function(Adapter):
    """A function of three lists of length one: a query, a prompt and a label."""

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the three lists by position, and other columns by keyword."""
        prompts = rows.column("prompt")
        if not {str}.issuperset(map(type, prompts)):
            prompts = MadeColumn(prompt_text, prompts)
        texts = rows.column("completion")
        join: Callable[..., Any] = "{}{}".format
        if {str}.issuperset(map(type, texts)):
            join = operator.concat
        queries = MadeColumn(join, prompts, texts)
        columns = [
            MadeColumn(_in_list, column)
            for column in (queries, prompts, rows.column("ground_truth"))
        ]
        others = filled_columns(self.function, rows, OPENRLHF_ARGUMENTS)
        lists = {name: MadeColumn(_in_list, others[name]) for name in others}
        return columns, lists

    def result(self, answer: Any) -> Any:
        """Return a dict of the reward and the logged values, or a bare reward."""
        if type(answer) is not dict and not isinstance(answer, Mapping):
            return _unnested(answer)
        values = {}
        for name in ("rewards", "scores"):
            value = answer.get(name)
            if type(value) is list and len(value) == 1 and type(value[0]) is float:
                values[name] = value[0]
            elif name in answer:
                values[name] = _unnested(value)
        logs = answer.get("extra_logs")
        if logs:
            for name, value in plain_values(logs).items():
                values.setdefault(name, _unnested(value))
        return values


def _unnested(value: Any) -> Any:
    """Unpack nested lists of one item; return other values as plain values."""
    value = plain_values(value)
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def _in_list(value: Any) -> list[Any]:
    return [value]


def prompt_text(prompt: Any) -> str:
    """Return a prompt as text; the texts of a chat one a line, without a template."""
    if isinstance(prompt, str) or prompt is None:
        return prompt or ""
    turns = prompt_turns({"prompt": prompt})
    texts = [content_text(turn.get("content")) for turn in turns]
    return "\n".join(texts) + "\n"


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function that asks for `queries`."""
    if isinstance(value, type) or "queries" not in parameters(value):
        return []
    mapping = {
        "queries": "prompt and completion",
        "prompts": "prompt",
        "labels": "ground_truth",
    }
    needs = required_columns(value, OPENRLHF_ARGUMENTS, rows)
    adapter = Function(value, needs=("completion", *needs))
    return [
        TrainerReading("it takes queries", adapter, mapping, main="rewards", sure=True)
    ]


def completion_of(query: str, prompt: str, ends: Sequence[str] = ENDS) -> str | None:
    """Return the completion in a query, behind the prompt, without end tokens.

    The prompt is searched exactly, else without white space (decoding may change it),
    else by its end (it may be cut at the left to fit). Returns ``None`` if it is not
    found.

    >>> completion_of("<s>2+2?4</s>", "<s>2+2?")
    '4'
    >>> completion_of("<s> 2+2? 4</s>", "<s>2+2?")
    ' 4'
    """
    start = len(prompt)
    if not query.startswith(prompt):
        place = _end_of_prompt(query, prompt)
        if place is None:
            return None
        start = place
    text, before = query[start:], ""
    while text != before:
        before = text
        for end in ends:
            text = text.removesuffix(end)
    return text


def _end_of_prompt(query: str, prompt: str) -> int | None:
    """Return the end of a prompt with other white space, or without its beginning."""
    places = [place for place, letter in enumerate(query) if not letter.isspace()]
    dense_query = "".join(query[place] for place in places)
    dense_prompt = "".join(prompt.split())
    if not dense_prompt:
        return 0
    if dense_query.startswith(dense_prompt):
        return places[len(dense_prompt) - 1] + 1
    head = dense_query[:PROMPT_OVERLAP]
    if len(head) < PROMPT_OVERLAP:
        return None
    start = dense_prompt.find(head, 1)
    while start > 0:
        if dense_query.startswith(dense_prompt[start:]):
            return places[len(dense_prompt) - start - 1] + 1
        start = dense_prompt.find(head, start + 1)
    return None


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The reward as a `reward_func`; `ends` are the tokens that end a completion."""

    ends: tuple[str, ...] = field(default=ENDS, kw_only=True)

    def __call__(
        self,
        queries: Sequence[str],
        prompts: Sequence[str],
        labels: Sequence[Any],
        **others: Any,
    ) -> dict[str, Any]:
        """Return `rewards`, equal `scores`, and `extra_logs`.

        The logs are `judged` (1 or 0), each component and its ``judged/NAME``. A label
        that is a dict holds columns. A query without its prompt is not judged.
        """
        import torch

        rows: list[dict[str, Any]] = []
        for query, prompt, label in zip(queries, prompts, labels, strict=True):
            columns = label if isinstance(label, Mapping) else {"ground_truth": label}
            text = completion_of(query, prompt, self.ends)
            rows.append({**columns, "prompt": prompt, "completion": text})
        readable = [row for row in rows if row["completion"] is not None]
        if len(readable) < len(rows):
            log.warning(
                "reward %r: in %d of %d queries the prompt was not found; they are not "
                "judged",
                self.reward.name,
                len(rows) - len(readable),
                len(rows),
            )
        names = ["score", JUDGED]
        for name in self.reward.names:
            if name not in names:
                names += [name, f"{JUDGED_PREFIX}{name}"]
        unjudged = {}
        for name in names:
            unjudged[name] = 0.0 if is_judged_key(name) else self.missing
        scores = iter(self.dicts(readable) if readable else ())
        results = []
        for row in rows:
            result = unjudged
            if row["completion"] is not None:
                result = next(scores)
            results.append(result)
        tensors = {}
        for name in names:
            values = [result[name] for result in results]
            tensors[_log_name(name)] = torch.tensor(values, dtype=torch.float32)
        score = tensors.pop(_log_name("score"))
        return {"rewards": score, "scores": score.clone(), "extra_logs": tensors}


OPENRLHF_LOGS = ("reward", "score", "response_clip_ratio")
"""Names that OpenRLHF logs itself; a component of this name would overwrite them."""


def _log_name(name: str) -> str:
    return f"component_{name}" if name in OPENRLHF_LOGS else name


functions = Rewards


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call OpenRLHF's `SingleTurnAgentExecutor` on the file."""
    version = require_installed("openrlhf", "torch", "openrlhf", "aiohttp")
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    executor = SingleTurnAgentExecutor(str(path.resolve()))
    prompts, queries, labels = [], [], []
    for row in rows:
        prompts.append(prompt_text(row.get("prompt")))
        queries.append(f"{prompts[-1]}{row['completion']}<|im_end|>")
        label: Any = row.get("ground_truth")
        if code.ours:
            label = dict(row)
            label.pop("prompt", None)
            label.pop("completion", None)
        labels.append(label)

    async def run() -> list[dict[str, Any]]:
        return list(await executor._fetch_rewards_via_func(queries, prompts, labels))

    rewards = []
    for answer in run_async(run()):
        tensors = {**(answer.get("extra_logs") or {}), "score": answer["rewards"]}
        rewards.append({name: tensors[name].item() for name in tensors})
    return TrainerValues.of_dicts(
        f"SingleTurnAgentExecutor of {version}", rewards, cast=True
    )


OPENRLHF = Target(
    name="openrlhf",
    title="OpenRLHF",
    versions="0.11.2",
    form='reward_func(queries, prompts, labels) -> {"rewards": tensor, "scores": '
    'tensor, "extra_logs": {...}}',
    readings=readings,
    abilities=Abilities(
        judged=True,
        also=(
            "the completion is the query without the prompt and without the tokens "
            "that end it (_ends in the file); where the prompt is not found in the "
            "query, it is not judged",
            "OpenRLHF catches and only logs what a function raises: look for 'Failed "
            "to fetch reward' in its log",
        ),
    ),
    functions=functions,
    call=call,
)
