"""Compose: controls for weights, gates and aggregation, beside their effects.

Moving a control scores nothing.
"""

from __future__ import annotations

import math
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.errors import InputError, RewardError
from rewardkit.findings import percent
from rewardkit.history.runs_folder import KEPT_RUNS
from rewardkit.html import markup
from rewardkit.html.blocks import join_html
from rewardkit.html.pictures import histogram_svg, spark_svg
from rewardkit.notebook.tables import draw_groups
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
    Variant,
    name_components,
    proposed_gates,
    share_of_turned_signs,
)
from rewardkit.plain import Record, is_number
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import AGGREGATIONS
from rewardkit.rewards.save import DefinitionWriter
from rewardkit.rewards.training import SCALINGS
from rewardkit.scoring.outcomes import ABSTAINED, GATED

LARGEST_WEIGHT = 1000.0
"""Largest weight that can be typed; with scaled groups only ratios matter."""
ONE_MOVE = 0.8
"""Seconds between moves of one slider that Undo treats as one. Our choice."""
LIMIT_SIGNS = {"at_least": "\u2265", "at_most": "\u2264", "equals": "="}
LEFT_OUT = {"label AUC within groups": "-", "rewards missing": "0"}
"""Figure -> text that says nothing; a row with only this text is left out."""
STEP = "weights_of_step"
OWN_STEP = "each row's own"
SCALED = ("grpo", "dr_grpo", "batch")
"""Estimators of advantages to which `scale_rewards` applies."""


