"""Curves of a rehearsal: what each figure becomes, step by step, with bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.rehearsal.outlook import LEAST_GROWTH
from rewardkit.analysis.rehearsal.policy import mean_known
from rewardkit.analysis.rehearsal.rehearsal import Rehearsal
from rewardkit.analysis.statistics import Floats

BAND = (0.1, 0.9)
"""Quantiles of the learners between which a band lies. Our choice."""
WINDOW = 8
"""Steps over which a curve is a running mean; a step has a few prompts alone."""
SHARE_OF = "share of "
"""What the figure of a kind begins with."""
KINDS_SHOWN = 2


@dataclass(frozen=True, eq=False)
class Curve:
    """One figure of the learners of a pace, (steps,) each: the median, and its band.

    Each is of the learners' running means over `WINDOW` steps. `start` is the mean of
    the rows that the log begins with.
    """

    start: float
    low: Floats
    middle: Floats
    high: Floats

    @property
    def end(self) -> float:
        """Return the median at the last step."""
        return float(self.middle[-1])


Curves = dict[tuple[str, str], Curve]
"""Pace and figure -> its curve."""


def smooth(values: Floats) -> Floats:
    """Return running means over the last steps, as many as there are, (steps, ...).

    >>> smooth(np.arange(10.0))
    array([0. , 0.5, 1. , 1.5, 2. , 2.5, 3. , 3.5, 4.5, 5.5])
    """
    sums = np.cumsum(values, axis=0)
    sums[WINDOW:] -= sums[:-WINDOW].copy()
    counts = np.minimum(np.arange(1, len(values) + 1), WINDOW)
    return sums / counts.reshape(-1, *[1] * (values.ndim - 1))


LearnerFigures = dict[str, tuple[float, Floats]]
"""By name the mean at the start, and what the learners wrote, (steps, learners)."""


def read_figures(rehearsal: Rehearsal) -> LearnerFigures:
    """Return the figures of what the learners wrote, by name.

    "task" (0 to 1), "reward", "score/<component>", "characters", and "share of <kind>"
    for those of `KINDS_SHOWN` kinds that grow most. What no row has is left out, as are
    scores of components that look at siblings.
    """
    rows = rehearsal.rows
    course = rehearsal.course
    columns = {"task": rows.task, "reward": rows.rewards}
    for component in rehearsal.view.reward.components:
        if not component.group:
            columns[f"score/{component.name}"] = rows.scores[component.name]
    lengths = [len(text) for text in rows.completions]
    columns["characters"] = np.array(lengths, dtype=float)
    figures: LearnerFigures = {}
    for name, column in columns.items():
        if np.isnan(column).all():
            continue
        start = float(mean_known(rehearsal.at_start(column)))
        values = course.rewards if name == "reward" else course.mean(column)
        figures[name] = start, values
    return figures | _kind_figures(rehearsal)


def _kind_figures(rehearsal: Rehearsal) -> LearnerFigures:
    """Return the shares of the kinds that grow most, by name."""
    shares: dict[str, Floats] = {}
    starts: dict[str, float] = {}
    chances = rehearsal.material.shares / rehearsal.material.shares.sum()
    for place, kind in enumerate(rehearsal.kinds):
        share_of_kind = rehearsal.course.shares[:, :, place]
        shares[kind.words] = shares.get(kind.words, 0.0) + share_of_kind
        starts[kind.words] = starts.get(kind.words, 0.0) + float(chances[place])
    growth = {}
    for words, share in shares.items():
        growth[words] = float(np.median(share, axis=1).max() - starts[words])
    figures = {}
    for words in sorted(shares, key=growth.__getitem__, reverse=True)[:KINDS_SHOWN]:
        if growth[words] >= LEAST_GROWTH:
            figures[f"{SHARE_OF}{words}"] = starts[words], shares[words]
    return figures


def make_curves(rehearsal: Rehearsal) -> Curves:
    """Return the curve of each pace and figure, of the learners that judge the reward.

    See `Rehearsal.judges_reward`.
    """
    curves: Curves = {}
    for name, (start, values) in read_figures(rehearsal).items():
        means = smooth(values)
        for pace in dict.fromkeys(rehearsal.pace.tolist()):
            learners = means[:, rehearsal.judges_reward(pace)]
            band = np.quantile(learners, (BAND[0], 0.5, BAND[1]), axis=1)
            curves[pace, name] = Curve(start, *band)
    return curves


def tabulate(curves: Curves, part: str) -> pd.DataFrame:
    """Return the curves as a table, one row a pace, figure and step."""
    tables: list[pd.DataFrame] = []
    for (pace, figure), curve in curves.items():
        columns: dict[str, Any] = {
            "part": part,
            "pace": pace,
            "figure": figure,
            "step": np.arange(len(curve.middle)),
            "low": curve.low,
            "middle": curve.middle,
            "high": curve.high,
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
