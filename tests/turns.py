"""Wrong turns: a reward changed a little, in the ways that its definition allows; good cases notice each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import rewardkit as rk

FLIPS = {
    "first": "last",
    "last": "first",
    "strict": "flexible",
    "flexible": "strict",
    "cosine": "linear",
    "nowhere": "anywhere",
    "share": "any",
    "en": "zh",
    "zh": "en",
}
NEVER = ("timeout",)
"""Options that decide how long a call may take, not what it gives."""


def with_component(reward: rk.Reward, name: str, **changes: Any) -> rk.Reward:
    """The reward with one component changed."""
    changed = [replace(item, **changes) if item.name == name else item for item in reward.components]
    assert changed != list(reward.components)
    return replace(reward, components=changed)


def with_weights(reward: rk.Reward, factors: tuple[float, ...]) -> Iterator[tuple[str, rk.Reward]]:
    """Each weight times each factor; 0 takes the component out of the sum."""
    for item in reward.components:
        for factor in factors if item.weight else ():
            changed = with_component(reward, item.name, weight=item.weight * factor)
            yield f"{item.name} weighs {factor} of what it did", changed


def without_gates(reward: rk.Reward) -> Iterator[tuple[str, rk.Reward]]:
    """Each gate opened, or given another limit: of a component, and of the whole reward."""
    for item in reward.components:
        for what, gate in other_gates(item.gate):
            yield f"the gate of {item.name} is {what}", with_component(reward, item.name, gate=gate)
    for what, gate in other_gates(reward.gate):
        yield f"the gate of the whole is {what}", replace(reward, gate=gate)


def other_gates(gate: Any) -> Iterator[tuple[str, Any]]:
    """None in place of a gate; where its limit is a share, others: all, anything at all, half, double."""
    if gate is None:
        return
    yield "open", None
    for name, limits in (("at_least", (1.0, 1e-9)), ("at_most", (0.5, 2.0))):
        value = getattr(gate, name)
        if value is not None and 0 < value < 1:
            for limit in limits:
                other = limit if name == "at_least" else value * limit
                yield f"{name} {other:g}", replace(gate, **{name: other})


def other_options(reward: rk.Reward) -> Iterator[tuple[str, rk.Reward]]:
    """Each option of each primitive changed: the first for the last, true for false, a limit a third off."""
    for name, function in reward.fields.items():
        for what, changed in changes(function):
            yield f"field {name}: {what}", replace(reward, fields={**reward.fields, name: changed})
    for item in reward.components:
        for what, changed in changes(item.function):
            yield f"{item.name}: {what}", with_component(reward, item.name, function=changed)


def changes(made: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A primitive with one of its options changed, and what was changed."""
    if isinstance(made, partial):
        for name in made.keywords:
            rest = {key: value for key, value in made.keywords.items() if key != name}
            yield f"without {name}", partial(made.func, *made.args, **rest) if rest else made.func
    elif is_dataclass(made) and type(made).__module__.startswith("rewardkit.primitives."):
        for option in fields(made):
            value = getattr(made, option.name)
            for other in others(value) if option.name not in NEVER else ():
                if isinstance(made, rk.extract.every) and vars(other) == {
                    **vars(value),
                    "which": other.which,
                }:
                    continue  # all of them, whichever it would have been
                try:
                    yield f"{option.name}={other!r} for {value!r}", replace(made, **{option.name: other})
                except (ValueError, TypeError):  # contradicts another option
                    continue


def others(value: Any) -> Iterator[Any]:
    """What may stand in place of the value of an option."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):  # 0 stands for a limit that is not there
        near = (value - 1, value + 1) if value < 10 else (round(value * 0.7), round(value * 1.3))
        yield from near if value else ()
    elif isinstance(value, float):
        yield from (value * 0.7, value * 1.3)
    elif isinstance(value, str) and value in FLIPS:
        yield FLIPS[value]
    elif isinstance(value, tuple) and len(value) > 1:  # names, words, extractors: one fewer
        yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
        for at, part in enumerate(value):
            yield from ((*value[:at], changed, *value[at + 1 :]) for _, changed in changes(part))
    elif isinstance(value, dict):  # a schema
        yield from ({name: value[name] for name in value if name != left} for left in value)
    elif is_dataclass(value):
        yield from (changed for _, changed in changes(value))


def of_the_whole(reward: rk.Reward) -> Iterator[tuple[str, rk.Reward]]:
    """What is missing, and how scores add up, decided otherwise."""
    if reward.on_missing != "zero":
        yield "missing counts 0", replace(reward, on_missing="zero")
    for other in ("weighted_sum", "weighted_mean", "product", "minimum"):
        if other != reward.aggregation and not (
            other in ("product", "minimum") and min(reward.weights.values()) < 0
        ):
            yield f"{other} for {reward.aggregation}", replace(reward, aggregation=other)


def of_a_route(route) -> Iterator[tuple[str, rk.Reward]]:
    """A source left out, paid by the reward of another, or with other weights; a default for the rest."""
    keys = list(route.rewards)
    for key, neighbour in zip(keys, [*keys[1:], keys[0]], strict=True):
        inner = route.rewards[key]
        others = {value: item for value, item in route.rewards.items() if value != key}
        yield f"no {key}", rk.Route(route.column, others, route.default)
        changed = {f"{key} paid as {neighbour}": route.rewards[neighbour]}
        changed |= {f"{key}: {what}": other for what, other in with_weights(inner, (0.8, 1.2, 0.0))}
        changed |= {f"{key}: {what}": other for what, other in without_gates(inner)}
        for what, other in changed.items():
            yield what, rk.Route(route.column, {**route.rewards, key: other}, route.default)
    yield "a default", rk.Route(route.column, route.rewards, route.rewards[keys[0]])


def wrong_turns(reward: rk.Reward) -> dict[str, rk.Reward]:
    """{what was changed: the changed reward}; the options of a route's rewards are theirs to test."""
    if reward.routing:
        return dict(of_a_route(reward.routing))
    return {
        **dict(with_weights(reward, (0.8, 1.2, 0.0))),
        **dict(without_gates(reward)),
        **dict(other_options(reward)),
        **dict(of_the_whole(reward)),
    }
