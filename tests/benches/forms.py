"""Score with a function in each trainer's form against the loop in which the trainer calls it.

The loops are written from the trainers' sources: each hands over what the trainer would, and keeps the number;
asynchronous functions are awaited in it. A call takes 2 to 3 microseconds.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from benches.inputs import SIBLINGS, sums
from benches.scoring import compare

import rewardkit as rk
from rewardkit.targets.read import read_reward

ROWS = 10_000
AIM = 1.5

NUMBER = re.compile(r"<answer>(-?\d+)<")


def judged(completion, truth):
    """The work that all forms share: find the answer, compare it, look at the length."""
    match = NUMBER.search(completion)
    if match is None:
        return 0.0
    is_right = match.group(1).strip() == truth.strip()
    words = len(completion.split()) + completion.count("=") + completion.count("\n")
    return float(is_right) - min(words / 1000, 0.1)


def plain(completion, ground_truth):
    return judged(completion, ground_truth)


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return judged(solution_str, ground_truth)


def compute_score_dict(
    data_source, solution_str, ground_truth, extra_info=None, **kwargs
):
    score = judged(solution_str, ground_truth)
    return {"score": score, "acc": float(score > 0)}


def trl_texts(completions, ground_truth, **kwargs):
    return list(map(judged, completions, ground_truth))


def trl_other(prompts, completions, ground_truth, **kwargs):
    return list(map(judged, completions, ground_truth))


def trl_messages(completions, ground_truth, **kwargs):
    texts = [completion[0]["content"] for completion in completions]
    return list(map(judged, texts, ground_truth))


async def trl_async(completions, ground_truth, **kwargs):
    return list(map(judged, completions, ground_truth))


def tunix_response(response, answer="", **kwargs):
    return judged(response, answer)


async def verifiers_v1(task, trace):
    return judged(trace.last_reply, task.ground_truth)


def rubric(completion, answer, state):
    return judged(completion[-1]["content"], answer)


def reward_func(queries, prompts, labels):
    scores = []
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        scores.append(judged(query[len(prompt) :], label))
    return {"rewards": scores, "scores": scores, "extra_logs": {}}


class Swift:
    """An ORM of ms-swift."""

    def __call__(self, completions, ground_truth, **kwargs):
        return list(map(judged, completions, ground_truth))


def easyr1_batch(reward_inputs):
    scores = []
    for entry in reward_inputs:
        score = judged(entry["response"], entry["ground_truth"])
        scores.append({"overall": score, "format": 1.0})
    return scores


def easyr1_one(reward_input):
    score = judged(reward_input["response"], reward_input["ground_truth"])
    return {"overall": score, "format": 1.0}


class RewardFunction:
    """A stand-in for atroposlib's base class, by its name."""

    weight = 1.0


class Atropos(RewardFunction):
    """A reward of Atropos."""

    def compute(self, completions, ground_truth=None, **kwargs):
        return [judged(turns[-1]["content"], ground_truth) for turns in completions]


def eval_protocol(messages, ground_truth=None, **kwargs):
    return {"score": judged(messages[-1]["content"], ground_truth)}


class Sums:
    """An environment of benchmax."""

    async def compute_reward(self, rollout_id, messages, task, **kwargs):
        return {"correct": judged(messages[-1]["content"], task["ground_truth"])}


# --- the loops


def turns_of(row):
    return [
        {"role": "user", "content": row["prompt"]},
        {"role": "assistant", "content": row["completion"]},
    ]


def groups_of(rows):
    for start in range(0, len(rows), SIBLINGS):
        yield rows[start : start + SIBLINGS]


def lists(group):
    """The columns that TRL hands over beside the completions."""
    return {
        "prompts": [row["prompt"] for row in group],
        "prompt_id": [row["prompt_id"] for row in group],
        "data_source": [row["data_source"] for row in group],
        "ground_truth": [row["ground_truth"] for row in group],
    }


async def loop_trl(function, rows, is_chat=False):
    """Call one or several functions on each batch and add up, as TRL's trainer does."""
    functions = function if isinstance(function, list) else [function]
    rewards = []
    for group in groups_of(rows):
        texts = [row["completion"] for row in group]
        if is_chat:
            texts = [[{"role": "assistant", "content": text}] for text in texts]
        columns, answers = lists(group), []
        for called in functions:
            answer = called(completions=texts, **columns)
            if asyncio.iscoroutine(answer):
                answer = await answer
            answers.append(answer)
        if len(functions) == 1:
            rewards += answers[0]
        else:
            rewards += map(sum, zip(*answers, strict=True))
    return rewards


def loop_verl(function, rows):
    """Keep all that a dict has, as verl's naive manager does."""
    rewards, extra = [], defaultdict(list)
    for row in rows:
        score = function(
            data_source=row["data_source"],
            solution_str=row["completion"],
            ground_truth=row["ground_truth"],
            extra_info={},
        )
        if isinstance(score, dict):
            rewards.append(score["score"])
            for name, value in score.items():
                extra[name].append(value)
        else:
            rewards.append(score)
    return rewards


class Trace:
    """What verifiers' trace has and does where a function asks for its last reply."""

    root_reply = None

    def __init__(self, completion):
        answer = SimpleNamespace(role="assistant", content=completion)
        self.assistant_messages = [answer]

    @property
    def last_reply(self):
        if self.root_reply is not None:
            return self.root_reply.strip()
        messages = self.assistant_messages
        return (messages[-1].content or "").strip() if messages else ""


async def loop_verifiers(function, rows):
    rewards = []
    for row in rows:
        task, trace = SimpleNamespace(**row), Trace(row["completion"])
        rewards.append(await function(task=task, trace=trace))
    return rewards


