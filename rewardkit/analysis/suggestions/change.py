"""Change: what a suggestion does to a reward, and to scores that were made with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

from rewardkit.analysis.rescore import moved_by, rescore
from rewardkit.errors import InputError, RewardError, preview
from rewardkit.primitives import extract, measure
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.reward import Part, Reward
from rewardkit.rewards.route import RoutedReward
from rewardkit.rewards.signature import is_async
from rewardkit.scoring.scores import Scores


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """Other weights, other attributes of components, other extractors of fields, and components to add.

    `components` maps a name to the attributes that are replaced, such as its gate or function. A component
    whose new gate is on a later one moves to the end.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    components: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fields: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    added: tuple[Component, ...] = ()

    def of_reward(self, reward: Reward) -> Reward:
        """The changed reward, of the same name.

        InputError: it lacks what is changed, or has what is added.
        """
        known = {*reward.names, *reward.fields}
        missing = sorted({*self.weights, *self.components, *self.fields} - known)
        if missing or (
            taken := [item.name for item in self.added if item.name in known]
        ):
            wrong = f"no {missing[0]!r}" if missing else f"a {taken[0]!r} already"
            raise InputError(
                f"this change is not one of reward {reward.name!r}, which has {wrong}; apply it to the "
                "reward that was diagnosed"
            )
        items = [
            replace(item, **self.components.get(item.name, {}))
            for item in reward.components
        ]

        def early(item: Component) -> bool:
            """Whether its gate is on a later one."""
            on = item.gate.on if item.gate is not None else None
            return on in reward.names[reward.names.index(item.name) :]

        changed = [*sorted(items, key=early), *self.added]
        fields = {**reward.fields, **self.fields}
        return replace(reward, fields=fields, components=changed).reweigh(self.weights)

    def line(self, reward: Reward) -> str:
        """The code that makes it, of `reward`, or of its `scores`; `replace` is that of dataclasses."""
        if self.added:
            return _component_line(self.added[0])
        if self.fields:
            said = ", ".join(
                f'"{name}": {as_line(function)}'
                for name, function in self.fields.items()
            )
            return f"replace(reward, fields={{**reward.fields, {said}}})"
        if self.weights:
            said = ", ".join(
                f'"{name}": {weight!r}' for name, weight in self.weights.items()
            )
            return f"scores.reweigh({{{said}}})"
        ((name, changed),) = self.components.items()
        said = ", ".join(f"{key}={as_line(value)}" for key, value in changed.items())
        new, it, all_of = (
            f"replace(item, {said})",
            f'item.name == "{name}"',
            "for item in reward.components",
        )
        if self.of_reward(reward).names == reward.names:
            return f"replace(reward, components=[{new} if {it} else item {all_of}])"
        others = f'*(item {all_of} if item.name != "{name}")'
        return f"replace(reward, components=[{others}, *({new} {all_of} if {it})])"

    @property
    def options(self) -> str:
        """The options of `rewardkit whatif` that try it; "" where there are none."""
        weights = [
            f"--weight {quote(f'{name}={weight:g}')}"
            for name, weight in self.weights.items()
        ]
        gates = [
            f"--gate {quote(f'{name}={item.on}>={item.at_least:g}')}"
            for name, changed in self.components.items()
            if isinstance(item := changed.get("gate"), Gate)
            and item.at_least is not None
        ]
        return " ".join([*weights, *gates])

    @property
    def touched(self) -> set[str]:
        """The fields and components that have to be run anew, for which the scores are not enough."""
        run = {
            name for name, changed in self.components.items() if "function" in changed
        }
        return run | set(self.fields)


MADE = re.compile(
    r"'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|(?<![\w.])([a-z_]\w*)(?=\()"
)


def as_line(value: Any) -> str:
    """A value as a person writes it: primitives by their public names.

    >>> import rewardkit as rk
    >>> as_line(rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number()))
    "rk.extract.first_of(rk.extract.tag('answer'), rk.extract.number())"
    """
    if isinstance(value, Gate):
        return f"rk.{value!r}"
    if not callable(value):
        return repr(value)

    rooms = {name: room for room in (extract, measure) for name in room.__all__}

    def named(found: re.Match[str]) -> str:
        room = rooms.get(found[1])
        return f"rk.{room.__name__.rpartition('.')[2]}.{found[1]}" if room else found[0]

    return MADE.sub(named, describe(value))


def _component_line(item: Component) -> str:
    mapped = f", columns={dict(item.columns)!r}" if item.columns else ""
    return f'rk.Component("{item.name}", {as_line(item.function)}, weight={item.weight!r}{mapped})'


def applied(change: Change, to: Any, part: str = "") -> Any:
    """A Reward or Scores with the change made, in a route only to the reward of `part`.

    InputError: neither of them, or no such part.
    """
    if isinstance(to, Reward):
        return _in_part(to, part, change.of_reward)
    if not isinstance(to, Scores):
        raise InputError(
            f"a suggestion applies to a Reward or Scores, not to {preview(to)}"
        )
    reward = _in_part(to.reward, part, change.of_reward)
    parts = [
        item
        for item in to.parts_of(reward)
        if not reward.routed_by or item.label == part
    ]
    if not parts:
        raise InputError(
            f"these scores have no rows of {part!r}, which the suggestion is for"
        )
    if change.touched and (why := why_not_run(parts[0].reward, change.touched)):
        raise RewardError(
            f"the change of reward {reward.name!r} cannot be measured: {why}"
        )
    return rescore(to, reward)[0]


def part_scores(scores: Scores, part: Part) -> Scores:
    """The scores of one part, as scores of its own reward."""
    table = scores.table.iloc[part.rows].reset_index(drop=True)
    rollouts = scores.rollouts.table.iloc[part.rows].reset_index(drop=True)
    return Scores(
        table, part.reward, replace(scores.rollouts, table=rollouts), scores.run
    )


def why_not_run(reward: Reward, touched: set[str]) -> str:
    """Why these cannot be run anew to try a change; "" where they can."""
    if reward.recorded is not None:
        return "the reward was read from a record and cannot be run"
    moved = moved_by(reward, run=touched)
    waits = [
        item.name
        for item in reward.components
        if item.name in moved.run and is_async(item.function)
    ]
    return (
        f"{waits[0]!r}, which is awaited, would have to be run again" if waits else ""
    )


def _in_part(reward: Reward, part: str, change: Callable[[Reward], Reward]) -> Reward:
    if not isinstance(reward, RoutedReward):
        return change(reward)
    try:
        return reward.map_part(part, change)
    except KeyError:
        raise InputError(
            f"the route has no reward for {part!r}, which the suggestion is for"
        ) from None
