"""Changes of a reward that answer what was found, before their effect is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rewardkit.analysis.changes import Change, why_not_run
from rewardkit.analysis.findings import percent
from rewardkit.analysis.grouping import group_stats
from rewardkit.analysis.hacking_findings import OF_LENGTH
from rewardkit.analysis.measured import halves, off, view_of
from rewardkit.analysis.pairs import concordance
from rewardkit.analysis.thresholds import FEWEST_GROUPS
from rewardkit.analysis.view import View
from rewardkit.component import Component, describe
from rewardkit.primitives.gating import gate
from rewardkit.primitives.lengths import Length, Overlong
from rewardkit.primitives.verification import closeness
from rewardkit.scoring import Scores

__all__ = ["Found", "Proposal", "prediction_column", "proposed"]

CLOSE_WEIGHT = 0.3
"""Of the component it is beside, so that a wrong answer never earns what a right one does: our choice."""
CLOSE_ZERO_AT = 0.5  # relative error from which on it earns nothing: our choice
READABLE = 0.9  # share of truths that must be numbers for closeness to be offered: our choice
STEPS = 40
WIDEST = 20.0
"""How far a weight may move: beyond, a component is as good as removed, which is another suggestion."""
ENOUGH_NEARER = 0.8  # what is left of the difference for other weights to be worth a line: our choice
OFTEN = 0.2
"""Share of the live groups in which a component must vary to be weighed by its influence.

