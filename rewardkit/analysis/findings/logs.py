"""Rules on what a log, or a function's result, has besides the computed scores."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.findings.scored import Scored
from rewardkit.analysis.rewarded_rows import SHOWN_IDS
from rewardkit.analysis.statistics import Codes, Floats, Mask, finite
from rewardkit.analysis.totals import weigh_parts
from rewardkit.findings import Finding, Findings, most, rule
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rollouts.join import SCORE_PREFIXES
from rewardkit.rollouts.values import column_values

LOG_CODES = ("log_mismatch", "log_not_compared", "unread_keys")
"""Findings that the log, or what a function returned, is not what was scored."""
RTOL = 1e-6
"""Trainers add a few float32 rewards, whose numbers lie 1.2e-7 apart."""
ATOL = 1e-6
"""For sums that come near 0. Our choice."""
SEVERE_MISMATCH = 0.01
"""Share of differing rows from which a mismatch is of high severity. Our choice."""
CHANCE_OF_LACKING = 0.001
"""Chance with which rows lack a column that no finding is made of. Our choice."""
RESULT_KEY = re.compile(r"rk\.targets\.adapter\.Key\(('[^']*'|\"[^\"]*\")")
"""Description of a component that is a number under a key of a function's result."""


@rule("log_mismatch", "log_not_compared")
def log_mismatch(scored: Scored, findings: Findings) -> Iterator[Finding]:
    """Find where rewards and scores of the log differ from those computed here.

    A score of the log is compared with the component of its name, its total with the
    reward. A lone score with the name of a component is no total if the reward has
    other components. A reward that is read from the log itself is not compared.
    """
    scores = scored.scores
    logged = scores.rollouts.logged
    if not logged or is_recorded(scores.reward):
        return
    rewards = scores.table["reward_raw"].to_numpy(dtype=float)
    columns = {
        name: logged.components[name]
        for name in scores.reward.names
        if name in logged.components
    }
    is_lone = len(scores.reward.names) == 1
    if logged.total is not None:
        if is_lone or logged.total not in columns.values():
            yield from _mismatch(scored, None, logged.total, rewards)
    for name, column in columns.items():
        values = scores.score(name)
        if is_lone and column == logged.total:
            if np.array_equal(values, rewards, equal_nan=True):
                continue  # it is all of the reward, which was compared
        yield from _mismatch(scored, name, column, values)
    if logged.total is None and not columns:
        evidence = {"logged": most([*map(repr, logged.components)], SHOWN_IDS)}
        evidence["kind"] = scores.rollouts.kind
        yield Finding("log_not_compared", "info", None, evidence, len(scores))


def _mismatch(
    scored: Scored, component: str | None, column: str, ours: Floats
) -> Iterator[Finding]:
    """Find that a logged column differs from what was computed."""
    values = column_values(scored.scores.rollouts.table[column])
    theirs = finite(np.array(values, dtype=float))  # NaN for None
    evidence, rows = compare_with_log(ours, theirs)
    if not len(rows):
        return
    is_severe = len(rows) >= SEVERE_MISMATCH * (~np.isnan(theirs)).sum()
    severity = "high" if is_severe else "warn"
    if not evidence["rows"]:  # what failed or was not judged is a finding of its own
        severity = "info"
    evidence["column"] = column
    differs = np.zeros(len(ours), dtype=bool)
    differs[rows[: evidence["rows"]]] = True
    evidence |= find_lacked(scored.scores.rollouts.table, differs)
    n = evidence["compared"]
    ids = scored.ids(rows)
    yield Finding("log_mismatch", severity, component, evidence, n, RTOL, ids)


def find_lacked(table: pd.DataFrame, differs: Mask) -> dict[str, Any]:
    """Return the evidence of a column that all differing rows lack, {} without one.

    A join leaves columns empty where a prompt stands in several rows. `lacking` counts
    all rows that lack the column.
    """
    for name in table.columns:
        is_missing = table[name].isna().to_numpy()
        is_chance = is_missing.mean() ** differs.sum() > CHANCE_OF_LACKING
        if is_missing[differs].all() and not is_chance:
            if not str(name).startswith(SCORE_PREFIXES):
                count = int(is_missing.sum())
                return {"trait": "lacked", "lacked": str(name), "lacking": count}
    return {}


