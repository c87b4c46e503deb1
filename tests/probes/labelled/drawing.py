"""Log: how tasks become completions, as a policy halfway through training writes them, and rows of a log."""

import copy
import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
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
    """A prompt, the answer as a policy writes it, wrong ones, and the truth as the data set holds it."""

    prompt: Any
    answer: str
    wrong: tuple[str, ...]
    truth: Any
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


def alone(thought: str, answer: str) -> str:
    """A completion that is its answer."""
    return answer


on_a_line = behind("")


def thought(generator: np.random.Generator) -> str:
    """Three to six sentences that say nothing of the answer, on one line or on several."""
    steps = generator.choice(THOUGHTS["steps"], size=int(generator.integers(1, 5)), replace=False)
    between = "\n" if generator.random() < 0.4 else " "
    opener, closer = (str(generator.choice(THOUGHTS[name])) for name in ("openers", "closers"))
    return between.join((opener, *map(str, steps), closer))


@dataclass(frozen=True, eq=False)
class Log:
    """Four completions for each task, in the form of a trainer's log.

    `write(thought, answer)` is a completion. `truth` is the column of the truth, `label` one that says in its
    place which completions are right. Every third right answer is written as `notation` has it. The rewards
    of a `held_back` log stand in the modules of the held-back half; `sound` and `faults` name them.
    """

    tasks: tuple[Task, ...]
    trainer: str  # "trl", "verl" or "plain"
    write: Callable[[str, str], str]
    truth: str = "ground_truth"
    source: str = ""
    notation: Callable[[str], str] | None = None
    refusals: tuple[str, ...] = tuple(THOUGHTS["refusals"])
    label: str = ""
    held_back: bool = False
    sound: list[str] = field(default_factory=list)
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)

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
                text, right = self.write(said, task.answer), kind == "right"
                if kind == "bare" and self.write not in (alone, on_a_line):  # where a mark can be left out
                    text, right = f"{said}\nSo it is {task.answer}", None
                elif kind in ("wrong", "bare"):
                    text = self.write(said, wrong[place % len(wrong)])
                elif kind == "cut":
                    text = text[: max(len(text) // 3, 12)]
                elif kind == "refused":
                    text = str(generator.choice(self.refusals))
                else:
                    rights += 1
                    if self.notation and rights % 3 == 0:
                        text = self.write(said, self.notation(task.answer))
                found.append(Drawn(task, group, text, right))
        return found

    @property
    def logged(self) -> tuple[str, ...]:
        """The columns that the trainer logs beside scores; the others stand in its data set."""
        names = "input output gts step" if self.trainer == "verl" else "step prompt completion"
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
                chat = f"system\nYou are a helpful assistant.\nuser\n{prompt}\nassistant\n"
                rows.append({"input": chat, "output": one.text, "step": step, **row})
            else:
                messages = [{"role": "assistant", "content": one.text}]
                text = messages if isinstance(prompt, list) else one.text
                rows.append({"step": step, "prompt": prompt, "completion": text, **row})
            if self.label:
                rows[-1][self.label] = one.right is True
        return rows


def log(trainer, write=in_tags, *, seed=0, count=None, **options):
    """Makes a function into the log of the tasks that it yields, as many as are wanted.

    What the material of its module holds under its name is its prompt, which is filled with the values of a
    task, perhaps a system message, lines of cells that " | " parts, the labels of its rewards, and what else
    the function takes. It yields values, an answer, wrong ones, the truth where that is another thing, and
    columns.
    """

    def made(function):
        module = function.__module__.rpartition(".")[2]
        given = tomllib.loads((MATERIAL / f"{module}.toml").read_text("utf-8"))[function.__name__]
        prompt, system = given.pop("prompt"), given.pop("system", None)
        labels = {"sound": given.pop("sound"), "faults": given.pop("faults", {})}
        if "rows" in given:
            given["rows"] = [line.split(" | ") for line in given["rows"].splitlines()]

        def task(values, answer, wrong, truth=None, columns=None):
            text = prompt.format(**values)
            if system is not None:
                first = [{"role": "system", "content": system}] if system else []
                text = [*first, {"role": "user", "content": text}]
            return Task(text, answer, tuple(wrong), answer if truth is None else truth, columns or {})

        tasks = tuple(task(*one) for one in islice(function(random.Random(seed), **given), count))
        named = {"truth": "gts"} if trainer == "verl" else {}
        held_back = module.startswith("held_back")
        return Log(tasks, trainer, write, held_back=held_back, **labels, **named, **options)

    return made
