"""The reward, rollouts and cases of a notebook, read and checked with each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rewardkit.errors import InputError
from rewardkit.probes.baseline import load_baseline
from rewardkit.probes.subjects.log import rollouts_of
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case, load_cases
from rewardkit.scoring.check import cases_for, components_of
from rewardkit.targets.load import reward_named


class Inputs(NamedTuple):
    """A reward (None where none was named), the rollouts and the cases for it."""

    reward: Reward | None
    rollouts: Rollouts
    cases: list[Case]


def load_inputs(
    reward: Reward | str | None,
    rollouts: Rollouts | str | Path | None,
    cases: list[Case] | str | Path | None = None,
    *,
    as_: str | None = None,
    log_weights: Mapping[str, float] | None = None,
    ignore: Collection[str] = (),
    **reading: Any,
) -> Inputs:
    """Read a reward, rollouts and cases, and check that they go together.

    What is loaded already stays as it is, so that a cell can be run again.

    Args:
        reward: A name as `load_reward` takes it, or "logged" for the scores that stand
            in the log. Nothing ("" or None) loads none.
        rollouts: A source as `load_rollouts` takes it. Without one, the completions of
            the cases.
        cases: A case file, or nothing.
        as_: The trainer as whose function the reward is read, as in `load_reward`.
        log_weights: Of "logged", the weights of the scores.
        ignore: Components that cases may speak of and the reward need not have.
        **reading: Options of `load_rollouts`: columns, group, join, on, fill.

    Returns:
        The three of them, in this order.

    Raises:
        InputError: What cannot be read; neither rollouts nor cases; a case that expects
            a score of a component that the reward does not have.
    """
    if not rollouts and not cases:
        raise InputError(
            "neither rollouts nor cases are given; give a log, a case file, or both"
        )
    if isinstance(cases, list):
        case_list = cases
    else:
        case_list = load_cases(cases) if cases else []
    if not rollouts:
        rollouts = rollouts_of(case_list)
    elif not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts, **reading)
    if not reward:
        reward = None
    elif isinstance(reward, str):
        reward = reward_named(reward, rollouts, log_weights, as_=as_)
    if reward is not None:
        cases_for(reward, case_list, ignore)
    return Inputs(reward, rollouts, case_list)


class NotebookInputs(NamedTuple):
    """What a report or a lab is of, read before its first notebook runs.

    `rewards` are by name; `ignored` are components that the cases name and not every
    reward has.
    """

    rewards: dict[str, Reward]
    rollouts: Rollouts
    cases: list[Case]
    ignored: list[str]


def read_inputs(
    names: Sequence[str],
    rollouts: str | Path,
    *,
    cases: str | Path | None = None,
    label: str | None = None,
    by: Sequence[str] | None = None,
    reading: Mapping[str, Any],
    limits: Mapping[str, Any],
) -> NotebookInputs:
    """Read all that notebooks are given; `reading` and `limits` are their parameters.

    `names` are those of rewards, "logged" for the scores that stand in the log.
    InputError: what cannot be read, or does not go together.
    """
    log_weights = reading.get("log_weights")
    baseline = limits.get("baseline")
    if cases and (not names or LOGGED_REWARD in names):
        raise InputError(
            "the scores of a log cannot be checked against cases; "
            "leave them out, or give a reward"
        )
    if log_weights and LOGGED_REWARD not in names:
        raise InputError(
            "weights are given of the scores of a log, which is not among the rewards "
            f"{list(names)}; give {LOGGED_REWARD!r} as one, or leave them out"
        )
    if baseline:
        load_baseline(baseline)
    options = {name: reading[name] for name in ROLLOUT_OPTIONS if name in reading}
    logged = load_rollouts(rollouts, **options)
    rewards = {}
    for name in names:
        reward = reward_named(name, logged, log_weights, as_=reading.get("as_"))
        reward.check_columns(list(map(str, logged.table.columns)))
        rewards[name] = reward
    columns = list(by or ())
    logged.check_columns([label, *columns] if label else columns)
    case_list = load_cases(cases) if cases else []
    ignored: set[str] = set()
    for reward in rewards.values():
        ignored |= components_of(case_list).difference(reward.names)
    return NotebookInputs(rewards, logged, case_list, sorted(ignored))


ROLLOUT_OPTIONS = ("columns", "group", "join", "on", "fill")
"""Options of `reading` that are those of `load_rollouts`."""
