"""Rules that change what is paid: partial credit, weights, gates, limits, removals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rewardkit.analysis.findings import FEWEST_GROUPS
from rewardkit.analysis.findings.components import OFTEN_VARIES
from rewardkit.analysis.findings.shortcuts import measures_length
from rewardkit.analysis.statistics import group_stats
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.suggestions.change import (
    Change,
    Proposal,
    Proposals,
    has_finding,
    why_not_run,
)
from rewardkit.analysis.suggestions.measure import halves
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, counted, percent
from rewardkit.primitives import measure
from rewardkit.primitives.gates import gate
from rewardkit.primitives.verify import closeness
from rewardkit.rewards.component import Component
from rewardkit.scoring.rescore import moved_by
from rewardkit.scoring.scores import Scores

CLOSE_WEIGHT = 0.3
"""Weight of partial credit, as a share of that of the component beside it.

Our choice, so that a wrong answer never earns what a right one does.
"""
CLOSE_ZERO_AT = 0.5
"""Relative error from which partial credit is 0. Our choice."""
LEAST_NUMBERS = 0.9
"""Share of truths that must be numbers for closeness to be offered. Our choice."""
WIDER = 2.0
"""Times the stretch over which a softer length penalty falls. Our choice."""
PAYS_THERE = 0.05
"""Share of the squared advantage, where nothing is right, that is worth a gate.

Our choice.
"""
TIED_CODES = (
    "zero_std_groups",
    "clustered",
    "sparse",
    "starved",
    "saturated",
    "constant",
)
"""Findings that a further component answers."""
MOST_FIT_STEPS = 40
WIDEST_MOVE = 10.0
"""Factor by which a weight may move.

Our choice: what needs more is a fault of the component, not of its weight.
"""
NEARER = 0.8
"""Share of the difference that may remain for other weights to be worth a line.

Our choice.
"""
VARIES_TO_BE_RAISED = 0.5
"""Share of the live groups in which a component must vary for its weight to be raised.

Our choice: a larger weight of a component that hardly varies makes a few groups louder
and does nothing in the others.
"""
MOST_OFF = 0.1
"""Difference of effective and declared weight above which weights are offered.

