"""Changes of what a primitive was made with: the other match, a looser limit, an alternative left out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from rewardkit.primitives import extract, measure, verify
from rewardkit.primitives.extract import Extractor
from rewardkit.primitives.primitive import Primitive
from rewardkit.rewards.expression import expression
from rewardkit.rewards.fingerprint import describe, of_rewardkit

__all__ = ["Change", "option_changes", "primitive", "scaled", "written"]

FACTORS = (0.7, 1.3)
"""By which a limit is changed. Our choice: less is a matter of taste, more is noticed by any case."""

SMALL = 10
"""Counts below are changed by one. Our choice."""

TOLERANCES = {"relative": 0.01, "absolute": 1.0}
"""That an exact comparison is given: a hundredth, and one. Our choice: what is off by one is then right."""

NEVER = ("timeout", "tokenizer")
"""Options that decide how long a call may take, or what a word is, and not what is asked for."""

EXCHANGED: Mapping[Any, tuple[Any, str]] = {
    verify.numbers_equal: (verify.matches, "compares texts, not numbers"),
    verify.math_equal: (verify.numbers_equal, "compares plain numbers only"),
    verify.matches: (verify.contains, "is met by a text that contains the truth"),
    verify.contains: (verify.matches, "asks for the truth alone"),
    verify.choice_equal: (verify.matches, "compares texts, not letters"),
    verify.f1: (verify.matches, "asks for the whole truth"),
    verify.lists_equal: (verify.sets_equal, "passes over the order"),
    verify.sets_equal: (verify.lists_equal, "asks for the order, too"),
}
"""The verification that stands nearest, and what it would do."""

WORDS = {"first": "takes the first match, not the last", "last": "takes the last match, not the first"}


@dataclass(frozen=True)
class Change:
    """A function with one thing changed: what it `says` goes behind the name of what has the function."""

    kind: str
    function: Any
    says: str
    before: str
    after: str


def option_changes(function: Any, filled: Collection[str] = ()) -> Iterator[Change]:
    """A callable with one option changed, each in turn; none for what has no options that can be read.

    `filled` are the parameters that columns fill, which are no options.

    >>> from rewardkit.primitives.extract import tag
    >>> next(option_changes(tag("answer"))).after
    "rk.extract.tag('answer', which='first')"
    """
    if getattr(function, "asks_model", False):  # each would be paid for
        return
    if primitive(function):
        changes = _of_made(function)
    elif isinstance(function, functools.partial) or inspect.isfunction(function):
        changes = _of_call(function, filled)
    else:
        return
    seen = {written(function)}
    for kind, changed, says in changes:
        after = written(changed)
        if after not in seen:
            seen.add(after)
            yield Change(kind, changed, says, written(function), after)


_Changes = Iterator[tuple[str, Any, str]]
"""Kind, changed callable, what it does."""


def primitive(function: Any) -> bool:
    """Whether it is one of rewardkit's primitives."""
    return isinstance(function, Primitive)


def written(function: Any) -> str:
    """A callable as a person writes it: ``rk.extract.tag('answer')``; a user's function by its name."""
    return expression(function, lambda value, _: getattr(value, "__qualname__", "") or describe(value))


def _of_made(made: Any, *, every: bool = False) -> _Changes:
    """Changes of a primitive's own options, and of the primitives in it.

    Where `every` match is taken, the first and the last are one.
    """
    hints = _hints(type(made))
    for option in fields(made):
        value = getattr(made, option.name)
        if option.name in NEVER or (every and option.name == "which"):
            continue
        if isinstance(value, Extractor):
            changes = _of_made(value, every=isinstance(made, extract.every))
        elif isinstance(value, tuple):
            changes = _of_parts(made, value, every)
        else:
            changes = _others(option.name, value, hints.get(option.name), option.default)
        for kind, other, says in changes:
            changed = _replaced(made, option.name, other)
            if changed is not None:
                yield kind, changed, says
    if isinstance(made, extract.within):
        yield "alternative", _inside(made), f"looks in the whole text, not only in {written(made.outer)}"
        if len(made.inner) == 1:
            yield "alternative", made.outer, f"takes all of {written(made.outer)}"


def _inside(made: extract.within) -> Extractor:
    """What looks in the value of the outer extractor."""
    first, *rest = made.inner
    return extract.within(first, *rest) if rest else first


