"""`%%reward`: save a cell as a reward file, try it, and report what changed."""

from __future__ import annotations

import math
import os
import shlex
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import (
    MagicArgumentParser,
    argument,
    magic_arguments,
)

from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.history.keep import keep
from rewardkit.history.runs_folder import KEPT_RUNS
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.reward_file import (
    CellOutcome,
    RewardCell,
    SavedReward,
    describe_changes,
)
from rewardkit.plain import Plain, Record
from rewardkit.probes.options import CALL_TIMEOUT
from rewardkit.probes.probe import probe
from rewardkit.reasons import ReasonCode
from rewardkit.rewards.load import forget_beside, hides_module
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.paths import write_content
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case, load_cases
from rewardkit.scoring.check import check, components_of
from rewardkit.scoring.deadlines import cannot_limit
from rewardkit.scoring.prints import caught_prints
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores
from rewardkit.targets.load import load_reward

ROWS_FOR_CONTRACT = 10
"""Rows on which the contract is tried. Our choice: a cell takes a second or two."""

CONTRACT_SECONDS = 20.0
"""Budget for the contract. Our choice, for a slow reward."""

LATE_CALLS_IN_CELL = 2
"""Late calls after which a component is no longer called. Our choice."""

VARIABLES = ("rollouts", "logged")
"""Variables with the rollouts to use by default."""
ROLLOUT_TYPES = Rollouts | Scores | pd.DataFrame

