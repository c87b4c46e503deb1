"""Findings about single components, and pairs of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rewardkit.analysis.correlation import correlations
from rewardkit.analysis.finite import returned
from rewardkit.analysis.statistics.groups import ZERO_STD, Floats, group_stats, within
from rewardkit.analysis.thresholds import FEWEST_GROUPS, OFTEN
from rewardkit.analysis.view import View
from rewardkit.findings import Finding
from rewardkit.scoring.calls import OUT_OF_RANGE
from rewardkit.scoring.outcomes import ABSTAINED, ERROR, GATED

WEAK = frozenset({"constant", "dead", "sparse", "starved", "saturated"})
"""What makes a component hold little of the advantage, whatever the others hold."""

READINGS = {"starved": "looser_reading", "saturated": "stricter_reading"}
"""What answers a task that is nearly never, or nearly always, earned."""

FIRST = 1 << 16  # rows that are looked at before all are


def find(view: View) -> list[Finding]:
    """All findings about the components of one reward.

    One cause, one finding: what is constant is not also sparse or dead; where the whole reward never varies,
    the pairs that make it so are not also redundant; and where the others hold all as the primary hardly
    varies, that is the primary's fault.
    """
    found: list[Finding] = []
    shapes: dict[str, set[str]] = {}
    for name in view.names:
        found += _siblings(view, name)
        found += _lost_rows(view, name)
        found += _gate(view, name)
        shape = _shape(view, name)
        found += shape
        shapes[name] = {finding.code for finding in shape if not finding.evidence.get("inconclusive")}
    if never_varies(view):
        return found
    varied = [name for name, codes in shapes.items() if not codes & {"constant", "dead"}]
    weak = bool(shapes[view.primary] & WEAK)
    return [*found, *_redundant(view, varied), *_dominant(view, varied, weak=weak)]


def never_varies(view: View) -> bool:
    """Whether the reward is the same on all rows that have one, up to the last digits of a sum.

    Under GDPO, which adds up what it has normalised, each paid component is.
    """
    added = [view.rewards]
    if view.training.name == "gdpo":
        added = [view.scores[name] for name, item in view.components.items() if item.weight]
    known = [values[~np.isnan(values)] for values in added]
    return any(map(len, known)) and all(np.ptp(values) <= ZERO_STD for values in known if len(values))


def _siblings(view: View, name: str) -> Iterator[Finding]:
    """That scores are of a completion beside its siblings, which is no fault and changes what they mean."""
    if view.components[name].group:
        size = float(np.bincount(view.groups).mean())
        yield Finding("of_siblings", "info", name, {"value": size}, len(view), None, part=view.part)


def _lost_rows(view: View, name: str) -> Iterator[Finding]:
    """Errors, scores out of range, abstentions: rows that have no score although they should."""
    status, reasons = view.status[name], view.errors[name]
    failed = np.flatnonzero(status == ERROR)
    failed = np.setdiff1d(failed, returned(reasons, failed))  # infinite ones are told of as such
    outside = np.array([str(reason).startswith(OUT_OF_RANGE) for reason in reasons[failed]], dtype=bool)
    for code, at, threshold in (
        ("errors", failed[~outside], "error"),
        ("out_of_range", failed[outside], "error"),
        ("abstentions", np.flatnonzero(status == ABSTAINED), "abstained"),
    ):
        if not len(at):
            continue
        rows = np.zeros(len(view), dtype=bool)
        rows[at] = True
        share, limit = float(rows.mean()), view.thresholds[threshold]
        severity = "high" if share >= view.thresholds["lost_rows_high"] else "warn"
        paid = view.components[name].weight != 0
        evidence = {
            "value": share,
            "interval": view.bootstrap.interval(
                [rows.astype(float), np.ones(len(view))], view.bootstrap.prompts
            ),
            "rows": int(rows.sum()),
            "reason": Counter(reason or "" for reason in reasons[at])
            .most_common(1)[0][0]
            .removeprefix(OUT_OF_RANGE),
            "reward_missing": float(np.isnan(view.rewards[rows]).mean()),
            "paid": paid,
        }
        severity = severity if paid and share >= limit else "info"
        yield Finding(code, severity, name, evidence, len(view), limit, view.ids(rows), part=view.part)


def _gate(view: View, name: str) -> Iterator[Finding]:
    if view.components[name].gate is None:
        return
    decided = view.status[name] != ABSTAINED
    is_open = decided & (view.status[name] != GATED)
    if not decided.any():
        return
    share = float(is_open.sum() / decided.sum())
    if share < view.thresholds["gate_open"]:
        interval = view.bootstrap.interval(
            [is_open.astype(float), decided.astype(float)], view.bootstrap.prompts
        )
        yield view.graded(
            "gate_rarely_open",
            "warn",
            name,
            {"value": share, "interval": interval},
            n=int(decided.sum()),
            threshold=view.thresholds["gate_open"],
            above=False,
            rollout_ids=view.ids(is_open),
        )


def _shape(view: View, name: str) -> list[Finding]:
    """Constant, dead, sparse, starved, saturated or binary: how a component's scores lie in its range."""
    scores = view.scores[name]
    known = ~np.isnan(scores)
    values = scores[known]
    item = view.components[name]
    if len(values) < 2:
        return []
    if values.min() == values.max():
        return [_constant(view, name, float(values[0]), len(values))]
    if not _varies_among_siblings(view, scores):
        if group_stats(scores, view.groups).dead.sum() < FEWEST_GROUPS:  # too few siblings for a verdict
            return []
        severity = "warn" if item.weight else "info"
        evidence = {"value": 0.0, "interval": (0.0, 0.0)}
        advice = ("remove_component",)
        return [
            Finding(
                "dead", severity, name, evidence, len(values), ZERO_STD, view.ids(known), advice, view.part
            )
        ]
    if item.weight < 0:  # a penalty that rarely fires is what one hopes for
        return []
    return _ends(view, name, values)


