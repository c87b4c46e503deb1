"""How a diagnosis looks in a notebook: a short page of escaped HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewardkit.analysis.view import View
from rewardkit.findings import Finding, counted, percent
from rewardkit.html.markup import card, escaped, folded, listed, outlined, table

if TYPE_CHECKING:
    from rewardkit.analysis.diagnosis import Diagnosis

__all__ = ["SEVERITY_MARKS", "outlined", "page"]

SEVERITY_MARKS = {"high": "\u25cf high", "warn": "\u25b2 warn", "info": "\u25cb info"}
"""Shapes say it without colour."""
SHOWN = 12
"""Findings; the others are counted."""
LONGEST = 800
"""Characters of a sentence, which may quote what a completion made a component say."""
OPEN = 8
"""Components up to which their table is open."""


def page(diagnosis: Diagnosis) -> str:
    """What was found, how many groups have a signal, and, folded, what is only information and components.

    It has no colours of its own, so that it reads on a light and on a dark page.
    """
    reward, scores = diagnosis.scores.reward, diagnosis.scores
    weighty = [item for item in diagnosis.findings if item.severity != "info"]
    minor = [item for item in diagnosis.findings if item.severity == "info"]
    shown = weighty[:SHOWN]
    left = len(weighty) - len(shown)
    said = f"{_counts(diagnosis)}; {len(scores):,} rollouts, advantages as of {diagnosis.training}"
    parts = [
        *(f"<p>{_signal(view)}</p>" for view in diagnosis.views),
        _findings(shown),
        f"<p>and {left} more in <code>diagnosis.findings</code></p>" if left else "",
        folded(f"{len(minor)} for information", _list(minor)) if minor else "",
        *(_components(view) for view in diagnosis.views),
        "<p><code>rk.suggest(diagnosis)</code> says what could be changed, "
        "<code>rk.forecast(scores)</code> what this reward selects for.</p>",
    ]
    return card(f"Diagnosis of {reward.name}", "".join(parts), said=said)


def _counts(diagnosis: Diagnosis) -> str:
    counts = {
        severity: sum(item.severity == severity for item in diagnosis.findings) for severity in SEVERITY_MARKS
    }
    return ", ".join(f"{counts[name]} {mark}" for name, mark in SEVERITY_MARKS.items() if counts[name]) or (
        "nothing found"
    )


def _findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    rows = [(SEVERITY_MARKS[item.severity], item.code, item.sentence) for item in findings]
    return table(("severity", "finding", "what it does"), rows, limit=LONGEST)


def _list(findings: Sequence[Finding]) -> str:
    lines = (f"{escaped(item.code)}: {escaped(item.sentence, limit=LONGEST)}" for item in findings[:SHOWN])
    left = len(findings) - SHOWN
    return listed(lines) + (f"<p>and {left} more</p>" if left > 0 else "")


def _signal(view: View) -> str:
    dead, several = int(view.dead.sum()), int((view.dead | view.live).sum())
    where = f"{escaped(view.part)}: " if view.part else ""
    if not several:
        return f"{where}no group has two siblings with a reward, so that there is no advantage"
    live = percent(1 - dead / several)
    groups = f"{counted(several, 'group')} {'has' if several == 1 else 'have'}"
    return f"{where}{live} of {groups} a signal; the siblings of the others all earn the same"


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
    what = f"Components of {view.part}" if view.part else "Components"
    body = table(header, rows, numeric=header[1:])
    return folded(f"{what}: weights declared and effective", body, is_open=len(rows) <= OPEN)
