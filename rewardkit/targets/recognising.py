"""read(): what a value is as a reward, by its signature and by what it does on a tiny sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from rewardkit import targets as room
from rewardkit.errors import RewardError, did_you_mean, preview
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.printed import caught_prints
from rewardkit.targets.adapter import OF_DATA, SAMPLE, Key, LacksColumn, Row, named
from rewardkit.targets.exported import identifier
from rewardkit.targets.target import JUDGED, Reading, Target
from rewardkit.targets.trial import LATE, SECONDS, Allowance, Trial, tried

SAMPLED = 16
"""Rows on which a function is tried, where there are rollouts. Our choice: a judge may be among them."""


def read(
    value: Any,
    name: str,
    *,
    as_: str | None = None,
    rows: Sequence[Row] = (),
    timeout: float | None = None,
) -> Reward:
    """The reward that a trainer's function, object, class or list of functions is.

    `rows` are some of the rollouts it will see; without any a right and a wrong made-up
    completion are taken. A call may take `timeout` seconds, and all of one function
    together about twice that. RewardError: it is none, or can be read in several ways
    (`as_` names a target, or with a colon behind it a way, "trl:messages"); it asks for
    what nobody gives; it returns what no reward can be.
    """
    asked, _, way = (as_ or "").partition(":")
    targets: Sequence[Target] = [room.named(asked)] if asked else room.TARGETS
    listed = isinstance(value, list | tuple)
    items: Sequence[Any] = value if listed else [value]
    for target in targets if not listed else ():
        if target.parts is not None and (parts := target.parts(value)):
            targets, items = [target], parts
            break
    if not items:
        raise RewardError(
            f"{name} is an empty list; a list of reward functions has at least one"
        )
    several = len(items) > 1
    fields: dict[str, Callable[..., Any]] = {}
    components: list[Component] = []
    said: list[str] = []
    read_as: dict[str, list[str]] = {}  # title of a target -> the functions
    notes: list[str] = []
    # What trial calls print is nobody's result.
    with caught_prints(), time_limit(SECONDS if timeout is None else timeout) as limit:
        assert limit is not None
        for item in items:
            label = (
                str(getattr(item, "__name__", type(item).__name__)) if several else name
            )
            trial = _chosen(item, label, targets, way, list(rows) or SAMPLE, limit)
            if several and not listed and all(answer == {} for answer in trial.answers):
                notes.append(f"{label} is left out: it gave nothing for the sample.")
                continue
            _check(trial, label, rows)
            _add(trial, label, fields, components, several and listed)
            said.append(_origin(trial, label, real=bool(rows)))
            read_as.setdefault(trial.target.title, []).append(label)
    if not components:
        raise RewardError(
            f"{name} gave nothing for the sample: {targets[0].title} expects {targets[0].form}"
        )
    if several:
        notes += [
            "A completion that some functions return None for is scored by the others."
        ] * listed
        whole = "; ".join(
            f"{', '.join(names)} read as {title}" for title, names in read_as.items()
        )
        said.insert(0, " ".join([f"{whole}.", *notes]))
    missing = "skip" if several and listed else "nan"
    return Reward(
        identifier(name), fields, components, on_missing=missing, origin="\n".join(said)
    )


def _chosen(
    value: Any,
    name: str,
    targets: Sequence[Target],
    way: str,
    rows: Sequence[Row],
    limit: TimeLimit,
) -> Trial:
    """The reading that is the only one, or the only one that works, or that tells completions apart.

    Of several ways of one trainer in which no completion differs from another the first
    is taken: the one that the rollouts are like. Where calls take long only some are
    made, see `Allowance`.
    """
    allowance = Allowance(LATE * limit.seconds)
    proposed = _proposed(value, name, targets, way, rows)
    trials = [
        tried(target, reading, rows, limit, allowance) for target, reading in proposed
    ]
    left = [trial for trial in trials if trial.works] or trials
    several = len(left) > 1 and not (left[0].works and left[0].reading.given)
    if several:
        left = [trial for trial in left if trial.tells_apart] or left
        alike = [
            [trial.tells_apart and trial.answers == other.answers for other in left]
            for trial in left
        ]
        left = [trial for at, trial in enumerate(left) if not any(alike[at][:at])]
    undecided = several and len(left) > 1 and left[0].tells_apart
    if undecided:  # the one that understood what it was given changes where each completion is another text
        other_rows = [{**row, "completion": "?"} for row in rows]
        others = [
            tried(trial.target, trial.reading, other_rows, limit, allowance)
            for trial in left
        ]
        left = [
            one for one, other in zip(left, others, strict=True) if one.differs(other)
        ] or left
    if (
        several
        and len(left) > 1
        and (undecided or len({trial.target.name for trial in left}) > 1)
    ):
        raise RewardError(
            f"{name} can be read in more ways than one: {'; '.join(map(_candidate, left))}; choose with "
            + " or ".join(f"--as {trial.name}" for trial in left)
        )
    taken = left[0]
    if other := [one.name for one in left[1:] if one.works and taken.differs(one)]:
        more = f" (other values as {', '.join(other)}: choose that with --as)"
        taken = replace(
            taken, reading=replace(taken.reading, reason=taken.reading.reason + more)
        )
    return taken


def _candidate(trial: Trial) -> str:
    """A trial among several, and why it did not work if so."""
    failed = (
        f"; on a sample: {trial.failed[0]}" if trial.failed and not trial.works else ""
    )
    return f"{trial.name}, {trial.target.form} ({trial.reading.reason}{failed})"


def _proposed(
    value: Any, name: str, targets: Sequence[Target], way: str, rows: Sequence[Row]
) -> list[tuple[Target, Reading]]:
    """The different ways in which the targets would call a value; only the sure ones, if there are any."""
    proposed: list[tuple[Target, Reading]] = []
    for target in targets:
        for reading in target.readings(value, rows if rows is not SAMPLE else ()):
            if all(reading.adapter != other.adapter for _, other in proposed):
                proposed.append((target, reading))
    proposed = [one for one in proposed if one[1].sure] or proposed
    if asked := [one for one in proposed if way in ("", one[1].way)]:
        return asked
    if proposed:
        ways = [reading.way for _, reading in proposed if reading.way]
        raise RewardError(
            f"{name} cannot be read as {way!r}; {targets[0].name} has {ways or 'one way only'}"
        )
    what = (
        f"its parameters are {list(parameters(value))}"
        if callable(value)
        else f"it is {preview(value)}"
    )
    if len(targets) == 1:
        raise RewardError(
            f"{name} cannot be read as {targets[0].title}: {what}; expected {targets[0].form}"
        )
    raise RewardError(
        f"{name} is not a reward: {what}; give a Reward, a function that returns one, f(completion, "
        "ground_truth), or a reward function of one of "
        f"{', '.join(target.title for target in targets if target.name != 'plain')}"
    )


def _check(trial: Trial, name: str, rows: Sequence[Row]) -> None:
    """RewardError where it cannot be called with these rows, or nothing that came back can be a reward."""
    known = {column for row in rows for column in row}
    main, target, failed = trial.reading.main, trial.target, trial.failed
    lacks = [
        f"{reason.words} ({reason.place})"
        for reason in failed
        if reason.error == LacksColumn.__name__
    ]
    if rows and lacks and len(lacks) == len(trial.made):
        raise RewardError(
            f"{name} fails on each row that was tried: {lacks[0]}; they have {sorted(known)}; join it, or "
            "map a column to it"
        )
    if rows and (
        lacking := [
            column for column in trial.reading.adapter.needs if column not in known
        ]
    ):
        raise RewardError(
            f"{name} asks for {lacking[0]!r}; the rollouts have {sorted(known)}"
            f"{did_you_mean(lacking[0], known) or '; set a constant, join it, or map a column to it'}"
        )
    if (
        trial.keys
        and main is not None
        and main not in trial.keys
        and target.name != "plain"
    ):
        raise RewardError(
            f"{name} returned a dict with {trial.keys}, without {main!r}, which {target.title} pays; "
            f"expected {target.form}"
        )
    if trial.made and not trial.works and not failed:
        raise RewardError(
            f"{name} returned {preview(trial.answers[0])} of type {type(trial.answers[0]).__name__} for a "
            f"completion; {target.title} expects {target.form}"
        )


def _add(
    trial: Trial,
    name: str,
    fields: dict[str, Callable[..., Any]],
    components: list[Component],
    prefix: bool,
) -> None:
    """The components of one function: itself, or a number for each key of what it gives."""
    reading, held = trial.reading, trial.reading.adapter
    main, plain = reading.main, trial.target.name == "plain"
    taken = {item.name for item in components} | set(fields)
    taken |= {
        "rollout",
        *OF_DATA,
        *held.needs,
        *reading.mapping.values(),
    }  # what others may ask for
    why = (getattr(held.called, "__doc__", None) or "").strip().partition("\n")[0]

    def add(label: str, function: Any, *, paid: bool = True, **options: Any) -> None:
        weight, said = (
            (reading.weight, why) if paid else (0.0, "returned beside the score")
        )
        components.append(
            Component(label, function, weight=weight, why=said, range=None, **options)
        )

    # A number or a dict: that will be seen; of a trainer that takes a dict as well also
    # where numbers came.
    unseen = not trial.keys and main is not None and not (plain and trial.works)
    if not trial.keys and not unseen:
        label, as_it_is = (
            _free(identifier(name), taken),
            list(reading.mapping) == named(held.function),
        )
        if plain and as_it_is:
            add(label, held.function, columns=dict(reading.mapping))
        else:
            add(
                label,
                held,
                batch="group" if held.together == "batch" else False,
                group=held.together == "group",
            )
        return
    field = _free(
        identifier(f"{name}_result" if unseen else name), taken | set(trial.keys)
    )
    fields[field] = held
    judged = JUDGED if trial.says_judged else ""
    for key in trial.keys or [str(main)]:
        label = _free(
            identifier(name if unseen else f"{name}_{key}" if prefix else key),
            taken | set(fields),
        )
        taken.add(label)
        none = trial.target.none
        read = (
            Key(key, main=True, judged=judged, none=none) if key == main else Key(key)
        )
        add(
            label,
            read,
            paid=key == main or main not in trial.keys,
            columns={"result": field},
        )


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken."""
    names = (name if number < 2 else f"{name}_{number}" for number in count(1))
    return next(free for free in names if free not in taken)


def _origin(trial: Trial, name: str, *, real: bool) -> str:
    """How it was read, in a sentence: as what, why, and which column each argument is taken from."""
    said = [f"{name} read as {trial.target.title}: {trial.reading.reason}"]
    if trial.failed:
        sample = "of the rollouts" if real else "of a made-up sample"
        rows = f"{len(trial.failed)} of {len(trial.made)} rows {sample}"
        said.append(f"on {rows} it failed: {trial.failed[0]}")
    if len(trial.made) < len(trial.answers):
        like_these = "that the others give the same kind of value"
        assumed = (
            like_these
            if trial.works
            else "that it is called so and gives one number a completion"
        )
        said.append(
            f"the other rows were not tried, as calls take long: {assumed} is assumed"
        )
    if trial.says_judged:
        said.append(f"no {trial.reading.main} where {JUDGED} is 0")
    if changing := [
        key for key in trial.keys if any(key not in answer for answer in trial.dicts)
    ]:
        said.append(
            f"keys that are not always there: {', '.join(changing)} (a trainer may mix rows up)"
        )
    said.append(
        ", ".join(
            f"{argument} from {column}"
            for argument, column in trial.reading.mapping.items()
        )
    )
    return "; ".join(said)
