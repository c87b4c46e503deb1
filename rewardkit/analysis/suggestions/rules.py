"""Rules that change what is paid: partial credit, weights, gates, limits, removals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rewardkit.analysis.findings import conclusive
from rewardkit.analysis.findings.shortcuts import measures_length
from rewardkit.analysis.statistics import group_stats, ratio
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.suggestions.change import (
    Change,
    LeftOut,
    Proposal,
    Proposals,
    why_not_run,
)
from rewardkit.analysis.view import View
from rewardkit.findings import Findings
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
SAME_AS_LABEL = 0.99
"""Share of the rows on which a component that says the label agrees. Our choice."""
TIED_CODES = (
    "zero_std_groups",
    "clustered",
    "sparse",
    "starved",
    "saturated",
    "constant",
)
"""Findings that a further component answers."""


def graduate(view: View, scores: Scores, findings: Findings) -> Proposals:
    """Propose partial credit beside an all-or-nothing comparison of numbers."""
    label = _unused_name(view, scores)
    for name, item in view.components.items():
        fault = find_fault(findings, ("constant", "sparse", "binary"), name)
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
            yield proposal


def _unused_name(view: View, scores: Scores) -> str:
    names = {*view.names, *scores.reward.fields, *scores.rollouts.names}
    name = "close"
    number = 1
    while name in names:
        number += 1
        name = f"close_{number}"
    return name


def find_fault(
    findings: Findings, codes: Iterable[str], *names: str | None
) -> str | None:
    """Return the first of these codes of which one of the components has a finding."""
    for code in codes:
        for name in names:
            if conclusive(findings, code, component=name):
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


def pay_component(view: View, scores: Scores, findings: Findings) -> Proposals:
    """Propose a weight for a component that is recorded and not paid.

    One that repeats the trusted label weighs as much as the whole reward; one that
    varies where siblings tie weighs a part of the primary component.
    """
    primary = abs(view.components[view.primary].weight)
    ties = find_fault(findings, TIED_CODES, None, view.primary)
    for name, item in view.components.items():
        if item.weight or item.range is None:
            continue
        weight = 0.0
        why = f"{name!r} is recorded, not paid, and "
        if _says_label(view, name):
            weight = float(np.nanmax(view.rewards) - np.nanmin(view.rewards))
            why += f"says what {view.context.label_name!r} says"
        elif ties and name not in view.task:
            if group_stats(view.scores[name], view.groups).live.any():
                weight = CLOSE_WEIGHT * primary
            why += "differs among siblings that earn the same"
        if weight:
            change = Change(weights={name: float(f"{weight:.2g}")})
            yield Proposal("pay_component", name, why, change, scores)


def _says_label(view: View, name: str) -> bool:
    """Return whether nearly all scores of a component equal the trusted label."""
    label = view.context.label
    if label is None:
        return False
    is_labelled = ~np.isnan(label)
    same = view.scores[name][is_labelled] == label[is_labelled]
    return bool(len(same) and same.mean() >= SAME_AS_LABEL)


def gate_component(view: View, scores: Scores, findings: Findings) -> Proposals:
    """Propose a gate on the task for a component that pays wrong answers too much."""
    low, high = view.span(view.primary)
    is_right = view.primary_scores >= high
    is_wrong = view.primary_scores < high
    if not is_right.any() or high <= low:
        return
    is_length_biased = bool(conclusive(findings, "length_bias"))
    phantom_payers = set()
    for finding in findings:
        if finding.code == "phantom" and finding.severity != "info":
            shares = finding.evidence["by"].items()
            phantom_payers |= {name for name, value in shares if value >= PAYS_THERE}
    for name, item in view.components.items():
        if name in view.task or item.weight <= 0 or item.gate is not None:
            continue
        is_blamed = name in phantom_payers
        is_blamed |= bool(conclusive(findings, "dominant", component=name))
        is_blamed |= is_length_biased and _follows_length(view, name)
        pays_wrong = (is_wrong & (np.nan_to_num(view.scores[name]) != 0)).any()
        if not is_blamed or not pays_wrong:
            continue
        if reason := _why_no_gate(view, scores, name):
            yield LeftOut(f"a gate for {name!r} is left out: {reason}")
            continue
        behind = gate(view.primary, at_least=float(high))
        why = (
            f"{name!r} is paid among wrong answers; behind a gate it counts only where "
            "the task is done"
        )
        change = Change(components={name: {"gate": behind}})
        yield Proposal("gate_component", name, why, change, scores)


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
    auc = ratio(*concordance(view.payments[name], view.context.lengths, view.groups))
    return max(auc, 1 - auc) >= view.thresholds["order_bias"]


def soften_length(view: View, scores: Scores, findings: Findings) -> Proposals:
    """Propose a longer fall for a length penalty that decides the advantage."""
    length_bias = conclusive(findings, "length_bias")
    for name, item in view.components.items():
        is_blamed = length_bias or conclusive(findings, "dominant", component=name)
        options = _softer_options(item.function)
        is_length = bool(options) or measures_length(item)
        if not is_blamed or not item.weight or not is_length:
            continue
        if reason := why_not_run(scores.reward, {name}):
            yield LeftOut(f"a softer {name!r} is left out: {reason}")
        elif options:  # else it is as soft as its limits let it be
            softer = replace(item.function, **options)  # type: ignore[type-var]
            change = Change(components={name: {"function": softer}})
            why = (
                f"{name!r} falls over {WIDER:g} times the stretch, so that the length "
                "decides less"
            )
            yield Proposal("soften_length", name, why, change, scores)


def _softer_options(function: Any) -> dict[str, float]:
    """Return the new options of a softer length function by name, {} without any."""
    options = {}
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


def remove_component(view: View, scores: Scores, findings: Findings) -> Proposals:
    """Propose weight 0 for a constant, dead, redundant or dominant component."""
    codes = ("constant", "dead", "redundant", "dominant")
    for name, item in view.components.items():
        fault = find_fault(findings, codes, name)
        is_task = name in view.task or view.paid_names == [name]
        if fault == "dominant" and not view.task_is_known:
            is_task = True  # it may be
        if not fault or is_task or item.weight <= 0:
            continue
        why = f"{name!r} is {fault}: record it instead of paying it"
        change = Change(weights={name: 0.0})
        yield Proposal("remove_component", name, why, change, scores)
