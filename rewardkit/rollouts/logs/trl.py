"""Logs of TRL and ms-swift: prompt, completion, a column a reward function, advantages.

TRL 1.16 writes a file a step, as GRPOTrainer and RLOOTrainer log them: step, prompt,
completion, one column a reward function (under the name of `get_callable_name`), those
of log_extra in alphabetical order, advantage.

ms-swift (4.6, GRPOTrainer.log) appends a line a step to completions.jsonl, each column
a list: step as text, prompt, completion, one a reward function, advantages, further
ones. Its Megatron trainer calls the step gen_step; what it sends to W&B and SwanLab has
a row a completion.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.rollouts.columns import ALL_ALIASES, Columns
from rewardkit.rollouts.logs.log import (
    Form,
    ParsedLog,
    first,
    listed,
    numeric,
    split_scores,
    unrolled,
)
from rewardkit.rollouts.values import SourceRows

NOISE = 1e-3
"""Rounding, of differences of advantages and scaled rewards. Our choice."""


def _is_trl(columns: Columns) -> bool:
    if not {"step", "prompt", "completion", "advantage"} <= columns.keys():
        return False
    for name in (*_between(columns)[:1], "advantage"):
        if not numeric([0.0, *columns[name]]):
            return False
    return bool(_between(columns))


def _between(columns: Columns, advantage: str = "advantage") -> list[str]:
    """Return the columns between completion and advantage: scores, then log_extra's."""
    order = list(columns)
    places = (order.index("completion"), order.index(advantage))
    return order[places[0] + 1 : places[1]]


def _parse_trl(rows: SourceRows, keep: Collection[str]) -> ParsedLog:
    rows, warnings = _clean_steps(rows)
    columns = rows.columns
    between = _between(columns)
    reserved = ALL_ALIASES.union(keep)
    candidates = between[:1]
    for name in between[1:]:
        if name in reserved or not _is_float32(columns[name]):
            break
        candidates.append(name)
    count = _count_rewards(columns, candidates)
    rewards = candidates[:count]
    weights = dict.fromkeys(rewards, 1.0)
    extra = []
    for name in between:
        is_extra = name not in reserved and name not in rewards
        if is_extra and numeric(columns[name]):
            extra.append(name)
    scores, data_notes = split_scores(columns, [*rewards, *extra])
    weights |= dict.fromkeys([name for name in extra if name in scores], 0.0)
    if len(rewards) > 1 and count is None:
        warnings.append(
            f"Cannot tell which of {listed(rewards)} are reward functions; counting "
            "all with weight 1. Set them with --log-weight."
        )
    return ParsedLog(
        rows,
        weights,
        total=rewards[0] if len(rewards) == 1 else None,
        on_missing="skip",  # nansum: a missing score is left out of the sum
        notes=(*_note_on_weights("TRL", rewards), *data_notes),
        warnings=tuple(warnings),
    )


def _is_float32(cells: Sequence[Any]) -> bool:
    """Return whether a column can be a reward, which TRL writes as float32."""
    if not set(map(type, cells)) <= {float, type(None)}:
        return False
    values = np.array(cells, dtype=float)
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(np.float32), values, equal_nan=True)


def _count_rewards(
    columns: Columns, names: Sequence[str], advantage: str = "advantage"
) -> int | None:
    """Count the reward functions: the columns whose sum the advantages follow.

    Whatever advantages are divided by, within a group they differ as the rewards do. Of
    the last columns those that never differ within a group could be anything: they
    count where they are called a reward. ``None`` where no sum fits, as with weights.
    """
    steps = columns.get("step", columns["prompt"])
    pairs = list(map(repr, zip(steps, columns["prompt"], strict=True)))
    groups = pd.factorize(np.array(pairs, dtype=object))[0]
    scores = {name: columns[name] for name in [*names, advantage]}
    table = pd.DataFrame(scores, dtype=float).fillna(0.0)
    centred = table - table.groupby(groups).transform("mean")
    sums = centred.assign(**centred[names].cumsum(axis=1))
    largest = sums.abs().groupby(groups).transform("max")
    # NaN: a sum that is the same in a whole group
    scaled = (sums / largest)[largest[advantage] > NOISE]
    off = scaled[names].sub(scaled[advantage], axis=0).abs().max(skipna=False)
    fitting = np.flatnonzero(off < NOISE) + 1
    if not len(fitting):
        return None
    count = int(fitting[-1])
    while count > fitting[0]:
        name = names[count - 1]
        if "reward" in name.lower() or centred[name].abs().max() > NOISE:
            break
        count -= 1
    return count