class Compose(Panel):
    """The tab with controls that set the `Variant`, beside its effects."""

    title = "Compose"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.message = Message()
        self._last: tuple[str, float] = ("", 0.0)  # control and time of the last move
        self._by_page = False  # the page moved a control, and shows it already
        self._gates: dict[str, Gate] = {}  # component -> last gate of its switch
        self.settings = html("rewardkit-settings")
        self.to_score = html("rewardkit-to-score")
        self.written = html("rewardkit-written")
        self.controls = html("rewardkit-controls")
        self.picture = html("rewardkit-picture")
        board = row(self.controls, self.picture, mark="rk-bench-board")
        self.widget = stack(
            self.settings,
            self.message.widget,
            self.to_score,
            self.written,
            board,
            mark="rewardkit-compose",
        )
        bench.commands |= {
            "weigh": self._weigh,
            "gate": self._move_gate,
            "choose": self._choose,
            "undo": self._undo,
            "reset": self._reset,
            "code": self._show_code,
            "keep": self._keep,
            "score": self._score,
        }
        bench.observe(self._draw, ["variant", "revised"])
        self._draw()

    # commands of the page

    def _weigh(self, name: str, weight: float | None) -> None:
        variant = self.bench.variant
        farthest = max(LARGEST_WEIGHT, abs(variant.base.reward.weights[name]))
        if weight is None or abs(weight) > farthest:
            value = "an empty box" if weight is None else f"{weight:g}"
            self._refuse(
                f"The weight of {name!r} is between {-farthest:g} and {farthest:g}, "
                f"not {value}; it stays {variant.shown_weights[name]:g}."
            )
        else:
            weights = {**variant.weights, name: weight + 0.0}
            self._change(f"weight {name}", weights=weights)

    def _move_gate(self, name: str, control: str, value: Any) -> None:
        """Switch a gate on or off, or set the limit of a control."""
        gates = self.bench.variant.gates
        gate = self._gates[name]
        is_on = gates[name] is not None
        if control == "on":
            is_on = value
        elif value is None:
            self._refuse(
                "a limit is a number; switch the gate off to pay always; "
                "the gate stays as it was"
            )
            return
        else:
            try:
                limit: Any = {control: float(value)}
                gate = replace(gate, **limit)
            except ValueError as error:
                self._refuse(f"{error}; the gate stays as it was")
                return
        if self._change(f"gate {name}", gates={**gates, name: gate if is_on else None}):
            self._gates[name] = gate

    def _choose(self, name: str, value: str) -> None:
        if name == "scale_rewards":
            training = replace(self.bench.variant.training, scale_rewards=value)
            self._change(name, training=training)
        elif name == STEP:
            step = None if value == OWN_STEP else int(value)
            self._change(name, step=step)
        else:
            self._change(name, aggregation=value)

    def _change(self, control: str, **settings: Any) -> bool:
        """Switch to other settings; False, with a warning, if they are invalid."""
        now = time.monotonic()
        variant = replace(self.bench.variant, **settings)
        try:
            variant.make_reward()
            self.bench.gated(variant)
        except InputError as error:
            self._refuse(str(error))
            return False
        if variant != self.bench.variant:
            last_control, last_time = self._last
            is_same_move = control == last_control and now - last_time <= ONE_MOVE
            self._last = (control, now)
            self._by_page = True
            self.bench.go(variant, can_undo=not is_same_move)
        return True

    def _refuse(self, why: str) -> None:
        """Say why nothing changes, and reset the controls."""
        self.message.warn(why)
        self.draw_controls()

    def _undo(self) -> None:
        self._last = ("", 0.0)
        if self.bench.past_variants:
            self.bench.go(self.bench.past_variants.pop(), can_undo=False)
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

    def _keep(self) -> None:
        try:
            run = self.bench.keep()
        except (InputError, OSError) as error:
            self.message.warn(str(error))
            return
        name = run.name
        folder = shlex.quote(str(Path(KEPT_RUNS).resolve()))
        self.message.tell(
            f"Kept as {name} in {KEPT_RUNS}. To note what was tried: rewardkit runs "
            f"tag {name} --note TEXT --folder {folder}"
        )

    def _show_code(self) -> None:
        try:
            code = DefinitionWriter(Path.cwd()).file(self.bench.reward)
        except RewardError as error:
            code = f"# It cannot be written as a file: {error}\n"
        self.written.value = render("copied", code)

    # drawing

    def draw_controls(self) -> None:
        """Set the controls of the page to the settings of the variant."""
        variant = self.bench.variant
        start = self.bench.start
        if not variant.is_routed:
            self._gates = proposed_gates(variant.base.reward) | self._gates
        self._gates |= {name: gate for name, gate in variant.gates.items() if gate}
        choices: list[Any] = []
        if start.aggregation:
            choices.append(("aggregation", AGGREGATIONS, variant.aggregation, ""))
        trainer = variant.training.name
        scaling = variant.training.scale_rewards
        reason = ""
        if trainer not in SCALED:
            reason = f"the advantages of {trainer} are not scaled so"
        choices.append(("scale_rewards", SCALINGS, scaling, reason))
        if variant.schedule_steps:
            steps = [OWN_STEP, *map(str, variant.schedule_steps)]
            choices.append((STEP, steps, _step_text(variant), ""))
        rows = []
        for name, weight in variant.shown_weights.items():
            rows.append((name, weight, self._gate_row(name)))
        redraw(self.settings, render("settings", choices, variant.is_routed))
        redraw(self.controls, render("controls", rows))

    def _gate_row(self, name: str) -> Record | None:
        """Return the gate of a component and its numeric limits, or None."""
        if name not in self.bench.variant.gates:
            return None
        gate = self._gates[name]
        limits = []
        for limit, sign in LIMIT_SIGNS.items():
            value = getattr(gate, limit)
            if is_number(value):
                limits.append((limit, sign, value))
        is_on = self.bench.variant.gates[name] is not None
        return {"on": gate.on, "is_on": is_on, "limits": limits}

    def _draw(self, _: Any = None) -> None:
        variant = self.bench.variant
        if not self._by_page:
            self.draw_controls()
        self._by_page = False
        _, to_score = self.bench.gated(variant)
        self.picture.value = live(self.bench)
        button = ""
        if to_score:
            title = "run what the gates let in"
            button = render("do", ["score"], "Score them", title)
            counts = [
                f"{count:,} rows for {name!r}" for name, count in to_score.items()
            ]
            self.message.warn(
                f"An open gate lets in {', '.join(counts)}, which were never scored; "
                "they count as missing."
            )
        elif not any(variant.shown_weights.values()):
            self.message.warn(
                "No component has a weight, so nothing is paid and no row has a reward."
            )
        else:
            self.message.clear()
        self.to_score.value = button
        self.written.value = ""


