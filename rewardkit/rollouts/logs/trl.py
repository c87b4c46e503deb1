"""Completions of TRL 1.16: a file a step, as GRPOTrainer and RLOOTrainer log them.

Columns are step, prompt, completion, one a reward function (under the name of
`get_callable_name`), those of log_extra in alphabetical order, advantage.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.logs.log import Form, Log, listed, numeric
from rewardkit.rollouts.source import Columns, Source

KNOWN = {alias for aliases in ALIASES.values() for alias in aliases}

NOISE = 1e-3
"""Rounding, of differences of advantages and scaled rewards. Our choice."""


def _fits(columns: Columns) -> bool:
    numbers = [*_between(columns)[:1], "advantage"]
    there = {"step", "prompt", "completion", "advantage"} <= columns.keys() and len(
        numbers
    ) == 2
    return there and all(numeric([0.0, *columns[name]]) for name in numbers)


def _between(columns: Columns) -> list[str]:
    """Return the columns between completion and advantage: scores, then log_extra's."""
    order = list(columns)
    if not {"completion", "advantage"} <= columns.keys():
        return []
    return order[order.index("completion") + 1 : order.index("advantage")]


def _read(source: Source, keep: Collection[str]) -> Log:
    source, warnings = _without_repeats(source)
    columns, known = source.columns, KNOWN | set(keep)
    between = _between(columns)
    may_be = takewhile(
        lambda name: name not in known and _is_float32(columns[name]), between[1:]
    )
    rewards = [between[0], *may_be]
    paid = _count_paid(columns, rewards)
    rewards = rewards[:paid]
    extras = [
        name
        for name in between
        if name not in {*rewards, *known} and numeric(columns[name])
    ]
    if len(rewards) > 1 and paid is None:
        warnings += (
            f"Cannot tell which of {listed(rewards)} are reward functions; counting "
            "all with weight 1. "
            "Set them with --log-weight.",
        )
    unweighted = (
        "TRL logs no reward_weights: each has weight 1 until you pass --log-weight"
    )
    return Log(
        source,
        {**dict.fromkeys(rewards, 1.0), **dict.fromkeys(extras, 0.0)},
        total=rewards[0] if len(rewards) == 1 else None,
        on_missing="skip",  # nansum: a missing score is left out of the sum
        notes=(unweighted,) if len(rewards) > 1 else (),
        warnings=warnings,
    )


def _is_float32(cells: Sequence[Any]) -> bool:
    """Return whether a column can be a reward, which TRL writes as float32."""
    if not set(map(type, cells)) <= {float, type(None)}:
        return False
    values = np.array(cells, dtype=float)
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(np.float32), values, equal_nan=True)


def _count_paid(columns: Columns, names: Sequence[str]) -> int | None:
    """Count the reward functions: the columns whose sum the advantages follow.

    Whatever advantages are divided by, within a group they differ as the rewards do. Of
    the last columns those that never differ within a group could be anything: they
    count where they are called a reward. ``None`` where no sum fits, as with weights.
    """
    pairs = list(map(repr, zip(columns["step"], columns["prompt"], strict=True)))
    groups = pd.factorize(np.array(pairs, dtype=object))[0]
    table = pd.DataFrame(
        {name: columns[name] for name in [*names, "advantage"]}, dtype=float
    ).fillna(0.0)
    centred = table - table.groupby(groups).transform("mean")
    sums = centred.assign(**centred[names].cumsum(axis=1))
    largest = sums.abs().groupby(groups).transform("max")
    scaled = (sums / largest)[
        largest["advantage"] > NOISE
    ]  # NaN: a sum that is the same in a whole group
    off = scaled[names].sub(scaled["advantage"], axis=0).abs().max(skipna=False)
    fitting = [count for count, name in enumerate(names, start=1) if off[name] < NOISE]
    paid = fitting[-1] if fitting else None
    while paid and paid > fitting[0] and "reward" not in names[paid - 1].lower():
        if centred[names[paid - 1]].abs().max() > NOISE:
            break
        paid -= 1
    return paid


def _without_repeats(source: Source) -> tuple[Source, tuple[str, ...]]:
    """Drop files that repeat the one before: TRL logs a batch at each of its steps."""
    files: dict[str, list[Any]] = {}
    for place, row in zip(source.places, source.rows(), strict=True):
        files.setdefault(place.file, []).append({**row, "step": None})
    repeats = [file for before, file in pairwise(files) if files[before] == files[file]]
    if not repeats:
        return source, ()
    shown = ", ".join(repeats[:3]) + (" ..." if len(repeats) > 3 else "")
    return source.keep([place.file not in repeats for place in source.places]), (
        f"{len(repeats)} of {len(files)} files left out that repeat the rows of the "
        "one before them, as TRL "
        f"logs a batch at each step it trains on it ({shown})",
    )


COMPLETIONS = Form("TRL completions", _fits, _read)
