"""Change: what a suggestion does to a reward and its scores; and proposals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from shlex import quote
from typing import Any, TypeVar

from rewardkit.analysis.view import View
from rewardkit.errors import InputError, RewardError, preview
from rewardkit.findings import Findings
from rewardkit.plain import Plain
from rewardkit.primitives import extract, measure
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.component import Component, is_async
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.reward import Part, Reward
from rewardkit.rewards.route import RoutedReward
from rewardkit.scoring.rescore import moved_by, rescore
from rewardkit.scoring.scores import Scores, select_rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """Other weights, attributes of components, extractors of fields, added components.

    `components` maps a name to new attributes, such as its gate or function. One with a
    gate on a later component moves to the end.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    components: Mapping[str, Plain] = field(default_factory=dict)
    fields: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    added: tuple[Component, ...] = ()

    def of_reward(self, reward: Reward) -> Reward:
        """Return the changed reward, of the same name.

        Raises:
            InputError: It lacks what is changed, or has what is added.
        """
        names = {*reward.names, *reward.fields}
        missing = sorted({*self.weights, *self.components, *self.fields} - names)
        double = [item.name for item in self.added if item.name in names]
        if missing or double:
            has = f"no {missing[0]!r}" if missing else f"a {double[0]!r} already"
            raise InputError(
                f"this change is not one of reward {reward.name!r}, which has {has}; "
                "apply it to the reward that was diagnosed"
            )
        items: list[Component] = []
        late: list[Component] = []
        for component in reward.components:
            item = replace(component, **self.components.get(component.name, {}))
            later = reward.names[reward.names.index(item.name) :]
            is_late = item.gate is not None and item.gate.on in later
            (late if is_late else items).append(item)
        fields = {**reward.fields, **self.fields}
        components = [*items, *late, *self.added]
        return replace(reward, fields=fields, components=components).reweigh(
            self.weights
        )

    def line(self, reward: Reward) -> str:
        """Return the code that makes the change, of `reward` or of its `scores`.

        `replace` in it is that of dataclasses.
        """
        if self.added:
            item = self.added[0]
            columns = f", columns={dict(item.columns)!r}" if item.columns else ""
            return (
                f'rk.Component("{item.name}", {as_line(item.function)}, '
                f"weight={item.weight!r}{columns})"
            )
        if self.fields:
            pairs = [f'"{name}": {as_line(of)}' for name, of in self.fields.items()]
            return f"replace(reward, fields={{**reward.fields, {', '.join(pairs)}}})"
        if self.weights:
            pairs = [f'"{name}": {weight!r}' for name, weight in self.weights.items()]
            return f"scores.reweigh({{{', '.join(pairs)}}})"
        ((name, attributes),) = self.components.items()
        values = [f"{key}={as_line(value)}" for key, value in attributes.items()]
        new = f"replace(item, {', '.join(values)})"
        loop = "for item in reward.components"
        if self.of_reward(reward).names == reward.names:
            items = f'{new} if item.name == "{name}" else item {loop}'
            return f"replace(reward, components=[{items}])"
        others = f'*(item {loop} if item.name != "{name}")'
        moved = f'*({new} {loop} if item.name == "{name}")'
        return f"replace(reward, components=[{others}, {moved}])"

    @property
    def options(self) -> str:
        """Return the options of `rewardkit whatif` that try it, "" without any."""
        options = []
        for name, weight in self.weights.items():
            options.append(f"--weight {quote(f'{name}={weight:g}')}")
        for name, attributes in self.components.items():
            item = attributes.get("gate")
            if isinstance(item, Gate) and item.at_least is not None:
                condition = f"{name}={item.on}>={item.at_least:g}"
                options.append(f"--gate {quote(condition)}")
        return " ".join(options)

    @property
    def touched(self) -> set[str]:
        """Return the fields and components that have to be run anew."""
        names = set(self.fields)
        for name, attributes in self.components.items():
            if "function" in attributes:
                names.add(name)
        return names


