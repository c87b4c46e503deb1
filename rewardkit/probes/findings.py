"""Findings of probes: one a cause, with its rate, its clearest examples, a snippet and the case to add."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.analysis.findings import percent

__all__ = ["LONGEST", "Example", "ProbeFinding", "as_code"]


@dataclass(frozen=True)
class Example:
    """A completion that shows a finding: the columns it was tried with, what it earned and should have.

    `expected` is a range of rewards, or ``None`` where it only has to come back. `right` and `wrong` are what
    a right and a wrong answer earn there.
    """

    rollout_id: Any
    columns: Mapping[str, Any]
    reward: float
    expected: tuple[float, float] | None
    right: float = math.nan
    wrong: float = math.nan
    probe: str = ""
    said: str = ""
    """What came instead of a reward: the error, or that it took too long."""
    of_rollouts: bool = False
    """Whether `right` and `wrong` are what the best and the least paid rollout earn, as there is no truth."""

    @property
    def completion(self) -> str:
        """The completion that was tried."""
        return str(self.columns.get("completion"))

    @property
    def scale(self) -> str:
        """What right and wrong earn, in words; empty where nothing is held against them."""
        if math.isnan(self.right):
            return ""
        best, least = (
            ("the best rollout", "the least") if self.of_rollouts else ("a right answer", "a wrong one")
        )
        return f"{best} earns {self.right:.6g}, {least} {self.wrong:.6g}"

    @property
    def snippet(self) -> str:
        """Lines of Python that show it; `reward` is the reward that was probed."""
        arguments = ", ".join(f"{name}={as_code(value)}" for name, value in self.columns.items())
        got = self.said or f"{self.reward:.6g}"
        told = f"; {self.scale}" if self.scale else ""
        return f"reward({arguments}).reward  # {got}{told}"

    def case(self, why: str) -> dict[str, Any] | None:
        """The case to add to a case file; ``None`` where no reward can be expected of it."""
        if self.expected is None:
            return None
        low, high = (round(value, 6) for value in self.expected)
        return {
            "name": f"{self.probe} ({self.rollout_id})",
            **self.columns,
            "reward": [low, high],
            "why": why,
        }

    def record(self) -> dict[str, Any]:
        """The example as plain data."""
        return {
            "rollout_id": self.rollout_id,
            "columns": {name: _cut(value) for name, value in self.columns.items()},
            "reward": self.reward,
            "expected": list(self.expected) if self.expected else None,
            "right": self.right,
            "wrong": self.wrong,
            "probe": self.probe,
            "said": self.said,
            "snippet": self.snippet,
        }


@dataclass(frozen=True)
class ProbeFinding:
    """A hole, a loss or a broken contract: one cause, however many probes met it.

    `code` is the probe that shows it most plainly, or what was found; `family` its family. `evidence` holds
    the numbers: `value` is the rate with its 95 % `interval` (Wilson) over `n` prompts or calls, `gain` the
    share of full marks, `also` the other probes of the same cause. `accepted` says why it is known and
    accepted, where a baseline says so.
    """

    code: str
    family: str
    severity: str
    component: str | None
    evidence: Mapping[str, Any]
    n: int
    threshold: float | None = None
    examples: tuple[Example, ...] = ()
    part: str = ""
    accepted: str = ""

    @property
    def rollout_ids(self) -> tuple[Any, ...]:
        """The rollouts that the examples were made from."""
        return tuple(dict.fromkeys(item.rollout_id for item in self.examples))

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        kind = KINDS.get(self.code, self.evidence.get("kind", ""))
        text = (
            SENTENCES[kind](self.evidence) if kind in SENTENCES else str(self.evidence.get("says", self.code))
        )
        who = f"component {self.component!r}" if self.component else "the reward"
        text = f"{who} {text}"
        if self.part:
            text = f"[{self.part}] {text}"
        return text[0].upper() + text[1:]

    @property
    def key(self) -> str:
        """What a baseline knows it by: code, component, part, and what tells it from others of its code.

        That is what an exploit is made of, and of which type an error is: no number that a seed changes.
        """
        return "/".join(filter(None, (self.code, self.component, self.part, self._which)))

    @property
    def _which(self) -> str:
        if self.code == "exploit":
            return str(self.evidence.get("says", ""))
        if self.code not in ("raises", "always_errors"):
            return ""
        reason = str(self.evidence.get("reason", ""))
        found = re.match(r"(?:field '\w{1,200}' failed: |its gate failed: )*(\w{1,200})(?=:|$)", reason)
        return found[1] if found else ""

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The cases to add to a case file."""
        made = [item.case(f"found by probing: {self.sentence}") for item in self.examples]
        return [case for case in made if case is not None]

    def record(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "code": self.code,
            "family": self.family,
            "severity": self.severity,
            "component": self.component,
            "part": self.part,
            "sentence": self.sentence,
            "evidence": dict(self.evidence),
            "n": self.n,
            "threshold": self.threshold,
            "rollout_ids": list(self.rollout_ids),
            "examples": [item.record() for item in self.examples],
            "cases": self.cases,
            "accepted": self.accepted,
        }


def as_code(value: Any, longest: int = 400) -> str:
    """A value as Python writes it, whole; a long text by what repeats in it.

    >>> as_code("a" * 30000 + "!", longest=100)
    "'a' * 30000 + '!'"
    """
    if not isinstance(value, str) or len(value) <= longest:
        return repr(value)
    pieces: list[str] = []
    rest, plain = value, ""
    for _ in range(12):
        found = re.search(r"(.{1,12}?)\1{19,}", rest, re.DOTALL)
        if not found:
            break
        plain, unit = rest[: found.start()], found[1]
        pieces += [repr(plain)] * bool(plain) + [f"{unit!r} * {len(found[0]) // len(unit)}"]
        rest = rest[found.end() :]
    return " + ".join([*pieces, *([repr(rest)] if rest else [])])


def _cut(value: Any, longest: int = 6000) -> Any:
    """A value as a record holds it: of a very long text, which the snippet writes, only the beginning."""
    if not isinstance(value, str) or len(value) <= longest:
        return value
    return f"{value[:longest]}... ({len(value) - longest} more characters)"


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


SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
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

KINDS = {
    "loses_layout": "forms",
    "strict": "strict",
    "loses_notation": "notations",
    "leakage": "leakage",
    "exploit": "exploit",
    "open_gate": "open_gate",
    "wrong_paid": "wrong_paid",
    "right_unpaid": "right_unpaid",
    "constant": "constant",
    "ignores_truth": "ignores_truth",
    "inverted": "inverted",
    "always_errors": "always",
    "always_abstains": "always",
    "always_late": "always",
    "raises": "raises",
    "hang": "hang",
}


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
