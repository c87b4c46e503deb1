"""suggest(): findings -> changes of the reward, each with its effect measured on the same rollouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.findings import percent
from rewardkit.analysis.grouping import Floats, group_stats
from rewardkit.analysis.normalization import Normalization, normalizations
from rewardkit.analysis.view import View, make_view
from rewardkit.component import Component
from rewardkit.evaluation import ABSTAINED, SCORED
from rewardkit.primitives.verification import closeness
from rewardkit.reward import Part
from rewardkit.scoring import Scores, status_column

__all__ = ["Suggestion", "Suggestions", "suggest"]

CREATES_SPREAD = "creates spread, not known to be right"
CLOSE_WEIGHT = (
    0.3  # of the component it is beside, so that a wrong answer never earns what a right one does: our choice
)
CLOSE_ZERO_AT = 0.5  # relative error from which on it earns nothing: our choice
READABLE = 0.9  # share of truths that must be numbers for closeness to be offered: our choice
STEPS = 40
WIDEST = (
    20.0  # how far a weight may move: beyond, a component is as good as removed, which is another suggestion
)
ENOUGH_NEARER = 0.8  # what is left of the difference for other weights to be worth a line: our choice
OFTEN = 0.2
"""Share of the live groups in which a component must vary to be weighed by its influence.

Our choice: a penalty that rarely fires is meant to hold little.
"""
MOST_OFF = 0.1  # difference of effective and declared weight from which other weights are offered: our choice


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A change of the reward: its line of code, and what it measures `before` and `after` on these rollouts.

    `scores` are the scores with the change made (of its part only, for a route), to diagnose or compare.
    """

    code: str
    component: str | None
    line: str
    why: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    part: str = ""
    scores: Scores | None = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """The suggestion as plain data."""
        return {
            name: getattr(self, name)
            for name in ("code", "component", "part", "line", "why", "before", "after")
        }


@dataclass(frozen=True, eq=False)
class Suggestions:
    """`changes` of the reward and the `normalization` table.

    The changes are unranked: nothing here knows which completions are better.
    """

    changes: tuple[Suggestion, ...]
    normalization: tuple[Normalization, ...]

    @property
    def table(self) -> pd.DataFrame:
        """The normalization table, one row a way."""
        return pd.DataFrame([row.record() for row in self.normalization])

    def record(self) -> list[dict[str, Any]]:
        """All as plain data: changes, then normalizations as changes from the first row, "as_is"."""
        changes = [{"kind": "change", **item.record()} for item in self.changes]
        figures = ("changed", "sign_changes", "top_decile", "small_groups", "sample_size", "zero_std")
        base: dict[str, dict[str, float]] = {}
        for row in self.normalization:
            measured = {name: getattr(row, name) for name in figures}
            if row.code == "as_is":
                base[row.part] = measured
                continue
            told = {"code": row.code, "part": row.part, "line": row.line, "why": row.effect}
            changes.append({"kind": "normalization", **told, "before": base[row.part], "after": measured})
        return changes

    def __repr__(self) -> str:
        lines = [
            f"{len(self.changes)} changes of the reward to consider"
            if self.changes
            else "no change of the reward to suggest"
        ]
        for item in self.changes:
            lines += [
                f"  {item.code}: {item.why}",
                f"    {item.line}",
                f"    before {_figures(item.before)}",
                f"    after  {_figures(item.after)}",
            ]
        return "\n".join(
            [*lines, "normalization:", *(f"  {row.what}: {row.effect}" for row in self.normalization)]
        )


def _figures(figures: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in figures.items()
    )


def suggest(diagnosis: Diagnosis) -> Suggestions:
    """Changes that answer what was found, each measured on the same rollouts, and the normalization table.

    Nothing is scored anew: partial credit is computed from the extracted fields and the ground truth in the
    table. A part of a route gets suggestions of its own.
    """
    changes: list[Suggestion] = []
    table: list[Normalization] = []
    for view in diagnosis.views:
        scores = _scores_of(diagnosis.scores, view)
        codes = {(item.code, item.component) for item in diagnosis.findings if item.part == view.part}
        changes += [*_graduate(view, scores, codes), *_weights(view, scores), *_remove(view, scores, codes)]
        table += normalizations(view)
    return Suggestions(tuple(changes), tuple(table))


def _scores_of(scores: Scores, view: View) -> Scores:
    """The scores of one part, as scores of its own reward."""
    table = scores.table.iloc[view.rows].reset_index(drop=True)
    return Scores(
        table,
        view.reward,
        replace(scores.rollouts, table=scores.rollouts.table.iloc[view.rows].reset_index(drop=True)),
        scores.run,
    )


