"""How tasks become rollouts: four completions a prompt, and beside them which of these are right."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import rewardkit as rk

from .stock import CLOSERS, OPENERS

PROMPTS = 16

PLANS = (
    ("right", "wrong", "wrong", "other"),
    ("right", "right", "wrong", "wrong"),
    ("wrong", "right", "wrong", "cut"),
    ("right", "right", "right", "wrong"),
)
"""What the four completions of a prompt are; which plan a prompt gets is drawn."""


@dataclass(frozen=True)
class Task:
    """A prompt, its truth as the log holds it, the answer as it is written, and wrong ones of that kind."""

    prompt: Any
    truth: Any
    answer: str
    wrong: tuple[str, ...]
    reasoning: str = ""
    others: dict[str, Any] = field(default_factory=dict)  # columns of the user's own


NO_TRUTH = object()

Write = Callable[[Task, str], str]
Rows = list[tuple[dict[str, Any], bool | None]]


def made(name: str, tasks: Iterable[Task], write: Write, generator: Any, other: Write | None = None) -> Rows:
    """Rows of four completions for each task; `other` writes a right answer in a form not asked for."""
    rows: Rows = []
    for number, task in enumerate(tasks):
        plan = PLANS[int(generator.integers(len(PLANS)))]
        wrong = list(generator.permutation(np.array(task.wrong, dtype=object)))
        for what in plan:
            answer = task.answer if what in ("right", "other") else wrong.pop()
            said = f"{generator.choice(OPENERS)} {task.reasoning} {generator.choice(CLOSERS)}".strip()
            told = Task(task.prompt, task.truth, task.answer, task.wrong, said)
            text = (other if what == "other" and other else write)(told, answer)
            if what == "cut":  # at the token limit, before there is an answer
                text = text[: max(8, min(len(text) // 3, len(said)))]
            row = {"prompt_id": f"{name}-{number:02d}", "prompt": task.prompt, "completion": text}
            row |= {"ground_truth": copy(task.truth)} if task.truth is not NO_TRUTH else {}
            rows.append((row | task.others, {"right": True, "wrong": False}.get(what)))
    return rows


def rollouts(rows: Callable[[str, Any], Rows]) -> Any:
    """The function that gives these rows as rollouts, with `right` beside it."""

    def drawn(seed: int) -> Rows:
        return rows(rows.__name__, np.random.default_rng([seed, *rows.__name__.encode()]))

    @functools.wraps(rows)
    def load(seed: int = 0) -> rk.Rollouts:
        return rk.load_rollouts([row for row, _ in drawn(seed)])

    del load.__wrapped__  # its signature is `seed`
    load.right = lambda seed=0: [right for _, right in drawn(seed)]  # type: ignore[attr-defined]
    return load
