"""Mutants of a reward: it with one thing changed, in the ways that people get a reward wrong."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, get_args, get_type_hints

import numpy as np

from rewardkit.errors import RewardError
from rewardkit.primitives import measure
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.verify.json_values import json_equal
from rewardkit.primitives.weights import AGGREGATIONS, MISSING
from rewardkit.probes.mutants.functions import Admits, Always, Denied, Turned, changes_of_code, with_change
from rewardkit.probes.mutants.options import Change, option_changes, scaled, written
from rewardkit.rewards.component import Component
from rewardkit.rewards.plan import Routing
from rewardkit.rewards.reward import Reward, Route

__all__ = ["Mutant", "mutants_of"]

PAIRED = 8
"""Components up to which every two of different weight are swapped; of more, neighbours. Our choice."""

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


def mutants_of(
    reward: Reward, seen: Mapping[str, tuple[float, float]] | None = None
) -> tuple[list[Mutant], list[str]]:
    """The mutants of a reward, and a sentence for each thing that was left out.

    `seen` are the lowest and highest scores of components without a declared range. Of a route the rewards in
    it are changed, each for its own rows, and the routing.
    """
    if reward.routing:
        return _of_route(reward, reward.routing, seen or {})
    code, left_out = _of_code(reward)
    for item in reward.components:
        if item.group:
            left_out.append(
                f"how component {item.name!r} scores: a case is a group of its own, so that it abstains"
            )
    if reward.transform is not None:
        left_out.append("the transform: cases speak of the reward before it")
    kinds = (_of_whole(reward), _of_weights(reward), _of_gates(reward), _of_scores(reward, seen or {}))
    return [*(mutant for kind in kinds for mutant in kind), *_of_options(reward), *code], left_out


def _of_route(
    whole: Reward, route: Routing, seen: Mapping[str, tuple[float, float]]
) -> tuple[list[Mutant], list[str]]:
    mutants, left_out = [], []
    labels: dict[int, list[Any]] = {}
    for value, reward in route.rewards.items():
        labels.setdefault(id(reward), []).append(value)
    for values in labels.values():
        found, without = mutants_of(route.rewards[values[0]], seen)
        label = ", ".join(map(str, values))
        for mutant in found:
            routed = _routed(whole, route, dict.fromkeys(values, mutant.reward))
            mutants.append(replace(mutant, reward=routed, part=label))
        left_out += [f"[{label}] {sentence}" for sentence in without]
    if route.default is not None and id(route.default) not in labels:
        found, without = mutants_of(route.default, seen)
        for mutant in found:
            mutants.append(replace(mutant, reward=_routed(whole, route, {}, mutant.reward), part="default"))
        left_out += [f"[default] {sentence}" for sentence in without]
    return [*mutants, *_of_routing(whole, route)], left_out


def _routed(
    whole: Reward, route: Routing, changed: Mapping[Any, Reward], default: Reward | None = None
) -> Reward:
    return Route(route.column, {**route.rewards, **changed}, default or route.default, name=whole.name)


def _of_routing(whole: Reward, route: Routing) -> Iterator[Mutant]:
    """A source that is not in the route, or paid as its neighbour; a default where there is none."""

    def made(says: str, before: str, after: str, reward: Reward) -> Mutant:
        return Mutant("route", f"the route by {route.column!r}", None, says, before, after, reward)

    values = list(route.rewards)
    for at, value in enumerate(values):
        own, rest = route.rewards[value], {key: item for key, item in route.rewards.items() if key != value}
        if rest or route.default:
            what = "does not judge" if route.default is None else "has no reward of its own for"
            without = Route(route.column, rest, route.default, name=whole.name)
            yield made(f"{what} {value!r}", f"{value!r}: {own.name}", f"no {value!r}", without)
        other = values[(at + 1) % len(values)]
        if route.rewards[other] is not own:
            paid = _routed(whole, route, {value: route.rewards[other]})
            says = f"pays {value!r} as {other!r}"
            yield made(says, f"{value!r}: {own.name}", f"{value!r}: {route.rewards[other].name}", paid)
    if route.default is None:
        paid = _routed(whole, route, {}, route.rewards[values[0]])
        yield made(
            f"pays what it does not know as {values[0]!r}", "default=None", f"default={values[0]!r}", paid
        )


def _of_whole(reward: Reward) -> Iterator[Mutant]:
    """Other ways to add up, and to count what is missing."""
    paid = [item for item in reward.components if item.weight]
    shares = sum(max(0.0, item.weight) for item in paid)
    alone = len(paid) == 1 and paid[0].weight == 1 and paid[0].gate is None and reward.gate is None
    for other in AGGREGATIONS if not alone else ():
        sums = {other, reward.aggregation} == {"weighted_sum", "weighted_mean"}
        if other != reward.aggregation and not (
            sums and math.isclose(shares, 1.0) and reward.on_missing != "skip"
        ):
            changed = _changed(reward, aggregation=other)
            if changed is not None:
                says = f"adds up by {other}, not {reward.aggregation}"
                yield _whole("aggregation", says, reward, changed, "aggregation")
    counted = {"nan": "is not judged where a score is missing", "zero": "counts a missing score as 0",
               "skip": "leaves out a missing score"}  # fmt: skip
    for other in MISSING:
        if other != reward.on_missing:
            changed = replace(reward, on_missing=other)
            yield _whole("missing", counted[other], reward, changed, "on_missing")


def _whole(kind: str, says: str, before: Reward, after: Reward, option: str) -> Mutant:
    first, second = (f"{option}={getattr(reward, option)!r}" for reward in (before, after))
    return Mutant(kind, "the reward", None, says, first, second, after)


def _changed(reward: Reward, **changes: Any) -> Reward | None:
    """The reward with other options; ``None`` where they contradict the others."""
    try:
        return replace(reward, **changes)
    except RewardError:
        return None


def _with(reward: Reward, name: str, **changes: Any) -> Reward | None:
    """The reward with one component changed; ``None`` where that contradicts the rest."""
    try:
        items = [replace(item, **changes) if item.name == name else item for item in reward.components]
        return replace(reward, components=items)
    except RewardError:
        return None


def _of_weights(reward: Reward) -> Iterator[Mutant]:
    """A component not paid, paid with the other sign, left out; two that have each other's weights."""
    for item in reward.components:
        for other, says in ((0.0, "is not paid"), (-item.weight, "is paid with the other sign")):
            changed = _with(reward, item.name, weight=other) if item.weight else None
            if changed is not None:
                code = f"weight={item.weight:g}", f"weight={other:g}"
                yield Mutant("weight", f"component {item.name!r}", item.name, says, *code, changed)
        yield from _without(reward, item.name)
    pairs = combinations if len(reward.components) <= PAIRED else _neighbours
    for a, b in pairs(reward.components, 2) if reward.aggregation != "minimum" else ():
        if a.weight != b.weight:
            try:
                changed = reward.reweigh({a.name: b.weight, b.name: a.weight})
            except RewardError:
                continue
            before, after = (
                f"{a.name}={x:g}, {b.name}={y:g}" for x, y in ((a.weight, b.weight), (b.weight, a.weight))
            )
            owner = f"components {a.name!r} and {b.name!r}"
            yield Mutant("weight", owner, a.name, "have each other's weights", before, after, changed)


