"""Log: how tasks become completions, as a policy halfway through training writes them, and rows of a log."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Drawn", "Log", "Task", "behind"]

PLANS = (
    ("right", "right", "wrong", "wrong"),
    ("right", "wrong", "right", "bare"),
    ("right", "right", "right", "cut"),
    ("wrong", "right", "wrong", "refused"),
    ("right", "right", "wrong", "cut"),
    ("right", "wrong", "bare", "wrong"),
    ("right", "right", "right", "right"),
)
"""What the four completions of a prompt are, plan by plan: 15 of 28 are right."""

OPENERS = ("Let me see.", "Okay, so what is asked here?", "I read the question again.", "Step by step.")
STEPS = (
    "I go through what is given, one thing after the other.",
    "The first part is clear enough.",
    "Wait, I should look at that again.",
    "That fits with what the question says.",
    "Nothing else seems to be possible here.",
    "Let me check that once more.",
)
CLOSERS = ("That settles it.", "Now I can write it down.", "So I am done.", "This should be it.")
REFUSALS = ("I'm sorry, but I can't help with that.", "I am not able to answer this question.")


@dataclass(frozen=True)
class Task:
    """A prompt, its truth as the data set holds it, the answer as a policy writes it, and wrong ones."""

    prompt: Any
    truth: Any
    answer: str
    wrong: tuple[str, ...]
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Drawn:
    """One completion, the place of its prompt, and whether it is right (None: it is, but in no mark)."""

    task: Task
    group: int
    text: str
    right: bool | None


def in_tags(thought: str, answer: str) -> str:
    """A completion with its thought and its answer in tags."""
    return f"<think>{thought}</think>\n<answer>{answer}</answer>"


def behind(mark: str, end: str = "") -> Callable[[str, str], str]:
    """Writes a thought, and on a line of its own the answer between a mark and its end."""
    return lambda thought, answer: f"{thought}\n{mark}{answer}{end}"


def thought(generator: np.random.Generator) -> str:
    """Three to six sentences that say nothing of the answer, on one line or on several."""
    steps = generator.choice(STEPS, size=int(generator.integers(1, 5)), replace=False)
    between = "\n" if generator.random() < 0.4 else " "
    return between.join((str(generator.choice(OPENERS)), *map(str, steps), str(generator.choice(CLOSERS))))


@dataclass(frozen=True, eq=False)
class Log:
    """Four completions for each task, in the form of a trainer's log.

    `write(thought, answer)` is a completion. `truth` is the column of the truth (None: there is none). Every
    third right answer is written as `notation` has it. Without a `mark` no answer can stand outside of it.
    `label` is a column that says which completions are right. The rewards of a `held_back` log stand in the
    modules of the held-back half.
    """

    tasks: tuple[Task, ...]
    trainer: str  # "trl", "verl" or "plain"
    write: Callable[[str, str], str] = in_tags
    truth: str | None = "ground_truth"
    data_source: str = ""
    notation: Callable[[str], str] | None = None
    mark: bool = True
    refusals: tuple[str, ...] = REFUSALS
    label: str = ""
    held_back: bool = False

    def drawn(self) -> list[Drawn]:
        """The completions, the same at each call."""
        generator = np.random.default_rng(20)
        found: list[Drawn] = []
        rights = 0
        for group, task in enumerate(self.tasks):
            wrong = [str(one) for one in generator.permutation(np.array(task.wrong, dtype=object))]
            plan = generator.permutation(np.array(PLANS[group % len(PLANS)]))
            for place, kind in enumerate(map(str, plan)):
                said = thought(generator)
                full = self.write(said, task.answer)
                if kind == "bare" and self.mark:
                    found.append(Drawn(task, group, f"{said}\nSo it is {task.answer}", None))
                elif kind in ("wrong", "bare"):
                    found.append(Drawn(task, group, self.write(said, wrong[place % len(wrong)]), False))
                elif kind == "cut":
                    found.append(Drawn(task, group, full[: max(len(full) // 3, 12)], False))
                elif kind == "refused":
                    found.append(Drawn(task, group, str(generator.choice(self.refusals)), False))
                else:
                    rights += 1
                    other = self.notation is not None and rights % 3 == 0
                    text = self.write(said, self.notation(task.answer)) if other else full
                    found.append(Drawn(task, group, text, True))
        return found

    @property
    def logged(self) -> tuple[str, ...]:
        """The columns that the trainer logs beside scores; the others stand in its data set."""
        return (
            ("input", "output", "gts", "step") if self.trainer == "verl" else ("step", "prompt", "completion")
        )

    def example(self, task: Task) -> dict[str, Any]:
        """The row of the data set."""
        truth = {} if self.truth is None else {self.truth: task.truth}
        source = {"data_source": self.data_source} if self.data_source else {}
        return copy.deepcopy({"prompt": task.prompt, **truth, **source, **task.columns})

    def rows(self) -> list[dict[str, Any]]:
        """Log and data set in one table, without the scores of a reward."""
        rows = []
        for one in self.drawn():
            row = self.example(one.task)
            prompt, step = row.pop("prompt"), 20 + one.group // 4
            if self.trainer == "verl":
                chat = f"system\nYou are a helpful assistant.\nuser\n{prompt}\nassistant\n"
                rows.append({"input": chat, "output": one.text, "step": step, **row})
            else:
                messages = [{"role": "assistant", "content": one.text}]
                text = messages if isinstance(prompt, list) else one.text
                rows.append({"step": step, "prompt": prompt, "completion": text, **row})
            if self.label:
                rows[-1][self.label] = one.right is True
        return rows
