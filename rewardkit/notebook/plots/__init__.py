"""Plots: each is a function of a record, takes `ax` (or `axes`) and gives it back.

Colours are Okabe and Ito's, shapes and hatches say the same without colour. Names are
shown as they are, never read as mathematics. What cannot be drawn is said in words.
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