def _neighbours(items: Sequence[Component], _: int) -> Iterator[tuple[Component, Component]]:
    return pairwise(items)


def _without(reward: Reward, name: str) -> Iterator[Mutant]:
    """The reward without a component and what depends on it; alone it would be as with weight 0."""
    gone = {name}
    for item in reward.components:
        if gone & {name for call in item.calls for name in call.asks_for}:
            gone.add(item.name)
    gate = None if reward.gate_call and gone & set(reward.gate_call.asks_for) else reward.gate
    kept = [item for item in reward.components if item.name not in gone]
    if not kept or (gone == {name} and gate is reward.gate):
        return
    changed = _changed(reward, components=kept, gate=gate)
    if changed is not None:
        with_it = [repr(item.name) for item in reward.components if item.name in gone - {name}]
        with_it += ["the gate on the whole reward"] if gate is not reward.gate else []
        says = f"is left out, and with it {' and '.join(with_it)}"
        before, after = (", ".join(item.name for item in items) for items in (reward.components, kept))
        yield Mutant("component", f"component {name!r}", name, says, before, after, changed)


def _of_gates(reward: Reward) -> Iterator[Mutant]:
    """Each gate open, at another limit, and the other way round."""
    Place = tuple[str, str | None, Gate | None, Callable[[Gate | None], Reward | None]]
    places: list[Place] = [("the reward", None, reward.gate, lambda gate: _changed(reward, gate=gate))]
    for item in reward.components:
        of_one = functools.partial(_gated, reward, item.name)
        places.append((f"component {item.name!r}", item.name, item.gate, of_one))
    for owner, name, gate, put in places:
        for kind, says, other in _other_gates(reward, gate):
            changed = put(other)
            if changed is not None:
                yield Mutant(kind, owner, name, says, _gate_code(gate), _gate_code(other), changed)


def _gated(reward: Reward, name: str, gate: Gate | None) -> Reward | None:
    return _with(reward, name, gate=gate)


def _gate_code(gate: Gate | None) -> str:
    if gate is not None and isinstance(gate.on, Denied):
        inner = gate.on.function
        return f"not {inner!r}" if isinstance(inner, Admits) else f"not gate({written(inner)})"
    return "gate=None" if gate is None else f"gate({written(gate.on)})" if callable(gate.on) else repr(gate)


