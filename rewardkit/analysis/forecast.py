"""forecast(): what training makes of a reward, and what it selects for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.context import truths
from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.parts import make_views, only_finite
from rewardkit.analysis.rehearsal.outlook import Outlook, read_outlook
from rewardkit.analysis.rehearsal.rehearsal import rehearse_view
from rewardkit.analysis.statistics import (
    Floats,
    GroupStats,
    finite,
    group_stats,
    overflows,
)
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.selection import Curve, Selection, select
from rewardkit.errors import (
    InputError,
    check_label,
    check_seed,
    did_you_mean,
    names_of,
    preview,
)
from rewardkit.findings import counted, most, percent, short_number
from rewardkit.html.blocks import Block, Quote, Table
from rewardkit.html.pages import HasPage, More, Page
from rewardkit.plain import to_plain
from rewardkit.primitives.texts import words
from rewardkit.rewards.training import Training
from rewardkit.rollouts.logs.log import numeric
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

LIMITS = (
    "it picks among the completions that were sampled; what no sibling wrote it cannot "
    "foresee",
    "it picks from at most as many siblings as a group has",
    "partial credit where no sibling is right yet shows no gain here, and may still "
    "help later: read the diagnosis, too",
)
BETAS = tuple(np.geomspace(10, 0.04, 20).tolist())
"""In standard deviations within groups: from hardly any tilt to nearly the best
sibling alone. Our choice."""
LEAST_SHIFT = 0.05
"""Change of the share of picks with a figure from which it is noted. Our choice."""
LEAST_MOVE = 0.1
"""Share of its value at random by which a figure must change to count. Our choice."""
BATCH = "the trainer standardises each batch; the tilt has one beta for all rows"
GDPO = (
    "GDPO standardises each component by itself; the tilt is of their sum, standardised"
)
TRAINERS = {"gdpo": GDPO, "batch": BATCH, "reinforce_pp": BATCH}
"""Where the tilt is not quite what the trainer maximises."""
MOST_IN_VERDICT = 4
MOST_FIGURES = 8
"""Rows of figures in the text, and half as many notes. Our choice."""


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(HasPage):
    """What becomes of the task in training, and what a reward selects for.

    `outlook` is that of a rehearsed training; `best_of` and `tilted` pick among the
    siblings that were logged. The figures are "reward", "label", "score/<component>",
    "words" and "characters" of the completion, and the columns that were asked for by
    their names. `tied` is the share of the groups of several in which all siblings earn
    the same, where nothing is selected. `notes` say what is left out, and why.
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

    @cached_property
    def outlooks(self) -> dict[str, Outlook]:
        """Return the outlook of each part of a route, of any other reward that of "".

        The training is rehearsed when this is asked for first; it takes seconds, in
        which the reward is called on longer completions.
        """
        if len(self.best_of) < 2:
            return {}
        views = make_views(
            only_finite(self.scores),
            training=self.training,
            label=self.label,
            seed=self.seed,
        )
        return {
            view.part: read_outlook(rehearse_view(view, seed=self.seed))
            for view in views
        }

    @property
    def outlook(self) -> Outlook | None:
        """Return the worst outlook of a part, None where there is nothing to choose."""
        return min(self.outlooks.values(), key=_rank, default=None)

    @property
    def table(self) -> pd.DataFrame:
        """Return one row a view, point and figure."""
        tables = []
        for view in (self.best_of, self.tilted):
            for name, curve in view.curves.items():
                columns = {
                    "how": view.how,
                    "figure": name,
                    "points": view.points,
                    "kl": view.kl,
                    "groups": view.groups,
                    "sample_size": view.sample_size,
                }
                tables.append(pd.DataFrame({**columns, **to_plain(curve)}))
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    @cached_property
    def moved(self) -> dict[str, Curve]:
        """Return the curves of figures that picking the best of the largest n changes.

        The 95 % interval of the change leaves out 0, and the change is more than a
        tenth of a random sibling's value. Without "reward", "characters" and a score
        that is the label.
        """
        left_out = {"reward", "characters", *self._scores_of_label}
        curves = {}
        for name, curve in self.best_of.curves.items():
            is_sure = curve.change_low[-1] > 0 or curve.change_high[-1] < 0
            is_large = abs(curve.change[-1]) > LEAST_MOVE * abs(curve.random[-1])
            if name not in left_out and is_sure and is_large:
                curves[name] = curve
        return curves

    @property
    def _scores_of_label(self) -> list[str]:
        """Return the scores that a log has in the column of the label."""
        logged = self.scores.rollouts.logged.components
        return [f"score/{name}" for name in logged if logged[name] == self.label]

    @property
    def verdict(self) -> str:
        """Return what moves in the best of the largest n, or why there is no choice."""
        if len(self.best_of) < 2:
            return next(iter(self.notes), "there is nothing to choose from")
        moves = []
        for name, curve in self.moved.items():
            ends = map(short_number, (curve.random[-1], curve.value[-1]))
            moves.append(f"{self.called(name)} from {' to '.join(ends)}")
        if not moves:
            return "nothing but the reward itself changes by a tenth"
        return most(moves, MOST_IN_VERDICT)

    def called(self, name: str) -> str:
        """Return the name of a figure as a person reads it."""
        return (
            f"label {self.label!r}" if name == "label" else name.removeprefix("score/")
        )

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain: dict[str, Any] = to_plain(
            {
                "reward": self.scores.reward.name,
                "rows": len(self.scores),
                "tied_groups": self.tied,
                "groups": self.groups,
                "training": self.training,
                "label": self.label,
                "seed": self.seed,
                "best_of": self.best_of,
                "tilted": self.tilted,
                "outlook": self.outlook,
                "notes": self.notes,
                "limits": self.limits,
            }
        )
        return plain

    def page(self) -> Page:
        """Return what it selects for, both views at their ends, and what to know."""
        name = repr(self.scores.reward.name)
        notes = [f"Note: {note}" for note in self.notes]
        limits = [f"Limit: {limit}" for limit in self.limits]
        best, tilt = self.best_of, self.tilted
        if len(best) < 2:
            title = f"No forecast of {name}: {self.verdict}"
            return Page(title, [*notes, More("", limits)])
        views = {f"best of {best.points[-1]:g}, KL at most {best.kl[-1]:.2f}": best}
        if len(tilt) > 1:
            unit = " std of the group" if self.training.scales_groups else ""
            end = f"beta {tilt.points[-1]:.2g}{unit}, KL {tilt.kl[-1]:.2f}"
            views[f"tilted, {end}"] = tilt
        rows: list[list[str]] = []
        first: list[list[str]] = []
        others = []
        for figure, curve in best.curves.items():
            if figure in self._scores_of_label:
                continue
            row = [self.called(figure), short_number(curve.random[-1])]
            row += [_describe_end(view.curves[figure]) for view in views.values()]
            rows.append(row)
            is_first = figure in ("reward", "label") or figure in self.moved
            if is_first and len(first) < MOST_FIGURES:
                first.append(row)
            elif figure != "characters":
                others.append(" ".join(row[:2]))
        rollouts = counted(len(self.scores), "rollout")
        caption = (
            f"On {rollouts} in {counted(self.groups, 'group')} ({self.training}), with "
            "95 % intervals"
        )
        header = ("mean of", "a sibling at random", *views)
        selects = f"Among these completions it selects for: {self.verdict}"
        blocks: list[Block] = [*self._describe_outlook(), selects]
        blocks.append(Table(caption, header, first, header[1:], True))
        if others:
            blocks.append(f"Not clearly moved: {', '.join(others)}")
        most_notes = MOST_FIGURES // 2
        blocks += [
            *notes[:most_notes],
            limits[0],
            f"Next: {self._next_step()}",
            More("", [*notes[most_notes:], *limits[1:]]),
            Table(f"All {len(rows)} figures", header, rows, header[1:]),
        ]
        outlook = self.outlook
        assert outlook is not None
        return Page(name, blocks, outlook.sentence)

    def _describe_outlook(self) -> list[Block]:
        """Return how sure the outlook is, and what takes over, to read."""
        outlook = self.outlook
        assert outlook is not None
        blocks: list[Block] = [outlook.grade] if outlook.grade else []
        if outlook.untried:
            blocks.append(f"Note: {outlook.untried}")
        for part, other in self.outlooks.items():
            if len(self.outlooks) > 1:
                blocks.append(f"{part}: {other.sentence}")
        grows = outlook.takes_over
        if grows is not None and outlook.task != "rises":
            blocks.append(Quote(f"{grows.kind}, for example", grows.example))
        return blocks

    def _next_step(self) -> str:
        label = self.best_of.curves.get("label")
        if label is None:
            return (
                "name a trusted column with label=..., to see whether what it selects "
                "is what you want"
            )
        if label.change_low[-1] > 0:
            return (
                "the label rises with the reward; rk.compare(a, b) says whether "
                "another one does better"
            )
        return (
            "the label does not rise with the reward; ask rk.suggest(rk.diagnose("
            "scores, label=...)) why"
        )


