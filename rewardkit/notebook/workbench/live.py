"""Live: the pictures and figures of a variant beside those of the start, as HTML."""

from __future__ import annotations

import math

from rewardkit.findings import percent
from rewardkit.html import markup
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.figures import Figures, turned
from rewardkit.notebook.workbench.pictures import group_svg, histogram_svg

__all__ = ["live"]


def live(bench: Bench) -> str:
    """The pictures and figures of the variant, with what changed against the start."""
    now, before = bench.figures, bench.before
    moved = bench.variant != bench.start
    pictures = histogram_svg(now.rewards, before.rewards if moved else None) + group_svg(now)
    return (
        f'<div class="rewardkit-live"><div class="rewardkit-pictures">{pictures}</div>'
        f"<div>{_table(now, before, moved)}{_unlabelled(bench)}{_effective(bench, now, before, moved)}</div>"
        "</div>"
    )


def _table(now: Figures, before: Figures, moved: bool) -> str:
    """The figures at the start and now."""
    rows = [
        ("mean reward", *(_mean(item) for item in (before, now))),
        ("groups of two or more", *(f"{item.several:,}" for item in (before, now))),
        ("groups without a signal", *(_tied(item) for item in (before, now))),
    ]
    if not math.isnan(before.auc) or not math.isnan(now.auc):
        rows.append(("label AUC within groups", *(_number(item.auc) for item in (before, now))))
    if now.missing or before.missing:
        rows.append(("rewards missing", *(f"{item.missing:,}" for item in (before, now))))
    if moved:
        rows.append(("advantages whose sign turned", "", _share(turned(before, now))))
    header = ("figure", "start", "now") if moved else ("figure", "start")
    numeric = header[1:]
    return markup.table(header, [row[: len(header)] for row in rows], numeric=numeric)


def _unlabelled(bench: Bench) -> str:
    """Why the label that was asked for is not used."""
    told = dict.fromkeys(view.context.why_no_label for view in bench.views if view.context.label is None)
    return "".join(
        f"<p>\N{WARNING SIGN} The label is not used: {markup.escaped(why)}.</p>" for why in told if why
    )


def _effective(bench: Bench, now: Figures, before: Figures, moved: bool) -> str:
    """What each component holds of the squared advantage, beside what its weight says."""
    if not now.effective:
        return "<p>No group has a signal, so no component has an effect.</p>"
    weights = bench.variant.weights
    total = sum(map(abs, weights.values())) or 1.0
    rows = []
    for name, share in now.effective.items():
        weight = weights.get(name, weights.get(name.rpartition(": ")[2], math.nan))
        row = [name, f"{weight:g}", percent(abs(weight) / total), _share(share)]
        rows.append([*row, _share(before.effective.get(name, math.nan))] if moved else row)
    header = ["component", "weight", "declared", "effective", *(["at start"] if moved else [])]
    return markup.table(header, rows, numeric=header[1:])


def _mean(item: Figures) -> str:
    known = item.rewards[~(item.rewards != item.rewards)]
    return f"{known.mean():.3f} \u00b1 {known.std():.3f}" if len(known) else "-"


def _tied(item: Figures) -> str:
    return f"{_share(item.tied_share)} ({int(item.tied.sum()):,})"


def _share(value: float) -> str:
    return "-" if math.isnan(value) else percent(value)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
