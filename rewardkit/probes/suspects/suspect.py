"""suspect(): completions that look like an exploit: how many, since when, where, and what pays them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis import finite
from rewardkit.analysis.asked import check_label, check_seed, names_of
from rewardkit.analysis.context import numbers
from rewardkit.analysis.diagnosis import make_views
from rewardkit.analysis.grouping import Bootstrap, Floats, within
from rewardkit.analysis.slices import MOST_ASKED, MOST_VALUES
from rewardkit.analysis.thresholds import FEWEST_GROUPS
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.probes.probe import BUDGET
from rewardkit.probes.suspects import filters
from rewardkit.probes.suspects.budgeted import check_budget, scored_within
from rewardkit.probes.suspects.patched import Patched, held_against, told, untried
from rewardkit.probes.suspects.rightness import Rightness, label_of, rightness
from rewardkit.probes.suspects.suspicion import Contrast, Payment, Slice, Suspicion
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.logs.log import LOGGED, numeric
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.scores import Scores

__all__ = ["suspect"]

Mask = NDArray[np.bool_]

NO_SLICE = ("rollout_id", "prompt_id", "prompt", "completion", "messages", "generation", "step")
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

    Looked for is one of: those whose form is `like` that of the completion of a rollout_id, by `alike` or
    more of `probes.likeness.likeness` (``None``: its `ALIKE`); those in which a regular expression,
    `pattern`, is found; those of which a `predicate` is true, a function that asks for columns, fields and
    scores by parameter name. Told are their share with an interval, the first step with any, where they are
    more or less often (`by`: the columns; else all of few values) at a level for all slices together, their
    mean advantage under `training` and that of the rest, which components pay them, and where there is a
    `label` how many are right. A `patched` reward, or its scores, is held against the same rows: how many
    suspects still earn, and which right completions (by the label; else as `probes.rightness.rightness`
    knows them) would get less, the suspects among them apart. `timeout` bounds each call of the predicate and
    of the patched reward, as in `score`; `budget` are seconds for all of the patched reward, and what it was
    not tried on is said; ``progress=True`` shows a bar. Intervals are a bootstrap over prompts, seeded.
    InputError: none of the three or several, `alike` without `like`, an id, column or label that is not
    there, a pattern that is empty, does not compile or takes longer than a second on a completion, a
    predicate that fails or answers with no bool. RewardError: the patched reward lacks a column.

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
        raise InputError(f"patched={preview(patched)} is no Reward and no Scores; load or score one first")
    check_label(label)
    check_seed(seed)
    check_budget(budget)
    training, scores = Training.of(training), finite.finite(scores)
    columns = _columns(scores, by, label)
    known = _Known.of(scores, training, label, seed)
    given = {"like": like, "pattern": pattern, "predicate": predicate}
    found = _sought(scores, given, alike, timeout)
    contrast = _Contrasts(found.found, known.bootstrap)
    steps = _steps(scores, found.found)
    slices = _slices(scores, contrast, columns)
    changed = _patched(scores, patched, found.found, known, timeout=timeout, budget=budget, progress=progress)
    first = [step for step, count in zip(steps["step"], steps["found"], strict=True) if count]
    return Suspicion(
        reward=scores.reward.name,
        what=found.what,
        found=found.found,
        prompts=len(np.unique(scores.rollouts.prompts[found.found])),
        interval=contrast.interval,
        first_step=first[0] if first else None,
        steps=steps,
        slices=tuple(item for item in slices if not item.contrast.unclear),
        looked_at=len(slices),
        advantage=contrast.of(known.advantages),
        rewards=contrast.of(scores.rewards),
        training=str(training),
        paid=_payments(scores, known, contrast),
        right=contrast.of(known.label) if known.label is not None else None,
        label=label,
        clearest=_clearest(scores, found, known.advantages),
        traits=found.traits,
        spans=found.spans,
        patched=changed,
        notes=(
            *found.notes,
            *known.notes,
            *([BY_ITSELF] if changed and changed.judged and known.right.by_itself else []),
            *([] if len(steps) else [NO_STEPS]),
        ),
    )


BY_ITSELF = (
    "what is right is known by the reward itself, which suspects may have deceived, so that which of them "
    "are right is not told; give a label, or rollouts with a ground_truth"
)
NO_STEPS = "the rollouts have no column 'step' of numbers, so that it cannot be said since when"


def _sought(
    scores: Scores, given: dict[str, Any], alike: float | None, timeout: float | None
) -> filters.Sought:
    """What is looked for, of the three ways to say it."""
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        told = " and ".join(f"{name}=" for name in asked) if asked else "none"
        raise InputError(f"suspect takes one of like=, pattern= and predicate=, not {told}; give one of them")
    if alike is not None and given["like"] is None:
        raise InputError(
            f"alike={preview(alike)} is the likeness of what is like a completion, and {asked[0]}= is given; "
            "leave it out, or give like="
        )
    if given["like"] is not None:
        return filters.like(scores, given["like"], alike)
    if given["pattern"] is not None:
        return filters.with_pattern(scores, given["pattern"])
    return filters.with_predicate(scores, given["predicate"], timeout)


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known of the rows of scores: advantages, label and pieces by component, each (rows,)."""

    scores: Scores
    views: tuple[View, ...]
    training: Training
    bootstrap: Bootstrap
    label_name: str | None

    @classmethod
    def of(cls, scores: Scores, training: Training, label: str | None, seed: int) -> _Known:
        views = make_views(scores, training=training, label=label, seed=seed)
        return cls(scores, views, training, Bootstrap(scores.rollouts.prompts, seed=seed), label)

    def _joined(self, values: Callable[[View], Floats | None]) -> Floats:
        """Arrays of the views as one of all rows, NaN where a view has none."""
        found = np.full(len(self.scores), np.nan)
        for view in self.views:
            if (own := values(view)) is not None:
                found[view.rows] = own
        return found

    @cached_property
    def advantages(self) -> Floats:
        return self._joined(lambda view: view.advantages)

    @cached_property
    def _labels(self) -> list[tuple[Floats | None, str]]:
        """The label by view, and what to know of it."""
        if self.label_name is None:
            return []
        return [label_of(view, self.label_name) for view in self.views]

    @cached_property
    def label(self) -> Floats | None:
        """The label; ``None`` where none was asked for, or none can be used."""
        found = np.full(len(self.scores), np.nan)
        for view, (values, _) in zip(self.views, self._labels, strict=bool(self._labels)):
            found[view.rows] = np.nan if values is None else values
        return None if np.isnan(found).all() else found

    @cached_property
    def right(self) -> Rightness:
        """Which completions are right."""
        if self.label is None:
            return rightness(self.scores, self.views, self.advantages)
        return Rightness(
            self.label, f"that are right by {self.label_name!r}", np.ones(len(self.label), dtype=bool)
        )

    def piece(self, name: str) -> Floats:
        """What a component adds to what advantages are made of; 0 in the rows of a reward without it."""

        def of(view: View) -> Floats | None:
            none = np.where(np.isnan(view.rewards), np.nan, 0.0)
            return view.pieces.get(name, none) if view.pieces else None

        return self._joined(of)

    @property
    def notes(self) -> list[str]:
        """What cannot be said, a sentence each."""
        unusable = dict.fromkeys(why for values, why in self._labels if values is None and why)
        told = [f"the label says nothing: {why}" for why in unusable]
        told += dict.fromkeys(
            f"the label {why}" for values, why in self._labels if values is not None and why
        )
        if any(not view.pieces for view in self.views):
            told.append("what each component adds to a product or minimum of so many cannot be said")
        return told


