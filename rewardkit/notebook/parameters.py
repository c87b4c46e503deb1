"""What a notebook is given: parameters (of a misspelt one papermill only warns), rollouts and cases."""

from __future__ import annotations

import typing
from collections.abc import MutableMapping, Sequence
from typing import Any

from rewardkit.errors import InputError, did_you_mean
from rewardkit.judges.report import JudgeReport, judge_report, judges_of
from rewardkit.probes.subjects.cases import rollouts_of
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import Case, load_cases

CHECKED = "_rewardkit_parameters_checked"
SHELL_NAMES = ("In", "Out", "exit", "quit", "get_ipython", "open")
PLAIN = (str, int, float, list, dict)
"""What can come from papermill, beside None."""


def check_parameters(
    names: MutableMapping[str, Any], **choices: tuple[Any, ...]
) -> None:
    """Check the variables of a notebook right behind its parameters cell; call it with ``globals()``.

    The annotations of the parameters cell say what there is and of which type; `choices` lists the allowed
    values of some. InputError: a variable that is no parameter (a misspelt ``-p``), a value of another type,
    one that is not allowed. When the cell is run again by hand, only types and choices are checked: other
    cells have left variables by then.
    """
    declared: dict[str, Any] = dict(names.get("__annotations__", {}))
    if not names.get(CHECKED):
        own = [
            name
            for name in names
            if not name.startswith("_") and name not in (*declared, *SHELL_NAMES)
        ]
        for name in own:
            if names[name] is None or isinstance(names[name], PLAIN):
                raise InputError(
                    f"this notebook has no parameter {name!r}; it has "
                    f"{list(declared)}{did_you_mean(name, declared)}"
                )
    names[CHECKED] = True
    for name, kind in declared.items():
        if not _fits(names[name], kind):
            expected = kind.__name__ if isinstance(kind, type) else kind
            raise InputError(
                f"parameter {name}={names[name]!r} is of type {type(names[name]).__name__}; this notebook "
                f"expects {expected}"
            )
    for name, allowed in choices.items():
        if names[name] not in allowed:
            raise InputError(
                f"parameter {name}={names[name]!r} is not known; use one of {', '.join(map(repr, allowed))}"
            )


EXPECTED = "expected score"
"""The column with what a case expects of a judge; no reward asks for it, as no parameter has such a name."""


def rollouts_and_cases(
    rollouts: str, cases: str, **reading: Any
) -> tuple[Rollouts, list[Case]]:
    """Rollouts and cases of these files; without rollouts the completions of the cases stand for them.

    `reading` is as in `load_rollouts`. InputError: neither is given, or they cannot be read.
    """
    if not rollouts and not cases:
        raise InputError(
            "neither rollouts nor cases are given; a check needs completions from one of them"
        )
    written = load_cases(cases) if cases else []
    return load_rollouts(rollouts, **reading) if rollouts else rollouts_of(
        written
    ), written


def judge_reports(
    reward: Reward, cases: Sequence[Case], *, seed: int = 0
) -> dict[str, JudgeReport | None]:
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
        report = (
            judge_report(reward, rows, component=name, label=EXPECTED, seed=seed)
            if rows
            else None
        )
        found[name] = report
    return found


def _fits(value: Any, kind: Any) -> bool:
    kinds = typing.get_args(kind) or (kind,)
    if isinstance(value, bool):
        return bool in kinds
    if float in kinds and isinstance(value, int):
        return True
    return isinstance(value, tuple(kinds))
