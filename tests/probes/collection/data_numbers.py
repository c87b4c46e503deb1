"""Rollouts whose answers are numbers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .drawing import PROMPTS, Task, made, rollouts
from .stock import NAMES, ODD, THINGS


def problems(generator: Any, ask: str = "") -> list[Task]:
    """Word problems whose answers are different numbers of two or three digits, in no prompt of theirs."""
    tasks: dict[int, Task] = {}
    while len(tasks) < PROMPTS:
        name, thing = generator.choice(NAMES), generator.choice(THINGS)
        a, b = (int(number) for number in generator.integers(6, 60, size=2))
        kind = int(generator.integers(3))
        if kind == 0:
            total, sign = a + b, "+"
            question = f"{name} has {a} {thing} and buys {b} more. How many {thing} does {name} have now?"
        elif kind == 1:
            total, sign = a * 6, "*"
            b = 6
            question = f"There are {a} {thing} in a box. {name} buys {b} boxes. How many {thing} is that?"
        else:
            a, b = a + b, b
            total, sign = a - b, "-"
            question = f"{name} picks {a} {thing} and gives {b} of them away. How many {thing} are left?"
        if total in tasks or total < 12 or str(total) in question:
            continue
        wrong = tuple(str(number) for number in (total + 1, total - 10, total + 10, total * 2, total + a))
        reasoning = f"{a} {sign} {b} makes the number of {thing}."
        tasks[total] = Task(f"{question}{ask}", str(total), str(total), wrong, reasoning)
    return list(tasks.values())


TAGS = " Think in <think> tags, then give the number in <answer> tags."


def tagged(task: Task, answer: str) -> str:
    return f"<think>{task.reasoning}</think>\n<answer>{answer}</answer>"


def untagged(task: Task, answer: str) -> str:
    return f"{task.reasoning} So it is {answer}."


@rollouts
def tagged_numbers(name, generator):
    """<think>...</think><answer>42</answer>."""
    return made(name, problems(generator, TAGS), tagged, generator, untagged)


@rollouts
def odd_numbers(name, generator):
    """In tags: truths of 0, below 0, with a decimal point."""
    tasks = [
        Task(question + TAGS, truth, truth, wrong, "We take the one from the other.")
        for question, truth, wrong in ODD
    ]
    return made(name, tasks, tagged, generator, untagged)


@rollouts
def thousands(name, generator):
    """In tags: the truths have thousands separators; completions write them with and without."""
    tasks = []
    for number in generator.permutation(np.arange(1130, 9900, 37))[:PROMPTS].tolist():
        half = number // 2
        question = f"One barn holds {half:,} bales and another {number - half:,}. How many are there?"
        wrong = tuple(f"{number + step:,}" for step in (1, -1, 10, 100, -200))
        tasks.append(Task(question + TAGS, f"{number:,}", f"{number:,}", wrong, "We add both barns."))
    plain = functools.partial(lambda task, answer: tagged(task, answer.replace(",", "")))
    return made(name, tasks, tagged, generator, plain)


@rollouts
def gaps(name, generator):
    """In tags: some prompts have no truth: an empty text, or nothing."""
    tasks = problems(generator, TAGS)
    for number, truth in ((3, ""), (7, None), (11, "")):
        task = tasks[number]
        tasks[number] = Task(task.prompt, truth, task.answer, task.wrong, task.reasoning)
    rows = made(name, tasks, tagged, generator, untagged)
    return [(row, right if row["ground_truth"] else None) for row, right in rows]


@rollouts
def boxed_numbers(name, generator):
    """LaTeX: $\\boxed{42}$."""
    tasks = problems(generator, " Put the final number in \\boxed{}.")
    return made(
        name, tasks, lambda task, answer: f"{task.reasoning} So $\\boxed{{{answer}}}$.", generator, untagged
    )


def marked(task: Task, answer: str) -> str:
    return f"{task.reasoning}\nThat is all there is to do.\n#### {answer}"


@rollouts
def gsm8k_numbers(name, generator):
    """Ends in #### 72; the truth is the number."""
    return made(name, problems(generator, " End with #### and the number."), marked, generator, untagged)


@rollouts
def gsm8k_worked(name, generator):
    """Ends in #### 72; the truth is the whole worked solution, as the data set has it."""
    tasks = [
        Task(task.prompt, f"{task.reasoning} <<{task.answer}>>\n#### {task.answer}", *rest)
        for task in problems(generator, " End with #### and the number.")
        for rest in [(task.answer, task.wrong, task.reasoning)]
    ]
    return made(name, tasks, marked, generator, untagged)


def spoken(task: Task, answer: str) -> str:
    return f"{task.reasoning}\n\nThe answer is {answer}."


@rollouts
def free_numbers(name, generator):
    """In a sentence: The answer is 72."""
    return made(
        name, problems(generator), spoken, generator, lambda task, answer: f"{answer} {task.reasoning}"
    )


@rollouts
def chat_numbers(name, generator):
    """The same with prompts and completions as chat messages."""
    system = {"role": "system", "content": "You solve word problems. End with: The answer is N."}
    tasks = [
        Task(
            [system, {"role": "user", "content": task.prompt}],
            task.truth,
            task.answer,
            task.wrong,
            task.reasoning,
        )
        for task in problems(generator)
    ]
    rows = made(name, tasks, spoken, generator)
    turn = {"role": "assistant"}
    return [({**row, "completion": [{**turn, "content": row["completion"]}]}, right) for row, right in rows]


@rollouts
def chat_tags(name, generator):
    """Chat messages, the answer in tags."""
    rows = made(name, problems(generator, TAGS), tagged, generator, untagged)
    return [
        (
            {
                **row,
                "prompt": [{"role": "user", "content": row["prompt"]}],
                "completion": [{"role": "assistant", "content": row["completion"]}],
            },
            right,
        )
        for row, right in rows
    ]


@rollouts
def number_lists(name, generator):
    """Three numbers in the tag: <answer>7, 14, 21</answer>."""
    tasks = []
    for number in generator.permutation(np.arange(7, 60))[:PROMPTS].tolist():
        lists = {step: ", ".join(str(number * k + step * (k == 3)) for k in (1, 2, 3)) for step in (0, 1, 2)}
        wrong = (
            lists[1],
            lists[2],
            f"{number}, {number * 2 + 1}, {number * 3}",
            f"{number + 1}, {number * 2}, {number * 3}",
        )
        question = f"Write the first three multiples of {number}, smallest first."
        tasks.append(Task(question + TAGS, lists[0], lists[0], wrong, f"We count up by {number}."))
    return made(name, tasks, tagged, generator, untagged)


@rollouts
def levelled(name, generator):
    """Tagged numbers of verl's form: `extra_info` holds an index, and a level for most rows."""
    rows = made(name, problems(generator, TAGS), tagged, generator, untagged)
    infos = [
        {"index": place} | ({"level": 1 + place % 3} if place // 4 % 5 else {}) for place in range(len(rows))
    ]
    return [
        ({**row, "data_source": "word-problems", "extra_info": info}, right)
        for (row, right), info in zip(rows, infos, strict=True)
    ]
