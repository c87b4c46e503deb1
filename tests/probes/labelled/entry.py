"""Entry: a reward, its log, and what a checker should say of the two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import rewardkit as rk
from rewardkit.scoring.deadlines import CannotLimit, TimeLimit

from .drawing import Drawn, Log, Task

__all__ = ["QUESTIONS", "Entry"]

QUESTIONS = ("gaming", "near_miss", "loss", "contract", "floor")


@dataclass(frozen=True, eq=False)
class Entry:
    """One labelled reward.

    `reward` is its place in this folder, "file.py:name". A faulty one says its `fault`, the `questions` under
    which a finding of severity warn or high counts as a hit, and the `component` at fault where there are
    several; of a healthy one no such finding is expected. `exploit` makes the completion of a task that
    proves the fault: on average it earns at least the share `earns` of full marks. Where the fault is a loss
    it is a right completion, and earns at most that share. `twin` names the healthy reward over the same log
    that judges this completion rightly.
    """

    name: str
    style: str
    reward: str
    log: Log
    fault: str = ""
    questions: frozenset[str] = field(default_factory=frozenset)
    exploit: Callable[[Task], str] | None = None
    earns: float = 1.0
    twin: str = ""
    component: str = ""

    @property
    def healthy(self) -> bool:
        """Whether no finding is expected."""
        return not self.questions

    @property
    def loses(self) -> bool:
        """Whether the fault is that right completions lose."""
        return self.questions == {"loss"}

    @property
    def label(self) -> str | None:
        """The column that says which rows are right, where the log has one."""
        return self.log.label or None

    def load(self) -> rk.Reward:
        """The reward as `rk.load_reward` reads it, recognised by rows of its log."""
        place = str(Path(__file__).parent / self.reward)
        with patch.object(TimeLimit, "run", side_effect=CannotLimit("no worker is started to recognise it")):
            return rk.load_reward(place, rollouts=rk.load_rollouts(self.log.rows()))

    def right(self) -> list[bool | None]:
        """Which rows are right; None for a right answer outside of its mark."""
        return [one.right for one in self.log.drawn()]

    def rows(self) -> list[dict[str, Any]]:
        """The log as its trainer writes it, with the scores of this reward; other columns stand in `data`."""
        log = self.log
        if log.trainer == "plain":
            return log.rows()
        reward = self.load()
        table = rk.score(reward, rk.load_rollouts(log.rows()), timeout=None).table
        scores = {name: table[f"score/{name}"] for name in reward.names}
        if log.trainer == "verl":
            scores = {"score": table["reward"], **(scores if len(scores) > 1 else {})}
        else:
            scores["advantage"] = _advantages(table["reward"].to_numpy(), log.drawn())
        scores = {name: np.float32(values).tolist() for name, values in scores.items()}
        logged = [{name: row[name] for name in log.logged} for row in log.rows()]
        return [row | {name: scores[name][at] for name in scores} for at, row in enumerate(logged)]

    def data(self) -> list[dict[str, Any]] | None:
        """The data set of the run, which is to be joined; None where the log has it all."""
        return None if self.log.trainer == "plain" else [self.log.example(task) for task in self.log.tasks]

    def rollouts(self) -> rk.Rollouts:
        """The log, read, and joined with its data set."""
        return rk.load_rollouts(self.rows(), join=self.data())


def _advantages(rewards: np.ndarray, drawn: list[Drawn]) -> np.ndarray:
    """Rewards against their siblings', as GRPO has them."""
    groups = np.array([one.group for one in drawn])
    found = np.zeros(len(rewards))
    for group in set(groups.tolist()):
        own = rewards[groups == group]
        found[groups == group] = (own - own.mean()) / (own.std(ddof=1) + 1e-4)
    return found
