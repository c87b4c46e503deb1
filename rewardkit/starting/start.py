"""Write a first reward, its cases and a notebook for a new task from a log."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import keyword
import os
import shlex
import tempfile
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.answers import accepted
from rewardkit.errors import InputError, preview
from rewardkit.findings import counted, percent
from rewardkit.plain import PlainRecord
from rewardkit.rewards.load import hides_module
from rewardkit.rewards.save import run_beside
from rewardkit.rewards.source import code_of
from rewardkit.rollouts.columns import free_name
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.paths import GALLERY_PREFIX, write_whole
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.cases import append_cases, load_cases
from rewardkit.scoring.score import score
from rewardkit.starting.pairs import write_pairs
from rewardkit.starting.task import StartingTask, find_tasks
from rewardkit.targets.exported import identifier
from rewardkit.targets.writing import templates

MOST_MEASURED = 2_000
"""Most completions to measure and to choose cases from. Our choice."""
MOST_CHARACTERS = 20_000_000
"""Most characters of these, about ten seconds of work. Our choice."""


@dataclass(frozen=True)
class Started(PlainRecord):
    """The files written for a new task, and what to do next.

    Attributes:
        name: Name of the task.
        reward: The reward file.
        cases: The case file.
        notebook: The notebook.
        decided: Number of cases that the truth decides.
        undecided: Number of cases for a person to decide.
        measured: Number of measured completions.
        rows: Number of rows in the log.
        next: Commands to run next.
        text: A summary in words, with what the log shows of the task.
    """

    name: str
    reward: Path
    cases: Path
    notebook: Path
    decided: int
    undecided: int
    measured: int
    rows: int
    next: tuple[str, ...]
    text: str = ""

    def __str__(self) -> str:
        return self.text


def start(
    name: str,
    log: str | Path,
    folder: str | Path = ".",
    *,
    columns: Mapping[str, str] | None = None,
    group: str | Sequence[str] | None = None,
    join: str | Path | None = None,
    on: str = "prompt",
    fill: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Started:
    """Write a first reward, its cases and a notebook for the task of a log.

    The reward reads answers in the form that the completions show and compares them
    with the ground_truth. Without one it pays only form and length, and says so. The
    cases are up to twenty pairs of completions of one prompt. If the truth decides, the
    right one must earn more than the wrong one. The other cases (ways to read the
    answer differ, one was cut off, or is longer ...) ask which is better, with a `why`
    that begins with "TODO: ". No case copies what the reward gives now.

    Args:
        name: Name of the files: `name`.py, `name`_cases.jsonl and `name`.ipynb.
        log: The log; up to 2,000 completions are drawn from a longer one.
        folder: The folder for the files; created if missing.
        columns: As in `load_rollouts`, like the following.
        group: Columns that define a group.
        join: File with the prompts or truths.
        on: Column to join on.
        fill: Values for fields of a prompt's template.
        seed: Seed of the draw.

    Raises:
        InputError: The name is invalid for a module, a file exists, or the log cannot
            be read. Then nothing is written.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     started = start("sums", "gallery:arithmetic", folder)
    ...     print(sorted(path.name for path in Path(folder).iterdir()))
    ...     started.decided, started.undecided
    ['sums.ipynb', 'sums.py', 'sums_cases.jsonl']
    (6, 14)
    """
    if not isinstance(log, str | Path):
        raise InputError(
            f"start takes the path of a log, not {preview(log)}: the notebook that it "
            "writes reads the log anew; save it first"
        )
    folder = Path(folder)
    reward = folder / f"{name}.py"
    cases = folder / f"{name}_cases.jsonl"
    notebook = folder / f"{name}.ipynb"
    _check_name(name, (reward, cases, notebook))
    reading: dict[str, Any] = {
        "columns": columns,
        "group": [group] if isinstance(group, str) else group,
        "join": join,
        "on": on,
        "fill": fill,
    }
    rollouts = load_rollouts(log, **reading)
    labels = _find_labels(rollouts)
    if labels:
        reading["columns"] = {**(columns or {}), "ground_truth": labels}
        rollouts = load_rollouts(log, **reading)
    sample = _draw_sample(rollouts, seed)
    tasks = find_tasks(sample)
    source = seen_from(folder, log)
    text = reward_text(name, tasks, source, len(rollouts), sample.names)
    with tempfile.TemporaryDirectory() as place:
        trial = Path(place) / cases.name
        with run_beside(Path(place) / reward.name, text, "the new reward") as module:
            pairs = write_pairs(tasks, score(module.reward, sample))
            append_cases(trial, pairs)
        case_lines = trial.read_bytes()
        undecided = [case.is_undecided for case in load_cases(trial)]
    options = {key: value for key, value in reading.items() if value}
    if join:
        options["join"] = seen_from(folder, join)
    else:
        options.pop("on")
    blank = render("task.ipynb", name=name)
    values = {"rollouts": source, "reading": options}
    contents = {
        reward: text.encode(),
        cases: case_lines,
        notebook: notebook_text(blank, values).encode(),
    }
    _write_files(folder, contents)
    commands = _next_commands(reward, cases, notebook, log, reading)
    started = Started(
        name,
        reward,
        cases,
        notebook,
        decided=undecided.count(False),
        undecided=undecided.count(True),
        measured=len(sample),
        rows=len(rollouts),
        next=commands,
    )
    parts = list(zip(tasks, module.reward.branches, strict=True))
    facts = {**vars(started), "log": log, "labels": labels}
    words = render("started.txt", **facts, tasks=parts)
    return replace(started, text=words.rstrip("\n"))


LABEL_COLUMNS = ("labels", "label", "tags")
"""Columns that may hold the truths of a log that has no ground_truth."""


def _find_labels(rollouts: Rollouts) -> str:
    """Return the column with the truths of a log without ground_truth, or "".

    Its cells are texts or lists of texts, equal for all rows of a prompt. A column of
    verdicts on completions would differ between siblings.
    """
    if "ground_truth" in rollouts.table:
        return ""
    for name in LABEL_COLUMNS:
        if name not in rollouts.table:
            continue
        cells = column_values(rollouts.table[name])
        truths: dict[Any, set[str]] = {}
        for prompt, cell in zip(rollouts.prompts.tolist(), cells, strict=True):
            truths.setdefault(prompt, set()).add(repr(cell))
        is_constant = all(len(values) == 1 for values in truths.values())
        if is_constant and all(map(_is_label, cells)):
            return name
    return ""


def _is_label(cell: Any) -> bool:
    """Return whether a cell is missing, a text, or a list of texts."""
    items = cell if isinstance(cell, list | tuple) else [cell]
    return cell is None or all(isinstance(item, str) for item in items)


def _check_name(name: str, paths: Sequence[Path]) -> None:
    """Raise an InputError if the name is invalid, or a file exists."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(
            f"{name!r} cannot be the name of a Python file to import; take letters, "
            "digits and underscores, not a digit first, such as countdown"
        )
    for path in paths:
        if os.path.lexists(path):
            raise InputError(
                f"{str(path)!r} is there, and is not written over; take another name "
                "or another folder, or move it away"
            )
    if hides_module(paths[0]):
        raise InputError(
            f"{name!r} is the name of a module, which {name}.py would hide from Python "
            f"in its folder; take another, such as {name}_task"
        )


