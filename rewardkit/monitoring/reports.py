"""Reports: findings on a run, each with the step since which it holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from rewardkit.analysis.findings import finding
from rewardkit.analysis.statistics import Mask
from rewardkit.findings import Finding, Findings
from rewardkit.monitoring.changes import Shift
from rewardkit.monitoring.pressure import NewlyPaid
from rewardkit.monitoring.timeline import Timeline

FEATURES_NAMED = 2
"""Newly paid features in the sentence of an alarm. Our choice."""


def report(
    timeline: Timeline,
    code: str,
    component: str | None,
    change: Shift,
    /,
    *,
    severity: str = "",
    loss: float = 0.0,
    reading: Mask | None = None,
    **evidence: Any,
) -> Finding:
    """Return the finding that a figure changed.

    Its cost is `loss`, 0 to 1, or the size of the change. The rows to read, `reading`,
    are by default those of the change's ending.
    """
    return finding(
        timeline.view,
        code,
        component,
        n=timeline.windows.row_count,
        severity=severity,
        cost=1.0 if severity == "high" else min(loss or abs(change.size), 0.99),
        reading=timeline.windows.rows_in(change.ending) if reading is None else reading,
        **change.evidence,
        **evidence,
    )


def report_paid(
    timeline: Timeline, item: NewlyPaid, code: str = "newly_paid"
) -> Finding:
    """Return the finding that a feature is newly paid, with its latest rows to read."""
    rows = timeline.rows_read[item.rows == 1]
    return finding(
        timeline.view,
        code,
        item.component,
        n=len(timeline.rows_read),
        reading=rows[np.argsort(-timeline.windows.row_windows[rows], kind="stable")][
            :50
        ],
        cost=abs(item.change.size),
        **item.change.evidence,
        pressure=item.pressure,
        interval=item.interval,
        by_component=dict(item.by_component),
        task_correlation=item.task,
        words=item.words,
    )


def causes_named(findings: Findings) -> list[list[str]]:
    """Return the newly paid features that each alarm names, in words."""
    named = [item.evidence.get("pays") for item in findings if item.severity != "info"]
    return [words for words in named if words]


def pays_over(timeline: Timeline, change: Shift) -> list[str]:
    """Return the newly paid features that grow over a change, in words."""
    return [item.words for item in timeline.causes_of(change)[:FEATURES_NAMED]]
