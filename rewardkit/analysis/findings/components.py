"""Rules on single components: lost rows, gates, siblings; what two say twice; who holds the advantage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from rewardkit.analysis.findings.rule import Said, finding, share, sure
from rewardkit.analysis.statistics.groups import Floats, within
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, percent, rule
from rewardkit.reasons import Reason, ReasonCode, read_reasons
from rewardkit.scoring.outcomes import ABSTAINED, ERROR, GATED

OFTEN = 0.2
"""Share of the live groups in which a component must vary to be weighed by its influence.

Our choice: a penalty that rarely fires is meant to hold little.
"""


@rule("of_siblings")
def of_siblings(view: View, said: Said) -> Iterator[Finding]:
    """Scores of a completion beside its siblings, which are no fault and mean something else."""
    for name, item in view.components.items():
        if item.group:
            size = float(np.bincount(view.groups).mean())
            yield finding(view, "of_siblings", name, n=len(view), value=size, cost=0.0)


@rule("errors", "out_of_range", "abstentions")
def lost_rows(
    view: View,
    said: Said,
    *,
    abstained: float = 0.01,  # from here a warning, below only information: our choice
    error: float = 0.01,
    lost_rows_high: float = 0.2,  # our choice
) -> Iterator[Finding]:
    """Rows that have no score although they should; infinite scores are told of as such."""
    for name, item in view.components.items():
        status, reasons = view.status[name], view.reasons[name]
        failed = np.flatnonzero(status == ERROR)
        kinds = np.array([_kind(reason) for reason in read_reasons(reasons[failed])])
        for code, at, limit in (
            ("errors", failed[kinds == "errors"], error),
            ("out_of_range", failed[kinds == "out_of_range"], error),
            ("abstentions", np.flatnonzero(status == ABSTAINED), abstained),
        ):
            if not len(at):
                continue
            lost = len(at) / len(view)
            missing, paid = float(np.isnan(view.rewards[at]).mean()), item.weight != 0
            severity = (
                ("high" if lost >= lost_rows_high else "warn")
                if paid and lost >= limit
                else "info"
            )
            ((commonest, _),) = Counter(reasons[at]).most_common(1)
            more = {
                "rows": len(at),
                "reason": Reason.from_json(commonest) if commonest else "",
                "reward_missing": missing,
            }
            more |= {"paid": paid, "lost": _lost(missing, paid)}
            told = share(
                view,
                np.bincount(at, minlength=len(view)),
                np.ones(len(view)),
                by_rows=True,
            )
            yield finding(
                view,
                code,
                name,
                **told,
                limit=limit,
                severity=severity,
                read=at,
                **more,
            )


def _kind(reason: Reason | None) -> str:
    """The code of the finding that an error belongs to."""
    if reason is None:
        return "errors"
    if reason.is_infinite and not reason.passed_by:
        return "infinite"
    is_outside = reason.code is ReasonCode.OUT_OF_RANGE
    return "out_of_range" if is_outside else "errors"


def _lost(missing: float, paid: bool) -> str:
    """What it did to the rewards of its rows."""
    if missing >= 1:
        return "their reward is missing, not low"
    if missing > 0:
        return f"the reward of {percent(missing)} of them is missing, not low"
    return (
        "these rows are paid without it"
        if paid
        else "it is not paid, so no reward is lost"
    )


@rule("gate_rarely_open")
def gates(
    view: View,
    said: Said,
    *,
    gate_open: float = 0.05,  # our choice
) -> Iterator[Finding]:
    """Components behind a gate that hardly lets anything through."""
    for name, item in view.components.items():
        decided = view.status[name] != ABSTAINED
        is_open = decided & (view.status[name] != GATED)
        if (
            item.gate is not None
            and decided.any()
            and is_open.sum() < gate_open * decided.sum()
        ):
            told, cost = (
                share(view, is_open, decided, by_rows=True),
                view.declared_weights[name],
            )
            yield finding(
                view,
                "gate_rarely_open",
                name,
                **told,
                limit=gate_open,
                read=is_open,
                cost=cost,
            )


@rule("redundant")
def redundant(
    view: View,
    said: Said,
    *,
    redundant: float = 0.9,  # correlation within groups
) -> Iterator[Finding]:
    """Paid components that pay for the same as one declared before, with the one they go with most."""
    if not view.varies:
        return
    paid = [
        name
        for name in view.names
        if view.components[name].weight and not _silent(said, name)
    ]
    for at, second in enumerate(paid):
        signs = {first: view.sign(first, second) for first in paid[:at]}
        values = {
            first: signs[first] * view.correlations[first, second] for first in signs
        }
        first = max(values, key=lambda name: np.nan_to_num(values[name]), default=None)
        value = values.get(first, np.nan)  # type: ignore[arg-type]
        if first is None or not value >= redundant:
            continue
        if (
            second in view.task and first not in view.task
        ):  # the task is never the one too many
            first, second = second, first
        there = ~(np.isnan(view.scores[first]) | np.isnan(view.scores[second]))
        a, b = (
            within(np.where(there, view.scores[name], np.nan), view.groups)
            for name in (first, second)
        )
        more = {"other": first, "cost": view.declared_weights[second]}
        read = there & (np.abs(a - view.sign(first, second) * b) > 0.5)
        told: dict[str, Any] = {
            "value": float(value),
            "n": int(there.sum()),
            "limit": redundant,
        }
        told |= {"interval": view.correlation_interval(first, second)}
        yield finding(view, "redundant", second, **told, read=read, **more)


def _silent(said: Said, name: str) -> bool:
    return bool(sure(said, "constant", "dead", component=name))


@rule("dominant")
def dominant(
    view: View,
    said: Said,
    *,
    dominant: float = 0.5,  # a component that is not the task holds more than half
    outweighs: float = 0.1,  # by how much it holds more than one declared heavier: our choice
    over_declared: float = 0.3,  # by how much it holds more than its share of the weights: our choice
) -> Iterator[Finding]:
    """Components that hold more of the squared advantage than they should, by the measure that is surest.

    That is half of all, a heavier one's share, or what they declare. A task that is tied leaves all to
    whoever varies, at any weight: so the component must also hold more than it declares, or half, in the
    groups in which the task varies; else who holds what is left is told for information. What is as heavy
    as the task, and says why, is so by design. Where nothing says which component is the
    task (none is declared, reads the truth, or is heavier), none is spared.
    """
    if not view.varies or not view.effective_weights:
        return
    names = [name for name in view.names if not _silent(said, name)]
    spared = view.task if view.reward.task_is_known else ()
    there = view.group_mass * view.component_stats[view.primary].live
    for name in names:
        item, held = view.components[name], view.effective_weights.get(name)
        if held is None or name in spared or not item.weight:
            continue
        declared = view.declared_weights[name]
        enough = min(declared, dominant) * there.sum()
        by_itself = bool((view.group_shares[name] * there).sum() > enough > 0)
        over = _outweighed(view, name, names)
        measures: list[tuple[float, Floats | float, dict[str, Any]]] = []
        if held >= dominant and spared:
            measures.append(
                (dominant, 0.0, {} if by_itself else {"weak": view.primary})
            )
        if held - declared >= over_declared and by_itself:
            measures.append((over_declared, declared, {}))
        if over is not None and held - view.effective_weights[over] >= outweighs:
            beside = {"over": over, "over_value": view.effective_weights[over]}
            measures.append((outweighs, view.group_shares[over], beside))
        found = [_holds_too_much(view, name, *measure) for measure in measures]
        yield from sorted(
            found, key=lambda item: bool(item.evidence.get("inconclusive"))
        )[:1]


def _holds_too_much(
    view: View,
    name: str,
    limit: float,
    taken_off: Floats | float,
    beside: dict[str, Any],
) -> Finding:
    """The finding: conclusive by the interval of what was compared; shown is the share itself."""
    held, mass, item = view.group_shares[name], view.group_mass, view.components[name]
    by_design = view.by_design(name)
    compared = share(view, (held - taken_off) * mass, mass)
    more = {
        "declared": view.declared_weights[name],
        "why": item.why if by_design else "",
        **beside,
    }
    more |= {"answers": ()} if by_design else {}
    severity = "info" if by_design or "weak" in beside else "warn"
    read = np.abs(within(view.paid[name], view.groups)) > 0
    told = {
        **share(view, held * mass, mass),
        "n": int(view.live.sum()),
        "compared": compared,
    }
    told["interval"] = (
        told["interval"][0],
        min(told["interval"][1], max(1.0, told["value"])),
    )
    return finding(
        view,
        "dominant",
        name,
        **told,
        limit=limit,
        severity=severity,
        read=read,
        **more,
    )


def _outweighed(view: View, name: str, names: list[str]) -> str | None:
    """The heaviest component that is declared heavier than this one and holds less; ``None`` without one.

    One that rarely varies is no measure of what others hold.
    """
    held, weights = (
        view.effective_weights,
        {other: abs(view.components[other].weight) for other in names},
    )
    often = OFTEN * view.live.sum()
    heavier = [
        other for other in names if weights[other] > weights[name] and other in held
    ]
    less = [other for other in heavier if held[other] < held[name]]
    measures = [
        other for other in less if view.component_stats[other].live.sum() > often
    ]
    return max(measures, key=lambda other: (weights[other], -held[other]), default=None)


RULES = (of_siblings, lost_rows, gates, redundant, dominant)
