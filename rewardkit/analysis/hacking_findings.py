"""Findings on what the reward pays for beside the task: length, other columns, cut answers; the label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import View
from rewardkit.findings import Finding
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import describe

FEWEST_PAIRS = 100
"""Sibling pairs under which no order is measured. Our choice."""
FEWEST_CUT = 10
"""Cut completions under which nothing is said of them. Our choice."""
FIRST = 1 << 16  # rows in which levels are counted
SAME_THING = 0.9
"""Concordance with the length from which on something else is taken for it. Our choice."""


def find(view: View) -> list[Finding]:
    """All findings on what is paid beside the task, and against the label where one is given."""
    if np.isnan(view.rewards).all():
        return []
    lengths = view.context.lengths_of(view.few)
    length = list(_length(view, lengths))
    return [*_label(view), *length, *_columns(view, lengths, length), *_truncated(view)]


def _label(view: View) -> Iterator[Finding]:
    """How often the reward orders two siblings as the label does, which is what a group advantage sees."""
    context = view.context
    if context.why_no_label:
        yield Finding(
            "label_unusable", "warn", None, {"reason": context.why_no_label}, len(view), part=view.part
        )
    if context.label is None:
        return
    agree, pairs = concordance(view.rewards, context.label, view.groups)
    count = int(pairs.sum())
    if count < FEWEST_PAIRS:
        reason = f"only {count} pairs of siblings have different labels; {FEWEST_PAIRS} would do"
        yield Finding("label_unusable", "info", None, {"reason": reason}, len(view), part=view.part)
        return
    value, limits = float(agree.sum() / count), view.thresholds
    if value >= limits["label_auc"]:
        return
    interval = view.bootstrap.interval([agree, pairs], view.owner)
    evidence = {"value": value, "interval": interval, "label": context.label_name}
    wrong = (view.advantages > 0) & (context.label == 0)
    yield view.graded(
        "label_disagrees",
        "high" if interval[1] < limits["label_auc_high"] else "warn",
        None,
        evidence,
        n=count,
        threshold=limits["label_auc"],
        above=False,
        rollout_ids=view.ids(wrong),
    )


def _control(view: View) -> tuple[Floats | None, str]:
    """What two siblings must be equal in for a difference in pay to be no matter of the task."""
    if view.context.label is not None:
        return view.context.label, f"of one {view.context.label_name}"
    if len(view.names) > 1:
        return view.scores[view.primary], f"that earn the same {view.primary}"
    return None, ""


def _length(view: View, lengths: Floats) -> Iterator[Finding]:
    told: dict[str, object] = {"unit": view.context.length_unit}
    declared = [name for name in view.names if _is_of_length(view.components[name])]
    if declared:
        told["declared"] = declared[0]
    severity = "info" if declared else "warn"
    found = list(
        _bias(view, "length_bias", severity, lengths, told, advice=("soften_length", "gate_component"))
    )
    yield from found or _follows_length(view, severity, lengths, told)


def _follows_length(
    view: View, severity: str, lengths: Floats, told: Mapping[str, object]
) -> Iterator[Finding]:
    """The finding that the task itself is scored as the length orders siblings, nearly without exception.

    Of graded scores: where right answers and wrong ones differ in length, that is no fault of who tells them
    apart. A label would say more, and is asked instead where there is one.
    """
    scores = view.scores[view.primary]
    some = scores[:FIRST]
    if view.context.label is not None or len(np.unique(some[~np.isnan(some)])) <= 2:
        return
    agree, pairs = concordance(lengths, scores[view.few], view.groups[view.few], total=len(view.owner))
    count = int(pairs.sum())
    value = float(agree.sum() / count) if count >= FEWEST_PAIRS else 0.5
    above = value > 0.5
    if max(value, 1 - value) < SAME_THING:
        return
    evidence = {
        "value": value,
        "interval": view.bootstrap.interval([agree, pairs], view.owner),
        "alike": "",
        "longer": above,
        **told,
    }
    yield view.graded(
        "length_bias",
        severity,
        view.primary,
        evidence,
        n=count,
        threshold=SAME_THING if above else 1 - SAME_THING,
        above=above,
        rollout_ids=view.ids(~np.isnan(scores)),
    )


def _is_of_length(item: Component) -> bool:
    """Whether a component is paid for measuring the length, which the reward declares with it."""
    return bool(item.weight) and describe(item.function).startswith(OF_LENGTH)


OF_LENGTH = ("rk.measure.length", "rk.measure.overlong", "length(", "overlong(")


def _columns(view: View, lengths: Floats, length: list[Finding]) -> Iterator[Finding]:
    columns = view.context.columns
    for name, values in columns.items():
        if length and _is_like(values[view.few], lengths, view):
            continue  # that has been said
        yield from _bias(view, "column_bias", "warn", values[view.few], {"column": name}, tests=len(columns))


def _bias(
    view: View,
    code: str,
    severity: str,
    values: Floats,
    told: Mapping[str, object],
    *,
    tests: int = 1,
    advice: tuple[str, ...] = (),
) -> Iterator[Finding]:
    """The finding that values order siblings that are alike as the advantage does; none within the limits.

    `values` are of the rows `view.few`. None for a lone component either: there more of something may be the
    better answer.
    """
    control, alike = _control(view)
    if control is None:
        return
    agree, pairs = concordance(
        values, view.advantages[view.few], view.groups[view.few], control[view.few], total=len(view.owner)
    )
    count = int(pairs.sum())
    if count < FEWEST_PAIRS:
        return
    value, limit = float(agree.sum() / count), view.thresholds["order_bias"]
    if max(value, 1 - value) < limit:
        return
    low, high = view.bootstrap.interval([agree, pairs], view.owner, tests=tests)
    above = value > 0.5
    evidence = {
        "value": value,
        "interval": (max(low, 0.0), min(high, 1.0)),
        "alike": alike,
        "longer": above,
        **told,
    }
    size = np.abs(np.nan_to_num(view.advantages))
    widest = np.argsort(-size, kind="stable")[: max(1, len(size) // 20)]
    yield view.graded(
        code,
        severity,
        None,
        evidence,
        n=count,
        threshold=limit if above else 1 - limit,
        above=above,
        tests=tests,
        rollout_ids=view.ids(np.sort(widest)),
        suggestions=advice,
    )


def _is_like(values: Floats, lengths: Floats, view: View) -> bool:
    """Whether a column orders siblings as their length does, or the other way round."""
    agree, pairs = concordance(values, lengths, view.groups[view.few])
    value = agree.sum() / pairs.sum() if pairs.sum() else 0.5
    return bool(max(value, 1 - value) >= SAME_THING)


def _truncated(view: View) -> Iterator[Finding]:
    """Completions that were cut at their greatest length and earn more than their siblings on average."""
    cut = view.context.truncated
    if cut is None:
        return
    judged = cut & ~np.isnan(view.advantages)
    if judged.sum() < FEWEST_CUT:
        return
    _, top = view.span(view.primary)
    right = view.scores[view.primary] == top  # it had said what it was asked for before it was cut
    alone = len(view.names) == 1
    paid = judged & (np.nan_to_num(view.advantages) > 0) & (~right | alone)
    value = float(paid.sum() / judged.sum())
    limit = view.thresholds["truncated_paid"]
    if value < limit:
        return
    interval = view.bootstrap.interval([paid.astype(float), judged.astype(float)], view.bootstrap.prompts)
    evidence = {"value": value, "interval": interval, "cut": float(cut.mean())}
    yield view.graded(
        "truncated_paid",
        "info" if alone else "warn",
        None,
        evidence,
        n=int(judged.sum()),
        threshold=limit,
        rollout_ids=view.ids(paid),
    )
