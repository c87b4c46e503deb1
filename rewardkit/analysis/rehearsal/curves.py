"""Curves of a rehearsal: what each figure becomes, step by step, with bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.rehearsal.outlook import LEAST_GROWTH
from rewardkit.analysis.rehearsal.policy import mean_known
from rewardkit.analysis.rehearsal.rehearsal import PACES, Rehearsal
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
    """A figure of the learners of a pace by step: its median and band, (steps,) each.

    Both are of running means over `WINDOW` steps. `start` is the mean of the rows that
    the log begins with.
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


LearnerFigures = dict[str, tuple[float, Floats]]
"""Name -> the mean at the start, and that of what learners wrote, (steps, learners)."""


def read_figures(rehearsal: Rehearsal) -> LearnerFigures:
    """Return the figures of what the learners wrote, by name.

    "task" (0 to 1), "reward", "score/<component>", "characters", and "share of <kind>"
    of the `KINDS_SHOWN` kinds that grow most. Left out are figures without a value in
    any row, and scores of components that look at siblings.
    """
    rows = rehearsal.rows
    course = rehearsal.course
    columns = {"task": rows.task, "reward": rows.rewards}
    for component in rehearsal.view.reward.components:
        if not component.group:
            columns[f"score/{component.name}"] = rows.scores[component.name]
    lengths = [len(text) for text in rows.completions]
    columns["characters"] = np.array(lengths, dtype=float)
    figures = {}
    for name, column in columns.items():
        if np.isnan(column).all():
            continue
        start = float(mean_known(rehearsal.at_start(column)))
        values = course.rewards if name == "reward" else course.mean(column)
        figures[name] = start, values
    return figures | _kind_figures(rehearsal)


def _kind_figures(rehearsal: Rehearsal) -> LearnerFigures:
    """Return the shares of the kinds that grow most, by name.

    Kinds of one name, such as those of several heights, count as one.
    """
    words = np.array([kind.words for kind in rehearsal.kinds])
    chances = rehearsal.material.shares / rehearsal.material.shares.sum()
    figures = {}
    growth = {}
    for name in dict.fromkeys(words.tolist()):
        shares = rehearsal.course.shares[:, :, words == name].sum(axis=2)
        start = float(chances[words == name].sum())
        figures[f"{SHARE_OF}{name}"] = start, shares
        growth[f"{SHARE_OF}{name}"] = np.median(shares, axis=1).max() - start
    largest = sorted(growth, key=growth.__getitem__, reverse=True)[:KINDS_SHOWN]
    return {name: figures[name] for name in largest if growth[name] >= LEAST_GROWTH}


def make_curves(rehearsal: Rehearsal) -> Curves:
    """Return the curve of each pace and figure, of the learners that judge the reward.

    See `Rehearsal.judges_reward`.
    """
    curves = {}
    for name, (start, values) in read_figures(rehearsal).items():
        means = pd.DataFrame(values).rolling(WINDOW, min_periods=1).mean().to_numpy()
        for pace in PACES:
            learners = means[:, rehearsal.judges_reward(pace)]
            band = np.quantile(learners, (BAND[0], 0.5, BAND[1]), axis=1)
            curves[pace, name] = Curve(start, *band)
    return curves


def tabulate(curves: Curves, part: str) -> pd.DataFrame:
    """Return the curves as a table, one row a pace, figure and step."""
    tables = []
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
