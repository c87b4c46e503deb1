"""forecast(): what a reward would select for, against the KL that it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.context import truths
from rewardkit.analysis.diagnosis import Diagnosis
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
from rewardkit.findings import counted, percent
from rewardkit.html.blocks import Table
from rewardkit.html.pages import HasPage, More, Page
from rewardkit.plain import to_plain
from rewardkit.primitives.texts import words
from rewardkit.rewards.training import Training
from rewardkit.rollouts.logs.log import numeric
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

LIMITS = (
    "it picks among the completions that were sampled; what no sibling wrote it cannot foresee",
    "it picks from at most as many siblings as a group has",
    "partial credit where no sibling is right yet shows no gain here, and may still help later: read the "
    "diagnosis, too",
)
BETAS = tuple(np.geomspace(10, 0.04, 20).tolist())
"""In standard deviations within groups: from hardly any tilt to nearly the best
sibling alone. Our choice."""
SHIFT = 0.05
"""Change of the share of picks with a figure from which it is said. Our choice."""
MOVES = 0.1
"""Share of its value at random by which a figure must change to be told. Our choice."""
BATCH = "the trainer standardises each batch; the tilt has one beta for all rows"
GDPO = (
    "GDPO standardises each component by itself; the tilt is of their sum, standardised"
)
TRAINERS = {"gdpo": GDPO, "batch": BATCH, "reinforce_pp": BATCH}
"""Where the tilt is not quite what the trainer maximises."""
MOST = 4  # figures in the verdict
SHOWN = 8  # rows of figures, and half as many notes, in the text


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(HasPage):
    """What a reward selects for: `best_of`, the main view, and `tilted`.

    The figures are "reward", "label", "score/<component>", "words" and "characters" of
    the completion, and the columns that were asked for by their names. `tied` is the
    share of the groups of several in which all siblings earn the same, where nothing is
    selected. `notes` say what is left out, and why.
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
                of_view = {
                    key: getattr(view, key)
                    for key in ("points", "kl", "groups", "sample_size")
                }
                rows.append(
                    pd.DataFrame(
                        {"how": view.how, "figure": name, **of_view, **to_plain(curve)}
                    )
                )
        return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()

    @cached_property
    def moved(self) -> dict[str, Curve]:
        """Return the curves of figures that picking the best of the largest n changes.

        The 95 % interval of the change leaves out 0, and the change is more than a
        tenth of a random sibling's value. Without "reward" and "characters".
        """
        curves = {}
        for name, curve in self.best_of.curves.items():
            is_sure = curve.change_low[-1] > 0 or curve.change_high[-1] < 0
            is_large = abs(curve.change[-1]) > MOVES * abs(curve.random[-1])
            if name not in ("reward", "characters") and is_sure and is_large:
                curves[name] = curve
        return curves

    @property
    def verdict(self) -> str:
        """Say what moves in the best of the largest n, or why there is no choice."""
        if len(self.best_of) < 2:
            return next(iter(self.notes), "there is nothing to choose from")
        told = [
            f"{self.called(name)} from {curve.random[-1]:.3g} to {curve.value[-1]:.3g}"
            for name, curve in [*self.moved.items()][:MOST]
        ]
        more = f" and {len(self.moved) - MOST} more" if len(self.moved) > MOST else ""
        return (
            ", ".join(told) + more
            if told
            else "nothing but the reward itself changes by a tenth"
        )

    def called(self, name: str) -> str:
        """Return the name of a figure as a person reads it."""
        return (
            f"label {self.label!r}" if name == "label" else name.removeprefix("score/")
        )

    def record(self) -> dict[str, Any]:
        """As plain data."""
        names = (
            "groups",
            "training",
            "label",
            "seed",
            "best_of",
            "tilted",
            "notes",
            "limits",
        )
        of = {
            "reward": self.scores.reward.name,
            "rows": len(self.scores),
            "tied_groups": self.tied,
        }
        return of | {name: to_plain(getattr(self, name)) for name in names}

    def page(self) -> Page:
        """Return what it selects for, both views at their ends, what to know and to do."""
        reward, notes = (
            self.scores.reward.name,
            [f"Note: {note}" for note in self.notes],
        )
        limits = [f"Limit: {limit}" for limit in self.limits]
        if len(self.best_of) < 2:
            return Page(
                f"no forecast of {reward!r}: {self.verdict}",
                [*notes, More("", limits)],
            )
        best, tilt = self.best_of, self.tilted
        views = {f"best of {best.points[-1]:g}, KL at most {best.kl[-1]:.2f}": best}
        if len(tilt) > 1:
            unit = " std of the group" if self.training.scales_groups else ""
            views[f"tilted, beta {tilt.points[-1]:.2g}{unit}, KL {tilt.kl[-1]:.2f}"] = (
                tilt
            )
        rows = {
            name: [
                self.called(name),
                f"{curve.random[-1]:.3g}",
                *(_last(of.curves[name]) for of in views.values()),
            ]
            for name, curve in best.curves.items()
        }
        first = [
            name for name in rows if name in ("reward", "label") or name in self.moved
        ][:SHOWN]
        others = [
            " ".join(rows[name][:2])
            for name in rows
            if name not in (*first, "characters")
        ]
        still = [f"Not clearly moved: {', '.join(others)}"] if others else []
        of = f"{counted(len(self.scores), 'rollout')} in {counted(self.groups, 'group')} ({self.training})"
        header = ("mean of", "a sibling at random", *views)
        top = Table(
            f"On {of}, with 95 % intervals",
            header,
            [rows[name] for name in first],
            header[1:],
            True,
        )
        return Page(
            f"{reward!r} selects for: {self.verdict}",
            [
                top,
                *still,
                *notes[: SHOWN // 2],
                limits[0],
                f"Next: {self._next}",
                More("", [*notes[SHOWN // 2 :], *limits[1:]]),
                Table(f"All {len(rows)} figures", header, [*rows.values()], header[1:]),
            ],
        )

    @property
    def _next(self) -> str:
        if (label := self.best_of.curves.get("label")) is None:
            return "name a trusted column with label=..., to see whether what it selects is what you want"
        if label.change_low[-1] > 0:
            return "the label rises with the reward; rk.compare(a, b) says whether another one does better"
        return "the label does not rise with the reward; ask rk.suggest(rk.diagnose(scores, label=...)) why"


def _last(curve: Curve) -> str:
    """Write the last value of a curve, with its interval."""
    low, high, known = curve.low[-1], curve.high[-1], curve.known[-1]
    around = f" ({low:.3g} to {high:.3g})" if np.isfinite(low) else ""
    have = f", of the {percent(known)} that have it" if known < 1 - 1e-9 else ""
    return f"{curve.value[-1]:.3g}{around}{have}"


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

    Of a diagnosis its scores, label, settings and seed are taken. `label` is a column
    of numbers or booleans that is trusted, `columns` further ones to follow. `training`
    as `Training.of` takes it: where it scales groups the tilt has beta times the
    standard deviation of each group, else one beta for all. Intervals are a bootstrap
    over prompts, seeded. A row without a finite reward is never picked, and n counts
    the siblings that have one. A figure that is missing in some rows is the mean over
    the picks that have it, pooled over groups: right where it is missing at random, and
    `Curve.known` shows whether selection moves towards rows that have it. InputError:
    no Scores, no such column, one that holds texts.

    >>> import rewardkit as rk
    >>> rows = [{"prompt": "2+2?", "completion": text, "ground_truth": "4"} for text in ("4", "5", "5", "5")]
    >>> correct = rk.Component("correct", rk.verify.matches, columns={"prediction": "completion"})
    >>> found = forecast(rk.score(rk.Reward("one", components=[correct]), rows))
    >>> found.best_of.curves["score/correct"].value.round(3)  # at n = 2 no 1 - (3/4)^2: without replacement
    array([0.25, 0.5 , 0.75, 1.  ])
    """
    if isinstance(scores, Diagnosis):
        return _forecast_diagnosed(scores, columns)
    if not isinstance(scores, Scores):
        raise InputError(
            f"forecast takes Scores, as rk.score or rk.load_scores give them, not {preview(scores)}"
        )
    check_label(label)
    check_seed(seed)
    training, rewards = Training.of(training), finite(scores.rewards)
    figures, notes = _figures(scores, rewards, label, names_of(columns, "columns"))
    bootstrap = Bootstrap(scores.rollouts.prompts, seed=seed)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # enormous rewards have a spread of inf
        stats = group_stats(rewards, scores.groups)
        betas, scaled = _betas(stats, training), training.scales_groups
        best, tilt = select(
            rewards, figures, scores.groups, betas, bootstrap, scaled=scaled
        )
    groups, tied = int((stats.count > 0).sum()), stats.dead_share
    notes += _of_rewards(scores.rewards, len(stats.count) - groups)
    notes += [*_of_selection(best, tied), *_of_training(training, tilt)]
    return Forecast(
        scores, training, label, seed, groups, tied, best, tilt, tuple(notes)
    )


def _betas(stats: GroupStats, training: Training) -> Floats:
    """Return the betas from no tilt on: `BETAS`, scaled, and the one of training."""
    freedom = np.maximum(stats.count - 1, 0).sum()
    spread = float(np.sqrt(stats.squares.sum() / max(freedom, 1)))
    unit = (
        spread
        if np.isfinite(spread) and spread > 0 and not training.scales_groups
        else 1.0
    )
    own = [float(training.beta)] if training.beta > 0 else []
    return np.unique([np.inf, *(unit * beta for beta in BETAS), *own])[::-1]


def _figures(
    scores: Scores, rewards: Floats, label: str | None, columns: list[str]
) -> tuple[dict[str, Floats], list[str]]:
    """Return the figures by name, (rows,), NaN where missing, and notes on them."""
    for name in columns:
        if name in ("words", "characters") or (name == "label" and label != name):
            raise InputError(
                f"a forecast has a figure {name!r} of its own, so that a column of this name cannot be "
                "followed beside it; rename the column"
            )
    texts, judged = scores.table["completion"].tolist(), ~np.isnan(rewards)
    given = {"reward": rewards} | (
        {} if label is None else {"label": _numbers(scores, label, "label")}
    )
    given |= {f"score/{name}": scores.score(name) for name in scores.reward.names}
    given |= {"words": np.array([len(words(text)) for text in texts], dtype=float)}
    given |= {"characters": np.array([*map(len, texts)], dtype=float)}
    given |= {
        name: _numbers(scores, name, "column") for name in columns if name not in given
    }
    notes, found = [], {}
    for name, values in given.items():
        found[name] = np.where(np.isfinite(values), values, np.nan)
        if judged.any() and np.isnan(found[name][judged]).all():
            notes.append(
                f"{name!r} is missing in every row that has a reward, so it has no curve"
            )
            del found[name]
    return found, [
        *(_of_label(scores, found["label"]) if "label" in found else []),
        *notes,
    ]


def _numbers(scores: Scores, name: str, kind: str) -> Floats:
    """Return a column as numbers, NaN where missing."""
    if name not in scores.table:
        known = [str(column) for column in scores.table.columns]
        raise InputError(
            f"{kind} {name!r} is not a column of these scores; they have {known}"
            f"{did_you_mean(str(name), known)}"
        )
    values = truths(column_values(scores.table[name]))
    if others := [
        value for value in values if not isinstance(value, int | float | None)
    ]:
        raise InputError(
            f"{kind} {name!r} holds {preview(others[0])}; a forecast follows numbers, true and false: make a "
            "column of these first"
        )
    return np.array(values, dtype=float)


def _of_rewards(rewards: Floats, empty: int) -> list[str]:
    missing = {"no reward": np.isnan(rewards), "an infinite reward": overflows(rewards)}
    told = {
        f"{rows.sum()} of {len(rewards)} rows have {what}": rows.any()
        for what, rows in missing.items()
    }
    notes = [f"{rows} and are never picked" for rows, some in told.items() if some]
    return notes + (
        [f"left out: {counted(empty, 'group')} without any reward"] if empty else []
    )


def _of_label(scores: Scores, label: Floats) -> list[str]:
    """Where the label is a component under another name."""
    copied = [name for name in scores.reward.names if _same(scores.score(name), label)]
    return [
        f"the label is what the component {name!r} scores, so it confirms nothing"
        for name in copied
    ]


def _same(score: Floats, label: Floats) -> bool:
    """Return whether a score only repeats the label, so that it confirms nothing.

    On the rows that have both, the two are equal; or the score has at most two values
    and is at its maximum on exactly the rows where the label is at its own.
    """
    both = ~(np.isnan(score) | np.isnan(label))
    if not both.any():
        return False
    score, label = score[both], label[both]
    same_top = np.array_equal(score == score.max(), label == label.max())
    return np.array_equal(score, label) or (same_top and len(np.unique(score)) <= 2)


def _of_selection(best: Selection, tied: float) -> list[str]:
    """Say what cannot be selected, and what one must know to read the curves."""
    if len(best) == 0:
        return ["no row of these scores has a reward, so there is nothing to forecast"]
    if len(best) == 1:
        return [
            "no group has two completions with a reward, so there is nothing to choose from"
        ]
    notes, n = [], f"n = {best.points[-1]:g}"
    if tied > 0:
        where = "every group" if tied == 1 else f"{percent(tied)} of groups"
        notes.append(
            f"in {where} all completions get the same reward, so nothing is selected there"
        )
    if best.groups[-1] < best.groups[0]:
        notes.append(
            f"{best.groups[-1]} of {best.groups[0]} groups reach {n}; each n is of those that reach it"
        )
    for name, curve in best.curves.items():
        before, after = curve.known[0], curve.known[-1]
        if not name.startswith("score/") and abs(after - before) > SHIFT:
            have = f"{percent(before)} of the picks have {name!r} at n = 1, {percent(after)} at {n}"
            notes.append(f"{have}, so its curve mixes two changes")
    if np.isnan(best.curves["reward"].low[0]):
        notes.append(
            "all rows with a reward are of one prompt, so nothing has an interval"
        )
    return notes


def _of_training(training: Training, tilt: Selection) -> list[str]:
    notes = [TRAINERS[training.name]] if training.name in TRAINERS else []
    if training.beta > 0 and len(tilt) and training.beta < tilt.points[-1]:
        end = f"the tilted view ends at beta {tilt.points[-1]:.3g}"
        notes.append(
            f"the KL penalty of {training.beta:g} is weaker than these siblings can show: {end}"
        )
    return notes