# --- the effects of the settings


def live(bench: Bench) -> str:
    """Render a row for each component, then pictures and figures."""
    now = bench.figures
    before = bench.before
    moved = bench.variant != bench.start
    rewards_before = before.rewards if moved else None
    pictures = histogram_svg(now.rewards, rewards_before)
    pictures += join_html(draw_groups(bench.views))
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
    """Return the current settings, each with the command that sets it."""
    variant = bench.variant
    settings: list[tuple[list[str], Any]] = [
        (["choose", "scale_rewards"], variant.training.scale_rewards),
        (["choose", "aggregation"], variant.aggregation),
    ]
    if variant.schedule_steps:
        settings.append((["choose", STEP], _step_text(variant)))
    for name, weight in variant.shown_weights.items():
        settings.append((["weigh", name], float(f"{weight:.6g}")))
    for name, gate in variant.gates.items():
        settings.append((["gate", name, "on"], gate is not None))
    return settings


def _step_text(variant: Variant) -> str:
    """Return the text of the choice of a step."""
    return OWN_STEP if variant.step is None else str(variant.step)


def _table(now: Figures, before: Figures, moved: bool) -> str:
    """Render the figures at the start and now."""
    after = _describe(now)
    header = ["figure", "start"]
    rows = []
    for name, text in _describe(before).items():
        if {text, after[name]} != {LEFT_OUT.get(name)}:
            rows.append([name, text, after[name]])
    if moved:
        turned = percent(share_of_turned_signs(before, now))
        rows.append(["advantages whose sign turned", "", turned])
        header.append("now")
    rows = [row[: len(header)] for row in rows]
    return markup.table(header, rows, numeric=header[1:])


def _describe(figures: Figures) -> dict[str, str]:
    """Return the figures of the reward as texts, by name."""
    rewards = figures.rewards[~np.isnan(figures.rewards)]
    mean = auc = "-"
    if len(rewards):
        mean = f"{rewards.mean():.3f} \u00b1 {rewards.std():.3f}"
    if not math.isnan(figures.auc):
        auc = f"{figures.auc:.3f}"
    return {
        "mean reward": mean,
        "groups of two or more": f"{figures.several:,}",
        "groups without a signal": (
            f"{percent(figures.tied_share)} ({figures.tied:,})"
        ),
        "label AUC within groups": auc,
        "rewards missing": f"{figures.missing:,}",
    }


def _effect(bench: Bench, title: str, moved: bool) -> Record:
    """Return the row of a component: weight, shares, sparkline and gate."""
    weights = bench.variant.shown_weights
    _, name = name_components(bench.views)[title]
    total = sum(map(abs, weights.values()))
    declared = abs(weights[name]) / (total or 1.0)
    effective = bench.figures.effective[title]
    shares = [declared, effective]
    if moved:
        shares.append(bench.before.effective.get(title, math.nan))
    gates = (bench.variant.gates.get(name), bench.start.gates.get(name))
    gate = "" if name in bench.variant.gates else None  # no row beside a switch
    if gates != (None, None):
        status = bench.scores.status(name)
        judged = status[status != ABSTAINED]  # rows whose gate could be decided
        open_share = float((judged != GATED).mean()) if len(judged) else math.nan
        gate = f"its gate is open in {percent(open_share)} of the rows"
    return {
        "name": title,
        "weight": f"{weights[name]:g}",
        "shares": [percent(share).replace("under ", "<") for share in shares],
        "declared": 100 * declared,
        "effective": 100 * min(max(np.nan_to_num(effective), 0.0), 1.0),
        "spark": _sparks(bench)[title],
        "gate": gate,
    }


def _sparks(bench: Bench) -> Record:
    """Draw the distribution of each component's scores, which no weight changes."""

    def draw() -> Record:
        pictures = {}
        for title, (view, name) in name_components(bench.views).items():
            svg = spark_svg(view.scores[name], view.components[name].range)
            pictures[title] = markup.html_of(svg)
        return pictures

    scores, _ = bench.gated(bench.variant)
    return remember(bench.sparks, scores, draw)
