"""Task: what a log shows of a task: its truths, its answers, their form and length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardkit.answers import Row, Truth, find_truth
from rewardkit.primitives import measure
from rewardkit.primitives.texts import words
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.starting.extractions import (
    Extraction,
    choose_extraction,
    measure_extractor,
    measure_extractors,
)
from rewardkit.starting.forms import AnswerForm, find_form

FEWEST_RIGHT = 20  # right completions, under which they set no limits: our choice
REPEATED_SHARE = 0.1  # of a text, from which on it loops: our choice
LOOPING_SHARE = 0.005  # of the completions, from which on loops are a fault: our choice
MOST_SOURCES = 8  # data sources that get a reward each: our choice
UNHURT_QUANTILE = 0.9  # of the lengths, up to which nothing is lost: our choice


class LengthLimits(NamedTuple):
    """Words up to which a completion has full credit, from which on none, and most."""

    full_until: int
    zero_from: int
    longest: int


@dataclass(frozen=True, eq=False)
class Task:
    """What a log shows of one task.

    Attributes:
        name: The data source, "" for all of the log.
        rows: The rows of the log.
        prompts: How many prompts there are.
        truth: What the truths are.
        extractions: Ways to read the answers.
        chosen: How the first reward reads them, None where nothing says how.
        form: The form of the answers, None where they have none.
        looping: Share of the completions that loop; 0.0 where hardly any does.
    """

    name: str
    rows: tuple[Row, ...]
    prompts: int
    truth: Truth
    extractions: tuple[Extraction, ...]
    chosen: Extraction | None
    form: AnswerForm | None
    looping: float

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """(rows,) whether each answer is wholly right; without a truth all are."""
        if self.chosen is None or not self.truth.verified:
            return np.ones(len(self.rows), dtype=bool)
        return np.asarray(self.chosen.scores == 1, dtype=bool)

    @property
    def missed(self) -> tuple[str, float] | None:
        """The code that most often reads right answers that `chosen` misses.

        With the share of the rows where it does.
        """
        best, most = "", 0.0
        for extraction in self.extractions:
            share = float(np.mean((extraction.scores == 1) & ~self.is_right))
            if share > most:
                best, most = extraction.code, share
        return (best, most) if most else None

    @property
    def in_order(self) -> float:
        """Share of the answers that are right where truths are lists in order."""
        if self.chosen is None:
            return 0.0
        ordered = Truth("ordered")
        return measure_extractor(self.chosen.extractor, self.rows, ordered).share_right

    @property
    def compared(self) -> list[Extraction]:
        """All extractions and the chosen one, each once, for a table."""
        unique = {extraction.code: extraction for extraction in self.extractions}
        if self.chosen is not None:
            unique[self.chosen.code] = self.chosen
        return list(unique.values())

    @cached_property
    def limits(self) -> LengthLimits | None:
        """Limits of length that most right completions keep (all, without a truth).

        None where these are few, or where the answer's form decides how long it is.
        """
        if self.truth.kind in ("json", "labels"):
            return None
        right = compress(self.rows, self.is_right)
        sizes = sorted(len(words(row["completion"])) for row in right)
        if len(sizes) < FEWEST_RIGHT:
            return None
        full = max(1, int(np.quantile(sizes, UNHURT_QUANTILE)))
        return LengthLimits(full, max(2 * full, sizes[-1] + 1), sizes[-1])


def find_tasks(rollouts: Rollouts) -> list[Task]:
    """Return the task of the rollouts, or one for each data source.

    One where all sources are read and judged alike, or there are too many.
    """
    whole = find_task("", rollouts)
    if "data_source" not in rollouts.table:
        return [whole]
    sources = np.array(column_values(rollouts.table["data_source"]), dtype=object)
    names = dict.fromkeys(name for name in sources if isinstance(name, str))
    if not 2 <= len(names) <= MOST_SOURCES:
        return [whole]
    tasks = [find_task(name, rollouts.select(sources == name)) for name in names]
    ways = {(task.truth.kind, task.chosen and task.chosen.code) for task in tasks}
    return tasks if len(ways) > 1 else [whole]


def find_task(name: str, rollouts: Rollouts) -> Task:
    """Return what these rollouts show."""
    rows = list(rollouts)
    prompts = [prompt_text(row.get("prompt")) for row in rows]
    truth = find_truth(rows, prompts)
    extractions = measure_extractors(rows, prompts, truth)
    chosen = choose_extraction(extractions, rows, truth)
    repetition = measure.repetition()
    repeated = [repetition(row["completion"]) or 0.0 for row in rows]
    looping = sum(share > REPEATED_SHARE for share in repeated) / len(rows)
    return Task(
        name,
        tuple(rows),
        len(set(rollouts.prompts.tolist())),
        truth,
        tuple(extractions),
        chosen,
        find_form(chosen, rows, prompts, truth),
        looping if looping >= LOOPING_SHARE else 0.0,
    )
