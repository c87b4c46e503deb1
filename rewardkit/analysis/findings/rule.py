"""Make the findings of a diagnosis: how each is judged against its threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.bootstrap import deciding_end
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, read_codes

Said = Sequence[Finding]
SAID = ("severity", "limit", "past", "compared", "tests", "read", "answers")
"""What a finding is told beside its evidence."""
FEWEST_GROUPS = 10
"""Fewer give no verdict on a share of groups. Our choice."""


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
    known = read_codes()["diagnosis"][code]
    row = {
        **known,
        "limit": None,
        "severity": "",
        "read": None,
        "tests": 1,
        "compared": None,
    }
    row |= {
        "severity": known["severity"],
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


def share(
    view: View, part: Any, whole: Any, *, by_rows: bool = False
) -> dict[str, Any]:
    """`value`, `interval` and `n` of the sum of one array over that of another, (groups,) or (rows,) each."""
    above, below = (np.asarray(values, dtype=float) for values in (part, whole))
    value, interval = view.bootstrap.ratio(
        above, below, view.bootstrap.prompts if by_rows else view.owner
    )
    return {"value": value, "interval": interval, "n": int(below.sum())}
