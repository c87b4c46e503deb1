"""Entry: a reward, its log, and what a checker should say of the two."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import rewardkit as rk
from rewardkit.scoring.deadlines import CannotLimit, TimeLimit

from .drawing import Drawn, Log, Task, logs

QUESTIONS = ("gaming", "near_miss", "loss", "contract", "floor", "signal")
FILLER = (
    "I look at this part once more, and it is as I had it before, so I go on from here. "
    * 5
)
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """What is wrong with a reward.

    `questions` are those under which a finding of severity warn or high counts as a hit ("signal": one of
    `diagnose` on the scored log), `component` the one at fault where there are several. `exploit` is the
    completion that proves the fault, with places for what a task holds and for `filler` of 400 characters
    (without it, tasks hold theirs): on average it earns at least the share `earns` of full marks. Where the
    fault is a loss it is a right completion, and earns at most that share. `missed` says why
    the probes do not find it, where they do not. `codes` are the findings of `findings.toml` that are a right
    name for the fault, where the label is as strict as that; none of the others is.
    """

    questions: list[str]
    sentence: str
    exploit: str = ""
    earns: float = 1.0
    component: str = ""
    missed: str = ""
    codes: list[str] = field(default_factory=list)

    @property
    def loses(self) -> bool:
        """Whether right completions lose."""
        return "loss" in self.questions and {*self.questions} <= {"loss", "signal"}


@dataclass(frozen=True, eq=False)
class Entry:
    """One labelled reward: `name` in the rewards of its log's trainer.

    Of a healthy one (no `fault`) no finding of severity warn or high is expected. `twin` is the healthy reward
    over the same log, which judges the exploit of a faulty one rightly.
    """

    name: str
    log: Log
    fault: Fault | None = None
    twin: "Entry | None" = None

    def exploit(self, task: Task) -> str:
        """The completion that proves the fault."""
        return (
            self.fault.exploit.format(filler=FILLER, **vars(task))
            if self.fault.exploit
            else task.exploits[self.name]
        )

    @property
    def label(self) -> str | None:
        """The column that says which rows are right, where the log has one."""
        return self.log.label or None

    @property
    def of_signal(self) -> bool:
        """Whether what `diagnose` says counts, too: a reward of its log has a fault that statistics show."""
        return any("signal" in told["questions"] for told in self.log.faults.values())

    @cached_property
    def loaded(self) -> rk.Reward:
        """The reward that makes the scores of its log."""
        return self.load()

    def load(self) -> rk.Reward:
        """The reward as `rk.load_reward` reads it, recognised by rows of its log."""
        module = self.log.module or self.log.trainer
        if self.log.held_back:
            module = f"held_back_{module}"
        place = f"{FOLDER}/{module}_rewards.py:{self.name}"
        with patch.object(
            TimeLimit,
            "run",
            side_effect=CannotLimit("no worker is started to recognise it"),
        ):
            return rk.load_reward(place, rollouts=rk.load_rollouts(self.log.rows()))

    def right(self) -> list[bool | None]:
        """Which rows are right; None for a right answer outside of its mark."""
        return [one.right for one in self.log.drawn]

    def rows(self) -> list[dict[str, Any]]:
        """The log as its trainer writes it, with the scores of this reward; other columns stand in `data`."""
        log = self.log
        if log.trainer == "plain":
            return log.rows()
        reward = self.loaded
        table = rk.score(reward, rk.load_rollouts(log.rows()), timeout=None).table
        scores = {name: table[f"score/{name}"] for name in reward.names}
        if log.trainer == "verl":
            scores = {"score": table["reward"], **(scores if len(scores) > 1 else {})}
        else:
            scores["advantage"] = _advantages(table["reward"].to_numpy(), log.drawn)
        scores = {name: np.float32(values).tolist() for name, values in scores.items()}
        logged = [{name: row[name] for name in log.logged} for row in log.rows()]
        return [
            row | {name: scores[name][at] for name in scores}
            for at, row in enumerate(logged)
        ]

    def data(self) -> list[dict[str, Any]] | None:
        """The data set of the run, which is to be joined; None where the log has it all."""
        return (
            None
            if self.log.trainer == "plain"
            else [self.log.example(task) for task in self.log.tasks]
        )

    def rollouts(self) -> rk.Rollouts:
        """The log, read, and joined with its data set."""
        return rk.load_rollouts(self.rows(), join=self.data())


def entries(subject: str) -> Iterator[Entry]:
    """The rewards over each log of a subject."""
    for log in logs(subject):
        sound = [Entry(name, log) for name in log.sound]
        yield from sound
        for name, told in log.faults.items():
            yield Entry(name, log, Fault(**told), sound[0])


def _advantages(rewards: np.ndarray, drawn: list[Drawn]) -> np.ndarray:
    """Rewards against their siblings', as GRPO has them."""
    groups = np.array([one.group for one in drawn])
    found = np.zeros(len(rewards))
    for group in set(groups.tolist()):
        own = rewards[groups == group]
        found[groups == group] = (own - own.mean()) / (own.std(ddof=1) + 1e-4)
    return found
