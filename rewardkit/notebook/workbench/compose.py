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
from rewardkit.notebook.workbench.parts import Message, Panel, button, classed, control, copied, row
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
ONE_MOVE = 0.8
"""Seconds within which moves of one control are one step for Undo: a slider that is drawn. Our choice."""
SIGNS = {"at_least": "\u2265", "at_most": "\u2264", "equals": "="}


class Compose(Panel):
    """Controls that make a `Variant` of the reward, a row a component, beside the picture of what it does."""

    title = "Compose"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._last: tuple[str, float] = ("", 0.0)
        self._built: Any = None
        self._gates: dict[str, Gate] = {}  # the last gate of each component that has a switch
        start = bench.start
        self.aggregation = self._choice("aggregation", AGGREGATIONS, start.aggregation or None)
        self.scaling = self._choice("scale_rewards", SCALINGS, start.training.scale_rewards)
        if start.training.name not in ("grpo", "dr_grpo", "batch"):
            self.scaling.disabled = True
            self.scaling.tooltip = f"the advantages of {start.training.name} are not scaled so"
        self.undo = button("Undo", "rewardkit-undo", self._undo, "take the last change back")
        self.reset = button("Reset", "rewardkit-reset", self._reset, "back to the reward as it was given")
        self.code = button(
            "Show as code", "rewardkit-code", self._show_code, "the reward with these settings as Python"
        )
        self.score_rows = button(
            "Score them", "rewardkit-score-rows", self._score, "run what the gates let in"
        )
        self.message, self.written = Message(), classed(widgets.HTML(), "rewardkit-written")
        self.picture = classed(widgets.HTML(), "rewardkit-picture")
        self.controls = classed(widgets.VBox(), "rewardkit-controls")
        choices = [self.aggregation] if start.aggregation else []
        bar = row(*choices, self.scaling, self.undo, self.reset, self.code)
        parts = [bar, self.message.widget, self.score_rows, self.written]
        if bench.scored.reward.routing is not None:
            note = "The parts of a route keep their gates and aggregation here; compose a part by itself."
            parts.append(widgets.HTML(f"<p>{note}</p>"))
        board = classed(widgets.HBox([self.controls, self.picture]), "rk-bench-board")
        self.widget = classed(widgets.VBox([*parts, board]), "rewardkit-compose")
        bench.observe(lambda change: self._draw(), ["variant", "revised"])
        self._draw()

    def _choice(self, name: str, options: Any, value: str | None) -> Any:
        mark = f"rewardkit-{name.replace('_', '-')}"
        return control(widgets.Dropdown, name, mark, self._choose, options=options, value=value)

    def _build(self, variant: Variant) -> None:
        """A row of controls for each component, and one for its gate."""
        self._built = variant.base, tuple(variant.gates)
        self.sliders: dict[str, Any] = {}
        self.numbers: dict[str, Any] = {}
        self.switches: dict[str, Any] = {}
        self.thresholds: dict[str, dict[str, Any]] = {}
        rows = [classed(widgets.HTML("<p>component and weight</p>"), "rk-bench-row")]
        for name, weight in variant.weights.items():
            self.sliders[name], self.numbers[name] = _weight(name, weight)
            self.sliders[name].observe(lambda change, name=name: self._slid(name, change["new"]), "value")
            self.numbers[name].observe(lambda change, name=name: self._typed(name, change["new"]), "value")
            rows.append(row(self.sliders[name], self.numbers[name], mark="rk-bench-row"))
            if name in variant.gates:
                self.switches[name], self.thresholds[name] = _gate_controls(name, self._gates[name])
                for one in (self.switches[name], *self.thresholds[name].values()):
                    one.observe(lambda change, name=name: self._gate_moved(name), "value")
                rows.append(row(self.switches[name], *self.thresholds[name].values(), mark="rk-bench-row"))
        self.controls.children = rows

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
        farthest = max(FARTHEST, abs(self.bench.variant.base.reward.weights[name]))
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

    def _gate_moved(self, name: str) -> None:
        if self._setting:
            return
        limits: dict[str, Any] = {limit: float(one.value) for limit, one in self.thresholds[name].items()}
        try:
            gate = replace(self._gates[name], **limits) if self.switches[name].value else None
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
        now = time.monotonic()
        if variant == self.bench.variant:
            return
        try:
            variant.reward  # noqa: B018  said now
            self.bench.ground.gated(variant)
        except (RewardError, InputError) as error:
            self.message.warn(str(error))
            self._show(self.bench.variant)
            return
        drawn = what == self._last[0] and now - self._last[1] <= ONE_MOVE
        self._last = (what, now)
        self.bench.go(variant, undone=drawn)

    def _undo(self) -> None:
        self._last = ("", 0.0)
        if self.bench.undone:
            self.bench.go(self.bench.undone.pop(), undone=True)
        else:
            self.message.tell("Nothing to undo: this is the reward as it was given.")

    def _reset(self) -> None:
        self._last = ("", 0.0)
        self.bench.go(self.bench.start)

    # what they show

    def _show(self, variant: Variant) -> None:
        self._gates.update({name: gate for name, gate in variant.gates.items() if gate})
        if self._built != (variant.base, tuple(variant.gates)):
            self._build(variant)

        def put() -> None:
            for name, weight in variant.weights.items():
                self._show_weight(name, weight)
            for name, gate in variant.gates.items():
                self.switches[name].value = gate is not None
                for limit, one in self.thresholds[name].items():
                    one.value = getattr(gate or self._gates[name], limit)
            if variant.aggregation:
                self.aggregation.value = variant.aggregation
            self.scaling.value = variant.training.scale_rewards

        self._hold(put)

    def _show_weight(self, name: str, value: float) -> None:
        slider = self.sliders[name]
        with slider.hold_sync():  # or the page answers with the value that fits the old ends
            if abs(value) > slider.max:  # typed beyond the end of the slider
                slider.max, slider.min = abs(value), -abs(value)
            slider.value = value
        self.numbers[name].value = float(f"{value:.6g}")

    def _draw(self) -> None:
        variant = self.bench.variant
        self._show(variant)
        _, to_score = self.bench.ground.gated(variant)
        self.picture.value = live(self.bench)
        self.score_rows.layout.display = "" if to_score else "none"
        if to_score:
            told = ", ".join(f"{count:,} rows for {name!r}" for name, count in to_score.items())
            self.message.warn(f"An open gate lets in {told}, which were never scored; they count as missing.")
        elif not any(variant.weights.values()):
            self.message.warn("No component has a weight, so nothing is paid, and no row has a reward.")
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
        try:
            code = Writer(Path.cwd()).file(self.bench.reward)
        except RewardError as error:
            code = f"# It cannot be written as a file: {error}\nreward = {self.bench.variant.line}\n"
        self.written.value = copied(code)