class _Contrasts:
    """The suspects against the rest."""

    def __init__(self, found: Mask, bootstrap: Bootstrap) -> None:
        self.found, self.bootstrap = found, bootstrap

    @property
    def interval(self) -> tuple[float, float]:
        """Of their share."""
        ones = np.ones(len(self.found))
        return self.bootstrap.interval([self.found.astype(float), ones], self.bootstrap.prompts)

    def of(self, values: Floats) -> Contrast:
        """The mean of values, NaN where missing, over them and over the rest."""
        return self.between(values, self.found, 1)

    def between(self, values: Floats, inside: Mask, tests: int) -> Contrast:
        """The mean of values inside and outside, one of so many tests."""
        known = ~np.isnan(values)
        filled = np.where(known, values, 0.0)
        masks = [(known & inside).astype(float), (known & ~inside).astype(float)]
        counts = [mask.sum() for mask in masks]
        inner, outer = (
            float((filled * mask).sum() / count) if count else np.nan
            for mask, count in zip(masks, counts, strict=True)
        )
        if not all(counts):
            return Contrast(inner, outer)
        sums = [filled * masks[0], masks[0], filled * masks[1], masks[1]]
        interval = self.bootstrap.interval(
            sums, self.bootstrap.prompts, lambda a, b, c, d: a / b - c / d, tests=tests
        )
        return Contrast(inner, outer, interval)

    def mean(self, values: Floats) -> tuple[float, tuple[float, float]]:
        """The mean of values over the suspects, with its interval."""
        known = (self.found & ~np.isnan(values)).astype(float)
        if not known.any():
            return np.nan, (np.nan, np.nan)
        held = np.where(known > 0, values, 0.0)
        return float(held.sum() / known.sum()), self.bootstrap.interval([held, known], self.bootstrap.prompts)


