"""Log: how tasks become completions, as a policy halfway through training writes them, and rows of a log."""

import copy
import json
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

MATERIAL = Path(__file__).parent / "material"
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

THOUGHTS = tomllib.loads((MATERIAL / "thoughts.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Task:
    """A prompt, the answer as a policy writes it, wrong ones, and the truth as the data set holds it.

    `notation` is the answer written in another way, `exploits` are completions that prove a fault here.
    """

    prompt: Any
    answer: str
    wrong: list[str]
    truth: Any
    columns: dict[str, Any] = field(default_factory=dict)
    notation: str = ""
    exploits: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drawn:
    """One completion, the place of its prompt, and whether it is right (None: it is, but in no mark)."""

    task: Task
    group: int
    text: str
    right: bool | None


def thought(generator: np.random.Generator) -> str:
    """Three to six sentences that say nothing of the answer, on one line or on several."""
    steps = generator.choice(
        THOUGHTS["steps"], size=int(generator.integers(1, 5)), replace=False
    )
    between = "\n" if generator.random() < 0.4 else " "
    opener, closer = (
        str(generator.choice(THOUGHTS[name])) for name in ("openers", "closers")
    )
    return between.join((opener, *map(str, steps), closer))


@dataclass(frozen=True, eq=False)
class Log:
    """Four completions for each task, in the form of a trainer's log.

    `write` is a completion with places for a thought and an answer. `truth` is the column of the truth,
    `label` one that says in its place which completions are right. Every third right answer is written in the
    notation of its task. `sound` and `faults` are the rewards over it; those of a `held_back` log stand in
    the modules of the held-back half.
    """

    tasks: list[Task]
    sound: list[str]
    trainer: str  # "trl", "verl" or "plain"
    write: str = "<think>{thought}</think>\n<answer>{answer}</answer>"
    truth: str = "ground_truth"
    source: str = ""
    refusals: list[str] = field(default_factory=lambda: THOUGHTS["refusals"])
    label: str = ""
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)
    held_back: bool = False

    def written(self, thought: str, answer: str) -> str:
        """A completion."""
        return self.write.format(thought=thought, answer=answer)

    def drawn(self) -> list[Drawn]:
        """The completions, the same at each call."""
        generator = np.random.default_rng(20)
        found: list[Drawn] = []
        rights = 0
        for group, task in enumerate(self.tasks):
            wrong = [
                str(one)
                for one in generator.permutation(np.array(task.wrong, dtype=object))
            ]
            plan = generator.permutation(np.array(PLANS[group % len(PLANS)]))
            for place, kind in enumerate(map(str, plan)):
                said = thought(generator)
                text, right = self.written(said, task.answer), kind == "right"
                if (
                    kind == "bare" and self.written("", "").strip()
                ):  # where a mark can be left out
                    text, right = f"{said}\nSo it is {task.answer}", None
                elif kind in ("wrong", "bare"):
                    text = self.written(said, wrong[place % len(wrong)])
                elif kind == "cut":
                    text = text[: max(len(text) // 3, 12)]
                elif kind == "refused":
                    text = str(generator.choice(self.refusals))
                else:
                    rights += 1
                    if task.notation and rights % 3 == 0:
                        text = self.written(said, task.notation)
                found.append(Drawn(task, group, text, right))
        return found

    @property
    def logged(self) -> tuple[str, ...]:
        """The columns that the trainer logs beside scores; the others stand in its data set."""
        names = (
            "input output gts step"
            if self.trainer == "verl"
            else "step prompt completion"
        )
        return tuple(names.split())

    def example(self, task: Task) -> dict[str, Any]:
        """The row of the data set."""
        truth = {} if self.label else {self.truth: task.truth}
        source = {"data_source": self.source} if self.source else {}
        return copy.deepcopy({"prompt": task.prompt, **truth, **source, **task.columns})

    def rows(self) -> list[dict[str, Any]]:
        """Log and data set in one table, without the scores of a reward."""
        rows = []
        for one in self.drawn():
            row = self.example(one.task)
            prompt, step = row.pop("prompt"), 20 + one.group // 4
            if self.trainer == "verl":
                chat = (
                    f"system\nYou are a helpful assistant.\nuser\n{prompt}\nassistant\n"
                )
                rows.append({"input": chat, "output": one.text, "step": step, **row})
            else:
                messages = [{"role": "assistant", "content": one.text}]
                text = messages if isinstance(prompt, list) else one.text
                rows.append({"step": step, "prompt": prompt, "completion": text, **row})
            if self.label:
                rows[-1][self.label] = one.right is True
        return rows


def logs(subject: str) -> list[Log]:
    """The logs of a subject: their settings and labels are in its material, and their tasks, one a line."""
    tasks = defaultdict(list)
    for line in (MATERIAL / f"{subject}.jsonl").read_text("utf-8").strip().split("\n"):
        row = json.loads(line)
        tasks[row.pop("log")].append(Task(**row))
    settings = tomllib.loads((MATERIAL / f"{subject}.toml").read_text("utf-8"))
    held_back = subject.startswith("held_back")
    return [
        Log(tasks[name], held_back=held_back, **given)
        for name, given in settings.items()
    ]
