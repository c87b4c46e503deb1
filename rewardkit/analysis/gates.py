"""Another gate on a component that is scored: the statuses and scores that it gives, without scoring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.errors import RewardError, preview
from rewardkit.primitives.gates import Gate
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.outcomes import ABSTAINED, GATED, SCORED
from rewardkit.scoring.scores import status_column

__all__ = ["UNSCORED", "put_gate"]

UNSCORED = "behind a gate that was closed when it was scored"


def put_gate(table: pd.DataFrame, name: str, gate: Gate | None, asks_for: Sequence[str] = ()) -> int:
    """Put a component behind `gate` in a scored table; how many rows lack a score that the gate now admits.

    Those are ``abstained``. Rows that the gate on the whole reward keeps shut, or cannot decide, and those in
    which a component that it `asks_for` is gated stay as they are. RewardError: the gate is on a column that
    the table does not have, or of a kind that it cannot be held against.
    """
    status = np.asarray(table[f"status/{name}"].cat.codes, dtype=np.int8)
    is_open, known = _opened(table, gate)
    whole = table["gate/reward"].to_numpy(dtype=float) if "gate/reward" in table else np.ones(len(table))
    decided = whole == 1
    closed, unknown = decided & known & ~is_open, decided & ~known
    errors = table[f"error/{name}"].to_numpy(dtype=object).copy()
    undecided = np.array([isinstance(why, str) and why.startswith("its gate ") for why in errors], dtype=bool)
    unscored = decided & is_open & ((status == GATED) | undecided)
    for other in asks_for:
        if f"status/{other}" in table:
            unscored &= np.asarray(table[f"status/{other}"].cat.codes) != GATED
    new = np.where(closed, GATED, np.where(unscored | unknown, ABSTAINED, status)).astype(np.int8)
    errors[unscored], errors[closed] = UNSCORED, None
    errors[unknown] = f"its gate needs {gate.on!r}, which is missing" if gate is not None else None
    table[f"score/{name}"] = np.where(new == SCORED, table[f"score/{name}"], np.nan)
    table[f"status/{name}"] = status_column(new)
    table[f"error/{name}"] = pd.Series(errors, index=table.index, dtype=object)
    return int(unscored.sum())


def _opened(table: pd.DataFrame, gate: Gate | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a gate on a column is open for each row, and whether that can be said, (rows,) each."""
    if gate is None:
        return np.ones(len(table), dtype=bool), np.ones(len(table), dtype=bool)
    name = str(gate.on)
    column = next((key for key in (f"score/{name}", f"field/{name}", name) if key in table), None)
    if column is None:
        raise RewardError(f"a gate is on {name!r}, which these scores do not have")
    decided = _decisions(gate, column_values(table[column]))
    known = np.array([value is not None for value in decided], dtype=bool)
    is_open = np.array([value is True for value in decided], dtype=bool)
    if f"status/{name}" in table:  # what kept that component from running closes this gate too
        known |= np.asarray(table[f"status/{name}"].cat.codes) == GATED
    return is_open, known


def _decisions(gate: Gate, values: Sequence[Any]) -> list[bool | None]:
    """Whether the gate is open for each value, None where it is missing.

    RewardError: a number is held against text.
    """
    known = [value for value in values if value is not None]
    numeric = [isinstance(value, int | float | np.number | np.bool_) for value in known]
    limits = gate.at_least is not None or gate.at_most is not None
    wrong = limits and not all(numeric)
    wrong = wrong or (isinstance(gate.equals, int | float) and bool(known) and not any(numeric))
    if wrong:
        value = known[numeric.index(False)]
        raise RewardError(
            f"{gate!r} compares {gate.on!r} with a number, and it holds {preview(value)}; give a column of "
            "numbers, or equals= a value that it has"
        )
    return [gate.admits(value) for value in values]
