"""The reward file: a first reward for a task, with what is left to decide."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from typing import Any

from rewardkit.answers import accepted
from rewardkit.findings import counted, percent
from rewardkit.starting.code import code_of
from rewardkit.starting.task import Task
from rewardkit.targets.exported import identifier
from rewardkit.targets.writing import templates

LINE_WIDTH = 110


def all_right(values: float) -> bool:
    """Whether every value is right and none is added."""
    return values == 1.0


def stated(marked: str | None) -> bool:
    """Whether an answer stands where it is asked for, with something in it."""
    return bool(marked)


COPIED_FUNCTIONS = {
    function.__name__: inspect.getsource(function).rstrip()
    for function in (accepted, all_right, stated)
}
"""Name -> source of a function that is copied into a file that needs it."""

USED_NAMES = ("reward", "rk", "partial", "annotations", "SCHEMA", *COPIED_FUNCTIONS)
"""Names that a file has already."""


def reward_text(name: str, tasks: Sequence[Task], log: str, total: int) -> str:
    """Write the reward file for these tasks.

    Args:
        name: Name of the reward.
        tasks: The tasks, each of which gets a reward.
        log: Path of the log, as the file names it.
        total: Rows of the log, of which the tasks are a sample.
    """
    return render(
        "reward.py",
        name=name,
        tasks=list(zip(tasks, _choose_variables(tasks), strict=True)),
        total=total,
        log=code_of(log)[1:-1].replace("\\", "/").replace('"', "'"),
        functions=COPIED_FUNCTIONS,
    )


def render(template: str, **values: Any) -> str:
    """Fill in a template; nothing is escaped, `code_of` writes what the log says."""
    environment = templates("rewardkit.starting")
    environment.filters |= {
        "code": code_of,
        "comment": comment,
        "filled": _wrap,
        "percent": percent,
    }
    environment.globals["counted"] = counted
    return environment.get_template(f"{template}.jinja").render(values)


def _choose_variables(tasks: Sequence[Task]) -> list[str]:
    """Return the name of each task's reward in the file."""
    if len(tasks) == 1:
        return ["reward"]
    names: list[str] = []
    for task in tasks:
        name = identifier(task.name)
        while name in (*USED_NAMES, *names):
            name = f"{name}_"
        names.append(name)
    return names


def comment(text: str, indent: int = 0) -> str:
    """Return a text as lines of a comment; each "Decide" begins one."""
    mark = " " * indent + "# "
    paragraphs = text.strip().replace(" Decide:", "\nDecide:").split("\n")
    wrapped = [_wrap(paragraph, LINE_WIDTH - len(mark)) for paragraph in paragraphs]
    return "".join(f"{textwrap.indent(lines, mark)}\n" for lines in wrapped)


def _wrap(text: str, width: int = LINE_WIDTH) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)
