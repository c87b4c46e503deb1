"""load_reward(): the reward of a name, also where that is a trainer's function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT, RewardError, did_you_mean, preview
from rewardkit.rewards.component import Component
from rewardkit.rewards.load import failed, find_reward, with_source
from rewardkit.rewards.recorded import LOGGED_REWARD, recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.columns import JUDGED_PREFIX, free_name
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.prints import caught_prints
from rewardkit.targets import TARGETS, find_target
from rewardkit.targets.adapter import Key, LacksColumn
from rewardkit.targets.choice import TRIAL_SECONDS, choose_reading
from rewardkit.targets.columns import OF_DATA, Row, required_parameters, takes_anything
from rewardkit.targets.exported import identifier
from rewardkit.targets.target import JUDGED, Target
from rewardkit.targets.trial import ReadingTrial

MOST_ROWS_TRIED = 16
"""Where there are rollouts. Our choice: a judge may be among the functions."""


def load_reward(
    name: str,
    *,
    as_: str | None = None,
    rollouts: Iterable[Mapping[str, Any]] | None = None,
    timeout: float | None = None,
) -> Reward:
    """Return the reward of a name, also where a trainer's function stands there.

    The name is `file.py:name`, `package.module:name` or `gallery:module[.name]`. The
    attribute is `reward` by default. It may be a Reward, a function without arguments
    that returns one, a plain f(completion, ground_truth), or a reward function, class,
    environment or list of functions as a trainer takes it (`rk.targets`). What
    trainer's it is shows in its signature and in what it returns for a few rows. Its
    components are the function, the keys of the dict that it returns, or the functions
    of the list, all unbounded; `Reward.origin` says what it was taken for and why, and
    which column fills each argument. A file is run anew at each call.

    Args:
        name: Where the reward is.
        as_: The target to read it as ("trl", or "trl:messages" where a trainer calls
            functions in several ways).
        rollouts: Rows to try it on; without any, a made-up completion.
        timeout: Seconds that one call may take then, 10 by default; all together may
            take about twice that.

    Raises:
        RewardError: There is no such file or name, an error while it runs (with file
            and line), something else under that name, or what several targets could
            mean.

    >>> load_reward("gallery:arithmetic").name
    'arithmetic-v1'
    """
    if as_:
        find_target(as_.partition(":")[0])  # an unknown one is an error in any case
    value, attribute = find_reward(name)
    reward = value if isinstance(value, Reward) else None
    if reward is None and as_ is None and _may_make_a_reward(value):
        reward = _made_reward(value, name)
    if reward is None:
        rows = _first_rows(rollouts) if rollouts is not None else []
        reward = read(value, attribute, as_=as_, rows=rows, timeout=timeout)
    return with_source(reward, name, attribute)


def reward_named(
    name: str,
    rollouts: Rollouts,
    weights: Mapping[str, float] | None = None,
    *,
    as_: str | None = None,
    timeout: float | None = None,
) -> Reward:
    """Return the reward of a name, or for "logged" the scores in these rollouts."""
    if name == LOGGED_REWARD:
        return recorded(rollouts, weights)
    return load_reward(name, as_=as_ or None, rollouts=rollouts, timeout=timeout)


def _may_make_a_reward(value: Any) -> bool:
    """Whether a function can be called without arguments, and is no trainer's."""
    if not callable(value) or isinstance(value, type) or required_parameters(value):
        return False
    if takes_anything(value):
        return True
    return not any(target.readings(value, ()) for target in TARGETS)


def _made_reward(function: Callable[[], Any], name: str) -> Reward | None:
    """Return the Reward that a function returns.

    None where it takes anything, and may be a reward function. RewardError: it fails.
    """
    try:
        reward = function()
    except CAUGHT as error:
        if takes_anything(function):
            return None
        file = inspect.getsourcefile(function) or name
        raise RewardError(failed(file, error)) from error
    if isinstance(reward, Reward):
        return reward
    if takes_anything(function):
        return None
    raise RewardError(
        f"{name} returned {preview(reward)}, not a Reward; a function without "
        "arguments must return one"
    )


