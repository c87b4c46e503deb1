"""Score tables made for tests: what a component scored, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import rewardkit as rk


def scores_of(
    components: Mapping[str, Sequence[float]],
    groups: Sequence[int],
    *,
    weights: Mapping[str, float] | None = None,
    completions: Sequence[str] | None = None,
    **reward_options: Any,
) -> rk.Scores:
    """Scores in which each component is the given column; NaN abstains. One prompt a group."""
    rows = [
        {
            "prompt_id": f"p{group}",
            "completion": completions[row] if completions else f"completion {row}",
            **{f"given_{name}": _or_none(values[row]) for name, values in components.items()},
        }
        for row, group in enumerate(groups)
    ]
    made = [
        rk.Component(
            name,
            lambda given: given,
            weight=(weights or {}).get(name, 1.0),
            columns={"given": f"given_{name}"},
            range=(0.0, 1.0) if np.nanmax(np.abs(values)) <= 1 else None,
        )
        for name, values in components.items()
    ]
    return rk.score(rk.Reward("made", components=made, **reward_options), rows)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def sampled(
    seed: int, *, prompts: int, generations: int, rate: float, spread: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """0/1 outcomes of groups whose pass rates are beta distributed around `rate`, and group codes."""
    generator = np.random.default_rng(seed)
    if spread:
        strength = 1 / spread
        rates = generator.beta(rate * strength, (1 - rate) * strength, size=prompts)
    else:
        rates = np.full(prompts, rate)
    outcomes = (generator.random((prompts, generations)) < rates[:, None]).astype(float)
    return outcomes.ravel(), np.repeat(np.arange(prompts), generations)


def rewarded(
    rewards: Sequence[float],
    groups: Sequence[int],
    prompts: Sequence[int] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    **columns: Sequence[Any],
) -> rk.Scores:
    """Scores of one component "paid", whose score is the given reward (NaN: not judged)."""
    owner = groups if prompts is None else prompts
    rows = [
        {
            "prompt_id": f"p{owner[row]}",
            "policy": str(group),
            "completion": "word " * (row % 7 + 1),
            "given": _or_none(float(rewards[row])),
            **{name: values[row] for name, values in columns.items()},
        }
        for row, group in enumerate(groups)
    ]
    paid = rk.Component("paid", lambda given: given, range=None)
    return rk.score(rk.Reward("made", components=[paid], **(options or {})), rows)
