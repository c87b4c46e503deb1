"""read(): what a value is as a reward, by its signature and by what it does on a tiny sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewardkit.errors import RewardError, did_you_mean, preview
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.scoring.calls import Failure
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.printed import caught_prints
from rewardkit.targets.adapter import OF_DATA, SAMPLE, Key, LacksColumn, Row, named
from rewardkit.targets.exported import RewardHolder, identifier
from rewardkit.targets.target import JUDGED, Reading, Target
from rewardkit.targets.trial import SECONDS, Allowance, Trial, tried

__all__ = ["parts", "read"]

SAMPLED = 16
"""Rows on which a function is tried, where there are rollouts. Our choice: a judge may be among them."""


def read(
    value: Any,
    name: str,
    targets: Sequence[Target],
    *,
    as_: str | None = None,
    rows: Sequence[Row] = (),
    timeout: float | None = None,
) -> Reward:
    """The reward that a trainer's function, object, class or list of functions is.

    `rows` are some of the rollouts it will see; without any a right and a wrong made-up completion are taken.
    A call may take `timeout` seconds, and all of one function together about twice that.
    RewardError: it is none, or can be read in several ways (`as_` names a target, or with a colon behind it
    a way, "trl:messages"); it asks for what nobody gives; it returns what no reward can be.
    """
    asked, _, way = (as_ or "").partition(":")
    chosen = [target for target in targets if asked in ("", target.name)]
    if not chosen:
        known = [target.name for target in targets]
        raise RewardError(f"there is no target {asked!r}; known are {known}{did_you_mean(asked, known)}")
    listed = isinstance(value, list | tuple)
    items = list(value) if listed else parts(value, chosen) or [value]
    if not items:
        raise RewardError(f"{name} is an empty list; a list of reward functions has at least one")
    fields: dict[str, Callable[..., Any]] = {}
    components: list[Component] = []
    said: list[str] = []
    several = len(items) > 1
    # What trial calls print is nobody's result.
    with caught_prints(), time_limit(SECONDS if timeout is None else timeout) as limit:
        assert limit is not None
        for item in items:
            label = _label(item, name) if several else name
            trial = _chosen(item, label, chosen, way, list(rows) or SAMPLE, limit)
            if several and not listed and trial.is_empty:
                said.append(f"{label} is left out: it gave nothing for the sample")
                continue
            _check_needs(trial, label, rows)
            _check(trial, label, chosen)
            _add(trial, label, fields, components, prefix=several and listed)
            said.append(_origin(trial, label, chosen, bool(rows)))
    if not components:
        raise RewardError(f"{name} gave nothing for the sample: {chosen[0].title} expects {chosen[0].form}")
    if several and listed:
        said.append("A completion that some functions return None for is scored by the others.")
    missing = "skip" if several and listed else "nan"
    return Reward(identifier(name), fields, components, on_missing=missing, origin="\n".join(said))


def parts(value: Any, targets: Sequence[Target]) -> list[Any]:
    """The reward functions in a value that holds several, such as the hooks of an environment."""
    found = (target.parts(value) for target in targets if target.parts is not None)
    return next((list(items) for items in found if items), [])


def _chosen(
    value: Any, name: str, targets: Sequence[Target], way: str, rows: Sequence[Row], limit: TimeLimit
) -> Trial:
    """The reading that is the only one, or the only one that works, or that tells completions apart.

    Of several ways of one trainer in which no completion differs from another the first is taken: the one
    that the rollouts are like. Where calls take long only some are made, see `Allowance`.
    """
    proposed = _proposed(value, name, targets, way, rows)
    allowance = Allowance.of(limit)

    def again(trial: Trial, rows: Sequence[Row]) -> bool:
        return trial.differs(tried(trial.reading, rows, limit, allowance))

    trials = [tried(reading, rows, limit, allowance) for reading in proposed]
    left = [trial for trial in trials if trial.works] or trials
    if taken := [trial for trial in left if trial.works and trial.reading.given]:
        return _with_others(taken[0], [trial for trial in left if trial is not taken[0]])
    if len(left) > 1:
        left = [trial for trial in left if trial.tells_apart] or left
        left = [trial for at, trial in enumerate(left) if not any(map(trial.is_like, left[:at]))]
    undecided = len(left) > 1 and left[0].tells_apart and not left[0].reading.given
    if undecided:  # the one that understood what it was given changes where all completions are another text
        other = [{**row, "completion": "?"} for row in rows]
        left = [trial for trial in left if again(trial, other)] or left
    if undecided and len(left) > 1 and again(left[0], rows):  # by chance: of each trainer the first is left
        first = {trial.reading.target: trial for trial in reversed(left)}
        left, undecided = [_because(trial, BY_CHANCE) for trial in left if trial in first.values()], False
    if len(left) > 1 and (undecided or len({trial.reading.target for trial in left}) > 1):
        candidates = "; ".join(
            f"{trial.reading.name}, {trial.reading.form} ({trial.reading.reason}"
            + ("" if trial.works else f"; on a sample: {trial.why_not}")
            + ")"
            for trial in left
        )
        choice = " or ".join(f"--as {trial.reading.name}" for trial in left)
        raise RewardError(f"{name} can be read in more ways than one: {candidates}; choose with {choice}")
    return _with_others(left[0], left[1:])


BY_CHANCE = "; it gives other values each time, so that none tells how it is called"


def _proposed(
    value: Any, name: str, targets: Sequence[Target], way: str, rows: Sequence[Row]
) -> list[Reading]:
    """The different ways in which the targets would call a value; only the sure ones, if there are any."""
    proposed: list[Reading] = []
    for target in targets:
        for reading in target.readings(value, rows if rows is not SAMPLE else ()):
            if all(reading.adapter != other.adapter for other in proposed):
                proposed.append(reading)
    proposed = [reading for reading in proposed if reading.sure] or proposed
    if not proposed:
        raise RewardError(_unknown(value, name, targets))
    asked = [reading for reading in proposed if way in ("", reading.way)]
    if not asked:
        ways = [reading.way for reading in proposed if reading.way]
        raise RewardError(f"{name} cannot be read as {way!r}; {targets[0].name} has {ways or 'one way only'}")
    return asked


def _because(trial: Trial, more: str) -> Trial:
    return replace(trial, reading=replace(trial.reading, reason=trial.reading.reason + more))


def _with_others(trial: Trial, others: Sequence[Trial]) -> Trial:
    """The trial whose reason says that in other ways other values came, of which they cannot tell."""
    names = [other.reading.name for other in others if other.works and trial.differs(other)]
    return (
        _because(trial, f" (other values as {', '.join(names)}: choose that with --as)") if names else trial
    )


def _unknown(value: Any, name: str, targets: Sequence[Target]) -> str:
    asked = list(parameters(value))
    what = f"its parameters are {asked}" if callable(value) else f"it is {preview(value)}"
    if len(targets) == 1:
        return f"{name} cannot be read as {targets[0].title}: {what}; expected {targets[0].form}"
    return (
        f"{name} is not a reward: {what}; give a Reward, a function that returns one, f(completion, "
        "ground_truth), or a reward function of one of "
        f"{', '.join(target.title for target in targets if target.name != 'plain')}"
    )


def _check_needs(trial: Trial, name: str, rows: Sequence[Row]) -> None:
    """RewardError where it cannot be called without a column that the rollouts do not have."""
    known = {column for row in rows for column in row}
    lacking = [column for column in trial.reading.adapter.needs if column not in known]
    told = [one.message if isinstance(one, Failure) else "" for one in trial.made]
    if rows and told and all(LacksColumn.__name__ in message for message in told):
        raise RewardError(
            f"{name} fails on each row that was tried: {told[0].partition(': ')[2]}; they have "
            f"{sorted(known)}; join it, or map a column to it"
        )
    if rows and lacking:
        raise RewardError(
            f"{name} asks for {lacking[0]!r}; the rollouts have {sorted(known)}"
            f"{did_you_mean(lacking[0], known) or '; set a constant, join it, or map a column to it'}"
        )


def _check(trial: Trial, name: str, targets: Sequence[Target]) -> None:
    """RewardError where nothing that came back can be a reward, though calls went well."""
    main = trial.reading.main
    if trial.keys and main is not None and main not in trial.keys and trial.reading.target != "plain":
        raise RewardError(
            f"{name} returned a dict with {list(trial.keys)}, without {main!r}, which "
            f"{_title(trial.reading.target, targets)} pays; expected {trial.reading.form}"
        )
    if trial.works or any(isinstance(answer, Failure) for answer in trial.made) or not trial.made:
        return
    raise RewardError(
        f"{name} returned {preview(trial.answers[0])} of type {type(trial.answers[0]).__name__} for a "
        f"completion; {_title(trial.reading.target, targets)} expects {trial.reading.form}"
    )


def _add(
    trial: Trial,
    name: str,
    fields: dict[str, Callable[..., Any]],
    components: list[Component],
    *,
    prefix: bool,
) -> None:
    """The components of one function: itself, or a number for each key of what it gives."""
    reading, adapter = trial.reading, trial.reading.adapter
    main, plain = reading.main, reading.target == "plain"
    taken = {item.name for item in components} | set(fields)
    taken |= {"rollout", *OF_DATA, *adapter.needs, *reading.mapping.values()}  # what others may ask for
    why = (getattr(adapter.called, "__doc__", None) or "").strip().partition("\n")[0]

    def add(label: str, function: Any, *, paid: bool = True, **options: Any) -> None:
        weight, said = (reading.weight, why) if paid else (0.0, "returned beside the score")
        components.append(Component(label, function, weight=weight, why=said, range=None, **options))

    # A number or a dict: that will be seen; of a trainer that takes a dict as well also where numbers came.
    unseen = not trial.keys and main is not None and not (plain and trial.works) and not adapter.siblings
    if not trial.keys and not unseen:
        as_it_is = plain and list(reading.mapping) == named(adapter.function)
        add(
            _free(identifier(name), taken),
            adapter.function if as_it_is else adapter,
            columns=dict(reading.mapping) if as_it_is else None,
            batch="group" if adapter.batch else False,
            group=adapter.siblings,
        )
        return
    field = _free(identifier(f"{name}_result" if unseen else name), taken | set(trial.keys))
    fields[field] = adapter
    judged = JUDGED if trial.says_judged and _is_ours(adapter) else ""
    for key in trial.keys or (str(main),):
        label = _free(identifier(name if unseen else f"{name}_{key}" if prefix else key), taken | set(fields))
        taken.add(label)
        read = Key(key, main=True, judged=judged, none=reading.none) if key == main else Key(key)
        add(label, read, paid=key == main or main not in trial.keys, columns={"result": field})


def _is_ours(adapter: Any) -> bool:
    """Whether the function is one that export wrote: what it calls holds a reward."""
    names = getattr(adapter.function, "__globals__", {})
    return any(isinstance(value, RewardHolder) for value in names.values())


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _label(item: Any, name: str) -> str:
    return str(getattr(item, "__name__", None) or type(item).__name__ or name)


def _title(target: str, targets: Sequence[Target]) -> str:
    return next(item.title for item in targets if item.name == target)


def _origin(trial: Trial, name: str, targets: Sequence[Target], real: bool) -> str:
    """How it was read, in a sentence: as what, why, and which column each argument is taken from."""
    reading = trial.reading
    taken = ", ".join(f"{argument} from {column}" for argument, column in reading.mapping.items())
    failed = [answer for answer in trial.made if isinstance(answer, Failure)]
    trouble = ""
    if failed:
        sample = "of the rollouts" if real else "of a made-up sample"
        trouble = f"; on {len(failed)} of {len(trial.made)} rows {sample} it failed: {failed[0].message}"
    if len(trial.made) < len(trial.answers):
        like_these = "that the others give the same kind of value"
        assumed = like_these if trial.works else "that it is called so and gives one number a completion"
        trouble += f"; the other rows were not tried, as calls take long: {assumed} is assumed"
    if trial.says_judged and _is_ours(reading.adapter):
        trouble += f"; no {reading.main} where {JUDGED} is 0"
    dicts = [answer for answer in trial.answers if isinstance(answer, Mapping)]
    if changing := [key for key in trial.keys if any(key not in answer for answer in dicts)]:
        trouble += f"; keys that are not always there: {', '.join(changing)} (a trainer may mix rows up)"
    return f"{name} read as {_title(reading.target, targets)}: {reading.reason}{trouble}; {taken}"
