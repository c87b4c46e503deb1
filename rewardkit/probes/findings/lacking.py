"""Rules of what a log has in another place, or in another shape, than code reads it.

An option with a default is read under a key that no row has, and the log has a column
of that name: the default counts everywhere. Token ids of several turns are lists in a
list, of which `len` counts the turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from rewardkit.analysis.statistics import spread_out
from rewardkit.findings import Finding, Findings, rule
from rewardkit.plain import is_number
from rewardkit.probes.code.constants import constants
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import SHARE_OF_RULE, are_equal
from rewardkit.rollouts.columns import LOGGED
from rewardkit.strategies.strategy import Row

MOST_RETRIED = 32  # rows that are tried with another value: our choice
MOST_KEYS = 6  # keys of the code that are tried: our choice
LEAST_CHANGED = 3  # rows that must earn something else: our choice
KEY = re.compile(r"[A-Za-z]\w{2,40}")


@rule("key_lacking")
def lacking_keys(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a key that no row has, though a column of that name moves the reward."""
    tries = observed.tries
    if tries.asks_model or tries.by_group or observed.noise:
        return
    judged = _spread(observed.calibration.judged)
    rows = [row for row, _ in judged]
    before = np.array([reward for _, reward in judged])
    for key, column, place in _find_lacking(observed, rows):
        changed = [_with_key(observed, row, place, key, row[column]) for row in rows]
        rewards = np.array(tries.retry(changed))
        differ = ~np.isclose(rewards, before)
        if differ.sum() < LEAST_CHANGED or np.isnan(rewards).any():
            continue
        logged = [row.get(observed.logged_scores.total or "") for row in rows]
        theirs = np.array(logged, dtype=float)  # None is NaN
        if np.isclose(rewards, theirs).sum() > np.isclose(before, theirs).sum():
            continue  # it was handed over there
        values = sorted({row[column] for row in rows})
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
            least=values[0],
            most=values[-1],
        )
        return


def _spread(rows: Sequence[Any]) -> list[Any]:
    """Choose rows from all over a log."""
    places = spread_out(np.arange(len(rows)), MOST_RETRIED)
    return [rows[place] for place in places]


def _find_lacking(
    observed: Observed, rows: Sequence[Row]
) -> Iterator[tuple[str, str, str]]:
    """Yield keys of the code, the column of that name, and the object that lacks it."""
    objects = {
        name for row in rows for name, value in row.items() if isinstance(value, dict)
    }
    columns = {
        name.removeprefix(LOGGED).strip("_").lower(): name
        for name in dict.fromkeys(chain.from_iterable(rows))
        if _is_varied([row.get(name) for row in rows])
    }
    texts = filter(KEY.fullmatch, map(str, constants(observed.reward.functions)))
    keys = [key for key in dict.fromkeys(texts) if key.lower() in columns]
    for key in keys[:MOST_KEYS]:
        for place in sorted(objects):
            if not any(key in (row.get(place) or ()) for row in rows):
                yield key, columns[key.lower()], place


def _is_varied(values: Sequence[Any]) -> bool:
    """Whether all are numbers, and not the same one."""
    are_numbers = all(isinstance(value, int | float) for value in values)
    return are_numbers and len(set(values)) > 1


def _with_key(
    observed: Observed, row: Row, place: str, key: str, value: Any
) -> dict[str, Any]:
    """Return the row with a key in one of its objects."""
    columns: dict[str, Any] = {place: {**(row.get(place) or {}), key: value}}
    return observed.tries.varied(row, **columns)


def find_nested(observed: Observed, component: str = "") -> dict[str, Any]:
    """Return the evidence of a column of lists in lists that is read as one list.

    Args:
        observed: What was observed of a score that is always the same.
        component: The component whose score that is; "" for the reward.
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
    """Whether it is a list of lists of numbers."""
    if not isinstance(value, list) or not value:
        return False
    are_lists = all(isinstance(item, list) for item in value)
    return are_lists and all(map(is_number, chain.from_iterable(value)))