def _rank(outlook: Outlook) -> int:
    """Return the place of an outlook, the worst first, unknown ones before rises."""
    return ("falls", "stalls", None, "rises").index(outlook.task)


def _describe_end(curve: Curve) -> str:
    """Write the last value of a curve, with its interval."""
    low, high, known = curve.low[-1], curve.high[-1], curve.known[-1]
    text = short_number(curve.value[-1])
    if np.isfinite(low):
        text += f" ({short_number(low)} to {short_number(high)})"
    if known < 1 - 1e-9:
        text += f", of the {percent(known)} that have it"
    return text


def _forecast_diagnosed(diagnosis: Diagnosis, columns: Sequence[str]) -> Forecast:
    """Forecast the scores of a diagnosis; a label that holds texts is not followed."""
    scores, label = diagnosis.scores, diagnosis.views[0].context.label_name or None
    if label and not numeric(truths(column_values(scores.table[label]))):
        label = None
    training, seed = diagnosis.training, diagnosis.seed
    return forecast(scores, label=label, columns=columns, training=training, seed=seed)


def forecast(
    scores: Scores | Diagnosis,
    *,
    label: str | None = None,
    columns: Sequence[str] = (),
    training: Any = None,
    seed: int = 0,
) -> Forecast:
    """Forecast what a reward would select for among logged siblings, per nat of KL.

    Where the trainer scales groups the tilt has beta times the standard deviation of
    each group, else one beta for all. A row without a finite reward is never picked,
    and n counts the siblings that have one. A figure that is missing in some rows is
    the mean over the picks that have it, pooled over groups: right where it is missing
    at random, and `Curve.known` shows whether selection moves towards rows that have
    it.

    Args:
        scores: The scores; of a diagnosis its scores, label, settings and seed.
        label: A trusted column of numbers or booleans.
        columns: Further columns to follow.
        training: Settings of the trainer, as `Training.of` takes them.
        seed: Of the bootstrap over prompts, for the intervals.

    Raises:
        InputError: No Scores, no such column, or one that holds texts.

    >>> import rewardkit as rk
    >>> rows = []
    >>> for text in ("4", "5", "5", "5"):
    ...     rows.append({"prompt": "2+2?", "completion": text, "ground_truth": "4"})
    >>> columns = {"prediction": "completion"}
    >>> correct = rk.Component("correct", rk.verify.matches, columns=columns)
    >>> curves = forecast(rk.score(rk.Reward("r", components=[correct]), rows)).best_of
    >>> # picks are drawn without replacement: at n = 2 it is not 1 - (3/4)^2
    >>> curves.curves["score/correct"].value.round(3)
    array([0.25, 0.5 , 0.75, 1.  ])
    """
    if isinstance(scores, Diagnosis):
        return _forecast_diagnosed(scores, columns)
    if not isinstance(scores, Scores):
        raise InputError(
            "forecast takes Scores, as rk.score or rk.load_scores give them, not "
            f"{preview(scores)}"
        )
    check_label(label)
    check_seed(seed)
    label = scores.rollouts.label_column(label)
    training, rewards = Training.of(training), finite(scores.rewards)
    figures = {}
    notes = []
    is_judged = ~np.isnan(rewards)
    for name, values in _list_figures(
        scores, rewards, label, names_of(columns, "columns")
    ).items():
        figure = np.where(np.isfinite(values), values, np.nan)
        if is_judged.any() and np.isnan(figure[is_judged]).all():
            notes.append(
                f"{name!r} is missing in every row that has a reward, so it has no "
                "curve"
            )
        else:
            figures[name] = figure
    if "label" in figures:
        notes = [*_notes_on_label(scores, figures["label"]), *notes]
    bootstrap = Bootstrap(scores.rollouts.prompts, seed=seed)
    # enormous rewards have a spread of inf
    with np.errstate(over="ignore", invalid="ignore"):
        stats = group_stats(rewards, scores.groups)
        best, tilt = select(
            rewards,
            figures,
            scores.groups,
            _choose_betas(stats, training),
            bootstrap,
            scaled=training.scales_groups,
        )
    groups, tied = int((stats.count > 0).sum()), stats.dead_share
    notes += _notes_on_rewards(scores.rewards, len(stats.count) - groups)
    notes += _notes_on_selection(best, tied)
    if training.name in TRAINERS:
        notes.append(TRAINERS[training.name])
    if training.beta > 0 and len(tilt) and training.beta < tilt.points[-1]:
        notes.append(
            f"the KL penalty of {training.beta:g} is weaker than these siblings can "
            f"show: the tilted view ends at beta {tilt.points[-1]:.3g}"
        )
    return Forecast(
        scores, training, label, seed, groups, tied, best, tilt, tuple(notes)
    )


