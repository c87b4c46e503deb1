"""The severity of phantom signal, by what a rehearsed training makes of the task."""

from __future__ import annotations

from dataclasses import replace

from rewardkit.analysis.rehearsal.outlook import outlook_of, read_outlook
from rewardkit.analysis.rehearsal.rehearsal import rehearse_view
from rewardkit.analysis.rehearsal.rows import is_scored_anew
from rewardkit.analysis.view import View
from rewardkit.findings import Finding

MOST_OF_SIGNAL = 0.5
"""Share of the squared advantage of which phantom signal is most. Our choice."""


def judge_by_outlook(item: Finding, view: View) -> Finding:
    """Return phantom signal with the severity of what a rehearsed training does.

    For information where the task rises; a warning where it falls at both paces, and
    high where something is known to take over as well; at most a warning where it falls
    at one. A warning, too, where most of the signal is phantom and the task falls at
    one pace, or with other seeds; else as it is. That tells the real runs of
    `data/training` that fall from others; how much phantom signal there is, and its
    direction, do not. Nothing is called to find out.
    """
    if item.evidence.get("inconclusive"):
        return item
    severity = item.severity
    is_most = item.evidence["value"] >= MOST_OF_SIGNAL
    task = other = None
    if not is_scored_anew(view.reward):
        outlook = read_outlook(rehearse_view(view))
        task = outlook.task
        if outlook.is_open:
            low, high = (outlook_of(outlook.start, end) for end in outlook.interval)
            other = high if low == task else low
        if task == "rises":
            severity = "warn" if is_most and other == "falls" else "info"
        elif task == "falls":
            best = outlook_of(outlook.start, max(outlook.gentle, outlook.fast))
            is_sure = best == "falls" and outlook.takes_over is not None
            if is_sure:
                severity = "high"
            elif best == "falls" or severity == "high" or is_most:
                severity = "warn"
    is_mild = severity == "info"
    return replace(
        item,
        severity=severity,
        evidence={
            **item.evidence,
            "outlook": task,
            "open": other is not None,
            "other": other,
            "mild": is_mild,
        },
        suggestions=() if is_mild else item.suggestions,
    )