def loop_rubric(function, rows):
    """Hand over states with what a rollout of verifiers leaves in them."""
    rewards = []
    for row in rows:
        prompt, completion = turns_of(row)
        state = {
            **row,
            "prompt": [prompt],
            "completion": [completion],
            "answer": row["ground_truth"],
            "task": row["data_source"],
            "info": {},
            "turn": 1,
            "trajectory": [],
            "timing": {"generation_ms": 0.0, "scoring_ms": 0.0},
        }
        rewards.append(
            function(
                completion=state["completion"], answer=state["answer"], state=state
            )
        )
    return rewards


def loop_openrlhf(function, rows):
    rewards = []
    for row in rows:
        prompt = row["prompt"]
        answer = function([prompt + row["completion"]], [prompt], [row["ground_truth"]])
        rewards.append(answer["rewards"][0])
    return rewards


def loop_swift(function, rows):
    rewards = []
    for group in groups_of(rows):
        texts, messages = (
            [row["completion"] for row in group],
            list(map(turns_of, group)),
        )
        rewards += function(texts, messages=messages, **lists(group))
    return rewards


def easyr1_input(row):
    text = row["completion"]
    return {
        "response": text,
        "response_length": len(text.split()),
        "ground_truth": row["ground_truth"],
    }


def loop_easyr1(function, rows, is_batch=True):
    rewards, metrics = [], defaultdict(list)
    for group in groups_of(rows):
        inputs = list(map(easyr1_input, group))
        for score in function(inputs) if is_batch else map(function, inputs):
            rewards.append(score["overall"])
            for name, value in score.items():
                metrics[name].append(value)
    return rewards


def loop_atropos(function, rows):
    rewards = []
    for group in groups_of(rows):
        turns = [[{"role": "assistant", "content": row["completion"]}] for row in group]
        item = dict(group[0])
        rewards += function.compute(turns, item=item, **item)
    return rewards


def loop_eval_protocol(function, rows):
    rewards = []
    for row in rows:
        answer = function(messages=turns_of(row), **row)
        rewards.append(answer["score"])
    return rewards


async def loop_benchmax(environment, rows):
    rewards = []
    for row in rows:
        answer = await environment.compute_reward(
            row["rollout_id"], turns_of(row), dict(row)
        )
        rewards.append(answer["correct"])
    return rewards


def loop_rows(function, rows):
    return [function(row["completion"], row["ground_truth"]) for row in rows]


def loop_response(function, rows):
    return [
        function(response=row["completion"], answer=row["ground_truth"]) for row in rows
    ]


TRL, VERL = "TRL's way of calling", "verl's naive manager"
FORMS: dict[str, tuple[Any, str, Callable[..., Any], str]] = {
    "plain f(completion, ground_truth)": (plain, "plain", loop_rows, "hand-written loop"),
    "verl": (compute_score, "verl", loop_verl, VERL),
    "verl, a dict, **kwargs": (compute_score_dict, "verl", loop_verl, VERL),
    "siiRL": (compute_score, "siirl", loop_verl, "siiRL's manager"),
    "TRL, texts": (trl_texts, "trl:texts", loop_trl, TRL),
    "TRL, conversational": (trl_messages, "trl:messages", partial(loop_trl, is_chat=True), TRL),
    "TRL, list of functions": ([trl_texts, trl_other], "trl:texts", loop_trl, TRL),
    "TRL, async": (trl_async, "trl:texts", loop_trl, TRL),
    "Tunix, batch": (trl_other, "tunix", loop_trl, "Tunix's way"),
    "Tunix, one response": (tunix_response, "tunix", loop_response, "Tunix's way"),
    "verifiers, async": (verifiers_v1, "verifiers", loop_verifiers, "verifiers' way"),
    "verifiers before v1": (rubric, "verifiers-rubric:messages", loop_rubric, "verifiers' Rubric"),
    "OpenRLHF": (reward_func, "openrlhf", loop_openrlhf, "OpenRLHF's way"),
    "ms-swift": (Swift, "ms-swift", loop_swift, "ms-swift's way"),
    "EasyR1, batch": (easyr1_batch, "easyr1:batch", loop_easyr1, "EasyR1's manager"),
    "EasyR1, one": (easyr1_one, "easyr1:sequential", partial(loop_easyr1, is_batch=False), "EasyR1's manager"),
    "Atropos": (Atropos, "atropos", loop_atropos, "Atropos' way"),
    "eval-protocol": (eval_protocol, "eval-protocol", loop_eval_protocol, "eval-protocol's way"),
    "benchmax, async": (Sums, "benchmax", loop_benchmax, "benchmax's way"),
}  # fmt: skip
"""By form: the function, the target that reads it, the loop that calls it, and whose loop it is."""


def rows(runs):
    """Compare each form, group by group of the same rollouts."""
    table = []
    for at, row in enumerate(sums(ROWS, most_words=40)):
        more = {
            "rollout_id": f"r{at}",
            "prompt_id": f"p{at // SIBLINGS}",
            "data_source": "sums",
        }
        table.append({**row, **more})
    rollouts = rk.load_rollouts(table)
    table = list(rollouts)
    for name, (function, target, loop, against) in FORMS.items():
        reward = read_reward(function, "f", as_=target, rows=table[:16])
        value = function() if isinstance(function, type) else function

        def run(value=value, loop=loop):
            rewards = loop(value, table)
            return asyncio.run(rewards) if asyncio.iscoroutine(rewards) else rewards

        what = f"score {ROWS:,} rows: {name}"
        yield compare(what, reward, rollouts, against, run, AIM, runs)
