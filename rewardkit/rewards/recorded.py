"""Make rewards from a log's recorded scores and from run records.

Both can be diagnosed, also with other weights. A reward from a run record cannot run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from rewardkit.errors import RewardError, did_you_mean, preview
from rewardkit.primitives.gates import Gate, gate
from rewardkit.primitives.weights import min_max, rank, standardise
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import Recorded, describe
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import Route
from rewardkit.rewards.schedule import schedule
from rewardkit.rollouts.columns import ALIASES, RIGHT_NAME
from rewardkit.rollouts.logs.log import (
    SCORE_NAME,
    identifier,
    listed,
    numeric_column,
)
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values

LOGGED_REWARD = "logged"
"""The name of the reward that the log recorded, in commands and notebooks."""

Floats = NDArray[np.float64]
SAME_SUM = 1e-5
"""Relative error allowed in a sum of float32 numbers. Our choice."""
ROWS_A_PART = 4
"""Least rows per part; with fewer, weights may fit by chance. Our choice."""

SCORE_FIRST = (
    "score it with a reward first: rewardkit score REWARD LOG -o DIR, then give DIR"
)
NO_SCORE_NAME = re.compile(
    r"(?i)^$|^unnamed|(^|_)(id|ids|index|idx|no|number|seed|rank|epoch|step|trial|turn|"
    r"round|level|max|time|date|timestamp|latency|cost|price|tokens?|length|len|size|"
    r"temperature|top_p|top_k)($|_)"
)
"""Names of columns with counts, ids or settings, which are no scores."""

RECORDED_MAKERS: Mapping[str, Callable[..., Any]] = {
    make.__name__: make for make in (gate, schedule, standardise, min_max, rank)
}
"""Functions whose calls a run record writes with all their options."""


def recorded(rollouts: Rollouts, weights: Mapping[str, float] | None = None) -> Reward:
    """Return the recorded scores of a log as a Reward, one unbounded component each.

    A missing score is not judged, never 0. A component has its weight in the trainer's
    reward if the log says it, 0 for a score that was only recorded, and 1 in a log of
    TRL, which does not write weights. `weights` overrides these; a name of another
    numeric column there adds a component ``logged_<name>``.

    Raises:
        RewardError: no Rollouts, `weights` is no dict, no scores, or a weight for a
            column that is not numeric.

    >>> from rewardkit.rollouts.load import load_rollouts
    >>> row = {"input": "2+2?", "output": "4", "gts": "4", "score": 1.0, "step": 1}
    >>> dump = [{**row, "acc": True}]
    >>> recorded(load_rollouts(dump)).weights
    {'score': 1.0, 'acc': 0.0}
    """
    if not isinstance(rollouts, Rollouts):
        raise RewardError(
            f"recorded takes Rollouts, not {preview(rollouts)}; read a log with "
            "rk.load_rollouts first"
        )
    if not isinstance(weights, Mapping | None):
        raise RewardError(
            f"weights={preview(weights)} is not a dict of a score or column: weight"
        )
    logged = rollouts.logged
    columns = dict(logged.components)
    component_weights = dict(logged.weights)
    for name, weight in (weights or {}).items():
        component_name = name
        if name not in logged.components:
            _check_number_column(rollouts, name)
            # a component cannot have the name of the column that it asks for
            component_name = f"logged_{identifier(name)}"
            columns[component_name] = name
        component_weights[component_name] = weight
    if not columns:
        raise RewardError(
            f"{rollouts.source} holds no scores of a trainer; {_what_to_take(rollouts)}"
        )
    components = []
    for name, column in columns.items():
        why = "in the log, recorded only"
        if column == logged.total:
            why = "the reward in the log"
        elif logged.weights.get(name):
            why = "a score in the log"
        component = Component(
            name,
            as_logged,
            weight=component_weights[name],
            why=why,
            columns={"value": column},
            range=None,
        )
        components.append(component)
    return Reward(LOGGED_REWARD, components=components, on_missing=logged.on_missing)


def weights_of_parts(total: Floats, parts: Mapping[str, Floats]) -> dict[str, float]:
    """Return the weights with which parts, (rows,) each, add up to a total.

    Tries weights of 1, then least squares. Returns {} unless at least two parts have a
    weight and the weighted sum is the total on every row without a missing value.

    >>> first, second = np.tile([0.0, 1, 1], 4), np.tile([0.5, 0.5, 0.0], 4)
    >>> weights_of_parts(first + 2 * second, {"a": first, "b": second})
    {'a': 1.0, 'b': 2.0}
    >>> weights_of_parts(first, {"a": first, "b": second})
    {}
    """
    names = []
    for name, values in parts.items():
        has_values = not np.isnan(values).all()
        if has_values and not np.allclose(values, total, equal_nan=True):
            names.append(name)
    if len(names) < 2:
        return {}
    table = np.column_stack([parts[name] for name in names])
    is_complete = ~(np.isnan(table).any(axis=1) | np.isnan(total))
    table = table[is_complete]
    sums = total[is_complete]
    if len(sums) < ROWS_A_PART * len(names):
        return {}
    tolerance = SAME_SUM * max(1.0, float(np.abs(sums).max()))
    least_squares, *_ = np.linalg.lstsq(table, sums, rcond=None)
    for weights in (np.ones(len(names)), least_squares):
        rounded_weights = [float(f"{weight:.5g}") for weight in weights.tolist()]
        if np.abs(table @ rounded_weights - sums).max() > tolerance:
            continue
        pairs = dict(zip(names, rounded_weights, strict=True))
        used = {
            name: weight for name, weight in pairs.items() if abs(weight) > SAME_SUM
        }
        return used if len(used) > 1 else {}
    return {}


def as_logged(value: Any) -> Any:
    """Return a score as recorded in the log, None if it is missing."""
    return value


def is_recorded(reward: Reward) -> bool:
    """Return whether `recorded` made a reward, or the reward of its run record."""
    return all(
        describe(component.function) == describe(as_logged)
        for component in reward.components
    )


def has_only_records(reward: Reward) -> bool:
    """Return whether a function of a reward is only recorded and cannot be called."""
    return any(isinstance(function, Recorded) for function in reward.functions)


def _check_number_column(rollouts: Rollouts, name: str) -> None:
    """Raise a RewardError unless this is the name of a numeric column."""
    numbers = _number_columns(rollouts)
    if name in numbers:
        return
    names = list(dict.fromkeys([*rollouts.logged.components, *numbers]))
    raise RewardError(
        f"the weights name {name!r}; the scores and columns of numbers in "
        f"{rollouts.source} are {names}{did_you_mean(name, names)}"
    )


def _number_columns(rollouts: Rollouts) -> list[str]:
    """Return the numeric columns that are not among the log's scores."""
    others = {"rollout_id", "prompt_id", "step", "ground_truth"}
    others |= set(rollouts.logged.components.values())
    columns = []
    for name, values in rollouts.table.items():
        if name not in others and numeric_column(values):
            columns.append(str(name))
    return columns


