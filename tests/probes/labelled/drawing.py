"""Log: how tasks become completions, as a policy halfway through training writes them, and rows of a log."""

import copy
import json
import re
import tomllib
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
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

HARD_PLANS = tuple(
    tuple(kind for kind, count in zip(("right", "wrong", "bare", "cut"), counts, strict=True) for _ in range(count))
    for counts in ((0, 7, 0, 1), (4, 3, 1, 0), (0, 6, 1, 1), (7, 1, 0, 0), (0, 8, 0, 0), (2, 5, 0, 1), (5, 3, 0, 0), (8, 0, 0, 0))
)  # fmt: skip
"""What eight completions are where many prompts are too hard: 26 of 64 are right."""

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


def thought(generator: np.random.Generator, least: int = 1, most: int = 4) -> str:
    """A few sentences that say nothing of the answer, on one line or on several."""
    is_long = most > len(THOUGHTS["steps"])
    steps = generator.choice(
        THOUGHTS["long_steps" if is_long else "steps"],
        size=int(generator.integers(least, most + 1)),
        replace=is_long,
    )
    between = "\n" if generator.random() < 0.4 else " "
    opener, closer = (
        str(generator.choice(THOUGHTS[name])) for name in ("openers", "closers")
    )
    return between.join((opener, *map(str, steps), closer))


def tokens(text: str) -> list[int]:
    """Ids of pieces of at most five letters, as a tokenizer gives them."""
    pieces = re.findall(r"\s?\w{1,5}|\s+|[^\w\s]", text)
    return [zlib.crc32(piece.encode("utf-8", "replace")) % 32000 for piece in pieces]


MADE_OF_TEXT = {
    "completion_ids": tokens,
    "num_tokens": lambda text: len(tokens(text)),
    "response_length": lambda text: len(tokens(text)),
}
"""Columns of a log that the trainer makes from the completion."""


@dataclass(frozen=True, eq=False)
class Log:
    """Four completions for each task, in the form of a trainer's log; eight where it is `hard`.

    `write` is a completion with places for a thought and an answer. `truth` is the column of the truth,
    `label` one that says which completions are right, in its place or beside it in the columns of the tasks.
    Every third right answer is written in the notation of its task, and a third of all completions in a layout
    of `also`, where there are such; a layout may have a place for a check behind the answer. `steps` are the
    least and most sentences of a thought that leads to a right answer, and to another one. `made` are columns
    made from the completion. `sound` and `faults` are the rewards over it; they stand in `module`, or in the
    one of their trainer, and those of a `held_back` log in the modules of the held-back half.
    """

    tasks: list[Task]
    sound: list[str]
    trainer: str  # "trl", "verl" or "plain"
    write: str = "<think>{thought}</think>\n<answer>{answer}</answer>"
    truth: str = "ground_truth"
    source: str = ""
    also: list[str] = field(default_factory=list)
    steps: list[list[int]] = field(default_factory=lambda: [[1, 4], [1, 4]])
    made: list[str] = field(default_factory=list)
    hard: bool = False
    module: str = ""
    refusals: list[str] = field(default_factory=lambda: THOUGHTS["refusals"])
    label: str = ""
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)
    held_back: bool = False

    def written(
        self, thought: str, answer: str, *, layout: str = "", check: str = ""
    ) -> str:
        """A completion."""
        return (layout or self.write).format(
            thought=thought, answer=answer, check=check
        )

    def columns_of(self, text: str) -> dict[str, Any]:
        """The columns that the trainer makes from a completion."""
        return {name: MADE_OF_TEXT[name](text) for name in self.made}

    @cached_property
    def drawn(self) -> list[Drawn]:
        """The completions, always the same."""
        generator = np.random.default_rng(20)
        found: list[Drawn] = []
        rights = 0
        for group, task in enumerate(self.tasks):
            wrong = [
                str(one)
                for one in generator.permutation(np.array(task.wrong, dtype=object))
            ]
            plans = HARD_PLANS if self.hard else PLANS
            plan = generator.permutation(np.array(plans[group % len(plans)]))
            for place, kind in enumerate(map(str, plan)):
                said = thought(generator, *self.steps[kind != "right"])
                way: dict[str, str] = {}
                if self.also and generator.random() < 1 / 3:
                    way["layout"] = str(generator.choice(self.also))
                    way["check"] = str(generator.choice(THOUGHTS["checks"]))
                text, right = self.written(said, task.answer, **way), kind == "right"
                if (
                    kind == "bare" and self.written("", "").strip()
                ):  # where a mark can be left out
                    text, right = f"{said}\nSo it is {task.answer}", None
                elif kind in ("wrong", "bare"):
                    text = self.written(said, wrong[place % len(wrong)], **way)
                elif kind == "cut":
                    text = text[: max(len(text) // 3, 12)]
                elif kind == "refused":
                    text = str(generator.choice(self.refusals))
                else:
                    rights += 1
                    if task.notation and rights % 3 == 0:
                        text = self.written(said, task.notation, **way)
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
        return (*names.split(), *self.made)

    def example(self, task: Task) -> dict[str, Any]:
        """The row of the data set."""
        truth = {} if self.label else {self.truth: task.truth}
        source = {"data_source": self.source} if self.source else {}
        return copy.deepcopy({"prompt": task.prompt, **truth, **source, **task.columns})

    def rows(self) -> list[dict[str, Any]]:
        """Log and data set in one table, without the scores of a reward."""
        rows = []
        for one in self.drawn:
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
            rows[-1] |= self.columns_of(one.text)
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