def _choose_betas(stats: GroupStats, training: Training) -> Floats:
    """Return the betas from no tilt on: `BETAS`, scaled, and the one of training."""
    unit = 1.0
    if not training.scales_groups:
        freedom = np.maximum(stats.count - 1, 0).sum()
        spread = float(np.sqrt(stats.squares.sum() / max(freedom, 1)))
        if np.isfinite(spread) and spread > 0:
            unit = spread
    betas = [np.inf, *(unit * np.array(BETAS))]
    if training.beta > 0:
        betas.append(float(training.beta))
    return np.unique(betas)[::-1]


def _list_figures(
    scores: Scores, rewards: Floats, label: str | None, columns: list[str]
) -> dict[str, Floats]:
    """Return the columns that the forecast follows, (rows,) each, NaN where missing.

    They are the reward, the label, each component's score, the words and characters of
    the completion, and `columns`.

    Raises:
        InputError: A column is missing, holds no numbers, or has the name of another
            figure.
    """
    for name in columns:
        if name in ("words", "characters") or (name == "label" and label != name):
            raise InputError(
                f"a forecast has a figure {name!r} of its own, so that a column of "
                "this name cannot be followed beside it; rename the column"
            )
    figures = {"reward": rewards}
    if label is not None:
        figures["label"] = _read_numbers(scores, label, "label")
    for name in scores.reward.names:
        figures[f"score/{name}"] = scores.score(name)
    texts = pd.Series(scores.table["completion"].tolist(), dtype=object)
    figures["words"] = texts.map(words).map(len).to_numpy(dtype=float)
    figures["characters"] = texts.map(len).to_numpy(dtype=float)
    for name in columns:
        if name not in figures:
            figures[name] = _read_numbers(scores, name, "column")
    return figures