def _weight(name: str, weight: float) -> tuple[Any, Any]:
    """A slider and a box for a weight, named by the component."""
    reach, told = max(1.0, 2 * abs(weight)), f"weight of {name}"
    ends: dict[str, Any] = {"min": -reach, "max": reach, "step": STEP, "readout": False}
    mark = f"rewardkit-weight-{name}"
    slider = control(widgets.FloatSlider, name, mark, value=weight, tooltip=told, **ends)
    mark, told = f"rewardkit-weight-box-{name}", f"{told} as a number"
    return slider, control(widgets.FloatText, "", mark, value=weight, step=0.05, tooltip=told)


def _gate_controls(name: str, gate: Gate) -> tuple[Any, dict[str, Any]]:
    """A switch for a gate on a column, and a box for each of its limits that is a number."""
    switch = widgets.Checkbox(
        value=True,
        description=f"only where {gate.on}",
        indent=False,
        tooltip=f"the gate of {name}: off, it always counts",
    )
    limits = {
        limit: control(
            widgets.FloatText,
            sign,
            f"rewardkit-{limit.replace('_', '-')}-{name}",
            value=float(value),
            step=0.1,
            tooltip=f"limit of the gate of {name}",
        )
        for limit, sign in SIGNS.items()
        if isinstance(value := getattr(gate, limit), int | float) and not isinstance(value, bool)
    }
    return classed(switch, f"rewardkit-gate-{name}"), limits