def _first_rows(rollouts: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return some rows as they are scored, of rollouts from all over them."""
    if not isinstance(rollouts, Rollouts):
        return list(islice(rollouts, MOST_ROWS_TRIED))
    places = np.linspace(0, len(rollouts) - 1, MOST_ROWS_TRIED)
    columns = rollouts.select(np.unique(places.astype(int)).tolist()).as_logged()
    rows: list[Mapping[str, Any]] = []
    for values in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, values, strict=True)))
    return rows


# --- values as rewards


def read(
    value: Any,
    name: str,
    *,
    as_: str | None = None,
    rows: Sequence[Row] = (),
    timeout: float | None = None,
) -> Reward:
    """Return a trainer's function, object, class or list of functions as a reward.

    Args:
        value: The function, object, class or list.
        name: Its name.
        as_: A target, or with a colon behind it a way, "trl:messages".
        rows: Some of the rollouts that it will see; without any a right and a wrong
            made-up completion are taken.
        timeout: Seconds that a call may take; all of one function may take about twice
            that.

    Raises:
        RewardError: It is none, or can be read in several ways; it asks for what nobody
            gives; it returns what no reward can be.
    """
    target_name, _, way = (as_ or "").partition(":")
    targets: Sequence[Target] = [find_target(target_name)] if target_name else TARGETS
    is_list = isinstance(value, list | tuple)
    functions: Sequence[Any] = value if is_list else [value]
    for target in targets:
        parts = target.parts(value) if target.parts and not is_list else ()
        if parts:
            targets, functions = [target], parts
            break
    if not functions:
        raise RewardError(
            f"{name} is an empty list; a list of reward functions has at least one"
        )
    are_several = len(functions) > 1
    trials: list[tuple[str, ReadingTrial]] = []
    notes: list[str] = []
    seconds = TRIAL_SECONDS if timeout is None else timeout
    # What trial calls print is nobody's result.
    with caught_prints(), time_limit(seconds) as limit:
        assert limit is not None
        for function in functions:
            label = name
            if are_several:
                label = str(getattr(function, "__name__", type(function).__name__))
            trial = choose_reading(function, label, targets, way, rows, limit)
            gave_nothing = all(answer == {} for answer in trial.answers)
            if gave_nothing and are_several and not is_list:
                notes.append(f"{label} is left out: it gave nothing for the sample.")
                continue
            _check(trial, label, rows)
            trials.append((label, trial))
    if not trials:
        raise RewardError(
            f"{name} gave nothing for the sample: {targets[0].title} expects "
            f"{targets[0].form}"
        )
    if are_several and is_list:
        notes.append(
            "A completion that some functions return None for is scored by the others."
        )
    origins = [_origin(trial, label, has_rows=bool(rows)) for label, trial in trials]
    if are_several:
        origins.insert(0, " ".join([f"{_titles(trials)}.", *notes]))
    fields: dict[str, Any] = {}
    components: list[Component] = []
    for label, trial in trials:
        used = {*fields, *(component.name for component in components)}
        prefix = f"{label}_" if are_several and is_list else ""
        own_fields, own_components = _components_of(trial, label, used, prefix)
        fields |= own_fields
        components += own_components
    return Reward(
        identifier(name),
        fields,
        components,
        on_missing="skip" if are_several and is_list else "nan",
        origin="\n".join(origins),
    )


def _titles(trials: Sequence[tuple[str, ReadingTrial]]) -> str:
    """Say which functions were read as whose."""
    names: dict[str, list[str]] = {}
    for name, trial in trials:
        names.setdefault(trial.target.title, []).append(name)
    return "; ".join(f"{', '.join(names[title])} read as {title}" for title in names)


def _check(trial: ReadingTrial, name: str, rows: Sequence[Row]) -> None:
    """RewardError: it cannot be called with these rows, or returns no reward."""
    columns: set[str] = set().union(*rows)
    main, target, failures = trial.main, trial.target, trial.failures
    if rows:
        lacks = []
        for reason in failures:
            if reason.error == LacksColumn.__name__:
                lacks.append(reason)
        if lacks and len(lacks) == len(trial.calls_made):
            raise RewardError(
                f"{name} fails on each row that was tried: {lacks[0].words} "
                f"({lacks[0].place}); they have {sorted(columns)}; join it, or map a "
                "column to it"
            )
        for column in trial.reading.adapter.needs:
            if column not in columns:
                advice = "; set a constant, join it, or map a column to it"
                raise RewardError(
                    f"{name} asks for {column!r}; the rollouts have {sorted(columns)}"
                    f"{did_you_mean(column, columns) or advice}"
                )
    lacks_main = trial.keys and main is not None and main not in trial.keys
    if lacks_main and not isinstance(trial.reading.main, tuple):
        raise RewardError(
            f"{name} returned a dict with {trial.keys}, without {main!r}, which "
            f"{target.title} pays; expected {target.form}"
        )
    if trial.calls_made and not trial.works and not failures:
        answer = trial.answers[0]
        raise RewardError(
            f"{name} returned {preview(answer)} of type {type(answer).__name__} for a "
            f"completion; {target.title} expects {target.form}"
        )


def _components_of(
    trial: ReadingTrial, name: str, used: set[str], prefix: str
) -> tuple[dict[str, Any], list[Component]]:
    """Return fields and components of a function: itself, or one for each of its keys.

    Their names are none of those that are `used`.
    """
    reading, adapter = trial.reading, trial.reading.adapter
    main, is_plain = trial.main, trial.target.name == "plain"
    # what other functions may ask for
    used = used | {"rollout", *OF_DATA, *adapter.needs, *reading.mapping.values()}
    docstring = getattr(adapter.called, "__doc__", None) or ""
    why = docstring.strip().partition("\n")[0]
    paid_options: dict[str, Any] = {"weight": reading.weight, "why": why, "range": None}
    unpaid = {"weight": 0.0, "why": "returned beside the score", "range": None}
    # A number or a dict will be seen; so it will where a trainer takes both and numbers
    # came.
    keys = trial.keys
    takes_both = isinstance(reading.main, tuple)
    is_unseen = not keys and main is not None and not (takes_both and trial.works)
    if not keys and not is_unseen:
        label = free_name(identifier(name), used)
        function = adapter.function
        is_changed = adapter.together or adapter.forms
        asks_by_name = is_plain and not is_changed
        if asks_by_name and [*reading.mapping] == required_parameters(function):
            columns = dict(reading.mapping)
            return {}, [Component(label, function, columns=columns, **paid_options)]
        if adapter.together == "batch":
            paid_options["batch"] = "group"
        elif adapter.together == "group":
            paid_options["group"] = True
        return {}, [Component(label, adapter, **paid_options)]
    field = f"{name}_result" if is_unseen else name
    field = free_name(identifier(field), used | set(keys))
    used.add(field)
    components = []
    for key in keys or [str(main)]:
        if trial.says_judged and key.startswith(JUDGED_PREFIX):
            continue
        judged = ""
        if trial.says_judged:
            judged = JUDGED if key == main else f"{JUDGED_PREFIX}{key}"
        label = name if is_unseen else f"{prefix}{key}"
        label = free_name(identifier(label), used)
        used.add(label)
        number = Key(key, judged=judged)
        if key == main:
            number = Key(key, main=True, judged=judged, none=trial.target.none)
        options = paid_options if key == main or main not in keys else unpaid
        components.append(
            Component(label, number, columns={"result": field}, **options)
        )
    return {field: adapter}, components


def _origin(trial: ReadingTrial, name: str, *, has_rows: bool) -> str:
    """Say how a function was read: as what, why, and what fills each argument."""
    reading = trial.reading
    sentences = [f"{name} read as {trial.target.title}: {reading.reason}"]
    if trial.failures:
        sample = "of the rollouts" if has_rows else "of a made-up sample"
        rows = f"{len(trial.failures)} of {len(trial.calls_made)} rows {sample}"
        sentences.append(f"on {rows} it failed: {trial.failures[0]}")
    if len(trial.calls_made) < len(trial.answers):
        assumed = "that it is called so and gives one number a completion"
        if trial.works:
            assumed = "that the others give the same kind of value"
        sentences.append(
            f"the other rows were not tried, as calls take long: {assumed} is assumed"
        )
    if trial.says_judged:
        sentences.append(f"no {trial.main} where {JUDGED} is 0")
    for key in trial.keys:
        lacking = [answer for answer in trial.dicts if key not in answer]
        if lacking:
            sentences.append(
                f"{len(lacking)} of {len(trial.dicts)} rows that were tried lack the "
                f"key {key!r} (the first has {list(lacking[0])}): return the same keys "
                "for each completion, as a trainer may mix rows up"
            )
    sources = [f"{name} from {column}" for name, column in reading.mapping.items()]
    return "; ".join([*sentences, ", ".join(sources)])
