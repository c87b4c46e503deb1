"""`%load_ext rewardkit`: `%%reward` makes a cell a reward file, tries it, and says what changed."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from rewardkit.errors import InputError
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.reward_cell.errors import (
    CellError,
    asking_place,
    component_errors,
    explained,
)
from rewardkit.notebook.reward_cell.inputs import chosen_rollouts, encoded, options, reward_path
from rewardkit.notebook.reward_cell.written import Saved, Written, changes
from rewardkit.probes.probe import TIMEOUT, probe
from rewardkit.rewards.load import forget_beside
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.write import write_whole
from rewardkit.scoring.calls import LATE
from rewardkit.scoring.cases import Case, check, load_cases
from rewardkit.scoring.deadlines import cannot_limit
from rewardkit.scoring.printed import caught_prints
from rewardkit.scoring.score import score
from rewardkit.targets.load import load_reward

__all__ = ["RewardMagics", "load_ipython_extension"]

ROWS = 10
"""On which the contract is tried. Our choice: a cell is to answer in a second or two."""

CONTRACT_SECONDS = 20.0
"""For the contract at the most. Our choice, for a slow reward."""

PATIENCE = 2
"""Late calls of one component, after which its others are not made. Our choice: a cell is to come back."""


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give the shell `%%reward`; one that it has already stays, with what it saved."""
    if RewardMagics.__name__ not in shell.magics_manager.registry:
        shell.register_magics(RewardMagics(shell))


