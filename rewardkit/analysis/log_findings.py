"""Findings on the log itself: what the trainer recorded against what the reward gives now."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from rewardkit.analysis.finite import held
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.view import SHOWN_IDS
from rewardkit.findings import Finding
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

RTOL = 1e-6
"""Trainers hold rewards as float32, whose numbers lie 1.2e-7 apart, and add a few of them."""
ATOL = 1e-6
"""For sums that come near 0. Our choice."""
SEVERE = 0.01
"""Share of the rows that differ from which on the finding is high. Our choice."""


def find(scores: Scores) -> list[Finding]:
    """Where the log's reward and scores are not what was computed here; what a function gave and no one read.

    Nothing where they agree, where the log has none, and for a reward that is read from the log itself.
    """
    return [*_mismatches(scores), *_unread(scores)]


def _mismatches(scores: Scores) -> list[Finding]:
    logged = scores.rollouts.logged
    if not logged or is_recorded(scores.reward):
        return []
    found: list[Finding] = []
    ours = scores.table["reward_raw"].to_numpy(dtype=float)
    if logged.total is not None:
        found += _mismatch(scores, None, logged.total, ours)
    same = [name for name in scores.reward.names if name in logged.components]
    for name in same:
        if (
            found
            and logged.components[name] == logged.total
            and np.array_equal(scores.score(name), ours, equal_nan=True)
        ):
            continue  # it is the whole reward, of which that has been said
        found += _mismatch(scores, name, logged.components[name], scores.score(name))
    if logged.total is None and not same:
        found.append(_not_compared(scores))
    return found


def _mismatch(scores: Scores, component: str | None, column: str, ours: Floats) -> Iterator[Finding]:
    values = column_values(scores.rollouts.table[column])
    theirs = held(np.array([np.nan if value is None else float(value) for value in values]))
    both = ~np.isnan(theirs) & ~np.isnan(ours)
    gap = np.where(both, np.abs(ours - theirs), 0.0)
    differs = both & ~np.isclose(ours, theirs, rtol=RTOL, atol=ATOL)
    missing = ~np.isnan(theirs) & np.isnan(ours)
    if not differs.any() and not missing.any():
        return
    compared = int(both.sum())
    share = float(differs.sum() / compared) if compared else float("nan")
    order = np.argsort(np.where(differs, -gap, np.where(missing, 0.0, np.inf)), kind="stable")
    rows = order[: min(SHOWN_IDS, int((differs | missing).sum()))]
    evidence = {
        "value": share,
        "rows": int(differs.sum()),
        "compared": compared,
        "largest": float(gap.max()),
        "mean_logged": float(theirs[both].mean()) if compared else None,
        "mean_here": float(ours[both].mean()) if compared else None,
        "missing": int(missing.sum()),
        "column": column,
    }
    lost = (differs | missing).sum() / max((~np.isnan(theirs)).sum(), 1)
    ids = tuple(scores.table["rollout_id"].iloc[rows])
    severity = "high" if lost >= SEVERE else "warn"
    yield Finding("log_mismatch", severity, component, evidence, compared, RTOL, ids)


def _unread(scores: Scores) -> Iterator[Finding]:
    """Numbers in dicts that a trainer's function returned under keys which it did not give on the sample."""
    read: dict[str, set[str]] = defaultdict(set)
    for item in scores.reward.components:
        if key := KEY.match(describe(item.function)):
            for name in item.asks_for:
                read[name].add(ast.literal_eval(key[1]))
    for name, keys in read.items():
        rows: dict[str, list[int]] = defaultdict(list)
        for row, value in enumerate(column_values(scores.table[f"field/{name}"])):
            for key, number in value.items() if isinstance(value, Mapping) else ():
                if key not in keys and isinstance(number, int | float):
                    rows[key].append(row)
        if rows:
            counts = {key: len(found) for key, found in rows.items()}
            first = [found[0] for found in rows.values()][:SHOWN_IDS]
            share = max(counts.values()) / len(scores)
            evidence = {"value": share, "function": name, "keys": counts, "rows": len(scores)}
            ids = tuple(scores.table["rollout_id"].iloc[first])
            yield Finding("unread_keys", "warn", None, evidence, len(scores), None, ids)


KEY = re.compile(r"rk\.targets\.adapter\.Key\(('[^']*'|\"[^\"]*\")")
"""How the number under a key of a trainer's function describes itself, in a record, too."""


def _not_compared(scores: Scores) -> Finding:
    logged = scores.rollouts.logged
    names = ", ".join(map(repr, list(logged.components)[:5])) + (" ..." if len(logged.components) > 5 else "")
    evidence = {"logged": names, "kind": scores.rollouts.kind}
    return Finding("log_not_compared", "info", None, evidence, len(scores))
