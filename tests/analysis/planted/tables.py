"""What planted tables are made of: scores with given numbers, and draws that the kinds share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

import rewardkit as rk
from rewardkit.rollouts.logs.log import Logged

PROMPTS, SIBLINGS = int(os.environ.get("PLANTED_PROMPTS", "100")), 8
USUAL, ROWS = (PROMPTS, SIBLINGS), PROMPTS * SIBLINGS
GROUPS = np.repeat(np.arange(PROMPTS), SIBLINGS)
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
    parts,
    groups,
    *,
    weights=None,
    ranges=None,
    columns=None,
    components=None,
    logged=None,
    total=None,
    **how,
) -> rk.Scores:
    """Scores in which each component gives these numbers; NaN is not judged, FAILS raises.

    The first weighs 1, the others 0.5. `columns` are more of the rollouts, `components` more options of a
    component, `logged` scores that a trainer wrote. One prompt a group, completions of 20 to 200 letters.
    """
    given = {
        "prompt_id": [f"p{group}" for group in groups],
        "completion": [
            f"{row} ".ljust(size, "x")
            for row, size in enumerate(lengths(len(groups)).tolist())
        ],
        **(columns or {}),
        **{f"given_{name}": values for name, values in parts.items()},
        **{f"logged/{name}": values for name, values in (logged or {}).items()},
    }
    plain = {
        name: [_plain(value) for value in values] for name, values in given.items()
    }
    made = []
    for place, name in enumerate(parts):
        how_paid = {
            "range": (ranges or {}).get(name, (0.0, 1.0)),
            "weight": 0.5 if place else 1.0,
        }
        how_paid |= {"weight": weights[name]} if name in (weights or {}) else {}
        how_paid |= (components or {}).get(name, {})
        made.append(
            rk.Component(name, _given, columns={"given": f"given_{name}"}, **how_paid)
        )
    rollouts = rk.load_rollouts(
        [
            dict(zip(plain, row, strict=True))
            for row in zip(*plain.values(), strict=True)
        ]
    )
    if logged:
        names = {name: f"logged/{name}" for name in logged}
        column = names.get(total or "")
        rollouts = replace(
            rollouts, logged=Logged(names, dict.fromkeys(names, 1.0), column, "nan")
        )
    return rk.score(rk.Reward("made", components=made, **how), rollouts)


def _given(given):
    return given if given != FAILS else 1 / 0


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and np.isnan(value) else value


def scores_of(
    parts, groups, *, weights=None, columns=None, ranges=None, **options
) -> rk.Scores:
    """Scores of components of weight 1 that score these numbers, of no range where one is beyond 1."""
    wide = {
        name: None
        for name, values in parts.items()
        if np.nan_to_num(np.abs(values)).max() > 1
    }
    texts = {"completion": [f"completion {row}" for row in range(len(groups))]}
    options["weights"] = {**dict.fromkeys(parts, 1.0), **(weights or {})}
    return scored(
        parts,
        groups,
        ranges=wide | (ranges or {}),
        columns=texts | (columns or {}),
        **options,
    )


def rewarded(rewards, groups, prompts=None, **columns) -> rk.Scores:
    """Scores of one component "paid", whose score is the given reward; siblings are of one `policy`."""
    texts = ["word " * (row % 7 + 1) for row in range(len(groups))]
    columns = {
        "policy": [str(group) for group in groups],
        "completion": texts,
        **columns,
    }
    return scored(
        {"paid": rewards},
        groups if prompts is None else prompts,
        ranges={"paid": None},
        columns=columns,
    )


def table(
    more=lambda *_: {},
    *,
    keep="correct tidy",
    drawn=True,
    size=USUAL,
    label="",
    training=(),
    **how,
) -> Callable[..., Made]:
    """Builds what `more(generator, parts, strength)` makes beside the parts of `base` that are kept.

    A name that it gives begins with @ for a column of the rollouts and with / for a score in the log. An
    option of `scored` may be a function of the strength. Not `drawn`, there is no base.
    """

    def build(generator, strength=None):
        parts, groups = (
            base(generator, *size)
            if drawn
            else ({}, np.repeat(np.arange(size[0]), size[1]))
        )
        made = more(generator, parts, strength)
        given = {name: parts[name] for name in keep.split() if drawn}
        given |= {name: values for name, values in made.items() if name[0] not in "@/"}
        columns, logged = (
            {name[1:]: made[name] for name in made if name[0] == mark} for mark in "@/"
        )
        options = {
            name: value(strength) if callable(value) else value
            for name, value in how.items()
        }
        told = {"label": label, "training": training}
        told = {name: value for name, value in told.items() if value}
        return scored(given, groups, columns=columns, logged=logged, **options), told

    return build


def outcomes(generator, prompts, siblings, rate, spread=0.05):
    """0/1 outcomes of groups whose pass rates are beta distributed around `rate`, and group codes."""
    rates = generator.beta(rate / spread, (1 - rate) / spread, size=prompts)
    found = generator.random((prompts, siblings)) < rates[:, None]
    return found.ravel().astype(float), np.repeat(np.arange(prompts), siblings)


def base(generator, prompts=PROMPTS, siblings=SIBLINGS, rate=0.45):
    """A task that is right or wrong at a middling pass rate, and an unrelated, lighter second part."""
    correct, groups = outcomes(generator, prompts, siblings, rate)
    return {"correct": correct, "tidy": generator.beta(3, 2, len(groups))}, groups


def lengths(rows):
    """The lengths that `scored` gives completions."""
    return np.random.default_rng(rows).integers(20, 201, rows)


TRUTHS = {"@ground_truth": ["7"] * ROWS}


def stated(generator, pay, longest=2_000):
    """A lone number that `pay(right, letters)` gives, of answers that stand in tags."""
    correct, _ = outcomes(generator, PROMPTS, SIBLINGS, 0.45)
    letters = generator.integers(100, longest, ROWS)
    other = generator.integers(0, 4, ROWS)
    answers = np.where(correct > 0, 7, other)
    texts = []
    for size, answer in zip(letters.tolist(), answers.tolist(), strict=True):
        texts.append(f"<answer>{answer}</answer>".rjust(size, "x"))
    return {"paid": pay(correct, letters), "@completion": texts}


def some(generator, rows, share):
    """Exactly this share of the rows (at least one), drawn at random."""
    chosen = np.zeros(rows, dtype=bool)
    chosen[generator.permutation(rows)[: max(1, round(share * rows))]] = True
    return chosen


def mixed(generator, share, values):
    """A score that is these values for this share of its variance and otherwise noise, from 0 to 1."""
    noise, values = (
        generator.random(len(values)),
        np.argsort(np.argsort(values)) / len(values),
    )
    return (np.sqrt(share) * values + np.sqrt(1 - share) * noise) / (
        np.sqrt(share) + np.sqrt(1 - share)
    )


def same(found: rk.Scores, wanted: rk.Scores) -> None:
    """Assert that two scorings are of one reward, with the same statuses, scores and rewards."""
    for name in wanted.reward.names:
        np.testing.assert_array_equal(found.status(name), wanted.status(name))
        np.testing.assert_allclose(found.score(name), wanted.score(name))
    np.testing.assert_allclose(found.rewards, wanted.rewards)
    prints = [side.reward.record()["fingerprints"] for side in (found, wanted)]
    assert prints[0] == prints[1]
