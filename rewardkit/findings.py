"""Finding: one thing a person should know about a reward, as numbers; and the sentence that says it.

Diagnosis and probes report in it. What a code says stands in the room that finds it, which adds its sentences
to `SENTENCES` (of a diagnosis) or `PROBED` (of probes).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

SEVERITIES = ("high", "warn", "info")
SEVERITY_MARKS = {"high": "\u25cf high", "warn": "\u25b2 warn", "info": "\u25cb info"}
"""Shapes say it without colour."""

NAMED = 3
"""Components that a sentence names."""
BY_PROBING = "found by probing"
"""What the `why` of a case begins with that a probe wrote."""

Says = Callable[[str, Mapping[str, Any]], str]

SENTENCES: dict[str, tuple[Says, Says]] = {}
"""Code of a diagnosis -> what is said of whom by its evidence, and what to do about it."""

PROBED: dict[str, Callable[[Finding], str]] = {}
"""Code of a probe's finding, or the ``kind`` of its evidence -> its sentences, without its component."""


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
        best, least = ("a right answer", "a wrong one")
        if self.of_rollouts:
            best, least = ("the best rollout", "the least")
        return f"{best} earns {self.right:.6g}, {least} {self.wrong:.6g}"

    @property
    def snippet(self) -> str:
        """Lines of Python that show it; `reward` is the reward that was probed."""
        arguments = ", ".join(
            f"{name}={as_code(value)}" for name, value in self.columns.items()
        )
        scale = f"; {self.scale}" if self.scale else ""
        return (
            f"reward({arguments}).reward  # {self.said or f'{self.reward:.6g}'}{scale}"
        )

    def case(self, why: str) -> dict[str, Any] | None:
        """The case to add to a case file; ``None`` where no reward can be expected of it."""
        if self.expected is None:
            return None
        reward = [round(value, 6) for value in self.expected]
        name = f"{self.probe} ({self.rollout_id})"
        scale = f" Here {self.scale}." if self.scale else ""
        return {
            "name": name,
            **self.columns,
            "reward": reward,
            "why": f"{BY_PROBING}: {why}{scale}",
        }

    def record(self) -> dict[str, Any]:
        """The example as plain data."""
        plain = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.name != "of_rollouts"
        }
        plain["columns"] = {name: _cut(value) for name, value in self.columns.items()}
        plain["expected"] = list(self.expected) if self.expected else None
        return {**plain, "snippet": self.snippet}


