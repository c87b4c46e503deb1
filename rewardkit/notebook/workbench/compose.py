"""Compose: weights, gates and aggregation by hand, and beside them what they do.

Nothing is scored while they move.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from rewardkit.errors import InputError, RewardError
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.live import live
from rewardkit.notebook.workbench.parts import Message, Panel, button, html, made, row, stack
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import AGGREGATIONS
from rewardkit.rewards.save import Writer
from rewardkit.rewards.training import SCALINGS

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
        hint = "the reward with these settings as Python"
        self.code = button("Show as code", "rewardkit-code", self._show_code, hint)
        hint = "run what the gates let in"
        self.score_rows = button("Score them", "rewardkit-score-rows", self._score, hint)
        self.message, self.written = Message(), html("rewardkit-written")
        self.picture, self.controls = html("rewardkit-picture"), stack(mark="rewardkit-controls")
        choices = [self.aggregation] if start.aggregation else []
        bar = row(*choices, self.scaling, self.undo, self.reset, self.code)
        parts = [bar, self.message.widget, self.score_rows, self.written]
        if bench.scored.reward.routing is not None:
            note = "The parts of a route keep their gates and aggregation here; compose a part by itself."
            parts.append(widgets.HTML(f"<p>{note}</p>"))
        board = row(self.controls, self.picture, mark="rk-bench-board")
        self.widget = stack(*parts, board, mark="rewardkit-compose")
        bench.observe(self._draw, ["variant", "revised"])
        self._draw()

    def _choice(self, name: str, options: Any, value: str | None) -> Any:
        mark = f"rewardkit-{name.replace('_', '-')}"
        return self.control(widgets.Dropdown, name, mark, self._choose, options=options, value=value)

    def _build(self, variant: Variant) -> None:
        """A row of controls for each component, and one for its gate on a column with its limits."""
        self.sliders: dict[str, Any] = {}
        self.numbers: dict[str, Any] = {}
        self.switches: dict[str, Any] = {}
        self.thresholds: dict[str, dict[str, Any]] = {}
        rows = [html("rk-bench-row", "<p>component and weight</p>")]
        for name, weight in variant.weights.items():
            mark, told = f"rewardkit-weight-{name}", {"value": weight, "tooltip": f"weight of {name}"}
            reach = max(1.0, 2 * abs(weight))
            ends: dict[str, Any] = {"min": -reach, "max": reach, "step": STEP, "readout": False}
            slid, typed = partial(self._slid, name), partial(self._typed, name)
            self.sliders[name] = self.control(widgets.FloatSlider, name, mark, slid, **told, **ends)
            mark, told["tooltip"] = f"rewardkit-weight-box-{name}", f"weight of {name} as a number"
            self.numbers[name] = self.control(widgets.FloatText, "", mark, typed, step=0.05, **told)
            rows.append(row(self.sliders[name], self.numbers[name], mark="rk-bench-row"))
            if name in variant.gates:
                rows.append(self._gate_row(name, self._gates[name]))
        self.controls.children = rows

    def _gate_row(self, name: str, gate: Gate) -> Any:
        """A switch for a gate on a column, and a box for each of its limits that is a number."""
        moved, told = partial(self._gate_moved, name), f"the gate of {name}: off, it always counts"
        self.switches[name] = self.control(
            widgets.Checkbox,
            f"only where {gate.on}",
            f"rewardkit-gate-{name}",
            moved,
            indent=False,
            tooltip=told,
        )
        self.thresholds[name] = {}
        for limit, sign in SIGNS.items():
            value = getattr(gate, limit)
            if isinstance(value, int | float) and not isinstance(value, bool):
                mark, told = f"rewardkit-{limit.replace('_', '-')}-{name}", f"limit of the gate of {name}"
                box = self.control(widgets.FloatText, sign, mark, moved, step=0.1, tooltip=told)
                self.thresholds[name][limit] = box
        return row(self.switches[name], *self.thresholds[name].values(), mark="rk-bench-row")

    # what the controls say

    def _slid(self, name: str) -> None:
        value = self.sliders[name].value
        # a page puts a weight between two steps on one of them when it is shown: nobody moved it
        if abs(value - self.bench.variant.weights[name]) > STEP / 2 + TINY:
            self._weigh(name, round(value, 4))

    def _typed(self, name: str) -> None:
        value, now = self.numbers[name].value, self.bench.variant.weights[name]
        farthest = max(FARTHEST, abs(self.bench.variant.base.reward.weights[name]))
        if abs(value) <= farthest:  # not where it is NaN
            self._weigh(name, value)
        else:
            self.message.warn(
                f"The weight {value:g} of {name!r} is not between {-farthest:g} and {farthest:g}; it stays "
                f"{now:g}."
            )
            self._show(self.bench.variant)

    def _weigh(self, name: str, weight: float) -> None:
        self._change(f"weight {name}", weights={**self.bench.variant.weights, name: weight + 0.0})

    def _gate_moved(self, name: str) -> None:
        limits: dict[str, Any] = {limit: float(one.value) for limit, one in self.thresholds[name].items()}
        try:
            gate = replace(self._gates[name], **limits) if self.switches[name].value else None
        except ValueError as error:
            self.message.warn(f"{error}; the gate stays as it was")
        else:
            self._change(f"gate {name}", gates={**self.bench.variant.gates, name: gate})

    def _choose(self) -> None:
        training = self.bench.variant.training
        if not self.scaling.disabled:
            training = replace(training, scale_rewards=self.scaling.value)
        aggregation = self.aggregation.value if self.bench.start.aggregation else ""
        self._change("choice", aggregation=aggregation, training=training)

    def _change(self, what: str, **settings: Any) -> None:
        """Go over to other settings, if their figures can be computed; else all stays, with the reason."""
        now, variant = time.monotonic(), replace(self.bench.variant, **settings)
        if variant == self.bench.variant:
            return
        try:
            variant.reward  # noqa: B018  said now
            self.bench.gated(variant)
        except InputError as error:
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
        """Set the controls to a variant."""
        self._gates |= {name: gate for name, gate in variant.gates.items() if gate}
        with self._set():
            if self._built != (variant.base, tuple(variant.gates)):
                self._built = variant.base, tuple(variant.gates)
                self._build(variant)
            for name, weight in variant.weights.items():
                slider = self.sliders[name]
                with slider.hold_sync():  # or the page answers with the value that fits the old ends
                    if abs(weight) > slider.max:  # typed beyond the end of the slider
                        slider.max, slider.min = abs(weight), -abs(weight)
                    slider.value = weight
                self.numbers[name].value = float(f"{weight:.6g}")
            for name, gate in variant.gates.items():
                self.switches[name].value = gate is not None
                for limit, one in self.thresholds[name].items():
                    one.value = getattr(gate or self._gates[name], limit)
            if variant.aggregation:
                self.aggregation.value = variant.aggregation
            self.scaling.value = variant.training.scale_rewards

    def _draw(self, _: Any = None) -> None:
        variant = self.bench.variant
        self._show(variant)
        _, to_score = self.bench.gated(variant)
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
        except InputError as error:
            self.message.warn(str(error))

    def _show_code(self) -> None:
        try:
            code = Writer(Path.cwd()).file(self.bench.reward)
        except RewardError as error:
            code = f"# It cannot be written as a file: {error}\nreward = {self.bench.variant.line}\n"
        self.written.value = made("copied", code)