USAGE = (
    "write %%reward PATH.py [--rollouts NAME] [--name ATTRIBUTE] [--as TRAINER] "
    "[--cases PATH] [--timeout SECONDS] [--keep NOTE] [--force] [--verbose]"
)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%%reward`, unless the shell has it already."""
    if RewardMagics.__name__ not in shell.magics_manager.registry:
        shell.register_magics(RewardMagics(shell))


@magics_class
class RewardMagics(Magics):
    """The magic of one shell, with the last saved version of each file."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.variables: Record = shell.user_ns
        self.saved: dict[Path, SavedReward] = {}

    @magic_arguments()
    @argument("path", help="A Python file, in a folder that is there.")
    @argument(
        "--rollouts",
        metavar="NAME",
        help="A variable with rollouts, or a file or gallery: name.",
    )
    @argument(
        "--name",
        default="",
        metavar="ATTRIBUTE",
        help="What the reward is called in the cell, where that is not plain.",
    )
    @argument(
        "--as",
        dest="as_",
        metavar="TRAINER",
        help="Read it as this trainer's reward function.",
    )
    @argument("--cases", metavar="PATH", help="Cases to check it against.")
    @argument(
        "--timeout",
        type=float,
        default=CALL_TIMEOUT,
        help="Seconds that a call may take; 0: no limit.",
    )
    @argument(
        "--keep",
        metavar="NOTE",
        help="Keep the scoring in the folder runs, with this note.",
    )
    @argument(
        "--force",
        action="store_true",
        help="Replace a file that was changed elsewhere, too.",
    )
    @argument("--verbose", action="store_true", help="Show all of it.")
    @cell_magic
    def reward(self, line: str, cell: str) -> CellOutcome:
        """Save the cell as a reward file, import it, try its contract, and score.

        The body of the cell is the file, byte for byte, so that papermill and the
        command line can use it. If it cannot be imported, the file is not changed.
        Modules beside the file are imported again. The notebook gets `reward` and, with
        a variable `rollouts` or `logged`, `scores`. A cell that is saved again reports
        what changed: lines, definition, rewards. Output of its code is not shown.
        """
        with _in_one_sentence(None):
            options = read_options(self.reward.parser, line)
            path = reward_path(options.path)
            cases = load_cases(options.cases) if options.cases else None
            rollouts, note = choose_rollouts(self.variables, options.rollouts)
            data = cell.encode("utf-8", "surrogatepass")
            on_disk = path.read_bytes() if path.is_file() else None
            before = self.saved.get(path.resolve())
            if before is not None and not options.force:
                _refuse_other_changes(path, on_disk, (None, before.data, data))
        reward_cell = RewardCell(path, cell)
        with _in_one_sentence(reward_cell, f"{path} is not saved: "):
            reward = _save_and_load(path, on_disk, data, options, rollouts)
        saved = SavedReward(data, reward)
        self._remember(path, saved, reward=reward)
        status = f"{path} is unchanged"
        if on_disk is None:
            status = f"{path} is saved, a new file"
        elif on_disk != data:
            status = f"{path} is saved"
        named = f"`reward` is {reward.name!r}"
        outcome = CellOutcome(reward_cell, status, named, is_verbose=options.verbose)
        if rollouts is None:
            outcome = replace(outcome, notes=(note,))
        else:
            status = f"{path} is saved and `reward` is new, but "
            with _in_one_sentence(reward_cell, status):
                outcome = _try(outcome, reward, rollouts, cases, options.timeout)
                if options.keep is not None:
                    outcome = _keep(outcome, options.keep)
            saved = replace(saved, scores=outcome.scores)
            self._remember(path, saved, scores=outcome.scores)
        if before is None or before.data == data:
            return outcome
        return replace(outcome, changes=tuple(describe_changes(before, saved)))

    def _remember(self, path: Path, saved: SavedReward, **variables: Any) -> None:
        self.saved[path.resolve()] = saved
        self.variables.update(variables)


def _keep(outcome: CellOutcome, text: str) -> CellOutcome:
    """Keep the scoring of a cell, with the cases that it was checked against."""
    assert outcome.scores is not None
    run = keep(outcome.scores, note=text)
    if outcome.cases is not None:
        counts = [outcome.cases.passed, len(outcome.cases.cases)]
        run.version.note_figures({"cases": counts})
    sentence = f"kept as {run.name} in {KEPT_RUNS}"
    return replace(outcome, notes=(*outcome.notes, sentence))


class CellError(InputError):
    """An error of a reward cell, shown as one sentence without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


@contextmanager
def _in_one_sentence(cell: RewardCell | None, before: str = "") -> Iterator[None]:
    """Turn an InputError into a `CellError` with one sentence."""
    try:
        yield
    except InputError as error:
        sentence = one_line(error, 1000)
        if cell is not None:
            sentence = cell.point_to_lines(sentence)
        raise CellError(before + sentence) from None


# --- inputs of the cell


def read_options(parser: MagicArgumentParser, line: str) -> Namespace:
    """Read the options on a magic's line.

    Raises:
        InputError: they cannot be read; the message has the usage.
    """
    try:
        words = shlex.split(line, posix=os.name != "nt")
        options: Namespace = parser.parse_args(words)
    except (UsageError, ValueError) as error:
        raise InputError(f"{error}; {USAGE}") from None
    if not 0 <= options.timeout < math.inf:
        raise InputError(
            f"--timeout {options.timeout} is no time; give seconds, or 0 for no limit"
        )
    return options


def reward_path(text: str) -> Path:
    """Return the path of a Python file in an existing folder.

    Raises:
        InputError: no such path, or the file would hide another module.
    """
    path = Path(os.path.expanduser(text))
    if path.suffix != ".py" or path.is_dir():
        raise InputError(f"{text!r} is no Python file; give a path that ends in .py")
    if not path.parent.is_dir():
        raise InputError(
            f"there is no folder {str(path.parent)!r}; make it, or give another path"
        )
    if hides_module(path):
        raise InputError(
            f"{path.stem!r} is the name of a module, which {path.name} would hide from "
            f"Python in its folder; take another, such as {path.stem}_reward.py"
        )
    return path


def choose_rollouts(variables: Plain, name: str | None) -> tuple[Rollouts | None, str]:
    """Return the rollouts of a variable or file, or None and the reason."""
    tables = [key for key in variables if isinstance(variables[key], ROLLOUT_TYPES)]
    if not name:
        usual = [key for key in VARIABLES if key in tables]
        if not usual:
            return (
                None,
                "not scored, as there is no variable `rollouts`: make it, or give "
                "--rollouts NAME",
            )
        name = usual[0]
    source = variables.get(name, name)
    if isinstance(source, Rollouts):
        return source, ""
    if isinstance(source, Scores):
        return source.rollouts, ""
    if not isinstance(source, str | Path | pd.DataFrame):
        hint = "give Rollouts, a DataFrame, Scores, or a path"
        raise InputError(f"--rollouts {name} is {preview(source)}; {hint}")
    if name not in variables and ":" not in name and not Path(name).exists():
        near = did_you_mean(name, tables)
        raise InputError(
            f"there is no variable and no file {name!r} to take rollouts from{near}"
        )
    return load_rollouts(source), ""


# --- save, load and try


def _refuse_other_changes(
    path: Path, on_disk: bytes | None, expected: Sequence[bytes | None]
) -> None:
    """Raise an InputError if another program has changed the file."""
    if on_disk not in expected:
        raise InputError(
            f"{path} was changed outside of this notebook since it was saved "
            "here, and is not overwritten; take what is to stay into the cell, "
            "or add --force"
        )


def _save_and_load(
    path: Path,
    on_disk: bytes | None,
    data: bytes,
    options: Namespace,
    rollouts: Rollouts | None,
) -> Reward:
    """Save the file with this content, import it, and return its reward.

    If it cannot be imported, the file gets its old content back. Raises the errors of
    `load_reward`.
    """
    file = path.resolve()
    if on_disk != data:
        write_content(file, data)
    forget_beside(file)
    name = f"{path}:{options.name}"
    seconds = options.timeout or None
    try:
        with caught_prints():
            return load_reward(
                name, as_=options.as_, rollouts=rollouts, timeout=seconds
            )
    except BaseException:  # an interrupt, too
        if on_disk is None:
            file.unlink()
        elif on_disk != data:
            write_content(file, on_disk)
        raise


def _try(
    outcome: CellOutcome,
    reward: Reward,
    rollouts: Rollouts,
    cases: Sequence[Case] | None,
    timeout: float,
) -> CellOutcome:
    """Try the reward of a cell: its contract, scores and cases."""
    notes = [reward.origin] if reward.origin else []
    limit = timeout or None
    reason = cannot_limit(reward.functions) if timeout else None
    if reason:
        limit = None
        notes.append(f"no time limit: {one_line(reason)}")
    contract = checked = None
    with caught_prints():
        scores = score(reward, rollouts, timeout=limit, patience=LATE_CALLS_IN_CELL)
        if _has_late_calls(scores):
            notes.append("contract and cases are not tried, as calls take too long")
        else:
            count = min(ROWS_FOR_CONTRACT, len(rollouts))
            first = rollouts.select(range(count))
            options: Record = {"timeout": limit, "budget": CONTRACT_SECONDS}
            contract = probe(reward, first, only="contract", search=0, **options)
            if cases:
                ignored = components_of(cases)  # the reward may lack some of them
                try:
                    checked = check(reward, cases, ignore=ignored, timeout=limit)
                except InputError as error:
                    notes.append(f"the cases are not checked: {one_line(error)}")
            if np.isnan(scores.rewards[:ROWS_FOR_CONTRACT]).all():
                few = f"none of the first {len(first)} rollouts is judged"
                notes.append(f"the contract says little, as {few}")
    return replace(
        outcome,
        variables=f"{outcome.variables}; `scores` are of {len(scores):,} rollouts",
        notes=tuple(notes),
        contract=contract,
        scores=scores,
        cases=checked,
    )


def _has_late_calls(scores: Scores) -> bool:
    for name in scores.reward.names:
        for reason in scores.reasons(name):
            if reason is not None and reason.code is ReasonCode.LATE:
                return True
    return False
