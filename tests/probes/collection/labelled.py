"""A label: a reward of this folder, its rollouts, and what a checker should say of the two."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rewardkit as rk

from . import data

__all__ = ["FAMILIES", "Labelled", "show"]

FAMILIES = (
    "calibration",
    "nothing_there",
    "shotgun",
    "near_misses",
    "special_values",
    "equivalents",
    "look_alikes",
    "padding",
    "judge",
    "contract",
    "hang",
)


def show(completion: str, ground_truth: Any = None, expected: str | float = "high", **columns: Any) -> dict:
    """One completion and what the reward says of it; columns that are not given are the first rollout's.

    "high" is half of the ceiling (what the best of its rollouts earns) or more, "low" less than that; "error"
    and "none": a component ends as an error, or abstains; "hang": it does not end; a number is that reward.
    """
    truth = {} if ground_truth is None else {"ground_truth": ground_truth}
    return {"completion": completion, **truth, **columns, "expected": expected}


def conduct(expected: str) -> dict:
    """What shows on the rollouts as a whole and not on one completion.

    "arguments" changed, depends on "order" or "siblings", holds a "state", "random", cannot be sent
    ("pickle").
    """
    return {"expected": expected}


@dataclass(frozen=True, eq=False)
class Labelled:
    """One reward and its label.

    `families` are those of which a finding of severity warn or high is expected, one in all; empty for a
    healthy reward, of which none is. More than one family is named where one fault shows in several ways.
    `component` is the one at fault where there are several. `shows` are completions on which it does wrong
    (a healthy reward: judges rightly), as `show` and `conduct` make them.
    """

    name: str
    file: str
    attribute: str
    data: str
    families: tuple[str, ...]
    why: str
    shows: tuple[dict[str, Any], ...]
    component: str = ""
    held_aside: bool = False
    as_: str = ""

    @property
    def path(self) -> Path:
        """The file with the reward."""
        return Path(__file__).with_name(self.file)

    @property
    def place(self) -> str:
        """What `rk.load_reward` and the command line take."""
        return f"{self.path}:{self.attribute}"

    def rollouts(self, seed: int = 0) -> rk.Rollouts:
        """Its rollouts."""
        return getattr(data, self.data)(seed)

    def right(self, seed: int = 0) -> list[bool | None]:
        """Which of them are right; None where that is not for sure."""
        return getattr(data, self.data).right(seed)

    def reward(self, seed: int = 0) -> rk.Reward:
        """The reward, read anew, with its rollouts at hand."""
        return rk.load_reward(self.place, as_=self.as_ or None, rollouts=self.rollouts(seed))