def _varies_among_siblings(view: View, scores: Floats) -> bool:
    """Whether a group has two scores that differ; the first rows mostly show it."""
    return any(group_stats(scores[:end], view.groups[:end]).live.any() for end in (FIRST, len(scores)))


def _constant(view: View, name: str, value: float, n: int) -> Finding:
    item = view.components[name]
    penalty = item.weight < 0 and item.range is not None and value == item.range[0]
    paid_for = item.weight != 0 and not penalty
    severity = "high" if name == view.primary else "warn" if paid_for else "info"
    advice: tuple[str, ...] = ("remove_component",)
    if name == view.primary:
        highest = item.range is not None and value == item.range[1]
        advice = ("stricter_reading",) if highest else ("graduate", "looser_reading", "pay_component")
    scored = ~np.isnan(view.scores[name])
    return same_everywhere(
        view, severity, name, value, n, penalty, view.ids(scored), advice if paid_for else ()
    )


def same_everywhere(
    view: View,
    severity: str,
    name: str | None,
    value: float,
    n: int,
    penalty: bool,
    ids: tuple[Any, ...],
    advice: tuple[str, ...] = (),
) -> Finding:
    """The finding that a component or the reward never varies; of few groups it is no verdict."""
    evidence = {"value": value, "interval": (value, value), "penalty": penalty}
    if len(view.stats.count) < FEWEST_GROUPS:
        evidence |= {"inconclusive": True, "too_few": len(view.stats.count)}
        severity = "info"
    return Finding("constant", severity, name, evidence, n, ZERO_STD, ids, advice, view.part)


