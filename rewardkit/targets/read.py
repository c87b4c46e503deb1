"""read_reward(): read a trainer's function, class or list of functions as a Reward."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewardkit.errors import RewardError, did_you_mean, preview
from rewardkit.rewards.candidates import RewardList
from rewardkit.rewards.component import Component
from rewardkit.rewards.recorded import weights_of_parts
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.users_code import label_of
from rewardkit.rollouts.columns import JUDGED_PREFIX, LOGGED, free_name
from rewardkit.targets.adapter import Key, LacksColumn
from rewardkit.targets.choice import (
    DIFFERS,
    ChoiceOptions,
    choice_options,
    choose_reading,
)
from rewardkit.targets.columns import (
    OBJECT_COLUMNS,
    OF_DATA,
    Row,
    keys_read,
    required_parameters,
)
from rewardkit.targets.exported import identifier
from rewardkit.targets.target import JUDGED, RewardPart, Target
from rewardkit.targets.trial import (
    Allowance,
    Numbers,
    ReadingTrial,
    columns_of_numbers,
    scores_of_log,
    try_reading,
)

LACKING_SHARE = 0.5
"""Share of the tried rows that fail for a missing column from which it is refused: what
else would be found there is no fault of the reward. Our choice."""
LIVE_OBJECTS = frozenset(
    "environments environment env envs tokenizer processing_class model trainer "
    "accelerator client sandbox".split()
)
"""Arguments that trainers pass and no file can hold."""


def read_reward(
    value: Any,
    name: str,
    *,
    as_: str | None = None,
    rows: Sequence[Row] = (),
    timeout: float | None = None,
) -> Reward:
    """Read a trainer's function, object, class or list of functions as a reward.

    Args:
        value: The function, object, class or list.
        name: Its name.
        as_: A target, or a target and a way, as "trl:messages".
        rows: Some of the rollouts to score later; by default a right and a wrong
            made-up completion.
        timeout: Seconds for a trial call; all of one function may take about twice
            that.

    Raises:
        RewardError: `value` is no reward or can be read in several ways, it asks for
            something that no column has, or its result cannot be a reward.
    """
    if isinstance(value, list | tuple):
        value = RewardList.of(value)
    is_list = isinstance(value, RewardList)
    with choice_options(as_, rows, timeout) as options:
        any_target = options
        if is_list:
            members = _add_weights(value, rows)
        else:
            targets, members = _find_members(value, name, options.targets)
            options = replace(options, targets=targets)
        if not members:
            raise RewardError(
                f"{name} is an empty list; a list of reward functions has at least one"
            )
        trials, notes = _try_members(members, options, any_target, is_list=is_list)
    if not trials:
        raise RewardError(
            f"{name} gave nothing for the sample: {options.targets[0].title} expects "
            f"{options.targets[0].form}"
        )
    are_several = len(members) > 1
    is_sum = are_several and is_list
    if is_sum:
        notes.append(
            "A completion that some functions return None for is scored by the others."
        )
    origins = []
    for label, trial in trials:
        origin = _describe_origin(trial, label, has_rows=bool(rows), is_guess=not as_)
        origins.append(origin)
    if are_several:
        origins.insert(0, " ".join([f"{_describe_targets(trials)}.", *notes]))
    fields: dict[str, Any] = {}
    components: list[Component] = []
    for label, trial in trials:
        used = {*fields, *(component.name for component in components)}
        prefix = f"{label}_" if is_sum else ""
        own_fields, own_components = _components_of(trial, label, used, prefix)
        fields |= own_fields
        components += own_components
    return Reward(
        identifier(name),
        fields,
        components,
        on_missing="skip" if is_sum else "nan",
        origin="\n".join(origins),
    )


def _try_members(
    members: Members,
    options: ChoiceOptions,
    any_target: ChoiceOptions,
    *,
    is_list: bool,
) -> tuple[list[tuple[str, ReadingTrial]], list[str]]:
    """Choose and check a reading of each function; return the trials, and notes.

    One of several methods is left out if it gives nothing for the sample.
    """
    trials = []
    notes = []
    for label, function, weight in members:
        trial = _choose(function, label, options, any_target)
        gave_nothing = all(answer == {} for answer in trial.answers)
        if gave_nothing and len(members) > 1 and not is_list:
            notes.append(f"{label} is left out: it gave nothing for the sample.")
            continue
        _check_answers(trial, label, options)
        if weight is not None:
            trial = replace(trial, reading=replace(trial.reading, weight=weight))
        trials.append((label, trial))
    return trials, notes


Members = Sequence[tuple[str, Any, float | None]]
"""Reward functions to add up: label, function, and weight or None."""


def _add_weights(functions: RewardList, rows: Sequence[Row]) -> Members:
    """Return functions with the weights of their file, or else those of the log.

    Without either, a weight is None, and the reading of the function decides.
    """
    columns = parts_of_log(rows)
    if functions.has_weights or not set(functions.labels) <= columns.keys():
        return functions.members
    parts = {label: columns[label] for label in functions.labels}
    for total in scores_of_log(rows).values():
        weights = weights_of_parts(total, parts)
        if weights:
            return [
                (label, function, weights.get(label, 0.0))
                for label, function, _ in functions.members
            ]
    return functions.members


def parts_of_log(rows: Sequence[Row]) -> dict[str, Numbers]:
    """Return the numeric columns, which may be scores of functions, by name."""
    columns = columns_of_numbers(rows)
    return {name.removeprefix(LOGGED): columns[name] for name in columns}


def _find_members(
    value: Any, name: str, targets: Sequence[Target]
) -> tuple[Sequence[Target], Members]:
    """Return the functions of a value that holds several, and the target of them.

    Any other value is its own only member, for all targets.
    """
    for target in targets:
        parts = target.parts(value) if target.parts else ()
        if parts:
            members: Members = [(label_of(part), part, None) for part in parts]
            if len(parts) == 1:
                members = [(name, parts[0], None)]
            return [target], members
    return targets, [(name, value, None)]


def _describe_targets(trials: Sequence[tuple[str, ReadingTrial]]) -> str:
    """Say which functions were read as those of which target."""
    names: dict[str, list[str]] = {}
    for name, trial in trials:
        names.setdefault(trial.target.title, []).append(name)
    return "; ".join(f"{', '.join(names[title])} read as {title}" for title in names)


def _describe_lacking(
    trial: ReadingTrial, name: str, column: str, columns: Collection[str]
) -> str:
    """Say which parameter of a function asks for a missing column, and what to do."""
    argument = repr(column)
    for parameter, source in trial.reading.mapping.items():
        if source == column and parameter not in (column, f"{column}s"):
            argument = f"{parameter!r}, which is the column {column!r}"
    sentence = f"{name} asks for {argument}; the rollouts have {sorted(columns)}; "
    if column in LIVE_OBJECTS:
        return (
            f"{sentence}no log holds such live objects: name the other functions of "
            "the reward, as file.py:a,b, or log what it reads of them"
        )
    return (
        f"{sentence}map a column to it with columns={{{column!r}: ...}}, set a "
        f"constant, or join it{did_you_mean(column, columns)}"
    )


VALUES_TRIED = (1.0, [1.0], "1", {"score": 1.0})
"""Values to try for a key that no row has. Our choice."""


def _find_deciding_key(trial: ReadingTrial, options: ChoiceOptions) -> str:
    """Return a key of an object that no row has and that decides the rewards, or "".

    The search runs only if all rows get the same reward while the scores of the log
    differ. A key decides if a value for it changes the rewards. A function that asks a
    model is not called for this.
    """
    agreement = trial.agreement(options.rows)
    is_other = agreement is not None and agreement <= DIFFERS
    if not is_other or not trial.works or trial.tells_apart:
        return ""
    if _asks_model(trial.reading.adapter.called):
        return ""
    allowance = Allowance(options.limit.seconds)  # for all keys and values
    for name in OBJECT_COLUMNS:
        objects = [row.get(name) or {} for row in options.rows]
        are_objects = all(isinstance(item, Mapping) for item in objects)
        if name not in trial.reading.mapping or not are_objects:
            continue
        for key, _ in keys_read(trial.reading.adapter.called, name):
            is_lacking = not any(key in item for item in objects)
            if is_lacking and _changes_rewards(trial, options, name, key, allowance):
                return f"{name}[{key!r}]"
    return ""


def _asks_model(function: Any) -> bool:
    """Return whether a function, or an object that its code names, asks a model."""
    values = [function]
    if inspect.isfunction(function) or inspect.ismethod(function):
        used = inspect.getclosurevars(function)
        values += [*used.globals.values(), *used.nonlocals.values()]
    return any(getattr(value, "asks_model", False) for value in values)


def _changes_rewards(
    trial: ReadingTrial,
    options: ChoiceOptions,
    name: str,
    key: str,
    allowance: Allowance,
) -> bool:
    """Return whether a value under a key of an object changes the rewards."""
    for value in VALUES_TRIED:
        rows = []
        for row in options.rows:
            rows.append({**row, name: {**(row.get(name) or {}), key: value}})
        other = try_reading(trial.target, trial.reading, rows, options.limit, allowance)
        if trial.differs(other):
            return True
    return False


def _check_answers(trial: ReadingTrial, name: str, options: ChoiceOptions) -> None:
    """Raise a RewardError if the calls lack a column or return no reward."""
    rows = options.rows
    columns: set[str] = set().union(*rows)
    main, target, failures = trial.main, trial.target, trial.failures
    if rows:
        lacks = []
        for reason in failures:
            if reason.error == LacksColumn.__name__:
                lacks.append(reason)
        if lacks and len(lacks) > LACKING_SHARE * len(trial.calls_made):
            raise RewardError(
                f"{name} fails on {len(lacks)} of {len(trial.calls_made)} rows that "
                f"were tried: {lacks[0].words} "
                f"({lacks[0].place}); they have {sorted(columns)}; join it, or map a "
                "column to it"
            )
        for column in trial.reading.adapter.needs:
            if column not in columns:
                raise RewardError(_describe_lacking(trial, name, column, columns))
        lacking = _find_deciding_key(trial, options)
        if lacking:
            raise RewardError(
                f"{name} reads {lacking}, which no row has, and gives every row that "
                "was tried the same, where the log has different scores: neither the "
                "rollouts nor a joined data set hold it. Log or join it; the log alone "
                "shows the run (rewardkit monitor)"
            )
    lacks_main = trial.keys and main is not None and main not in trial.keys
    if lacks_main and not isinstance(trial.reading.main, tuple):
        raise RewardError(
            f"{name} returned a dict with {trial.keys}, without {main!r}, which "
            f"{target.title} pays; expected {target.form}"
        )
    if trial.calls_made and not trial.works and not failures:
        answer = trial.answers[0]
        advice = ""
        kind = type(answer).__name__
        if isinstance(answer, list):
            kind = "list or tuple"  # which of both is not kept
            advice = "; of several parts return the sum, or a function for each"
            if not all(isinstance(part, int | float) for part in answer):
                advice = "; return the number in it that is paid"
        raise RewardError(
            f"{name} returned {preview(answer)} of type {kind} for a "
            f"completion; {target.title} expects {target.form}{advice}"
        )


def _components_of(
    trial: ReadingTrial, name: str, used: set[str], prefix: str
) -> tuple[dict[str, Any], list[Component]]:
    """Return the fields and components of a function: itself, or one per key.

    Their names are not in `used`.
    """
    reading, adapter = trial.reading, trial.reading.adapter
    main, is_plain = trial.main, trial.target.name == "plain"
    # names that other functions may ask for
    used = used | {"rollout", *OF_DATA, *adapter.needs, *reading.mapping.values()}
    docstring = getattr(adapter.called, "__doc__", None) or ""
    why = docstring.strip().partition("\n")[0]
    paid_options: dict[str, Any] = {"weight": reading.weight, "why": why, "range": None}
    unpaid = {"weight": 0.0, "why": "returned beside the score", "range": None}
    # No answer has shown yet whether the function returns a number or a dict. If the
    # trainer takes both, an answer with a number decides.
    keys = trial.keys
    takes_both = isinstance(reading.main, tuple)
    is_unseen = not keys and main is not None and not (takes_both and trial.works)
    if not keys and not is_unseen:
        label = free_name(identifier(name), used)
        function = adapter.function
        is_changed = adapter.together or adapter.forms or adapter.method
        asks_by_name = is_plain and not (is_changed or adapter.gives_row)
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
        # a plain function has no known trainer that needs equal keys in all rows
        number = Key(key, judged=judged, optional=is_plain and main in keys)
        if key == main:
            number = Key(key, main=True, judged=judged, none=trial.target.none)
        options = paid_options if key == main or main not in keys else unpaid
        components.append(
            Component(label, number, columns={"result": field}, **options)
        )
    return {field: adapter}, components


def _choose(
    value: Any, name: str, options: ChoiceOptions, any_target: ChoiceOptions
) -> ReadingTrial:
    """Choose a reading; if a part always fails, try its owner.

    Classes of other trainers may have methods of the same names.
    """
    trial = choose_reading(value, name, options)
    if trial.fails and isinstance(value, RewardPart):
        try:
            of_owner = choose_reading(value.owner, name, any_target)
        except RewardError:
            return trial
        return of_owner if of_owner.works else trial
    return trial


def _describe_origin(
    trial: ReadingTrial, name: str, *, has_rows: bool, is_guess: bool
) -> str:
    """Say how a function was read: as which target, why, and with which columns."""
    reading = trial.reading
    sentences = [f"{name} read as {trial.target.title}: {reading.reason}"]
    if trial.failures:
        sample = "of the rollouts" if has_rows else "of a made-up sample"
        rows = f"{len(trial.failures)} of {len(trial.calls_made)} rows {sample}"
        sentences.append(f"on {rows} it failed: {trial.failures[0]}")
        if trial.fails and is_guess:
            sentences.append(
                "that it is called so is a guess from names: choose another with --as, "
                "such as --as plain"
            )
    if len(trial.calls_made) < len(trial.answers):
        assumed = "that it is called so and gives one number a completion"
        if trial.works:
            assumed = "that the others give the same kind of value"
        sentences.append(
            f"the other rows were not tried, as calls take long: {assumed} is assumed"
        )
    numbers = [f"part_{number}" for number in range(1, len(trial.keys))]
    if numbers and trial.keys == ["score", *numbers]:  # of a tuple
        sentences.append(f"pays the first of {len(trial.keys)} numbers")
    if trial.says_judged:
        sentences.append(f"no {trial.main} where {JUDGED} is 0")
    keys = trial.keys
    if trial.target.name == "plain" and trial.main in keys:
        keys = []
    for key in keys:
        lacking = [answer for answer in trial.dicts if key not in answer]
        if lacking:
            sentences.append(
                f"{len(lacking)} of {len(trial.dicts)} rows that were tried lack the "
                f"key {key!r} (the first has {list(lacking[0])}): return the same keys "
                "for each completion, as a trainer may mix rows up"
            )
    sources = [f"{name} from {column}" for name, column in reading.mapping.items()]
    return "; ".join([*sentences, ", ".join(sources)])
