"""What right and wrong completions of a subject earn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.answers.formats import Format
from rewardkit.probes.runner import RowOutcome
from rewardkit.strategies.subject import Row, Subject


@dataclass(frozen=True)
class Scale:
    """What completions of a subject earn.

    `right` and `wrong` are in the same form; `plain` is a wrong answer in no form at
    all, `bare` the right one in none, `floor` the least seen.
    """

    right: float
    wrong: float
    plain: float
    floor: float
    bare: float = 0.0

    @property
    def span(self) -> float:
        """Return what being right adds."""
        return self.right - self.wrong

    def gain(self, reward: float) -> float:
        """Return a reward as a share of what being right adds.

        That is 0 for the plain wrong answer, 1 for the right one.
        """
        return (reward - self.wrong) / self.span


@dataclass(frozen=True)
class LeftOut:
    """A prompt on which right and wrong earn alike; others in its format differ."""

    subject: Subject
    right: float
    wrong: float


@dataclass(frozen=True)
class Calibration:
    """The subjects that right and wrong answers are told apart on, with their scales.

    `pool` are rollouts with what they earned. `modes` says of each part:

    - "truth": answers are held against the truth;
    - "no truth": the reward does not ask for it, or the rollouts have none;
    - "deaf": the reward asks for it and pays right and wrong alike;
    - "inverted": wrong answers earn more;
    - "unknown": no right answer is paid more than a wrong one; `why` says what would
      decide;
    - "slow": the budget was over before that;
    - "constant": all completions earn the same; `constants` has what, and how many.

    `labelled` has, of prompts with completions that a label calls right and wrong, the
    best paid of both.
    """

    subjects: tuple[Subject, ...]
    scales: Mapping[Any, Scale]
    pool: tuple[tuple[Row, RowOutcome], ...]
    modes: Mapping[str, str]
    why: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    constants: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    labelled: tuple[LeftOut, ...] = ()

    @property
    def mode(self) -> str:
        """Return the mode of all parts; of several the one that tells most."""
        for mode in ("truth", "no truth", "deaf", "inverted"):
            if mode in self.modes.values():
                return mode
        return "unknown"

    @property
    def stand_in(self) -> Subject | None:
        """Return a subject where right and wrong do not matter.

        That is the first, or a rollout as it is, or None where there is neither.
        """
        if self.subjects:
            return self.subjects[0]
        if not self.pool:
            return None
        row, _ = self.pool[0]
        text, form = str(row.get("completion")), Format("bare")
        return Subject(
            row.get("rollout_id"), row, "", None, "text", (), form, text, text
        )

    @property
    def rewards(self) -> list[float]:
        """Return what the rollouts earned that were judged."""
        return [outcome.reward for _, outcome in self.pool if outcome.is_judged]
