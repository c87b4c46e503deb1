"""Plots: functions that draw a record on `ax` (or `axes`) and return it.

Colours are Okabe and Ito's; line styles and markers repeat their meaning. Names are
never parsed as mathematics. Words replace a plot that cannot be drawn.
"""

from rewardkit.notebook.plots.canvas import without_a_screen
from rewardkit.notebook.plots.curves import (
    all_over_steps,
    forecast_curves,
    judge_calibration,
    over_steps,
)
from rewardkit.notebook.plots.runs import monitor
from rewardkit.notebook.plots.scores import (
    all_effective_weights,
    component_histograms,
    distribution,
    effective_weights,
    reward_histogram,
)

__all__ = [
    "all_effective_weights",
    "all_over_steps",
    "component_histograms",
    "distribution",
    "effective_weights",
    "forecast_curves",
    "judge_calibration",
    "monitor",
    "over_steps",
    "reward_histogram",
    "without_a_screen",
]
