"""What findings of probes say: a short claim, the number, and what it means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.findings import PROBED, Finding, counted, percent

__all__ = ["LONGEST", "SAYINGS", "components_at_fault", "most"]

LONGEST = 40_000
"""Characters that a completion may well have: some ten thousand tokens. A hang on more is for information."""

CLAIMS = {
    # families
    "nothing_there": "No answer is needed.",
    "shotgun": "Listing answers pays.",
    "near_misses": "Wrong answers pass.",
    "special_values": "A special value passes.",
    "look_alikes": "A look-alike passes.",
    "padding": "Padding pays.",
    "judge": "Talking to the judge pays.",
    # single strategies
    "prompt_echo": "Copying the prompt pays.",
    "copied_from_prompt": "Copying the prompt pays.",
    "example_echo": "Copying the prompt's example pays.",
    "usual_answer": "A stock answer pays.",
    "mentioned": "Mentioning the answer pays.",
    "negated": "Denying the answer pays.",
    "retracted": "A withdrawn answer pays.",
}
"""What it means that a strategy is paid, by code, else by family."""

SAYINGS = {
    # kinds
    "pays": "{claim} {Says} {earned} {on}.",
    "loses": "A right answer loses. There was no credit for {says} {on}.",
    "fooled": "Fake marks pass. {Says} earned what real ones do {on}: {gain} of full marks.",
    "more": "Length pays without end. Each longer text around the right answer earned more {on}; the longest "
    "added {gain} of what being right adds.",
    "contract": "{who}{says}.",
    # single codes
    "loses_layout": "Right answers lose by their layout. There was no credit with {lost}; {kept} of "
    "{layouts} harmless layouts are accepted.",
    "strict": "Strict layout, which is fine where the prompt asks for it. {kept} of {layouts} harmless "
    "layouts are accepted; there was no credit with {lost}.",
    "loses_notation": "Strict notation. There was no credit for {lost}.{unpaid}",
    "leakage": "Form pays. A well-formed wrong answer earned {gain} of full marks ({wrong:.4g}; a right one "
    "{right:.4g}, nothing {floor:.4g}).{paid}",
    "flat_credit": "Any text pays. A refusal and noise earned {gain} of full marks {on}.",
    "wrong_paid": "Some wrong answers pass. One earned full marks {on}, for the truths {truths}.",
    "right_unpaid": "Some right answers lose. There was no credit {on}, for the truths {truths}.",
    "exploit": "A search found an exploit. {Says} closed {gain} of the gap to the right answer, and worked "
    "{on} more.",
    "open_gate": "Its gate is open. A wrong answer passed the gate on {gate!r} {on} and earned {gain} of "
    "full marks there.",
    "constant": "Always {value:g}. {many} scored completions earned it, {alike}: it teaches nothing.",
    "ignores_truth": "Ignores the ground truth. Right and wrong answers earned the same in all formats "
    "({tried:,} completions tried).",
    "inverted": "Upside down. Wrong answers earned more than right ones in all formats ({tried:,} "
    "completions tried).",
    "always_errors": "Fails on everything. {many} completions raised an error: {reason}.",
    "always_abstains": "Scores nothing. {many} completions got no score: {reason}.",
    "always_late": "Too slow to score anything. {many} completions took too long: {reason}.",
    "raises": "Crashes. {many} completions raised an error: {reason}.",
    "dies": "Kills its process. {many} completions ended it: {reason}.",
    "out_of_range": "Leaves its range. {many} completions got a score outside the declared one: {reason}.",
    "not_finite": "NaN or infinity. {many} completions got a score that is not finite: {reason}.",
    "wrong_type": "Not a number. {many} completions got something else: {reason}.",
    "wrong_length": "Wrong number of scores. {many} completions stood in a batch that got more or fewer: "
    "{reason}.",
    "hang": "Hangs. There was no score within {seconds:g} s for {what}.{stops}",
}
"""Code, or the ``kind`` of the evidence -> what a finding says, to be filled with its evidence."""


def _said(finding: Finding) -> str:
    template = SAYINGS.get(finding.code) or SAYINGS[str(finding.evidence["kind"])]
    return template.format_map(_phrases(finding))


def _phrases(finding: Finding) -> dict[str, Any]:
    """The evidence of a finding, and the phrases that are made of it."""
    e = finding.evidence
    says = str(e.get("says", "")).rstrip(".")
    found, tried = int(e.get("found", e.get("tried", 1))), int(e.get("tried", finding.n))
    others = "whatever was written"
    if e.get("unjudged"):
        others = f"{e['unjudged']:,} others got none"
    rollouts = counted(e.get("rollouts", 0), "right rollout")
    component = "component" if finding.component else "reward"
    return {
        **e,
        "claim": CLAIMS.get(finding.code) or CLAIMS.get(finding.family, ""),
        "Says": f"{says[:1].upper()}{says[1:]}",
        "says": says,
        "who": "" if says[:1].isupper() else f"The {component} ",
        "gain": percent(e.get("gain", math.nan)),
        "earned": _earned(e),
        "on": f"on {found} of {counted(tried, 'prompt')}",
        "many": f"All {tried:,}" if found == tried else f"{found:,} of {tried:,}",
        "gate": e.get("on"),
        "alike": others,
        "paid": f" It comes from {e['paid_by']}." if e.get("paid_by") else "",
        "unpaid": f" {rollouts} went unpaid: {e['unpaid']}." if e.get("rollouts") else "",
        "stops": "" if e.get("length", 0) > LONGEST else " One such completion stops the training.",
    }


def _earned(e: Mapping[str, Any]) -> str:
    """What a strategy earned against what being right earns; where it holds the answer, written properly."""
    best = "the right answer" if e.get("truth", True) else "the best rollout"
    if e.get("knows") in ("known", "mark"):
        best = "a proper answer"
    gain = e.get("gain", 0.0)
    if gain < 0.95:
        return f"closed {percent(gain)} of the gap to {best}"
    return f"beat {best}" if gain > 1.05 else f"earned as much as {best}"


PROBED |= dict.fromkeys(SAYINGS, _said)


def components_at_fault(
    weights: Mapping[str, float], scores: Mapping[str, float], before: Mapping[str, float]
) -> list[tuple[str, float]]:
    """Components by how much of a change in reward they make, the largest first."""
    changes: dict[str, float] = {}
    for name, weight in weights.items():
        new, old = scores.get(name, math.nan), before.get(name, math.nan)
        change = weight * ((0.0 if math.isnan(new) else new) - (0.0 if math.isnan(old) else old))
        if abs(change) > 1e-9:
            changes[name] = change
    return sorted(changes.items(), key=lambda item: -abs(item[1]))


def most(items: Sequence[str], shown: int = 4) -> str:
    """Names as a person reads them, the first few."""
    more = f" and {len(items) - shown} more" if len(items) > shown else ""
    return ", ".join(items[:shown]) + more