def _ends(view: View, name: str, values: Floats) -> list[Finding]:
    """How many of the scores, of which `values` are those that are there, lie at an end of the range."""
    limits, item, scores = view.thresholds, view.components[name], view.scores[name]
    (low, high), n = view.span(name), len(values)
    lowest, highest = int((values == low).sum()), int((values == high).sum())
    share, mean = lowest / n, float((values.mean() - low) / (high - low))

    def interval(figure: Floats) -> tuple[float, float]:
        known = (~np.isnan(scores)).astype(float)
        return view.bootstrap.interval([np.where(known, figure, 0.0), known], view.bootstrap.prompts)

    found = []
    if share >= limits["sparse"]:
        stats = group_stats(scores, view.groups)
        several = stats.count > 1
        groups_low = float(((stats.high == low) & several).sum() / max(several.sum(), 1))
        severity = (
            "high"
            if name == view.primary and groups_low >= limits["sparse_groups_high"]
            else "warn"
            if item.weight
            else "info"
        )
        evidence = {
            "value": share,
            "interval": interval(scores == low),
            "groups_at_minimum": groups_low,
        }
        found.append(
            view.graded(
                "sparse",
                severity,
                name,
                evidence,
                n=n,
                threshold=limits["sparse"],
                rollout_ids=view.ids(scores == low),
                suggestions=("graduate", "looser_reading", "pay_component")
                if name == view.primary
                else ("graduate",),
            )
        )
    elif item.range is not None and not limits["starved"] < mean < limits["saturated"]:
        code = "starved" if mean <= limits["starved"] else "saturated"
        evidence = {"value": mean, "interval": interval((scores - low) / (high - low))}
        rare = scores > low if code == "starved" else scores < high
        severity = "warn" if item.weight else "info"
        found.append(
            view.graded(
                code,
                severity,
                name,
                evidence,
                n=n,
                threshold=limits[code],
                above=code == "saturated",
                rollout_ids=view.ids(rare),
                suggestions=(READINGS[code], "pay_component") if name == view.primary else (),
            )
        )
    if name == view.primary and lowest and highest and lowest + highest == n:
        top = scores == high
        evidence = {"value": highest / n, "interval": interval(top)}
        found.append(Finding("binary", "info", name, evidence, n, 2, view.ids(top), ("graduate",), view.part))
    return found


def _redundant(view: View, names: list[str]) -> Iterator[Finding]:
    """Paid components whose scores go with those of one declared before, among siblings.

    With the one that they go with most. The sign is that of what they pay: 1 where both pay for one thing,
    -1 where one takes back what the other pays.
    """
    limit, found = view.thresholds["redundant"], correlations(view)
    paid = [name for name in names if view.components[name].weight]
    for at, second in enumerate(paid):
        like = [name for name in paid[:at] if abs(found[name, second]) >= limit]
        if not like:
            continue
        first = max(like, key=lambda name, other=second: abs(found[name, other]))  # type: ignore[misc]
        value = found[first, second]
        there = ~(np.isnan(view.scores[first]) | np.isnan(view.scores[second]))
        a, b = (
            np.nan_to_num(within(np.where(there, view.scores[name], np.nan), view.groups))
            for name in (first, second)
        )
        low, high = view.bootstrap.interval(
            [a * a, b * b, a * b], view.bootstrap.prompts, lambda aa, bb, ab: ab / np.sqrt(aa * bb)
        )
        weights = view.components[first].weight * view.components[second].weight
        yield view.graded(
            "redundant",
            "warn",
            second,
            {
                "value": abs(value),
                "sign": 1 if value * weights > 0 else -1,
                "interval": (low, high) if value > 0 else (-high, -low),
                "other": first,
            },
            n=int(there.sum()),
            threshold=limit,
            rollout_ids=view.ids(there & (np.abs(a - np.sign(value) * b) > 0.5)),
            suggestions=("remove_component",),
        )


