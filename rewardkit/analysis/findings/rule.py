"""Rules: what looks at one reward for one kind of finding; and what runs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.bootstrap import deciding_end
from rewardkit.analysis.view import View
from rewardkit.findings import Finding

__all__ = ["FEWEST_GROUPS", "Rule", "finding", "rule", "sure"]

Said = Sequence[Finding]
Interval = tuple[float, float]
FEWEST_GROUPS = 10
"""Fewer give no verdict on a share of groups. Our choice."""


@dataclass(frozen=True)
class Rule:
    """What finds findings of these `codes`: ``find(view, said, *, threshold=default, ...)``.

    `said` are the findings of the rules before it, so that what has one cause is told once. A threshold is a
    keyword with its default, and overridden under its name by `diagnose(thresholds=...)`.
    """

    codes: tuple[str, ...]
    find: Callable[..., Iterator[Finding]]

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """Its thresholds and their defaults."""
        parameters = signature(self.find).parameters.values()
        return {item.name: item.default for item in parameters if item.kind is Parameter.KEYWORD_ONLY}

    def __call__(self, view: View, said: Said) -> list[Finding]:
        """Its findings on one reward."""
        return list(self.find(view, said, **{name: view.thresholds[name] for name in self.thresholds}))


def rule(*codes: str) -> Callable[[Callable[..., Iterator[Finding]]], Rule]:
    """Makes a function the rule for these codes."""
    return lambda find: Rule(codes, find)


def sure(said: Said, *codes: str, component: str | None = None) -> list[Finding]:
    """The findings that were made for certain, of these codes and this component."""
    return [
        item
        for item in said
        if item.code in codes and item.component == component and not item.evidence.get("inconclusive")
    ]


def finding(
    view: View,
    code: str,
    severity: str,
    component: str | None = None,
    *,
    n: int,
    value: float = math.nan,
    interval: Interval | None = None,
    limit: float | None = None,
    above: bool | None = None,
    compared: tuple[float, Interval] | None = None,
    tests: int = 1,
    needs_groups: bool = False,
    read: NDArray[Any] | None = None,
    answers: tuple[str, ...] = (),
    cost: float | None = None,
    **evidence: Any,
) -> Finding:
    """The finding; only for information, and inconclusive, where the numbers do not decide.

    With `above` it is a question of one side whether the `value`, or what is `compared`, is past its `limit`:
    decided at an error of 5 % on that side, by the near end of a 90 % interval, for one of so many `tests`;
    the interval that is shown is one of 95 % for both sides. `needs_groups`: fewer than `FEWEST_GROUPS` give
    no verdict. The rows `read` are worth reading, `answers` the suggestions to it. What it costs is the
    value, where nothing else is said.
    """
    told: dict[str, Any] = {} if math.isnan(value) else {"value": value}
    told |= {"interval": interval} if interval is not None else {}
    told |= {"compared": compared[0], "compared_interval": compared[1]} if compared else {}
    groups = len(view.stats.count)
    if above is not None and limit is not None and interval is not None:
        at, ends = compared or (value, interval)
        near = deciding_end(at, ends[0] if above else ends[1], view.bootstrap.tests * tests)
        if groups >= FEWEST_GROUPS and not (near >= limit if above else near <= limit):
            gap, half = abs(at - limit), abs(at - near)
            prompts = view.bootstrap.total
            needed = math.ceil(prompts * (half / gap) ** 2) if gap and not math.isnan(half) else 0
            told |= {"inconclusive": True, "n_needed": needed if needed > prompts else None}
    if groups < FEWEST_GROUPS and (needs_groups or above is not None):
        told |= {"inconclusive": True, "too_few": groups}
    worth = value if cost is None else cost
    told["cost"] = float(min(abs(worth), 1.0)) if not math.isnan(worth) else 0.0
    ids = () if read is None else view.ids(read)
    return Finding(
        code,
        "info" if told.get("inconclusive") else severity,
        component,
        {**told, **evidence},
        n,
        limit,
        ids,
        answers,
        view.part,
    )


def findings_of(
    view: View, rules: Sequence[Rule], done: Callable[[int], None] = lambda rows: None
) -> list[Finding]:
    """What these rules find in one reward, each told of what those before it said."""
    said: list[Finding] = []
    for item in rules:
        said += item(view, said)
        done(len(view))
    return said


def thresholds_of(rules: Sequence[Rule]) -> Mapping[str, float]:
    """Every threshold of the rules and its default."""
    return {name: value for item in rules for name, value in item.thresholds.items()}


def share(view: View, part: Any, whole: Any, *, by_rows: bool = False) -> dict[str, Any]:
    """`value` and `interval` of the sum of one array over that of another, (groups,) or (rows,) each."""
    above, below = (np.asarray(values, dtype=float) for values in (part, whole))
    owner = view.bootstrap.prompts if by_rows else view.owner
    total = float(below.sum())
    return {
        "value": float(above.sum()) / total if total else math.nan,
        "interval": view.bootstrap.interval([above, below], owner),
    }