def _draw_sample(rollouts: Rollouts, seed: int) -> Rollouts:
    """Draw rollouts to measure, by whole prompts up to the limits."""
    prompts = rollouts.prompts
    names, codes = np.unique(prompts, return_inverse=True)
    turn = np.random.default_rng(seed).permutation(len(names))
    drawn = np.argsort(turn[codes], kind="stable")[:MOST_MEASURED]
    lengths = rollouts.table["completion"].str.len().to_numpy(dtype=float)
    total = lengths[drawn].cumsum()
    count = max(1, int(np.searchsorted(total, MOST_CHARACTERS, side="right")))
    if count >= len(rollouts):
        return rollouts
    return rollouts.select(np.sort(drawn[:count]).tolist())


def _write_files(folder: Path, contents: Mapping[Path, bytes]) -> None:
    """Write all files or none. InputError: the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            write_whole(path, partial(Path.write_bytes, data=content))
    except OSError as error:
        for path in contents:  # none existed before
            if os.path.lexists(path):
                path.unlink()
        raise InputError(
            f"nothing can be written to {str(folder)!r} ({error.strerror}); give a "
            "folder where you may write"
        ) from None


def _next_commands(
    reward: Path,
    cases: Path,
    notebook: Path,
    log: str | Path,
    reading: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return the commands to run next: the notebook, the cases, the probes."""
    options = []
    for name, source in (reading["columns"] or {}).items():
        options.append(f"--column={name}={source}")
    for name, value in (reading["fill"] or {}).items():
        options.append(f"--set={name}={value}")
    for name in reading["group"] or ():
        options.append(f"--group={name}")
    if reading["join"] is not None:
        options += [f"--join={reading['join']}", f"--on={reading['on']}"]
    check = ["rewardkit", "check", str(reward), str(cases)]
    probe = ["rewardkit", "probe", str(reward), str(log), "--cases", str(cases)]
    lab = ["jupyter", "lab", str(notebook)]
    return tuple(map(shlex.join, (lab, check, [*probe, *options])))