def possible_scores(rollouts: Rollouts) -> list[str]:
    """Return further columns that can be scores, likely verdicts first.

    They hold numbers or booleans that differ among completions. Columns with counts,
    ids and settings are left out.
    """
    verdicts = []
    scores = []
    others = []
    for name in _number_columns(rollouts):
        values = rollouts.table[name]
        if NO_SCORE_NAME.search(name) or values.nunique() < 2:
            continue
        if RIGHT_NAME.fullmatch(name):
            verdicts.append(name)
        elif SCORE_NAME.search(name):
            scores.append(name)
        elif infer_dtype(values) == "boolean" or _differs_in_groups(rollouts, values):
            others.append(name)
    return [*verdicts, *scores, *others]


def _differs_in_groups(rollouts: Rollouts, values: pd.Series[Any]) -> bool:
    """Return whether values differ within groups; without siblings, whether any repeat.

    Numbers that never repeat may be ids or counters of rows.
    """
    groups = rollouts.groups
    if len(np.unique(groups)) == len(groups):
        return not values.is_unique
    return rollouts.differs_in_groups(values)


def _what_to_take(rollouts: Rollouts) -> str:
    """Say which columns can be used as scores, or what to do without any."""
    names = possible_scores(rollouts)
    if names:
        which = "columns that can be scores are" if names[1:] else "one column can be:"
        return (
            f"{which} {listed(names)}: name those to take (weights={{...}}), or "
            f"{SCORE_FIRST}"
        )
    way = f"no column of numbers can be one; {SCORE_FIRST}"
    if "ground_truth" in rollouts.table:
        way += " ('rewardkit new NAME --log FILE' writes a REWARD)"
    return f"{way}{_about_texts(rollouts)}"