@dataclass(frozen=True)
class Finding:
    """What was found.

    `component` is None for the reward as a whole; `part` the data source it is about ("" for all rows).
    `evidence` holds the numbers: the measured `value` with its 95 % `interval` where it has one, and what
    else the sentence needs; with `inconclusive` the interval reaches across the threshold, and `n_needed` is
    about how many prompts would decide. `n` is what the value was measured on. `rollout_ids` are rows worth
    reading, `suggestions` the codes that answer it.

    Of a probe: its `family`, the `examples` that show it most plainly, and why it is `accepted`, where a
    baseline says so; `evidence` has the other probes of the same cause under `also`.
    """

    code: str
    severity: str
    component: str | None
    evidence: Mapping[str, Any]
    n: int
    threshold: float | None = None
    rollout_ids: tuple[Any, ...] = ()
    suggestions: tuple[str, ...] = ()
    part: str = ""
    family: str = ""
    examples: tuple[Example, ...] = ()
    accepted: str = ""

    def __post_init__(self) -> None:
        if self.examples:
            ids = dict.fromkeys(item.rollout_id for item in self.examples)
            object.__setattr__(self, "rollout_ids", tuple(ids))

    @property
    def sentence(self) -> str:
        """What was found and what it does to training: a sentence; of a probe two or three short ones."""
        return " ".join(filter(None, (self.said, self.advice)))

    @property
    def said(self) -> str:
        """The sentence without what to do about it."""
        if self.family:
            return self._probed
        if self.code not in SENTENCES:
            return str(self.evidence.get("says", self.code))
        said = SENTENCES[self.code][0](self._who, self.evidence)
        return f"Where {self.part}, {said[:1].lower()}{said[1:]}" if self.part else said

    @property
    def advice(self) -> str:
        """What to do about it, or what would decide; of a probe its room says that."""
        if self.family or self.code not in SENTENCES:
            return ""
        return self._inconclusive or SENTENCES[self.code][1](self._who, self.evidence)

    @property
    def _who(self) -> str:
        return f"Component {self.component!r}" if self.component else "The reward"

    @property
    def _probed(self) -> str:
        """The sentences of a probe's finding; behind them which component and data source it is about."""
        says = PROBED.get(self.code) or PROBED[str(self.evidence["kind"])]
        names = self.evidence.get("components") or [*filter(None, [self.component])]
        who = "Components" if len(names) > 1 else "Component"
        about = [(who, most(names, NAMED)), ("Data source", self.part)]
        return " ".join(
            [says(self), *(f"{name}: {value}." for name, value in about if value)]
        )

    @property
    def _inconclusive(self) -> str:
        """That the numbers do not decide, and how many would; empty where they do."""
        if not self.evidence.get("inconclusive"):
            return ""
        if few := self.evidence.get("too_few"):
            return f"Inconclusive: {counted(few, 'group')} {'is' if few == 1 else 'are'} too few for a verdict."
        if needed := self.evidence.get("n_needed"):
            return f"Inconclusive: too few prompts (about {float(f'{needed:.2g}'):,.0f} needed in all)."
        return (
            f"Inconclusive: the interval includes the threshold of {self.threshold:g}."
        )

    @property
    def order(self) -> tuple[int, float]:
        """What findings are sorted by, the worst first: severity, then risk, or what it costs."""
        worth = self.evidence.get("risk", self.evidence.get("cost", 0.0))
        return SEVERITIES.index(self.severity), -float(worth)

    @property
    def key(self) -> str:
        """What a baseline knows it by: code, component, part, and what tells it from others of its code.

        That is what an exploit is made of, and of which type an error is: no number that a seed changes.
        """
        return "/".join(
            filter(None, (self.code, self.component, self.part, self._which))
        )

    @property
    def _which(self) -> str:
        if self.code == "exploit":
            return str(self.evidence.get("says", ""))
        if self.code not in ("raises", "always_errors"):
            return ""
        reason = str(self.evidence.get("reason", ""))
        found = re.match(
            r"(?:field '\w{1,200}' failed: |its gate failed: )*(\w{1,200})(?=:|$)",
            reason,
        )
        return found[1] if found else ""

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The cases to add to a case file."""
        return [
            case
            for item in self.examples
            if (case := item.case(self.sentence)) is not None
        ]

    def record(self) -> dict[str, Any]:
        """The finding as plain data."""
        names = (
            "code",
            "severity",
            "component",
            "part",
            "sentence",
            "evidence",
            "n",
            "threshold",
        )
        common = {name: getattr(self, name) for name in names}
        common |= {
            "evidence": dict(self.evidence),
            "rollout_ids": list(self.rollout_ids),
        }
        if not self.family:
            return {**common, "suggestions": list(self.suggestions)}
        examples = [item.record() for item in self.examples]
        own = {
            "family": self.family,
            "examples": examples,
            "cases": self.cases,
            "accepted": self.accepted,
        }
        return {**common, **own}


def most(items: Sequence[str], shown: int = 4) -> str:
    """Names as a person reads them, the first few."""
    more = f" and {len(items) - shown} more" if len(items) > shown else ""
    return ", ".join(items[:shown]) + more


def counted(number: int, what: str) -> str:
    """A number of things as a person reads it.

    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def percent(share: float) -> str:
    """A share as a person reads it: 0.1712 -> 17 %, 0.0012 -> 0.1 %."""
    if math.isnan(share):
        return "-"
    shown = 100 * share
    if abs(shown) < 0.05:
        return "0 %" if abs(shown) < 1e-9 else "under 0.1 %"
    return f"{shown:.0f} %" if abs(shown) >= 10 else f"{shown:.1f} %"


def with_interval(evidence: Mapping[str, Any]) -> str:
    """The measured value as a share, and its interval where it has one."""
    low, high = evidence.get("interval", (math.nan, math.nan))
    value, ends = (
        percent(evidence.get("value", math.nan)),
        (percent(low), percent(high)),
    )
    if math.isnan(low) or set(ends) == {value}:
        return value
    return f"{value} ({ends[0].removesuffix(' %')} to {ends[1]})"


def as_code(value: Any, longest: int = 400) -> str:
    """A value as Python writes it, whole; a long text by what repeats in it.

    >>> as_code("a" * 30000 + "!", longest=100)
    "'a' * 30000 + '!'"
    """
    if not isinstance(value, str) or len(value) <= longest:
        return repr(value)
    pieces, end = [], 0
    for run in islice(re.finditer(r"(.{1,12}?)\1{19,}", value, re.DOTALL), 12):
        pieces += [repr(value[end : run.start()])] * (run.start() > end)
        pieces += [f"{run[1]!r} * {len(run[0]) // len(run[1])}"]
        end = run.end()
    return " + ".join([*pieces, *([repr(value[end:])] if end < len(value) else [])])


def _cut(value: Any, longest: int = 6000) -> Any:
    """A value as a record holds it: of a very long text, which the snippet writes, only the beginning."""
    if not isinstance(value, str) or len(value) <= longest:
        return value
    return f"{value[:longest]}... ({len(value) - longest} more characters)"
