"""The page of a diagnosis: verdict, most important findings, components."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from rewardkit.analysis.view import View
from rewardkit.findings import SEVERITIES, Finding, counted, percent
from rewardkit.html.blocks import Block, Table
from rewardkit.html.excerpts import one_line
from rewardkit.html.pages import More, Page, point_of

FULL = 3
"""Findings that are told in full; the others are named."""
MOST_FOLDED = 12
"""Findings of one severity that are folded; the others are counted."""
OPEN = 8
"""Components up to which their table is open."""
READY = {"high": "not ready", "warn": "usable", "info": "fine", None: "fine"}
COUNTED = {"high": "grave finding", "warn": "warning", "info": "note"}


def named(codes: Iterable[str]) -> str:
    """List codes, with how often each occurs more than once."""
    names = []
    for code, count in Counter(codes).items():
        names.append(code if count == 1 else f"{code} ({count})")
    return ", ".join(names)


def diagnosis_page(
    name: str, on: str, findings: Sequence[Finding], views: Sequence[View]
) -> Page:
    """Return the page of a diagnosis.

    Folded are all but the findings that matter most, and a table of the components of
    each view.

    Args:
        name: of the reward.
        on: what it was diagnosed on.
        findings: in the order of the diagnosis.
        views: one a part of the reward.
    """
    warnings = [finding for finding in findings if finding.severity != "info"]
    notes = [finding for finding in findings if finding.severity == "info"]
    shown = warnings[:FULL]
    worst = min((f.severity for f in findings), key=SEVERITIES.index, default=None)
    verdict = READY[worst]
    too_few = [finding for finding in findings if finding.code == "not_enough"]
    has_pairs = any(view.several for view in views)
    if not has_pairs or (verdict == "fine" and too_few):
        verdict = "cannot be judged yet"
        shown = shown or too_few
    notes = [finding for finding in notes if finding not in shown]
    others = named(finding.code for finding in findings if finding not in shown)
    blocks: list[Block] = [" ".join([on, *map(_signal, views[:FULL])])]
    blocks += map(point_of, shown)
    blocks.append(_folded_findings("more warning", warnings[FULL:]))
    blocks.append(_folded_findings("note", notes))
    blocks += [More("", [_components(view)]) for view in views]
    return Page(
        f"{one_line(name)}: {verdict}. {_counts(findings)}.",
        blocks,
        foot=f"Also: {others}. All: diagnosis.text(verbose=True)." if others else "",
    )


def _counts(findings: Sequence[Finding]) -> str:
    """Count the findings by severity."""
    counts = Counter(finding.severity for finding in findings)
    words = [
        counted(counts[severity], COUNTED[severity])
        for severity in SEVERITIES
        if counts[severity]
    ]
    return ", ".join(words) or "Nothing found"


def _signal(view: View) -> str:
    """Say how many groups have a signal."""
    prefix = f"[{view.part}] " if view.part else ""
    if not view.several:
        return (
            f"{prefix}No group has two completions with a reward, so there is no "
            "advantage."
        )
    live = percent(1 - int(view.dead.sum()) / view.several)
    verb = "has" if view.several == 1 else "have"
    return f"{prefix}{live} of {counted(view.several, 'group')} {verb} a signal."


def _folded_findings(word: str, findings: Sequence[Finding]) -> More:
    points: list[Block] = [point_of(finding) for finding in findings[:MOST_FOLDED]]
    hidden = len(findings) - len(points)
    if hidden:
        points.append(f"and {hidden} more in diagnosis.findings")
    return More(counted(len(findings), word), points)


def _components(view: View) -> Table:
    """Return the table of weights, declared and effective."""
    rows = []
    for name in view.names:
        weight = f"{view.components[name].weight:g}"
        declared = percent(view.declared_weights[name])
        effective = percent(view.effective_weights.get(name, math.nan))
        influence = percent(view.sign_influence[name])
        rows.append((name, weight, declared, effective, influence))
    header = (
        "component",
        "weight",
        "declared share",
        "share of the advantage",
        "signs that change without it",
    )
    subject = f"Components of {view.part}" if view.part else "Components"
    caption = f"{subject}: weights declared and effective"
    return Table(caption, header, rows, header[1:], len(rows) <= OPEN, most=len(rows))