def _dominant(view: View, names: list[str], *, weak: bool) -> Iterator[Finding]:
    """Components that hold more of the squared advantage than they should, by the measure that is surest.

    Who is declared as heavy as the primary, and says why, does so by design.
    """
    for name in names:
        item = view.components[name]
        if name not in view.effective_weights or name == view.primary or not item.weight:
            continue
        meant = bool(item.why) and abs(item.weight) >= abs(view.components[view.primary].weight)
        measures = list(_too_much(view, name, names, weak=weak))
        found = [_holds_too_much(view, name, *measure, meant=meant) for measure in measures]
        yield from sorted(found, key=lambda finding: bool(finding.evidence.get("inconclusive")))[:1]


Measure = tuple[str, Floats | float, dict[str, Any]]
"""The threshold, what is taken off the share in each group before it is compared, and what is said of it."""


def _too_much(view: View, name: str, names: list[str], *, weak: bool) -> Iterator[Measure]:
    """What this component holds too much by: half of all, a heavier one's share, or what it declares.

    A primary that is tied leaves all to whoever varies, at any weight. So where it hardly varies, and where a
    share is held against the declared one, the component must also hold more than it declares, or half, in
    the groups in which the primary varies; else it is the primary's fault, which is told of by itself, and
    who holds what is left is told for information. In these groups a share rises with the weight, and once
    above the declared one stays so until it is half: a heavier weight is never judged more mildly, unless it
    is declared so.
    """
    held, declared, mass = view.effective_weights[name], view.declared_weights[name], view.group_mass
    there = mass * view.component_stats[view.primary].live
    enough = min(declared, view.thresholds["dominant"]) * there.sum()
    by_itself = bool((view.group_shares[name] * there).sum() > enough > 0)
    over = _outweighed(view, name, names)
    if weak and not by_itself:
        if held >= view.thresholds["dominant"]:
            yield "dominant", 0.0, {"weak": view.primary}
        return
    if held >= view.thresholds["dominant"]:
        yield "dominant", 0.0, {}
    if held - declared >= view.thresholds["over_declared"] and by_itself:
        yield "over_declared", declared, {}
    less = view.effective_weights[over] if over is not None else np.inf
    if over is not None and held - less >= view.thresholds["outweighs"]:
        yield "outweighs", view.group_shares[over], {"over": over, "over_value": less}


def _holds_too_much(
    view: View, name: str, threshold: str, taken_off: Floats | float, said: dict[str, Any], *, meant: bool
) -> Finding:
    """The finding: conclusive by the interval of what was compared; shown is the share itself."""
    held, mass, item = view.group_shares[name], view.group_mass, view.components[name]
    measured = (held - taken_off) * mass
    value = float(measured.sum() / mass.sum())
    compared = view.bootstrap.interval([measured, mass], view.owner)
    finding = view.graded(
        "dominant",
        "info" if meant or "weak" in said else "warn",
        name,
        {"value": value, "interval": compared},
        n=int(view.live.sum()),
        threshold=view.thresholds[threshold],
        rollout_ids=view.ids(np.abs(within(view.paid[name], view.groups)) > 0),
        suggestions=() if meant else ("declared_weights", "gate_component", "remove_component"),
    )
    shown = {
        "value": view.effective_weights[name],
        "interval": view.bootstrap.interval([held * mass, mass], view.owner),
        "declared": view.declared_weights[name],
        "compared": value,  # with the threshold: the share, or how much more it is than another one
        "compared_interval": compared,
    }
    why = {"why": item.why} if meant else {}
    return replace(finding, evidence={**finding.evidence, **shown, **said, **why})


def _outweighed(view: View, name: str, names: list[str]) -> str | None:
    """The heaviest component that is declared heavier than this one and holds less; ``None`` without one.

    One that rarely varies is no measure of what others hold.
    """
    held, weights = view.effective_weights, {other: abs(view.components[other].weight) for other in names}
    often = OFTEN * view.live.sum()
    lighter = [
        other
        for other in names
        if held.get(other, np.inf) < held[name] and view.component_stats[other].live.sum() > often
    ]
    heavier = [other for other in lighter if weights[other] > weights[name]]
    return max(heavier, key=lambda other: (weights[other], -held[other]), default=None)
