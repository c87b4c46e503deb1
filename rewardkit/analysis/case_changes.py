"""case_changes(): written cases that one of two rewards passes and the other misses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import Case, CheckResult, check, load_cases

__all__ = ["case_changes"]


def case_changes(
    a: Reward,
    b: Reward,
    given: Sequence[Case] | str | Path | None,
    *,
    timeout: float | None = None,
) -> dict[str, Any] | None:
    """Which cases B passes and A misses (`gained`), and the other way round (`lost`); ``None`` without cases.

    One file serves both: what a case expects of a component that one reward lacks counts for neither. Where a
    reward is one from a run record, which cannot be run, there is a `reason` in place of them. Errors as in
    `check`.
    """
    if given is None:
        return None
    cases = load_cases(given) if isinstance(given, str | Path) else given
    known = {*a.names, *b.names}
    results: dict[str, CheckResult | None] = {
        name: None if _only_recorded(reward) else check(reward, cases, ignore=known, timeout=timeout)
        for name, reward in (("a", a), ("b", b))
    }
    recorded = " and ".join(name.upper() for name, result in results.items() if result is None)
    shared = {"reward", *(name for name in a.names if name in b.names)}
    asked = [case.name for case in cases if case.reward is not None or shared.intersection(case.scores)]
    missed = [
        {miss.case for miss in result.misses if miss.what in shared} if result else set()
        for result in results.values()
    ]
    return {
        "cases": len(cases),
        "compared": 0 if recorded else len(asked),
        **{
            name: result and {"passed": result.passed, "failed": result.failed}
            for name, result in results.items()
        },
        "gained": None if recorded else [name for name in asked if name in missed[0] - missed[1]],
        "lost": None if recorded else [name for name in asked if name in missed[1] - missed[0]],
        "reason": f"the reward of {recorded} was read from a run record and cannot be run"
        if recorded
        else None,
    }


def _only_recorded(reward: Reward) -> bool:
    return any(inner.recorded is not None for inner in reward.inner)
