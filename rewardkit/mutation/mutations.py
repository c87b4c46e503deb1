"""Make the mutants of a reward: copies with a single change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from types import FunctionType
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.mutation.code import Changed, CodeChange, code_changes_of, user_parts
from rewardkit.mutation.options import option_changes, scaled, written
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import ON_MISSING
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import RoutedReward

LONGEST_CODE = 70
"""Characters of code in a sentence; `before` and `after` have all of it."""


@dataclass(frozen=True, eq=False)
class Mutant:
    """A copy of a reward with a single change.

    `owner` names the changed part and `says` describes its new behaviour. `component`
    is the name of the component or field, None for the whole reward. `part` is the
    value of the route with the changed reward, "" without a route. `before` and `after`
    are code.
    """

    kind: str
    owner: str
    component: str | None
    says: str
    before: str
    after: str
    reward: Reward
    part: str = ""

    @property
    def sentence(self) -> str:
        """Describe the change in one sentence."""
        where = f"[{self.part}] " if self.part else ""
        return f"{where}{self.owner[0].upper()}{self.owner[1:]} {self.says}."


@dataclass(frozen=True, repr=False)
class Always:
    """A function with a constant score."""

    value: float

    def __call__(self) -> float:
        """Return the score."""
        return self.value

    def __repr__(self) -> str:
        return f"always {self.value:g}"


def mutants_of(reward: Reward) -> tuple[list[Mutant], list[str]]:
    """Return the mutants of a reward; for a route, of each of its rewards.

    Returns:
        The mutants, and a sentence for each part that was left out.
    """
    if isinstance(reward, RoutedReward):
        return _change_route(reward)
    code_changes, left_out = code_changes_of(reward)
    for component in reward.components:
        if component.group:
            left_out.append(
                f"how component {component.name!r} scores: a case is a group of its "
                "own, so that it abstains"
            )
    if reward.transform:
        left_out.append("the transform: cases speak of the reward before it")
    mutants = [
        *_change_missing(reward),
        *_change_weights(reward),
        *_change_gates(reward),
        *_fix_scores(reward),
        *_change_options(reward),
    ]
    for change in code_changes:
        mutants += _with_code(reward, change)
    return mutants, left_out


def _change_route(route: RoutedReward) -> tuple[list[Mutant], list[str]]:
    mutants = []
    left_out = []
    for branch in dict.fromkeys(route.branches):
        sources = [
            str(key) for key, reward in route.rewards.items() if reward is branch
        ]
        if route.default is branch:
            sources.append("default")
        part = ", ".join(sources)
        branch_mutants, branch_left_out = mutants_of(branch)
        for mutant in branch_mutants:
            routed = _with_branch(route, branch, mutant.reward)
            mutants.append(replace(mutant, reward=routed, part=part))
        left_out += [f"[{part}] {sentence}" for sentence in branch_left_out]
    return mutants, left_out


def _with_branch(route: Reward, branch: Reward, changed: Reward) -> Reward:
    return route.map(lambda other: changed if other is branch else other)


def _mutate(
    kind: str,
    reward: Reward,
    component: Component | None,
    says: str,
    before: str,
    after: str,
    **options: Any,
) -> Iterator[Mutant]:
    """Yield a mutant with other options of the reward or a component, if valid."""
    owner = "the reward"
    name = None
    with suppress(RewardError):
        if component is not None:
            owner = f"component {component.name!r}"
            name = component.name
            options = {"components": _with(reward, component, **options)}
        mutated = replace(reward, **options)
        yield Mutant(kind, owner, name, says, before, after, mutated)


def _with(reward: Reward, component: Component, **options: Any) -> list[Component]:
    """Return the components of a reward, one of them with other options."""
    changed = replace(component, **options)
    return [changed if item is component else item for item in reward.components]


def _change_missing(reward: Reward) -> Iterator[Mutant]:
    before = f"on_missing={reward.on_missing!r}"
    for other in ON_MISSING:
        if other != reward.on_missing:
            after = f"on_missing={other!r}"
            says = f"has {after}"
            yield from _mutate(
                "missing", reward, None, says, before, after, on_missing=other
            )


def _change_weights(reward: Reward) -> Iterator[Mutant]:
    """Yield mutants with weight 0, the other sign, or two weights swapped."""
    for component in reward.components:
        if not component.weight:
            continue
        before = f"weight={component.weight:g}"
        for weight, says in (
            (0.0, "is not paid"),
            (-component.weight, "is paid with the other sign"),
        ):
            after = f"weight={weight:g}"
            yield from _mutate(
                "weight", reward, component, says, before, after, weight=weight
            )
    if reward.aggregation == "minimum":
        return
    for a, b in combinations(reward.components, 2):
        if a.weight == b.weight:
            continue
        swapped = _with(reward, a, weight=b.weight)
        swapped[reward.components.index(b)] = replace(b, weight=a.weight)
        says = f"has the weights of {a.name!r} and {b.name!r} swapped"
        before = f"{a.name}={a.weight:g}, {b.name}={b.weight:g}"
        after = f"{a.name}={b.weight:g}, {b.name}={a.weight:g}"
        yield from _mutate(
            "weight", reward, None, says, before, after, components=swapped
        )


def _change_gates(reward: Reward) -> Iterator[Mutant]:
    """Yield mutants without a gate, or with another limit of one."""
    for component in (None, *reward.components):
        gate = (component or reward).gate
        if gate is None:
            continue
        code = f"gate({written(gate.on)})" if callable(gate.on) else repr(gate)
        yield from _mutate(
            "gate", reward, component, "has no gate", code, "gate=None", gate=None
        )
        for option in ("at_least", "at_most"):
            limit = getattr(gate, option)
            if limit is None or (limit in (0, 1) and gate.on in reward.names):
                continue  # many scores are 0 or 1, so that nothing would change
            for other in scaled(limit):
                with suppress(ValueError):  # a gate that could never open
                    moved = replace(gate, **{option: other})  # type: ignore[arg-type]
                    says = f"has a gate with {option}={other:g}, not {limit:g}"
                    yield from _mutate(
                        "threshold",
                        reward,
                        component,
                        says,
                        code,
                        repr(moved),
                        gate=moved,
                    )


def _fix_scores(reward: Reward) -> Iterator[Mutant]:
    """Yield mutants with a component at an end of its range, by default 0 or 1."""
    for component in reward.components:
        if component.group:
            continue
        before = written(component.function)
        for end in component.range or (0.0, 1.0):
            if math.isfinite(end):
                always = Always(float(end))
                says = f"is always {end:g}"
                yield from _mutate(
                    "constant",
                    reward,
                    component,
                    says,
                    before,
                    repr(always),
                    function=always,
                    columns=None,
                    batch=False,
                )


def _change_options(reward: Reward) -> Iterator[Mutant]:
    """Yield mutants with another option of a field's or component's function."""
    for name, function in reward.fields.items():
        for change in option_changes(function):
            fields = {**reward.fields, name: change.function}
            codes = change.before, change.after
            for mutant in _mutate(
                change.kind, reward, None, change.says, *codes, fields=fields
            ):
                yield replace(mutant, owner=f"field {name!r}", component=name)
    for component in reward.components:
        if component.group:
            continue
        for change in option_changes(component.function, component.columns or ()):
            codes = change.before, change.after
            yield from _mutate(
                change.kind,
                reward,
                component,
                change.says,
                *codes,
                function=change.function,
            )


# --- users' code


def _with_code(reward: Reward, change: CodeChange) -> Iterator[Mutant]:
    """Yield the mutant with a code change in all functions that use this code."""
    owners = {}

    def apply_change(use: Any, owner: str, name: str | None) -> Any:
        functions = (item for item in user_parts(use) if isinstance(item, FunctionType))
        if not any(map(change.is_in, functions)):
            return use
        owners[owner] = name
        if isinstance(use, Gate):
            return replace(use, on=Changed(use.on, change))
        return Changed(use, change)

    fields = {
        name: apply_change(function, f"field {name!r}", name)
        for name, function in reward.fields.items()
    }
    components = []
    for component in reward.components:
        if not component.group:
            owner = f"component {component.name!r}"
            component = replace(
                component,
                function=apply_change(component.function, owner, component.name),
                gate=apply_change(component.gate, owner, component.name),
            )
        components.append(component)
    gate = apply_change(reward.gate, "the gate of the reward", None)
    if not owners:
        return
    verb = "run" if len(owners) > 1 else "runs"
    says = f"{verb} other code, {_cut(change.after)} for {_cut(change.before)}"
    if not change.name:
        where = change.function.__name__
        says += " in the lambda" if where == "<lambda>" else f" in {where}()"
    owner = " and ".join(owners)
    first = next(iter(owners.values()))
    mutated = replace(reward, fields=fields, components=components, gate=gate)
    yield Mutant("code", owner, first, says, change.before, change.after, mutated)


def _cut(code: str) -> str:
    if len(code) <= LONGEST_CODE:
        return code
    return f"{code[: LONGEST_CODE - 3]}..."
