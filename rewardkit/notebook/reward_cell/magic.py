"""`%%reward`: save a cell as a reward file, try it, and say what changed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from rewardkit.errors import InputError
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.reward_cell.inputs import chosen_rollouts, options, reward_path
from rewardkit.notebook.reward_cell.written import Cell, Saved, Written, changes
from rewardkit.probes.options import TIMEOUT
from rewardkit.probes.probe import probe
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.load import forget_beside
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.paths import write_whole
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case, check, components_of, load_cases
from rewardkit.scoring.deadlines import cannot_limit
from rewardkit.scoring.printed import caught_prints
from rewardkit.scoring.score import score
from rewardkit.targets.load import load_reward

CONTRACT_ROWS = 10
"""Rows for the contract. Our choice: a cell is to answer in a second or two."""

CONTRACT_SECONDS = 20.0
"""For the contract at the most. Our choice, for a slow reward."""

MOST_LATE_CALLS = 2
"""Late calls of one component, after which it is not called. Our choice."""


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
    @argument(
        "--rollouts",
        metavar="NAME",
        help="A variable with rollouts, or a file or gallery: name.",
    )
    @argument(
        "--name",
        default="reward",
        metavar="ATTRIBUTE",
        help="What the reward is called in the cell.",
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
        default=TIMEOUT,
        help="Seconds that a call may take; 0: no limit.",
    )
    @argument(
        "--force",
        action="store_true",
        help="Replace a file that was changed elsewhere, too.",
    )
    @cell_magic
    def reward(self, line: str, cell: str) -> Written:
        """Save the cell as a reward file, import it, try its contract, and score.

        The body of the cell is the file, byte for byte, for papermill and the command
        line to use. Where it cannot be imported the file stays as it was. Modules
        beside the file are imported anew, too. The notebook gets `reward` and, of the
        variable `rollouts` or `logged`, `scores`. Saved again, it says what changed:
        lines, definition, rewards. What the cell's code prints is not shown.
        """
        with _sentences(None):
            given = options(self.reward.parser, line)
            path = reward_path(given.path)
            cases = load_cases(given.cases) if given.cases else None
            rollouts, why = chosen_rollouts(self.variables, given.rollouts)
            data, found = (
                cell.encode("utf-8", "surrogatepass"),
                path.read_bytes() if path.is_file() else None,
            )
            before = self.saved.get(path.resolve())
            if before and not given.force and found not in (None, before.data, data):
                raise InputError(
                    f"{path} was changed outside of this notebook since it was saved "
                    "here, and is not overwritten; take what is to stay into the cell, "
                    "or add --force"
                )
        of_cell = Cell(path, cell)
        with _sentences(of_cell, f"{path} is not saved: "):
            reward = _saved_and_loaded(path, found, data, given, rollouts)
        self._remember(path, Saved(data, reward), reward=reward)
        became = (
            "is unchanged"
            if found == data
            else "is saved" + ", a new file" * (found is None)
        )
        written = Written(of_cell, f"{path} {became}", f"`reward` is {reward.name!r}")
        if rollouts is None:
            written = replace(written, notes=(why,))
        else:
            with _sentences(of_cell, f"{path} is saved and `reward` is new, but "):
                written = _tried(written, reward, rollouts, cases, given.timeout)
            self._remember(
                path, Saved(data, reward, written.scores), scores=written.scores
            )
        if before is None or before.data == data:
            return written
        return replace(
            written, changes=tuple(changes(before, self.saved[path.resolve()]))
        )

    def _remember(self, path: Path, saved: Saved, **names: Any) -> None:
        self.saved[path.resolve()] = saved
        self.variables.update(names)


class CellError(InputError):
    """What stops a reward cell, as a sentence: no traceback is shown."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


@contextmanager
def _sentences(cell: Cell | None, before: str = "") -> Iterator[None]:
    """Let what cannot be used be said in one sentence that ends the cell."""
    try:
        yield
    except InputError as error:
        said = one_line(error, 1000)
        raise CellError(before + (cell.placed(said) if cell else said)) from None


def _saved_and_loaded(
    path: Path,
    found: bytes | None,
    data: bytes,
    given: Namespace,
    rollouts: Rollouts | None,
) -> Reward:
    """Save the file with this content, and return its reward, imported fresh.

    Where it cannot be the file is what was `found` again. Errors as of `load_reward`.
    """
    file = path.resolve()
    if found != data:
        write_whole(file, lambda part: part.write_bytes(data))
    forget_beside(file)
    try:
        with caught_prints():
            name, seconds = f"{path}:{given.name}", given.timeout or None
            return load_reward(name, as_=given.as_, rollouts=rollouts, timeout=seconds)
    except BaseException:  # an interrupt, too
        if found is None:
            file.unlink()
        elif found != data:
            write_whole(file, lambda part: part.write_bytes(found))
        raise


def _is_late(reason: Reason | None) -> bool:
    return reason is not None and reason.code is ReasonCode.LATE


def _tried(
    written: Written,
    reward: Reward,
    rollouts: Rollouts,
    cases: Sequence[Case] | None,
    timeout: float,
) -> Written:
    """Try the reward of a cell: its contract, scores and cases."""
    why = cannot_limit(reward.functions) if timeout else None
    limit = None if why else timeout or None
    first = rollouts.select(range(min(CONTRACT_ROWS, len(rollouts))))
    notes = [reward.origin] if reward.origin else []
    notes += [f"no time limit: {one_line(why)}"] if why else []
    contract = checked = None
    ignored = components_of(cases or ())  # where this reward has no such one
    with caught_prints():
        scores = score(reward, rollouts, timeout=limit, patience=MOST_LATE_CALLS)
        if any(map(_is_late, chain.from_iterable(map(scores.reasons, reward.names)))):
            notes.append("contract and cases are not tried, as calls take too long")
        else:
            options: dict[str, Any] = {"timeout": limit, "budget": CONTRACT_SECONDS}
            contract = probe(reward, first, only="contract", search=0, **options)
            try:
                checked = (
                    check(reward, cases, ignore=ignored, timeout=limit)
                    if cases
                    else None
                )
            except InputError as error:
                notes.append(f"the cases are not checked: {one_line(error)}")
            if np.isnan(scores.rewards[:CONTRACT_ROWS]).all():
                few = f"none of the first {len(first)} rollouts is judged"
                notes.append(f"the contract says little, as {few}")
    made = f"{written.made}; `scores` are of {len(scores):,} rollouts"
    return replace(
        written,
        made=made,
        notes=tuple(notes),
        scores=scores,
        contract=contract,
        cases=checked,
    )
