"""suspect(): completions that look like an exploit: how many, since when, where, and what pays them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.context import numbers
from rewardkit.analysis.findings.rule import FEWEST_GROUPS
from rewardkit.analysis.slices import MOST_NAMED_VALUES, MOST_VALUES
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import Floats, within
from rewardkit.analysis.view import View, make_views, only_finite
from rewardkit.errors import InputError, check_label, check_seed, names_of, preview
from rewardkit.probes.arguments import check_arguments
from rewardkit.probes.probe import BUDGET
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.logs.log import LOGGED, numeric
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.scores import Scores
from rewardkit.suspects import filters
from rewardkit.suspects.budgeted import scored_within
from rewardkit.suspects.patched import held_against, rows_to_read
from rewardkit.suspects.rightness import Rightness, label_of, rightness
from rewardkit.suspects.suspicion import Contrast, Payment, Slice, Suspicion

Mask = NDArray[np.bool_]

NO_SLICE = (
    "rollout_id",
    "prompt_id",
    "prompt",
    "completion",
    "messages",
    "generation",
    "step",
)
"""Columns that name rows, or are looked at by themselves."""
CLEAREST = 5
"""Rows to read first, one a prompt. Our choice."""


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
    budget: float = BUDGET,
    progress: bool = False,
) -> Suspicion:
    """The completions that look like an exploit: how many, since when, where, and what pays them.

    Give one filter: `like`, a rollout_id, for completions whose form is like its own (a likeness of `alike`
    or more, from 0 to 1); `pattern`, a regular expression; or `predicate`, a function that asks for columns,
    fields and scores by parameter name and answers True or False. The `Suspicion` has their share, the first
    step, the values of columns (`by`; else every column of few values) where they are more or less often,
    their mean advantage under `training` against the rest, what each component pays them, and with a `label`
    how many are right. A `patched` reward, or its scores, is held against the same rows: how many suspects
    still earn, and which right completions lose (right by the label, else by `rightness`).

    `timeout` bounds each call of the predicate and of the patched reward; `budget` are seconds for the whole
    patched reward, of which one group at least is scored; what was not tried is told. ``progress=True`` shows
    a bar. Intervals are a bootstrap over prompts, seeded. InputError: no filter or several, an id, column or
    label that is not there, a pattern that is empty, does not compile or takes longer than a second, a
    predicate that fails or answers no bool. RewardError: the patched reward lacks a column.

    >>> import rewardkit as rk
    >>> scores = rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")
    >>> len(suspect(scores, pattern=r"(?s)<answer>.*<answer>"))
    45
    """
    if not isinstance(scores, Scores):
        raise InputError(
            f"suspect takes Scores, as rk.score or rk.load_scores give them, not {preview(scores)}"
        )
    if not (patched is None or isinstance(patched, Reward | Scores)):
        raise InputError(
            f"patched={preview(patched)} is no Reward and no Scores; load or score one first"
        )
    check_label(label)
    check_seed(seed)
    check_arguments(budget=budget)
    training, scores = Training.of(training), only_finite(scores)
    columns = _columns(scores, by, label)
    views = make_views(scores, training=training, label=label, seed=seed)
    bootstrap = Bootstrap(scores.rollouts.prompts, seed=seed)
    advantages = _by_row(views, lambda view: view.advantages)
    labelled, notes = _labelled(views, label)
    filtered = _filtered(scores, like, pattern, predicate, alike, timeout)
    found = filtered.found
    steps, slices = _steps(scores, found), _slices(scores, found, bootstrap, columns)
    first = steps["step"][steps["found"] > 0].tolist()
    after = None
    if patched is not None and len(scores):
        if labelled is None:
            right = rightness(scores, views, advantages)
        else:
            right = Rightness(
                labelled,
                f"that are right by {label!r}",
                np.ones(len(labelled), dtype=bool),
            )
        notes += [BY_ITSELF] if right.by_itself else []
        other, why = patched, ""
        if isinstance(other, Reward):
            limits: dict[str, Any] = {"timeout": timeout, "budget": budget}
            other, why = scored_within(
                other, scores.rollouts, found, **limits, seed=seed, progress=progress
            )
        other = only_finite(other)
        gains = _by_row(
            make_views(other, training=training, seed=seed),
            lambda view: view.advantages,
        )
        after = held_against(scores, other, (advantages, gains), found, right, why)
    return Suspicion(
        reward=scores.reward.name,
        what=filtered.what,
        found=found,
        prompts=len(np.unique(scores.rollouts.prompts[found])),
        interval=bootstrap.interval(
            [found.astype(float), np.ones(len(found))], bootstrap.prompts
        ),
        first_step=first[0] if first else None,
        steps=steps,
        slices=tuple(item for item in slices if not item.contrast.unclear),
        looked_at=len(slices),
        advantage=_contrast(advantages, found, bootstrap),
        rewards=_contrast(scores.rewards, found, bootstrap),
        training=str(training),
        paid=_payments(scores, views, found, bootstrap),
        right=None if labelled is None else _contrast(labelled, found, bootstrap),
        label=label,
        clearest=_clearest(scores, filtered, advantages),
        traits=filtered.traits,
        spans=filtered.spans,
        patched=after,
        notes=(*filtered.notes, *notes, *([] if len(steps) else [NO_STEPS])),
    )


BY_ITSELF = (
    "What is right is known by the reward itself, which suspects may have deceived; give a label, or "
    "rollouts with a ground_truth."
)
NO_STEPS = (
    "The rollouts have no column 'step' of numbers, so it cannot be said since when."
)


def _filtered(
    scores: Scores,
    like: Hashable | None,
    pattern: Any,
    predicate: Callable[..., Any] | None,
    alike: float | None,
    timeout: float | None,
) -> filters.Filtered:
    """The suspects, by the one filter that was asked for."""
    given = {"like=": like, "pattern=": pattern, "predicate=": predicate}
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        told = " and ".join(asked) or "none"
        raise InputError(
            f"suspect takes one of like=, pattern= and predicate=, not {told}; give one of them"
        )
    if alike is not None and like is None:
        raise InputError(
            f"alike={preview(alike)} goes with like=, and {asked[0]} is given; leave it out"
        )
    if like is not None:
        return filters.like(scores, like, alike)
    if predicate is not None:
        return filters.with_predicate(scores, predicate, timeout)
    return filters.with_pattern(scores, pattern)


def _by_row(views: Sequence[View], values: Callable[[View], Floats | None]) -> Floats:
    """Arrays of the views as one of all rows, NaN where a view has none."""
    found = np.full(sum(map(len, views)), np.nan)
    for view in views:
        if (own := values(view)) is not None:
            found[view.rows] = own
    return found


def _labelled(
    views: Sequence[View], name: str | None
) -> tuple[Floats | None, list[str]]:
    """The label of all rows, ``None`` where there is none; and what to know of it."""
    if name is None:
        return None, []
    labels = {id(view): label_of(view, name) for view in views}
    notes = dict.fromkeys(f"The label {why}." for _, why in labels.values() if why)
    found = _by_row(views, lambda view: labels[id(view)][0])
    return None if np.isnan(found).all() else found, list(notes)


def _contrast(
    values: Floats, inside: Mask, bootstrap: Bootstrap, tests: int = 1
) -> Contrast:
    """The mean of values, NaN where missing, inside and outside; one of so many tests."""
    known = ~np.isnan(values)
    here, there = ((known & mask).astype(float) for mask in (inside, ~inside))
    found, rest = (
        float(values[side > 0].mean()) if side.any() else np.nan
        for side in (here, there)
    )
    if not (here.any() and there.any()):
        return Contrast(found, rest)
    filled = np.where(known, values, 0.0)
    sums = [filled * here, here, filled * there, there]
    interval = bootstrap.interval(
        sums, bootstrap.prompts, lambda a, b, c, d: a / b - c / d, tests=tests
    )
    return Contrast(found, rest, interval)


def _steps(scores: Scores, found: Mask) -> pd.DataFrame:
    """One row a step: step, rows, found, share; none without steps."""
    if "step" not in scores.table or not numeric(column_values(scores.table["step"])):
        return pd.DataFrame({"step": [], "rows": [], "found": [], "share": []})
    by_step = pd.Series(found.astype(int)).groupby(numbers(scores.table["step"]))
    return (
        by_step.agg(rows="size", found="sum", share="mean")
        .rename_axis("step")
        .reset_index()
    )


def _kinds(scores: Scores, name: str) -> pd.Series[Any]:
    """The values of a column, lists and objects as text."""
    values = column_values(scores.table[name])
    return as_column(
        [repr(value) if isinstance(value, list | dict) else value for value in values]
    )


def _columns(
    scores: Scores, by: str | Sequence[str] | None, label: str | None
) -> list[str]:
    """The columns whose values are looked at; InputError: one that is not there, or has too many values."""
    known = list(map(str, scores.rollouts.table.columns))
    if by is None:
        unfit = {*NO_SLICE, label, *scores.rollouts.logged.components.values()}
        there = [
            name for name in known if name not in unfit and not name.startswith(LOGGED)
        ]
        return [
            name for name in there if 2 <= _kinds(scores, name).nunique() <= MOST_VALUES
        ]
    asked = names_of(by, "by")
    scores.rollouts.check_columns(asked)
    for name in asked:
        if (kinds := _kinds(scores, name).nunique()) > MOST_NAMED_VALUES:
            raise InputError(
                f"by={name!r} has {kinds:,} values, too many to look at each by itself (at most "
                f"{MOST_NAMED_VALUES}); name a column of fewer"
            )
    return asked


def _slices(
    scores: Scores, found: Mask, bootstrap: Bootstrap, columns: Sequence[str]
) -> list[Slice]:
    """Every value of these columns with prompts enough there and elsewhere, the largest difference first."""
    prompts, looked = scores.rollouts.prompts, list[tuple[str, Any, Mask]]()
    for name in columns if found.any() else ():
        values = _kinds(scores, name)
        for kind in values.dropna().unique():
            inside = (values == kind).to_numpy(dtype=bool)
            if (
                min(len(np.unique(prompts[side])) for side in (inside, ~inside))
                >= FEWEST_GROUPS
            ):
                looked.append((name, kind, inside))
    made = []
    for name, kind, inside in looked:
        contrast = _contrast(found.astype(float), inside, bootstrap, len(looked))
        made.append(Slice(name, kind, int(inside.sum()), contrast))
    return sorted(made, key=lambda item: -abs(item.contrast.difference))


def _payments(
    scores: Scores, views: Sequence[View], found: Mask, bootstrap: Bootstrap
) -> tuple[Payment, ...]:
    """What each component adds to the suspects' rewards above the mean of their group, most first.

    0 in the rows of a reward without it; NaN where a product or minimum has too many components.
    """
    weights = {
        item.name: float(item.weight)
        for view in views
        for item in view.reward.components
    }

    def piece(name: str, view: View) -> Floats | None:
        return view.pieces.get(name, 0 * view.rewards) if view.pieces else None

    made = []
    for name, weight in weights.items():
        pieces = _by_row(views, partial(piece, name))
        adds = within(pieces, scores.groups)
        known = (found & ~np.isnan(adds)).astype(float)
        sums = [np.nan_to_num(adds) * known, known]
        pays = float(sums[0].sum() / known.sum()) if known.any() else np.nan
        interval = bootstrap.interval(sums, bootstrap.prompts)
        made.append(
            Payment(
                name,
                weight,
                pays,
                interval,
                _contrast(scores.score(name), found, bootstrap),
            )
        )
    return tuple(sorted(made, key=lambda item: -abs(np.nan_to_num(item.pays))))


def _clearest(
    scores: Scores, filtered: filters.Filtered, advantages: Floats
) -> pd.DataFrame:
    """The suspects to read first: most alike, then of the highest advantage, one a prompt."""
    rows = np.flatnonzero(filtered.found)
    like = np.zeros(len(scores)) if filtered.likeness is None else filtered.likeness
    rows = rows[
        np.lexsort((-np.nan_to_num(advantages[rows], nan=-np.inf), -like[rows]))
    ]
    _, first = np.unique(scores.rollouts.prompts[rows], return_index=True)
    rows = rows[np.sort(first)[:CLEAREST]]
    more = {} if filtered.likeness is None else {"likeness": like[rows]}
    return rows_to_read(
        scores,
        rows,
        {**more, "reward": scores.rewards[rows], "advantage": advantages[rows]},
    )
