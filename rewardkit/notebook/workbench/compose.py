"""Compose: weights, gates and aggregation by hand, and beside them what they do.

Nothing is scored while they move.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from rewardkit.errors import InputError, RewardError
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.live import live
from rewardkit.notebook.workbench.parts import Message, Panel, button, classed, copied
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import AGGREGATIONS
from rewardkit.rewards.save import Writer
from rewardkit.rewards.training import SCALINGS

__all__ = ["Compose"]

STEP = 0.01
"""Of a slider; a box takes any number."""
TINY = 1e-9
FARTHEST = 1000.0
"""The largest weight that can be typed: only the ratio of weights matters where groups are scaled."""
SHORTEST, LONGEST = 8, 20
"""em that the names beside the sliders take at least and at most."""
ONE_MOVE = 0.8
"""Seconds within which moves of one control are one step for Undo: a slider that is drawn. Our choice."""


class Compose(Panel):
    """Controls that make a `Variant` of the reward, and the picture of what it does."""

    title = "Compose"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._undone: list[Variant] = []
        self._last: tuple[str, float] = ("", 0.0)
        reward, start = bench.scored.reward, bench.start
        self.sliders, self.numbers = {}, {}
        width = min(max(SHORTEST, 0.6 * max(map(len, start.weights))), LONGEST)  # em, for the names
        for name, weight in start.weights.items():
            self.sliders[name], self.numbers[name] = _weight(name, weight, width)
            self.sliders[name].observe(lambda change, name=name: self._slid(name, change["new"]), "value")
            self.numbers[name].observe(lambda change, name=name: self._typed(name, change["new"]), "value")
        self.switches, self.thresholds = {}, {}
        for name, gate in start.gates.items():
            self.switches[name], self.thresholds[name] = _gate_controls(name, gate)
            self.switches[name].observe(lambda change, name=name: self._gate_moved(name), "value")
            for control in self.thresholds[name].values():
                control.observe(lambda change, name=name: self._gate_moved(name), "value")
        self.aggregation = _choice("aggregation", AGGREGATIONS, start.aggregation, "rewardkit-aggregation")
        self.scaling = _choice(
            "scale_rewards", SCALINGS, start.training.scale_rewards, "rewardkit-scale-rewards"
        )
        fixed = start.training.name not in ("grpo", "dr_grpo", "batch")
        self.scaling.disabled = fixed
        if fixed:
            self.scaling.tooltip = f"the advantages of {start.training.name} are not scaled so"
        self.aggregation.observe(lambda change: self._choose(), "value")
        self.scaling.observe(lambda change: self._choose(), "value")
        self.undo = button("Undo", "rewardkit-undo", self._undo, "take the last change back")
        self.reset = button("Reset", "rewardkit-reset", self._reset, "back to the reward as it was given")
        self.code = button(
            "Copy as code", "rewardkit-code", self._show_code, "the reward with these settings as Python"
        )
        self.score_rows = button(
            "Score them", "rewardkit-score-rows", self._score, "run what the gates let in"
        )
        self.score_rows.layout.display = "none"
        self.message, self.written = Message(), classed(widgets.HTML(), "rewardkit-written")
        self.picture = classed(widgets.HTML(), "rewardkit-picture")
        self.widget = classed(self._laid_out(reward.routing is not None), "rewardkit-compose")
        bench.observe(self._draw, ["variant", "revised"])
        self._draw()

    def _laid_out(self, route: bool) -> Any:
        rows = []
        for name in self.sliders:
            rows.append(
                widgets.HBox([self.sliders[name], self.numbers[name]], layout={"flex_flow": "row wrap"})
            )
            if name in self.switches:
                rows.append(
                    classed(
                        widgets.HBox([self.switches[name], *self.thresholds[name].values()]),
                        "rewardkit-gate",
                    )
                )
        if self.bench.start.aggregation:
            rows.append(self.aggregation)
        rows.append(self.scaling)
        if route:
            note = "The parts of a route keep their gates and aggregation here; compose a part by itself."
            rows.append(widgets.HTML(f"<p>{note}</p>"))
        rows.append(widgets.HBox([self.undo, self.reset, self.code], layout={"flex_flow": "row wrap"}))
        rows += [self.message.widget, self.score_rows]
        controls = widgets.VBox(rows, layout={"flex": "0 1 25em", "min_width": "20em"})
        self.picture.layout.flex, self.picture.layout.min_width = "1 1 26em", "0"
        beside = widgets.HBox(
            [controls, self.picture], layout={"flex_flow": "row wrap", "align_items": "flex-start"}
        )
        return widgets.VBox([beside, self.written])

    # what the controls say

    def _slid(self, name: str, value: float) -> None:
        if self._setting:
            return
        if abs(value - self.bench.variant.weights[name]) <= STEP / 2 + TINY:
            return  # a page puts a weight between two steps on one of them when it is shown: nobody moved it
        self._weigh(name, round(value, 4))

    def _typed(self, name: str, value: float) -> None:
        if self._setting:
            return
        now = self.bench.variant.weights[name]
        farthest = max(FARTHEST, abs(self.bench.start.weights[name]))
        if abs(value) <= farthest:  # not where it is NaN
            self._weigh(name, value)
        else:
            self.message.warn(
                f"The weight {value:g} of {name!r} is not between {-farthest:g} and {farthest:g}; it stays "
                f"{now:g}."
            )
            self._hold(lambda: self._show_weight(name, now))

    def _weigh(self, name: str, weight: float) -> None:
        weights = {**self.bench.variant.weights, name: weight + 0.0}
        self._change(replace(self.bench.variant, weights=weights), f"weight {name}")
        self._hold(lambda: self._show_weight(name, self.bench.variant.weights[name]))

    def _gate_moved(self, name: str) -> None:
        if self._setting:
            return
        start = self.bench.start.gates[name]
        limits: dict[str, Any] = {
            limit: float(control.value) for limit, control in self.thresholds[name].items()
        }
        try:
            gate = replace(start, **limits) if self.switches[name].value and start is not None else None
        except ValueError as error:
            self.message.warn(f"{error}; the gate stays as it was")
            return
        gates = {**self.bench.variant.gates, name: gate}
        self._change(replace(self.bench.variant, gates=gates), f"gate {name}")

    def _choose(self) -> None:
        if self._setting:
            return
        training = self.bench.variant.training
        if not self.scaling.disabled:
            training = replace(training, scale_rewards=self.scaling.value)
        aggregation = self.aggregation.value if self.bench.start.aggregation else ""
        self._change(replace(self.bench.variant, aggregation=aggregation, training=training), "choice")

    def _change(self, variant: Variant, what: str) -> None:
        """Go over to a variant, if its figures can be computed; else all stays as it was, with the reason."""
        before, now = self.bench.variant, time.monotonic()
        if variant == before:
            return
        try:
            variant.reward(self.bench.scored.reward)
            self.bench.ground.to_score(variant)
        except (RewardError, InputError) as error:
            self.message.warn(str(error))
            self._show(before)
            return
        if what != self._last[0] or now - self._last[1] > ONE_MOVE:
            self._undone.append(before)
        self._last = (what, now)
        self.bench.variant = variant

    def _undo(self) -> None:
        if not self._undone:
            self.message.tell("Nothing to undo: this is the reward as it was given.")
            return
        self._go(self._undone.pop())

    def _reset(self) -> None:
        if self.bench.variant != self.bench.start:
            self._undone.append(self.bench.variant)
        self._go(self.bench.start)

    def _go(self, variant: Variant) -> None:
        self._last = ("", 0.0)
        self._show(variant)
        self.bench.variant = variant

    # what they show

    def _show(self, variant: Variant) -> None:
        def put() -> None:
            for name, weight in variant.weights.items():
                self._show_weight(name, weight)
            for name, gate in variant.gates.items():
                self.switches[name].value = gate is not None
                for limit, control in self.thresholds[name].items():
                    control.value = getattr(gate or self.bench.start.gates[name], limit)
            if variant.aggregation:
                self.aggregation.value = variant.aggregation
            self.scaling.value = variant.training.scale_rewards

        self._hold(put)

    def _show_weight(self, name: str, value: float) -> None:
        slider = self.sliders[name]
        if abs(value) > slider.max:  # typed beyond the end of the slider
            slider.max, slider.min = abs(value), -abs(value)
        slider.value = self.numbers[name].value = value

    def _draw(self, change: Any = None) -> None:
        to_score = self.bench.ground.to_score(self.bench.variant)
        self.picture.value = live(self.bench)
        self.score_rows.layout.display = "" if to_score else "none"
        if to_score:
            told = ", ".join(f"{count:,} rows for {name!r}" for name, count in to_score.items())
            self.message.warn(f"An open gate lets in {told}, which were never scored; they count as missing.")
        else:
            self.message.clear()
        self.written.value = ""

    def _score(self) -> None:
        self.message.tell("Scoring ...")
        try:
            self.bench.score_missing()
        except (RewardError, InputError) as error:
            self.message.warn(str(error))

    def _show_code(self) -> None:
        line = self.bench.variant.line(self.bench.scored.reward)
        try:
            code = Writer(Path.cwd()).file(self.bench.reward)
        except RewardError as error:
            code = f"# It cannot be written as a file: {error}\nreward = {line}\n"
        self.written.value = copied(code)


def _weight(name: str, weight: float, width: float) -> tuple[Any, Any]:
    """A slider and a box for a weight, named by the component."""
    reach = max(1.0, 2 * abs(weight))
    slider = widgets.FloatSlider(
        value=weight,
        min=-reach,
        max=reach,
        step=STEP,
        readout=False,
        description=name,
        tooltip=f"weight of {name}",
        style={"description_width": f"{width:g}em"},
        layout={"width": f"{width + 10:g}em"},
    )
    box = widgets.FloatText(
        value=weight,
        step=0.05,
        tooltip=f"weight of {name} as a number",
        layout={"width": "5.5em"},
    )
    return classed(slider, f"rewardkit-weight-{name}"), classed(box, f"rewardkit-weight-box-{name}")


def _gate_controls(name: str, gate: Gate | None) -> tuple[Any, dict[str, Any]]:
    """A switch for a gate on a column, and a box for each of its limits that is a number."""
    assert gate is not None
    switch = widgets.Checkbox(
        value=True,
        description=f"{name} only where {gate.on}",
        indent=False,
        tooltip=f"the gate of {name}: off, it always counts",
        layout={"width": "auto", "margin": "0 0 0 1.5em"},
    )
    limits = {
        limit: widgets.FloatText(
            value=float(value),
            step=0.1,
            description=SIGNS[limit],
            tooltip=f"limit of the gate of {name}",
            style={"description_width": "1.5em"},
            layout={"width": "7em"},
        )
        for limit in SIGNS
        if isinstance(value := getattr(gate, limit), int | float) and not isinstance(value, bool)
    }
    return classed(switch, f"rewardkit-gate-{name}"), {
        limit: classed(box, f"rewardkit-{limit.replace('_', '-')}-{name}") for limit, box in limits.items()
    }


SIGNS = {"at_least": "\u2265", "at_most": "\u2264", "equals": "="}


def _choice(name: str, options: Any, value: str, mark: str) -> Any:
    made = widgets.Dropdown(
        options=options,
        value=value or None,
        description=name,
        style={"description_width": "8em"},
        layout={"width": "19.5em"},
    )
    return classed(made, mark)
