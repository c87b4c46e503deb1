"""Figures of a diagnosis that are kept with a run."""

from __future__ import annotations

from typing import Any

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import View


def run_figures(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return what a diagnosis says of a scoring in figures.

    ``label_auc`` is the share of the sibling pairs with different labels that the
    reward orders as the label does, ties half, where there is a label, also one that a
    component repeats; and
    ``effective_weights`` each component's share of the squared advantage, by name. Of a
    route the parts stand in dicts by their label. A figure that cannot be told is left
    out.
    """
    by_part = {view.part: _figures_of(view) for view in diagnosis.views}
    if len(by_part) == 1:
        (figures,) = by_part.values()
        return figures
    joined: dict[str, Any] = {}
    for part, figures in by_part.items():
        for name, value in figures.items():
            joined.setdefault(name, {})[part] = value
    auc = joined.get("label_auc")
    if auc is not None:  # one number to compare versions by
        joined["label_auc"] = sum(auc.values()) / len(auc)
    return joined


def _figures_of(view: View) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    if view.effective_weights:
        figures["effective_weights"] = view.effective_weights
    label = view.context.label
    if label is None:
        label = view.context.repeated_label
    if label is not None:
        agree, pairs = concordance(
            view.rewards, label, view.groups, total=len(view.owner)
        )
        if pairs.sum():
            figures["label_auc"] = float(agree.sum() / pairs.sum())
    return figures
