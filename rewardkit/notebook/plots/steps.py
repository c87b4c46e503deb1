"""The distribution of the reward and of each component over the steps of a run."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.notebook.plots import canvas

__all__ = ["over_steps"]


def over_steps(
    diagnosis: Diagnosis, figure: str = "reward", *, window: int = 1, ax: Axes | None = None
) -> Axes:
    """Mean, median and quantile bands of the reward, or of a component, at each step; of parts the means.

    Each point is of the last `window` steps together.
    """
    ax, table = canvas.axes_for(ax), diagnosis.over_steps(window)
    what = "the reward" if figure == "reward" else f"'{figure}'"
    if table.empty or table["step"].nunique() < 2:
        return canvas.said(ax, "fewer than two steps", what)
    table = table[table["figure"] == figure]
    parts = {f" of {part}": rows for part, rows in table.groupby("part")} if "part" in table else {"": table}
    drawn = []
    for nth, (part, rows) in enumerate(parts.items()):
        bands = [(rows[low], rows[high]) for low, high in (("p25", "p75"), ("p5", "p95"))[: 3 - len(parts)]]
        drawn.append(canvas.curve(ax, rows["step"], rows["mean"], f"mean{part}", *bands, nth=nth))
        if len(parts) == 1:
            drawn.append(canvas.curve(ax, rows["step"], rows["median"], "median", nth=1))
    canvas.label_ends(ax, drawn)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    told = f", the last {window} together" if window > 1 else ""
    told += f" (bands: {'5 to 95 %, ' if len(parts) == 1 else ''}25 to 75 % of completions)"
    return canvas.finished(ax, _moved(what, parts), x=f"step{told}", y=canvas.wrapped(figure))


def _moved(what: str, parts: dict[str, pd.DataFrame]) -> str:
    """From which mean to which it goes, first to last step; of several parts the one that moves most."""
    known = {part: rows.dropna(subset="mean") for part, rows in parts.items() if rows["mean"].notna().any()}
    ends = {part: rows[["step", "mean"]].iloc[[0, -1]].to_numpy() for part, rows in known.items()}
    if not ends:
        return f"{what} is not scored at any step"
    part = max(ends, key=lambda name: abs(ends[name][1, 1] - ends[name][0, 1]))
    (first, before), (last, after) = ends[part]
    return f"{what}{part} {canvas.from_to(before, after)} over steps {first:g} to {last:g}"
