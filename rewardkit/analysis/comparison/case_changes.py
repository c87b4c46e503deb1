"""compare_cases(): which cases one reward passes and another one fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardkit.analysis.comparison.finding_changes import MOST_CHANGES
from rewardkit.findings import most
from rewardkit.html.excerpts import one_line
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import WHOLE, Case, load_cases
from rewardkit.scoring.check import check
from rewardkit.scoring.check_result import REWARD

LONGEST_NAME = 64
"""Characters of a change or a case in a line. Our choice."""


def compare_cases(
    a: Reward, b: Reward, source: Sequence[Case] | str | Path, timeout: float | None
) -> dict[str, Any]:
    """Return which cases B passes and A fails (`gained`), and the reverse (`lost`).

    What a case expects of a component that one reward lacks counts for neither, nor
    does an undecided case. Where a reward is from a run record and cannot be run, there
    is a `reason` in their place.
    """
    cases = load_cases(source) if isinstance(source, str | Path) else source
    shared = set(a.names).intersection(b.names)
    passed: dict[str, Any] = {"a": None, "b": None}
    failed: dict[str, set[str]] = {}
    recorded = []
    for side, reward in (("a", a), ("b", b)):
        if not reward.can_run:
            recorded.append(side.upper())
            continue
        result = check(reward, cases, ignore={*a.names, *b.names}, timeout=timeout)
        passed[side] = {"passed": result.passed, "failed": result.failed}
        failed[side] = {
            miss.case for miss in result.misses if miss.what in {REWARD, *shared}
        }
    changes = {"cases": len(cases), **passed, "gained": None, "lost": None}
    if recorded:
        reason = (
            f"the reward of {' and '.join(recorded)} was read from a run record and "
            "cannot be run"
        )
        return {**changes, "compared": 0, "reason": reason}
    names = []
    for case in cases:
        if not case.is_undecided and {WHOLE, *shared}.intersection(case.parts):
            names.append(case.name)
    gained, lost = failed["a"] - failed["b"], failed["b"] - failed["a"]
    changes["gained"] = [name for name in names if name in gained]
    changes["lost"] = [name for name in names if name in lost]
    return {**changes, "compared": len(names), "reason": None}


def describe_cases(changes: Mapping[str, Any] | None) -> list[str]:
    """Say how many cases each side passes, and which are lost or gained."""
    if changes is None:
        return []
    sides = []
    for side in "ab":
        if changes[side]:
            sides.append(f"{side.upper()} passes {changes[side]['passed']}")
    passed = ", ".join(sides)
    if changes["reason"]:
        line = f"Cases were not compared: {changes['reason']}"
        return [f"{line}; {passed}" if passed else line]
    line = f"Cases: {passed} of {changes['cases']}"
    for kind in ("lost", "gained"):
        names = [*map(repr, changes[kind])]
        if names:
            line += f", {len(names)} {kind} ({first_of(names)})"
    return [line]


def first_of(items: Sequence[object]) -> str:
    """List the first of these, each cut to one line."""
    texts = [one_line(item, LONGEST_NAME) for item in items]
    return most(texts, MOST_CHANGES)
