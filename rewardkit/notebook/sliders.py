"""Weights by hand: sliders beside a live picture of what they do. No scoring happens while they move."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ipywidgets as widgets
import numpy as np

from rewardkit import markup
from rewardkit.analysis.diagnosis import make_views
from rewardkit.analysis.grouping import Floats
from rewardkit.scoring import Scores

__all__ = ["UNMOVED", "WeightSliders", "histogram_svg"]

BINS = 40
UNMOVED = "scores"
LABEL = (8, 20)  # em that the names beside the sliders take at least and at the most


@dataclass
class WeightSliders:
    """A slider a component; `scores` are always the ones under the weights shown.

    `line` is the code that gives them.
    """

    start: Scores
    scores: Scores = field(init=False)

    def __post_init__(self) -> None:
        self.scores = self.start
        weights = self.start.reward.weights
        label = min(max(LABEL[0], 0.6 * max(map(len, weights))), LABEL[1])
        self._sliders = {name: self._slider(name, weight, label) for name, weight in weights.items()}
        self._picture = widgets.HTML()
        self._picture.add_class("rewardkit-weights-picture")
        for slider in self._sliders.values():
            slider.observe(self._moved, names="value")
        self._draw()

    @staticmethod
    def _slider(name: str, weight: float, label: float) -> Any:
        reach = max(1.0, 2 * abs(weight))
        slider = widgets.FloatSlider(
            value=weight,
            min=-reach,
            max=reach,
            step=0.01,
            description=name,
            tooltip=name,
            continuous_update=False,
            style={"description_width": f"{label:g}em"},
            layout={"width": f"{label + 16:g}em", "flex": "0 0 auto"},
        )
        slider.add_class(f"rewardkit-weight-{name}")
        return slider

    @property
    def weights(self) -> dict[str, float]:
        """The weights as the sliders stand."""
        return {name: float(slider.value) for name, slider in self._sliders.items()}

    @property
    def line(self) -> str:
        """Code that gives these weights: `UNMOVED`, as long as no slider was moved."""
        changed = {
            name: round(weight, 4)
            for name, weight in self.weights.items()
            if weight != self.start.reward.weights[name]
        }
        return f"scores.reweigh({changed})" if changed else UNMOVED

    def panel(self) -> Any:
        """The widget: sliders on the left, what they do on the right."""
        sliders = widgets.VBox(list(self._sliders.values()), layout={"flex": "0 0 auto"})
        return widgets.HBox([sliders, self._picture], layout={"flex_flow": "row wrap"})

    def _moved(self, change: Any) -> None:
        self.scores = self.start.reweigh(self.weights)
        self._draw()

    def _draw(self) -> None:
        views = make_views(self.scores)
        held = {name: share for view in reversed(views) for name, share in view.effective_weights.items()}
        share = "of the squared advantage"
        rows = [
            (name, f"{weight:g}", f"{100 * held[name]:.0f} %" if name in held else "-")
            for name, weight in self.weights.items()
        ]
        table = markup.table(("component", "weight", share), rows, numeric=("weight", share))
        tied, groups = (
            int(sum(count))
            for count in zip(*((view.dead.sum(), len(view.stats.count)) for view in views), strict=True)
        )
        moved = "" if self.line == UNMOVED else f" <code>{markup.escaped(self.line)}</code>"
        figures = f"<p>{tied} of {groups} groups tied.{moved}</p>"
        self._picture.value = histogram_svg(self.scores.rewards) + table + figures


def histogram_svg(values: Floats, *, width: int = 420, height: int = 120) -> str:
    """A histogram as SVG: what redraws fastest while a slider moves."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return "<p>no reward was judged</p>"
    counts, edges = np.histogram(known, bins=BINS)
    scale, step = height / counts.max(), width / BINS
    bars = "".join(
        f'<rect x="{place * step:.1f}" y="{height - count * scale:.1f}" '
        f'width="{step - 1:.1f}" height="{count * scale:.1f}" fill="#0072b2"/>'
        for place, count in enumerate(counts)
    )
    span = f"reward from {edges[0]:.3g} to {edges[-1]:.3g}"
    label = f"{span}, {len(known):,} completions, up to {counts.max():,} a bar"
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width} {height + 18}" '
        f'width="{width}" height="{height + 18}">{bars}'
        f'<text x="0" y="{height + 14}" font-size="12" fill="currentColor">{label}</text></svg>'
    )
