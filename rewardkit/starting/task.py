"""Task: what a log shows of a task, measured: its truths, where answers stand, form, length and loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rewardkit.primitives import measure
from rewardkit.primitives.texts import words
from rewardkit.primitives.verify import lists_equal
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.starting.extractions import Extraction, chosen, extractions
from rewardkit.starting.forms import Form, form_of
from rewardkit.starting.truths import Row, Truth, truth_of

FEW = 20  # completions of a kind, under which nothing is set by them: our choice
LOOPING, LOOPS = 0.1, 0.005  # share of a text that repeats, and of such texts, from which on it is a fault
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

    @cached_property
    def right(self) -> list[int]:
        """Places of the rows whose answer is wholly right, as it is read."""
        return [place for place, score in enumerate(self.chosen.scores if self.chosen else ()) if score == 1]

    @property
    def missed(self) -> tuple[str, float] | None:
        """The way that most often reads a right answer where the chosen one does not, and how often."""
        right, rows = set(self.right), len(self.rows)
        counts = {
            one.code: sum(score == 1 and at not in right for at, score in enumerate(one.scores))
            for one in (self.extractions if self.chosen else ())
        }
        code = max(counts, key=lambda name: counts[name], default="")
        return (code, counts[code] / rows) if counts.get(code) else None

    @property
    def in_order(self) -> float:
        """Share of the answers that are right where the truths are lists, with the order of these too."""
        pairs = zip(self.chosen.values if self.chosen else (), self.rows, strict=True)
        scores = [lists_equal(value, row.get("ground_truth")) for value, row in pairs]
        judged = [score for score in scores if score is not None]
        return sum(judged) / max(1, len(judged))

    @property
    def shown(self) -> list[Extraction]:
        """All of them, and the chosen one, for a table."""
        return list({one.code: one for one in (*self.extractions, self.chosen) if one}.values())

    @cached_property
    def limits(self) -> Limits | None:
        """Limits of length that most right completions keep (all, without a truth).

        ``None`` where these are too few, or where the form of the answer decides how long it is.
        """
        if self.truth.kind in ("json", "labels"):
            return None
        places = self.right if self.truth.verified else range(len(self.rows))
        sizes = sorted(len(words(self.rows[place]["completion"])) for place in places)
        if len(sizes) < FEW:
            return None
        full = max(1, int(np.quantile(sizes, USUAL)))
        return Limits(full, max(2 * full, sizes[-1] + 1), sizes[-1])


def tasks_of(rollouts: Rollouts) -> list[Task]:
    """The task of these rollouts, or one for each data source where they are not read and judged alike."""
    whole = task_of("", rollouts)
    sources = column_values(rollouts.table["data_source"]) if "data_source" in rollouts.table else []
    names = list(dict.fromkeys(name for name in sources if isinstance(name, str)))
    if not 2 <= len(names) <= SOURCES:
        return [whole]
    places = {name: [at for at, source in enumerate(sources) if source == name] for name in names}
    tasks = [task_of(name, rollouts.select(places[name])) for name in names]
    alike = len({(task.truth.kind, task.chosen.code if task.chosen else "") for task in tasks}) == 1
    return [whole] if alike else tasks


def task_of(name: str, rollouts: Rollouts) -> Task:
    """What these rollouts show."""
    rows, prompts = list(rollouts), len(set(rollouts.prompts.tolist()))
    asked = [prompt_text(row.get("prompt")) for row in rows]
    truth = truth_of(rows, asked)
    found = extractions(rows, asked, truth)
    taken = chosen(found, rows, truth)
    form = form_of(taken, rows, asked, truth)
    repeats = measure.repetition()
    looping = sum((repeats(row["completion"]) or 0) > LOOPING for row in rows) / len(rows)
    common = looping if looping >= LOOPS else 0.0
    return Task(name, tuple(rows), prompts, truth, tuple(found), taken, form, common)
