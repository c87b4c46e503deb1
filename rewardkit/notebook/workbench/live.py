"""Live: what the variant does beside what the start did, as HTML that follows a slider."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rewardkit.findings import percent
from rewardkit.html import markup
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.figures import Figures, turned
from rewardkit.notebook.workbench.parts import made
from rewardkit.notebook.workbench.pictures import group_svg, histogram_svg, spark_svg
from rewardkit.scoring.outcomes import ABSTAINED, GATED

__all__ = ["live"]


def live(bench: Bench) -> str:
    """A row a component, as the controls beside it have them, then pictures and figures."""
    now, before = bench.figures, bench.before
    moved = bench.variant != bench.start
    pictures = histogram_svg(now.rewards, before.rewards if moved else None) + group_svg(now)
    told = dict.fromkeys(view.context.why_no_label for view in bench.views if view.context.label is None)
    why = [f"The label is not used: {why}." for why in told if why]
    rows = _effective(bench, now, before, moved) if now.effective else []
    figures = markup.html_of(_table(now, before, moved))
    return made("live", rows, moved, markup.html_of(pictures), figures, why)


def _table(now: Figures, before: Figures, moved: bool) -> str:
    """The figures at the start and now."""
    rows = [
        ("mean reward", *(_mean(item) for item in (before, now))),
        ("groups of two or more", *(f"{item.several:,}" for item in (before, now))),
        (
            "groups without a signal",
            *(f"{percent(item.tied_share)} ({item.tied.sum():,})" for item in (before, now)),
        ),
    ]
    if not math.isnan(before.auc) or not math.isnan(now.auc):
        rows.append(("label AUC within groups", *(_number(item.auc) for item in (before, now))))
    if now.missing or before.missing:
        rows.append(("rewards missing", *(f"{item.missing:,}" for item in (before, now))))
    if moved:
        rows.append(("advantages whose sign turned", "", percent(turned(before, now))))
    header = ("figure", "start", "now") if moved else ("figure", "start")
    return markup.table(header, [row[: len(header)] for row in rows], numeric=header[1:])


def _effective(bench: Bench, now: Figures, before: Figures, moved: bool) -> list[dict[str, Any]]:
    """What each component holds of the squared advantage, beside what its weight says, and its scores."""
    weights, gates = bench.variant.weights, bench.variant.gates
    total = sum(map(abs, weights.values())) or 1.0
    shares = {name: abs(weight) / total for name, weight in weights.items()}
    sparks, rows = _sparks(bench), []
    for called, share in now.effective.items():
        name = called if called in weights else called.rpartition(": ")[2]
        weight, start = weights.get(name, math.nan), before.effective.get(called, math.nan)
        declared = shares.get(name, math.nan)
        decided = bench.scores.status(name)[
            bench.scores.status(name) != ABSTAINED
        ]  # what it is on was judged
        open_ = np.mean(decided != GATED) if name in gates and len(decided) else math.nan
        rows.append(
            {
                "name": called,
                "weight": f"{weight:g}",
                "shares": [percent(item) for item in (declared, share, *([start] if moved else []))],
                "declared": 100 * declared,
                "effective": 100 * min(max(np.nan_to_num(share), 0.0), 1.0),
                "spark": sparks.get(called, ""),
                "gate": f"its gate is open in {percent(float(open_))} of the rows" if name in gates else "",
            }
        )
    return rows


def _sparks(bench: Bench) -> dict[str, Any]:
    """The distribution of the scores of each component, which no weight moves."""
    scores, _ = bench.ground.gated(bench.variant)
    if bench.drawn is None or bench.drawn[0] is not scores:
        several = len(bench.views) > 1
        bench.drawn = (
            scores,
            {
                f"{view.part}: {name}" if several else name: markup.html_of(
                    spark_svg(view.scores[name], item.range)
                )
                for view in bench.views
                for name, item in view.components.items()
            },
        )
    found: dict[str, Any] = bench.drawn[1]
    return found


def _mean(item: Figures) -> str:
    known = item.rewards[~np.isnan(item.rewards)]
    return f"{known.mean():.3f} \u00b1 {known.std():.3f}" if len(known) else "-"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
