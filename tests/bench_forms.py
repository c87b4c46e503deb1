"""Score with a function in each trainer's form against a plain loop that calls the same function. `make bench` runs it.

A call takes 2 to 3 microseconds. The loop hands over what the trainer would, and keeps the number; asynchronous
functions are awaited in it. Both sides run in turn in one process; the figure is the median of their ratios.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import rewardkit as rk
from rewardkit.targets.load import read

ROWS = 10_000
SIBLINGS = 8
RUNS = 5
AIM = 1.5
AIM_PRIMITIVES = 1.2

NUMBER = re.compile(r"answer is (-?\d+)")


def judged(completion: str, truth: str) -> float:
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


def turns_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": row["prompt"]},
        {"role": "assistant", "content": row["completion"]},
    ]


def groups_of(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(rows), SIBLINGS):
        yield rows[start : start + SIBLINGS]


def lists(group: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The columns that TRL hands over beside the completions."""
    return {
        "prompts": [row["prompt"] for row in group],
        "prompt_id": [row["prompt_id"] for row in group],
        "data_source": [row["data_source"] for row in group],
        "ground_truth": [row["ground_truth"] for row in group],
    }


def loop_trl(function, rows):
    rewards = []
    for group in groups_of(rows):
        texts = [row["completion"] for row in group]
        rewards += function(completions=texts, **lists(group))
    return rewards


def loop_trl_list(functions, rows):
    rewards = []
    for group in groups_of(rows):
        texts, columns = [row["completion"] for row in group], lists(group)
        answers = [function(completions=texts, **columns) for function in functions]
        rewards += map(sum, zip(*answers, strict=True))
    return rewards


def loop_messages(function, rows):
    rewards = []
    for group in groups_of(rows):
        turns = [[{"role": "assistant", "content": row["completion"]}] for row in group]
        rewards += function(completions=turns, **lists(group))
    return rewards


async def loop_trl_async(function, rows):
    rewards = []
    for group in groups_of(rows):
        texts = [row["completion"] for row in group]
        rewards += await function(completions=texts, **lists(group))
    return rewards


def loop_verl(function, rows):
    rewards = []
    for row in rows:
        rewards.append(
            function(
                data_source=row["data_source"],
                solution_str=row["completion"],
                ground_truth=row["ground_truth"],
                extra_info={},
            )
        )
    return rewards


def loop_verl_dict(function, rows):
    rewards, accuracies = [], []
    for row in rows:
        result = function(
            data_source=row["data_source"],
            solution_str=row["completion"],
            ground_truth=row["ground_truth"],
            extra_info={},
        )
        rewards.append(result["score"])
        accuracies.append(result["acc"])
    return rewards


async def loop_verifiers(function, rows):
    rewards = []
    for row in rows:
        task, trace = (
            SimpleNamespace(**row),
            SimpleNamespace(last_reply=row["completion"]),
        )
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


def loop_easyr1(function, rows):
    rewards, formats = [], []
    for group in groups_of(rows):
        for scores in function([easyr1_input(row) for row in group]):
            rewards.append(scores["overall"])
            formats.append(scores["format"])
    return rewards


def loop_easyr1_one(function, rows):
    rewards, formats = [], []
    for row in rows:
        scores = function(easyr1_input(row))
        rewards.append(scores["overall"])
        formats.append(scores["format"])
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


