"""Tables of figures that the notebooks show: a record in, a data frame out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.diagnosis import Diagnosis, make_views
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.notebook.display import Show
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import Case, CheckResult
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores

__all__ = ["cases", "coverage", "definition", "gates", "group_sizes", "influence"]

SIZES = (2, 4, 8, 16, 32)  # of groups, as trainers have them


def definition(reward: Reward) -> pd.DataFrame:
    """One row a field and component of a reward, as it is declared."""
    rows = []
    for part in reward.inner:
        declared: list[tuple[Any, ...]] = [
            (name, "field", f, "", None, "") for name, f in part.fields.items()
        ]
        for item in part.components:
            declared.append((item.name, "component", item.function, f"{item.weight:g}", item.gate, item.why))
        for name, kind, function, weight, gate, why in declared:
            row = {"reward": part.name} if part is not reward else {}
            row |= {"name": name, "kind": kind, "function": describe(function), "weight": weight}
            rows.append(row | {"gate": describe(gate) if gate else "", "why": why})
    return pd.DataFrame(rows)


def gates(scores: Scores, *, timeout: float | None = None) -> pd.DataFrame:
    """One row a gated component.

    Share of rows it counts for, its mean there, and its mean as if the gate were open, for which everything
    is scored again; `timeout` is as in `score`.
    """
    gated = [item.name for part in scores.reward.inner for item in part.components if item.gate]
    everywhere = scores
    if gated:
        everywhere = score(scores.reward, scores.rollouts, ignore_gates=True, timeout=timeout)
    rows = []
    for name in dict.fromkeys(gated):
        behind, counted = everywhere.score(name), scores.score(name)
        rows.append(
            {
                "component": name,
                "counts_for": (~np.isnan(counted)).mean(),
                "mean_where_it_counts": _mean(counted),
                "mean_without_the_gate": _mean(behind),
            }
        )
    return pd.DataFrame(
        rows, columns=["component", "counts_for", "mean_where_it_counts", "mean_without_the_gate"]
    )


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def influence(scores: Scores) -> pd.DataFrame:
    """One row a component: its weight, the share it declares and the share it holds.

    What it holds is of the squared advantage.
    """
    rows = []
    for view in make_views(scores):
        for name in view.names:
            row: dict[str, Any] = {"part": view.part} if view.part else {}
            row |= {"component": name, "weight": view.components[name].weight}
            held = view.effective_weights.get(name, np.nan)
            rows.append(row | {"declared": view.declared_weights[name], "effective": held})
    return pd.DataFrame(rows)


def group_sizes(diagnosis: Diagnosis, sizes: Sequence[int] = SIZES) -> pd.DataFrame:
    """One row a size of the groups (and part): the share that would be without a signal, with its interval.

    ``groups`` is how many it is of: those with so many rewards, for a fit those with two or more; ``batches``
    how many are sampled for a full one where such groups are dropped; ``how`` says whether the
    share is exact, fitted, or why there is none.
    """
    found = [(size, part, share) for size in sizes for part, share in diagnosis.dead_share(size).items()]
    texts = {
        "part": [part for _, part, _ in found],
        "how": [share.why or share.method for *_, share in found],
    }
    objects = {name: pd.Series(values, dtype=object) for name, values in texts.items()}
    numbers = {
        "group_size": [size for size, *_ in found],
        "groups": [share.groups for *_, share in found],
        "without_a_signal": [share.value for *_, share in found],
        "from": [share.interval[0] for *_, share in found],
        "to": [share.interval[1] for *_, share in found],
        "batches": [share.batches if share.value <= 1 else np.nan for *_, share in found],
    }
    several = {"part": objects["part"]} if any(texts["part"]) else {}
    return pd.DataFrame({**several, **numbers, "how": objects["how"]})


def cases(result: CheckResult | None, *, redact: bool = False) -> pd.DataFrame:
    """One row a case: whether it passed, what it expects, its completion and why it is there."""
    if result is None:
        return pd.DataFrame()
    missed = {miss.case for miss in result.misses}
    show = Show(redact=redact)
    rows = []
    for case in result.cases:
        expected = {name: item.written for name, item in case.scores.items()}
        if case.reward is not None:
            expected = {"reward": case.reward.written, **expected}
        wanted = ", ".join(f"{name} {value}" for name, value in expected.items())
        completion = show.text(case.columns.get("completion"))
        rows.append(
            {
                "": "\u2717 missed" if case.name in missed else "\u2713",
                "case": case.name,
                "expects": wanted,
                "completion": completion,
                "ground_truth": show.text(case.columns.get("ground_truth")),
                "why": show.text(case.why),
            }
        )
    return pd.DataFrame(rows, dtype=object)  # as objects: Arrow-backed text takes no lone surrogates


def coverage(reward: Reward, cases: Sequence[Case], *, timeout: float | None = None) -> pd.DataFrame:
    """One row a component: how many cases expect a score of it, how many it scores.

    Beside these the lowest and highest of the scores; `timeout` is as in `score`. Without cases no row.
    """
    if not cases:
        return pd.DataFrame()
    names = list(dict.fromkeys(name for case in cases for name in case.columns))
    columns = {name: [case.columns.get(name) for case in cases] for name in names}
    with time_limit(timeout) as limit:
        found = evaluate(reward.bind(columns, len(cases)), columns, limit=limit)
    rows = []
    for name in reward.names:
        scores = found.scores[name][~np.isnan(found.scores[name])]
        expecting = sum(name in case.scores for case in cases)
        low, high = (scores.min(), scores.max()) if len(scores) else (np.nan, np.nan)
        rows.append(
            {
                "component": name,
                "cases_that_expect_it": expecting,
                "cases_that_score_it": len(scores),
                "lowest": low,
                "highest": high,
            }
        )
    return pd.DataFrame(rows)
