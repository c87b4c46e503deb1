"""load_reward(): load a reward by its name, or read a trainer's function as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT, RewardError, preview
from rewardkit.rewards.candidates import NEVER_CALLED, Candidates, Fit, RewardList
from rewardkit.rewards.load import candidates_of, default_settings, failed, with_source
from rewardkit.rewards.recorded import LOGGED_REWARD, recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.users_code import label_of
from rewardkit.rollouts.table import Rollouts
from rewardkit.targets import TARGETS, find_target
from rewardkit.targets.choice import AGREES, choice_options, choose_reading
from rewardkit.targets.columns import (
    SAMPLE,
    Row,
    called_parameters,
    required_parameters,
    takes_anything,
)
from rewardkit.targets.plain import methods
from rewardkit.targets.read import parts_of_log, read_reward
from rewardkit.targets.trial import scores_of_log

MOST_ROWS_TRIED = 16
"""Rollouts to try functions on, at most. Our choice: one of them may be a judge."""


def load_reward(
    name: str,
    *,
    as_: str | None = None,
    rollouts: Iterable[Mapping[str, Any]] | None = None,
    timeout: float | None = None,
) -> Reward:
    """Load the reward of this name, or read a trainer's function as a reward.

    The name is `file.py:name`, `package.module:name` or `gallery:module[.name]`;
    `file.py:a,b` adds functions up, `file.py:Class.method` is a method. Without a part
    behind the colon, the reward is `reward`, the list that a script passes to a
    trainer, or the only candidate, see `find_candidates`: among several functions, the
    one that reproduces the scores of the log. A value may be a Reward, a function
    without arguments that returns one, a plain f(completion, ground_truth), or a reward
    function, class, environment or list of functions of a trainer (`rk.targets`). Its
    signature, and its results for a few rows, show which trainer it is for. Its
    components are the function, the keys of a returned dict, or the functions of the
    list, all unbounded. `Reward.origin` says how the value was read and why, and which
    column fills each argument. A file runs again at each call.

    Args:
        name: Where the reward is.
        as_: The target to read the value as ("trl", or "trl:messages" if a trainer
            calls functions in several ways).
        rollouts: Rows for trial calls; by default made-up completions.
        timeout: Seconds for one trial call, 10 by default; all together may take about
            twice that.

    Raises:
        RewardError: There is no such file or name, the file fails (with file and line),
            the value is no reward, or several targets could read it.

    >>> load_reward("gallery:arithmetic").name
    'arithmetic-v1'
    """
    if as_:
        find_target(as_.partition(":")[0])  # an unknown name is always an error
    rows = _first_rows(rollouts) if rollouts is not None else []
    candidates = candidates_of(name, parts_of_log(rows), partial(_fit, rows=rows))
    logged, notes = None, []
    if len(candidates.likely) > 1:
        logged = _find_logged(candidates, candidates.likely, as_, rows, timeout)
    attribute = logged or candidates.only()
    try:
        reward = _read_value(candidates, attribute, name, as_, rows, timeout)
    except RewardError as error:
        others = candidates.others(attribute)
        logged = _find_logged(candidates, others, as_, rows, timeout)
        if logged is None:
            raise
        notes.append(f"{attribute} cannot be taken: {error}")
        attribute = logged
        reward = _read_value(candidates, attribute, name, as_, rows, timeout)
    if logged:
        notes.insert(0, f"{logged} is taken of the file, as it gives the log's scores")
    elif not candidates.attribute:
        notes += _source_notes(candidates, attribute, rows)
    value = candidates.value(attribute)
    if isinstance(value, RewardList) and not value.has_weights:
        weights = _weights_of_log(reward, rollouts)
        if weights:
            reward = reward.reweigh(weights)
            texts = [f"{weight:g}" for weight in weights.values()]
            notes.append(f"weighed {', '.join(texts)}, as the log's advantages fit")
    if notes:
        reward = replace(reward, origin=f"{reward.origin}\n{'; '.join(notes)}")
    return with_source(reward, name, attribute)


def _weights_of_log(reward: Reward, rollouts: Any) -> dict[str, float]:
    """Return the weights of the log for functions without weights of their own.

    Returns {} if the log lacks a weight for a function, or has 1 for all of them.
    """
    if not isinstance(rollouts, Rollouts) or set(reward.weights.values()) != {1.0}:
        return {}
    logged = rollouts.logged.weights
    weights = {name: logged.get(name, 0.0) for name in reward.names}
    if not all(weights.values()) or set(weights.values()) == {1.0}:
        return {}
    return weights


def _source_notes(
    candidates: Candidates, attribute: str, rows: Sequence[Row]
) -> list[str]:
    """Return notes on where the file names the value, or on other candidates."""
    if attribute in candidates.trainer_lists:
        return [f"taken from {candidates.trainer_lists[attribute].where}"]
    chosen = candidates.value(attribute)
    if isinstance(chosen, RewardList):
        return [f"taken from {attribute}"]
    if isinstance(chosen, Reward):  # its definition needs no note
        return []
    others = []
    for name in candidates.others(attribute):
        value = candidates.values[name]
        if _fit(value, rows) is Fit.TRAINER:
            others.append(name)
    if not others:
        return []
    also = ", ".join(others)
    return [
        f"the file also has {also}; name one or several, as "
        f"{candidates.place}:{others[0]}"
    ]


def _fit(value: Any, rows: Sequence[Row]) -> Fit:
    """Return how well a value fits the calls of trainers, without making an object."""
    if isinstance(value, Reward):
        return Fit.TRAINER
    if NEVER_CALLED.match(label_of(value)) and not required_parameters(value):
        return Fit.NONE
    if isinstance(value, type):
        if len(required_parameters(value)) > len(default_settings(value)):
            return Fit.NONE
        if "completions" in called_parameters(value):
            return Fit.TRAINER
        return Fit.COLUMNS if methods(value) else Fit.NONE
    fit = Fit.NONE
    columns = set().union(*(rows or SAMPLE))
    for target in TARGETS:
        for reading in target.readings(value, rows):
            if reading.sure:
                return Fit.TRAINER
            if columns.issuperset(reading.adapter.needs):
                fit = Fit.COLUMNS
    return fit


def reward_named(
    name: str,
    rollouts: Rollouts,
    weights: Mapping[str, float] | None = None,
    *,
    as_: str | None = None,
    timeout: float | None = None,
) -> Reward:
    """Load a reward by its name, or for "logged" the scores in the rollouts."""
    if name == LOGGED_REWARD:
        return recorded(rollouts, weights)
    return load_reward(name, as_=as_ or None, rollouts=rollouts, timeout=timeout)


def _read_value(
    candidates: Candidates,
    attribute: str,
    name: str,
    as_: str | None,
    rows: Sequence[Row],
    timeout: float | None,
) -> Reward:
    """Return the reward of an attribute: itself, the one it makes, or its reading."""
    value = candidates.value(attribute)
    if isinstance(value, RewardList):
        members = []
        for label, function, weight in value.members:
            if as_ is None and _is_maker(function):
                function = _call_maker(function, name)
            members.append((label, function, weight))
        value = RewardList(tuple(members))
    elif as_ is None and _is_maker(value):
        value = _call_maker(value, name)
    if isinstance(value, Reward):
        return value
    return read_reward(value, attribute, as_=as_, rows=rows, timeout=timeout)


def _find_logged(
    candidates: Candidates,
    names: Sequence[str],
    as_: str | None,
    rows: Sequence[Row],
    timeout: float | None,
) -> str | None:
    """Return the only one of these functions that reproduces the scores of the log.

    Functions with fewer than two required parameters are not called.
    """
    if not scores_of_log(rows):
        return None
    agreeing = []
    with choice_options(as_, rows, timeout) as options:
        for name in names:
            if NEVER_CALLED.match(name):
                continue
            value = candidates.value(name)
            is_function = callable(value) and not isinstance(value, type)
            if is_function and len(required_parameters(value)) < 2:
                continue  # without a truth, it may be no reward at all
            try:
                trial = choose_reading(value, name, options)
            except RewardError:
                continue
            if (trial.agreement(rows) or 0.0) >= AGREES:
                agreeing.append(name)
    return agreeing[0] if len(agreeing) == 1 else None


def _is_maker(value: Any) -> bool:
    """Return whether a function needs no arguments and fits no trainer."""
    if not callable(value) or isinstance(value, type) or required_parameters(value):
        return False
    if NEVER_CALLED.match(label_of(value)):
        return False
    if takes_anything(value):
        return True
    return not any(target.readings(value, ()) for target in TARGETS)


def _call_maker(function: Callable[[], Any], name: str) -> Any:
    """Call a function without arguments for the Reward or reward function it returns.

    A function that takes anything may be a reward function itself, and is returned if
    the call makes no Reward. RewardError: another one fails, or returns something else.
    """
    try:
        reward = function()
    except CAUGHT as error:
        if takes_anything(function):
            return function
        file = inspect.getsourcefile(function) or name
        raise RewardError(failed(file, error)) from error
    if isinstance(reward, Reward):
        return reward
    if takes_anything(function):
        return function
    if callable(reward) or isinstance(reward, list | tuple):
        return reward
    raise RewardError(
        f"{label_of(function)}() of {name} returned {preview(reward)}, not a Reward; a "
        "function without arguments must return one"
    )


def _first_rows(rollouts: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return some rows of the rollouts, evenly spread, with the log's own columns."""
    if not isinstance(rollouts, Rollouts):
        return list(islice(rollouts, MOST_ROWS_TRIED))
    places = np.linspace(0, len(rollouts) - 1, MOST_ROWS_TRIED)
    columns = rollouts.select(np.unique(places.astype(int)).tolist()).as_logged()
    rows: list[Mapping[str, Any]] = []
    for values in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, values, strict=True)))
    return rows