# --- the notebook and its parameters


def notebook_text(source: str, values: Mapping[str, Any]) -> str:
    """Return the text of a notebook with these values in its parameters cell."""
    notebook = json.loads(source)
    cell = parameters_cell(notebook)
    source = with_values("".join(cell["source"]), values)
    cell["source"] = source.splitlines(keepends=True)
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def has_same_parameters(path: Path, text: str) -> bool:
    """Return whether a file is a notebook with the same parameters as this text."""
    try:
        cell = parameters_cell(json.loads(path.read_text(encoding="utf-8")))
        source = "".join(cell["source"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False  # no such notebook
    return source == "".join(parameters_cell(json.loads(text))["source"])


def parameters_cell(notebook: Any) -> Any:
    """Return the cell of a notebook with the tag "parameters"."""
    for cell in notebook["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            return cell
    raise KeyError("parameters")


def with_values(source: str, values: Mapping[str, Any]) -> str:
    """Return the source of a parameters cell with these values.

    Types and comments are kept; names without a parameter are ignored.

    >>> with_values('seed: int = 0  # of the draw', {"seed": 3, "label": "good"})
    'seed: int = 3  # of the draw'
    """
    written = source.encode()  # positions in a syntax tree count bytes
    starts = [0, *itertools.accumulate(map(len, written.splitlines(keepends=True)))]
    for statement in reversed(ast.parse(source).body):
        if not isinstance(statement, ast.AnnAssign) or statement.value is None:
            continue
        name = ast.unparse(statement.target)
        old = statement.value
        if name in values and old.end_lineno and old.end_col_offset:
            start = starts[old.lineno - 1] + old.col_offset
            end = starts[old.end_lineno - 1] + old.end_col_offset
            written = written[:start] + code_of(values[name]).encode() + written[end:]
    return written.decode()


def seen_from(folder: Path, source: str | Path) -> str:
    """Return a path relative to a folder, for code that runs there.

    A name of the gallery and an absolute path are returned as they are. A path on
    another drive becomes absolute.
    """
    path = Path(source)
    if str(source).startswith(GALLERY_PREFIX) or path.is_absolute():
        return str(source)
    real = path.parent.resolve() / path.name
    try:
        return Path(os.path.relpath(real, folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return real.as_posix()


# --- the reward file

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
"""Name -> source of a function, copied into reward files that use it."""

USED_NAMES = ("reward", "rk", "partial", "annotations", "SCHEMA", *COPIED_FUNCTIONS)
"""Names that a reward file already has."""


def reward_text(
    name: str,
    tasks: Sequence[StartingTask],
    log: str,
    total: int,
    columns: Collection[str],
) -> str:
    """Write the reward file for these tasks.

    Args:
        name: Name of the reward.
        tasks: The tasks; each gets a reward.
        log: Path of the log, as written in the file.
        total: Number of rows in the log, from which the tasks are sampled.
        columns: Names of the log's columns, which fields and components must not have.
    """
    names = ("prediction", "marked", "truth", "values", "correct")
    variables = _choose_variables(tasks)
    path = code_of(log)[1:-1]
    return render(
        "reward.py",
        name=name,
        tasks=list(zip(tasks, variables, strict=True)),
        total=total,
        log=path.replace("\\", "/").replace('"', "'"),
        functions=COPIED_FUNCTIONS,
        names={part: free_name(part, columns) for part in names},
    )


def render(template: str, **values: Any) -> str:
    """Render a template without escaping; it writes texts of the log by `code_of`."""
    environment = templates("rewardkit.starting")
    environment.filters |= {
        "code": code_of,
        "comment": comment,
        "filled": _wrap,
        "percent": percent,
    }
    environment.globals["counted"] = counted
    return environment.get_template(f"{template}.jinja").render(values)


def _choose_variables(tasks: Sequence[StartingTask]) -> list[str]:
    """Return the variable of each task's reward in the file."""
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
    """Return a text as lines of a comment; each "Decide:" begins a new line."""
    mark = " " * indent + "# "
    paragraphs = text.strip().replace(" Decide:", "\nDecide:").split("\n")
    wrapped = [_wrap(paragraph, LINE_WIDTH - len(mark)) for paragraph in paragraphs]
    return "".join(f"{textwrap.indent(lines, mark)}\n" for lines in wrapped)


def _wrap(text: str, width: int = LINE_WIDTH) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)
