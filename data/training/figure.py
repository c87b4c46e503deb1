"""Draw two forecasts with the real trainings over them: `.images/forecast.png`.

    python data/training/figure.py

Needs the extra `notebook`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from predict import scored

import rewardkit as rk
from rewardkit.notebook import plots
from rewardkit.notebook.plots import canvas

HERE = Path(__file__).parent
PANELS = {
    "short": "Brevity is paid, right or wrong: luck decides",
    "short_gated": "Brevity is paid to right answers: the task is learnt",
}
"""Reward -> the title of its panel."""


def main() -> None:
    """Draw the picture."""
    plots.without_a_screen()
    style = {"figsize": (9.6, 3.4), "layout": "constrained", "sharey": True}
    figure, axes = plt.subplots(1, 2, **style)
    for ax, (name, title) in zip(axes, PANELS.items(), strict=True):
        log = pd.read_csv(HERE / "runs" / f"sums-hard-{name}-3e-4-0.csv")
        actual = log.rename(columns={"score/exact": "task"})
        forecast = rk.forecast(scored("sums", "hard", name), label="right")
        plots.forecast_curves(forecast, figures=["task"], actual=actual, axes=ax)
        ax.set_ylim(0, 1)
        canvas.finish_axes(ax, title, x="step", y="share of sums that are right")
    figure.savefig(HERE.parents[1] / ".images" / "forecast.png", dpi=110)


if __name__ == "__main__":
    main()