def _about_texts(rollouts: Rollouts) -> str:
    """Say which further columns hold numbers as texts, "" if none does."""
    names = []
    for name, values in rollouts.table.items():
        texts = [value for value in column_values(values) if value is not None]
        if name in ALIASES or not all(isinstance(text, str) for text in texts):
            continue
        numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
        if texts and not numbers.isna().any():
            names.append(str(name))
    if not names:
        return ""
    return f"; {names} hold numbers as texts: write them as numbers first"


def reward_from_record(record: Mapping[str, Any]) -> Reward:
    """Return the reward of a run record, which can be reweighed but not run.

    RewardError: this is no run record.
    """
    try:
        if "route" in record:
            return _route_from_record(record["name"], record["route"])
        return Reward(
            record["name"],
            {name: Recorded(text) for name, text in record["fields"].items()},
            [_component_from_record(item) for item in record["components"]],
            aggregation=record["aggregation"],
            on_missing=record["on_missing"],
            gate=_gate_from_text(record["gate"]),
            transform=_from_text(record["transform"]),
            recorded={key: record[key] for key in ("sources", "transform_sources")},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RewardError(
            f"this run record does not hold a reward ({error!r}); score again with "
            "this version"
        ) from None


def _route_from_record(name: str, route: Mapping[str, Any]) -> Reward:
    rewards = {
        branch["value"]: reward_from_record(branch["reward"])
        for branch in route["rewards"]
    }
    default = route["default"] and reward_from_record(route["default"])
    return Route(route["column"], rewards, default, name=name)


def _component_from_record(record: Mapping[str, Any]) -> Component:
    limits = None
    if record["range"]:
        low, high = record["range"]
        limits = (float(low), float(high))
    kind = record["kind"]
    is_batch: Any = kind == "batch"
    if kind == "batch by group":
        is_batch = "group"
    return Component(
        record["name"],
        Recorded(record["function"], tuple(record["asks_for"])),
        weight=_from_text(record.get("schedule")) or record["weight"],
        why=record["why"],
        gate=_gate_from_text(record["gate"]),
        columns=record["columns"],
        range=limits,
        batch=is_batch,
        group=kind == "group",
        primary=record["primary"],
        expects_partial=record.get("expects_partial", False),
    )


def _gate_from_text(text: str | None) -> Gate | None:
    """Return the gate with this `repr`; a stand-in replaces a predicate."""
    parsed = _from_text(text)
    if isinstance(parsed, Recorded):
        return Gate(Recorded(parsed.text.removeprefix("gate(").removesuffix(")")))
    return cast("Gate | None", parsed)


def _from_text(text: str | None) -> Any:
    """Evaluate the call in `text`; a stand-in if that fails, None without a text."""
    if not text:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            make = RECORDED_MAKERS[tree.func.id]
            arguments = [ast.literal_eval(argument) for argument in tree.args]
            options = {
                str(option.arg): ast.literal_eval(option.value)
                for option in tree.keywords
            }
            return make(*arguments, **options)
    except (KeyError, SyntaxError, TypeError, ValueError):
        pass
    return Recorded(text)
