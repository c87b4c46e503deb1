"""load_reward(): the reward that a name stands for, also where that is a trainer's reward function."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from rewardkit import targets as room
from rewardkit.errors import CAUGHT, RewardError, preview
from rewardkit.rewards.load import failed, find_reward
from rewardkit.rewards.recorded import LOGGED_REWARD, recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.targets.adapter import named, takes_anything
from rewardkit.targets.recognising import SAMPLED, read


def load_reward(
    name: str,
    *,
    as_: str | None = None,
    rollouts: Iterable[Mapping[str, Any]] | None = None,
    timeout: float | None = None,
) -> Reward:
    """The reward called `file.py:name`, `package.module:name` or `gallery:module[.name]`.

    Attribute `reward` by default. What stands there may be a Reward, a function without
    arguments that returns one, a plain f(completion, ground_truth), or a reward
    function, class, environment or list of functions as a trainer takes it
    (`rk.targets`): it is recognised by its signature and by what it returns for a few
    of the `rollouts` (without any, for a made-up completion), or read as the target
    `as_` ("trl", or "trl:messages" where a trainer calls functions in several ways).
    Its components are the function, the keys of the dict that it returns, or the
    functions of the list, all unbounded; `Reward.origin` says what it was taken for and
    why, and which column fills each argument. A file is run anew at each call. One call
    of those that recognise it may take `timeout` seconds, 10 by default, and all
    together about twice that. RewardError: no such file or name, an error while it runs
    (with file and line), something else under that name, or what several targets could
    mean.

    >>> load_reward("gallery:arithmetic").name
    'arithmetic-v1'
    """
    if as_:
        room.named(as_.partition(":")[0])  # which is said now, whatever is read
    value, attribute = find_reward(name)
    if isinstance(value, Reward):
        return value
    if as_ is None and _makes_a_reward(value):
        try:
            made = value()
        except CAUGHT as error:
            if not takes_anything(value):
                raise RewardError(
                    failed(inspect.getsourcefile(value) or name, error)
                ) from error
            made = None
        if isinstance(made, Reward):
            return made
        if not takes_anything(value):
            raise RewardError(
                f"{name} returned {preview(made)}, not a Reward; a function without arguments must return one"
            )
    rows = _first(rollouts) if rollouts is not None else []
    return read(value, attribute, as_=as_, rows=rows, timeout=timeout)


def reward_named(
    name: str,
    rollouts: Rollouts,
    weights: Mapping[str, float] | None = None,
    *,
    as_: str | None = None,
) -> Reward:
    """The reward that `load_reward` finds under a name, or for "logged" the scores of these rollouts."""
    if name == LOGGED_REWARD:
        return recorded(rollouts, weights)
    return load_reward(name, as_=as_ or None, rollouts=rollouts)


def _makes_a_reward(value: Any) -> bool:
    """Whether it is a function that can be called without arguments, and no trainer's reward function."""
    if not callable(value) or isinstance(value, type) or named(value):
        return False
    return takes_anything(value) or not any(
        target.readings(value, ()) for target in room.TARGETS
    )


def _first(rollouts: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Some rows, as they are scored: of rollouts from all over them."""
    if not isinstance(rollouts, Rollouts):
        return list(islice(rollouts, SAMPLED))
    places = np.unique(np.linspace(0, len(rollouts) - 1, SAMPLED).astype(int))
    columns = rollouts.select(places.tolist()).as_logged()
    return [
        dict(zip(columns, values, strict=True))
        for values in zip(*columns.values(), strict=True)
    ]
