"""start(): a reward file, cases and a notebook for a new task, written from a log."""

from __future__ import annotations

import keyword
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.errors import InputError
from rewardkit.plain import PlainRecord
from rewardkit.rewards.load import hides_module
from rewardkit.rewards.save import run_beside
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.rollouts.write import write_whole
from rewardkit.scoring.case_writing import append_cases
from rewardkit.scoring.score import score
from rewardkit.starting.notebooks import notebook_text, seen_from
from rewardkit.starting.reward_file import rendered, reward_text
from rewardkit.starting.stubs import stubs
from rewardkit.starting.task import tasks_of

MEASURED = 2_000
"""Completions that are measured, at the most, and of which the cases are: our choice."""
CHARACTERS = 20_000_000
"""Of them all together, which some ten seconds are enough for: our choice."""


@dataclass(frozen=True)
class Started(PlainRecord):
    """What was written for a new task: three files, from how many completions, and what to do next.

    `text` says it in words, with what was understood of the log.
    """

    name: str
    reward: Path
    cases: Path
    notebook: Path
    stubs: int
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
    """Write `name`.py, `name`_cases.jsonl and `name`.ipynb into the folder, which is made if missing.

    The reward reads answers as the log's completions state them and compares them with its ground_truth;
    without one it pays form and length only, and says so. The cases are up to twenty completions where ways
    to read the answer differ, at thresholds, at the top of the reward, and plain ones, each expecting what
    the reward gives now, with a `why` that begins with "TODO: ". The other arguments are those of
    `load_rollouts`; of a long log up to 2,000 completions are drawn by the `seed`. InputError, and nothing is
    written: a name that no module can have, a file that is there, a log that cannot be read.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = start("sums", "gallery:arithmetic", folder)
    ...     print(made.stubs, sorted(path.name for path in Path(folder).iterdir()))
    20 ['sums.ipynb', 'sums.py', 'sums_cases.jsonl']
    """
    folder = Path(folder)
    reward, cases, notebook = paths = [
        folder / f"{name}{end}" for end in (".py", "_cases.jsonl", ".ipynb")
    ]
    _check_name(name, paths)
    names = [group] if isinstance(group, str) else group
    reading: dict[str, Any] = {
        "columns": columns,
        "group": names,
        "join": join,
        "on": on,
        "fill": fill,
    }
    rollouts, source = load_rollouts(log, **reading), seen_from(folder, log)
    sample = _sample(rollouts, seed)
    tasks = tasks_of(sample)
    text = reward_text(name, tasks, source, len(rollouts))
    with tempfile.TemporaryDirectory() as place:
        trial = Path(place) / cases.name
        with run_beside(Path(place) / reward.name, text, "the new reward") as module:
            count = append_cases(trial, stubs(tasks, score(module.reward, sample)))
        seen = {**reading, "rollouts": source, "join": join and seen_from(folder, join)}
        blank = rendered("task.ipynb", name=name)
        filled = notebook_text(
            blank, {name: value for name, value in seen.items() if value}
        )
        contents = [text.encode(), trial.read_bytes(), filled.encode()]
    _put(folder, dict(zip(paths, contents, strict=True)))
    lines = _next(reward, cases, notebook, log, reading)
    made = Started(
        name, reward, cases, notebook, count, len(sample), len(rollouts), lines
    )
    parts = list(zip(tasks, module.reward.branches, strict=True))
    return replace(
        made,
        text=rendered("started.txt", **vars(made), log=log, tasks=parts).rstrip("\n"),
    )


def _check_name(name: str, paths: Sequence[Path]) -> None:
    """Raise an InputError where no module can have the name, or would hide another, or a file is there."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(
            f"{name!r} cannot be the name of a Python file to import; take letters, digits and underscores, "
            "not a digit first, such as countdown"
        )
    if taken := next((path for path in paths if os.path.lexists(path)), None):
        raise InputError(
            f"{str(taken)!r} is there, and is not written over; take another name or another folder, or move "
            "it away"
        )
    if hides_module(paths[0]):
        raise InputError(
            f"{name!r} is the name of a module, which {name}.py would hide from Python in its folder; take "
            f"another, such as {name}_task"
        )


def _sample(rollouts: Rollouts, seed: int) -> Rollouts:
    """The rollouts that are measured, in their order: at least one, drawn where they are many or long."""
    drawn = np.random.default_rng(seed).permutation(len(rollouts))[:MEASURED]
    lengths = (
        rollouts.table["completion"].str.len().to_numpy(dtype=float)[drawn].cumsum()
    )
    drawn = drawn[: max(1, int(np.searchsorted(lengths, CHARACTERS, side="right")))]
    return (
        rollouts
        if len(drawn) == len(rollouts)
        else rollouts.select(np.sort(drawn).tolist())
    )


def _put(folder: Path, contents: Mapping[Path, bytes]) -> None:
    """Write the files, all or none; InputError where the folder takes none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            write_whole(path, partial(Path.write_bytes, data=content))
    except OSError as error:
        for path in filter(os.path.lexists, contents):  # none was there before
            path.unlink()
        raise InputError(
            f"nothing can be written to {str(folder)!r} ({error.strerror}); give a folder where you may write"
        ) from None


def _next(
    reward: Path, cases: Path, notebook: Path, log: Any, reading: Mapping[str, Any]
) -> tuple[str, ...]:
    """The commands that a person runs next."""
    options = [
        f"--column={name}={source}"
        for name, source in (reading["columns"] or {}).items()
    ]
    options += [
        f"--set={name}={value}" for name, value in (reading["fill"] or {}).items()
    ]
    options += [f"--group={name}" for name in reading["group"] or ()]
    options += [
        f"--{name}={reading[name]}"
        for name in ("join", "on")
        if reading["join"] is not None
    ]
    check = ["rewardkit", "check", str(reward), str(cases)]
    probe = [
        "rewardkit",
        "probe",
        str(reward),
        str(log),
        "--cases",
        str(cases),
        *options,
    ]
    return tuple(map(shlex.join, (["jupyter", "lab", str(notebook)], check, probe)))
