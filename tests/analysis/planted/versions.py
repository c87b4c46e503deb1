"""Planted pairs of versions: which one is better is known, and what a comparison says of it.

`python tests/analysis/versions_report.py [SEEDS]` counts the right verdicts of each kind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rewardkit as rk
from planted.tables import GROUPS, ROWS, base, generator_of, scored

Versions = tuple[rk.Scores, rk.Scores]


def paid(parts, weights, **options):
    """Scores of a version that pays these parts, of which the first is the task."""
    task = {next(iter(parts)): {"primary": True}}
    return scored(parts, GROUPS, weights=weights, components=task, **options)


def flipped(generator, correct, share):
    """A judge of the task that is wrong on this share of the rows."""
    return np.where(generator.random(ROWS) < share, 1 - correct, correct)


def noise_mended(generator) -> Versions:
    """B pays for the task more than for what has nothing to do with it."""
    parts, _ = base(generator)
    return paid(parts, {"tidy": 3.0}), paid(parts, {"tidy": 0.3})


def judge_mended(generator) -> Versions:
    """B judges the task with fewer errors; a label knows what is right."""
    parts, _ = base(generator)
    columns = {"label": parts["correct"]}
    versions = []
    for share in (0.25, 0.08):
        judged = flipped(generator, parts["correct"], share)
        scores = {"judge": judged, "tidy": parts["tidy"]}
        versions.append(paid(scores, {"tidy": 0.2}, columns=columns))
    return versions[0], versions[1]


def gamed(generator) -> Versions:
    """B pays for a mark that wrong completions have more often than right ones."""
    parts, _ = base(generator)
    share = np.where(parts["correct"] > 0, 0.2, 0.7)
    mark = (generator.random(ROWS) < share).astype(float)
    parts = {**parts, "mark": mark}
    return paid(parts, {"mark": 0.0}), paid(parts, {"mark": 1.5})


def rescaled(generator) -> Versions:
    """B pays twice of everything, which advantages do not see."""
    parts, _ = base(generator)
    return paid(parts, {}), paid(parts, {"correct": 2.0, "tidy": 1.0})


def renamed(generator) -> Versions:
    """B calls a component otherwise."""
    parts, _ = base(generator)
    other = {"correct": parts["correct"], "neat": parts["tidy"]}
    return paid(parts, {}), paid(other, {})


def nudged(generator) -> Versions:
    """B weighs a light part a little more."""
    parts, _ = base(generator)
    return paid(parts, {"tidy": 0.1}), paid(parts, {"tidy": 0.102})


def slice_mended(generator) -> Versions:
    """B is better on the third of the prompts where A paid for a mark; else the same."""
    parts, _ = base(generator)
    is_puzzle = GROUPS % 3 == 0
    share = np.where(parts["correct"] > 0, 0.2, 0.8)
    mark = ((generator.random(ROWS) < share) & is_puzzle).astype(float)
    parts = {**parts, "mark": mark}
    columns = {"data_source": np.where(is_puzzle, "puzzle", "sums").tolist()}
    return (
        paid(parts, {"mark": 1.5, "tidy": 0.2}, columns=columns),
        paid(parts, {"mark": 0.0, "tidy": 0.2}, columns=columns),
    )


def itself(generator) -> Versions:
    """A against itself."""
    parts, _ = base(generator)
    scores = paid(parts, {})
    return scores, scores


BETTER, WORSE, SAME = "train on B", "train on A", "no difference"
KINDS: dict[str, tuple[Callable[..., Versions], str, dict]] = {
    "less noise": (noise_mended, BETTER, {}),
    "a better judge": (judge_mended, BETTER, {"label": "label"}),
    "a mark that wrong ones have": (gamed, WORSE, {}),
    "everything twice": (rescaled, SAME, {}),
    "a component renamed": (renamed, SAME, {}),
    "a weight nudged": (nudged, SAME, {}),
    "better on one slice": (slice_mended, BETTER, {}),
    "against itself": (itself, SAME, {}),
}
"""Kind -> what makes a pair, the right verdict, and what is told beside the scores."""


def compared(kind: str, seed: int) -> rk.Comparison:
    """The comparison of a planted pair."""
    make, _, options = KINDS[kind]
    return rk.compare(*make(generator_of(kind, seed)), **options)
