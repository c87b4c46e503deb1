"""How a diagnosis looks in a notebook: a short page of escaped HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rewardkit.analysis.findings import percent
from rewardkit.analysis.view import View
from rewardkit.markup import escaped, table

if TYPE_CHECKING:
    from rewardkit.analysis.diagnosis import Diagnosis

__all__ = ["page"]

SHOWN = 12
"""Findings; the others are counted."""


def page(diagnosis: Diagnosis) -> str:
    """What was found, where the advantages come from, and how many groups have none."""
    reward, found = diagnosis.scores.reward, diagnosis.findings
    parts = [
        f"<b>Diagnosis of {escaped(reward.name)}</b> on {len(diagnosis.scores):,} rollouts "
        f"({escaped(diagnosis.training)})",
        *(_signal(view) for view in diagnosis.views),
    ]
    if found:
        rows = [(item.severity, item.code, item.sentence) for item in found[:SHOWN]]
        parts.append(table(("severity", "finding", "what it does"), rows))
        if len(found) > SHOWN:
            parts.append(f"and {len(found) - SHOWN} more in <code>diagnosis.findings</code>")
    else:
        parts.append("nothing found")
    parts += [_components(view) for view in diagnosis.views]
    return "".join(f"<div>{part}</div>" for part in parts)


def _signal(view: View) -> str:
    dead, counted = int(view.stats.dead.sum()), int((view.stats.dead | view.stats.live).sum())
    where = f"{escaped(view.part)}: " if view.part else ""
    if not counted:
        return f"{where}no group has two siblings with a reward, so that there is no advantage"
    live = percent(1 - dead / counted)
    return f"{where}{live} of {counted:,} groups have a signal; the siblings of the others all earn the same"


def _components(view: View) -> str:
    """Declared weight beside what each component holds of the squared advantage, and turns of its signs."""
    held, turns = view.effective_weights, view.sign_influence
    rows = [
        (
            name,
            f"{view.components[name].weight:g}",
            percent(view.declared_weights[name]),
            percent(held[name]) if name in held else "-",
            percent(turns[name]) if not math.isnan(turns[name]) else "-",
        )
        for name in view.names
    ]
    header = ("component", "weight", "declared share", "share of the advantage", "signs that turn without it")
    return table(header, rows, numeric=header[1:])
