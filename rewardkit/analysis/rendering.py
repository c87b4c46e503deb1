"""How a diagnosis looks: a few lines for a terminal, and a short page of escaped HTML for a notebook."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from rewardkit.analysis.view import View
from rewardkit.findings import SEVERITIES, Finding, counted, percent
from rewardkit.html.excerpts import one_line
from rewardkit.html.pages import Block, More, Page, Table, point_of

FULL = 3
"""Findings that are told in full; the others are named."""
MOST_FOLDED = 12
"""Findings of one severity that are folded; the others are counted."""
OPEN = 8
"""Components up to which their table is open."""
READY = {"high": "not ready", "warn": "usable", "info": "fine", None: "fine"}
COUNTED = {"high": "grave finding", "warn": "warning", "info": "note"}


def named(codes: Iterable[str]) -> str:
    """Codes and how often each."""
    return ", ".join(
        code if count == 1 else f"{code} ({count})"
        for code, count in Counter(codes).items()
    )


def diagnosis_page(
    name: str,
    on: str,
    findings: Sequence[Finding],
    views: Sequence[View],
) -> Page:
    """Return the verdict on a reward, what it was found on, and the findings that matter most.

    Folded are the other findings, and a table of the components of each view.
    """
    counts = Counter(item.severity for item in findings)
    found = ", ".join(
        counted(counts[level], COUNTED[level]) for level in SEVERITIES if counts[level]
    )
    ready = READY[next((level for level in SEVERITIES if counts[level]), None)]
    weighty = [item for item in findings if item.severity != "info"]
    notes = [item for item in findings if item.severity == "info"]
    shown = weighty[:FULL]
    few = [item for item in findings if item.code == "not_enough"]
    if (ready == "fine" and few) or not any(view.several for view in views):
        ready, shown = "cannot be judged yet", shown or few
    left = named(item.code for item in findings if item not in shown)
    more = weighty[FULL:]
    notes = [item for item in notes if item not in shown]
    blocks: list[Block] = [" ".join([on, *map(_signal, views[:FULL])])]
    blocks += map(point_of, shown)
    blocks.append(_folded_findings("more warning", more))
    blocks.append(_folded_findings("note", notes))
    tables = [More("", [_components(view)]) for view in views]
    return Page(
        f"{one_line(name)}: {ready}. {found or 'Nothing found'}.",
        [*blocks, *tables],
        foot=left and f"Also: {left}. All: diagnosis.text(verbose=True).",
    )


def _signal(view: View) -> str:
    """How many groups have a signal."""
    where = f"[{view.part}] " if view.part else ""
    if not view.several:
        return f"{where}No group has two completions with a reward, so there is no advantage."
    live, have = (
        1 - int(view.dead.sum()) / view.several,
        "has" if view.several == 1 else "have",
    )
    return (
        f"{where}{percent(live)} of {counted(view.several, 'group')} {have} a signal."
    )


def _folded_findings(word: str, findings: Sequence[Finding]) -> More:
    points: list[Block] = [point_of(item) for item in findings[:MOST_FOLDED]]
    if left := len(findings) - len(points):
        points.append(f"and {left} more in diagnosis.findings")
    return More(counted(len(findings), word), points)


def _components(view: View) -> Table:
    """Declared weight beside what each component holds of the squared advantage, and turns of its signs."""
    held = view.effective_weights
    rows = [
        (
            name,
            f"{view.components[name].weight:g}",
            percent(view.declared_weights[name]),
            percent(held.get(name, math.nan)),
            percent(view.sign_influence[name]),
        )
        for name in view.names
    ]
    header = (
        "component",
        "weight",
        "declared share",
        "share of the advantage",
        "signs that change without it",
    )
    what = f"Components of {view.part}" if view.part else "Components"
    caption = f"{what}: weights declared and effective"
    return Table(caption, header, rows, header[1:], len(rows) <= OPEN, most=len(rows))
