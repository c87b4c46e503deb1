"""Inputs: the rewards, rollouts and cases for which notebooks are opened or run, checked together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rewardkit.errors import InputError
from rewardkit.probes.results.baseline import load_baseline
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import Case, components_of, load_cases
from rewardkit.targets.load import reward_named


class Inputs(NamedTuple):
    """What was read: `rewards` by name, and of what the cases speak that not every reward has (`ignored`)."""

    rewards: dict[str, Reward]
    rollouts: Rollouts
    cases: list[Case]
    ignored: list[str]


def read_inputs(
    names: Sequence[str],
    rollouts: str | Path,
    *,
    cases: str | Path | None = None,
    as_: str | None = None,
    log_weights: Mapping[str, float] | None = None,
    baseline: str | Path | None = None,
    label: str | None = None,
    by: Sequence[str] | None = None,
    **reading: Any,
) -> Inputs:
    """Read what notebooks are given, before the first of them runs; `reading` is as in `load_rollouts`.

    `names` are those of rewards, "logged" for the scores that are in the log, which `log_weights` weigh.
    InputError: what cannot be read, or does not go together.
    """
    if cases and (not names or LOGGED_REWARD in names):
        raise InputError(
            "the scores of a log cannot be checked against cases; leave them out, or give a reward"
        )
    if log_weights and LOGGED_REWARD not in names:
        raise InputError(
            f"weights are given of the scores of a log, which is not among the rewards {list(names)}; give "
            f"{LOGGED_REWARD!r} as one, or leave them out"
        )
    if baseline:
        load_baseline(baseline)
    logged = load_rollouts(rollouts, **reading)
    rewards = {name: reward_named(name, logged, log_weights, as_=as_) for name in names}
    for reward in rewards.values():
        reward.check_columns(list(map(str, logged.table.columns)))
    logged.check_columns([*([label] if label else []), *(by or ())])
    written = load_cases(cases) if cases else []
    spoken_of = components_of(written)
    lacking = {
        name
        for reward in rewards.values()
        for name in spoken_of.difference(reward.names)
    }
    return Inputs(rewards, logged, written, sorted(lacking))
