"""Where the log's own scores are not what the reward gives for its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rewardkit.analysis.findings.logs import (
    ATOL,
    RTOL,
    SEVERE_MISMATCH,
    compare_with_log,
)
from rewardkit.analysis.statistics import Floats, finite, spread_out
from rewardkit.findings import Finding, Findings, rule
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import RowOutcome, rewards_in
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rollouts.columns import LOGGED
from rewardkit.strategies.strategy import Row

CHANGING = frozenset(
    (
        "differs_between_calls",
        "hidden_state",
        "depends_on_order",
        "depends_on_siblings",
        "always_errors",
        "always_abstains",
        "always_late",
    )
)
"""Findings of rewards that earn no score, or not the same score each time."""

MOST_RETRIED = 32
"""Rows that differ that are tried in another form. Our choice."""

COLUMNS_TRIED = 4
"""Logged columns that are handed over under their own names. Our choice."""

ENOUGH_AGREE = 0.95
"""Share of these rows that have to agree then. Our choice: a log may be cut off."""


@rule("log_mismatch")
def contradicts_log(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a reward that gives the log's rows other scores than the log has.

    Nothing where it is not known which column has this reward's scores, or where the
    same row may earn something else the next time.
    """
    reward, tries = observed.reward, observed.tries
    if is_recorded(reward) or tries.asks_model or tries.by_group or observed.noise:
        return
    if not CHANGING.isdisjoint(finding.code for finding in findings):
        return
    pool = [pair for pair in observed.pool if pair[1].is_judged]
    for component, column in _columns_compared(observed):
        ours = np.array([_score_of(outcome, component) for _, outcome in pool])
        logged = [row.get(column) for row, _ in pool]
        theirs = finite(np.array(logged, dtype=float))
        evidence, rows = compare_with_log(ours, theirs)
        if not evidence["rows"]:
            continue
        rows = rows[: evidence["rows"]]
        retried = spread_out(rows, MOST_RETRIED)
        different = [pool[place] for place in retried]
        if not _is_steady(observed, different):
            return
        evidence |= _explain(observed, different, component, theirs[retried])
        severity = "high"
        if not evidence["trait"]:
            severity = _grade(observed, ours, theirs, len(rows))
        examples = []
        for place in rows[:3]:
            row, says = pool[place][0], f"the log has {theirs[place]:.4g}"
            earned = float(ours[place])
            examples.append(observed.row_example(row, earned, "rollout", says))
        yield observed.finding(
            "log_mismatch",
            evidence.pop("compared"),
            evidence.pop("rows"),
            severity=severity,
            component=component,
            examples=examples,
            column=column,
            **evidence,
        )
        return


def _grade(observed: Observed, ours: Floats, theirs: Floats, count: int) -> str:
    """Return the severity of so many rows that differ, where no column explains it."""
    logged_names = observed.logged_scores.components.keys()
    has_own_scores = not logged_names.isdisjoint(observed.components)
    if not observed.reward.origin and not has_own_scores:
        return "info"
    is_blind = not observed.subjects or len(set(ours.tolist())) == 1
    if is_blind and np.nanstd(theirs) > 0:
        return "high"
    return "warn" if count >= SEVERE_MISMATCH * len(ours) else "info"


def _columns_compared(observed: Observed) -> Iterator[tuple[str | None, str]]:
    """Yield components with the columns that have their scores; None for the reward.

    The total of a log is compared where no component has a column of its own: the
    reward may be a part of what the trainer paid.
    """
    total, columns = observed.logged_scores.total, observed.logged_scores.components
    names = [name for name in observed.components if name in columns]
    for name in names:
        yield (None if columns[name] == total else name), columns[name]
    if not names and total is not None:
        yield None, total


def _score_of(outcome: RowOutcome, component: str | None) -> float:
    if component is None:
        return outcome.reward
    return outcome.scores.get(component, math.nan)


def _is_steady(observed: Observed, different: Sequence[tuple[Row, RowOutcome]]) -> bool:
    """Whether rows earn the same once more."""
    rows = [row for row, _ in different]
    again = rewards_in(observed.tries.outcomes(rows, share=0.3))
    before = [outcome.reward for _, outcome in different]
    is_same = np.isclose(again, before, rtol=RTOL, atol=ATOL) | np.isnan(again)
    return bool(is_same.all())


def _explain(
    observed: Observed,
    different: Sequence[tuple[Row, RowOutcome]],
    component: str | None,
    theirs: Floats,
) -> dict[str, Any]:
    """Name the logged column with which rows agree, where there is one."""
    rows = [row for row, _ in different]
    for name, changed in _with_logged(observed, rows):
        outcomes = observed.tries.outcomes(changed, share=0.3)
        scores = [_score_of(outcome, component) for outcome in outcomes]
        agreeing = int(np.isclose(scores, theirs, rtol=RTOL, atol=ATOL).sum())
        if agreeing >= ENOUGH_AGREE * len(rows):
            figures = {"retried": len(rows), "agreeing": agreeing}
            return {"trait": "column", "asked": name, **figures}
    return {"trait": ""}


def _with_logged(
    observed: Observed, rows: Sequence[Row]
) -> Iterator[tuple[str, list[Row]]]:
    """Yield columns that the log has under another name, and the rows with them."""
    tries = observed.tries
    columns = [name for name in rows[0] if name.startswith(LOGGED)]
    for column in columns[:COLUMNS_TRIED]:
        name = column.removeprefix(LOGGED)
        if name not in rows[0]:
            yield name, [tries.varied(row, **{name: row[column]}) for row in rows]
