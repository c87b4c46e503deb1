"""Changes of a reward that answer what was found, before their effect is measured."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rewardkit.analysis.changes import Change, why_not_run
from rewardkit.analysis.declared import weights_for_influence
from rewardkit.analysis.dependents import moved_by, only_run
from rewardkit.analysis.findings.shortcuts import measures_length
from rewardkit.analysis.measured import view_of
from rewardkit.analysis.proposal import Found, Proposal, reweighed
from rewardkit.analysis.statistics.groups import group_stats
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.statistics.signal import moved
from rewardkit.analysis.view import View
from rewardkit.findings import percent
from rewardkit.primitives import measure
from rewardkit.primitives.gates import gate
from rewardkit.primitives.verify import closeness
from rewardkit.rewards.component import Component
from rewardkit.scoring.scores import Scores

__all__ = ["prediction_column", "proposed"]

CLOSE_WEIGHT = 0.3
"""Of the component it is beside, so that a wrong answer never earns what a right one does: our choice."""
CLOSE_ZERO_AT = 0.5  # relative error from which on it earns nothing: our choice
READABLE = 0.9  # share of truths that must be numbers for closeness to be offered: our choice
WIDER = 2.0  # times the stretch over which a softer length penalty falls: our choice
MOVED = 1e-6  # share of the advantage; less is rounding


def proposed(view: View, scores: Scores, codes: Found) -> tuple[list[Proposal], list[str]]:
    """The changes to measure, and why some that would fit the findings are left out."""
    notes: list[str] = []
    found = [
        *_that_move(view, _graduate(view, scores, codes), notes),
        *_that_move(view, _pay_recorded(view, scores, codes), notes),
        *weights_for_influence(view, scores, notes),
        *_that_move(view, _gates(view, scores, codes, notes), notes),
        *_that_move(view, _soften(view, scores, codes, notes), notes),
        *_remove(view, scores, codes),
    ]
    return found, notes


def _that_move(view: View, found: list[Proposal], notes: list[str]) -> list[Proposal]:
    """The proposals that change an advantage, or whether there is one."""
    kept = []
    for item in found:
        after = view_of(item.scores, view).advantages
        same = np.array_equal(np.isnan(after), np.isnan(view.advantages))
        if same and moved(view.advantages, after) < MOVED:
            what = "" if view.additive else f", as the reward is a {view.reward.aggregation}"
            notes.append(f"{item.code} for {item.component!r} is left out: it changes no advantage{what}")
        else:
            kept.append(item)
    return kept


def _graduate(view: View, scores: Scores, codes: Found) -> list[Proposal]:
    """Partial credit by closeness beside an all-or-nothing component that compares numbers."""
    found = []
    for name in view.names:
        item = view.components[name]
        fault = next((code for code in ("constant", "sparse", "binary") if (code, name) in codes), None)
        source = prediction_column(scores, item)
        if not (fault and source and item.weight > 0):
            continue
        asked = source.removeprefix("field/")
        mapped = {"prediction": asked} if asked != "prediction" else None
        added = Component(
            _free_name("close", view.names, scores),
            partial(closeness, zero_at=CLOSE_ZERO_AT),
            weight=round(CLOSE_WEIGHT * item.weight, 6),
            why="partial credit by relative error",
            columns=mapped,
        )
        change = Change(added=(added,))
        changed = change.of_scores(scores)
        values = changed.score(added.name)
        reached = values[view.gate == 1]  # the gate on the whole reward keeps the others from it
        if (
            not len(reached)
            or np.isnan(reached).mean() > 1 - READABLE
            or not ((values > 0) & (values < 1)).any()
        ):
            continue
        line = (
            f'rk.Component("{added.name}", partial(rk.verify.closeness, zero_at={CLOSE_ZERO_AT}), '
            f"weight={added.weight!r}{f', columns={mapped}' if mapped else ''})"
        )
        why = (
            f"{name!r} is {'never earned' if fault == 'constant' else 'all or nothing'}; partial credit by "
            "relative error lets near misses differ"
        )
        found.append(Proposal("graduate", name, line, why, change, changed))
    return found


def prediction_column(scores: Scores, item: Component) -> str | None:
    """The column that a component compares with `ground_truth`.

    The one other it asks for, a field or a rollout column.
    """
    asked = item.asks_for
    if "ground_truth" not in asked or "ground_truth" not in scores.table:
        return None
    others = [name for name in asked if name != "ground_truth"]
    if len(others) != 1:
        return None
    return next((name for name in (f"field/{others[0]}", others[0]) if name in scores.table), None)


def _free_name(name: str, taken: tuple[str, ...], scores: Scores) -> str:
    names = {*taken, *scores.reward.fields, *map(str, scores.rollouts.table.columns)}
    return next(
        label for label in (name, *(f"{name}_{count}" for count in range(2, 100))) if label not in names
    )


def _pay_recorded(view: View, scores: Scores, codes: Found) -> list[Proposal]:
    """A weight for what is recorded and varies among siblings, where ties rule."""
    told = {code for code, name in codes if name in (None, view.primary)}
    weight = round(CLOSE_WEIGHT * abs(view.components[view.primary].weight), 6)
    if (
        not told & {"zero_std_groups", "clustered", "sparse", "starved", "saturated", "constant"}
        or not weight
    ):
        return []
    found = []
    for name, item in view.components.items():
        varies = item.range is not None and group_stats(view.scores[name], view.groups).live.any()
        if item.weight or name == view.primary or not varies:
            continue
        why = f"{name!r} is recorded, not paid, and differs among siblings that earn the same"
        found.append(reweighed("pay_component", name, {name: weight}, why, scores))
    return found


def _gates(view: View, scores: Scores, codes: Found, notes: list[str]) -> list[Proposal]:
    """A gate on the primary component for what is paid among wrong answers and holds too much."""
    low, high = view.span(view.primary)
    right = view.scores[view.primary] >= high
    found = []
    for name, item in view.components.items():
        wrong = (view.scores[view.primary] < high) & (np.nan_to_num(view.scores[name]) != 0)
        blamed = ("dominant", name) in codes or (
            ("length_bias", None) in codes and _follows_length(view, name)
        )
        free = name != view.primary and item.weight > 0 and item.gate is None
        if not (blamed and free and wrong.any() and right.any() and high > low):
            continue
        why_not = only_run(view.reward, {name})
        if scores.run.get("ignore_gates"):
            why_not = "gates were ignored in scoring"
        elif behind := sorted(moved_by(view.reward, {name}) - {name}):
            why_not = f"{behind[0]!r} is behind a gate on it"
        if why_not:
            notes.append(f"a gate for {name!r} is left out: {why_not}")
            continue
        new = gate(view.primary, at_least=float(high))
        change = Change(components={name: {"gate": new}})
        line = _replaced(name, f"gate=rk.{new!r}", last=list(view.names).index(name), view=view)
        why = f"{name!r} is paid among wrong answers; behind a gate it counts only where the task is done"
        found.append(Proposal("gate_component", name, line, why, change, change.of_scores(scores)))
    return found


def _follows_length(view: View, name: str) -> bool:
    """Whether a paid component orders siblings by their length."""
    agree, pairs = concordance(view.paid[name], view.context.lengths, view.groups)
    value = float(agree.sum() / pairs.sum()) if pairs.sum() else 0.5
    return max(value, 1 - value) >= view.thresholds["order_bias"]


def _replaced(name: str, attributes: str, *, last: int | None = None, view: View | None = None) -> str:
    """The line that gives a component other attributes; at the end where its gate is on a later one."""
    changed = f"replace(item, {attributes})"
    if last is not None and view is not None and list(view.names).index(view.primary) > last:
        return (
            f'replace(reward, components=[*(item for item in reward.components if item.name != "{name}"), '
            f'*({changed} for item in reward.components if item.name == "{name}")])'
        )
    return (
        f'replace(reward, components=[{changed} if item.name == "{name}" else item '
        "for item in reward.components])"
    )


def _soften(view: View, scores: Scores, codes: Found, notes: list[str]) -> list[Proposal]:
    """A length penalty that falls over a longer stretch, where the length decides the advantage."""
    found = []
    for name, item in view.components.items():
        blamed = ("length_bias", None) in codes or ("dominant", name) in codes
        options = _softer(item.function)
        known = measures_length(item)
        if not (blamed and item.weight and (options or known)):
            continue
        if reason := why_not_run(scores.reward, {name}):
            notes.append(f"a softer {name!r} is left out: {reason}")
            continue
        if not options:  # it is as soft as its limits let it be
            continue
        change = Change(components={name: {"function": replace(item.function, **options)}})  # type: ignore[type-var]
        told = ", ".join(f"{option}={value!r}" for option, value in options.items())
        line = _replaced(name, f"function=replace(item.function, {told})")
        why = f"{name!r} falls over {WIDER:g} times the stretch, so that the length decides less"
        found.append(Proposal("soften_length", name, line, why, change, change.of_scores(scores)))
    return found


def _softer(function: Any) -> dict[str, float]:
    """The options of a length function that are other in a softer one; none where it is no such function."""
    options: dict[str, float] = {}
    if isinstance(function, measure.overlong) and function.buffer < function.limit:
        options["buffer"] = min(function.limit, WIDER * function.buffer)
    if isinstance(function, measure.length):
        if function.full_until is not None and function.zero_from is not None:
            options["zero_from"] = function.full_until + WIDER * (function.zero_from - function.full_until)
        if function.zero_until:
            fall = WIDER * (function.full_from - function.zero_until)
            options["zero_until"] = max(0.0, function.full_from - fall)
    return options


def _remove(view: View, scores: Scores, codes: Found) -> list[Proposal]:
    """Weight 0 for components that are constant, dead, redundant or dominant, and its effect."""
    found = []
    for name in view.names:
        fault = next(
            (code for code in ("constant", "dead", "redundant", "dominant") if (code, name) in codes), None
        )
        weight = view.components[name].weight
        rest = [other for other in view.names if other != name and view.components[other].weight]
        if fault is None or name == view.primary or weight <= 0 or not rest:
            continue
        proposal = reweighed("remove_component", name, {name: 0.0}, "", scores)
        after = view_of(proposal.scores, view).advantages
        share = moved(view.advantages, after)
        effect = "no advantage changes" if share < MOVED else f"{percent(share)} of the advantage moves"
        why = f"{name!r} is {fault}: recorded instead of paid, {effect}"
        found.append(replace(proposal, why=why, more={"advantage_moved": share}))
    return found
