"""Rules that change what is paid: partial credit, recorded components, gates, softer lengths, removals."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from rewardkit.analysis.findings.shortcuts import measures_length
from rewardkit.analysis.rescore import moved_by
from rewardkit.analysis.statistics.groups import group_stats
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.suggestions.change import Change, why_not_run
from rewardkit.analysis.suggestions.proposal import Proposal, Proposed, told
from rewardkit.analysis.view import View
from rewardkit.findings import Finding
from rewardkit.primitives import measure
from rewardkit.primitives.gates import gate
from rewardkit.primitives.verify import closeness
from rewardkit.rewards.component import Component
from rewardkit.scoring.scores import Scores

CLOSE_WEIGHT = 0.3
"""Of the component it is beside, so that a wrong answer never earns what a right one does: our choice."""
CLOSE_ZERO_AT = 0.5  # relative error from which on it earns nothing: our choice
READABLE = (
    0.9  # share of truths that must be numbers for closeness to be offered: our choice
)
WIDER = 2.0  # times the stretch over which a softer length penalty falls: our choice
TIED = ("zero_std_groups", "clustered", "sparse", "starved", "saturated", "constant")
"""What a further component answers."""


def graduate(view: View, scores: Scores, findings: Collection[Finding]) -> Proposed:
    """Partial credit by closeness beside an all-or-nothing component that compares numbers."""
    taken = {
        *view.names,
        *scores.reward.fields,
        *map(str, scores.rollouts.table.columns),
    }
    numbered = ("close" if number == 1 else f"close_{number}" for number in count(1))
    label = next(name for name in numbered if name not in taken)
    for name, item in view.components.items():
        fault = _fault(findings, ("constant", "sparse", "binary"), name)
        source = prediction_column(scores, item)
        if not (fault and source and item.weight > 0):
            continue
        asked = source.removeprefix("field/")
        added = Component(
            label,
            partial(closeness, zero_at=CLOSE_ZERO_AT),
            weight=round(CLOSE_WEIGHT * item.weight, 6),
            why="partial credit by relative error",
            columns={"prediction": asked} if asked != "prediction" else None,
        )
        earned = "never earned" if fault == "constant" else "all or nothing"
        why = f"{name!r} is {earned}; partial credit by relative error tells near misses apart"
        found = Proposal("graduate", name, why, Change(added=(added,)), scores)
        values = found.changed.score(label)
        reached = values[
            view.gate == 1
        ]  # the gate on the whole reward keeps the others from it
        if (
            len(reached)
            and np.isnan(reached).mean() <= 1 - READABLE
            and ((values > 0) & (values < 1)).any()
        ):
            yield found


def _fault(
    findings: Collection[Finding], codes: Iterable[str], *names: str | None
) -> str | None:
    """The first of these codes that was found of one of these components, or of the reward."""
    return next(
        (code for code in codes if any(told(findings, code, name) for name in names)),
        None,
    )


def prediction_column(scores: Scores, item: Component) -> str | None:
    """The column that a component compares with `ground_truth`.

    The one other it asks for, a field or a rollout column.
    """
    others = [name for name in item.asks_for if name != "ground_truth"]
    if (
        len(others) != 1
        or "ground_truth" not in item.asks_for
        or "ground_truth" not in scores.table
    ):
        return None
    return next(
        (name for name in (f"field/{others[0]}", others[0]) if name in scores.table),
        None,
    )


def pay_component(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposed:
    """A weight for what is recorded and varies among siblings, where ties rule."""
    tied = _fault(findings, TIED, None, view.primary)
    weight = round(CLOSE_WEIGHT * abs(view.components[view.primary].weight), 6)
    for name, item in view.components.items() if tied and weight else ():
        if not item.weight and name not in view.task and item.range is not None:
            if group_stats(view.scores[name], view.groups).live.any():
                why = f"{name!r} is recorded, not paid, and differs among siblings that earn the same"
                yield Proposal(
                    "pay_component", name, why, Change(weights={name: weight}), scores
                )


def gate_component(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposed:
    """A gate on the primary component for what is paid among wrong answers and holds too much."""
    low, high = view.span(view.primary)
    right = view.scores[view.primary] >= high
    for name, item in view.components.items():
        wrong = (view.scores[view.primary] < high) & (
            np.nan_to_num(view.scores[name]) != 0
        )
        blamed = told(findings, "dominant", name)
        blamed |= told(findings, "length_bias", None) and _follows_length(view, name)
        free = name not in view.task and item.weight > 0 and item.gate is None
        if not (blamed and free and wrong.any() and right.any() and high > low):
            continue
        moved = moved_by(
            view.reward, gated={name}
        )  # it is run itself where it sees several rows at once
        others = sorted(moved.names - {name})
        why_not = why_not_run(scores.reward, moved.run) if moved.run else ""
        why_not = f"{others[0]!r} hangs on its score" if others else why_not
        why_not = (
            "gates were ignored in scoring"
            if scores.run.get("ignore_gates")
            else why_not
        )
        if why_not:
            yield f"a gate for {name!r} is left out: {why_not}"
            continue
        change = Change(
            components={name: {"gate": gate(view.primary, at_least=float(high))}}
        )
        why = f"{name!r} is paid among wrong answers; behind a gate it counts only where the task is done"
        yield Proposal("gate_component", name, why, change, scores)


def _follows_length(view: View, name: str) -> bool:
    """Whether a paid component orders siblings by their length."""
    agree, pairs = concordance(view.paid[name], view.context.lengths, view.groups)
    value = float(agree.sum() / pairs.sum()) if pairs.sum() else 0.5
    return max(value, 1 - value) >= view.thresholds["order_bias"]


def soften_length(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposed:
    """A length penalty that falls over a longer stretch, where the length decides the advantage."""
    for name, item in view.components.items():
        blamed = told(findings, "length_bias", None) or told(findings, "dominant", name)
        options = _softer(item.function)
        if not (blamed and item.weight and (options or measures_length(item))):
            continue
        if reason := why_not_run(scores.reward, {name}):
            yield f"a softer {name!r} is left out: {reason}"
        elif options:  # else it is as soft as its limits let it be
            softer = replace(item.function, **options)  # type: ignore[type-var]
            change = Change(components={name: {"function": softer}})
            why = f"{name!r} falls over {WIDER:g} times the stretch, so that the length decides less"
            yield Proposal("soften_length", name, why, change, scores)


def _softer(function: Any) -> dict[str, float]:
    """The options of a length function that are other in a softer one; none where it is no such function."""
    options: dict[str, float] = {}
    if isinstance(function, measure.overlong) and function.buffer < function.limit:
        options["buffer"] = min(function.limit, WIDER * function.buffer)
    if isinstance(function, measure.length):
        if function.full_until is not None and function.zero_from is not None:
            options["zero_from"] = function.full_until + WIDER * (
                function.zero_from - function.full_until
            )
        if function.zero_until:
            fall = WIDER * (function.full_from - function.zero_until)
            options["zero_until"] = max(0.0, function.full_from - fall)
    return options


def remove_component(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposed:
    """Weight 0 for components that are constant, dead, redundant or dominant; never for the task."""
    codes = ("constant", "dead", "redundant", "dominant")
    for name, item in view.components.items():
        fault = _fault(findings, codes, name)
        rest = [
            other
            for other in view.names
            if other != name and view.components[other].weight
        ]
        carries = (
            fault == "dominant" and not view.reward.task_is_known
        )  # it may be the task
        if fault and name not in view.task and item.weight > 0 and rest and not carries:
            why = f"{name!r} is {fault}: record it instead of paying it"
            yield Proposal(
                "remove_component", name, why, Change(weights={name: 0.0}), scores
            )
