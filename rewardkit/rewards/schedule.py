"""Schedules: weights that depend on the step of the training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import RewardError, preview
from rewardkit.plain import is_finite_number

BETWEEN = ("linear", "step")


@dataclass(frozen=True, repr=False)
class Schedule:
    """A weight by the step of the training; made by `schedule`.

    `steps` increase; `weights` has the weight at each of them. Before the first step
    the first weight holds, after the last step the last.
    """

    steps: tuple[int, ...]
    weights: tuple[float, ...]
    between: Literal["linear", "step"] = "linear"

    def at(self, step: float) -> float:
        """Return the weight at a step; the first weight if the step is NaN."""
        return float(self.over(np.array([step], dtype=float))[0])

    def over(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight at each of these steps, (rows,)."""
        steps = np.where(np.isnan(steps), self.steps[0], steps)
        if self.between == "linear":
            return np.interp(steps, self.steps, self.weights)
        places = np.searchsorted(self.steps, steps, side="right") - 1
        return np.array(self.weights)[np.maximum(places, 0)]

    @property
    def start(self) -> float:
        """Return the weight before training."""
        return self.weights[0]

    def step_of(self, weight: float) -> int:
        """Return the first step that has this weight."""
        return self.steps[self.weights.index(weight)]

    @property
    def switches(self) -> tuple[int, ...]:
        """Return the steps at which the weight jumps."""
        if self.between == "linear":
            return ()
        jumps = []
        for place in range(1, len(self.steps)):
            if self.weights[place] != self.weights[place - 1]:
                jumps.append(self.steps[place])
        return tuple(jumps)

    def __repr__(self) -> str:
        pairs = dict(zip(self.steps, self.weights, strict=True))
        return f"schedule({pairs}, between={self.between!r})"


def schedule(
    weights: Mapping[int, float], between: Literal["linear", "step"] = "linear"
) -> Schedule:
    """Return a weight that depends on the step of the training.

    Args:
        weights: Step -> the weight there; before the first step the first holds.
        between: "linear" interpolates between the weights, "step" jumps.

    Raises:
        RewardError: No steps, a step that is no whole number from 0 on, a weight that
            is not finite, another `between`.

    >>> schedule({0: 1.0, 500: 0.2}).at(250)
    0.6
    >>> schedule({0: 1.0, 500: 0.2}, between="step").at(499)
    1.0
    """
    if not isinstance(weights, Mapping) or not weights:
        raise RewardError(
            f"schedule({preview(weights)}) has no steps; give a dict of step: weight, "
            "such as {0: 1.0, 500: 0.2}"
        )
    if between not in BETWEEN:
        raise RewardError(
            f"between={preview(between)} is not known; give 'linear' or 'step'"
        )
    for step, weight in weights.items():
        if type(step) is not int or step < 0:
            raise RewardError(
                f"{preview(step)} is no step; give whole numbers from 0 on"
            )
        if not is_finite_number(weight):
            raise RewardError(
                f"the weight {preview(weight)} at step {step} is not a finite number"
            )
    steps = tuple(sorted(weights))
    return Schedule(steps, tuple(float(weights[step]) for step in steps), between)
