"""Rules on what is paid beside the task: length, columns, cut answers; on the label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from rewardkit.analysis.findings import conclusive, finding, share
from rewardkit.analysis.findings.length import find_forms
from rewardkit.analysis.statistics import Columns, Floats, ratio, within
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.verdicts import Verdicts
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, Findings, rule
from rewardkit.plain import Record
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.recorded import weights_of_parts

FEWEST_PAIRS = 100
"""Sibling pairs under which no order is measured. Our choice."""
FEWEST_CUT = 10
"""Cut completions under which nothing is said of them. Our choice."""
FEWEST_WRONG = 20
"""Wrong completions of which it means something that all earn the same. Our choice."""
LEAST_OF_USUAL = 0.5
"""Share of the pairs that earn different rewards, of as many as there usually are,
under which pairs with the same marks are paid alike. Our choice."""
SURELY_USUAL = 0.95
"""Share of the completions within a limit that are shorter than those beyond. Our
choice: the limit may count tokens."""
SAME_THING = 0.9
"""Concordance with the length from which a column counts as length. Our choice."""
OF_LENGTH = ("rk.measure.length", "rk.measure.overlong", "length(", "overlong(")


def measures_length(component: Component) -> bool:
    """Return whether a component measures the length."""
    return describe(component.function).startswith(OF_LENGTH)


@rule("label_disagrees", "label_unusable", "label_undecided")
def label(
    view: View,
    findings: Findings,
    *,
    # Share of sibling pairs that the reward orders as the label does, ties half. A
    # reward that is the label has 1, one that is noise .5, one that is right for nine
    # labels in ten .9: our choice.
    label_auc: float = 0.9,
    label_auc_high: float = 0.7,
) -> Iterator[Finding]:
    """Find that the reward does not order siblings as the label does."""
    context = view.context
    if not view.is_judged.any():
        return
    if context.why_no_label:
        reason = context.why_no_label
        yield finding(view, "label_unusable", n=len(view), reason=reason)
    if context.label is None:
        return
    agree, pairs = concordance(view.rewards, context.label, view.groups)
    count = int(pairs.sum())
    if count < FEWEST_PAIRS:
        yield finding(
            view,
            "label_undecided",
            n=len(view),
            label=context.label_name,
            pairs=count,
            enough=FEWEST_PAIRS,
        )
    elif agree.sum() < label_auc * count:
        measured = share(view, agree, pairs)
        yield finding(
            view,
            "label_disagrees",
            **measured,
            limit=label_auc,
            severity="high" if measured["interval"][1] < label_auc_high else "warn",
            reading=(view.advantages > 0) & (context.label == 0),
            cost=1 - measured["value"],
            label=context.label_name,
        )


@rule("length_bias", "column_bias")
def order(
    view: View,
    findings: Findings,
    *,
    order_bias: float = 0.65,  # two of three pairs go to the longer one: our choice
) -> Iterator[Finding]:
    """Find that length, or a column, orders like siblings as the advantage does."""
    if not view.is_judged.any():
        return
    lengths = view.context.lengths
    options: Record = {"unit": view.context.length_unit}
    measures = [x for x in view.paid_names if measures_length(view.components[x])]
    if measures:
        options |= {"declared": measures[0], "severity": "info"}
    bias = _bias(view, "length_bias", lengths, order_bias, options)
    if bias is None or _is_of_marks(view, lengths, order_bias):
        bias = None
        yield from _follows_length(view, lengths, options)
    else:
        yield _explain_bias(view, bias, lengths, order_bias)
    columns = view.context.columns
    for name, values in columns.items():
        if name in view.names or np.allclose(
            values, view.rewards, atol=1e-3, equal_nan=True
        ):
            continue  # the log's own score of a component, or of all of them
        if bias is not None and _is_length(view, values, lengths):
            continue  # that has been reported
        options = {"column": name}
        tests = len(columns)
        levels = pd.Series(values).dropna().unique().tolist()
        if not view.context.label_name and {0.0, 1.0} >= {*levels}:
            options |= {"is_flag": True, "severity": "info"}
        of_column = _bias(view, "column_bias", values, order_bias, options, tests=tests)
        if of_column is not None:
            yield of_column


def _is_limit(view: View, name: str) -> bool:
    """Return whether a component is a mild penalty, and of the longest completions.

    A soft penalty of overlong completions is a limit, and no wish for brevity.
    """
    payments, lengths = view.payments[name], view.context.lengths
    is_over = payments < 0
    is_under = payments == 0
    if not (is_over.any() and is_under[view.is_judged & ~is_over].all()):
        return False
    of_task = view.payments[view.primary]
    worth = np.nanmax(of_task) - np.nanmin(of_task)
    longest_usual = np.quantile(lengths[is_under], SURELY_USUAL)
    shortest_over = np.quantile(lengths[is_over], 1 - SURELY_USUAL)
    is_mild = -np.nanmin(payments) < worth and is_over.sum() < is_under.sum()
    return bool(is_mild and shortest_over > longest_usual)


def _bias(
    view: View,
    code: str,
    values: Floats,
    limit: float,
    options: Record,
    *,
    tests: int = 1,
) -> Finding | None:
    """Return the finding that `values` order siblings that are equal in the task.

    The label says what is equal, else the task's scores. None for a lone component:
    then more of something may be the better answer.
    """
    name = view.context.label_name
    if view.context.label is None:
        name = view.primary
        if len(view.names) == 1:
            return None
    control = _task_scores(view)
    measured = _ordered(view, values, view.advantages, limit, control, tests=tests)
    if not measured:
        return None
    sizes = np.abs(np.nan_to_num(view.advantages))
    largest = np.argsort(-sizes, kind="stable")[: max(1, len(sizes) // 20)]
    reading = np.sort(largest)
    alike = f"with equal {name!r}"
    return finding(
        view, code, **measured, tests=tests, reading=reading, alike=alike, **options
    )


def _task_scores(view: View) -> Floats:
    """Return the label, or the scores of the task without one, (rows,)."""
    label = view.context.label
    return view.primary_scores if label is None else label


def _explain_bias(view: View, bias: Finding, lengths: Floats, limit: float) -> Finding:
    """Return a length bias with the component that pays it.

    Brevity paid to right completions alone, and a limit of length, are no fault.
    """
    is_longer = bias.evidence["longer"]
    payer = _payer_of_length(view, lengths if is_longer else -lengths, limit)
    evidence = {**bias.evidence, "by": payer}
    if payer and _is_limit(view, payer):
        evidence["declared"] = payer
    elif is_longer or not _is_paid_to_right(view):
        return replace(bias, evidence=evidence)
    else:
        evidence["gated"] = True
    return replace(bias, severity="info", evidence=evidence)


def _is_of_marks(view: View, lengths: Floats, limit: float) -> bool:
    """Return whether length goes with the advantage only where marks differ.

    A reward for a mark pays for the text that comes with it, and not for length.
    """
    control = _task_scores(view)
    forms = find_forms(view)
    _, levels = np.unique(control, return_inverse=True)
    is_known = (forms >= 0) & ~np.isnan(control)
    alike = np.where(is_known, levels * (forms.max() + 1.0) + forms, np.nan)
    agree, pairs = view.concordance(lengths, view.advantages, alike)
    _, of_lengths = view.concordance(view.advantages, lengths, alike)
    _, all_pairs = view.concordance(lengths, view.advantages, control)
    _, all_of_lengths = view.concordance(view.advantages, lengths, control)
    if of_lengths.sum() < FEWEST_PAIRS:
        return False
    usual = all_pairs.sum() / all_of_lengths.sum()
    if pairs.sum() < LEAST_OF_USUAL * usual * of_lengths.sum():
        return True  # with the same marks they earn the same
    return bool(max(ratio(agree, pairs), 1 - ratio(agree, pairs)) < limit)


def _payer_of_length(view: View, lengths: Floats, limit: float) -> str:
    """Return the component beside the task that pays most for length, "" for none.

    Args:
        view: The scored rows.
        lengths: (rows,), negative if shorter ones are paid.
        limit: The least share of sibling pairs that it orders by their length.
    """
    payers = {}
    for name in view.paid_names:
        payment = view.payments[name]
        share = ratio(*view.concordance(payment, lengths))
        if name not in view.task and share >= limit:
            payers[name] = float(np.nanstd(within(payment, view.groups)))
    return max(payers, key=payers.__getitem__, default="")


def _is_paid_to_right(view: View) -> bool:
    """Return whether all wrong completions earn the same, so that length pays none."""
    scores = _task_scores(view)
    wrong = view.rewards[scores < np.nanmax(scores)]
    if len(wrong) < FEWEST_WRONG:
        return False
    return bool(np.nanmax(wrong) - np.nanmin(wrong) <= 1e-9)


def _is_length(view: View, values: Floats, lengths: Floats) -> bool:
    """Return whether a column orders siblings as the length does, or in reverse."""
    auc = ratio(*view.concordance(values, lengths))
    return abs(auc - 0.5) + 0.5 >= SAME_THING


def _follows_length(view: View, lengths: Floats, options: Record) -> Iterator[Finding]:
    """Find that length orders siblings nearly as the task's scores do, or in reverse.

    Only without a label, and for scores of more than two values: right answers may well
    be longer than wrong ones.
    """
    scores = view.primary_scores
    is_graded = pd.Series(scores).nunique() > 2
    if view.context.label is not None or not is_graded:
        return
    measured = _ordered(view, lengths, scores, SAME_THING)
    if measured:
        yield finding(
            view,
            "length_bias",
            view.primary,
            **measured,
            reading=~np.isnan(scores),
            answers=(),
            alike="",
            task=view.primary,
            **options,
        )


def _ordered(
    view: View,
    values: Floats,
    by: Floats,
    limit: float,
    control: Floats | None = None,
    *,
    tests: int = 1,
) -> Record:
    """Measure how often `values` order siblings as `by` does, (rows,) each.

    With `control`, among siblings that are equal in it. {} if the share is within the
    limit on both sides, or of few pairs.
    """
    agree, pairs = view.concordance(values, by, control)
    value = ratio(agree, pairs)
    count = int(pairs.sum())
    if count < FEWEST_PAIRS or max(value, 1 - value) < limit:
        return {}
    low, high = view.bootstrap.interval([agree, pairs], view.owner, tests=tests)
    past = "above"
    if value <= 0.5:
        past = "below"
        limit = 1 - limit
    return {
        "value": value,
        "interval": (max(low, 0.0), min(high, 1.0)),
        "n": count,
        "past": past,
        "limit": limit,
        "longer": value > 0.5,
        "cost": 2 * abs(value - 0.5),
    }


@rule("wrong_above_right")
def wrong_above_right(
    view: View,
    findings: Findings,
    *,
    wrong_above_right: float = 0.02,  # one pair in fifty: our choice
    wrong_above_right_high: float = 0.25,  # likewise
) -> Iterator[Finding]:
    """Find that a wrong completion earns more than a right sibling.

    Right and wrong are the two ends of the range of the task's component, or what
    `View.verdicts` says; equal rewards count half. With a label, `label_disagrees`
    reports it. The finding names the component without which the fewest such pairs are
    left.
    """
    verdicts = view.verdicts
    if verdicts is None or view.context.label is not None or not view.is_judged.any():
        return
    rewards = view.paid_by
    right_or_wrong = _ends_of(view, verdicts)
    agree, pairs = view.concordance(rewards, right_or_wrong)
    wrong = pairs - agree
    if not verdicts.is_component:  # a tie is no fault of what pays beside the task
        wrong -= view.concordance(rewards, right_or_wrong, rewards)[0]
    if pairs.sum() < FEWEST_PAIRS or wrong.sum() <= wrong_above_right * pairs.sum():
        return
    right_without = {}
    for name, piece in _pieces_beside(view, verdicts).items():
        right, _ = view.concordance(rewards - piece, right_or_wrong)
        right_without[name] = float(right.sum())
    cause = max(right_without, key=right_without.__getitem__, default=None)
    measured = share(view, wrong, pairs)
    severity = "high" if measured["interval"][0] > wrong_above_right_high else "warn"
    if cause:
        is_reported = conclusive(findings, "dominant", component=cause)
        if is_reported or view.by_design(cause):
            severity = "info"
    yield finding(
        view,
        "wrong_above_right",
        cause,
        **measured,
        limit=wrong_above_right,
        severity=severity,
        reading=(view.advantages > 0) & (verdicts.scores == verdicts.low),
        answers=None if cause in view.paid_names else (),
        task=verdicts.name,
        by=cause,
    )


def _ends_of(view: View, verdicts: Verdicts) -> Floats:
    """Return the verdicts that are certainly right or wrong, (rows,), others NaN.

    A right stated answer counts only if it earns more than the median wrong one: else
    it may lack the form that is asked for.
    """
    scores = verdicts.scores
    ends = verdicts.low, float(np.nanmax(scores, initial=verdicts.low))
    if verdicts.is_component:
        ends = view.span(verdicts.name)
    is_end = np.isin(scores, ends)
    if not verdicts.name:
        wrong = view.rewards[view.is_judged & (scores == verdicts.low)]
        usual = np.median(wrong) if len(wrong) else np.nan
        is_end &= (scores == verdicts.low) | (view.rewards > usual)
    return np.where(is_end, scores, np.nan)


def _pieces_beside(view: View, verdicts: Verdicts) -> Columns:
    """Return what each component beside the task adds, (rows,).

    Of a lone total the scores recorded beside it, where they add up to it.
    """
    task = {verdicts.name, *(view.task if view.task_is_known else ())}
    pieces = {}
    for name in view.paid_names:
        if name in view.pieces and name not in task:
            pieces[name] = view.pieces[name]
    if pieces or len(view.paid_names) > 1:
        return pieces
    beside = {name: view.scores[name] for name in view.names}
    for name, weight in weights_of_parts(view.rewards, beside).items():
        if name != verdicts.name:
            pieces[name] = weight * view.scores[name]
    return pieces


@rule("truncated_paid")
def truncated(
    view: View,
    findings: Findings,
    *,
    truncated_paid: float = 0.25,  # our choice
) -> Iterator[Finding]:
    """Find cut-off completions that earn more than the mean of their siblings."""
    cut = view.context.truncated
    if cut is None:
        return
    is_judged = cut & ~np.isnan(view.advantages)
    is_alone = len(view.names) == 1
    # what is right had said what it was asked for before it was cut
    is_right = view.primary_scores == view.span(view.primary)[1]
    is_paid = is_judged & (np.nan_to_num(view.advantages) > 0) & (~is_right | is_alone)
    if is_judged.sum() < FEWEST_CUT or is_paid.sum() < truncated_paid * is_judged.sum():
        return
    yield finding(
        view,
        "truncated_paid",
        **share(view, is_paid, is_judged, by_rows=True),
        limit=truncated_paid,
        severity="info" if is_alone else "warn",
        reading=is_paid,
        cost=float(is_paid.mean()),
        cut=float(cut.mean()),
    )
