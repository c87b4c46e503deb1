"""Rules on what the reward pays for beside the task: length, other columns, cut answers; and the label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rewardkit.analysis.findings.rule import Said, finding, share, sure
from rewardkit.analysis.statistics.groups import Floats, each
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, rule
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import describe

FEWEST_PAIRS = 100
"""Sibling pairs under which no order is measured. Our choice."""
FEWEST_CUT = 10
"""Cut completions under which nothing is said of them. Our choice."""
FIRST = 1 << 16  # rows in which levels are counted
SAME_THING = 0.9
"""Concordance with the length from which on something else is taken for it. Our choice."""
OF_LENGTH = ("rk.measure.length", "rk.measure.overlong", "length(", "overlong(")


def measures_length(item: Component) -> bool:
    """Whether a component measures the length."""
    return describe(item.function).startswith(OF_LENGTH)


@rule("label_disagrees", "label_unusable")
def label(
    view: View,
    said: Said,
    *,
    # Share of sibling pairs that the reward orders as the label does, ties half. A reward that is the label
    # has 1, one that is noise .5, one that is right for nine labels in ten .9: our choice.
    label_auc: float = 0.9,
    label_auc_high: float = 0.7,
) -> Iterator[Finding]:
    """How often the reward orders two siblings as the label does, which is what a group advantage sees."""
    context = view.context
    if np.isnan(view.rewards).all():
        return
    if context.why_no_label:
        yield finding(view, "label_unusable", n=len(view), reason=context.why_no_label)
    if context.label is None:
        return
    agree, pairs = concordance(view.rewards, context.label, view.groups)
    count = int(pairs.sum())
    if count < FEWEST_PAIRS:
        reason = f"only {count} pairs of siblings have different labels; {FEWEST_PAIRS} would do"
        yield finding(
            view, "label_unusable", n=len(view), severity="info", reason=reason
        )
    elif agree.sum() < label_auc * count:
        told = share(view, agree, pairs)
        grave = "high" if told["interval"][1] < label_auc_high else "warn"
        more = {
            "label": context.label_name,
            "cost": 1 - told["value"],
            "limit": label_auc,
        }
        read = (view.advantages > 0) & (context.label == 0)
        yield finding(
            view, "label_disagrees", **told, severity=grave, read=read, **more
        )


@rule("length_bias", "column_bias")
def order(
    view: View,
    said: Said,
    *,
    order_bias: float = 0.65,  # two of three pairs go to the longer one: our choice
) -> Iterator[Finding]:
    """Length, or another column of numbers, that orders siblings which are alike as the advantage does."""
    if np.isnan(view.rewards).all():
        return
    declared = [
        name
        for name, item in view.components.items()
        if item.weight and measures_length(item)
    ]
    about = {
        "unit": view.context.length_unit,
        **({"declared": declared[0]} if declared else {}),
    }
    lengths = view.context.lengths_of(view.few)
    about |= {"severity": "info"} if declared else {}
    found = list(_bias(view, "length_bias", lengths, about, order_bias))
    yield from found or _follows_length(view, lengths, about)
    columns = view.context.columns
    for name, values in columns.items():
        some = values[view.few]
        if (
            found
            and abs(_auc(*concordance(some, lengths, view.groups[view.few])) - 0.5)
            + 0.5
            >= SAME_THING
        ):
            continue  # that has been said
        yield from _bias(
            view, "column_bias", some, {"column": name}, order_bias, tests=len(columns)
        )


@rule("wrong_above_right")
def wrong_above_right(
    view: View,
    said: Said,
    *,
    wrong_above_right: float = 0.02,  # one pair in fifty: our choice
    wrong_above_right_high: float = 0.25,  # likewise
) -> Iterator[Finding]:
    """How often a wrong completion earns more than a right sibling, by the task's own component.

    Wrong and right are the ends of its range. An equal reward counts half. A label would say more, and is
    asked instead where there is one. Named is the component without which the fewest pairs are left.
    """
    if (
        view.context.label is not None
        or not view.reward.task_is_known
        or np.isnan(view.rewards).all()
    ):
        return
    task, ends, few = view.scores[view.primary], view.span(view.primary), view.few
    told = np.where(np.isin(task[few], ends), task[few], np.nan)
    owner, total = view.groups[few], len(view.owner)
    paid = view.paid_by[few]
    agree, pairs = concordance(paid, told, owner, total=total)
    wrong = pairs - agree
    if pairs.sum() < FEWEST_PAIRS or wrong.sum() <= wrong_above_right * pairs.sum():
        return

    def right_without(name: str) -> float:
        rest = paid - view.pieces[name][few]
        return float(concordance(rest, told, owner, total=total)[0].sum())

    others = [
        name
        for name in view.pieces
        if view.components[name].weight and name not in view.task
    ]
    right = each(right_without, others)
    by = max(others, key=lambda name: right[name], default=None)
    measured = share(view, wrong, pairs)
    severity = "high" if measured["interval"][0] > wrong_above_right_high else "warn"
    if by and (view.by_design(by) or sure(said, "dominant", component=by)):
        severity = "info"
    more = {
        "severity": severity,
        "limit": wrong_above_right,
        "task": view.primary,
        "by": by,
    }
    high = (view.advantages > 0) & (task == ends[0])
    yield finding(view, "wrong_above_right", by, **measured, **more, read=high)


def _auc(agree: Floats, pairs: Floats) -> float:
    return float(agree.sum() / pairs.sum()) if pairs.sum() else 0.5


def _bias(
    view: View,
    code: str,
    values: Floats,
    about: dict[str, Any],
    limit: float,
    *,
    tests: int = 1,
) -> Iterator[Finding]:
    """The finding on `values` of the rows `view.few`; none for a lone component.

    There more of something may be the better answer.
    """
    control, alike = view.scores[view.primary], f"with equal {view.primary!r}"
    if view.context.label is not None:
        control, alike = view.context.label, f"with equal {view.context.label_name!r}"
    elif len(view.names) == 1:
        return
    if told := _ordered(view, values, view.advantages, limit, control, tests=tests):
        size = np.abs(np.nan_to_num(view.advantages))
        read = np.sort(np.argsort(-size, kind="stable")[: max(1, len(size) // 20)])
        yield finding(view, code, **told, tests=tests, read=read, alike=alike, **about)


def _follows_length(
    view: View, lengths: Floats, about: dict[str, Any]
) -> Iterator[Finding]:
    """The finding that the task itself is scored as the length orders siblings, nearly without exception.

    Of graded scores: where right answers and wrong ones differ in length, that is no fault of who tells them
    apart. A label would say more, and is asked instead where there is one.
    """
    scores = view.scores[view.primary]
    some = scores[:FIRST]
    if view.context.label is not None or len(np.unique(some[~np.isnan(some)])) <= 2:
        return
    if told := _ordered(view, lengths, scores, SAME_THING):
        told |= {
            "read": ~np.isnan(scores),
            "alike": "",
            "task": view.primary,
            "answers": (),
        }
        yield finding(view, "length_bias", view.primary, **told, **about)


def _ordered(
    view: View,
    values: Floats,
    by: Floats,
    limit: float,
    alike: Floats | None = None,
    *,
    tests: int = 1,
) -> dict[str, Any]:
    """How often `values` of the rows `view.few` order siblings as `by` does, and which way.

    With the limit on that side; nothing where it is within the limit on both, or there are few pairs.
    """
    few = view.few
    same = None if alike is None else alike[few]
    agree, pairs = concordance(
        values, by[few], view.groups[few], same, total=len(view.owner)
    )
    value, count = _auc(agree, pairs), int(pairs.sum())
    if count < FEWEST_PAIRS or max(value, 1 - value) < limit:
        return {}
    low, high = view.bootstrap.interval([agree, pairs], view.owner, tests=tests)
    longer = value > 0.5
    past = (
        {"past": "above", "limit": limit}
        if longer
        else {"past": "below", "limit": 1 - limit}
    )
    told = {
        "value": value,
        "interval": (max(low, 0.0), min(high, 1.0)),
        "n": count,
        **past,
    }
    return {**told, "longer": longer, "cost": 2 * abs(value - 0.5)}


@rule("truncated_paid")
def truncated(
    view: View,
    said: Said,
    *,
    truncated_paid: float = 0.25,  # our choice
) -> Iterator[Finding]:
    """Completions that were cut at their greatest length and earn more than their siblings on average."""
    cut = view.context.truncated
    if cut is None:
        return
    judged = cut & ~np.isnan(view.advantages)
    right = (
        view.scores[view.primary] == view.span(view.primary)[1]
    )  # it had said what it was asked for
    alone = len(view.names) == 1
    paid = judged & (np.nan_to_num(view.advantages) > 0) & (~right | alone)
    if judged.sum() >= FEWEST_CUT and paid.sum() >= truncated_paid * judged.sum():
        more = {
            "cut": float(cut.mean()),
            "cost": float(paid.mean()),
            "severity": "info" if alone else "warn",
        }
        told = share(view, paid, judged, by_rows=True)
        yield finding(
            view, "truncated_paid", **told, limit=truncated_paid, read=paid, **more
        )


RULES = (label, wrong_above_right, order, truncated)