@magics_class
class RewardMagics(Magics):
    """The magic of one shell, and the files as it saved them last, in memory."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.variables: dict[str, Any] = shell.user_ns
        self.saved: dict[Path, Saved] = {}

    @magic_arguments()
    @argument("path", help="A Python file, in a folder that is there.")
    @argument("--rollouts", metavar="NAME", help="A variable with rollouts, or a file or gallery: name.")
    @argument("--name", default="reward", metavar="ATTRIBUTE", help="What the reward is called in the cell.")
    @argument("--as", dest="as_", metavar="TRAINER", help="Read it as this trainer's reward function.")
    @argument("--cases", metavar="PATH", help="Cases to check it against.")
    @argument("--timeout", type=float, default=TIMEOUT, help="Seconds that a call may take; 0: no limit.")
    @argument("--force", action="store_true", help="Replace a file that was changed elsewhere, too.")
    @cell_magic
    def reward(self, line: str, cell: str) -> Written:
        """Save the cell as a reward file, import it fresh, try its contract, score the notebook's rollouts.

        The body of the cell is the file, byte for byte, for papermill and the command line to use. Where it
        cannot be imported the file stays as it was. Modules beside the file are imported anew, too. The
        notebook gets `reward` and, of the variable `rollouts` or `logged`, `scores`. Saved again, it says
        what changed: lines, definition, rewards. What the cell's code prints is not shown.
        """
        with _as_cell_errors():
            given = options(self.reward.parser, line)
            path, data = reward_path(given.path), encoded(cell)
            cases = load_cases(given.cases) if given.cases else None
            rollouts, why = chosen_rollouts(self.variables, given.rollouts)
            found = path.read_bytes() if path.is_file() else None
            before = self.saved.get(path.resolve())
            if before and not given.force and found not in (None, before.data, data):
                raise InputError(
                    f"{path} was changed outside of this notebook since it was saved here, and is not "
                    "overwritten; take what is to stay into the cell, or add --force"
                )
            reward = _saved_and_loaded(path, found, data, given, rollouts)
        self._remember(path, Saved(data, reward), reward=reward)
        written = Written(_told(path, found, data), f"`reward` is {reward.name!r}")
        if rollouts is None:
            return replace(written, notes=(why,))
        place = asking_place(reward, rollouts.as_logged(), cell, str(path.resolve()))
        with _as_cell_errors(f"{given.path} is saved and `reward` is new, but ", place):
            written = _tried(written, reward, rollouts, cases, cell, path, given.timeout)
        after = Saved(data, reward, written.scores)
        self._remember(path, after, scores=written.scores)
        moved = tuple(changes(before, after)) if before and before.data != data else ()
        return replace(written, changes=moved)

    def _remember(self, path: Path, saved: Saved, **names: Any) -> None:
        self.saved[path.resolve()] = saved
        self.variables.update(names)


@contextmanager
def _as_cell_errors(before: str = "", place: str = "") -> Iterator[None]:
    """Let what cannot be used be said in one sentence that ends the cell."""
    try:
        yield
    except CellError:
        raise
    except InputError as error:
        raise CellError(before + one_line(error, 1000) + (f"\n{place}" if place else "")) from None


# --- the file


def _saved_and_loaded(
    path: Path, found: bytes | None, data: bytes, given: Namespace, rollouts: Rollouts | None
) -> Reward:
    """The reward of the file with this content, imported fresh.

    CellError: it cannot be, and the file is what was `found` again.
    """
    file, source = path.resolve(), data.decode()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are shown when it is imported
            compile(data, str(file), "exec", dont_inherit=True)
        if found != data:
            write_whole(file, lambda part: part.write_bytes(data))
        forget_beside(file)
        with caught_prints():
            name = f"{path}:{given.name}"
            seconds = given.timeout or None
            return load_reward(name, as_=given.as_, rollouts=rollouts, timeout=seconds)
    except BaseException as error:  # an interrupt, too
        _put_back(file, found, data)
        became = "was saved before and cannot be used" if found == data else "is not saved"
        said = explained(error, source, str(file)) + _hint(error, given.name)
        raise CellError(f"{given.path} {became}: {said}") from None


def _put_back(file: Path, found: bytes | None, data: bytes) -> None:
    if found == data or not file.is_file() or file.read_bytes() != data:
        return
    if found is None:
        file.unlink()
    else:
        write_whole(file, lambda part: part.write_bytes(found))


def _hint(error: BaseException, name: str) -> str:
    """What to do where the file has no reward of the name."""
    if not isinstance(error, InputError) or f" has no {name!r}" not in str(error):
        return ""
    nothing = "no reward and no function" in str(error)
    return "; make one, reward = rk.Reward(...)" if nothing else "; name the one that is meant with --name"


# --- what it does


def _tried(
    written: Written,
    reward: Reward,
    rollouts: Rollouts,
    cases: Sequence[Case] | None,
    cell: str,
    path: Path,
    timeout: float,
) -> Written:
    """What became of a cell, with its contract, scores and cases."""
    why = cannot_limit(reward.functions) if timeout else None
    limit = None if why else timeout or None
    first = rollouts.select(range(min(ROWS, len(rollouts))))
    notes = [reward.origin] if reward.origin else []
    notes += [f"no time limit: {one_line(why)}"] if why else []
    contract = checked = None
    with caught_prints():
        scores = score(reward, rollouts, timeout=limit, patience=PATIENCE)
        errors = component_errors(scores, cell, str(path.resolve()), timeout=limit)
        if any(LATE in item.reason for item in errors):
            notes.append("contract and cases are not tried, as calls take too long")
        else:
            options: dict[str, Any] = {"timeout": limit, "budget": CONTRACT_SECONDS}
            contract = probe(reward, first, only="contract", search=0, **options)
            checked = None if cases is None else check(reward, cases, timeout=limit)
            if np.isnan(scores.rewards[:ROWS]).all():
                few = f"none of the first {len(first)} rollouts is judged"
                notes.append(f"the contract says little, as {few}")
    made = f"{written.made}; `scores` are of {len(scores):,} rollouts"
    said: dict[str, Any] = {"notes": tuple(notes), "scores": scores, "errors": errors}
    return replace(written, made=made, contract=contract, cases=checked, **said)


def _told(path: Path, found: bytes | None, data: bytes) -> str:
    """Where a cell was saved."""
    if found == data:
        return f"{path} is unchanged"
    return f"{path} is saved" + (", a new file" if found is None else "")
