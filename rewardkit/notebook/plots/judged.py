"""Judged: what labels say of the levels that a judge gives."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from rewardkit.judges.report import JudgeReport
from rewardkit.notebook.plots.canvas import BLUE, GREY, axes_for, said, settled, titled, wrapped

__all__ = ["judge_calibration"]


def judge_calibration(report: JudgeReport, *, ax: Axes | None = None) -> Axes:
    """The mean label of the cases of each level, with its interval; on the line it is the level's score."""
    ax = axes_for(ax, width=5.6, height=3.6)
    titled(ax, f"What labels say of the levels of {report.judge}", 48)
    levels = report.calibration
    if not levels:
        return said(ax, "no case is judged and labelled")
    scores, means = (np.array([row[key] for row in levels]) for key in ("score", "value"))
    low, high = np.array([row["interval"] for row in levels], dtype=float).T
    ax.plot([0, 1], [0, 1], ":", color=GREY, label="score and label are the same")
    ax.vlines(scores, low, high, color=BLUE, linewidth=2)
    ax.plot(scores, means, "o", color=BLUE, markersize=7, label="mean label (95 % interval)")
    ax.set_xticks(scores, [f"{wrapped(row['level'], 14)}\nn = {row['n']}" for row in levels])
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.05, 1.05)
    ax.set_xlabel("level of the judge, at its score")
    ax.set_ylabel("label")
    ax.legend(
        loc="upper left", bbox_to_anchor=(0, -0.32), fontsize=8, frameon=False, ncols=2, borderaxespad=0
    )
    return settled(ax)
