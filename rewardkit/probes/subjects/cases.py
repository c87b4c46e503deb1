"""Rollouts from cases: their completions and truths, as rows that can be probed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from rewardkit.errors import CasesError
from rewardkit.findings import BY_PROBING
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import as_column
from rewardkit.scoring.cases import Case


def rollouts_of(cases: Sequence[Case]) -> Rollouts:
    """Return cases as rollouts, each with the name of its case and a group of its own.

    Raises:
        CasesError: A probe wrote all of them.
    """
    if not _to_probe_from(cases):
        raise CasesError(
            f"a probe wrote all of these cases ({len(cases)}), and none of them is a "
            "place to probe from; give rollouts as well, or cases with right answers"
        )
    return with_cases(Rollouts(pd.DataFrame(), {}, (), source="cases"), cases)


def with_cases(rollouts: Rollouts, cases: Sequence[Case]) -> Rollouts:
    r"""Return rollouts with cases behind them, each as a group of its own.

    Those that a probe wrote are left out: they are no example of how answers are
    written. Those that stand among the rollouts already are not repeated.

    >>> half = Case("half a letter", {"completion": "\ud83d"})
    >>> table = pd.DataFrame({"rollout_id": [7], "completion": "4"})
    >>> rollouts = Rollouts(table, {}, ())
    >>> with_cases(rollouts, [half])[1]
    {'rollout_id': 'case half a letter', 'completion': '\ud83d'}
    """
    ids = set(rollouts.table.get("rollout_id", ()))
    rows = []
    for case in _to_probe_from(cases):
        case_id = f"case {case.name}"
        if case_id not in ids:
            rows.append({**case.columns, "rollout_id": case_id})
    lists = lists_of_columns([*rollouts, *rows])
    columns = {name: as_column(values) for name, values in lists.items()}
    return replace(rollouts, table=pd.DataFrame(columns))


def _to_probe_from(cases: Sequence[Case]) -> list[Case]:
    """List the cases that no probe wrote."""
    return [case for case in cases if not case.why.startswith(BY_PROBING)]
