"""What to do about what is newly paid: a gate, tried on the rows, and cases."""

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

MOST_CASES = 3
"""Cases of a feature, each of another prompt. Our choice."""
MOST_CAUSES = 2
"""Features of which cases are made: those that follow are often shadows. Our choice."""
COLUMNS_OF_CASE = ("prompt", "messages", "ground_truth", "data_source", "completion")
"""Columns of a log that a case takes over, beside those that the reward asks for."""


@dataclass(frozen=True)
class TriedGate:
    """A gate that pays a component only where a completion is right, tried on the rows.

    `component` counts where the score of `on` is at least `at_least`. `before` and
    `after` are what wrong completions that are newly paid earn in the mean, NaN where
    the gate cannot be tried on the scores.
    """

    component: str
    on: str
    at_least: float
    before: float
    after: float

    def sentence(self, source: str) -> str:
        """Say what to change, what it was measured to do, and how to see all of it.

        Args:
            source: What a command takes the scores from, "" where that is not known.
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
    """Try the gate that closes what is newly paid most.

    Returns:
        None where nothing is newly paid, no component says what is right, or the gate
        takes nothing away.
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
        pass  # of a route, or on a component that is scored later
    if after >= before:
        return None  # it is behind such a gate already
    return TriedGate(item.component, on, high, before, after)


def _wrong_rows(timeline: Timeline, item: NewlyPaid) -> Codes:
    """Return rewarded rows of the last steps that are wrong and have the feature."""
    assert timeline.task is not None
    is_wrong = timeline.task.scores < HALF
    is_wrong &= ~np.isnan(timeline.view.rewards)
    is_wrong &= timeline.windows.rows_in(item.change.ending)
    rows = timeline.rows_read[item.rows == 1]
    wrong: Codes = rows[is_wrong[rows]]
    return wrong


def make_cases(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """Yield cases of wrong completions that are newly paid, and the most they may earn.

    Of what is newly paid most, and only where it earns more than a wrong completion
    did at the start, which is the most that it may earn. Nothing of what no component
    of a sum pays, or where it is not known what is right.
    """
    view = timeline.view
    if timeline.task is None or not timeline.newly_paid:
        return
    is_wrong = (timeline.task.scores < HALF) & ~np.isnan(view.rewards)
    usual = view.rewards[is_wrong & timeline.is_early(timeline.windows.of_rows)]
    if not len(usual):
        return
    ordinary = float(np.median(usual))
    least = math.floor(np.nanmin(view.rewards))
    used_rows: set[int] = set()
    for item in timeline.newly_paid[:MOST_CAUSES]:
        amounts = view.payments[item.component]
        rows = _wrong_rows(timeline, item)
        rows = rows[(view.rewards[rows] > ordinary) & ~np.isin(rows, list(used_rows))]
        for row in rows[view.bootstrap.firsts(rows)][:MOST_CASES].tolist():
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
