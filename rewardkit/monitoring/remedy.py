"""Remedies for newly paid features: a gate, tried on the rows, and cases."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardkit.analysis.rehearsal.reach import HALF
from rewardkit.analysis.statistics import Codes
from rewardkit.analysis.whatif import with_gates
from rewardkit.errors import RewardError
from rewardkit.findings import short_number
from rewardkit.monitoring.pressure import NewlyPaid
from rewardkit.monitoring.timeline import Timeline
from rewardkit.primitives.gates import gate
from rewardkit.scoring.scores import Scores

MOST_CASES_OF_CAUSE = 3
"""Cases per feature, each of another prompt. Our choice."""
MOST_CAUSES = 2
"""Features with cases. Our choice: later ones often only follow the first."""
COLUMNS_OF_CASE = ("prompt", "messages", "ground_truth", "data_source", "completion")
"""Columns of a log that a case copies, besides those that the reward needs."""


@dataclass(frozen=True)
class TriedGate:
    """A gate that pays a component only for right completions, tried on the rows.

    `component` counts if the score of `on` is at least `at_least`. `before` and `after`
    are the mean rewards of newly paid wrong completions. `after` is NaN if the gate
    cannot be tried on the scores.
    """

    component: str
    on: str
    at_least: float
    before: float
    after: float

    def sentence(self, source: str) -> str:
        """Say what to change, its measured effect, and the command that shows it.

        Args:
            source: The source of the scores in the command, "" if not known.
        """
        change = f"Pay {self.component} only where {self.on} is right"
        if math.isnan(self.after):
            return f"{change}; this was not tried on these rows."
        sentence = (
            f"{change}: on these rows what is newly paid and wrong then earns "
            f"{short_number(self.after)} in place of {short_number(self.before)}"
        )
        if not source:
            return f"{sentence}."
        option = shlex.quote(f"{self.component}={self.on}>={self.at_least:g}")
        command = f"rewardkit whatif {shlex.quote(source)} --gate {option}"
        return f"{sentence} ({command})."


def try_gate(scores: Scores, timeline: Timeline) -> TriedGate | None:
    """Try a gate on the component that pays the first newly paid feature.

    Returns:
        None if nothing is newly paid, no component says what is right, or the gate
        lowers no reward.
    """
    on = timeline.right_component
    if not timeline.newly_paid or not on:
        return None
    item = timeline.newly_paid[0]
    rows = _wrong_rows(timeline, item)
    if item.component == on or not len(rows):
        return None
    high = timeline.view.span(on)[1]
    before = float(np.nanmean(timeline.view.rewards[rows]))
    after = math.nan
    try:
        gated, _ = with_gates(scores, {item.component: gate(on, at_least=high)})
        after = float(np.nanmean(gated.rewards[rows]))
    except RewardError:
        pass  # a part of a route, or a component that is scored after the gate
    if after >= before:
        return None  # such a gate exists already
    return TriedGate(item.component, on, high, before, after)


def _wrong_rows(timeline: Timeline, item: NewlyPaid) -> Codes:
    """Return wrong rows of the last steps that have a reward and the feature."""
    assert timeline.task is not None
    is_wrong = timeline.task.scores < HALF
    is_wrong &= ~np.isnan(timeline.view.rewards)
    is_wrong &= timeline.windows.rows_in(item.change.ending)
    rows = timeline.rows_read[item.rows == 1]
    wrong: Codes = rows[is_wrong[rows]]
    return wrong


def make_cases(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """Yield cases for newly paid wrong completions, each with the most it may earn.

    A wrong completion may earn as much as wrong ones did at the start; cases are made
    of those that earn more. Without a known task there are no cases.
    """
    view = timeline.view
    if timeline.task is None or not timeline.newly_paid:
        return
    is_wrong = (timeline.task.scores < HALF) & ~np.isnan(view.rewards)
    usual = view.rewards[is_wrong & timeline.is_early(timeline.windows.row_windows)]
    if not len(usual):
        return
    ordinary = float(np.median(usual))
    least = math.floor(np.nanmin(view.rewards))
    used_rows: set[int] = set()
    for item in timeline.newly_paid[:MOST_CAUSES]:
        amounts = view.payments[item.component]
        rows = _wrong_rows(timeline, item)
        rows = rows[(view.rewards[rows] > ordinary) & ~np.isin(rows, list(used_rows))]
        for row in rows[view.bootstrap.firsts(rows)][:MOST_CASES_OF_CAUSE].tolist():
            table = view.context.table.iloc[row]
            names = [*COLUMNS_OF_CASE, *view.reward.needs]
            columns = {name: table[name] for name in names if name in table}
            used_rows.add(row)
            most = round(max(ordinary, float(view.rewards[row] - amounts[row])), 6)
            yield {
                "name": f"newly paid, row {table['rollout_id']}: {item.words}",
                **columns,
                "reward": [min(least, most), most],
                "why": f"since step {item.change.since:g} a run was paid for this",
            }
