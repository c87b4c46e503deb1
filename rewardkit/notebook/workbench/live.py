"""Live: what the variant does beside what the start did, as HTML that follows a slider."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rewardkit.findings import percent
from rewardkit.html import markup
from rewardkit.html.pictures import group_svg, histogram_svg, spark_svg
from rewardkit.notebook.workbench.bench import Bench, kept
from rewardkit.notebook.workbench.figures import Figures, called, turned
from rewardkit.notebook.workbench.parts import made
from rewardkit.scoring.outcomes import ABSTAINED, GATED


def live(bench: Bench) -> str:
    """A row a component, as the controls beside it have them, then pictures and figures."""
    now, before = bench.figures, bench.before
    moved = bench.variant != bench.start
    pictures = histogram_svg(now.rewards, before.rewards if moved else None)
    pictures += group_svg(now.low, now.mean, now.high, now.tied)
    told = dict.fromkeys(
        view.context.why_no_label for view in bench.views if view.context.label is None
    )
    why = [f"The label is not used: {why}." for why in told if why]
    rows = [_effect(bench, told, moved) for told in now.effective]
    figures = markup.html_of(_table(now, before, moved))
    return made(
        "live",
        rows,
        _settings(bench),
        bench.variant.is_routed,
        moved,
        markup.html_of(pictures),
        figures,
        why,
    )


def _settings(bench: Bench) -> list[tuple[list[str], Any]]:
    """What stands, by the command that sets it: weights, gates and how they are combined."""
    variant = bench.variant
    scaling = variant.training.scale_rewards
    now: list[tuple[list[str], Any]] = [(["choose", "scale_rewards"], scaling)]
    now += [(["choose", "aggregation"], variant.aggregation)]
    now += [
        (["weigh", name], float(f"{weight:.6g}"))
        for name, weight in variant.weights.items()
    ]
    return now + [
        (["gate", name, "on"], gate is not None) for name, gate in variant.gates.items()
    ]


def _table(now: Figures, before: Figures, moved: bool) -> str:
    """The figures at the start and now."""
    both = (before, now)
    rows = [
        ("mean reward", *map(_mean, both)),
        ("groups of two or more", *(f"{item.several:,}" for item in both)),
        (
            "groups without a signal",
            *(f"{percent(one.tied_share)} ({one.tied.sum():,})" for one in both),
        ),
    ]
    if not all(math.isnan(item.auc) for item in both):
        told = ("-" if math.isnan(item.auc) else f"{item.auc:.3f}" for item in both)
        rows.append(("label AUC within groups", *told))
    if now.missing or before.missing:
        rows.append(("rewards missing", *(f"{item.missing:,}" for item in both)))
    if moved:
        rows.append(("advantages whose sign turned", "", percent(turned(before, now))))
    header = ("figure", "start", "now") if moved else ("figure", "start")
    return markup.table(
        header, [row[: len(header)] for row in rows], numeric=header[1:]
    )


def _effect(bench: Bench, told: str, moved: bool) -> dict[str, Any]:
    """What a component holds of the squared advantage, beside what its weight says, and its scores."""
    weights, share, gate = bench.variant.weights, bench.figures.effective[told], ""
    _, name = called(bench.views)[told]
    declared = abs(weights[name]) / (sum(map(abs, weights.values())) or 1.0)
    start = [bench.before.effective.get(told, math.nan)] if moved else []
    if name in bench.variant.gates:
        status = bench.scores.status(name)
        judged = status[status != ABSTAINED]  # what the gate is on was judged
        open_ = float((judged != GATED).mean()) if len(judged) else math.nan
        gate = f"its gate is open in {percent(open_)} of the rows"
    return {
        "name": told,
        "weight": f"{weights[name]:g}",
        "shares": [
            percent(item).replace("under ", "<") for item in (declared, share, *start)
        ],
        "declared": 100 * declared,
        "effective": 100 * min(max(np.nan_to_num(share), 0.0), 1.0),
        "spark": _sparks(bench)[told],
        "gate": gate,
    }


def _sparks(bench: Bench) -> dict[str, Any]:
    """The distribution of the scores of each component, which no weight moves."""

    def drawn() -> dict[str, Any]:
        return {
            told: markup.html_of(
                spark_svg(view.scores[name], view.components[name].range)
            )
            for told, (view, name) in called(bench.views).items()
        }

    scores, _ = bench.gated(bench.variant)
    return kept(bench.drawn, scores, drawn)


def _mean(item: Figures) -> str:
    known = item.rewards[~np.isnan(item.rewards)]
    return f"{known.mean():.3f} \u00b1 {known.std():.3f}" if len(known) else "-"
