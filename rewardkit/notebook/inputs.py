"""What a check is made with: rollouts and cases, of which one may be missing."""

from __future__ import annotations

from typing import Any

from rewardkit.errors import InputError
from rewardkit.probes.from_cases import rollouts_of
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import Case, load_cases

__all__ = ["rollouts_and_cases"]


def rollouts_and_cases(rollouts: str, cases: str, **reading: Any) -> tuple[Rollouts, list[Case]]:
    """Rollouts and cases of these files; without rollouts the completions of the cases stand for them.

    `reading` is as in `load_rollouts`. InputError: neither is given, or they cannot be read.
    """
    if not rollouts and not cases:
        raise InputError("neither rollouts nor cases are given; a check needs completions from one of them")
    written = load_cases(cases) if cases else []
    return load_rollouts(rollouts, **reading) if rollouts else rollouts_of(written), written