Our choice: a penalty that rarely fires is meant to hold little.
"""
MOST_OFF = 0.1  # difference of effective and declared weight from which other weights are offered: our choice
WIDER = 2.0  # times the stretch over which a softer length penalty falls: our choice
FEWEST_HALVES = 2 * FEWEST_GROUPS  # prompts, so that either half can give a verdict

Found = set[tuple[str, str | None]]
"""Codes of findings and the components that they are about."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A `change`, the `line` that makes it, the `why` of it, and its `scores`; not measured yet.

    `views` are those before and after it where they are not of all rows (held out), `more` what else it says
    after the change, and `before` what else before it.
    """

    code: str
    component: str | None
    line: str
    why: str
    change: Change
    scores: Scores
    views: tuple[View, View] | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Mapping[str, Any], ...] = ()


def proposed(view: View, scores: Scores, codes: Found) -> tuple[list[Proposal], list[str]]:
    """The changes to measure, and why some that would fit the findings are left out."""
    notes: list[str] = []
    found = [
        *_graduate(view, scores, codes),
        *_pay_recorded(view, scores, codes),
        *_weights(view, scores, notes),
        *_gates(view, scores, codes, notes),
        *_soften(view, scores, codes, notes),
        *_remove(view, scores, codes),
    ]
    return found, notes


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
        if np.isnan(values).mean() > 1 - READABLE or not ((values > 0) & (values < 1)).any():
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
    asked = item.asked_for
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
        found.append(_reweighed("pay_component", name, {name: weight}, why, scores))
    return found


def _reweighed(
    code: str, name: str | None, weights: Mapping[str, float], why: str, scores: Scores, **more: Any
) -> Proposal:
    shown = ", ".join(f'"{key}": {weight!r}' for key, weight in weights.items())
    line = f"scores.reweigh({{{shown}}})"
    change = Change(weights=weights)
    return Proposal(code, name, line, why, change, change.of_scores(scores), **more)


def _weights(view: View, scores: Scores, notes: list[str]) -> list[Proposal]:
    """Weights under which what each component holds comes nearest to what it declares.

    Fitted on one half of the prompts, measured on the other.
    """
    often = OFTEN * view.stats.live.sum()
    live = [
        name
        for name in view.names
        if view.components[name].weight and view.component_stats[name].live.sum() > often
    ]
    if len(live) < 2 or not view.effective_weights:
        return []
    declared = {name: view.declared_weights[name] for name in live}
    whole = sum(declared.values())
    target = {name: share / whole for name, share in declared.items()}
    if off(view.effective_weights, target) < MOST_OFF:
        return []
    if view.bootstrap.total < FEWEST_HALVES:
        notes.append(
            f"weights for the declared influence are left out: {view.bootstrap.total} prompts are too few to "
            f"fit them on one half and measure on the other; {FEWEST_HALVES} would do"
        )
        return []
    fit, held = halves(view, scores)
    if not fit.effective_weights or not held.effective_weights:
        return []
    best = _nearest(fit, target)
    after = held.under(held.reward.reweigh(best))
    was, now = off(held.effective_weights, target), _off_or_all(after, target)
    if now > ENOUGH_NEARER * was:
        return []
    alone = _alone(held, live)
    limit = (
        f" (weights cannot do more: in {percent(alone)} of the live groups a single component varies and "
        "holds all of it)"
        if alone > now
        else ""
    )
    why = (
        f"what a weight declares and what it holds of the squared advantage differ by up to {percent(was)}; "
        f"under these weights by up to {percent(now)}{limit}. Fitted on one half of the prompts, measured on "
        "the other"
    )
    before = {"declared": {name: round(share, 3) for name, share in target.items()}}
    return [_reweighed("declared_weights", None, best, why, scores, views=(held, after), before=before)]


def _off_or_all(view: View, target: Mapping[str, float]) -> float:
    return off(view.effective_weights, target) if view.effective_weights else 1.0


def _nearest(view: View, target: Mapping[str, float]) -> dict[str, float]:
    """The best weights of a damped search: more weight where a component holds too little."""
    start = {name: float(view.components[name].weight) for name in target}
    total = sum(abs(weight) for weight in start.values())
    weights, best, best_off = start, start, off(view.effective_weights, target)
    held = view.effective_weights
    for _ in range(STEPS):
        moved = {name: weights[name] * np.sqrt(target[name] / max(held[name], 0.02)) for name in target}
        scale = total / sum(abs(weight) for weight in moved.values())
        weights = {name: _bounded(moved[name] * scale, start[name]) for name in target}
        held = view.under(view.reward.reweigh(weights)).effective_weights
        if not held:  # under these weights no group has a signal
            break
        if off(held, target) < best_off - 1e-9:
            best, best_off = weights, off(held, target)
    return best


def _bounded(weight: float, start: float) -> float:
    """The weight with three digits, at most `WIDEST` times larger or smaller than it was."""
    size = float(np.clip(abs(weight), abs(start) / WIDEST, abs(start) * WIDEST))
    return float(f"{np.copysign(size, start):.3g}")


def _alone(view: View, names: list[str]) -> float:
    """Share of the live groups in which only one component varies: no weight changes who holds these."""
    moving = sum(view.component_stats[name].live.astype(int) for name in names)
    return float(((moving == 1) & view.stats.live).sum() / max(view.stats.live.sum(), 1))


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
        if _asked_by_others(view, name) or scores.run.get("ignore_gates"):
            notes.append(
                f"a gate for {name!r} is left out: "
                + ("gates were ignored in scoring" if scores.run.get("ignore_gates") else "others ask for it")
            )
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


def _asked_by_others(view: View, name: str) -> bool:
    others = [item for item in view.reward.components if item.name != name]
    gates = [view.reward.gate, *(item.gate for item in others)]
    predicates = any(gate is not None and not isinstance(gate.on, str) for gate in gates)
    return (
        any(name in item.asked_for for item in others)
        or any(gate is not None and gate.on == name for gate in gates)
        or (predicates and list(view.names).index(name) < len(view.names) - 1)
    )


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
        known = describe(item.function).startswith(OF_LENGTH)
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
    if isinstance(function, Overlong) and function.buffer < function.limit:
        options["buffer"] = min(function.limit, WIDER * function.buffer)
    if isinstance(function, Length):
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
        proposal = _reweighed("remove_component", name, {name: 0.0}, "", scores)
        after = view_of(proposal.scores, view).advantages
        size = np.abs(np.nan_to_num(view.advantages)).sum()
        moved = float(np.nansum(np.abs(after - view.advantages)) / size) if size else 0.0
        effect = "no advantage changes" if moved < 1e-6 else f"{percent(moved)} of the advantage moves"
        why = f"{name!r} is {fault}: recorded instead of paid, {effect}"
        found.append(replace(proposal, why=why, more={"advantage_moved": moved}))
    return found
