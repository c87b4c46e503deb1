"""Rules on how the scores of a component lie in its range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rewardkit.analysis.findings import (
    FEWEST_GROUPS,
    components_that_fail,
    finding,
    share,
)
from rewardkit.analysis.statistics import (
    ZERO_STD,
    Floats,
    Mask,
    ratio,
)
from rewardkit.analysis.verdicts import read_answers
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, Findings, rule


@rule(
    *("constant", "dead", "sparse", "starved", "saturated", "binary"),
    *("always_penalised", "paid_penalty"),
)
def shape(
    view: View,
    findings: Findings,
    *,
    # Share of rows at the minimum: with a quarter right and 8 siblings one group in ten
    # is all wrong even if all prompts are alike ((3/4)^8).
    sparse: float = 0.75,
    sparse_groups_high: float = 0.5,  # half of the batch gives no gradient: our choice
    starved: float = 0.05,  # mean as a share of the range: our choice
    saturated: float = 0.95,  # likewise
    all_penalised: float = 0.5,  # share of the rows that lose the most: our choice
) -> Iterator[Finding]:
    """Find components whose scores lie at an end of their range, or never vary."""
    limits = {
        "sparse": sparse,
        "sparse_groups_high": sparse_groups_high,
        "starved": starved,
        "saturated": saturated,
        "all_penalised": all_penalised,
    }
    failing = components_that_fail(findings)
    for name in view.names:
        for item in _shape(view, name, limits):
            if item.code != "constant" or name not in failing:
                yield item


def _shape(view: View, name: str, limits: dict[str, float]) -> Iterator[Finding]:
    scores = view.scores[name]
    component = view.components[name]
    is_scored = ~np.isnan(scores)
    if is_scored.sum() < 2:
        return
    lowest = np.fmin.reduce(scores)
    highest = np.fmax.reduce(scores)
    is_flat = lowest == highest or not _varies_among_siblings(view, scores)
    if is_flat and _varies_by_its_gate(view, name):
        return
    if lowest == highest:
        yield _constant_component(view, name, float(lowest))
    elif is_flat:
        yield from _dead(view, name)
    elif component.weight < 0 and highest <= 0:
        yield _paid_penalty(view, name)
    elif _penalises_all(view, name):
        yield _always_penalised(view, name, limits["all_penalised"])
    elif component.weight >= 0:  # a penalty that rarely fires is what one hopes for
        yield from _ends_of_range(view, name, limits)


def _penalises_all(view: View, name: str) -> bool:
    """Return whether a component beside the task takes something from every row."""
    if name in view.task or not view.components[name].weight:
        return False
    payment = view.components[name].weight * view.scores[name]
    return bool(np.fmax.reduce(payment) < 0)


def _of_rows(view: View, code: str, name: str, amounts: Any, **options: Any) -> Finding:
    """Return the finding of a component by the mean of `amounts` over its scored rows.

    By default the rows with an amount are those to read.
    """
    is_scored = ~np.isnan(view.scores[name])
    measured = share(view, amounts, is_scored, by_rows=True)
    usual = {"reading": amounts, "cost": view.declared_weights[name]}
    return finding(view, code, name, **measured, **{**usual, **options})


def _always_penalised(view: View, name: str, limit: float) -> Finding:
    """Return the finding that a penalty is active on all rows.

    A cost of each token is so by design; a limit that most rows are far beyond is not.
    """
    scores = view.scores[name]
    payment = view.components[name].weight * scores
    at_most = payment <= np.fmin.reduce(payment) + ZERO_STD
    is_most = ratio(at_most, ~np.isnan(scores)) >= limit
    return _of_rows(
        view,
        "always_penalised",
        name,
        at_most,
        limit=limit,
        severity="warn" if is_most else "info",
        least=float(np.fmax.reduce(payment)),
        largest=float(np.fmin.reduce(payment)),
    )


def _paid_penalty(view: View, name: str) -> Finding:
    """Return the finding that a component never above 0 has a negative weight."""
    loses = view.scores[name] < 0
    weight = view.components[name].weight
    return _of_rows(view, "paid_penalty", name, loses, severity="high", weight=weight)


def _dead(view: View, name: str) -> Iterator[Finding]:
    """Find a component that never varies within a group."""
    scores = view.scores[name]
    if view.group_stats(scores).dead.sum() < FEWEST_GROUPS:
        return
    yield finding(
        view,
        "dead",
        name,
        value=0.0,
        interval=(0.0, 0.0),
        n=int((~np.isnan(scores)).sum()),
        limit=ZERO_STD,
        severity=_severity(view, name),
        reading=~np.isnan(scores),
        task=name in view.task,
        cost=view.declared_weights[name],
    )


def _ends_of_range(
    view: View, name: str, limits: dict[str, float]
) -> Iterator[Finding]:
    """Find scores that are mostly at one end of the range, or only at both."""
    scores = view.scores[name]
    component = view.components[name]
    is_scored = ~np.isnan(scores)
    low, high = view.span(name)
    at_low = scores == low
    at_high = scores == high
    mean = (float(np.nansum(scores)) / is_scored.sum() - low) / (high - low)
    if at_low.sum() >= limits["sparse"] * is_scored.sum():
        yield _sparse(view, name, at_low, limits)
    elif component.range is not None:
        if mean <= limits["starved"]:
            yield _near_end(view, name, "starved", limits["starved"], scores > low)
        elif mean >= limits["saturated"]:
            yield _near_end(view, name, "saturated", limits["saturated"], scores < high)
    has_both = at_low.any() and at_high.any()
    if name == view.primary and has_both and (at_low | at_high | ~is_scored).all():
        yield _of_rows(view, "binary", name, at_high, limit=2, cost=0)


def _sparse(view: View, name: str, at_low: Mask, limits: dict[str, float]) -> Finding:
    """Find that a component is mostly at its minimum; `at_low` marks those rows.

    The severity is high where the primary component is at its minimum throughout many
    of the groups of two or more.
    """
    stats = view.group_stats(view.scores[name])
    several = stats.has_pairs
    all_low = (stats.high == view.span(name)[0]) & several
    in_groups = float(all_low.sum() / max(several.sum(), 1))
    severity = _severity(view, name)
    behind = ""
    if name == view.primary and in_groups >= limits["sparse_groups_high"]:
        severity = "high"
    elif behind := _task_before(view, name, at_low, limits["sparse"]):
        severity = "info"
    return _of_rows(
        view,
        "sparse",
        name,
        at_low,
        limit=limits["sparse"],
        severity=severity,
        answers=None if name == view.primary else ["graduate"],
        groups_at_minimum=in_groups,
        behind=behind,
        cost=in_groups * view.declared_weights[name],
    )


def _task_before(view: View, name: str, at_low: Mask, most_at_low: float) -> str:
    """Return the name of the task, if a component is sparse because the task is.

    Such as behind a gate: the component is earned only where the task is done, and
    there it is not sparse. Else, or where the task is not known, "".
    """
    verdicts = view.verdicts
    if verdicts is None or verdicts.name in ("", name) or name in view.task:
        return ""
    is_done = verdicts.scores > verdicts.low
    is_earned = ~at_low & ~np.isnan(view.scores[name])
    if (is_earned & ~is_done).any():
        return ""
    share_at_low = ratio(at_low & is_done, is_done)
    return verdicts.name if share_at_low < most_at_low else ""


def _severity(view: View, name: str) -> str:
    """Return the severity for a paid component, or for one that is only recorded."""
    return "warn" if view.components[name].weight else "info"


def _near_end(view: View, name: str, code: str, limit: float, rare: Mask) -> Finding:
    """Return the finding that the mean is near an end; `rare` marks the other rows."""
    low, high = view.span(name)
    heights = np.nan_to_num((view.scores[name] - low) / (high - low))
    return _of_rows(
        view,
        code,
        name,
        heights,
        limit=limit,
        severity=_severity(view, name),
        reading=rare,
        answers=None if name == view.primary else (),
        task=name in view.task,
    )


def constant(
    view: View,
    name: str | None,
    value: float,
    scores: Floats,
    *,
    cost: float = 1.0,
    penalty: str = "",
    is_paid: bool = True,
    **options: Any,
) -> Finding:
    """Return the finding that a component or the reward has one value on all rows."""
    return finding(
        view,
        "constant",
        name,
        value=value,
        interval=(value, value),
        n=int((~np.isnan(scores)).sum()),
        limit=ZERO_STD,
        reading=~np.isnan(scores),
        cost=cost,
        penalty=penalty,
        paid=is_paid,
        **options,
    )


def _constant_component(view: View, name: str, value: float) -> Finding:
    component = view.components[name]
    low, high = component.range or (None, None)
    penalty = ""
    if component.is_penalty and value == (low if component.weight < 0 else 0):
        penalty = "never"
    elif component.weight * value < 0 and name not in view.task:
        penalty = "always"
    is_paid = component.weight != 0 and penalty != "never"
    severity = "info"
    answers = []
    if is_paid:
        severity = "warn"
        if name not in view.task:
            answers = ["remove_component"]
        elif value == high:
            answers = ["stricter_reading"]
        else:
            answers = ["graduate", "looser_reading", "pay_component"]
    evidence = {}
    if name == view.primary and penalty != "never":
        severity = "high"
        if value != high:
            verdicts, is_read = read_answers(view.context.table, view.groups)
            right = int((verdicts == 1).sum())
            evidence = {"right": right, "rows_read": int(is_read.sum())}
    return constant(
        view,
        name,
        value,
        view.scores[name],
        severity=severity,
        penalty=penalty,
        is_paid=is_paid,
        task=view.task == (name,),
        answers=answers,
        cost=view.declared_weights[name],
        **evidence,
    )


def _varies_by_its_gate(view: View, name: str) -> bool:
    """Return whether siblings differ by an open gate; a closed one adds 0."""
    gated = view.gated[name]
    if not view.additive or not gated.any():
        return False
    return _varies_among_siblings(view, np.where(gated, 0.0, view.scores[name]))


def _varies_among_siblings(view: View, scores: Floats) -> bool:
    """Return whether two siblings differ."""
    return bool(view.group_stats(scores).live.any())
