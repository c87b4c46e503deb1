"""Rollouts from cases: their completions and truths, as rows that can be probed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from rewardkit.errors import CasesError
from rewardkit.findings import BY_PROBING
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import as_column
from rewardkit.scoring.cases import Case


def rollouts_of(cases: Sequence[Case]) -> Rollouts:
    """The completions of cases as rollouts, each called after its case and a group of its own.

    CasesError: a probe wrote all of them.
    """
    if not _to_probe_from(cases):
        raise CasesError(
            f"a probe wrote all of these cases ({len(cases)}), and none of them is a place to probe from; "
            "give rollouts as well, or cases with right answers"
        )
    return with_cases(Rollouts(pd.DataFrame(), {}, (), source="cases"), cases)


def with_cases(rollouts: Rollouts, cases: Sequence[Case]) -> Rollouts:
    r"""The rollouts with the completions of cases behind them, each as a group of its own.

    Those that a probe wrote are left out: what it made up is no example of how answers are written. Those
    that stand among the rollouts already are not repeated.

    >>> half = Case("half a letter", {"completion": "\ud83d"})
    >>> with_cases(Rollouts(pd.DataFrame({"rollout_id": [7], "completion": "4"}), {}, ()), [half])[1]
    {'rollout_id': 'case half a letter', 'completion': '\ud83d'}
    """
    ids = set(rollouts.table.get("rollout_id", ()))
    rows = []
    for case in _to_probe_from(cases):
        if (case_id := f"case {case.name}") not in ids:
            rows.append({**case.columns, "rollout_id": case_id})
    every = [*rollouts, *rows]
    names = dict.fromkeys(name for row in every for name in row)
    columns = {name: as_column([row.get(name) for row in every]) for name in names}
    return replace(rollouts, table=pd.DataFrame(columns))


def _to_probe_from(cases: Sequence[Case]) -> list[Case]:
    """The cases that no probe wrote."""
    return [case for case in cases if not case.why.startswith(BY_PROBING)]
