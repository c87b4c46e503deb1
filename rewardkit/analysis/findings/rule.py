"""Rules: what looks at one reward for one kind of finding; and what runs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import Any

import numpy as np

from rewardkit.analysis.findings.sentences import FINDINGS
from rewardkit.analysis.statistics.bootstrap import deciding_end
from rewardkit.analysis.view import View
from rewardkit.findings import Finding

Said = Sequence[Finding]
SAID = ("severity", "limit", "past", "compared", "tests", "read", "answers")
"""What a finding is told beside its evidence."""
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
        return {
            item.name: item.default
            for item in parameters
            if item.kind is Parameter.KEYWORD_ONLY
        }

    def __call__(self, view: View, said: Said) -> list[Finding]:
        """Its findings on one reward."""
        return list(
            self.find(
                view, said, **{name: view.thresholds[name] for name in self.thresholds}
            )
        )


def rule(*codes: str) -> Callable[[Callable[..., Iterator[Finding]]], Rule]:
    """Makes a function the rule for these codes."""
    return lambda find: Rule(codes, find)


def sure(said: Said, *codes: str, component: str | None = None) -> list[Finding]:
    """The findings that were made for certain, of these codes and this component."""
    return [
        item
        for item in said
        if item.code in codes
        and item.component == component
        and not item.evidence.get("inconclusive")
    ]


def finding(
    view: View, code: str, component: str | None = None, /, **given: Any
) -> Finding:
    """The finding, as its row of `findings.toml` has it where nothing else is `given`; the rest is evidence.

    Given may be: `value`, `interval` and `n`, as `share` measures them; `limit`; `severity`; the side that
    the value must be `past`; `compared`, what is held against the limit in its place; how many `tests` are
    made; rows worth to be `read`; `answers`; `cost`, where it is not the value.

    Where it has a side, it must be past its limit for certain: a question of one side, decided at an error of
    5 % there, by the near end of a 90 % interval; the interval that is shown is one of 95 % for both sides.
    Where that is not so, or the groups are too few, it is for information, and inconclusive.
    """
    row = {
        **FINDINGS[code],
        "limit": None,
        "severity": "",
        "read": None,
        "tests": 1,
        "compared": None,
    }
    row |= {
        "severity": FINDINGS[code]["severity"],
        **{key: given.pop(key) for key in SAID if key in given},
    }
    value, groups = given.get("value", math.nan), len(view.stats.count)
    given["cost"] = min(
        abs(float(given.get("cost", 0.0 if math.isnan(value) else value))), 1.0
    )
    at, ends = value, given.get("interval", (math.nan, math.nan))
    if other := row["compared"]:
        at, ends = other["value"], other["interval"]
        given |= {"compared": at, "compared_interval": ends}
    if groups < FEWEST_GROUPS and ("past" in row or "groups" in row):
        given |= {"inconclusive": True, "too_few": groups}
    elif "past" in row:
        limit, above = row["limit"], row["past"] == "above"
        near = deciding_end(
            at, ends[0 if above else 1], view.bootstrap.tests * row["tests"]
        )
        if not (near >= limit if above else near <= limit):
            gap, half, prompts = abs(at - limit), abs(at - near), view.bootstrap.total
            needed = (
                math.ceil(prompts * (half / gap) ** 2)
                if gap and not math.isnan(half)
                else 0
            )
            given |= {
                "inconclusive": True,
                "n_needed": needed if needed > prompts else None,
            }
    level = "info" if given.get("inconclusive") else row["severity"]
    ids = () if row["read"] is None else view.ids(row["read"])
    n, answers = given.pop("n"), tuple(row.get("answers", ()))
    return Finding(
        code, level, component, given, n, row["limit"], ids, answers, view.part
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


def share(
    view: View, part: Any, whole: Any, *, by_rows: bool = False
) -> dict[str, Any]:
    """`value`, `interval` and `n` of the sum of one array over that of another, (groups,) or (rows,) each."""
    above, below = (np.asarray(values, dtype=float) for values in (part, whole))
    value, interval = view.bootstrap.ratio(
        above, below, view.bootstrap.prompts if by_rows else view.owner
    )
    return {"value": value, "interval": interval, "n": int(below.sum())}
