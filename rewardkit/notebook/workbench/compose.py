"""Compose: weights, gates and aggregation by hand, and beside them what they do.

Nothing is scored while they move.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError, RewardError
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.live import live
from rewardkit.notebook.workbench.parts import (
    Message,
    Panel,
    html,
    made,
    redraw,
    row,
    stack,
)
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import AGGREGATIONS
from rewardkit.rewards.save import Writer
from rewardkit.rewards.training import SCALINGS

FARTHEST = 1000.0
"""The largest weight that can be typed: only the ratio of weights matters where groups are scaled."""
ONE_MOVE = 0.8
"""Seconds within which moves of one control are one step for Undo: a slider that is drawn. Our choice."""
SIGNS = {"at_least": "\u2265", "at_most": "\u2264", "equals": "="}
SCALED = ("grpo", "dr_grpo", "batch")
"""Estimators of advantages to which `scale_rewards` applies."""


class Compose(Panel):
    """Controls that make a `Variant` of the reward, a row a component, beside the picture of what it does."""

    title = "Compose"

    def __init__(self, bench: Bench) -> None:
        self.bench, self.message = bench, Message()
        self._last: tuple[str, float] = ("", 0.0)
        self._by_page = False  # then the page shows already what moved
        self._gates: dict[
            str, Gate
        ] = {}  # the last gate of each component that has a switch
        panes = ("settings", "to-score", "written", "controls", "picture")
        self.settings, self.to_score, self.written, self.controls, self.picture = (
            html(f"rewardkit-{name}") for name in panes
        )
        above = (self.settings, self.message.widget, self.to_score, self.written)
        board = row(self.controls, self.picture, mark="rk-bench-board")
        self.widget = stack(*above, board, mark="rewardkit-compose")
        bench.commands |= {
            "weigh": self._weigh,
            "gate": self._move_gate,
            "choose": self._choose,
            "undo": self._undo,
            "reset": self._reset,
            "code": self._show_code,
            "score": self._score,
        }
        bench.observe(self._draw, ["variant", "revised"])
        self._draw()

    # what the page asks for

    def _weigh(self, name: str, weight: float | None) -> None:
        variant = self.bench.variant
        farthest = max(FARTHEST, abs(variant.base.reward.weights[name]))
        if weight is None or abs(weight) > farthest:
            said = "an empty box" if weight is None else f"{weight:g}"
            ends = f"between {-farthest:g} and {farthest:g}"
            self._refuse(
                f"The weight of {name!r} is {ends}, not {said}; it stays {variant.weights[name]:g}."
            )
        else:
            self._change(
                f"weight {name}", weights={**variant.weights, name: weight + 0.0}
            )

    def _move_gate(self, name: str, what: str, value: Any) -> None:
        """Switch a gate on or off, or move one of its limits."""
        gates = self.bench.variant.gates
        try:
            if value is None:
                raise ValueError(
                    "a limit is a number; switch the gate off to pay always"
                )
            limit: Any = {} if what == "on" else {what: float(value)}
            gate = replace(self._gates[name], **limit)
        except ValueError as error:
            self._refuse(f"{error}; the gate stays as it was")
            return
        is_on = value if what == "on" else gates[name] is not None
        if self._change(f"gate {name}", gates={**gates, name: gate if is_on else None}):
            self._gates[name] = gate

    def _choose(self, name: str, value: str) -> None:
        if name == "scale_rewards":
            self._change(
                name, training=replace(self.bench.variant.training, scale_rewards=value)
            )
        else:
            self._change(name, aggregation=value)

    def _change(self, what: str, **settings: Any) -> bool:
        """Go over to other settings, if their figures can be computed; else all stays, with the reason."""
        now, variant = time.monotonic(), replace(self.bench.variant, **settings)
        try:
            variant.reward  # noqa: B018
            self.bench.gated(variant)
        except InputError as error:
            self._refuse(str(error))
            return False
        if variant != self.bench.variant:
            drawn = what == self._last[0] and now - self._last[1] <= ONE_MOVE
            self._last, self._by_page = (what, now), True
            self.bench.go(variant, undone=drawn)
        return True

    def _refuse(self, why: str) -> None:
        """Say why nothing changes, and set the controls back."""
        self.message.warn(why)
        self.draw_controls()

    def _undo(self) -> None:
        self._last = ("", 0.0)
        if self.bench.undone:
            self.bench.go(self.bench.undone.pop(), undone=True)
        else:
            self.message.tell("Nothing to undo: this is the reward as it was given.")

    def _reset(self) -> None:
        self._last = ("", 0.0)
        self.bench.go(self.bench.start)

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

    # what it shows

    def draw_controls(self) -> None:
        """Draw the controls as the variant has them, also where the page shows something else."""
        variant, start = self.bench.variant, self.bench.start
        self._gates |= {name: gate for name, gate in variant.gates.items() if gate}
        name, scaling = variant.training.name, variant.training.scale_rewards
        why = "" if name in SCALED else f"the advantages of {name} are not scaled so"
        choices: list[Any] = [("scale_rewards", SCALINGS, scaling, why)]
        if start.aggregation:
            choices.insert(0, ("aggregation", AGGREGATIONS, variant.aggregation, ""))
        rows = [
            (name, weight, self._gate_row(name))
            for name, weight in variant.weights.items()
        ]
        redraw(self.settings, made("settings", choices, variant.is_routed))
        redraw(self.controls, made("controls", rows))

    def _gate_row(self, name: str) -> dict[str, Any] | None:
        """The gate of a component on a column, and its limits that are numbers; ``None`` without one."""
        if name not in self.bench.variant.gates:
            return None
        gate = self._gates[name]
        limits = {limit: getattr(gate, limit) for limit in SIGNS}
        return {
            "on": gate.on,
            "is_on": self.bench.variant.gates[name] is not None,
            "limits": [
                (limit, SIGNS[limit], value)
                for limit, value in limits.items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            ],
        }

    def _draw(self, _: Any = None) -> None:
        variant = self.bench.variant
        if not self._by_page:
            self.draw_controls()
        self._by_page = False
        _, to_score = self.bench.gated(variant)
        self.picture.value = live(self.bench)
        score = made("do", ["score"], "Score them", "run what the gates let in")
        self.to_score.value = score if to_score else ""
        if to_score:
            told = ", ".join(
                f"{count:,} rows for {name!r}" for name, count in to_score.items()
            )
            self.message.warn(
                f"An open gate lets in {told}, which were never scored; they count as missing."
            )
        elif not any(variant.weights.values()):
            self.message.warn(
                "No component has a weight, so nothing is paid, and no row has a reward."
            )
        else:
            self.message.clear()
        self.written.value = ""
