"""Scales: what right and wrong completions of a subject earn."""

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

    Right and wrong in the same form, a wrong answer in no form at all (`plain`), the right one in none
    (`bare`), and the least seen (`floor`).
    """

    right: float
    wrong: float
    plain: float
    floor: float
    bare: float = 0.0

    @property
    def span(self) -> float:
        """What being right adds."""
        return self.right - self.wrong

    def gain(self, reward: float) -> float:
        """A reward as a share of what being right adds: 0 as the plain wrong answer, 1 as the right one."""
        return (reward - self.wrong) / self.span


@dataclass(frozen=True)
class LeftOut:
    """A prompt on which right and wrong earn alike, where others are told apart in the same format."""

    subject: Subject
    right: float
    wrong: float


@dataclass(frozen=True)
class Calibration:
    """The subjects that right and wrong answers are told apart on, with their scales; and what was seen.

    `pool` are rollouts with what they earned. `modes` says of each part: "truth" where answers are held
    against the truth, "no truth" where the reward does not ask for it or the rollouts have none, "deaf" where
    it asks for it and pays right and wrong alike, "inverted" where wrong answers earn more, and "unknown"
    where no right answer is paid more than a wrong one; `why` then says what would be needed. "slow" is a
    part for which the budget was over before that, and "constant" one of which all completions earn the same:
    what, and of how many, is in `constants`. Of prompts with completions that a label calls right and others
    that it calls wrong `labelled` has the best paid of both.
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
        """The mode of all parts; of several the one that tells most."""
        names = ("truth", "no truth", "deaf", "inverted")
        return next((name for name in names if name in self.modes.values()), "unknown")

    @property
    def stand_in(self) -> Subject | None:
        """A subject on which nothing is held against right and wrong: the first, or a rollout as it is."""
        if self.subjects or not self.pool:
            return self.subjects[0] if self.subjects else None
        row, _ = self.pool[0]
        text = str(row.get("completion"))
        return Subject(
            row.get("rollout_id"), row, "", None, "text", (), Format("bare"), text, text
        )

    @property
    def rewards(self) -> list[float]:
        """What the rollouts earned that were judged."""
        return [outcome.reward for _, outcome in self.pool if outcome.judged]
