"""Compose: weights, gates and aggregation by hand, and beside them what they do.

Nothing is scored while they move.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.errors import InputError, RewardError
from rewardkit.findings import percent
from rewardkit.html import markup
from rewardkit.html.pictures import group_svg, histogram_svg, spark_svg
from rewardkit.notebook.workbench.bench import Bench, remember
from rewardkit.notebook.workbench.parts import (
    Message,
    Panel,
    html,
    redraw,
    render,
    row,
    stack,
)
from rewardkit.notebook.workbench.variant import (
    Figures,
    name_components,
    share_of_turned_signs,
)
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import AGGREGATIONS
from rewardkit.rewards.save import Writer
from rewardkit.rewards.training import SCALINGS
from rewardkit.scoring.outcomes import ABSTAINED, GATED

LARGEST_WEIGHT = 1000.0
"""Largest weight that can be typed: where groups are scaled only ratios matter."""
ONE_MOVE = 0.8
"""Seconds within which moves of one slider are one step for Undo. Our choice."""
LIMIT_SIGNS = {"at_least": "\u2265", "at_most": "\u2264", "equals": "="}
SCALED = ("grpo", "dr_grpo", "batch")
"""Estimators of advantages to which `scale_rewards` applies."""


class Compose(Panel):
    """Controls that make a `Variant` of the reward, beside what it does."""

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
        farthest = max(LARGEST_WEIGHT, abs(variant.base.reward.weights[name]))
        if weight is None or abs(weight) > farthest:
            value = "an empty box" if weight is None else f"{weight:g}"
            self._refuse(
                f"The weight of {name!r} is between {-farthest:g} and {farthest:g}, "
                f"not {value}; it stays {variant.weights[name]:g}."
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
        """Go over to other settings, or say why they cannot be computed."""
        now, variant = time.monotonic(), replace(self.bench.variant, **settings)
        try:
            variant.make_reward()
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
            reason = f"# It cannot be written as a file: {error}"
            code = f"{reason}\nreward = {self.bench.variant.line}\n"
        self.written.value = render("copied", code)

    # what it shows

    def draw_controls(self) -> None:
        """Draw the controls as the variant has them, over what the page shows."""
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
        redraw(self.settings, render("settings", choices, variant.is_routed))
        redraw(self.controls, render("controls", rows))

    def _gate_row(self, name: str) -> dict[str, Any] | None:
        """Return the gate of a component with its numeric limits; None without one."""
        if name not in self.bench.variant.gates:
            return None
        gate = self._gates[name]
        limits = {limit: getattr(gate, limit) for limit in LIMIT_SIGNS}
        return {
            "on": gate.on,
            "is_on": self.bench.variant.gates[name] is not None,
            "limits": [
                (limit, LIMIT_SIGNS[limit], value)
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
        score = render("do", ["score"], "Score them", "run what the gates let in")
        self.to_score.value = score if to_score else ""
        if to_score:
            counts = [
                f"{count:,} rows for {name!r}" for name, count in to_score.items()
            ]
            self.message.warn(
                f"An open gate lets in {', '.join(counts)}, which were never scored; "
                "they count as missing."
            )
        elif not any(variant.weights.values()):
            self.message.warn(
                "No component has a weight, so nothing is paid and no row has a reward."
            )
        else:
            self.message.clear()
        self.written.value = ""


# --- what the settings do, beside the controls


def live(bench: Bench) -> str:
    """Draw a row for each component, then pictures and figures."""
    now, before = bench.figures, bench.before
    moved = bench.variant != bench.start
    pictures = histogram_svg(now.rewards, before.rewards if moved else None)
    pictures += group_svg(now.low, now.mean, now.high, now.tied)
    reasons: dict[str, None] = {}
    for view in bench.views:
        if view.context.label is None and view.context.why_no_label:
            reasons[f"The label is not used: {view.context.why_no_label}."] = None
    rows = [_effect(bench, title, moved) for title in now.effective]
    figures = markup.html_of(_table(now, before, moved))
    return render(
        "live",
        rows,
        _settings(bench),
        bench.variant.is_routed,
        moved,
        markup.html_of(pictures),
        figures,
        list(reasons),
    )


def _settings(bench: Bench) -> list[tuple[list[str], Any]]:
    """Return the settings of now by the command that sets each."""
    variant = bench.variant
    scaling = variant.training.scale_rewards
    now: list[tuple[list[str], Any]] = [(["choose", "scale_rewards"], scaling)]
    now += [(["choose", "aggregation"], variant.aggregation)]
    now += [
        (["weigh", name], float(f"{weight:.6g}"))
        for name, weight in variant.weights.items()
    ]
    return now + [
        (["gate", name, "on"], gate is not None) for name, gate in variant.gates.items()
    ]


def _table(now: Figures, before: Figures, moved: bool) -> str:
    """Return the figures at the start and now."""
    both = (before, now)
    rows = [
        ("mean reward", *map(_mean, both)),
        ("groups of two or more", *(f"{item.several:,}" for item in both)),
        (
            "groups without a signal",
            *(f"{percent(one.tied_share)} ({one.tied.sum():,})" for one in both),
        ),
    ]
    if not all(math.isnan(item.auc) for item in both):
        aucs = ["-" if math.isnan(item.auc) else f"{item.auc:.3f}" for item in both]
        rows.append(("label AUC within groups", *aucs))
    if now.missing or before.missing:
        rows.append(("rewards missing", *(f"{item.missing:,}" for item in both)))
    if moved:
        rows.append(
            (
                "advantages whose sign turned",
                "",
                percent(share_of_turned_signs(before, now)),
            )
        )
    header = ("figure", "start", "now") if moved else ("figure", "start")
    return markup.table(
        header, [row[: len(header)] for row in rows], numeric=header[1:]
    )


def _effect(bench: Bench, title: str, moved: bool) -> dict[str, Any]:
    """Return a component's share of the squared advantage, its weight and scores."""
    weights, share, gate = bench.variant.weights, bench.figures.effective[title], ""
    _, name = name_components(bench.views)[title]
    declared = abs(weights[name]) / (sum(map(abs, weights.values())) or 1.0)
    start = [bench.before.effective.get(title, math.nan)] if moved else []
    if name in bench.variant.gates:
        status = bench.scores.status(name)
        judged = status[status != ABSTAINED]  # what the gate is on was judged
        open_ = float((judged != GATED).mean()) if len(judged) else math.nan
        gate = f"its gate is open in {percent(open_)} of the rows"
    return {
        "name": title,
        "weight": f"{weights[name]:g}",
        "shares": [
            percent(item).replace("under ", "<") for item in (declared, share, *start)
        ],
        "declared": 100 * declared,
        "effective": 100 * min(max(np.nan_to_num(share), 0.0), 1.0),
        "spark": _sparks(bench)[title],
        "gate": gate,
    }


def _sparks(bench: Bench) -> dict[str, Any]:
    """Draw how the scores of each component are spread, which no weight moves."""

    def draw() -> dict[str, Any]:
        pictures = {}
        for title, (view, name) in name_components(bench.views).items():
            svg = spark_svg(view.scores[name], view.components[name].range)
            pictures[title] = markup.html_of(svg)
        return pictures

    scores, _ = bench.gated(bench.variant)
    return remember(bench.drawn, scores, draw)


def _mean(item: Figures) -> str:
    rewards = item.rewards[~np.isnan(item.rewards)]
    if not len(rewards):
        return "-"
    return f"{rewards.mean():.3f} \u00b1 {rewards.std():.3f}"