Our choice.
"""
FEWEST_PROMPTS_TO_FIT = 2 * FEWEST_GROUPS  # so that either half can give a verdict


def graduate(view: View, scores: Scores, findings: Collection[Finding]) -> Proposals:
    """Propose partial credit beside an all-or-nothing comparison of numbers."""
    result = Proposals()
    label = _unused_name(view, scores)
    for name, item in view.components.items():
        fault = _find_fault(findings, ("constant", "sparse", "binary"), name)
        source = prediction_column(scores, item)
        if not (fault and source and item.weight > 0):
            continue
        column = source.removeprefix("field/")
        added = Component(
            label,
            partial(closeness, zero_at=CLOSE_ZERO_AT),
            weight=round(CLOSE_WEIGHT * item.weight, 6),
            why="partial credit by relative error",
            columns={"prediction": column} if column != "prediction" else None,
        )
        earned = "never earned" if fault == "constant" else "all or nothing"
        why = (
            f"{name!r} is {earned}; partial credit by relative error tells near misses "
            "apart"
        )
        proposal = Proposal("graduate", name, why, Change(added=(added,)), scores)
        values = proposal.changed.score(label)
        judged = values[view.gate == 1]  # elsewhere the reward's gate is closed
        if not len(judged) or np.isnan(judged).mean() > 1 - LEAST_NUMBERS:
            continue
        if ((values > 0) & (values < 1)).any():
            result.proposals.append(proposal)
    return result


def _unused_name(view: View, scores: Scores) -> str:
    columns = map(str, scores.rollouts.table.columns)
    names = {*view.names, *scores.reward.fields, *columns}
    name, number = "close", 1
    while name in names:
        number += 1
        name = f"close_{number}"
    return name


def _find_fault(
    findings: Collection[Finding], codes: Iterable[str], *names: str | None
) -> str | None:
    """Return the first of these codes found for one of these components, or None."""
    for code in codes:
        for name in names:
            if has_finding(findings, code, name):
                return code
    return None


def prediction_column(scores: Scores, item: Component) -> str | None:
    """Return the column that a component compares with `ground_truth`, or None.

    It is the one other that the component asks for, a field or a rollout column.
    """
    others = [name for name in item.asks_for if name != "ground_truth"]
    if "ground_truth" not in item.asks_for or "ground_truth" not in scores.table:
        return None
    if len(others) != 1:
        return None
    for name in (f"field/{others[0]}", others[0]):
        if name in scores.table:
            return name
    return None


def pay_component(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposals:
    """Propose a weight for a recorded component that varies where siblings tie."""
    result = Proposals()
    weight = round(CLOSE_WEIGHT * abs(view.components[view.primary].weight), 6)
    if not weight or not _find_fault(findings, TIED_CODES, None, view.primary):
        return result
    for name, item in view.components.items():
        if item.weight or name in view.task or item.range is None:
            continue
        if group_stats(view.scores[name], view.groups).live.any():
            why = (
                f"{name!r} is recorded, not paid, and differs among siblings that earn "
                "the same"
            )
            change = Change(weights={name: weight})
            result.proposals.append(
                Proposal("pay_component", name, why, change, scores)
            )
    return result


def gate_component(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposals:
    """Propose a gate on the task for a component that pays wrong answers too much."""
    result = Proposals()
    low, high = view.span(view.primary)
    is_right = view.scores[view.primary] >= high
    is_wrong = view.scores[view.primary] < high
    if not is_right.any() or high <= low:
        return result
    is_length_biased = has_finding(findings, "length_bias", None)
    phantom_payers: set[str] = set()
    for finding in findings:
        if finding.code == "phantom" and finding.severity != "info":
            shares = finding.evidence["by"].items()
            phantom_payers |= {name for name, value in shares if value >= PAYS_THERE}
    for name, item in view.components.items():
        if name in view.task or item.weight <= 0 or item.gate is not None:
            continue
        is_blamed = has_finding(findings, "dominant", name)
        is_blamed |= name in phantom_payers
        is_blamed |= is_length_biased and _follows_length(view, name)
        pays_wrong = (is_wrong & (np.nan_to_num(view.scores[name]) != 0)).any()
        if not is_blamed or not pays_wrong:
            continue
        if reason := _why_no_gate(view, scores, name):
            result.left_out.append(f"a gate for {name!r} is left out: {reason}")
            continue
        behind = gate(view.primary, at_least=float(high))
        why = (
            f"{name!r} is paid among wrong answers; behind a gate it counts only where "
            "the task is done"
        )
        change = Change(components={name: {"gate": behind}})
        result.proposals.append(Proposal("gate_component", name, why, change, scores))
    return result


def _why_no_gate(view: View, scores: Scores, name: str) -> str:
    """Return why a gate on a component cannot be tried; "" where it can."""
    if scores.run.get("ignore_gates"):
        return "gates were ignored in scoring"
    moved = moved_by(view.reward, gated={name})
    if others := sorted(moved.names - {name}):
        return f"{others[0]!r} hangs on its score"
    if moved.run:  # it is run itself where it sees several rows at once
        return why_not_run(scores.reward, moved.run)
    return ""


def _follows_length(view: View, name: str) -> bool:
    """Return whether a paid component orders siblings by their length."""
    agree, pairs = concordance(view.paid[name], view.context.lengths, view.groups)
    if not pairs.sum():
        return False
    share = float(agree.sum() / pairs.sum())
    return max(share, 1 - share) >= view.thresholds["order_bias"]


def soften_length(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposals:
    """Propose a longer fall for a length penalty that decides the advantage."""
    result = Proposals()
    is_length_biased = has_finding(findings, "length_bias", None)
    for name, item in view.components.items():
        is_blamed = is_length_biased or has_finding(findings, "dominant", name)
        options = _softer_options(item.function)
        is_length = bool(options) or measures_length(item)
        if not is_blamed or not item.weight or not is_length:
            continue
        if reason := why_not_run(scores.reward, {name}):
            result.left_out.append(f"a softer {name!r} is left out: {reason}")
        elif options:  # else it is as soft as its limits let it be
            softer = replace(item.function, **options)  # type: ignore[type-var]
            change = Change(components={name: {"function": softer}})
            why = (
                f"{name!r} falls over {WIDER:g} times the stretch, so that the length "
                "decides less"
            )
            result.proposals.append(
                Proposal("soften_length", name, why, change, scores)
            )
    return result


def _softer_options(function: Any) -> dict[str, float]:
    """Return the options that a softer length function has otherwise, by name."""
    options: dict[str, float] = {}
    if isinstance(function, measure.overlong) and function.buffer < function.limit:
        options["buffer"] = min(function.limit, WIDER * function.buffer)
    if isinstance(function, measure.length):
        if function.full_until is not None and function.zero_from is not None:
            fall = function.zero_from - function.full_until
            options["zero_from"] = function.full_until + WIDER * fall
        if function.zero_until:
            fall = function.full_from - function.zero_until
            options["zero_until"] = max(0.0, function.full_from - WIDER * fall)
    return options


def remove_component(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposals:
    """Propose weight 0 for a constant, dead, redundant or dominant component."""
    result = Proposals()
    codes = ("constant", "dead", "redundant", "dominant")
    paid = [name for name in view.names if view.components[name].weight]
    for name, item in view.components.items():
        fault = _find_fault(findings, codes, name)
        if not fault or name in view.task or item.weight <= 0 or paid == [name]:
            continue
        if fault == "dominant" and not view.reward.task_is_known:
            continue  # it may be the task
        why = f"{name!r} is {fault}: record it instead of paying it"
        change = Change(weights={name: 0.0})
        result.proposals.append(Proposal("remove_component", name, why, change, scores))
    return result


# --- weights that hold what is declared


def declared_weights(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposals:
    """Propose weights under which each component holds what it declares.

    Fitted on one half of the prompts, measured on the other. The task keeps its weight;
    the others together get no more than they have. That the task holds more than it
    declares is no fault.
    """
    result = Proposals()
    paid = [name for name in view.names if view.components[name].weight]
    varying = _find_varying(view, paid, OFTEN_VARIES)
    if len(varying) < 2 or not view.effective_weights:
        return result
    declared = {name: view.declared_weights[name] for name in varying}
    target = {name: share / sum(declared.values()) for name, share in declared.items()}
    if _largest_difference(view.effective_weights, target) < MOST_OFF:
        return result
    if not view.reward.task_is_known:
        result.left_out.append(
            "no other weights are offered: nothing says which component is the task; "
            "declare it primary"
        )
        return result
    if view.bootstrap.total < FEWEST_PROMPTS_TO_FIT:
        result.left_out.append(
            "weights for the declared influence are left out: "
            f"{counted(view.bootstrap.total, 'prompt')} cannot be fitted on one half "
            f"and measured on the other; {FEWEST_PROMPTS_TO_FIT} would do"
        )
        return result
    fit, held_out = halves(view, scores)
    if not fit.effective_weights or not held_out.effective_weights:
        return result
    weights = _fit_weights(fit, target)
    after = held_out.under(held_out.reward.reweigh(weights))
    was = _largest_difference(held_out.effective_weights, target)
    now = 1.0
    if after.effective_weights:
        now = _largest_difference(after.effective_weights, target)
    if now > NEARER * was:
        return result
    why = (
        "what components declare and what they hold of the advantage differ by up to "
        f"{percent(was)}; under these weights by up to {percent(now)}. Fitted on one "
        "half of the prompts, measured on the other. No weight moves more than "
        f"{WIDEST_MOVE:g} times, that of {view.primary!r} not at all: weights say who "
        "holds the advantage, not whether that is right"
    )
    raised = []
    for name, weight in weights.items():
        if abs(weight) > abs(view.components[name].weight):
            raised.append(repr(name))
    if raised:
        why += f": read what {' and '.join(raised)} would be paid more for"
    rounded = {name: round(share, 3) for name, share in target.items()}
    result.proposals.append(
        Proposal(
            "declared_weights",
            None,
            why,
            Change(weights=weights),
            scores,
            (held_out, after),
            {"declared": rounded},
        )
    )
    return result


def _find_varying(view: View, names: list[str], share: float) -> list[str]:
    """Return those that vary in more than this share of the live groups."""
    least = share * view.live.sum()
    return [name for name in names if view.component_stats[name].live.sum() > least]


def _fit_weights(view: View, target: Mapping[str, float]) -> dict[str, float]:
    """Search for weights: less where a component holds too much, more where too little.

    Returns:
        The weights that come nearest to the target, without those that did not change.
    """
    primary = view.primary
    start = {name: float(view.components[name].weight) for name in target}
    sizes = {name: abs(weight) for name, weight in start.items() if name != primary}
    room = sum(sizes.values())
    raisable = _find_varying(view, list(target), VARIES_TO_BE_RAISED)
    largest = {}
    for name, size in sizes.items():
        largest[name] = size * (WIDEST_MOVE if name in raisable else 1.0)
    effective, best = view.effective_weights, dict[str, float]()
    best_difference = _largest_difference(effective, target)
    least_primary = -1.0
    if primary in target:
        least_primary = min(effective[primary], target[primary])
    for _ in range(MOST_FIT_STEPS):
        for name, size in sizes.items():
            factor = np.sqrt(target[name] / max(effective[name], 0.02))
            sizes[name] = min(size * factor, largest[name])
        shrink = min(1.0, room / sum(sizes.values()))
        weights = {}
        for name, size in sizes.items():
            size = max(size * shrink, abs(start[name]) / WIDEST_MOVE)
            weights[name] = float(f"{np.copysign(size, start[name]):.3g}")
        sizes = {name: abs(weight) for name, weight in weights.items()}
        effective = view.under(view.reward.reweigh(weights)).effective_weights
        if not effective:  # under these weights no group has a signal
            break
        if sum(sizes.values()) > room * 1.01:
            continue
        difference = _largest_difference(effective, target)
        keeps_primary = effective.get(primary, 0.0) >= least_primary
        if keeps_primary and difference < best_difference - 1e-9:
            best_difference = difference
            best = weights
    return {name: weight for name, weight in best.items() if weight != start[name]}


def _largest_difference(
    shares: Mapping[str, float], target: Mapping[str, float]
) -> float:
    return max(abs(shares[name] - target[name]) for name in target)
