"""What planted tables are made of: scores with given numbers, and draws that the kinds share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

import rewardkit as rk
from rewardkit.rollouts.logs.log import Logged

PROMPTS, SIBLINGS = int(os.environ.get("PLANTED_PROMPTS", "100")), 8
ROWS = PROMPTS * SIBLINGS
FAILS, OUTSIDE = -9.0, 7.0
"""Given scores for which a component raises, and which its range does not hold."""

Made = tuple[rk.Scores, dict[str, Any]]
"""Scores, and what rk.diagnose is told beside them."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault: what makes it of a generator and a strength, and the finding that names it."""

    build: Callable[[np.random.Generator, Any], Made]
    easy: Any
    hard: Any
    code: str
    component: str | None = None
    part: str = ""

    def made(self, name: str, seed: int, *, hard: bool) -> Made:
        """The table of this seed; a seed gives the same noise in both strengths."""
        return self.build(generator_of(name, seed), self.hard if hard else self.easy)


def generator_of(name: str, seed: int) -> np.random.Generator:
    """A stream of its own for each name and seed."""
    return np.random.default_rng([seed, crc32(name.encode())])


def scored(
    parts: Mapping[str, np.ndarray],
    groups: np.ndarray,
    *,
    weights: Mapping[str, float] | None = None,
    ranges: Mapping[str, Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    components: Mapping[str, Mapping[str, Any]] | None = None,
    logged: Mapping[str, Sequence[Any]] | None = None,
    total: str | None = None,
    **reward_options: Any,
) -> rk.Scores:
    """Scores in which each component gives these numbers; NaN is not judged, FAILS raises.

    The first weighs 1, the others 0.5. `columns` are more of the rollouts, `components` more options of a
    component, `logged` scores that a trainer wrote. One prompt a group, completions of 20 to 200 letters.
    """
    size = np.random.default_rng(len(groups)).integers(20, 201, len(groups))
    given = {
        "prompt_id": [f"p{group}" for group in groups],
        "completion": [f"{row} ".ljust(int(size[row]), "x") for row in range(len(groups))],
        **(columns or {}),
        **{f"given_{name}": values for name, values in parts.items()},
        **{f"logged/{name}": values for name, values in (logged or {}).items()},
    }
    plain = {name: [_plain(value) for value in values] for name, values in given.items()}
    rows = [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]
    made = [
        rk.Component(
            name,
            _given,
            columns={"given": f"given_{name}"},
            range=(ranges or {}).get(name, (0.0, 1.0)),
            **{
                "weight": (weights or {}).get(name, 0.5 if place else 1.0),
                **(components or {}).get(name, {}),
            },
        )
        for place, name in enumerate(parts)
    ]
    rollouts = rk.load_rollouts(rows)
    if logged:
        names = {name: f"logged/{name}" for name in logged}
        column = names.get(total or "")
        rollouts = replace(rollouts, logged=Logged(names, dict.fromkeys(names, 1.0), column, "nan"))
    return rk.score(rk.Reward("made", components=made, **reward_options), rollouts)


def _given(given):
    return given if given != FAILS else 1 / 0


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and np.isnan(value) else value


def outcomes(generator, prompts, siblings, rate, spread=0.05):
    """0/1 outcomes of groups whose pass rates are beta distributed around `rate`, and group codes."""
    rates = generator.beta(rate / spread, (1 - rate) / spread, size=prompts)
    found = generator.random((prompts, siblings)) < rates[:, None]
    return found.ravel().astype(float), np.repeat(np.arange(prompts), siblings)


def base(generator, prompts=PROMPTS, siblings=SIBLINGS, rate=0.45):
    """A task that is right or wrong at a middling pass rate, and an unrelated, lighter second part."""
    correct, groups = outcomes(generator, prompts, siblings, rate)
    return {"correct": correct, "tidy": generator.beta(3, 2, len(groups))}, groups


def beside(more, **options):
    """Builds the healthy task and its second part, and beside them `more(generator, parts, strength)`."""

    def build(generator, strength=None):
        parts, groups = base(generator)
        return scored({**parts, **more(generator, parts, strength)}, groups, **options), {}

    return build


def lengths(groups):
    """The lengths that `scored` gives completions."""
    return np.random.default_rng(len(groups)).integers(20, 201, len(groups))


def some(generator, rows, share):
    """Exactly this share of the rows (at least one), drawn at random."""
    chosen = np.zeros(rows, dtype=bool)
    chosen[generator.permutation(rows)[: max(1, round(share * rows))]] = True
    return chosen


def mixed(generator, share, values):
    """A score that is these values for this share of its variance and otherwise noise, from 0 to 1."""
    noise, values = generator.random(len(values)), np.argsort(np.argsort(values)) / len(values)
    return (np.sqrt(share) * values + np.sqrt(1 - share) * noise) / (np.sqrt(share) + np.sqrt(1 - share))
