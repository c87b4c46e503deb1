"""Rules on columns of the log: its scores, and values in another place or shape.

- The log's scores may differ from what the reward gives for its rows.
- A reward may read an option under a key that no row has, though the log has a column
  of that name: then its default counts everywhere.
- Token ids of several turns may be a list of lists: then `len` counts the turns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.findings.logs import (
    ATOL,
    RTOL,
    SEVERE_MISMATCH,
    compare_with_log,
    find_lacked,
)
from rewardkit.analysis.statistics import Codes, Floats, finite, spread_out
from rewardkit.findings import Finding, Findings, rule
from rewardkit.plain import is_number
from rewardkit.probes.code.constants import constants
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import (
    SHARE_OF_RULE,
    RowOutcome,
    are_equal,
    rewards_in,
)
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rollouts.columns import LOGGED
from rewardkit.strategies.strategy import Row

CHANGING = frozenset(
    "differs_between_calls hidden_state depends_on_order depends_on_siblings "
    "always_errors always_abstains always_late".split()
)
"""Findings on rewards that give no score, or not the same score each time."""

MOST_RETRIED = 32
"""Most rows that are tried with another value of a column. Our choice."""

COLUMNS_TRIED = 4
"""Logged columns that are passed to the reward under their own names. Our choice."""

ENOUGH_AGREE = 0.95
"""Share of these rows that must agree with the log then. Our choice: logged texts may
be cut off."""


@rule("log_mismatch")
def contradicts_log(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a reward that gives the log's rows other scores than the log has.

    Report nothing if no column is known to have this reward's scores, or if the same
    row may earn something else the next time.
    """
    reward, tries = observed.reward, observed.tries
    if is_recorded(reward) or tries.asks_model or tries.by_group or observed.noise:
        return
    if not CHANGING.isdisjoint(finding.code for finding in findings):
        return
    for component, column in _columns_compared(observed):
        outcomes = [outcome for _, outcome in observed.pool]
        judged, ours, theirs = _scores_beside(observed, outcomes, component, column)
        evidence, rows = compare_with_log(ours, theirs)
        if evidence["rows"] and tries.has_functions_for("batch"):
            outcomes = observed.outcomes_in_groups
            judged, ours, theirs = _scores_beside(observed, outcomes, component, column)
            evidence, rows = compare_with_log(ours, theirs)
        if not evidence["rows"]:
            continue
        rows = rows[: evidence["rows"]]
        retried = spread_out(rows, MOST_RETRIED)
        if not _is_steady(observed, outcomes, judged[retried]):
            return
        evidence |= _explain(observed, judged[retried], component, theirs[retried])
        if not evidence["trait"]:
            differs = np.zeros(len(judged), dtype=bool)
            differs[rows] = True
            table = pd.DataFrame([observed.rows[place] for place in judged.tolist()])
            evidence |= find_lacked(table, differs)
        severity = "high"
        if evidence["trait"] != "column":
            severity = _grade(observed, ours, theirs, len(rows))
        examples = []
        for place in rows[:3]:
            row = observed.rows[judged[place]]
            says = f"the log has {theirs[place]:.4g}"
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
    """Return the severity of `count` rows that differ without a known reason."""
    logged_names = observed.logged_scores.components.keys()
    has_own_scores = not logged_names.isdisjoint(observed.components)
    if not observed.reward.origin and not has_own_scores:
        return "info"
    is_blind = not observed.subjects or len(set(ours.tolist())) == 1
    if is_blind and np.nanstd(theirs) > 0:
        return "high"
    return "warn" if count >= SEVERE_MISMATCH * len(ours) else "info"


