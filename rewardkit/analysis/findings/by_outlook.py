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
    """Set the severity of phantom signal by a rehearsed training, which calls nothing.

    - The task rises: for information; a warning if most of the signal is phantom and
      the task falls with other seeds.
    - The task falls at both paces: high if a kind of completions takes over, else a
      warning.
    - The task falls at one pace: a warning if most of the signal is phantom or the
      severity was high.
    - Otherwise it stays.

    This tells the real runs of `data/training` that fall from the others. The amount of
    phantom signal and its direction do not.
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
            if best == "falls" and outlook.takes_over is not None:
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
