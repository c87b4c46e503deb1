"""Findings on the scores as they are: against the trainer's log, what was left unread, what is not finite."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.findings.components import RETURNED_INFINITE
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import (
    LARGEST,
    Floats,
    all_finite,
    finite,
    overflows,
)
from rewardkit.analysis.view import SHOWN_IDS
from rewardkit.findings import Finding
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.outcomes import ERROR
from rewardkit.scoring.scores import Scores

CODES = ("log_mismatch", "log_not_compared", "unread_keys", "not_finite")
RTOL = 1e-6
"""Trainers hold rewards as float32, whose numbers lie 1.2e-7 apart, and add a few of them."""
ATOL = 1e-6
"""For sums that come near 0. Our choice."""
SEVERE = 0.01
"""Share of the rows that differ from which on the finding is high. Our choice."""
KEY = re.compile(r"rk\.targets\.adapter\.Key\(('[^']*'|\"[^\"]*\")")
"""How the number under a key of a trainer's function describes itself, in a record, too."""


def of_log(scores: Scores) -> list[Finding]:
    """Where the log's reward and scores are not what was computed here; what a function gave and no one read.

    Nothing where they agree, where the log has none, and for a reward that is read from the log itself.
    """
    return [*_mismatches(scores), *_unread(scores)]


def _mismatches(scores: Scores) -> Iterator[Finding]:
    logged = scores.rollouts.logged
    if not logged or is_recorded(scores.reward):
        return
    ours = scores.table["reward_raw"].to_numpy(dtype=float)
    whole = logged.total is not None and _mismatch(
        scores, None, str(logged.total), ours
    )
    if whole:
        yield whole
    same = [name for name in scores.reward.names if name in logged.components]
    for name in same:
        alone = np.array_equal(scores.score(name), ours, equal_nan=True)
        if whole and alone and logged.components[name] == logged.total:
            continue  # it is the whole reward, of which that has been said
        if found := _mismatch(
            scores, name, logged.components[name], scores.score(name)
        ):
            yield found
    if logged.total is None and not same:
        names = ", ".join(map(repr, list(logged.components)[:SHOWN_IDS]))
        names += " ..." if len(logged.components) > SHOWN_IDS else ""
        evidence = {"logged": names, "kind": scores.rollouts.kind}
        yield Finding("log_not_compared", "info", None, evidence, len(scores))


def _mismatch(
    scores: Scores, component: str | None, column: str, ours: Floats
) -> Finding | None:
    theirs = finite(
        np.array(column_values(scores.rollouts.table[column]), dtype=float)
    )  # NaN for None
    logged = ~np.isnan(theirs)
    both, missing = logged & ~np.isnan(ours), logged & np.isnan(ours)
    gap = np.where(both, np.abs(ours - theirs), 0.0)
    differs = both & ~np.isclose(ours, theirs, rtol=RTOL, atol=ATOL)
    if not (wrong := differs | missing).any():
        return None
    compared = int(both.sum())
    order = np.argsort(
        np.where(differs, -gap, np.where(missing, 0.0, np.inf)), kind="stable"
    )
    evidence = {
        "value": float(differs.sum() / compared) if compared else float("nan"),
        "rows": int(differs.sum()),
        "compared": compared,
        "largest": float(gap.max()),
        "mean_logged": float(theirs[both].mean()) if compared else None,
        "mean_here": float(ours[both].mean()) if compared else None,
        "missing": int(missing.sum()),
        "column": column,
    }
    severity = "high" if wrong.sum() >= SEVERE * logged.sum() else "warn"
    ids = _ids(scores, order[: wrong.sum()])
    return Finding("log_mismatch", severity, component, evidence, compared, RTOL, ids)


def _ids(scores: Scores, rows: NDArray[Any] | list[int]) -> tuple[Any, ...]:
    return tuple(scores.table["rollout_id"].iloc[rows[:SHOWN_IDS]])


def _unread(scores: Scores) -> Iterator[Finding]:
    """Numbers in dicts that a trainer's function returned under keys which it did not give on the sample."""
    read: dict[str, set[str]] = defaultdict(set)
    for item in scores.reward.components:
        if key := KEY.match(describe(item.function)):
            for name in item.asks_for:
                read[name].add(ast.literal_eval(key[1]))
    total = len(scores)
    for name, keys in read.items():
        rows: dict[str, list[int]] = defaultdict(list)
        for row, value in enumerate(column_values(scores.table[f"field/{name}"])):
            for key, number in value.items() if isinstance(value, Mapping) else ():
                if key not in keys and isinstance(number, int | float):
                    rows[key].append(row)
        if rows:
            counts = {key: len(found) for key, found in rows.items()}
            named = ", ".join(
                f"{key!r} in {count} of {total} rows" for key, count in counts.items()
            )
            evidence = {
                "value": max(counts.values()) / total,
                "function": name,
                "keys": counts,
            }
            evidence |= {"rows": total, "named": named}
            ids = _ids(scores, [found[0] for found in rows.values()])
            yield Finding("unread_keys", "warn", None, evidence, total, None, ids)


def only_finite(scores: Scores) -> Scores:
    """The scores in which every reward and score that is infinite in float32 is missing, so not judged.

    The same object where there is none. Statuses stay: `not_finite` says what was taken out.
    """
    columns = [
        "reward_raw",
        "reward",
        *(f"score/{name}" for name in scores.reward.names),
    ]
    values = {column: scores.table[column].to_numpy(dtype=float) for column in columns}
    changed = {
        column: found
        for column, given in values.items()
        if (found := finite(given)) is not given
    }
    return replace(scores, table=scores.table.assign(**changed)) if changed else scores


def not_finite(scores: Scores, *, seed: int) -> list[Finding]:
    """Where scores and rewards are infinite, or would be; of a reward only rows whose paid scores are not.

    A trainer takes such a reward into the mean of its group, and then into the gradient of the whole batch:
    one row is enough, so that it is of high severity wherever it is paid.
    """
    explained = np.zeros(len(scores), dtype=bool)
    found = []
    for item in scores.reward.components:
        values = scores.score(item.name)
        failed = np.flatnonzero(scores.status(item.name) == ERROR)
        reasons = scores.table[f"error/{item.name}"].to_numpy(dtype=object)[failed]
        refused = failed[
            [str(reason).startswith(RETURNED_INFINITE) for reason in reasons]
        ]
        if len(refused):
            values = values.copy()
            values[refused] = np.inf
        if not all_finite(values):
            rows = overflows(values)
            explained |= rows & bool(item.weight)
            found.append(
                _infinite(scores, item.name, bool(item.weight), values, rows, seed)
            )
    if (
        all_finite(scores.rewards)
        or not (rows := overflows(scores.rewards) & ~explained).any()
    ):
        return found
    return [_infinite(scores, None, True, scores.rewards, rows, seed), *found]


def _infinite(
    scores: Scores,
    name: str | None,
    paid: bool,
    values: Floats,
    rows: NDArray[Any],
    seed: int,
) -> Finding:
    prompts, known = scores.rollouts.prompts, (~np.isnan(values)).astype(float)
    value, interval = Bootstrap(prompts, seed=seed).ratio(
        rows.astype(float), known, prompts
    )
    evidence = {"value": value, "interval": interval, "rows": int(rows.sum())}
    evidence |= {"infinite": int(np.isinf(values).sum()), "paid": paid, "cost": 1.0}
    severity, ids = "high" if paid else "info", _ids(scores, np.flatnonzero(rows))
    return Finding(
        "not_finite", severity, name, evidence, int(known.sum()), LARGEST, ids
    )
