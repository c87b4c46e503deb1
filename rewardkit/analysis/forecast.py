"""forecast(): what a reward would select for before anything is trained, against the KL that it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis import advice
from rewardkit.analysis.arguments import check_label, check_seed, names_of
from rewardkit.analysis.context import truths
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.curves import Place, Selection, best_of_view, tilted_view
from rewardkit.analysis.statistics.groups import Floats, GroupStats, finite, group_stats, overflows
from rewardkit.analysis.statistics.selection import add_up, numbers_drawn, siblings_of
from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.findings import counted, percent
from rewardkit.primitives.texts import words
from rewardkit.rewards.training import Training
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

__all__ = ["LIMITS", "Forecast", "forecast"]

LIMITS = (
    "it only reweights what was sampled: what no sibling does, it cannot foresee",
    "the siblings of a group bound it: n ends at their number, the tilt where the effective sample size ends",
    "it is myopic: partial credit that would help later, in groups where no sibling is right yet, earns "
    "nothing in it, so it stands beside the group-signal figures and never replaces them",
)
BETAS = tuple(np.geomspace(10, 0.04, 20).tolist())
"""In standard deviations within groups: from hardly any tilt to nearly the best sibling alone. Our choice."""
SHIFT = 0.05
"""Change of the share of picks with a label from which it is said. Our choice."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """What a reward selects for: `best_of` (the main view) and `tilted`, with their `limits`.

    The figures are "reward", "label", "score/<component>", "words" and "characters" of the completion, and
    the columns that were asked for by their names. `tied` is the share of the groups of several in which all
    siblings earn the same, where nothing is selected. `notes` say what is left out, and why.
    """

    scores: Scores = field(repr=False)
    training: Training
    label: str | None
    seed: int
    groups: int
    tied: float
    best_of: Selection
    tilted: Selection
    notes: tuple[str, ...]
    limits: tuple[str, ...] = LIMITS

    @property
    def table(self) -> pd.DataFrame:
        """One row a view, point and figure."""
        rows = []
        for view in (self.best_of, self.tilted):
            for name, curve in view.curves.items():
                of_view = {key: getattr(view, key) for key in ("points", "kl", "groups", "sample_size")}
                rows.append(pd.DataFrame({"how": view.how, "figure": name, **of_view, **curve.record()}))
        return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "reward": self.scores.reward.name,
            "rows": len(self.scores),
            "groups": self.groups,
            "tied_groups": self.tied,
            "training": self.training.record(),
            "label": self.label,
            "seed": self.seed,
            "best_of": self.best_of.record(),
            "tilted": self.tilted.record(),
            "notes": list(self.notes),
            "limits": list(self.limits),
        }

    def _repr_html_(self) -> str:
        return advice.forecast_page(self)

    def __repr__(self) -> str:
        lines = [
            f"forecast of {self.scores.reward.name!r} on {len(self.scores)} rollouts in "
            f"{counted(self.groups, 'group')} ({self.training}); a sibling at random -> the one picked "
            "(95 % interval)"
        ]
        if len(self.best_of) > 1:
            n, kl, left = self.best_of.points[-1], self.best_of.kl[-1], self.best_of.groups[-1]
            lines += [
                f"  best of {n:g}, KL at most {kl:.2f}, in {counted(left, 'group')}:",
                *_shown(self.best_of),
            ]
        if len(self.tilted) > 1:
            beta, kl, size = self.tilted.points[-1], self.tilted.kl[-1], self.tilted.sample_size[-1]
            unit = " standard deviations of the group" if self.training.scales_groups else ""
            lines += [
                f"  tilted with beta {beta:.3g}{unit}, KL {kl:.2f}, effective sample size {size:.1f}:",
                *_shown(self.tilted),
            ]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join([*lines, *(f"  limit: {limit}" for limit in self.limits)])


def _shown(view: Selection) -> list[str]:
    """A line a figure: of a sibling picked at random, and at the last point with its interval."""
    lines = []
    for name, curve in view.curves.items():
        value, low, high = curve.value[-1], curve.low[-1], curve.high[-1]
        around = f" ({low:.3g} to {high:.3g})" if np.isfinite(low) else ""
        known = f", of the {percent(curve.known[-1])} that have it" if curve.known[-1] < 1 - 1e-9 else ""
        lines.append(f"    {name:<20} {value - curve.change[-1]:.3g} -> {value:.3g}{around}{known}")
    return lines


def forecast(
    scores: Scores,
    *,
    label: str | None = None,
    columns: Sequence[str] = (),
    training: Any = None,
    seed: int = 0,
) -> Forecast:
    """What the reward would select for among the siblings that were logged, per nat of KL.

    `label` is a column of numbers or booleans that is trusted, `columns` further ones to follow. `training`
    as `Training.of` takes it: where it scales groups the tilt has beta times the standard deviation of each
    group, else one beta for all. Intervals are a bootstrap over prompts, seeded. A row without a finite
    reward is never picked, and n counts the siblings that have one. A figure that is missing in some rows is
    the mean over the picks that have it, pooled over groups: right where it is missing at random, and
    `Curve.known` shows whether selection moves towards rows that have it. InputError: no Scores, no such
    column, one that holds texts.

    >>> import rewardkit as rk
    >>> rows = [{"prompt": "2+2?", "completion": text, "ground_truth": "4"} for text in ("4", "5", "5", "5")]
    >>> correct = rk.Component("correct", rk.verify.matches, columns={"prediction": "completion"})
    >>> found = forecast(rk.score(rk.Reward("one", components=[correct]), rows))
    >>> found.best_of.curves["score/correct"].value.round(3)  # at n = 2 no 1 - (3/4)^2: without replacement
    array([0.25, 0.5 , 0.75, 1.  ])
    """
    if not isinstance(scores, Scores):
        raise InputError(
            f"forecast takes Scores, as rk.score or rk.load_scores give them, not {preview(scores)}"
        )
    check_label(label)
    check_seed(seed)
    training = Training.of(training)
    rewards = finite(scores.rewards)
    figures, notes = _figures(scores, rewards, label, names_of(columns, "columns"))
    prompts = scores.rollouts.prompts
    siblings, bootstrap = siblings_of(rewards, scores.groups, prompts), Bootstrap(prompts, seed=seed)
    matrix, places = _matrix(figures, siblings.rows)
    counts = 1 + max(place.known for place in places.values())
    scaled = training.scales_groups
    with np.errstate(over="ignore", invalid="ignore"):  # enormous rewards have a spread of inf
        stats = group_stats(rewards, scores.groups)
        drawn, betas = numbers_drawn(int(stats.count.max(initial=0))), _betas(stats, training)
        sums = add_up(siblings, rewards, matrix, drawn, betas, bootstrap, counts=counts, scaled=scaled)
        best = best_of_view(drawn, sums, places, siblings, bootstrap)
        tilt = tilted_view(betas, sums, places, siblings, bootstrap)
    several = int((stats.dead | stats.live).sum())
    tied = float(stats.dead.sum() / several) if several else float("nan")
    notes = [*_reward_notes(scores.rewards, int((stats.count == 0).sum())), *notes]
    notes += [*_selection_notes(best, tied, bootstrap), *_training_notes(training, tilt)]
    return Forecast(scores, training, label, seed, len(siblings.size), tied, best, tilt, tuple(notes))


def _betas(stats: GroupStats, training: Training) -> Floats:
    """From no tilt on: `BETAS` in standard deviations within groups, and the one that training has."""
    freedom = np.maximum(stats.count - 1, 0)
    spread = float(np.sqrt((np.nan_to_num(stats.std) ** 2 * freedom).sum() / max(freedom.sum(), 1)))
    unit = spread if np.isfinite(spread) and spread > 0 and not training.scales_groups else 1.0
    own = [float(training.beta)] if training.beta > 0 else []
    return np.unique([np.inf, *(unit * beta for beta in BETAS), *own])[::-1]


Figures = dict[str, Floats]


def _figures(
    scores: Scores, rewards: Floats, label: str | None, columns: list[str]
) -> tuple[Figures, list[str]]:
    """What is followed, by name, (rows,) each and NaN where missing; and what must be said of it."""
    completions = scores.table["completion"].tolist()
    found: Figures = {"reward": rewards}
    if label is not None:
        found["label"] = _numbers(scores, label, "label")
    found |= {f"score/{name}": scores.score(name) for name in scores.reward.names}
    found["words"] = np.fromiter(map(len, map(words, completions)), dtype=float, count=len(completions))
    found["characters"] = np.fromiter(map(len, completions), dtype=float, count=len(completions))
    for name in columns:
        if name in ("words", "characters") or (name == "label" and label != name):
            raise InputError(
                f"a forecast has a figure {name!r} of its own, so that a column of this name cannot be "
                "followed beside it; rename the column"
            )
        if name not in found:
            found[name] = _numbers(scores, name, "column")
    notes = []
    judged = ~np.isnan(rewards)
    for name, values in list(found.items()):
        finite = np.isfinite(values)
        infinite = int((np.isinf(values) & judged).sum())
        if infinite:
            notes.append(f"{name!r} is infinite in {infinite} rows, which count as missing")
            found[name] = np.where(finite, values, np.nan)
        if judged.any() and not (finite & judged).any():
            notes.append(f"{name!r} is missing in every row that has a reward, so it has no curve")
            del found[name]
    return found, [*notes, *_label_notes(scores, found, rewards)]


def _numbers(scores: Scores, name: str, kind: str) -> Floats:
    """A column as numbers, NaN where missing."""
    if name not in scores.table:
        known = [str(column) for column in scores.table.columns]
        raise InputError(
            f"{kind} {name!r} is not a column of these scores; they have {known}"
            f"{did_you_mean(str(name), known)}"
        )
    column = scores.table[name]
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan), dtype=float)
    values = truths(column_values(column))
    for value in values:
        if not (value is None or isinstance(value, bool | int | float)):
            raise InputError(
                f"{kind} {name!r} holds {preview(value)}; a forecast follows numbers, true and false: make a "
                "column of these first"
            )
    return np.array([np.nan if value is None else float(value) for value in values])


def _matrix(figures: Figures, judged: NDArray[np.intp]) -> tuple[Floats, dict[str, Place]]:
    """Columns to be added up, (rows, columns), and the place of each figure in them.

    First a 1 for each pick, then for each figure that is missing somewhere a 1 where it is there.
    """
    partial = [name for name, values in figures.items() if np.isnan(values[judged]).any()]
    counts = [np.ones(len(figures["reward"])), *(~np.isnan(figures[name]) for name in partial)]
    places = {
        name: Place(len(counts) + at, 1 + partial.index(name) if name in partial else 0)
        for at, name in enumerate(figures)
    }
    return np.column_stack([*counts, *(np.nan_to_num(values) for values in figures.values())]), places


def _reward_notes(rewards: Floats, empty: int) -> list[str]:
    notes = []
    for what, rows in (("no reward", np.isnan(rewards)), ("an infinite reward", overflows(rewards))):
        if rows.any():
            notes.append(f"{rows.sum()} of {len(rewards)} rows have {what}, and are never picked")
    if empty and not np.isnan(rewards).all():
        has, are = ("has", "is") if empty == 1 else ("have", "are")
        notes.append(f"{counted(empty, 'group')} {has} no row that can be picked, and {are} left out")
    return notes


def _label_notes(scores: Scores, figures: Figures, rewards: Floats) -> list[str]:
    """Where the label is a component under another name, and how many rows lack one."""
    if "label" not in figures:
        return []
    label, judged = figures["label"], ~np.isnan(rewards)
    notes = []
    without = int((np.isnan(label) & judged).sum())
    if without:
        notes.append(
            f"the label is missing in {without} of {judged.sum()} rows with a reward; its curve is the mean "
            "over the picks that have one"
        )
    for name in scores.reward.names:
        score = figures.get(f"score/{name}", np.full(len(label), np.nan))
        both = ~(np.isnan(score) | np.isnan(label))
        if both.any() and (score[both] == label[both]).all():
            notes.append(f"the label is what the component {name!r} scores: it says nothing of its own")
    return notes


def _selection_notes(best: Selection, tied: float, bootstrap: Bootstrap) -> list[str]:
    """What cannot be selected, and what must be known to read the curves."""
    if len(best) == 0:
        return ["no row of these scores has a reward, so there is nothing to forecast"]
    if len(best) == 1:
        return ["no group has two completions with a reward, so there is nothing to choose from"]
    notes = []
    if tied > 0:
        where = "every group" if tied == 1 else f"{percent(tied)} of the groups"
        notes.append(f"in {where} all siblings earn the same, so nothing is selected there")
    if best.groups[-1] < best.groups[0]:
        notes.append(
            f"groups have up to {best.points[-1]:g} completions with a reward: {best.groups[-1]} of "
            f"{best.groups[0]} have so many, and each n is of the groups that reach it"
        )
    for name, curve in best.curves.items():
        moved = curve.known[-1] - curve.known[0]
        if not name.startswith("score/") and abs(moved) > SHIFT:
            notes.append(
                f"the picks have {name!r} in {percent(curve.known[0])} of the cases at n = 1 and in "
                f"{percent(curve.known[-1])} at n = {best.points[-1]:g}, so its curve mixes two changes"
            )
    if bootstrap.total < 2:
        notes.append("all rows are of one prompt, so nothing has an interval")
    return notes


def _training_notes(training: Training, tilted: Selection) -> list[str]:
    """Where the tilt is not quite what the trainer maximises."""
    notes = []
    if training.name == "gdpo":
        notes.append("GDPO standardises each component by itself; the tilt is of their sum, standardised")
    if training.name in ("batch", "reinforce_pp"):
        notes.append("the trainer standardises each batch; the tilt has one beta for all rows")
    if training.beta > 0 and len(tilted) and training.beta < tilted.points[-1]:
        notes.append(
            f"the KL penalty of {training.beta:g} that training has is weaker than what the siblings can "
            f"tell of: the tilted view ends at beta {tilted.points[-1]:.3g}"
        )
    return notes
