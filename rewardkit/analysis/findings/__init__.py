"""Make the findings of a diagnosis: how each is judged against its threshold.

The rules stand in the modules of this folder, by subject; `diagnosis.py` lists them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics import NO_INTERVAL, Interval, deciding_end
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, Findings, read_codes
from rewardkit.plain import Record

FEWEST_GROUPS = 10
"""Fewer give no verdict on a share of groups. Our choice."""


def finding(
    view: View,
    code: str,
    component: str | None = None,
    /,
    *,
    n: int,
    limit: float | None = None,
    severity: str = "",
    past: str = "",
    compared: Record | None = None,
    tests: int = 1,
    reading: NDArray[Any] | None = None,
    answers: Sequence[str] | None = None,
    cost: float | None = None,
    **evidence: Any,
) -> Finding:
    """Return a finding, with defaults from its row of `findings.toml`.

    If the row or `past` names a side of the limit, the value must be past the limit
    for certain: a one-sided test at an error of 5 %, by the near end of a 90 %
    interval (the interval that is shown is a two-sided one of 95 %). If it is not, or
    if there are too few groups, the finding is inconclusive and for information.

    Args:
        view: the rows it is of.
        code: its code.
        component: the component it is of; None: the reward.
        n: the number of rows, groups or pairs that the value was measured on.
        limit: the threshold.
        severity: replaces that of the table.
        past: the side of the limit, "above" or "below"; replaces that of the table.
        compared: value and interval to hold against the limit in place of its own.
        tests: the number of tests that the error holds for together.
        reading: rows worth reading, a mask or places.
        answers: codes of suggestions; replace those of the table.
        cost: what it costs, 0 to 1; by default its value.
        **evidence: its `value` and `interval`, as `share` measures them, and what its
            sentence needs.
    """
    row = read_codes()["diagnosis"][code]
    value = evidence.get("value", math.nan)
    interval = evidence.get("interval", NO_INTERVAL)
    if cost is None:
        cost = float(np.nan_to_num(value))
    evidence["cost"] = min(abs(float(cost)), 1.0)
    if compared:
        value = compared["value"]
        interval = compared["interval"]
        evidence |= {"compared": value, "compared_interval": interval}
    past = past or row.get("past", "")
    groups = len(view.stats.count)
    if groups < FEWEST_GROUPS and (past or "groups" in row):
        evidence |= {"inconclusive": True, "too_few": groups}
    elif past and limit is not None:
        evidence |= _undecided(view, value, interval, past, limit, tests)
    severity = severity or row["severity"]
    if evidence.get("inconclusive"):
        severity = "info"
    if answers is None:
        answers = row.get("answers", ())
    ids = () if reading is None else view.ids(reading)
    return Finding(
        code, severity, component, evidence, n, limit, ids, tuple(answers), view.part
    )


def _undecided(
    view: View, value: float, interval: Interval, past: str, limit: float, tests: int
) -> Record:
    """Return the evidence that a value may not be past its limit, or {}."""
    sign, near_end = (1, interval[0]) if past == "above" else (-1, interval[1])
    end = deciding_end(value, near_end, view.bootstrap.tests * tests)
    if sign * (end - limit) >= 0:
        return {}
    gap = abs(value - limit)
    half = abs(value - end)
    prompts = view.bootstrap.total
    needed = 0
    if gap and not math.isnan(half):
        needed = math.ceil(prompts * (half / gap) ** 2)
    return {"inconclusive": True, "n_needed": needed if needed > prompts else None}


def components_that_fail(findings: Findings) -> set[str | None]:
    """Return the components that failed on too many rows for other findings."""
    errors = [item for item in findings if item.code == "errors"]
    return {item.component for item in errors if item.severity == "high"}


def conclusive(
    findings: Findings, *codes: str, component: str | None = None
) -> list[Finding]:
    """Return the findings of these codes and this component that are certain."""
    return [
        finding
        for finding in findings
        if finding.code in codes
        and finding.component == component
        and not finding.evidence.get("inconclusive")
    ]


def share(view: View, part: Any, total: Any, *, by_rows: bool = False) -> Record:
    """Return `value`, `interval` and `n` of the ratio of two sums.

    Args:
        view: the rows.
        part: what is added up above, (groups,), or (rows,) with `by_rows`.
        total: what is added up below, likewise.
        by_rows: whether the arrays are of rows.
    """
    owner = view.bootstrap.prompts if by_rows else view.owner
    value, interval = view.bootstrap.ratio(part, total, owner)
    return {"value": value, "interval": interval, "n": int(total.sum())}
