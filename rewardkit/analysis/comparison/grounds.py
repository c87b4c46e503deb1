"""Grounds: what was measured that makes one of two versions the one to train on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewardkit.analysis.comparison.before_after import BeforeAfter, Figure, in_brackets
from rewardkit.analysis.comparison.changes import first_of
from rewardkit.analysis.rehearsal.outlook import Outlook, share_text
from rewardkit.analysis.rehearsal.rehearsal import RISE
from rewardkit.findings import counted
from rewardkit.plain import Plain, PlainRecord

LEAST_GAIN = 0.01
"""Difference of two AUCs from which one is better. Our choice: less is not worth a
training."""
SAME_SIGNS = 0.02
"""Share of advantages that change sign up to which two versions train alike, where
nothing else differs. Our choice."""

Mark = Literal["better", "worse", "within noise", "not known"]


@dataclass(frozen=True)
class Ground(PlainRecord):
    """One reason why B is better than A, or worse: what was measured, in words."""

    what: str
    is_better: bool
    sentence: str


def mark_of(figure: Figure, *, is_gain: bool = True) -> Mark:
    """Return whether a difference with an interval is beyond noise, and which way.

    Args:
        figure: With ``value`` and ``interval``.
        is_gain: Whether more is better.
    """
    low, high = figure["interval"]
    if math.isnan(low) or math.isnan(figure["value"]):
        return "not known"
    if low <= 0 <= high:
        return "within noise"
    return "better" if (low > 0) == is_gain else "worse"


def mark_of_counts(before: Any, after: Any, *, is_gain: bool = True) -> Mark:
    """Return which way a count moved, which has no noise; None is not known.

    >>> mark_of_counts(2, 0, is_gain=False), mark_of_counts(None, 3)
    ('better', 'not known')
    """
    if before is None or after is None:
        return "not known"
    if before == after:
        return "within noise"
    return "better" if (after > before) == is_gain else "worse"


def of_cases(cases: Plain | None) -> list[Ground]:
    """Return a ground each for cases that are lost and gained."""
    grounds = []
    for kind in ("lost", "gained"):
        names = list(map(repr, (cases or {}).get(kind) or ()))
        if names:
            sentence = f"{counted(len(names), 'case')} {kind} ({first_of(names)})"
            grounds.append(Ground("cases", kind == "gained", sentence))
    return grounds


def of_exploits(before: int | None, after: int | None) -> list[Ground]:
    """Return a ground where the probes of one version found more exploits."""
    mark = mark_of_counts(before, after, is_gain=False)
    if mark not in ("better", "worse"):
        return []
    return [Ground("exploits", mark == "better", f"exploits {before} -> {after}")]


def of_order(figure: Figure, slices: Mapping[str, Figure]) -> list[Ground]:
    """Return a ground where one version orders right above wrong better.

    That of all rows comes first. A slice adds one if no ground before it says the same.
    """
    grounds = _order_ground("", figure)
    for label, of_slice in slices.items():
        for ground in _order_ground(f" where {label}", of_slice):
            if ground.is_better not in {other.is_better for other in grounds}:
                grounds.append(ground)
    return grounds


def _order_ground(where: str, figure: Figure) -> list[Ground]:
    mark = mark_of(figure)
    if mark not in ("better", "worse") or abs(figure["value"]) < LEAST_GAIN:
        return []
    aucs = f"{figure['auc_a']:.3f} -> {figure['auc_b']:.3f}"
    around = in_brackets(figure["interval"], "{:+.3f}".format)
    sentence = (
        f"right completions get more than their wrong siblings{where}: AUC {aucs}, "
        f"{figure['value']:+.3f}{around}"
    )
    return [Ground("task", mark == "better", sentence)]


def of_outlooks(before: Outlook | None, after: Outlook | None) -> list[Ground]:
    """Return a ground where two trainings end far apart, whatever the seed."""
    if before is None or after is None or None in (before.task, after.task):
        return []
    lower, higher = sorted((before, after), key=lambda outlook: outlook.end)
    if higher.end - lower.end < RISE or lower.interval[1] > higher.interval[0]:
        return []  # other seeds may end as far apart, or the other way round
    end = f"{share_text(after.end)} of the task, not {share_text(before.end)}"
    is_better = after.end > before.end
    return [Ground("outlook", is_better, f"a rehearsed training ends at {end}")]


def of_findings(pair: BeforeAfter) -> list[Ground]:
    """Return a ground each for findings of high severity that are new, or gone."""
    grounds = []
    findings = pair.findings
    kinds = {"new": findings.new_or_worse, "gone": findings.better}
    for kind, items in kinds.items():
        codes = [item.code for item in items if item.severity == "high"]
        if codes:
            sentence = f"{counted(len(codes), 'high finding')} {kind}"
            sentence += f" ({first_of(sorted(set(codes)))})"
            grounds.append(Ground("findings", kind == "gone", sentence))
    return grounds


def is_equal(pair: BeforeAfter, order: Figure) -> bool:
    """Return whether two versions without a ground for either train alike.

    At most `SAME_SIGNS` of the advantages change their sign. If some do and the AUC of
    right above wrong is known, it changes by less than twice `LEAST_GAIN`. Where no row
    has an advantage on both sides, no reward differs.
    """
    signs = pair.advantages
    if not signs["n"]:
        return not pair.changed
    if signs["changed"] > SAME_SIGNS * signs["n"]:
        return False
    if not signs["changed"] or order["reason"]:
        return True
    low, high = order["interval"]
    return bool(-2 * LEAST_GAIN < low and high < 2 * LEAST_GAIN)


def join_sentences(grounds: Sequence[Ground]) -> str:
    """Return the grounds in one sentence."""
    return "; ".join(ground.sentence for ground in grounds)
