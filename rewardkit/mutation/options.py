"""Changes of a primitive's options: another match, a looser limit, one name fewer."""

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
"""Factors of a changed limit. Our choice: less is taste, any case notices more."""

SMALL_COUNT = 10
"""Counts below this are changed by one. Our choice."""

ADDED_TOLERANCES = {"relative": 0.01, "absolute": 1.0}
"""Tolerances given to an exact comparison. Our choice: off by one is then right."""

KEPT_OPTIONS = ("timeout", "tokenizer")
"""Options that say how long a call may take, or what a word is: not what is paid."""

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
"""Verification -> the nearest other one, and what it would do."""

OTHER_MATCH = {"last": "first", "first": "last"}


@dataclass(frozen=True)
class OptionChange:
    """A function with one thing changed.

    `says` goes behind the name of what has the function; `before` and `after` are code.
    """

    kind: str
    function: Any
    says: str
    before: str
    after: str


Changes = Iterator[tuple[str, Any, str]]
"""Kind, changed callable or value, what it does."""


def option_changes(
    function: Any, filled: Collection[str] = ()
) -> Iterator[OptionChange]:
    """Yield a callable with one option changed, each in turn.

    Args:
        function: A callable; one that asks a model is left alone, as each change of it
            would be paid for, and so is one whose options cannot be read.
        filled: Parameters that columns fill, which are no options.

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
    """Write a callable as a person does; a user's function by its name."""
    return expression(
        function, lambda value, _: getattr(value, "__qualname__", "") or describe(value)
    )


def _change_primitive(primitive: Any) -> Changes:
    """Change a primitive's own options, and the primitives in it."""
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
                continue  # the first and the last match are the same then
            with suppress(ValueError, TypeError):  # it contradicts the other options
                yield kind, replace(primitive, **{option.name: other}), says
    if isinstance(primitive, extract.within):
        outer, inner = primitive.outer, primitive.inner[0]
        if len(primitive.inner) > 1:
            inner = extract.within(*primitive.inner)
        where = written(outer)
        yield "alternative", inner, f"looks in the whole text, not only in {where}"
        yield "alternative", outer, f"takes all of {where}"


def _change_parts(parts: tuple[Any, ...]) -> Changes:
    """Leave out one of several names, words or extractors, or change one of them."""
    for place, part in enumerate(parts):
        before, after = parts[:place], parts[place + 1 :]
        if len(parts) > 1:
            yield "alternative", before + after, f"leaves out {written(part)}"
        if isinstance(part, Extractor):
            for kind, changed, says in _change_primitive(part):
                yield kind, (*before, changed, *after), f"{says}, in {written(part)}"


def _change_call(function: Any, filled: Collection[str]) -> Changes:
    """Change a function's options: those that are bound and those at their default."""
    inner, arguments, bound = function, (), {}
    if isinstance(function, functools.partial):
        inner, arguments, bound = function.func, function.args, function.keywords
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
                    changed("1", "1")  # raises where the options do not go together
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
    """Return values a little below and above a limit; none for 0, which is no limit.

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
