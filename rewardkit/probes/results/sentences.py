"""What findings of probes say: "probe:" and code or kind -> the sentence behind its component."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardkit.findings import SENTENCES, percent

__all__ = ["LONGEST", "components_at_fault", "most"]

LONGEST = 40_000
"""Characters that a completion may well have: some ten thousand tokens. A hang on more is for information."""


def _rate(e: Mapping[str, Any]) -> str:
    low, high = e["interval"]
    return f"{e['found']} of {e['tried']} prompts ({percent(low)} to {percent(high)})"


def _gain(value: float) -> str:
    return f"{percent(value)} of" if value < 10 else f"{value:.0f} times"


def _adds(e: Mapping[str, Any]) -> str:
    return (
        "what being right adds"
        if e.get("truth", True)
        else "what lies between the least and the best rollout"
    )


def _also(e: Mapping[str, Any]) -> str:
    return f"; the same cause: {', '.join(e['also'])}" if e.get("also") else ""


_KINDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "pays": lambda e: f"pays {e['says']}: in {_rate(e)} it earns {_gain(e['gain'])} {_adds(e)}{_also(e)}",
    "loses": lambda e: f"does not pay {e['says']}: a right answer loses in {_rate(e)}{_also(e)}",
    "fooled": lambda e: (
        f"pays {e['says']} as it pays the form: {percent(e['gain'])} of the ceiling in {_rate(e)}{_also(e)}"
    ),
    "more": lambda e: (
        f"pays {e['says']}: in {_rate(e)} the longest text adds {percent(e['gain'])} of what being right "
        f"adds, and no end of it is in sight{_also(e)}"
    ),
    "forms": lambda e: (
        f"is lenient but loses right answers in some layouts: {e['lost']}; of {e['layouts']} harmless "
        f"layouts {e['kept']} are accepted"
    ),
    "strict": lambda e: (
        f"accepts the answer in one layout only ({e['kept']} of {e['layouts']} harmless ones): fine where "
        f"the prompt asks for just that; lost: {e['lost']}"
    ),
    "notations": lambda e: (
        f"does not take these notations of a right answer: {e['lost']}"
        + (f"; so state it, unpaid, {e['rollouts']} of the rollouts: {e['unpaid']}" if e["rollouts"] else "")
    ),
    "leakage": lambda e: (
        f"pays a wrong answer in good form {percent(e['gain'])} of what there is to earn"
        + (
            ""
            if percent(e["most"]) == percent(e["gain"])
            else f" on average, {percent(e['most'])} at the most"
        )
        + f" ({e['wrong']:.4g} of {e['right']:.4g}, nothing being {e['floor']:.4g})"
        + (f": {e['paid_by']}" if e.get("paid_by") else "")
    ),
    "flat_credit": lambda e: (
        f"pays any text {percent(e['gain'])} of full marks: unrelated texts, a refusal and noise earn it "
        f"alike in {_rate(e)}"
    ),
    "wrong_paid": lambda e: (
        f"pays a wrong answer as the right one in {_rate(e)}, where it tells them apart in the others: those "
        f"with the truths {e['truths']}"
    ),
    "right_unpaid": lambda e: (
        f"does not pay the right answer in {_rate(e)}, where it does in the others: those with the truths "
        f"{e['truths']}"
    ),
    "exploit": lambda e: (
        f"pays {e['says']}: found by search among {e['calls']} completions, it is wrong for certain and "
        f"earns {percent(e['gain'])} of what being right adds, in {e['found']} of {e['tried']} other prompts "
        "too"
    ),
    "open_gate": lambda e: (
        f"is behind a gate on {e['on']!r} that is open for wrong answers too: in {e['found']} of "
        f"{e['tried']} prompts it pays one {percent(e['gain'])} of what there is to earn"
    ),
    "constant": lambda e: (
        f"is {e['value']:g} for all {e['tried']} completions that were judged, "
        + (
            f"and gives no reward for {e['unjudged']} others: "
            if e.get("unjudged")
            else "right, wrong and empty alike: "
        )
        + "it teaches nothing (where answers have a form that no rollout shows, a case with one would tell)"
    ),
    "ignores_truth": lambda e: (
        "asks for the truth and does not heed it: right and wrong answers earn the same in every format that "
        f"was tried ({e['tried']} completions), and so do rollouts held against another prompt's truth"
    ),
    "ignores_completion": lambda e: (
        f"does not read the completion: whatever was written to a prompt earns the same ({e['tried']} "
        "completions, the empty one among them)"
    ),
    "inverted": lambda e: (
        f"pays wrong answers more than right ones in every format that was tried ({e['tried']} "
        "completions): a distance or a loss has to be turned round"
    ),
    "always": lambda e: f"{e['what']} on each of {e['tried']} completions: {e['reason']}",
    "raises": lambda e: f"fails on {e['found']} of {e['tried']} completions that were tried: {e['reason']}",
    "contract": lambda e: str(e["says"]),
    "hang": lambda e: (
        f"does not come back within {e['seconds']:g} s on {e['what']}"
        + ("" if e.get("length", 0) > LONGEST else ": one such completion stops the training")
    ),
}

_CODES = {
    "loses_layout": "forms",
    "strict": "strict",
    "loses_notation": "notations",
    "leakage": "leakage",
    "exploit": "exploit",
    "flat_credit": "flat_credit",
    "open_gate": "open_gate",
    "wrong_paid": "wrong_paid",
    "right_unpaid": "right_unpaid",
    "constant": "constant",
    "ignores_truth": "ignores_truth",
    "inverted": "inverted",
    "ignores_completion": "ignores_completion",
    "always_errors": "always",
    "always_abstains": "always",
    "always_late": "always",
    "raises": "raises",
    "hang": "hang",
}

SENTENCES |= {f"probe:{kind}": says for kind, says in _KINDS.items()}
SENTENCES |= {f"probe:{code}": _KINDS[kind] for code, kind in _CODES.items()}


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
