"""The distribution of the reward and of each component over the steps of a run."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.notebook.plots.canvas import BLUE, ORANGE, axes_for, said, settled, titled

__all__ = ["over_steps"]


def over_steps(
    diagnosis: Diagnosis, figure: str = "reward", *, window: int = 1, ax: Axes | None = None
) -> Axes:
    """Mean, median and quantile bands of the reward, or of a component, at each step.

    Each point is of the last `window` steps together.
    """
    ax, table = axes_for(ax), diagnosis.over_steps(window)
    titled(ax, f"{figure} over the steps" + (f", last {window} together" if window > 1 else ""), 70)
    if table.empty or table["step"].nunique() < 2:
        return said(ax, "fewer than two steps")
    for part, rows in table[table["figure"] == figure].groupby("part" if "part" in table else "figure"):
        name = f" of {part}" if "part" in table else ""
        ax.fill_between(rows["step"], rows["p5"], rows["p95"], color=BLUE, alpha=0.15, linewidth=0)
        ax.fill_between(rows["step"], rows["p25"], rows["p75"], color=BLUE, alpha=0.3, linewidth=0)
        ax.plot(rows["step"], rows["median"], color=BLUE, linewidth=1.2, label=f"median{name}")
        ax.plot(rows["step"], rows["mean"], "o-", color=ORANGE, markersize=3, label=f"mean{name}")
    ax.set_xlabel("step (bands: 5 to 95 %, 25 to 75 % of completions)")
    ax.set_ylabel(figure)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False, fontsize=8)
    return settled(ax)
