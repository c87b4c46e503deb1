"""Rules on how the scores of a component lie in its range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rewardkit.analysis.findings.rule import FEWEST_GROUPS, Said, finding, share
from rewardkit.analysis.statistics.groups import ZERO_STD, Floats, each, group_stats
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, rule

FIRST = 1 << 16  # rows that are looked at before all are


@rule("constant", "dead", "sparse", "starved", "saturated", "binary")
def shape(
    view: View,
    said: Said,
    *,
    # Share of rows at the minimum: with a quarter right and 8 siblings one group in ten is all wrong even if
    # all prompts are alike ((3/4)^8).
    sparse: float = 0.75,
    sparse_groups_high: float = 0.5,  # half of the batch gives the task no gradient: our choice
    starved: float = 0.05,  # mean as a share of the range: our choice
    saturated: float = 0.95,  # likewise
) -> Iterator[Finding]:
    """How each component's scores lie in its range; what is constant is not also dead or sparse."""

    def of(name: str) -> list[Finding]:
        return list(_shape(view, name, sparse, sparse_groups_high, starved, saturated))

    for found in each(of, view.names).values():
        yield from found


def _shape(
    view: View,
    name: str,
    sparse: float,
    sparse_groups_high: float,
    starved: float,
    saturated: float,
) -> Iterator[Finding]:
    scores, item = view.scores[name], view.components[name]
    known = ~np.isnan(scores)
    if (n := int(known.sum())) < 2:
        return
    least, most = np.fmin.reduce(scores), np.fmax.reduce(scores)
    weight, task = view.declared_weights[name], name == view.primary
    usual = "warn" if item.weight else "info"
    is_flat = least == most or not _varies_among_siblings(view, scores)
    if is_flat and _varies_by_its_gate(view, name):
        return
    if least == most:
        yield _constant(view, name, float(least), n)
    elif is_flat:
        if view.group_stats(scores).dead.sum() >= FEWEST_GROUPS:
            told: dict[str, Any] = {"value": 0.0, "interval": (0.0, 0.0), "n": n}
            told |= {"limit": ZERO_STD, "severity": usual, "read": known}
            yield finding(
                view, "dead", name, **told, task=name in view.task, cost=weight
            )
    elif item.weight >= 0:  # a penalty that rarely fires is what one hopes for
        low, high = view.span(name)
        lowest, highest = scores == low, scores == high
        mean = (float(np.nansum(scores)) / n - low) / (high - low)
        if lowest.sum() >= sparse * n:
            stats = view.group_stats(scores)
            several = stats.count > 1
            in_groups = float(
                ((stats.high == low) & several).sum() / max(several.sum(), 1)
            )
            severity = "high" if task and in_groups >= sparse_groups_high else usual
            more: dict[str, Any] = {
                "groups_at_minimum": in_groups,
                "cost": in_groups * weight,
            }
            more |= {} if task else {"answers": ["graduate"]}
            told = share(view, lowest, known, by_rows=True)
            yield finding(
                view,
                "sparse",
                name,
                **told,
                limit=sparse,
                severity=severity,
                read=lowest,
                **more,
            )
        elif item.range is not None and not starved < mean < saturated:
            code, limit, rare = ("starved", starved, scores > low)
            if mean > starved:
                code, limit, rare = ("saturated", saturated, scores < high)
            told = share(
                view,
                np.where(known, (scores - low) / (high - low), 0.0),
                known,
                by_rows=True,
            )
            more = {"cost": weight, "task": name in view.task} | (
                {} if task else {"answers": []}
            )
            yield finding(
                view, code, name, **told, limit=limit, severity=usual, read=rare, **more
            )
        if (
            task
            and lowest.any()
            and highest.any()
            and (lowest | highest | ~known).all()
        ):
            told = share(view, highest, known, by_rows=True)
            yield finding(view, "binary", name, **told, limit=2, read=highest, cost=0.0)


def constant(
    view: View, name: str | None, value: float, n: int, **more: Any
) -> Finding:
    """The finding that a component or the reward never varies."""
    told = {
        "value": value,
        "interval": (value, value),
        "limit": ZERO_STD,
        "penalty": False,
        "n": n,
    }
    return finding(view, "constant", name, **{"cost": 1.0, **told, **more})


def _constant(view: View, name: str, value: float, n: int) -> Finding:
    item, ends = view.components[name], view.components[name].range
    penalty = item.weight < 0 and ends is not None and value == ends[0]
    paid = item.weight != 0 and not penalty
    answers: tuple[str, ...] = ("remove_component",)
    if name in view.task:
        highest = ends is not None and value == ends[1]
        answers = (
            ("stricter_reading",)
            if highest
            else ("graduate", "looser_reading", "pay_component")
        )
    more: dict[str, Any] = {"penalty": penalty, "task": view.task == (name,)}
    more |= {"answers": answers if paid else (), "cost": view.declared_weights[name]}
    severity = "high" if name == view.primary else "warn" if paid else "info"
    return constant(
        view,
        name,
        value,
        n,
        severity=severity,
        read=~np.isnan(view.scores[name]),
        **more,
    )


def _varies_by_its_gate(view: View, name: str) -> bool:
    """Whether siblings differ by whether its gate is open: a closed one counts 0 in a sum or mean."""
    if not (view.additive and view.gated[name].any()):
        return False
    return _varies_among_siblings(
        view, np.where(view.gated[name], 0.0, view.scores[name])
    )


def _varies_among_siblings(view: View, scores: Floats) -> bool:
    """Whether a group has two scores that differ; the first rows mostly show it."""
    return any(
        group_stats(scores[:end], view.groups[:end]).live.any()
        for end in (FIRST, len(scores))
    )


RULES = (shape,)
