"""The reward file: a first reward for a task, with what was measured and what is to be decided."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from rewardkit.findings import counted, percent
from rewardkit.starting.code import code_of
from rewardkit.starting.reward_functions import FUNCTIONS
from rewardkit.starting.task import Task
from rewardkit.targets.exported import identifier
from rewardkit.targets.writing import templates

WIDTH = 110
TAKEN = (
    "reward",
    "rk",
    "partial",
    "annotations",
    "SCHEMA",
    *FUNCTIONS,
)  # names that a file has already


def reward_text(name: str, tasks: Sequence[Task], log: str, total: int) -> str:
    """The text of the reward file for these tasks of the `log`, of whose `total` rows they are a sample."""
    named = list(zip(tasks, _variables(tasks), strict=True))
    log = code_of(log)[1:-1].replace("\\", "/").replace('"', "'")
    return rendered(
        "reward.py", name=name, tasks=named, total=total, log=log, functions=FUNCTIONS
    )


def rendered(template: str, **told: Any) -> str:
    """The text of a template, in which nothing is escaped: `code_of` writes what comes from the log."""
    made = templates("rewardkit.starting")
    made.filters |= {
        "code": code_of,
        "comment": comment,
        "filled": _filled,
        "percent": percent,
    }
    made.globals["counted"] = counted
    return made.get_template(f"{template}.jinja").render(told)


def _variables(tasks: Sequence[Task]) -> list[str]:
    """The name of each task's reward in the file."""
    names: list[str] = []
    for task in tasks:
        name = identifier(task.name)
        while name in (*TAKEN, *names):
            name = f"{name}_"
        names.append(name)
    return names if len(tasks) > 1 else ["reward"]


def comment(text: str, indent: int = 0) -> str:
    """Lines of a comment; each "Decide" begins one."""
    mark = " " * indent + "# "
    lines = text.strip().replace(" Decide:", "\nDecide:").split("\n")
    return "".join(
        f"{textwrap.indent(_filled(line, WIDTH - len(mark)), mark)}\n" for line in lines
    )


def _filled(text: str, width: int = WIDTH) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)
