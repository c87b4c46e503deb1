"""Judged: what labels say of the levels that a judge gives."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from rewardkit.judges.report import JudgeReport
from rewardkit.notebook.plots import canvas

__all__ = ["judge_calibration"]


def judge_calibration(report: JudgeReport, *, ax: Axes | None = None) -> Axes:
    """The mean label of the cases of each level, with its interval; on the line it is the level's score."""
    ax, levels = canvas.axes_for(ax, width=6.4, height=3.6), report.calibration
    if not levels:
        return canvas.said(ax, "no case is judged and labelled", f"'{report.judge}'")
    scores, means = (np.array([row[key] for row in levels], dtype=float) for key in ("score", "value"))
    low, high = np.array([row["interval"] for row in levels], dtype=float).T
    ax.plot([0, 1], [0, 1], ":", color=canvas.GREY)
    canvas.label(ax, "label = score", 1, 1, (6, 0), color=canvas.MUTED)
    ax.vlines(scores, low, high, color=canvas.BLUE, linewidth=2)
    ax.plot(scores, means, "o", color=canvas.BLUE, markersize=7)
    ax.set_xticks(scores, [f"{canvas.wrapped(row['level'], 14)}\nn = {row['n']}" for row in levels])
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.05, 1.05)
    off = np.where((scores < low) | (scores > high), np.abs(means - scores), 0)
    worst, title = levels[int(off.argmax())], "no level is clearly off its labels"
    if off.any():
        title = f"cases called '{worst['level']}' have label {worst['value']:.2g}, not {worst['score']:.2g}"
    title = canvas.of_part(report.judge, title)
    return canvas.finished(ax, title, x="level, at its score", y="mean label (95 % interval)")
