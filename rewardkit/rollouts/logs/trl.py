"""Logs of TRL and ms-swift: prompt, completion, rewards by function, advantages.

TRL 1.16 (GRPOTrainer, RLOOTrainer) writes one file per step: step, prompt, completion,
one column per reward function (named by `get_callable_name`), the columns of log_extra
in alphabetical order, advantage.

ms-swift (4.6, GRPOTrainer.log) appends one line per step to completions.jsonl, in which
each column is a list: step as text, prompt, completion, one per reward function,
advantages, further ones. Its Megatron trainer names the step gen_step. Its tables in
W&B and SwanLab have one row per completion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.rollouts.columns import ALIASES, ALL_ALIASES, Columns
from rewardkit.rollouts.logs.log import (
    TOTALS,
    Form,
    ParsedLog,
    first,
    listed,
    numeric,
    scored_table,
    split_scores,
    unrolled,
)
from rewardkit.rollouts.logs.weights import EXACT, FittedWeights, fit_weights
from rewardkit.rollouts.values import SourceRows

STEP_NAMES = ("step", "gen_step")
"""What ms-swift calls the step; the second is its Megatron trainer's."""


def _is_trl(columns: Columns) -> bool:
    if not {"step", "prompt", "completion", "advantage"} <= columns.keys():
        return False
    if "example_id" in columns:  # a column of verifiers, which prime-rl uses
        return False
    between = _between(columns, "advantage")
    # the rewards come first, but a reordered table may have its truths there
    candidates = [name for name in between if name not in ALL_ALIASES] or between
    if not numeric([0.0, *columns["advantage"]]):
        return False
    return bool(_from_first_reward(columns, candidates))


def _from_first_reward(columns: Columns, names: Sequence[str]) -> list[str]:
    """Return the columns from the first reward on, [] if no reward is recognised.

    TRL logs rewards first and no total. In a reordered table the rewards are the
    columns of numbers that explain the advantages.
    """
    if names and numeric([0.0, *columns[names[0]]]):
        return list(names)
    numbers = [name for name in names if numeric(columns[name])]
    if not numbers or not columns.keys().isdisjoint(TOTALS):
        return []
    return numbers if _fit_rewards(columns, numbers) else []


def _between(columns: Columns, advantage: str) -> list[str]:
    """Return the columns between completion and advantage: rewards, then log_extra."""
    order = list(columns)
    places = (order.index("completion"), order.index(advantage))
    return order[places[0] + 1 : places[1]]


def _parse_trl(rows: SourceRows) -> ParsedLog:
    rows = _clean_steps(rows)
    columns = rows.columns
    reserved = ALL_ALIASES.union(rows.reserved)
    between = [name for name in _between(columns, "advantage") if name not in reserved]
    between = _from_first_reward(columns, between)
    candidates = between[:1]
    for name in between[1:]:
        if not set(map(type, columns[name])) <= {float, type(None)}:
            break
        candidates.append(name)
    fitted = _fit_rewards(columns, candidates)
    if fitted is None:  # TRL writes rewards as float32, log_extra unchanged
        extras = [name for name in candidates[1:] if not _is_float32(columns[name])]
        if extras:
            candidates = candidates[: candidates.index(extras[0])]
    weights = _weights_of(candidates, fitted, has_extras=True)
    rewards = [name for name in candidates if weights[name]]
    extra = []
    for name in between:
        if name not in rewards and numeric(columns[name]):
            extra.append(name)
    scores, data_notes = split_scores(columns, [*rewards, *extra])
    weights = {name: weights[name] for name in rewards}
    weights |= dict.fromkeys([name for name in extra if name in scores], 0.0)
    warnings = []
    if fitted is None and len(between) > 1 and any(columns["advantage"]):
        warnings.append(
            f"Cannot tell which of {listed(between)} are reward functions; counting "
            f"{listed(rewards)} with weight 1. Set them with --log-weight."
        )
    return ParsedLog(
        rows,
        weights,
        total=rewards[0] if len(rewards) == 1 else None,
        on_missing="skip",  # TRL's nansum skips missing scores
        notes=(*_note_on_weights("TRL", weights, fitted), *data_notes),
        warnings=tuple(warnings),
    )


def _parse_more(rows: SourceRows, first: ParsedLog) -> ParsedLog:
    """Read further rows of a log; its rewards and weights are known."""
    return ParsedLog(_clean_steps(rows))


def _is_float32(cells: Sequence[Any]) -> bool:
    """Return whether all values are float32, in which TRL writes rewards."""
    values = np.array(cells, dtype=float)
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(np.float32), values, equal_nan=True)


def _fit_rewards(
    columns: Columns, names: Sequence[str], advantage: str = "advantage"
) -> FittedWeights | None:
    """Fit the weights of columns to the advantages; None if no weights fit.

    A missing score counts as 0, as in TRL's nansum.
    """
    steps = next((columns[name] for name in ALIASES["step"] if name in columns), None)
    steps = steps or columns["prompt"]
    codes = []
    for keys in (zip(steps, columns["prompt"], strict=True), steps):
        texts = np.array([repr(key) for key in keys], dtype=object)
        codes.append(pd.factorize(texts)[0])
    table = pd.DataFrame({name: columns[name] for name in [*names, advantage]})
    table = table.astype(float).fillna(0.0)
    scores = {name: table[name].to_numpy() for name in names}
    return fit_weights(scores, table[advantage].to_numpy(), *codes)


