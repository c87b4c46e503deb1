"""Analyse suspected exploits: how many, since when, where, and what pays them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.context import numbers
from rewardkit.analysis.findings import FEWEST_GROUPS
from rewardkit.analysis.parts import (
    MOST_NAMED_VALUES,
    MOST_SLICES,
    make_views,
    prepare_scores,
)
from rewardkit.analysis.statistics import Bootstrap, Floats, Mask, within
from rewardkit.analysis.view import View
from rewardkit.errors import (
    InputError,
    check_label,
    check_whole_number,
    names_of,
    preview,
)
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.columns import LOGGED
from rewardkit.rollouts.logs.log import has_steps
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores
from rewardkit.suspects.filters import Suspects, filter_suspects
from rewardkit.suspects.patched import (
    Rightness,
    join_views,
    judge_rightness,
    measure_patch,
    read_label,
    rows_to_read,
)
from rewardkit.suspects.suspicion import Contrast, PaidComponent, Slice, Suspicion

COLUMNS_WITHOUT_SLICES = (
    "rollout_id",
    "prompt_id",
    "prompt",
    "completion",
    "messages",
    "generation",
    "step",
)
"""Columns that identify rows, or are analysed separately."""
MOST_LATE = 2
"""Late calls of the patched reward after which it is no longer called. Our choice."""
MOST_CLEAREST = 5
"""Suspects to read first, one per prompt. Our choice."""
RIGHT_BY_REWARD = (
    "What is right is known by the reward itself, which suspects may have deceived; "
    "give a label, or rollouts with a ground_truth."
)
NO_STEPS = (
    "The rollouts have no column 'step' of numbers, so it cannot be said since when."
)


def suspect(
    scores: Scores,
    *,
    like: Hashable | None = None,
    pattern: Any = None,
    predicate: Callable[..., Any] | None = None,
    patched: Reward | Scores | None = None,
    training: Any = None,
    label: str | None = None,
    by: str | Sequence[str] | None = None,
    seed: int = 0,
    alike: float | None = None,
    timeout: float | None = None,
    progress: bool = False,
) -> Suspicion:
    """Find completions that look like an exploit, and what pays them.

    Use one filter: `like`, `pattern` or `predicate`. The `Suspicion` says how many
    suspects there are, since which step, in which slices they are more or less
    frequent, what they earn compared with the rest, and which component pays them.

    Args:
        scores: The scored completions.
        like: The rollout_id of a completion; suspects have a similar form.
        pattern: A regular expression; suspects have a match.
        predicate: A function that takes columns, fields and scores by parameter name
            and returns True for suspects.
        patched: A fixed reward, or its scores, to compare on the same rows: how many
            suspects still earn, and which right completions lose (right by the label,
            else by `judge_rightness`).
        training: Settings of the trainer, as `Training.of` takes them.
        label: A trusted column, to say how many suspects are right.
        by: Columns whose values are compared; by default every column with few values.
        seed: Seed of the bootstrap over prompts.
        alike: The least likeness for `like`, above 0 and up to 1.
        timeout: Seconds for each call of the predicate and of the patched reward.
        progress: Whether to show a progress bar.

    Raises:
        InputError: No filter or several; a missing id, column or label; a pattern that
            is empty, does not compile or takes longer than a second; a predicate that
            fails or returns no bool.
        RewardError: The patched reward asks for a missing column.

    >>> import rewardkit as rk
    >>> reward = rk.load_reward("gallery:arithmetic")
    >>> scores = rk.score(reward, "gallery:arithmetic")
    >>> len(suspect(scores, pattern=r"(?s)<answer>.*<answer>"))
    45
    """
    if not isinstance(scores, Scores):
        raise InputError(
            "suspect takes Scores, as rk.score or rk.load_scores give them, not "
            f"{preview(scores)}"
        )
    if not (patched is None or isinstance(patched, Reward | Scores)):
        raise InputError(
            f"patched={preview(patched)} is no Reward and no Scores; load or score one "
            "first"
        )
    check_label(label)
    check_whole_number("seed", seed, 0)
    settings = Training.of(training)
    scores = prepare_scores(scores, settings)
    label = scores.rollouts.label_column(label)
    columns = _choose_columns(scores, by, label)
    views = make_views(scores, training=settings, label=label, seed=seed)
    bootstrap = Bootstrap(scores.rollouts.prompts, seed=seed)
    advantages = join_views(len(scores), views, [view.advantages for view in views])
    labels, reasons = read_label(len(scores), views)
    notes = [f"The label {reason}." for reason in reasons]
    suspects = filter_suspects(
        scores,
        like=like,
        pattern=pattern,
        predicate=predicate,
        alike=alike,
        timeout=timeout,
    )
    mask = suspects.mask
    steps = _count_by_step(scores, mask)
    first_steps = steps["step"][steps["suspects"] > 0].tolist()
    slices = _contrast_slices(scores, mask, bootstrap, columns)
    patch = None
    if patched is not None and len(scores):
        if labels is None:
            right = judge_rightness(scores, views, advantages)
        else:
            everywhere = np.ones(len(labels), dtype=bool)
            right = Rightness(labels, f"that are right by {label!r}", everywhere)
        if (right.values[~right.is_independent] == 1).any():
            notes.append(RIGHT_BY_REWARD)
        if isinstance(patched, Reward):
            options: dict[str, Any] = {"timeout": timeout, "progress": progress}
            patched = score(patched, scores.rollouts, patience=MOST_LATE, **options)
        patch = measure_patch(scores, views, patched, mask, right, seed=seed)
    if not len(steps):
        notes.append(NO_STEPS)
    weights = [mask.astype(float), np.ones(len(mask))]
    return Suspicion(
        reward=scores.reward.name,
        description=suspects.description,
        mask=mask,
        prompts=len(np.unique(scores.rollouts.prompts[mask])),
        interval=bootstrap.interval(weights, bootstrap.prompts),
        first_step=first_steps[0] if first_steps else None,
        steps=steps,
        slices=tuple(item for item in slices if not item.contrast.unclear),
        looked_at=len(slices),
        advantage=_contrast(advantages, mask, bootstrap),
        rewards=_contrast(scores.rewards, mask, bootstrap),
        training=str(settings),
        payments=_measure_payments(scores, views, mask, bootstrap),
        right=None if labels is None else _contrast(labels, mask, bootstrap),
        label=label,
        clearest=_pick_clearest(scores, suspects, advantages),
        traits=suspects.traits,
        spans=suspects.spans,
        patched=patch,
        notes=(*suspects.notes, *notes),
    )


def _contrast(
    values: Floats, mask: Mask, bootstrap: Bootstrap, tests: int = 1
) -> Contrast:
    """Contrast the means of values inside and outside a mask; NaN is missing.

    The interval of the difference is corrected for the number of `tests`.
    """
    is_known = ~np.isnan(values)
    sums = []
    means = []
    for side in (is_known & mask, is_known & ~mask):
        sums += [np.where(side, values, 0.0), side.astype(float)]
        mean = np.nan
        if side.any():
            mean = float(values[side].mean())
        means.append(mean)
    interval = math.nan, math.nan
    if not np.isnan(means).any():
        interval = bootstrap.interval(
            sums, bootstrap.prompts, lambda a, b, c, d: a / b - c / d, tests=tests
        )
    return Contrast(means[0], means[1], interval)


def _count_by_step(scores: Scores, mask: Mask) -> pd.DataFrame:
    """Return step, rows, suspects and share for each step; empty without steps."""
    if not has_steps(scores.table):
        return pd.DataFrame(columns=["step", "rows", "suspects", "share"], dtype=float)
    steps = numbers(scores.table["step"])
    by_step = pd.Series(mask.astype(int)).groupby(steps)
    counts = by_step.agg(rows="size", suspects="sum", share="mean")
    return counts.rename_axis("step").reset_index()


def _levels(scores: Scores, name: str) -> pd.Series[Any]:
    """Return the values of a column, with lists and objects as text."""
    levels = []
    for value in column_values(scores.table[name]):
        levels.append(repr(value) if isinstance(value, list | dict) else value)
    return as_column(levels)


def _choose_columns(
    scores: Scores, by: str | Sequence[str] | None, label: str | None
) -> list[str]:
    """Return the columns whose values are compared.

    Raises:
        InputError: A column is missing, or has too many values.
    """
    if by is not None:
        names = names_of(by, "by")
        scores.rollouts.check_columns(names)
        for name in names:
            count = _levels(scores, name).nunique()
            if count > MOST_NAMED_VALUES:
                raise InputError(
                    f"by={name!r} has {count:,} values, too many to look at each by "
                    f"itself (at most {MOST_NAMED_VALUES}); name a column of fewer"
                )
        return names
    logged_scores = scores.rollouts.logged.components.values()
    unfit = {*COLUMNS_WITHOUT_SLICES, label, *logged_scores}
    columns = []
    for name in scores.rollouts.names:
        if name in unfit or name.startswith(LOGGED):
            continue
        if 2 <= _levels(scores, name).nunique() <= MOST_SLICES:
            columns.append(name)
    return columns


def _contrast_slices(
    scores: Scores, mask: Mask, bootstrap: Bootstrap, columns: Sequence[str]
) -> list[Slice]:
    """Compare the share of suspects at each value of these columns with elsewhere.

    Values without enough prompts on both sides are left out. The largest difference
    comes first.
    """
    if not mask.any():
        return []
    prompts = scores.rollouts.prompts
    candidates: list[tuple[str, Any, Mask]] = []
    for name in columns:
        levels = _levels(scores, name)
        for level in levels.dropna().unique():
            inside = (levels == level).to_numpy(dtype=bool, na_value=False)
            sizes = [len(np.unique(prompts[side])) for side in (inside, ~inside)]
            if min(sizes) >= FEWEST_GROUPS:
                candidates.append((name, level, inside))
    slices = []
    for name, level, inside in candidates:
        contrast = _contrast(mask.astype(float), inside, bootstrap, len(candidates))
        slices.append(Slice(name, level, int(inside.sum()), contrast))
    return sorted(slices, key=lambda item: -abs(item.contrast.difference))


def _measure_payments(
    scores: Scores, views: Sequence[View], mask: Mask, bootstrap: Bootstrap
) -> tuple[PaidComponent, ...]:
    """Return what each component adds to the suspects' rewards, most first.

    Contributions are relative to the mean of the group. They are 0 in rows of a reward
    without the component, and NaN if a product or minimum has too many components.
    """
    weights = {}
    for view in views:
        for item in view.reward.components:
            weights[item.name] = float(item.weight)
    payments = []
    for name, weight in weights.items():
        columns = []
        for view in views:
            column = None
            if view.pieces:
                column = view.pieces.get(name, 0 * view.rewards)
            columns.append(column)
        added = within(join_views(len(scores), views, columns), scores.groups)
        is_known = mask & ~np.isnan(added)
        pays, interval = bootstrap.ratio(
            np.where(is_known, added, 0.0), is_known.astype(float), bootstrap.prompts
        )
        contrast = _contrast(scores.score(name), mask, bootstrap)
        payments.append(PaidComponent(name, weight, pays, interval, contrast))
    return tuple(sorted(payments, key=lambda item: -abs(np.nan_to_num(item.pays))))


def _pick_clearest(
    scores: Scores, suspects: Suspects, advantages: Floats
) -> pd.DataFrame:
    """Return the suspects to read first, one per prompt.

    They are sorted by likeness, then by advantage, highest first.
    """
    rows = np.flatnonzero(suspects.mask)
    columns = {"reward": scores.rewards, "advantage": advantages}
    keys = [-np.nan_to_num(advantages[rows], nan=-np.inf)]
    if suspects.likeness is not None:
        columns = {"likeness": suspects.likeness, **columns}
        keys.append(-suspects.likeness[rows])
    rows = rows[np.lexsort(keys)]
    _, first = np.unique(scores.rollouts.prompts[rows], return_index=True)
    rows = rows[np.sort(first)[:MOST_CLEAREST]]
    cells = {name: values[rows] for name, values in columns.items()}
    return rows_to_read(scores, rows, cells)
