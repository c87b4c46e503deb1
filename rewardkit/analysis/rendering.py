"""How a diagnosis looks: a few lines for a terminal, and a short page of escaped HTML for a notebook."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewardkit.analysis.view import View
from rewardkit.findings import SEVERITIES, SEVERITY_MARKS, Finding, counted, percent
from rewardkit.html.excerpts import one_line
from rewardkit.html.markup import card, escaped, folded, listed, table

if TYPE_CHECKING:
    from rewardkit.analysis.diagnosis import Diagnosis

__all__ = ["diagnosis_text", "named", "page", "wrapped"]

FULL = 3
"""Findings that are told in full; the others are named."""
SHOWN = 12
"""Findings of a page; the others are counted."""
LONGEST = 800
"""Characters of a sentence, which may quote what a completion made a component say."""
OPEN = 8
"""Components up to which their table is open."""
WIDTH, INDENT = 110, 7 * " "  # of a line in a terminal, and below the mark of a severity
READY = {"high": "not ready", "warn": "usable", "info": "fine", None: "fine"}
COUNTED = {"high": "grave finding", "warn": "warning", "info": "note"}


def wrapped(text: str, indent: str = INDENT) -> str:
    """A paragraph for a terminal, its further lines indented."""
    return textwrap.fill(one_line(text, LONGEST), WIDTH, subsequent_indent=indent)


def _verdict(diagnosis: Diagnosis) -> str:
    """Whether the reward is ready, what was found, and on what."""
    counts = Counter(item.severity for item in diagnosis.findings)
    found = ", ".join(counted(counts[name], COUNTED[name]) for name in SEVERITIES if counts[name])
    ready = READY[diagnosis.worst]
    if ready == "fine" and any(item.code == "not_enough" for item in diagnosis.findings):
        ready = "cannot be judged yet"
    return f"{one_line(diagnosis.scores.reward.name)}: {ready}. {found or 'Nothing found'}."


def _signal(view: View) -> str:
    """How many groups have a signal."""
    where = f"[{view.part}] " if view.part else ""
    if not view.several:
        return f"{where}No group has two completions with a reward, so there is no advantage."
    live, have = 1 - int(view.dead.sum()) / view.several, "has" if view.several == 1 else "have"
    return f"{where}{percent(live)} of {counted(view.several, 'group')} {have} a signal."


def named(codes: Sequence[str]) -> str:
    """Codes and how often each."""
    return ", ".join(code if count == 1 else f"{code} ({count})" for code, count in Counter(codes).items())


def diagnosis_text(diagnosis: Diagnosis, *, verbose: bool) -> str:
    """The verdict and the findings that matter most, or all."""
    views, rows = diagnosis.views, f"{counted(len(diagnosis.scores), 'rollout')}, {diagnosis.training}."
    lines = [_verdict(diagnosis), wrapped(" ".join([rows, *map(_signal, views[:FULL])]), "")]
    alarms = [item for item in diagnosis.findings if item.severity != "info"]
    shown = diagnosis.findings if verbose else alarms[:FULL]
    lines += [wrapped(f"{SEVERITY_MARKS[item.severity]} {item.code}: {item.sentence}") for item in shown]
    left = [item for item in diagnosis.findings if item not in shown]
    if left:
        lines += [wrapped(f"Also: {named([item.code for item in left])}. All: diagnosis.text(verbose=True).")]
    return "\n".join(lines)


def page(diagnosis: Diagnosis) -> str:
    """What was found, how many groups have a signal, and, folded, what is only information and components.

    It has no colours of its own, so that it reads on a light and on a dark page.
    """
    weighty = [item for item in diagnosis.findings if item.severity != "info"]
    minor = [item for item in diagnosis.findings if item.severity == "info"]
    more = weighty[FULL:]
    said = f"{counted(len(diagnosis.scores), 'rollout')}, {diagnosis.training}"
    parts = [
        *(f"<p>{escaped(_signal(view))}</p>" for view in diagnosis.views),
        _findings(weighty[:FULL]),
        folded(counted(len(more), "more warning"), _findings(more)) if more else "",
        folded(counted(len(minor), "note"), _list(minor)) if minor else "",
        *(_components(view) for view in diagnosis.views),
        "<p><code>rk.suggest(diagnosis)</code> says what to change, "
        "<code>rk.forecast(scores)</code> what this reward selects for.</p>",
    ]
    return card(f"Diagnosis of {_verdict(diagnosis)}", "".join(parts), said=said)


def _findings(findings: Sequence[Finding]) -> str:
    rows = [(SEVERITY_MARKS[item.severity], item.code, item.sentence) for item in findings]
    header = ("severity", "finding", "what it does, and what to do")
    return table(header, rows, limit=LONGEST, most=SHOWN) if rows else ""


def _list(findings: Sequence[Finding]) -> str:
    lines = (f"{escaped(item.code)}: {escaped(item.sentence, limit=LONGEST)}" for item in findings[:SHOWN])
    left = len(findings) - SHOWN
    return listed(lines) + (f"<p>and {left} more</p>" if left > 0 else "")


def _components(view: View) -> str:
    """Declared weight beside what each component holds of the squared advantage, and turns of its signs."""
    held, turns = view.effective_weights, view.sign_influence
    rows = [
        (
            name,
            f"{view.components[name].weight:g}",
            percent(view.declared_weights[name]),
            percent(held.get(name, math.nan)),
            percent(turns[name]),
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
    body = table(header, rows, numeric=header[1:])
    return folded(f"{what}: weights declared and effective", body, is_open=len(rows) <= OPEN)
