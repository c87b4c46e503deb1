"""OpenRLHF's reward functions: reward_func(queries, prompts, labels) -> {"rewards", "scores", "extra_logs"}.

Source: `SingleTurnAgentExecutor` of OpenRLHF 0.11.2: called for one completion at a
time, by position. A query is the decoded prompt with the completion behind it, special
tokens and all; what a function raises is logged, and the completion left without a
reward. A label is a value of the training set's one label column.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.primitives.messages import content_text
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Arguments, Row, fill, plain, required
from rewardkit.targets.calling import awaited, installed
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import JUDGED, Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import asked

log = logging.getLogger(__name__)

FORM = 'reward_func(queries, prompts, labels) -> {"rewards": tensor, "scores": tensor, "extra_logs": {...}}'
OWN = ("queries", "prompts", "labels")

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
"""What the vocabularies of the usual models end a turn or a text with; cut off at the end of a query only."""

OVERLAP = 32
"""Characters that the query must share with a prompt cut from the left. Our choice: no accident."""


class Function(Adapter):
    """A function of lists with one query, prompt and label each."""

    def arguments(self, rollout: Row) -> Arguments:
        """The three by position, columns for what else it asks for."""
        prompt = text_of(rollout)
        query = f"{prompt}{rollout.get('completion')}"
        own = {
            "queries": [query],
            "prompts": [prompt],
            "labels": [rollout.get("ground_truth")],
        }
        others = fill(self.function, rollout, own)
        return tuple(own.values()), {
            name: [one] for name, one in others.items() if name not in own
        }

    def result(self, answer: Any, rollout: Any) -> Any:
        """A dict of the reward and all that is shown beside it; the bare reward where there is no more."""
        found = plain(answer)
        if not isinstance(found, Mapping):
            return _only(found)
        own = {name: found[name] for name in ("rewards", "scores") if name in found}
        return {
            name: _only(value)
            for name, value in {**own, **(found.get("extra_logs") or {}), **own}.items()
        }


def _only(value: Any) -> Any:
    """The number in a list of one, however deep; everything else as it is."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def text_of(row: Row) -> str:
    """The prompt as text; chat messages as their texts, one a line, as no chat template is at hand."""
    prompt = row.get("prompt")
    if isinstance(prompt, str) or prompt is None:
        return prompt or ""
    return "\n".join(content_text(turn.get("content")) for turn in asked(row)) + "\n"


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a function that asks for `queries`."""
    if isinstance(value, type) or "queries" not in parameters(value):
        return []
    mapping = {
        "queries": "prompt and completion",
        "prompts": "prompt",
        "labels": "ground_truth",
    }
    adapter = Function(value, needs=("completion", *required(value, OWN, rows)))
    return [Reading("it takes queries", adapter, mapping, main="rewards", sure=True)]


def completion_of(query: str, prompt: str, ends: Sequence[str] = ENDS) -> str | None:
    """The completion in a query: what stands behind the prompt, without the tokens that end it.

    The prompt is found as it is, else without regard to white space (decoding may
    change it), else as its end where it was cut from the left to fit. ``None`` where it
    is not there.

    >>> completion_of("<s>2+2?4</s>", "<s>2+2?"), completion_of("<s> 2+2? 4</s>", "<s>2+2?")
    ('4', ' 4')
    """
    at = len(prompt) if query.startswith(prompt) else _behind(query, prompt)
    if at is None:
        return None
    text = query[at:]
    while end := next((end for end in ends if end and text.endswith(end)), ""):
        text = text[: -len(end)]
    return text


def _behind(query: str, prompt: str) -> int | None:
    """Where in the query the prompt ends that is there with other white space, or without its start."""
    places = [at for at, letter in enumerate(query) if not letter.isspace()]
    dense = "".join(query[at] for at in places)
    wanted = "".join(prompt.split())
    if dense.startswith(wanted):
        return places[len(wanted) - 1] + 1 if wanted else 0
    head = dense[:OVERLAP]
    start = wanted.find(head, 1) if len(head) == OVERLAP else -1
    while start > 0:
        if dense.startswith(wanted[start:]):
            return places[len(wanted) - start - 1] + 1
        start = wanted.find(head, start + 1)
    return None


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The reward as a `reward_func`: tensors. `ends` are the tokens that end a completion."""

    ends: tuple[str, ...] = field(default=ENDS, kw_only=True)

    def __call__(
        self,
        queries: Sequence[str],
        prompts: Sequence[str],
        labels: Sequence[Any],
        **others: Any,
    ) -> dict[str, Any]:
        """`rewards`, the same as `scores`, and in `extra_logs` each component and `judged` (1, or 0).

        A label that is a dict holds columns. A query in which the prompt was not found
        is not judged.
        """
        import torch

        rows: list[dict[str, Any]] = []
        for query, prompt, label in zip(queries, prompts, labels, strict=True):
            columns = label if isinstance(label, Mapping) else {"ground_truth": label}
            text = completion_of(query, prompt, self.ends)
            rows.append({**columns, "prompt": prompt, "completion": text})
        known = [row for row in rows if row["completion"] is not None]
        if lost := len(rows) - len(known):
            said = "reward %r: in %d of %d queries the prompt was not found; they are not judged"
            log.warning(said, self.reward.name, lost, len(rows))
        names = list(dict.fromkeys(("score", JUDGED, *self.reward.names)))
        unjudged = dict.fromkeys(names, self.missing) | {JUDGED: 0.0}
        rated = iter(self.dicts(known) if known else ())
        found = [unjudged if row["completion"] is None else next(rated) for row in rows]
        score, *shown = (
            torch.tensor([one[name] for one in found], dtype=torch.float32)
            for name in names
        )
        extra = {
            _free(name): values for name, values in zip(names[1:], shown, strict=True)
        }
        return {"rewards": score, "scores": score.clone(), "extra_logs": extra}


TAKEN = ("reward", "score", "response_clip_ratio")
"""What OpenRLHF itself logs under; a component of that name would overwrite the reward."""


def _free(name: str) -> str:
    return f"component_{name}" if name in TAKEN else name


functions = Rewards


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What OpenRLHF's `SingleTurnAgentExecutor` makes of the file."""
    version = installed("openrlhf", "torch", "openrlhf", "aiohttp")
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    executor = SingleTurnAgentExecutor(str(path.resolve()))
    prompts = [text_of(row) for row in rows]
    queries = [
        f"{prompt}{row['completion']}<|im_end|>"
        for prompt, row in zip(prompts, rows, strict=True)
    ]
    own = ("prompt", "completion")
    all_columns = [
        {name: value for name, value in row.items() if name not in own} for row in rows
    ]
    labels = all_columns if written.ours else [row.get("ground_truth") for row in rows]

    async def run() -> list[dict[str, Any]]:
        return list(await executor._fetch_rewards_via_func(queries, prompts, labels))

    found = awaited(run())
    rewards = [
        {**(one.get("extra_logs") or {}), "score": one["rewards"]} for one in found
    ]
    numbers = [{name: value.item() for name, value in one.items()} for one in rewards]
    return Called.of_dicts(f"SingleTurnAgentExecutor of {version}", numbers, cast=True)


ALSO = (
    "the completion is the query without the prompt and without the tokens that end it (_ends in the file); "
    "where the prompt is not found in the query, it is not judged",
    "OpenRLHF catches and only logs what a function raises: look for 'Failed to fetch reward' in its log",
)
ABLE = Abilities(judged=True, also=ALSO)
TARGET = Target("openrlhf", "OpenRLHF", "0.11.2", FORM, readings, ABLE, functions, call)
