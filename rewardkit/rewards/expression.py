"""Expressions: how a person writes a reward, a primitive or a plain value in Python."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT
from rewardkit.primitives import extract, measure, siblings, verify, weights
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import RoutedReward

ROOMS: Any = {
    "rk.extract": extract,
    "rk.measure": measure,
    "rk.siblings": siblings,
    "rk.verify": verify,
    "rk.weigh": weights,
}
WIDTH = 90
"""Of a line; what is longer has a line an item."""


def expression(
    value: Any, write_object: Callable[[Any, str], str], owner: str = ""
) -> str:
    """Return the expression that gives a value; `write_object` writes a user's objects.

    >>> half = functools.partial(verify.numbers_equal, absolute=np.float64(0.5))
    >>> expression(half, lambda *_: "?")
    'partial(rk.verify.numbers_equal, absolute=0.5)'
    """

    def write(item: Any, owner: str = owner) -> str:
        return expression(item, write_object, owner)

    for write_kind in (_write_ours, _write_container):
        text = write_kind(value, write)
        if text is not None:
            return text
    if isinstance(value, np.generic):
        return write(value.item())
    if _is_literal(value):
        return repr(value)
    if isinstance(value, float):  # neither infinity nor NaN has a literal
        return f'float("{value}")'
    return write_object(value, owner)


def _write_ours(value: Any, write: Callable[..., str]) -> str | None:
    """Return the expression of what rewardkit makes, or None."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    for room, public in ROOMS.items():
        if name not in public.__all__:
            continue
        if getattr(public, name) is value:
            return f"{room}.{name}"
        if getattr(public, name) is type(value):
            return f"{room}.{value.format_call(write)}"
    if isinstance(value, Gate):
        return f"rk.{value.format_call(write)}"
    if isinstance(value, Made) and value.factory.startswith("rk."):
        return value.format_call(write)
    if isinstance(value, Reward | Component):
        return _definition(value, write)
    return None


def _write_container(value: Any, write: Callable[..., str]) -> str | None:
    """Return the expression of a collection, or of a call with some arguments bound."""
    if isinstance(value, functools.partial):
        bound = [f"{name}={write(item)}" for name, item in value.keywords.items()]
        return _block("partial(", [*map(write, (value.func, *value.args)), *bound], ")")
    if _is_literal(value):
        return None
    if isinstance(value, dict):
        pairs = [
            f"{write(key)}: {write(item, str(key))}" for key, item in value.items()
        ]
        return _block("{", pairs, "}")
    if isinstance(value, list):
        return _block("[", map(write, value), "]")
    if isinstance(value, tuple):
        return f"({', '.join(map(write, value))},)"
    if isinstance(value, frozenset):
        return f"frozenset({write(list(value))})"
    return None


def _is_literal(value: Any) -> bool:
    """Return whether a value is what it prints as."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except CAUGHT:
        return False


def _definition(item: Reward | Component, write: Callable[..., str]) -> str:
    """Return the call that makes a reward or component, without default options."""
    if isinstance(item, RoutedReward):
        arguments = [write(item.column), write(dict(item.rewards))]
        if item.default is not None:
            arguments.append(f"default={write(item.default)}")
        return _block("rk.Route(", [*arguments, f"name={item.name!r}"], ")")
    arguments = []
    for option in fields(item):
        value = getattr(item, option.name)
        is_default = option.name != "weight" and (
            value == option.default or value == {}
        )
        if is_default or not option.repr:  # what is not shown is where it is from
            continue
        value = list(value) if option.name == "components" else value
        text = write(value, item.name if isinstance(item, Component) else option.name)
        arguments.append(
            text if option.name in ("name", "function") else f"{option.name}={text}"
        )
    return _block(f"rk.{type(item).__name__}(", arguments, ")")


def _block(start: str, items: Iterable[str], end: str) -> str:
    """Items between brackets, on one line or one a line."""
    items = list(items)
    line = f"{start}{', '.join(items)}{end}"
    if "\n" not in line and len(line) <= WIDTH:
        return line
    lines = "".join("    " + item.replace("\n", "\n    ") + ",\n" for item in items)
    return f"{start}\n{lines}{end.lstrip(',')}"