def _read_numbers(scores: Scores, name: str, kind: str) -> Floats:
    """Return a column as numbers, NaN where missing."""
    if name not in scores.table:
        names = [*map(str, scores.table.columns)]
        raise InputError(
            f"{kind} {name!r} is not a column of these scores; they have {names}"
            f"{did_you_mean(str(name), names)}"
        )
    values = truths(column_values(scores.table[name]))
    for value in values:
        if not isinstance(value, int | float | None):
            raise InputError(
                f"{kind} {name!r} holds {preview(value)}; a forecast follows numbers, "
                "true and false: make a column of these first"
            )
    return np.array(values, dtype=float)


def _notes_on_label(scores: Scores, label: Floats) -> list[str]:
    notes = []
    for name, weight in scores.reward.weights.items():
        if weight and _repeats(scores.score(name), label):
            notes.append(
                f"the label is what the component {name!r} scores, so it confirms "
                "nothing"
            )
    return notes


def _repeats(score: Floats, label: Floats) -> bool:
    """Return whether a score only repeats the label, so that it confirms nothing.

    On the rows that have both, the two are equal; or the score has at most two values
    and is at its maximum on exactly the rows where the label is at its own.
    """
    is_both = ~(np.isnan(score) | np.isnan(label))
    if not is_both.any():
        return False
    score, label = score[is_both], label[is_both]
    same_top = np.array_equal(score == score.max(), label == label.max())
    return np.array_equal(score, label) or (same_top and len(np.unique(score)) <= 2)


def _notes_on_rewards(rewards: Floats, empty_groups: int) -> list[str]:
    notes = []
    masks = {"no reward": np.isnan(rewards), "an infinite reward": overflows(rewards)}
    for reason, mask in masks.items():
        if mask.any():
            rows = f"{mask.sum()} of {len(rewards)} rows"
            notes.append(f"{rows} have {reason} and are never picked")
    if empty_groups:
        notes.append(f"left out: {counted(empty_groups, 'group')} without any reward")
    return notes


def _notes_on_selection(best: Selection, tied: float) -> list[str]:
    """Say what cannot be selected, and what one must know to read the curves."""
    if len(best) == 0:
        return ["no row of these scores has a reward, so there is nothing to forecast"]
    if len(best) == 1:
        return [
            "no group has two completions with a reward, so there is nothing to choose "
            "from"
        ]
    notes = []
    if tied > 0:
        where = "every group" if tied == 1 else f"{percent(tied)} of groups"
        notes.append(
            f"in {where} all completions get the same reward, so nothing is selected "
            "there"
        )
    end = f"n = {best.points[-1]:g}"
    if best.groups[-1] < best.groups[0]:
        notes.append(
            f"{best.groups[-1]} of {best.groups[0]} groups reach {end}; each n is of "
            "those that reach it"
        )
    for name, curve in best.curves.items():
        before, after = curve.known[0], curve.known[-1]
        if not name.startswith("score/") and abs(after - before) > LEAST_SHIFT:
            notes.append(
                f"{percent(before)} of the picks have {name!r} at n = 1, "
                f"{percent(after)} at {end}, so its curve mixes two changes"
            )
    if np.isnan(best.curves["reward"].low[0]):
        notes.append(
            "all rows with a reward are of one prompt, so nothing has an interval"
        )
    return notes
