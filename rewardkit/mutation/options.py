"""Change options of primitives and functions: a match, a limit, an alternative."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from rewardkit.primitives import extract, verify
from rewardkit.primitives.extract import Extractor
from rewardkit.primitives.primitive import Primitive
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.source import expression
from rewardkit.rewards.users_code import is_from_rewardkit

LIMIT_FACTORS = (0.7, 1.3)
"""Factors of a limit. Our choice: smaller changes are taste, cases notice larger."""

SMALL_COUNT = 10
"""Counts below this are changed by 1. Our choice."""

ADDED_TOLERANCES = {"relative": 0.01, "absolute": 1.0}
"""Tolerances for an exact comparison. Our choice: an error of 1 then counts as
right."""

KEPT_OPTIONS = ("timeout", "tokenizer")
"""Options that are not changed, as they do not decide what is paid."""

NEAREST_CHECKS: Mapping[Any, tuple[Any, str]] = {
    verify.numbers_equal: (verify.matches, "compares texts, not numbers"),
    verify.math_equal: (verify.numbers_equal, "compares plain numbers only"),
    verify.matches: (verify.contains, "is met by a text that contains the truth"),
    verify.contains: (verify.matches, "asks for the truth alone"),
    verify.choice_equal: (verify.matches, "compares texts, not letters"),
    verify.f1: (verify.matches, "asks for the whole truth"),
    verify.lists_equal: (verify.sets_equal, "passes over the order"),
    verify.sets_equal: (verify.lists_equal, "asks for the order, too"),
}
"""Verification -> the most similar other one, and its behaviour in words."""

OTHER_MATCH = {"last": "first", "first": "last"}


@dataclass(frozen=True)
class OptionChange:
    """A function with a single change.

    `says` follows the name of the function's owner in a sentence. `before` and `after`
    are code.
    """

    kind: str
    function: Any
    says: str
    before: str
    after: str


Changes = Iterator[tuple[str, Any, str]]
"""Kind, changed callable or value, its behaviour in words."""


def option_changes(
    function: Any, filled: Collection[str] = ()
) -> Iterator[OptionChange]:
    """Yield all changes of a single option of a callable.

    Args:
        function: A callable. Nothing is yielded if it asks a model, as each change
            would cost money, or if its options cannot be read.
        filled: Parameters filled by columns, which are no options.

    >>> from rewardkit.primitives.extract import tag
    >>> next(option_changes(tag("answer"))).after
    "rk.extract.tag('answer', which='first')"
    """
    if getattr(function, "asks_model", False):
        return
    if isinstance(function, Primitive):
        changes = _change_primitive(function)
    else:
        changes = _change_call(function, filled)
    before = written(function)
    for kind, changed, says in changes:
        after = written(changed)
        if after != before:
            yield OptionChange(kind, changed, says, before, after)


def written(function: Any) -> str:
    """Write a callable as Python code; a user's function by its name."""
    return expression(
        function, lambda value, _: getattr(value, "__qualname__", "") or describe(value)
    )


def _change_primitive(primitive: Any) -> Changes:
    """Yield changes of a primitive's options, and of the primitives in it."""
    counts_all = isinstance(primitive, extract.every)
    for option in fields(primitive):
        value = getattr(primitive, option.name)
        if isinstance(value, tuple):
            changes = _change_parts(value)
        elif isinstance(value, Extractor):
            changes = _change_primitive(value)
        else:
            changes = _change_value(option.name, value)
        for kind, other, says in changes:
            if counts_all and kind == "match":
                continue  # it uses all matches, so their order does not matter
            with suppress(ValueError, TypeError):  # invalid with the other options
                yield kind, replace(primitive, **{option.name: other}), says
    if isinstance(primitive, extract.within):
        outer = primitive.outer
        inner = primitive.inner[0]
        if len(primitive.inner) > 1:
            inner = extract.within(*primitive.inner)
        where = written(outer)
        yield "alternative", inner, f"looks in the whole text, not only in {where}"
        yield "alternative", outer, f"takes all of {where}"


def _change_parts(parts: tuple[Any, ...]) -> Changes:
    """Yield tuples without one of the parts, or with one extractor changed."""
    for place, part in enumerate(parts):
        before = parts[:place]
        after = parts[place + 1 :]
        if len(parts) > 1:
            yield "alternative", before + after, f"leaves out {written(part)}"
        if isinstance(part, Extractor):
            for kind, changed, says in _change_primitive(part):
                yield kind, (*before, changed, *after), f"{says}, in {written(part)}"


def _change_call(function: Any, filled: Collection[str]) -> Changes:
    """Yield changes of a function's options, bound or at default."""
    inner = function
    arguments = ()
    bound = {}
    if isinstance(function, functools.partial):
        inner = function.func
        arguments = function.args
        bound = function.keywords
    if not inspect.isfunction(inner):
        return
    is_ours = is_from_rewardkit(inner) and inner.__module__.startswith(
        "rewardkit.primitives."
    )
    for name, parameter in inspect.signature(inner).parameters.items():
        value = bound.get(name, parameter.default)
        if name in filled or value is parameter.empty:
            continue
        if isinstance(value, str) and not is_ours:
            continue
        for kind, other, says in _change_value(name, value, is_exact=is_ours):
            keywords = {**bound, name: other}
            if other == parameter.default:
                del keywords[name]
            changed = _bind(inner, arguments, keywords)
            with suppress(ValueError, TypeError):
                if is_ours:
                    changed("1", "1")  # raises if the options contradict each other
                yield kind, changed, says
    if inner in NEAREST_CHECKS:
        nearest, says = NEAREST_CHECKS[inner]
        yield "comparison", _bind(nearest, arguments, {}), says


def _bind(
    function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    if not arguments and not keywords:
        return function
    return functools.partial(function, *arguments, **keywords)


def _change_value(name: str, value: Any, *, is_exact: bool = False) -> Changes:
    """Yield other values of an option; an exact comparison gets a tolerance."""
    if name in KEPT_OPTIONS:
        return
    if name == "which" and value in OTHER_MATCH:
        other = OTHER_MATCH[value]
        yield "match", other, f"takes the {other} match, not the {value}"
    elif isinstance(value, bool):
        yield "option", not value, f"has {name}={not value}"
    elif isinstance(value, int | float):
        if value == 0 and is_exact and name in ADDED_TOLERANCES:
            added = ADDED_TOLERANCES[name]
            yield "threshold", added, f"has a tolerance, {name}={added:g}"
        for limit in scaled(value):
            yield "threshold", limit, f"has {name}={limit:g}, not {value:g}"


def scaled(limit: float) -> tuple[float, ...]:
    """Return values a little below and above a limit; () for 0, which is no limit.

    >>> scaled(4), scaled(14), scaled(0.5), scaled(0)
    ((3, 5), (10, 18), (0.35, 0.65), ())
    """
    if not limit:
        return ()
    if not isinstance(limit, int):
        return tuple(float(f"{limit * factor:.6g}") for factor in LIMIT_FACTORS)
    if abs(limit) < SMALL_COUNT:
        return (limit - 1, limit + 1)
    return tuple(round(limit * factor) for factor in LIMIT_FACTORS)