def _weights_of(
    names: Sequence[str], fitted: FittedWeights | None, *, has_extras: bool
) -> dict[str, float]:
    """Return the weight of each column: the fitted one, else TRL's default of 1.

    A column without a fitted weight may be one of TRL's log_extra: it counts if its
    name contains "reward".
    """
    if fitted is None or len(names) == 1:
        return dict.fromkeys(names, 1.0)
    weights = {}
    for name in names:
        is_paid = not has_extras or "reward" in name.lower()
        weight = fitted.weights.get(name, float(is_paid))
        weights[name] = float(f"{weight:.4g}")
    return weights


def _clean_steps(rows: SourceRows) -> SourceRows:
    """Convert steps to numbers, and drop steps that repeat the previous step's rows.

    Trackers store the step as text, and a batch is logged at each step that trains on
    it.
    """
    step, gen_step = STEP_NAMES
    name = step if step in rows.columns else gen_step
    cells = rows.columns.get(name, [None] * len(rows.places))
    columns = {**rows.columns, name: list(map(_step, cells))}
    rows = replace(rows, columns=columns)
    keys = list(map(repr, columns[name]))
    steps: dict[str, list[Any]] = {}
    for step, row in zip(keys, rows.rows(), strict=True):
        steps.setdefault(step, []).append({**row, name: None, "rollout_id": None})
    repeats = [step for before, step in pairwise(steps) if steps[before] == steps[step]]
    if not repeats:
        return rows
    examples = ", ".join(repeats[:3]) + (" ..." if len(repeats) > 3 else "")
    warning = (
        f"{len(repeats)} of {len(steps)} steps left out that repeat the rows of the "
        f"one before, as a batch is logged at each step that trains on it ({examples})"
    )
    repeated = frozenset(repeats)
    rows = replace(rows, warnings=(*rows.warnings, warning))
    return rows.keep([step not in repeated for step in keys])


def _is_swift(columns: Columns) -> bool:
    prompt = first(columns.get("prompt", ()))
    completion = first(columns.get("completion", ()))
    if isinstance(prompt, list) and isinstance(completion, list):
        if len(prompt) != len(completion) or not _are_texts(completion):
            return False
        return _are_texts(prompt) or all(isinstance(cell, list) for cell in prompt)
    is_flat = numeric(columns.get("advantages", ()))
    return is_flat and _are_texts([prompt, completion])


def _are_texts(cells: Sequence[Any]) -> bool:
    return bool(cells) and all(isinstance(cell, str) for cell in cells)


def _parse_swift(rows: SourceRows) -> ParsedLog:
    rows = _clean_steps(unrolled(rows, "completion"))
    columns = rows.columns
    if "advantages" not in columns and numeric(columns.get("reward", ())):
        return scored_table(rows)
    rewards = []
    if "advantages" in columns:
        no_rewards = {*rows.reserved, *STEP_NAMES}
        for name in _between(columns, "advantages"):
            if name not in no_rewards and numeric(columns[name]):
                rewards.append(name)
    rewards, data_notes = split_scores(columns, rewards)
    advantages = columns.get("advantages", ())
    has_signal = numeric(advantages) and any(advantages)
    fitted = _fit_rewards(columns, rewards, "advantages") if has_signal else None
    warnings = []
    if len(rewards) > 1 and has_signal and fitted is None:
        warnings.append(
            f"The advantages do not follow a weighted sum of {listed(rewards)}: set "
            "the reward_weights of the run with --log-weight."
        )
    weights = _weights_of(rewards, fitted, has_extras=False)
    return ParsedLog(
        rows,
        weights,
        total=rewards[0] if len(rewards) == 1 else None,
        on_missing="skip",  # nansum, as in TRL
        notes=(*_note_on_weights("ms-swift", weights, fitted), *data_notes),
        warnings=tuple(warnings),
    )


def _step(cell: Any) -> Any:
    """Return a step as a number if it is logged as text."""
    is_digits = isinstance(cell, str) and cell.isascii() and cell.isdigit()
    return int(cell) if is_digits else cell


SCALINGS = {
    "none": "divided by nothing",
    "batch": "divided by the deviation of the batch",
    "group": "divided by the deviation of each group",
    "gdpo": "each function divided by its deviation in the group (GDPO)",
}
"""Scaling of the advantages -> its description."""


def _note_on_weights(
    trainer: str, weights: Mapping[str, float], fitted: FittedWeights | None
) -> tuple[str, ...]:
    """Describe the weights of the rewards and their source."""
    used_weights = {name: weight for name, weight in weights.items() if weight}
    if len(used_weights) < 2:
        return ()
    if fitted is None:
        return (
            f"{trainer} logs no reward_weights: each has weight 1 until you pass "
            "--log-weight",
        )
    weights_text = ", ".join(
        f"{name} {weight:g}" for name, weight in used_weights.items()
    )
    note = f"the advantages fit the weights {weights_text}, {SCALINGS[fitted.scaling]}"
    if fitted.scaling != "none":
        note += "; only their ratios can be told"
    if fitted.residual > EXACT:
        note += f"; {100 * fitted.residual:.2g} % of their squares are left"
    guessed = [name for name in used_weights if name in fitted.unfitted_names]
    if guessed:
        verb = "differs" if len(guessed) == 1 else "differ"
        note += (
            f"; the weight of {listed(guessed)} cannot be told, as it never {verb} "
            "within groups or only as others do: 1, TRL's default"
        )
    return (note,)


def _parse_more_swift(rows: SourceRows, first: ParsedLog) -> ParsedLog:
    return ParsedLog(_clean_steps(unrolled(rows, "completion")))


STEP_FORMS = (
    Form("TRL completions", _parse_trl, _is_trl, _parse_more, looks_back=True),
    Form(
        "ms-swift completions",
        _parse_swift,
        _is_swift,
        _parse_more_swift,
        looks_back=True,
    ),
)