def _columns_compared(observed: Observed) -> Iterator[tuple[str | None, str]]:
    """Yield components with the columns of their scores; None for the whole reward.

    The log's total is compared only if no component has a column: the reward may be
    just a part of what the trainer paid.
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


def _scores_beside(
    observed: Observed,
    outcomes: Sequence[RowOutcome],
    component: str | None,
    column: str,
) -> tuple[Codes, Floats, Floats]:
    """Return the places of judged rows, their scores, and their scores in the log."""
    judged = np.flatnonzero([outcome.is_judged for outcome in outcomes])
    places = judged.tolist()
    ours = [_score_of(outcomes[place], component) for place in places]
    logged = [observed.rows[place].get(column) for place in places]
    theirs = finite(np.array(logged, dtype=float))  # NaN for None
    return judged, np.array(ours, dtype=float), theirs


def _score_again(
    observed: Observed, rows: Sequence[Row], places: Codes
) -> list[RowOutcome]:
    """Score rows at these places once more, as the compared rows were scored.

    If siblings may count, all rows are scored together.
    """
    if observed.tries.has_functions_for("batch"):
        outcomes = observed.tries.in_groups(rows)
        return [outcomes[place] for place in places]
    return observed.tries.outcomes([rows[place] for place in places], share=0.3)


def _is_steady(
    observed: Observed, outcomes: Sequence[RowOutcome], places: Codes
) -> bool:
    """Return whether rows at these places earn the same once more."""
    again = rewards_in(_score_again(observed, observed.rows, places))
    before = [outcomes[place].reward for place in places]
    is_same = np.isclose(again, before, rtol=RTOL, atol=ATOL) | np.isnan(again)
    return bool(is_same.all())


def _explain(
    observed: Observed, places: Codes, component: str | None, theirs: Floats
) -> dict[str, Any]:
    """Find the logged column that explains the scores of rows, if one does."""
    rows = observed.rows
    columns = [name for name in rows[places[0]] if name.startswith(LOGGED)]
    for column in columns[:COLUMNS_TRIED]:
        name = column.removeprefix(LOGGED)
        if name in rows[places[0]]:
            continue
        vary = observed.tries.varied
        changed = [vary(row, **{name: row.get(column)}) for row in rows]
        outcomes = _score_again(observed, changed, places)
        scores = [_score_of(outcome, component) for outcome in outcomes]
        agreeing = int(np.isclose(scores, theirs, rtol=RTOL, atol=ATOL).sum())
        if agreeing >= ENOUGH_AGREE * len(places):
            figures = {"retried": len(places), "agreeing": agreeing}
            return {"trait": "column", "asked": name, **figures}
    return {"trait": ""}


MOST_CODE_KEYS = 6  # keys of the code that are tried: our choice
LEAST_CHANGED = 3  # rows that must earn something else: our choice
KEY_IN_CODE = re.compile(r"[A-Za-z]\w{2,40}")


@rule("key_lacking")
def lacking_keys(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a key that no row has, though a column of that name changes the reward."""
    tries = observed.tries
    if tries.asks_model or tries.by_group or observed.noise:
        return
    judged = _spread(observed.calibration.judged)
    rows = [row for row, _ in judged]
    before = np.array([reward for _, reward in judged])
    for key, column, place in _find_lacking(observed, rows):
        changed = []
        for row in rows:
            values: dict[str, Any] = {
                place: {**(row.get(place) or {}), key: row[column]}
            }
            changed.append(tries.varied(row, **values))
        rewards = np.array(tries.retry(changed))
        differ = ~np.isclose(rewards, before)
        if differ.sum() < LEAST_CHANGED or np.isnan(rewards).any():
            continue
        logged = [row.get(observed.logged_scores.total or "") for row in rows]
        theirs = np.array(logged, dtype=float)  # None is NaN
        if np.isclose(rewards, theirs).sum() > np.isclose(before, theirs).sum():
            continue  # the log was scored with that key
        numbers = sorted({row[column] for row in rows})
        first = int(np.argmax(differ))
        says = f"with {key!r} as in {column!r}: {rewards[first]:.4g}"
        reward = float(before[first])
        yield observed.finding(
            "key_lacking",
            len(rows),
            int(differ.sum()),
            examples=[observed.row_example(rows[first], reward, "key_lacking", says)],
            key=key,
            place=place,
            column=column.removeprefix(LOGGED),
            least=numbers[0],
            most=numbers[-1],
        )
        return


def _spread(rows: Sequence[Any]) -> list[Any]:
    """Choose rows from all over a log."""
    places = spread_out(np.arange(len(rows)), MOST_RETRIED)
    return [rows[place] for place in places]


def _find_lacking(
    observed: Observed, rows: Sequence[Row]
) -> Iterator[tuple[str, str, str]]:
    """Yield keys in the code, columns of that name, and objects without the key."""
    objects = set()
    columns = {}
    for name in dict.fromkeys(chain.from_iterable(rows)):
        values = [row.get(name) for row in rows]
        if any(isinstance(value, dict) for value in values):
            objects.add(name)
        elif _is_varied(values):
            columns[name.removeprefix(LOGGED).strip("_").lower()] = name
    texts = map(str, constants(observed.reward.functions))
    names = dict.fromkeys(filter(KEY_IN_CODE.fullmatch, texts))
    keys = [name for name in names if name.lower() in columns]
    for key, place in product(keys[:MOST_CODE_KEYS], sorted(objects)):
        if not any(key in (row.get(place) or ()) for row in rows):
            yield key, columns[key.lower()], place


def _is_varied(values: Sequence[Any]) -> bool:
    """Return whether all values are numbers, at least two of them different."""
    are_numbers = all(isinstance(value, int | float) for value in values)
    return are_numbers and len(set(values)) > 1


def find_nested(observed: Observed, component: str = "") -> dict[str, Any]:
    """Return the evidence of a column of nested lists that is read as a flat list.

    Args:
        observed: What was observed of a score that is always the same.
        component: The component with this score; "" for the reward.
    """
    rows = _spread(observed.rows)
    for column in dict.fromkeys(chain.from_iterable(rows)):
        if not all(_is_nested(row.get(column)) for row in rows):
            continue
        flat: list[dict[str, Any]] = []
        for row in rows:
            values: dict[str, Any] = {column: [*chain.from_iterable(row[column])]}
            flat.append(observed.tries.varied(row, **values))
        outcomes = observed.tries.outcomes(flat, share=SHARE_OF_RULE)
        scores = [outcome.scores.get(component, outcome.reward) for outcome in outcomes]
        if not np.isnan(scores).any() and not are_equal(scores):
            sizes = [len(row[column]) for row in rows]
            figures = {"fewest": min(sizes), "most": max(sizes)}
            return {"trait": "nested", "nested": column, **figures}
    return {}


def _is_nested(value: Any) -> bool:
    """Return whether a value is a list of lists of numbers."""
    if not isinstance(value, list) or not value:
        return False
    are_lists = all(isinstance(item, list) for item in value)
    return are_lists and all(map(is_number, chain.from_iterable(value)))
