"""Mutants as escaped HTML: what no case notices, and the cases that would."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.findings import counted
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line, shown
from rewardkit.notebook.redaction import redacted_reason
from rewardkit.probes.mutants.results import Judged, MutantResult
from rewardkit.rollouts.package_data import GALLERY

__all__ = ["page", "trying_again"]

SURVIVORS = 8  # that are open


def page(found: MutantResult, *, redact: bool, again: str = "") -> str:
    """The changes that no case notices, where each shows most, and the cases that would notice them.

    `again` is code that makes the same result anew, as `trying_again` writes it.
    """
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
    next_step = _proposed(found, redact=redact, again=again)
    parts = [next_step, *parts] if found.missed else [*parts, next_step]
    return "".join(parts) + markup.paragraphs(*(f"Left out: {one_line(line)}" for line in found.left_out))


def trying_again(
    reward: str, rollouts: str, cases: str, reading: Mapping[str, Any], *, as_: str = "", **options: Any
) -> str:
    """Code that tries the mutants of a check anew and adds the proposed cases to its case file.

    `reading` is how `load_rollouts` was called and `options` how `mutants` was, beside what is None or empty;
    proposed cases do not go to the bundled ones, but to a file of their own.
    """
    path = "proposed_cases.jsonl" if cases.startswith(GALLERY) else cases
    read = _keywords(rollouts, reading if reading.get("join") else {**reading, "on": None})
    logged = (
        f"rollouts = rk.load_rollouts({read})"
        if rollouts
        else f"rollouts = [case.columns for case in rk.load_cases({cases!r})]"
    )
    loaded = "reward = rk.load_reward(" + _keywords(reward, {"as_": as_}) + ", rollouts=rollouts)"
    given = ["reward", repr(cases), *(["rollouts"] if rollouts else [])]
    given += [f"{name}={value!r}" for name, value in options.items() if value not in (None, [], "")]
    tried = f"rk.mutants({', '.join(given)})"
    return "\n".join(("import rewardkit as rk", logged, loaded, f"{tried}.write_cases({path!r})"))


def _keywords(first: str, options: Mapping[str, Any]) -> str:
    said = [f"{name}={value!r}" for name, value in options.items() if value not in (None, {}, [], "")]
    return ", ".join([repr(first), *said])


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


def _proposed(found: MutantResult, *, redact: bool, again: str) -> str:
    if not found.next_step:
        return ""
    head = f"<p><b>Next:</b> {markup.escaped(found.next_step)}.</p>"
    if not found.proposed_cases or redact:
        return head
    lines = "\n".join(json.dumps(case, ensure_ascii=False, default=str) for case in found.proposed_cases)
    head += markup.folded("proposed cases", markup.code(lines))
    return head + (markup.paragraphs("To add them all, when they are read:") + markup.code(again)) * bool(
        again
    )
