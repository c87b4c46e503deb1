"""A table of no trainer's own form: a column called reward is what was paid."""

from __future__ import annotations

from collections.abc import Collection

from rewardkit.rollouts.logs.log import LOGGED, Form, Log, numeric
from rewardkit.rollouts.source import Source


def _read(source: Source, keep: Collection[str]) -> Log:
    columns = source.columns
    if any(name.startswith(("score/", "status/")) for name in columns):
        return Log(source)  # a scored table: score() says what to do with it
    paid = [name for name in ("reward", "reward_raw") if name in columns]
    logged = [name for name in columns if name.startswith(LOGGED)]
    scores = [name for name in (*paid, *logged) if numeric(columns[name])]
    total = next(
        (
            name
            for name in ("reward", f"{LOGGED}reward", f"{LOGGED}score")
            if name in scores
        ),
        None,
    )
    return Log(
        source,
        {name: float(name == total) for name in scores},
        beside=paid,
        total=total,
    )


TABLE = Form("rollouts", lambda columns: True, _read)