def _clean_steps(rows: SourceRows) -> tuple[SourceRows, list[str]]:
    """Read steps as numbers, and drop those that repeat the rows of the one before.

    Trackers get the step as text, and a batch is logged at each step it trains.
    """
    name = "step" if "step" in rows.columns else "gen_step"
    cells = rows.columns.get(name, [None] * len(rows.places))
    columns = {**rows.columns, name: list(map(_step, cells))}
    rows = replace(rows, columns=columns)
    keys = list(map(repr, columns[name]))
    steps: dict[str, list[Any]] = {}
    for step, row in zip(keys, rows.rows(), strict=True):
        steps.setdefault(step, []).append({**row, name: None, "rollout_id": None})
    repeats = [step for before, step in pairwise(steps) if steps[before] == steps[step]]
    if not repeats:
        return rows, []
    shown = ", ".join(repeats[:3]) + (" ..." if len(repeats) > 3 else "")
    warning = (
        f"{len(repeats)} of {len(steps)} steps left out that repeat the rows of the "
        f"one before, as a batch is logged at each step that trains on it ({shown})"
    )
    return rows.keep([step not in repeats for step in keys]), [warning]


def _is_swift(columns: Columns) -> bool:
    prompt = first(columns.get("prompt", ()))
    completion = first(columns.get("completion", ()))
    if isinstance(prompt, list) and isinstance(completion, list):
        texts = [*prompt, *completion]
        return len(prompt) == len(completion) and _are_texts(texts)
    is_flat = numeric(columns.get("advantages", ()))
    return is_flat and _are_texts([prompt, completion])


def _are_texts(cells: Sequence[Any]) -> bool:
    return bool(cells) and all(isinstance(cell, str) for cell in cells)


def _parse_swift(rows: SourceRows, keep: Collection[str]) -> ParsedLog:
    rows, warnings = unrolled(rows, "completion")
    rows, repeats = _clean_steps(rows)
    columns = rows.columns
    rewards = []
    if "advantages" in columns:
        for name in _between(columns, "advantages"):
            if name not in keep and numeric(columns[name]):
                rewards.append(name)
    rewards, data_notes = split_scores(columns, rewards)
    advantages = columns.get("advantages", ())
    has_signal = numeric(advantages) and any(advantages)
    if (
        len(rewards) > 1
        and has_signal
        and not _count_rewards(columns, rewards, "advantages")
    ):
        warnings.append(
            f"The advantages do not follow the plain sum of {listed(rewards)}: set the "
            "reward_weights of the run with --log-weight."
        )
    return ParsedLog(
        rows,
        dict.fromkeys(rewards, 1.0),
        total=rewards[0] if len(rewards) == 1 else None,
        on_missing="skip",  # nansum, as TRL
        notes=(*_note_on_weights("ms-swift", rewards), *data_notes),
        warnings=(*warnings, *repeats),
    )


def _step(cell: Any) -> Any:
    """Return a step that is text as the number that it is."""
    is_digits = isinstance(cell, str) and cell.isascii() and cell.isdigit()
    return int(cell) if is_digits else cell


def _note_on_weights(trainer: str, rewards: Sequence[str]) -> tuple[str, ...]:
    if len(rewards) < 2:
        return ()
    return (
        f"{trainer} logs no reward_weights: each has weight 1 until you pass "
        "--log-weight",
    )


TRL_LOG = Form("TRL completions", _parse_trl, _is_trl)
SWIFT_LOG = Form("ms-swift completions", _parse_swift, _is_swift)
