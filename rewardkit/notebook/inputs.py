"""What a check is made with: rollouts and cases, of which one may be missing; and cases as labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardkit.errors import InputError
from rewardkit.judges.report import JudgeReport, judge_report, judges_of
from rewardkit.probes.subjects.cases import rollouts_of
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import Case, load_cases

__all__ = ["judge_reports", "rollouts_and_cases"]

EXPECTED = "expected score"
"""The column with what a case expects of a judge; no reward asks for it, as no parameter has such a name."""


def rollouts_and_cases(rollouts: str, cases: str, **reading: Any) -> tuple[Rollouts, list[Case]]:
    """Rollouts and cases of these files; without rollouts the completions of the cases stand for them.

    `reading` is as in `load_rollouts`. InputError: neither is given, or they cannot be read.
    """
    if not rollouts and not cases:
        raise InputError("neither rollouts nor cases are given; a check needs completions from one of them")
    written = load_cases(cases) if cases else []
    return load_rollouts(rollouts, **reading) if rollouts else rollouts_of(written), written


def judge_reports(reward: Reward, cases: Sequence[Case], *, seed: int = 0) -> dict[str, JudgeReport | None]:
    """Of each component that asks a model how it agrees with the scores that cases expect of it.

    ``None`` where none expects one: a range counts by its middle, what is to be unscored is no label.
    """
    found: dict[str, JudgeReport | None] = {}
    for name in judges_of(reward):
        expected = [(case, case.scores[name]) for case in cases if name in case.scores]
        rows = [
            {**case.columns, EXPECTED: min(1.0, max(0.0, (score.low + score.high) / 2))}
            for case, score in expected
            if score.status == "scored"
        ]
        report = judge_report(reward, rows, component=name, label=EXPECTED, seed=seed) if rows else None
        found[name] = report
    return found
