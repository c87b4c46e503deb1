"""Tables of figures that the notebooks show: a record in, a data frame out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.notebook.display import Show
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import Case, CheckResult
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores

__all__ = ["cases", "coverage", "gates", "group_sizes"]

SIZES = (2, 4, 8, 16, 32)  # of groups, as trainers have them


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
        counted = scores.score(name)
        row = {"component": name, "counts_for": (~np.isnan(counted)).mean()}
        row |= {"mean_where_it_counts": _mean(counted)}
        rows.append(row | {"mean_without_the_gate": _mean(everywhere.score(name))})
    return pd.DataFrame(rows)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def group_sizes(diagnosis: Diagnosis, sizes: Sequence[int] = SIZES) -> pd.DataFrame:
    """One row a size of the groups (and part): the share that would be without a signal, with its interval.

    ``groups`` is how many it is of: those with so many rewards, for a fit those with two or more; ``batches``
    how many are sampled for a full one where such groups are dropped; ``how`` says whether the
    share is exact, fitted, or why there is none.
    """
    rows = [
        {
            "part": part,
            "group_size": size,
            "groups": share.groups,
            "without_a_signal": share.value,
            "from": share.interval[0],
            "to": share.interval[1],
            "batches": share.batches if share.value <= 1 else np.nan,
            "how": share.why or share.method,
        }
        for size in sizes
        for part, share in diagnosis.dead_share(size).items()
    ]
    table = pd.DataFrame(rows, dtype=object)  # as objects: Arrow-backed text takes no lone surrogates
    return table if any(row["part"] for row in rows) else table.drop(columns="part")


def cases(result: CheckResult | None, *, redact: bool = False) -> pd.DataFrame:
    """One row a case: whether it passed, what it expects, its completion and why it is there."""
    if result is None:
        return pd.DataFrame()
    missed = {miss.case for miss in result.misses}
    show, rows = Show(redact=redact), []
    for case in result.cases:
        wanted = {"reward": case.reward, **case.scores}
        expects = ", ".join(f"{name} {item.written}" for name, item in wanted.items() if item is not None)
        row = {
            "": "\u2717 missed" if case.name in missed else "\u2713",
            "case": case.name,
            "expects": expects,
        }
        texts = {name: case.columns.get(name) for name in ("completion", "ground_truth")} | {"why": case.why}
        rows.append(row | {name: show.text(text) for name, text in texts.items()})
    return pd.DataFrame(rows, dtype=object)  # as objects, as above


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
        low, high = (scores.min(), scores.max()) if len(scores) else (np.nan, np.nan)
        row = {"component": name, "cases_that_expect_it": sum(name in case.scores for case in cases)}
        rows.append(row | {"cases_that_score_it": len(scores), "lowest": low, "highest": high})
    return pd.DataFrame(rows)