def _rounding_of(values: Floats) -> float:
    """Return half a unit of the last decimal of the values, the third to the sixth.

    0 where they have more decimals.
    """
    for decimals in range(3, 7):
        if np.allclose(values, values.round(decimals), rtol=0, atol=1e-12):
            return 0.5001 / float(10**decimals)
    return 0.0


def compare_with_log(ours: Floats, theirs: Floats) -> tuple[dict[str, Any], Codes]:
    """Compare scores with those that the log has, each (rows,), NaN for none.

    Returns:
        The evidence for a finding, and the rows that differ: the largest differences
        first, then rows that only the log has a score for.
    """
    logged = ~np.isnan(theirs)
    both = logged & ~np.isnan(ours)
    is_missing = logged & np.isnan(ours)
    gap = np.where(both, np.abs(ours - theirs), 0.0)
    tolerance = max(ATOL, _rounding_of(theirs[logged]))
    differs = both & ~np.isclose(ours, theirs, rtol=RTOL, atol=tolerance)
    evidence = {
        "value": math.nan,
        "rows": int(differs.sum()),
        "compared": int(both.sum()),
        "largest": float(gap.max(initial=0.0)),
        "mean_logged": None,
        "mean_here": None,
        "missing": int(is_missing.sum()),
    }
    if both.any():
        evidence["value"] = float(differs[both].mean())
        evidence["mean_logged"] = float(theirs[both].mean())
        evidence["mean_here"] = float(ours[both].mean())
    rank = np.where(differs, -gap, np.where(is_missing, 0.0, np.inf))
    order = np.argsort(rank, kind="stable")
    return evidence, order[: (differs | is_missing).sum()]


@rule("total_of_parts")
def parts_of_total(scored: Scored, findings: Findings) -> Iterator[Finding]:
    """Find that the total of a log is a weighted sum of its other scores.

    The weights are those that `weigh_parts` found.
    """
    before = scored.raw.reward
    after = weigh_parts(scored.raw).reward
    # the settings may have other weights, which say nothing of the log
    is_weighed = scored.scores.reward.weights == after.weights
    if before.routed_by or before.weights == after.weights or not is_weighed:
        return
    total = next(name for name in before.names if before.weights[name])
    parts = []
    for name, weight in after.weights.items():
        if weight:
            parts.append(name if weight == 1 else f"{weight:g} x {name}")
    evidence = {"total": total, "parts": " + ".join(parts), "cost": 0.0}
    yield Finding("total_of_parts", "info", None, evidence, len(scored.scores))


@rule("unread_keys")
def unread_keys(scored: Scored, findings: Findings) -> Iterator[Finding]:
    """Find numbers in a function's results under keys that its first result lacked."""
    scores = scored.scores
    read_keys = defaultdict(set)
    for component in scores.reward.components:
        described = RESULT_KEY.match(describe(component.function))
        if described:
            for name in component.asks_for:
                read_keys[name].add(ast.literal_eval(described[1]))
    total = len(scores)
    for name, keys in read_keys.items():
        rows = defaultdict(list)
        for row, result in enumerate(column_values(scores.table[f"field/{name}"])):
            if not isinstance(result, Mapping):
                continue
            for key, value in result.items():
                if isinstance(value, int | float) and key not in keys:
                    rows[key].append(row)
        if not rows:
            continue
        counts = {key: len(places) for key, places in rows.items()}
        named = [f"{key!r} in {count} of {total} rows" for key, count in counts.items()]
        evidence = {
            "value": max(counts.values()) / total,
            "function": name,
            "keys": counts,
            "rows": total,
            "named": ", ".join(named),
        }
        ids = scored.ids([places[0] for places in rows.values()])
        yield Finding("unread_keys", "warn", None, evidence, total, None, ids)