def _other_gates(reward: Reward, gate: Gate | None) -> Iterator[tuple[str, str, Gate | None]]:
    if gate is None:
        return
    yield "gate", "has no gate", None
    if callable(gate.on):
        yield "gate", "has its gate the other way round", Gate(Denied(gate.on))
        return
    if gate.on.isidentifier():
        yield "gate", "has its gate the other way round", Gate(Denied(Admits(gate), asks=gate.on))
    for option in ("at_least", "at_most"):
        value = getattr(gate, option)
        for other in _limits(reward, gate.on, option, value) if value is not None else ():
            try:
                changed = replace(gate, **{option: other})  # type: ignore[arg-type]
            except ValueError:  # it could never open
                continue
            yield "threshold", f"has a gate with {option}={other:g}, not {value:g}", changed


def _limits(reward: Reward, name: str, option: str, value: float) -> tuple[float, ...]:
    """Looser and tighter limits: of a score half way to nothing and to all, of a column a third off.

    None for a score that is all or nothing, where any limit between says the same.
    """
    item = next((item for item in reward.components if item.name == name), None)
    if item is None or item.range != (0.0, 1.0) or not 0 <= value <= 1:
        return scaled(value)
    if _all_or_nothing(item.function):
        return ()
    if option == "at_least":
        return tuple(limit for limit in (value / 2, (1 + value) / 2) if limit not in (0, value))
    return tuple(limit for limit in (value / 2, (1 + value) / 2) if limit not in (1, value))


def _all_or_nothing(function: Any) -> bool:
    """Whether a function is known to give 0 and 1 only."""
    code, bound = (
        (function.func, function.keywords) if isinstance(function, functools.partial) else (function, {})
    )
    if isinstance(code, measure.tags | measure.json_schema):
        return not code.partial
    if isinstance(code, measure.keywords):
        return code.mode in ("all", "any")
    if code is json_equal:
        return not bound.get("partial")
    try:
        given = get_type_hints(code).get("return")
    except (NameError, TypeError, AttributeError):  # no function, or names that only a type checker knows
        return isinstance(code, measure.regex)
    return given is bool or set(get_args(given)) == {bool, type(None)}


def _of_scores(reward: Reward, seen: Mapping[str, tuple[float, float]]) -> Iterator[Mutant]:
    """A component that is always its lowest or highest, and one that is turned round."""
    for item in reward.components:
        ends = item.range or seen.get(item.name)
        if item.group or ends is None or not np.isfinite(ends).all():
            continue
        owner, code = f"component {item.name!r}", written(item.function)
        for value, which in zip(ends, ("lowest", "highest"), strict=True):
            says = f"is always {value:g}, its {which}"
            changed = _with(reward, item.name, function=Always(float(value)), columns=None, batch=False)
            if changed is not None:
                yield Mutant("constant", owner, item.name, says, code, repr(Always(value)), changed)
        turned = Turned(item.function, float(ends[0]), float(ends[1]))
        changed = _with(reward, item.name, function=turned)
        if changed is not None:
            yield Mutant("inverted", owner, item.name, "is turned round", code, repr(turned), changed)


def _of_options(reward: Reward) -> Iterator[Mutant]:
    """Changes of what fields and components were made with."""

    def made(change: Change, owner: str, name: str, changed: Reward | None) -> Iterator[Mutant]:
        if changed is not None:
            yield Mutant(change.kind, owner, name, change.says, change.before, change.after, changed)

    for name, function in reward.fields.items():
        for change in option_changes(function):
            changed = _changed(reward, fields={**reward.fields, name: change.function})
            yield from made(change, f"field {name!r}", name, changed)
    for item in reward.components:
        for change in option_changes(item.function, item.columns or ()) if not item.group else ():
            changed = _with(reward, item.name, function=change.function)
            yield from made(change, f"component {item.name!r}", item.name, changed)


def _of_code(reward: Reward) -> tuple[list[Mutant], list[str]]:
    """Changes of users' own functions, each wherever it is used."""
    mutants = []
    changes, left_out = changes_of_code(reward)
    for change in changes:
        changed, users = with_change(reward, change)
        if users:
            verb = "run" if len(users) > 1 else "runs"
            place = "" if change.name else f" in {change.where}"
            says = f"{verb} other code, {_cut(change.after)} for {_cut(change.before)}{place}"
            owner, name = " and ".join(who for who, _ in users), users[0][1]
            mutants.append(Mutant("code", owner, name, says, change.before, change.after, changed))
    return mutants, left_out


def _cut(code: str) -> str:
    """Code in a sentence: a long expression is cut."""
    return code if len(code) <= LONGEST else f"{code[: LONGEST - 3]}..."
