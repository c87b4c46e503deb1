"""Mutants as escaped HTML: what no case notices, and the cases that would."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rewardkit.findings import counted
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line, shown
from rewardkit.notebook.redaction import redacted_reason
from rewardkit.probes.mutants.results import Judged, MutantResult

__all__ = ["page"]

SURVIVORS = 8  # that are open
ADDED = (
    "When they are read: `rewardkit check ... --mutants --write-cases FILE` adds them to a case file; in a "
    "notebook the result's `write_cases`."
)


def page(found: MutantResult, *, redact: bool) -> str:
    """The changes that no case notices, where each shows most, and the cases that would notice them."""
    if found.stopped:
        cause = redacted_reason(found.cause) if redact and found.cause else found.cause
        why = found.stopped + (f" ({cause})" if cause else "")
        return markup.paragraphs(one_line(f"{why[:1].upper()}{why[1:]}", 600) + ".")
    parts: list[str] = []
    for survived in (found.survived[:SURVIVORS], found.survived[SURVIVORS:]):
        if survived:
            table = _survivors(survived, found.rollouts, redact=redact)
            parts.append(markup.folded(f"and {len(survived)} more", table) if parts else table)
    if same := len(found.not_told_apart):
        gives, does = ("gives", "does") if same == 1 else ("give", "do")
        them = "the cases" + (f" and {counted(found.rollouts, 'rollout')}" if found.rollouts else "")
        parts.append(
            markup.paragraphs(f"{same} {gives} the same reward for all of {them} and {does} not count.")
        )
    if found.not_tried:
        rows = [(item.mutant.sentence, item.reason) for item in found.not_tried]
        body = markup.table(("what was to be changed", "why it was not tried"), rows, stacked=True)
        were = "was" if len(rows) == 1 else "were"
        parts.append(markup.folded(f"{len(rows)} {were} not tried and do not count", body))
    next_step = _proposed(found, redact=redact)
    parts = [next_step, *parts] if found.missed else [*parts, next_step]
    return "".join(parts) + markup.paragraphs(*(f"Left out: {one_line(line)}" for line in found.left_out))


def _survivors(judged: Sequence[Judged], rollouts: int, *, redact: bool) -> str:
    header = (
        "what was changed",
        "code",
        "rollouts that differ",
        "most on",
        "reward → mutant's",
        "completion",
    )
    rows = []
    for item in judged:
        code = f"{one_line(item.mutant.before, 120)} → {one_line(item.mutant.after, 120)}"
        differs = f"{item.differs:,} of {rollouts:,}" if rollouts else ""
        most = ["", "", ""]
        for first in item.differences[:1]:
            place = f"case {first.case}" if first.case else f"rollout {first.rollout_id}"
            text = one_line(shown(first.completion, longest=160).text)
            most = [one_line(place), first.rewards, text]
        rows.append([item.mutant.sentence, code, item.reason or differs, *most])
    told = len(header) - redact
    return markup.table(header[:told], [row[:told] for row in rows], stacked=True)


def _proposed(found: MutantResult, *, redact: bool) -> str:
    if not found.next_step:
        return ""
    head = f"<p><b>Next:</b> {markup.escaped(found.next_step)}.</p>"
    if not found.proposed_cases or redact:
        return head
    lines = "\n".join(json.dumps(case, ensure_ascii=False, default=str) for case in found.proposed_cases)
    return head + markup.folded("proposed cases", markup.code(lines) + markup.paragraphs(ADDED))