# form -> the function, the target that it is read as, the loop
FORMS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "plain f(completion, ground_truth)": (plain, "plain", loop_rows),
    "verl": (compute_score, "verl", loop_verl),
    "verl, a dict, **kwargs": (compute_score_dict, "verl", loop_verl_dict),
    "siiRL": (compute_score, "siirl", loop_verl),
    "TRL, texts": (trl_texts, "trl:texts", loop_trl),
    "TRL, conversational": (trl_messages, "trl:messages", loop_messages),
    "TRL, list of functions": ([trl_texts, trl_other], "trl:texts", loop_trl_list),
    "TRL, async": (trl_async, "trl:texts", loop_trl_async),
    "Tunix, batch": (trl_other, "tunix", loop_trl),
    "Tunix, one response": (tunix_response, "tunix", loop_response),
    "verifiers, async": (verifiers_v1, "verifiers", loop_verifiers),
    "verifiers before v1": (rubric, "verifiers-rubric:messages", loop_rubric),
    "OpenRLHF": (reward_func, "openrlhf", loop_openrlhf),
    "ms-swift": (Swift, "ms-swift", loop_swift),
    "EasyR1, batch": (easyr1_batch, "easyr1:batch", loop_easyr1),
    "EasyR1, one": (easyr1_one, "easyr1:sequential", loop_easyr1_one),
    "Atropos": (Atropos, "atropos", loop_atropos),
    "eval-protocol": (eval_protocol, "eval-protocol", loop_eval_protocol),
    "benchmax, async": (Sums, "benchmax", loop_benchmax),
}


def rollouts_of(rows: int) -> rk.Rollouts:
    """Completions of 200 to 300 characters, a third of them wrong."""
    table = []
    for row in range(rows):
        prompt = row // SIBLINGS
        truth = prompt % 97
        answer = truth + (row % 3 == 0)
        text = f"We add {prompt} and {row}.\nThen the sum = {row + prompt}. "
        completion = f"{text * 4}So the answer is {answer}."
        table.append(
            {
                "rollout_id": f"r{row}",
                "prompt_id": f"p{prompt}",
                "prompt": f"What is the remainder of {prompt} by 97?",
                "completion": completion,
                "ground_truth": str(truth),
                "data_source": "remainders",
            }
        )
    return rk.load_rollouts(table)


def ratio_of(
    reward: rk.Reward, rollouts: rk.Rollouts, loop: Callable[[], Any], runs: int = RUNS
) -> tuple[float, float, list[float]]:
    """Median seconds of both sides, and their ratios run by run; rewards must agree."""
    ratios, ours, theirs = [], [], []
    for run in range(runs + 1):
        start = time.process_time()
        scores = rk.score(reward, rollouts)
        middle = time.process_time()
        rewards = loop()
        end = time.process_time()
        if run:
            ours.append(middle - start)
            theirs.append(end - middle)
            ratios.append((middle - start) / (end - middle))
    assert abs(scores.rewards - rewards).max() < 1e-12
    return statistics.median(ours), statistics.median(theirs), ratios


def show(name: str, seconds: tuple[float, float, list[float]], aim: float) -> None:
    ours, theirs, ratios = seconds
    print(
        f"  {name:<36} {ours / ROWS * 1e6:7.2f} {theirs / ROWS * 1e6:7.2f} "
        f"{statistics.median(ratios):7.2f}   ({min(ratios):.2f} to {max(ratios):.2f})   "
        f"aim {aim}"
    )


def main(names: list[str]) -> None:
    rollouts = rollouts_of(ROWS)
    rows = list(rollouts)
    print(f"scoring {ROWS:,} rollouts with a function in a trainer's form")
    print(
        f"  {'':<36} {'score':>7} {'loop':>7}   ratio   (lowest to highest); us a row"
    )
    for name, (function, target, loop) in FORMS.items():
        if names and not any(part in name for part in names):
            continue
        value = function() if function in (Swift, Sums, Atropos) else function
        reward = read(function, "f", as_=target, rows=rows[:16])

        def run(value: Any = value, loop: Any = loop) -> Any:
            rewards = loop(value, rows)
            return asyncio.run(rewards) if asyncio.iscoroutine(rewards) else rewards

        show(name, ratio_of(reward, rollouts, run), AIM)
    if names:
        return
    for name, function in {
        "tags": rk.measure.tags("think", "answer"),
        "no_repetition": rk.measure.length(full_until=200, zero_from=900),
    }.items():
        reward = rk.Reward("one", components=[rk.Component(name, function)])

        def run(function: Any = function) -> Any:
            return [function(row["completion"]) for row in rows]

        show(f"primitive {name}", ratio_of(reward, rollouts, run), AIM_PRIMITIVES)


if __name__ == "__main__":
    main(sys.argv[1:])
