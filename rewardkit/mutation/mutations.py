"""Mutants of a reward: it with one thing changed, in the ways that people get a reward wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from types import FunctionType
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.mutation.code import (
    Changed,
    CodeChange,
    code_changes,
    helpers,
)
from rewardkit.mutation.options import option_changes, scaled, written
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.primitive import Primitive
from rewardkit.primitives.weights import ON_MISSING
from rewardkit.probes.contract.constants import names_in
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import describe, user_code
from rewardkit.rewards.plan import Routing
from rewardkit.rewards.reward import Reward, Route
from rewardkit.rewards.signature import is_async

MOST_CODE = 40
"""Changes of one function's code, spread evenly over its text. Our choice."""

LONGEST = 70
"""Characters of code that a sentence shows; `before` and `after` have all of it."""


@dataclass(frozen=True, eq=False)
class Mutant:
    """A reward with one thing changed.

    `owner` is what was changed and `says` what it does now; `component` is the component (or field), None for
    the whole; `part` the source of a route whose reward it is ("" for others). `before` and `after` are code.
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
        """What was changed, in one sentence."""
        where = f"[{self.part}] " if self.part else ""
        return f"{where}{self.owner[0].upper()}{self.owner[1:]} {self.says}."


@dataclass(frozen=True, repr=False)
class Always:
    """Stands for a function: gives one score whatever comes."""

    value: float

    def __call__(self) -> float:
        """The score."""
        return self.value

    def __repr__(self) -> str:
        return f"always {self.value:g}"


def mutants_of(reward: Reward) -> tuple[list[Mutant], list[str]]:
    """The mutants of a reward, and a sentence for each thing that was left out.

    Of a route the rewards in it are changed, each for its own rows.
    """
    if reward.routing:
        return _of_route(reward, reward.routing)
    code, left_out = _of_code(reward)
    left_out += [
        f"how component {item.name!r} scores: a case is a group of its own, so that it abstains"
        for item in reward.components
        if item.group
    ]
    left_out += (
        ["the transform: cases speak of the reward before it"]
        if reward.transform
        else []
    )
    makers = (_of_missing, _of_weights, _of_gates, _of_scores, _of_options)
    return [*(mutant for make in makers for mutant in make(reward)), *code], left_out


def _of_route(whole: Reward, route: Routing) -> tuple[list[Mutant], list[str]]:
    mutants, left_out = [], []
    for inner in dict.fromkeys(route.inner):
        values = [
            str(value) for value, reward in route.rewards.items() if reward is inner
        ]
        part = ", ".join([*values, *(["default"] if route.default is inner else [])])
        made, without = mutants_of(inner)
        for mutant in made:
            rewards = {
                key: mutant.reward if item is inner else item
                for key, item in route.rewards.items()
            }
            default = mutant.reward if route.default is inner else route.default
            routed = Route(route.column, rewards, default, name=whole.name)
            mutants.append(replace(mutant, reward=routed, part=part))
        left_out += [f"[{part}] {sentence}" for sentence in without]
    return mutants, left_out


def _changed(
    kind: str,
    reward: Reward,
    item: Component | None,
    says: str,
    before: str,
    after: str,
    **options: Any,
) -> Iterator[Mutant]:
    """The reward, or one component of it, with other options; none where these contradict the rest."""
    owner, name = (
        ("the reward", None)
        if item is None
        else (f"component {item.name!r}", item.name)
    )
    with suppress(RewardError):
        if item is not None:
            other = replace(item, **options)
            options = {
                "components": [
                    other if one is item else one for one in reward.components
                ]
            }
        yield Mutant(kind, owner, name, says, before, after, replace(reward, **options))


def _of_missing(reward: Reward) -> Iterator[Mutant]:
    """What is missing, counted otherwise."""
    before = f"on_missing={reward.on_missing!r}"
    for other in ON_MISSING:
        if other != reward.on_missing:
            after = f"on_missing={other!r}"
            yield from _changed(
                "missing", reward, None, f"has {after}", before, after, on_missing=other
            )


def _of_weights(reward: Reward) -> Iterator[Mutant]:
    """A component not paid (as if it were left out), or paid with the other sign; two weights swapped."""
    for item in reward.components:
        for other, says in (
            (0.0, "is not paid"),
            (-item.weight, "is paid with the other sign"),
        ):
            if item.weight:
                codes = f"weight={item.weight:g}", f"weight={other:g}"
                yield from _changed("weight", reward, item, says, *codes, weight=other)
    for a, b in combinations(reward.components, 2):
        if a.weight != b.weight and reward.aggregation != "minimum":
            swapped = {a: replace(a, weight=b.weight), b: replace(b, weight=a.weight)}
            items = [swapped.get(item, item) for item in reward.components]
            says = f"has the weights of {a.name!r} and {b.name!r} swapped"
            before, after = (
                f"{a.name}={x:g}, {b.name}={y:g}"
                for x, y in ((a.weight, b.weight), (b.weight, a.weight))
            )
            yield from _changed(
                "weight", reward, None, says, before, after, components=items
            )


def _of_gates(reward: Reward) -> Iterator[Mutant]:
    """Each gate open, and at another limit."""
    for item in (None, *reward.components):
        gate = (item or reward).gate
        if gate is None:
            continue
        code = f"gate({written(gate.on)})" if callable(gate.on) else repr(gate)
        yield from _changed(
            "gate", reward, item, "has no gate", code, "gate=None", gate=None
        )
        for option in ("at_least", "at_most"):
            value = getattr(gate, option)
            end = (
                value in (0, 1) and gate.on in reward.names
            )  # of a score, which is often all or nothing
            for other in () if value is None or end else scaled(value):
                with suppress(ValueError):  # it could never open
                    changed = replace(gate, **{option: other})  # type: ignore[arg-type]
                    says = f"has a gate with {option}={other:g}, not {value:g}"
                    yield from _changed(
                        "threshold",
                        reward,
                        item,
                        says,
                        code,
                        repr(changed),
                        gate=changed,
                    )


def _of_scores(reward: Reward) -> Iterator[Mutant]:
    """A component that is always its lowest or highest score; 0 or 1 where it has no range."""
    for item in reward.components:
        for value in filter(
            math.isfinite, () if item.group else item.range or (0.0, 1.0)
        ):
            always = Always(float(value))
            codes, says = (written(item.function), repr(always)), f"is always {value:g}"
            options: Any = {"function": always, "columns": None, "batch": False}
            yield from _changed("constant", reward, item, says, *codes, **options)


def _of_options(reward: Reward) -> Iterator[Mutant]:
    """Changes of what fields and components were made with."""
    for name, function in reward.fields.items():
        for change in option_changes(function):
            codes, fields = (
                (change.before, change.after),
                {**reward.fields, name: change.function},
            )
            for mutant in _changed(
                change.kind, reward, None, change.says, *codes, fields=fields
            ):
                yield replace(mutant, owner=f"field {name!r}", component=name)
    for item in reward.components:
        for change in (
            option_changes(item.function, item.columns or ()) if not item.group else ()
        ):
            codes, options = (
                (change.before, change.after),
                {"function": change.function},
            )
            yield from _changed(
                change.kind, reward, item, change.says, *codes, **options
            )


def _of_code(reward: Reward) -> tuple[list[Mutant], list[str]]:
    """Changes of users' own functions, each wherever it is used; and what could not be changed.

    Beside their code these are the numbers and primitives at the top of their files that they use. What is
    awaited, as a judge is, or takes a whole group is left alone.
    """
    changes: list[CodeChange] = []
    left_out: list[str] = []
    called: list[Any] = [*reward.fields.values()]
    called += [
        use
        for item in reward.components
        if not item.group
        for use in (item.function, item.gate)
    ]
    parts = [part for use in (*called, reward.gate) for part in _parts(use)]
    for part in dict.fromkeys(parts):
        made = code_changes(part) if isinstance(part, FunctionType) else None
        if made is None:
            left_out.append(
                f"the code of {describe(part)}: it is no function, or its source is not at hand"
            )
        elif len(made) > MOST_CODE:
            left_out.append(
                f"{len(made) - MOST_CODE} more changes of {part.__name__}: {MOST_CODE} were made"
            )
            made = [made[at * len(made) // MOST_CODE] for at in range(MOST_CODE)]
        changes += made or []
    functions = [
        part for part in dict.fromkeys(parts) if isinstance(part, FunctionType)
    ]
    names = {
        (id(part.__globals__), name): part
        for part in functions
        for name in names_in(part)
    }
    changes += [
        change for (_, name), part in names.items() for change in _of_name(part, name)
    ]
    return [
        mutant for change in changes for mutant in _with_code(reward, change)
    ], left_out


def _parts(use: Any) -> list[Any]:
    """The users' objects and functions in what a reward calls, with the functions of their files."""
    called = use.on if isinstance(use, Gate) else use
    if not callable(called) or is_async(called):
        return []
    parts = [part for part in user_code(called) if part.__hash__]
    return [
        one
        for part in parts
        for one in (helpers(part) if isinstance(part, FunctionType) else [part])
    ]