def _view_of(scores: Scores, like: View) -> View:
    part = Part(like.part, scores.reward, np.arange(len(scores)))
    return make_view(
        scores, part, training=like.training, seed=like.bootstrap.seed, thresholds=like.thresholds
    )


def _signal(view: View) -> dict[str, Any]:
    counted = view.stats.live.sum() + view.stats.dead.sum()
    return {"zero_std": float(view.stats.dead.sum() / counted) if counted else float("nan")}


def _graduate(view: View, scores: Scores, codes: set[tuple[str, str | None]]) -> list[Suggestion]:
    """Partial credit by closeness beside an all-or-nothing component that compares numbers."""
    found = []
    for name in view.names:
        item = view.components[name]
        fault = next((code for code in ("constant", "sparse", "binary") if (code, name) in codes), None)
        source = _prediction_column(scores, item)
        values = _closeness_of(scores, source) if fault and source and item.weight > 0 else None
        if values is None:
            continue
        asked = str(source).removeprefix("field/")
        added = Component(
            _free_name("close", view.names, scores),
            partial(closeness, zero_at=CLOSE_ZERO_AT),
            weight=round(CLOSE_WEIGHT * item.weight, 6),
            why="partial credit by relative error",
            columns={"prediction": asked} if asked != "prediction" else None,
        )
        changed = _with_component(scores, added, values)
        after = _view_of(changed, view)
        share = _share_in_tied_groups(view, after)
        mapped = f", columns={dict(added.columns)}" if added.columns else ""
        found.append(
            Suggestion(
                "graduate",
                name,
                f'rk.Component("{added.name}", partial(rk.verify.closeness, zero_at={CLOSE_ZERO_AT}), '
                f"weight={added.weight:g}{mapped})",
                f"{name!r} is {'never earned' if fault == 'constant' else 'all or nothing'}; partial "
                "credit by relative error lets near misses differ. "
                f"{percent(share)} of the advantage it adds falls in groups that were tied: it "
                f"{CREATES_SPREAD}",
                _signal(view),
                {**_signal(after), "added_advantage_in_tied_groups": share},
                view.part,
                changed,
            )
        )
    return found


def _closeness_of(scores: Scores, source: str) -> Floats | None:
    """Closeness of a column to the ground truth, NaN where not judged; None where it is no use."""
    pairs = zip(scores.table[source], scores.table["ground_truth"], strict=True)
    credit = [closeness(guess, truth, zero_at=CLOSE_ZERO_AT) for guess, truth in pairs]
    values = np.array([np.nan if value is None else value for value in credit], dtype=float)
    if np.isnan(values).mean() > 1 - READABLE or not ((values > 0) & (values < 1)).any():
        return None
    return values


def _share_in_tied_groups(before: View, after: View) -> float:
    """Share of the advantage that was added in groups that had none before; 0 where none was added."""
    grown = np.abs(np.nan_to_num(after.advantages)) - np.abs(np.nan_to_num(before.advantages))
    grown = np.maximum(grown, 0.0)
    return float(grown[before.stats.dead[before.groups]].sum() / grown.sum()) if grown.sum() else 0.0


def _prediction_column(scores: Scores, item: Component) -> str | None:
    """The column that a component compares with `ground_truth`.

    The one other it asks for, a field or a rollout column.
    """
    asked = item.asked_for
    if "ground_truth" not in asked or "ground_truth" not in scores.table:
        return None
    others = [name for name in asked if name != "ground_truth"]
    if len(others) != 1:
        return None
    return next((name for name in (f"field/{others[0]}", others[0]) if name in scores.table), None)


def _free_name(name: str, taken: tuple[str, ...], scores: Scores) -> str:
    names = {*taken, *scores.reward.fields, *map(str, scores.rollouts.table.columns)}
    return next(
        label for label in (name, *(f"{name}_{count}" for count in range(2, 100))) if label not in names
    )


def _with_component(scores: Scores, added: Component, values: Floats) -> Scores:
    status = np.where(np.isnan(values), ABSTAINED, SCORED)
    table = scores.table.copy(deep=False)
    table[f"score/{added.name}"] = values
    table[f"status/{added.name}"] = status_column(status)
    table[f"error/{added.name}"] = pd.Series([None] * len(table), dtype=object)
    reward = replace(scores.reward, components=(*scores.reward.components, added), recorded=None)
    return Scores(table, scores.reward, scores.rollouts, scores.run).under(reward)