def _steps(scores: Scores, found: Mask) -> pd.DataFrame:
    """One row a step: step, rows, found, share; none without steps."""
    if "step" not in scores.table or not numeric(column_values(scores.table["step"])):
        return pd.DataFrame({"step": [], "rows": [], "found": [], "share": []})
    steps = numbers(scores.table["step"])
    known = ~np.isnan(steps)
    kinds, codes = np.unique(steps[known], return_inverse=True)
    rows = np.bincount(codes, minlength=len(kinds))
    count = np.bincount(codes, found[known], minlength=len(kinds)).astype(int)
    return pd.DataFrame({"step": kinds, "rows": rows, "found": count, "share": count / rows})


def _columns(scores: Scores, by: str | Sequence[str] | None, label: str | None) -> list[str]:
    """The columns whose values are looked at; InputError: one that is not there, or has too many values."""
    known = list(map(str, scores.rollouts.table.columns))
    if by is None:
        unfit = {*NO_SLICE, label, *scores.rollouts.logged.components.values()}
        there = [name for name in known if name not in unfit and not name.startswith(LOGGED)]
        return [name for name in there if 2 <= _kinds(scores, name) <= MOST_VALUES]
    asked = names_of(by, "by")
    for name in asked:
        if name not in known:
            raise InputError(
                f"the rollouts have no column {name!r}; they have {known}{did_you_mean(name, known)}"
            )
        if (kinds := _kinds(scores, name)) > MOST_ASKED:
            raise InputError(
                f"by={name!r} has {kinds:,} values, too many to look at each by itself (at most "
                f"{MOST_ASKED}); name a column of fewer"
            )
    return asked


def _coded(scores: Scores, name: str) -> tuple[NDArray[np.intp], list[Any]]:
    """A code for each row by its value, -1: missing; and the values."""
    values = column_values(scores.table[name])
    plain = [repr(value) if isinstance(value, list | dict) else value for value in values]
    codes, kinds = pd.factorize(as_column(plain))
    return np.asarray(codes, dtype=np.intp), kinds.tolist()


def _kinds(scores: Scores, name: str) -> int:
    return len(_coded(scores, name)[1])


def _slices(scores: Scores, contrast: _Contrasts, columns: Sequence[str]) -> list[Slice]:
    """Every value of these columns with prompts enough there and elsewhere, the largest difference first."""
    prompts, found = scores.rollouts.prompts, contrast.found
    looked: list[tuple[str, Any, Mask]] = []
    for name in columns if found.any() else ():
        codes, kinds = _coded(scores, name)
        for code, kind in enumerate(kinds):
            inside = codes == code
            if min(len(np.unique(prompts[side])) for side in (inside, ~inside)) >= FEWEST_GROUPS:
                looked.append((name, kind, inside))
    made = [
        Slice(
            name,
            kind,
            int(inside.sum()),
            int((inside & found).sum()),
            contrast.between(found.astype(float), inside, len(looked)),
        )
        for name, kind, inside in looked
    ]
    return sorted(made, key=lambda item: -abs(item.contrast.difference))


def _payments(scores: Scores, known: _Known, contrast: _Contrasts) -> tuple[Payment, ...]:
    """What each component does for the suspects, what moves their rewards most first."""
    weights = {item.name: float(item.weight) for view in known.views for item in view.reward.components}
    found = []
    for name, weight in weights.items():
        pays, interval = contrast.mean(within(known.piece(name), scores.groups))
        found.append(Payment(name, weight, pays, interval, contrast.of(scores.score(name))))
    return tuple(sorted(found, key=lambda item: -abs(np.nan_to_num(item.pays))))


def _clearest(scores: Scores, found: filters.Sought, advantages: Floats) -> pd.DataFrame:
    """The suspects to read first: most alike, then of the highest advantage, one a prompt."""
    rows = np.flatnonzero(found.found)
    degree = np.zeros(len(rows)) if found.likeness is None else found.likeness[rows]
    rows = rows[np.lexsort((-np.nan_to_num(advantages[rows], nan=-np.inf), -degree))]
    _, first = np.unique(scores.rollouts.prompts[rows], return_index=True)
    rows = rows[np.sort(first)[:CLEAREST]]
    more = {} if found.likeness is None else {"likeness": found.likeness[rows]}
    return told(scores, rows, {**more, "reward": scores.rewards[rows], "advantage": advantages[rows]})


def _patched(
    scores: Scores,
    patched: Reward | Scores | None,
    found: Mask,
    known: _Known,
    *,
    timeout: float | None,
    budget: float,
    progress: bool,
) -> Patched | None:
    """What another reward gives the same rows, as far as its budget goes."""
    if patched is None:
        return None
    why, other = "", patched
    if isinstance(other, Reward):
        seed = known.bootstrap.seed
        timed = scored_within(
            other, scores.rollouts, found, timeout=timeout, budget=budget, seed=seed, progress=progress
        )
        if timed.scores is None:
            return untried(other.name, len(scores), timed.why)
        why, other = timed.why, timed.scores
    other = finite.finite(other)
    after = _Known.of(other, known.training, None, known.bootstrap.seed)
    return held_against(scores, other, (known.advantages, after.advantages), found, known.right, why)