def _of_name(function: FunctionType, name: str) -> Iterator[CodeChange]:
    """Other values for a number, or other options for a primitive, at the top of a function's file."""
    value: Any = function.__globals__.get(name)
    if type(value) in (int, float):
        for other in scaled(value):
            yield CodeChange(
                function, other, f"{name} = {value}", f"{name} = {other}", name
            )
    elif isinstance(value, Primitive):
        for change in option_changes(value):
            yield CodeChange(
                function, change.function, change.before, change.after, name
            )


def _with_code(reward: Reward, change: CodeChange) -> Iterator[Mutant]:
    """The reward with a change of users' code wherever it is used."""
    users: dict[str, str | None] = {}

    def changed(use: Any, owner: str, name: str | None) -> Any:
        if not any(
            isinstance(part, FunctionType) and change.is_in(part)
            for part in _parts(use)
        ):
            return use
        users[owner] = name
        return (
            replace(use, on=Changed(use.on, change))
            if isinstance(use, Gate)
            else Changed(use, change)
        )

    fields = {
        name: changed(function, f"field {name!r}", name)
        for name, function in reward.fields.items()
    }
    items = []
    for item in reward.components:
        if not item.group:
            owner = f"component {item.name!r}"
            function, own = (
                changed(use, owner, item.name) for use in (item.function, item.gate)
            )
            item = replace(item, function=function, gate=own)
        items.append(item)
    gate = changed(reward.gate, "the gate of the reward", None)
    if users:
        where = change.function.__name__
        place = (
            ""
            if change.name
            else f" in {'the lambda' if where == '<lambda>' else f'{where}()'}"
        )
        verb = "run" if len(users) > 1 else "runs"
        says = (
            f"{verb} other code, {_cut(change.after)} for {_cut(change.before)}{place}"
        )
        owner, name = " and ".join(users), next(iter(users.values()))
        whole = replace(reward, fields=fields, components=items, gate=gate)
        yield Mutant("code", owner, name, says, change.before, change.after, whole)


def _cut(code: str) -> str:
    """Code in a sentence: a long expression is cut."""
    return code if len(code) <= LONGEST else f"{code[: LONGEST - 3]}..."