def _of_parts(made: Any, parts: tuple[Any, ...], every: bool) -> _Changes:
    """Names, words or extractors: one fewer, two in the other order, one of them changed."""
    for at, part in enumerate(parts if len(parts) > 1 else ()):
        yield "alternative", parts[:at] + parts[at + 1 :], f"leaves out {written(part)}"
    for at in range(len(parts) - 1) if isinstance(made, extract.first_of | measure.tags) else ():
        first, second = parts[at : at + 2]
        swapped = (*parts[:at], second, first, *parts[at + 2 :])
        yield "alternative", swapped, f"has {written(second)} before {written(first)}"
    for at, part in enumerate(parts):
        if isinstance(part, Extractor):
            last = isinstance(made, extract.first_of) or at == len(parts) - 1
            for kind, changed, says in _of_made(part, every=every and last):
                yield kind, (*parts[:at], changed, *parts[at + 1 :]), f"{says}, in {written(part)}"


def _replaced(made: Any, option: str, value: Any) -> Any:
    """The primitive with another value of an option; ``None`` where that contradicts the others."""
    try:
        return replace(made, **{option: value})
    except (ValueError, TypeError):
        return None


def _of_call(function: Any, filled: Collection[str]) -> _Changes:
    """Changes of a function's options, those that are bound and those left at their default."""
    whole = function if isinstance(function, functools.partial) else functools.partial(function)
    inner, arguments, bound = whole.func, whole.args, whole.keywords
    own = (
        inspect.isfunction(inner)
        and of_rewardkit(inner)
        and inner.__module__.startswith("rewardkit.primitives.")
    )
    hints = _hints(inner)
    for name, default in _defaults(inner).items():
        if name in filled or name in NEVER:
            continue
        value = bound.get(name, default)
        if own or not isinstance(value, str):
            for kind, other, says in _others(name, value, hints.get(name), default, tolerances=own):
                keywords = {**bound, name: other}
                keywords = {key: item for key, item in keywords.items() if key != name or item != default}
                changed = functools.partial(inner, *arguments, **keywords) if keywords or arguments else inner
                if not own or _runs(changed):
                    yield kind, changed, says
    if inner in EXCHANGED:
        other, says = EXCHANGED[inner]
        yield "comparison", functools.partial(other, *arguments) if arguments else other, says


def _runs(verification: Callable[..., Any]) -> bool:
    """Whether the options of a verification go together."""
    try:
        verification("1", "1")
    except (ValueError, TypeError):
        return False
    return True


def _others(name: str, value: Any, hint: Any, default: Any = None, *, tolerances: bool = False) -> _Changes:
    """What may stand in place of the value of an option."""
    if name == "which" and value in WORDS:
        turned = "first" if value == "last" else "last"
        yield "match", turned, WORDS[turned]
    elif isinstance(value, bool):
        yield "option", not value, f"has {name}={not value}"
    elif isinstance(value, int | float):
        if value == 0 and tolerances and name in TOLERANCES:
            yield "threshold", TOLERANCES[name], f"has a tolerance, {name}={TOLERANCES[name]:g}"
        for other in scaled(value):
            yield "threshold", other, f"has {name}={other:g}, not {value:g}"
    elif isinstance(value, str) and name == "options" and len(value) > 2:
        yield "alternative", value[:-1], f"knows no option {value[-1]}"
    elif allowed := _literals(hint):
        for other in allowed:
            if other != value:
                yield "option", other, f"has {name}={other!r}, not {value!r}"
    elif isinstance(value, Mapping):  # a schema
        for left in value:
            rest = {key: value[key] for key in value if key != left}
            yield "alternative", rest, f"leaves {left!r} out of its {name}"
    elif isinstance(value, tuple | list) and len(value) > 1:  # steps
        for at, part in enumerate(value):
            yield "alternative", (*value[:at], *value[at + 1 :]), f"leaves {part!r} out of its {name}"
    elif value is not None and default is None and isinstance(value, str | int):
        yield "option", None, f"has no {name}"


def scaled(value: float) -> tuple[float, ...]:
    """Values a little below and above a limit; none for 0, which stands for a limit that is not there.

    >>> scaled(4), scaled(14), scaled(0.5), scaled(0)
    ((3, 5), (10, 18), (0.35, 0.65), ())
    """
    if not value:
        return ()
    if isinstance(value, int):
        return (value - 1, value + 1) if abs(value) < SMALL else tuple(round(value * by) for by in FACTORS)
    return tuple(float(f"{value * by:.6g}") for by in FACTORS)


def _hints(code: Any) -> dict[str, Any]:
    try:
        return get_type_hints(code)
    except (NameError, TypeError, AttributeError):  # names that are only known to a type checker
        return {}


def _literals(hint: Any) -> tuple[Any, ...]:
    """The values that a Literal allows, also in a union."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    if get_origin(hint) in (Union, type(int | str)):
        return tuple(value for part in get_args(hint) for value in _literals(part))
    return ()


def _defaults(function: Any) -> dict[str, Any]:
    """The parameters with a default, and it."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return {}
    return {p.name: p.default for p in parameters if p.default is not p.empty}
