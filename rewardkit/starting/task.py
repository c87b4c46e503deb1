"""Task: what a log shows of a task, measured: its truths, where answers stand, form, length and loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardkit.answers.truths import Row, Truth, find_truth
from rewardkit.primitives import measure
from rewardkit.primitives.texts import words
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.starting.extractions import Extraction, chosen, extracted, extractions
from rewardkit.starting.forms import Form, form_of

FEW = 20  # completions of a kind, under which nothing is set by them: our choice
LOOPING, LOOPS = (
    0.1,
    0.005,
)  # share of a text that repeats, and of such texts, from which on it is a fault
SOURCES = 8  # data sources that get a reward each: our choice
USUAL = 0.9  # quantile of the lengths up to which nothing is lost: our choice


class Limits(NamedTuple):
    """Words up to which a completion has full credit and from which on it has none; the most there are."""

    full_until: int
    zero_from: int
    longest: int


@dataclass(frozen=True, eq=False)
class Task:
    """What a log shows of one task."""

    name: str
    rows: tuple[Row, ...]
    prompts: int
    truth: Truth
    extractions: tuple[Extraction, ...]
    chosen: Extraction | None
    form: Form | None
    looping: float  # share of completions that loop; 0.0 where they hardly do

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the answer of each row is wholly right, as it is read; without a truth all are."""
        scores = (
            self.chosen.scores
            if self.chosen and self.truth.verified
            else np.ones(len(self.rows))
        )
        return np.asarray(scores == 1, dtype=bool)

    @property
    def missed(self) -> tuple[str, float] | None:
        """The way that most often reads a right answer where the chosen one does not, and how often."""
        shares = {
            one.code: float(np.mean((one.scores == 1) & ~self.right))
            for one in self.extractions
        }
        code = max(shares, key=lambda name: shares[name])
        return (code, shares[code]) if shares[code] else None

    @property
    def in_order(self) -> float:
        """Share of the answers that are right where the truths are lists, with the order of these too."""
        return (
            extracted(self.chosen.extractor, self.rows, Truth("ordered")).right
            if self.chosen
            else 0.0
        )

    @property
    def shown(self) -> list[Extraction]:
        """All of them, and the chosen one, for a table."""
        return list(
            {one.code: one for one in (*self.extractions, self.chosen) if one}.values()
        )

    @cached_property
    def limits(self) -> Limits | None:
        """Limits of length that most right completions keep (all, without a truth).

        ``None`` where these are too few, or where the form of the answer decides how long it is.
        """
        if self.truth.kind in ("json", "labels"):
            return None
        sizes = sorted(
            len(words(row["completion"])) for row in compress(self.rows, self.right)
        )
        if len(sizes) < FEW:
            return None
        full = max(1, int(np.quantile(sizes, USUAL)))
        return Limits(full, max(2 * full, sizes[-1] + 1), sizes[-1])


def tasks_of(rollouts: Rollouts) -> list[Task]:
    """The task of these rollouts, or one for each data source where they are not read and judged alike."""
    whole = task_of("", rollouts)
    values = (
        column_values(rollouts.table["data_source"])
        if "data_source" in rollouts.table
        else []
    )
    names = list(dict.fromkeys(name for name in values if isinstance(name, str)))
    if not 2 <= len(names) <= SOURCES:
        return [whole]
    tasks = [
        task_of(name, rollouts.select(np.array(values, dtype=object) == name))
        for name in names
    ]
    alike = (
        len(
            {
                (task.truth.kind, task.chosen.code if task.chosen else "")
                for task in tasks
            }
        )
        == 1
    )
    return [whole] if alike else tasks


def task_of(name: str, rollouts: Rollouts) -> Task:
    """What these rollouts show."""
    rows, prompts = list(rollouts), len(set(rollouts.prompts.tolist()))
    asked = [prompt_text(row.get("prompt")) for row in rows]
    truth = find_truth(rows, asked)
    found = extractions(rows, asked, truth)
    taken = chosen(found, rows, truth)
    form = form_of(taken, rows, asked, truth)
    repeats = measure.repetition()
    looping = sum((repeats(row["completion"]) or 0) > LOOPING for row in rows) / len(
        rows
    )
    common = looping if looping >= LOOPS else 0.0
    return Task(name, tuple(rows), prompts, truth, tuple(found), taken, form, common)