def _weights(view: View, scores: Scores) -> list[Suggestion]:
    """Weights under which what each component holds comes nearest to what it declares."""
    often = OFTEN * view.stats.live.sum()
    live = [
        name
        for name in view.names
        if view.components[name].weight and view.component_stats[name].live.sum() > often
    ]
    if len(live) < 2 or not view.effective_weights:
        return []
    declared = {name: view.declared_weights[name] for name in live}
    whole = sum(declared.values())
    target = {name: share / whole for name, share in declared.items()}

    before = _off(view.effective_weights, target)
    if before < MOST_OFF:
        return []
    best, best_view = _nearest(view, scores, target)
    after = _off(best_view.effective_weights, target)
    if after > ENOUGH_NEARER * before:
        return []
    alone = _alone(view, live)
    limit = (
        f" (weights cannot do more: in {percent(alone)} of the live groups a single component varies and "
        "holds all of it)"
        if alone > after
        else ""
    )
    return [
        Suggestion(
            "declared_weights",
            None,
            f"scores.reweigh({best})",
            "what a weight declares and what it holds of the squared advantage differ by up to "
            f"{percent(before)}; "
            f"under these weights by up to {percent(after)}{limit}",
            {"effective_weights": _rounded(view.effective_weights, live), "declared": _rounded(target, live)},
            {"effective_weights": _rounded(best_view.effective_weights, live), **_signal(best_view)},
            view.part,
            scores.reweigh(best),
        )
    ]


def _off(held: Mapping[str, float], target: Mapping[str, float]) -> float:
    """The largest difference between what a component holds and what it should."""
    return max(abs(held[name] - target[name]) for name in target)


def _nearest(view: View, scores: Scores, target: Mapping[str, float]) -> tuple[dict[str, float], View]:
    """The best weights of a damped search, and their view: more weight where a component holds too little."""
    start = {name: float(view.components[name].weight) for name in target}
    total = sum(abs(weight) for weight in start.values())
    weights, best, best_view = start, start, view
    held = view.effective_weights
    for _ in range(STEPS):
        moved = {name: weights[name] * np.sqrt(target[name] / max(held[name], 0.02)) for name in target}
        scale = total / sum(abs(weight) for weight in moved.values())
        weights = {name: _bounded(moved[name] * scale, start[name]) for name in target}
        tried = _view_of(scores.reweigh(weights), view)
        held = tried.effective_weights
        if not held:  # under these weights no group has a signal
            break
        if _off(held, target) < _off(best_view.effective_weights, target) - 1e-9:
            best, best_view = weights, tried
    return best, best_view


def _bounded(weight: float, start: float) -> float:
    """The weight with three digits, at most `WIDEST` times larger or smaller than it was."""
    size = float(np.clip(abs(weight), abs(start) / WIDEST, abs(start) * WIDEST))
    return float(f"{np.copysign(size, start):.3g}")


def _alone(view: View, names: list[str]) -> float:
    """Share of the live groups in which only one component varies: no weight changes who holds these."""
    moving = sum(view.component_stats[name].live.astype(int) for name in names)
    return float(((moving == 1) & view.stats.live).sum() / max(view.stats.live.sum(), 1))


def _rounded(held: Mapping[str, float], names: list[str]) -> dict[str, float]:
    return {name: round(held[name], 3) for name in names}


def _remove(view: View, scores: Scores, codes: set[tuple[str, str | None]]) -> list[Suggestion]:
    """Weight 0 for components that are constant, dead, redundant or dominant, and its effect."""
    found = []
    for name in view.names:
        fault = next(
            (code for code in ("constant", "dead", "redundant", "dominant") if (code, name) in codes), None
        )
        weight = view.components[name].weight
        rest = [other for other in view.names if other != name and view.components[other].weight]
        if fault is None or name == view.primary or weight <= 0 or not rest:
            continue
        changed = scores.reweigh({name: 0.0})
        after = _view_of(changed, view).advantages
        size = np.abs(np.nan_to_num(view.advantages))
        moved = float(np.nansum(np.abs(after - view.advantages)) / size.sum()) if size.sum() else 0.0
        stats = group_stats(changed.rewards, view.groups)
        dead = float(stats.dead.sum() / max((stats.dead | stats.live).sum(), 1))
        effect = "no advantage changes" if moved < 1e-6 else f"{percent(moved)} of the advantage moves"
        found.append(
            Suggestion(
                "remove_component",
                name,
                f'scores.reweigh({{"{name}": 0}})',
                f"{name!r} is {fault}: recorded instead of paid, {effect}",
                _signal(view),
                {"zero_std": dead, "advantage_moved": moved},
                view.part,
                changed,
            )
        )
    return found