Changed = TypeVar("Changed", Reward, Scores)

_QUOTED_OR_CALLED = re.compile(
    r"'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|(?<![\w.])([a-z_]\w*)(?=\()"
)
_ROOMS = {name: room for room in (extract, measure) for name in room.__all__}


def as_line(value: Any) -> str:
    """Write a value as a person does: primitives by their public names.

    >>> import rewardkit as rk
    >>> as_line(rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number()))
    "rk.extract.first_of(rk.extract.tag('answer'), rk.extract.number())"
    """
    if isinstance(value, Gate):
        return f"rk.{value!r}"
    if not callable(value):
        return repr(value)
    return _QUOTED_OR_CALLED.sub(_public_name, describe(value))


def _public_name(match: re.Match[str]) -> str:
    room = _ROOMS.get(match[1])
    if room is None:
        return match[0]
    return f"rk.{room.__name__.rpartition('.')[2]}.{match[1]}"


def applied(change: Change, to: Changed, part: str = "") -> Changed:
    """Return a Reward or Scores with the change made; of a route in `part` only.

    Raises:
        InputError: Neither of them, or there is no such part.
        RewardError: Something has to be run that cannot be.
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
    reason = why_not_run(parts[0].reward, change.touched)
    if change.touched and reason:
        raise RewardError(
            f"the change of reward {reward.name!r} cannot be measured: {reason}"
        )
    return rescore(to, reward)[0]


def part_scores(scores: Scores, part: Part) -> Scores:
    """Return the scores of one part, as scores of its own reward."""
    return replace(select_rows(scores, part.rows), reward=part.reward)


def why_not_run(reward: Reward, touched: set[str]) -> str:
    """Say why fields or components cannot be run again, "" where they can."""
    if reward.recorded is not None:
        return "the reward was read from a record and cannot be run"
    moved = moved_by(reward, run=touched)
    for item in reward.components:
        if item.name in moved.run and is_async(item.function):
            return f"{item.name!r}, which is awaited, would have to be run again"
    return ""


def _in_part(reward: Reward, part: str, change: Callable[[Reward], Reward]) -> Reward:
    if not isinstance(reward, RoutedReward):
        return change(reward)
    try:
        return reward.map_part(part, change)
    except KeyError:
        raise InputError(
            f"the route has no reward for {part!r}, which the suggestion is for"
        ) from None


# --- proposals

PHRASES = {
    "graduate": "partial credit for {}",
    "looser_reading": "a looser reading for {}",
    "stricter_reading": "a stricter reading for {}",
    "pay_component": "a weight for {}",
    "gate_component": "a gate for {}",
    "soften_length": "a softer limit for {}",
    "remove_component": "no weight for {}",
}
"""What a change does, by its code."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A `change` of the reward of `scores` that answers findings, and `why`.

    It is not measured yet. `after` holds further figures, `examples` rows to read.
    """

    code: str
    component: str
    why: str
    change: Change
    scores: Scores
    after: Plain = field(default_factory=dict)
    examples: tuple[Plain, ...] = ()

    @cached_property
    def changed(self) -> Scores:
        """Return the scores with the change made."""
        return applied(self.change, self.scores)

    @property
    def phrase(self) -> str:
        """Return what the change does in words, as `describe_change` has it."""
        return describe_change(self.code, self.component)


@dataclass(frozen=True)
class LeftOut:
    """A change that is not proposed: `reason` says which one, and why."""

    reason: str


Proposals = Iterator[Proposal | LeftOut]
ProposalRule = Callable[[View, Scores, Findings], Proposals]
"""A rule: what to propose for one reward, its scores and its certain findings."""


def describe_change(code: str, component: str) -> str:
    """Return what a change does, such as "partial credit for 'correct'"."""
    return PHRASES[code].format(repr(component))
