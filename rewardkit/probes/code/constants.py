"""Find texts, whole numbers and regular expressions that functions hold.

The search covers code, closures, defaults and attributes, and calls nothing.
"""

from __future__ import annotations

import dis
import functools
import inspect
import re
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import regex

from rewardkit.primitives.primitive import Made
from rewardkit.rewards.users_code import (
    HOLDERS,
    cell_content,
    codes_in,
    held_values,
    named_values,
    names_in,
    user_code,
)
from rewardkit.targets.adapter import Adapter

Pattern = re.Pattern[str]
"""A compiled pattern of `re`, or of `regex`, which has the same methods."""

ENGINES = ("re", "regex")

FLAG_NAMES = "IGNORECASE I MULTILINE M DOTALL S VERBOSE X ASCII A".split()
"""Flags of `re` that count where a function names them."""

MAY_BE_PATTERN = re.compile(r"[*+?{|\[\\]")
"""Found in patterns that are more than a word; for functions that name an engine."""

LOOKS_LIKE_PATTERN = re.compile(r"\\[dDsSwW]|\(\?[:=!<P]|[\]).][*+]|\[\^|[\])]\{\d")
"""Found in patterns, and in no ordinary text. Our choice."""

LONGEST_PATTERN = 2_000
"""Characters of a text that may be a pattern. Our choice."""

SHORT_LINE = re.compile(r"(?=.*[A-Za-z]{2})[^\n]{2,60}")
MOST_PHRASES = 12  # short lines that are returned: our choice

MOST_OBJECTS = 10_000
"""Objects that one search looks at. Our choice."""

PYTHON_ATTRIBUTES = frozenset(
    "__doc__ __module__ __qualname__ __firstlineno__ __static_attributes__".split()
)
"""Attributes that Python itself keeps with a class."""


def constants(functions: Iterable[Any]) -> list[str | int]:
    """List the texts and whole numbers that functions hold, without docstrings.

    The search covers code, closures, defaults, attributes and the globals that a
    function names; what partials, methods, objects and rewardkit's adapters hold; the
    functions and classes of its own module or folder that it names; the options of
    rewardkit's primitives.

    Args:
        functions: Callables; others hold nothing.

    Returns:
        Each constant once, in the order of the search.

    >>> def long(completion):
    ...     "Not this."
    ...     return len(completion) > 300 and "because" in completion
    >>> constants([long])
    [300, 'because']
    """
    values = dict.fromkeys(value for value, _ in _search(functions))
    return [value for value in values if isinstance(value, str | int)]


def phrases_in(functions: Iterable[Any]) -> list[str]:
    """List the first short lines that functions hold, those with capitals first.

    A checker may look for them in the output of a program.

    >>> phrases_in([lambda output: "status: fine" in output or "ALL FINE" in output])
    ['ALL FINE', 'status: fine']
    """
    lines = [text for text in constants(functions) if isinstance(text, str)]
    short = [text for text in lines if SHORT_LINE.fullmatch(text)]
    return sorted(short, key=str.islower)[:MOST_PHRASES]


def patterns_in(functions: Iterable[Any]) -> tuple[Pattern, ...]:
    r"""Find the regular expressions that functions hold, where `constants` looks.

    Args:
        functions: Callables; others hold nothing.

    Returns:
        Compiled patterns, each once: those that are compiled already; texts that look
        like a pattern and compile; in functions that name `re` or `regex` also texts
        that are more than a word, with all flags that the function names. Patterns that
        a function assembles while it runs are not found.

    >>> def total(completion):
    ...     return re.search(r"total: (\d+)", completion, re.IGNORECASE) is not None
    >>> patterns_in([total])
    (re.compile('total: (\\d+)', re.IGNORECASE),)
    """
    patterns: dict[str, Pattern] = {}
    for value, flags in _search(functions):
        pattern = None
        if isinstance(value, re.Pattern | regex.Pattern):
            pattern = value
        elif value not in patterns and _may_be_pattern(value, flags):
            pattern = _compile(value, flags or 0)
        if pattern is not None and isinstance(pattern.pattern, str):
            patterns.setdefault(pattern.pattern, pattern)
    return tuple(patterns.values())


def _may_be_pattern(value: Any, flags: int | None) -> bool:
    if not isinstance(value, str) or len(value) > LONGEST_PATTERN:
        return False
    if LOOKS_LIKE_PATTERN.search(value):
        return True
    return flags is not None and MAY_BE_PATTERN.search(value) is not None


def _compile(text: str, flags: int) -> Pattern | None:
    """Compile a text by `re`, else by `regex`; None if neither can read it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for engine, engine_flags in ((re, flags), (regex, flags & ~re.ASCII)):
            try:
                pattern: Pattern = engine.compile(text, engine_flags)
                return pattern
            except (re.error, regex.error, ValueError, OverflowError, RecursionError):
                continue
    return None


class _Home(NamedTuple):
    """The module and folder in which a function or class is defined."""

    module: str
    folder: str

    @classmethod
    def of(cls, definition: Any) -> _Home:
        module = str(getattr(definition, "__module__", None))
        code = getattr(definition, "__code__", None)
        if code:
            file = code.co_filename
        else:
            file = getattr(sys.modules.get(module), "__file__", None) or ""
        folder = str(Path(file).parent) if Path(file).is_absolute() else ""
        return cls(module, folder)

    @property
    def is_users(self) -> bool:
        """Return whether the module is neither Python's nor rewardkit's."""
        package = self.module.partition(".")[0]
        is_pythons = package in sys.stdlib_module_names
        return not is_pythons and not self.module.startswith(HOLDERS)

    def is_near(self, other: _Home) -> bool:
        """Return whether this home and the other share a user's module or folder."""
        if not self.is_users:
            return False
        if self.module == other.module:
            return True
        return self.folder == other.folder != ""


Constant = tuple[Any, int | None]
"""A text, number or pattern, with the flags that its function names.

The flags are None if the function names no engine.
"""


def functions_behind(functions: Iterable[Any]) -> list[types.FunctionType]:
    """List the users' functions among the objects that `constants` searches."""
    visited: dict[int, Any] = {}
    for _ in _search(functions, visited):
        pass
    return [
        value
        for value in visited.values()
        if isinstance(value, types.FunctionType) and _Home.of(value).is_users
    ]


def names_used(functions: Iterable[Any]) -> set[str]:
    """Return the names of functions, and all names in their code.

    >>> sorted(names_used([lambda text: len(text.lower())]))
    ['<lambda>', 'len', 'lower', 'text']
    """
    names = set()
    for function in functions_behind(functions):
        names.add(function.__name__)
        for code in codes_in(function.__code__):
            names.update(code.co_names, code.co_varnames)
    return names


def _search(
    functions: Iterable[Any], visited: dict[int, Any] | None = None
) -> Iterator[Constant]:
    visited = {} if visited is None else visited
    for function in functions:
        for part in (function, *user_code(function)):
            yield from _walk(part, None, None, visited)


def _walk(
    value: Any, home: _Home | None, flags: int | None, visited: dict[int, Any]
) -> Iterator[Constant]:
    """Yield the constants in a value that belongs to a definition at `home`.

    `visited` has objects by id. It keeps them alive, so that no id is used again.
    """
    if isinstance(value, str | re.Pattern | regex.Pattern) or type(value) is int:
        yield value, flags
        return
    if id(value) in visited or len(visited) >= MOST_OBJECTS:
        return
    if isinstance(value, types.ModuleType):
        return
    visited[id(value)] = value
    parts: Iterable[Any] | None
    if isinstance(value, types.FunctionType):
        function_home = _Home.of(value)
        if not function_home.is_near(home or function_home):
            return
        home = function_home
        parts, flags = _parts_of_function(value, home)
    else:
        parts = _parts_of_container(value)
        if parts is None:
            cached = inspect.getattr_static(value, "__wrapped__", None)
            parts = _attributes(value, home) if cached is None else [cached]
    for part in parts:
        yield from _walk(part, home, flags, visited)


def _parts_of_function(
    function: types.FunctionType, home: _Home
) -> tuple[Iterable[Any], int | None]:
    """List the parts and globals of a function, and the flags that it names."""
    names = dict.fromkeys(names_in(function))
    values = list(named_values(function).values())
    for module in [item for item in values if isinstance(item, types.ModuleType)]:
        file = getattr(module, "__file__", None) or ""
        if _Home(module.__name__, str(Path(file).parent)).is_near(home):
            content = vars(module)
            values += [content[name] for name in names if name in content]
    parts = []
    for code in codes_in(function.__code__):
        steps = dis.get_instructions(code)
        parts += [step.argval for step in steps if "CONST" in step.opname]
    parts += values
    parts += map(cell_content, function.__closure__ or ())
    parts += function.__defaults__ or ()
    parts += (function.__kwdefaults__ or {}).values()
    parts += vars(function).values()
    return parts, _flags_named(names, values)


def _flags_named(names: Iterable[str], values: Iterable[Any]) -> int | None:
    """Combine the flags of `re` among names; None if no engine is named."""
    if {*names, *map(_module_of, values)}.isdisjoint(ENGINES):
        return None
    flags = 0
    for name in names:
        if name in FLAG_NAMES:
            flags |= re.RegexFlag[name]
    return flags


def _attributes(value: Any, home: _Home | None) -> Iterator[Any]:
    """Yield the attributes of a class, or of an object and its class, near `home`."""
    kind = value if isinstance(value, type) else type(value)
    class_home = _Home.of(kind)
    if not class_home.is_near(home or class_home):
        return
    if value is not kind:
        yield from getattr(value, "__dict__", {}).values()
        for name in getattr(kind, "__slots__", ()):
            yield getattr(value, name, None)
    for base in kind.__mro__:
        if not _Home.of(base).is_near(class_home):
            continue
        for name, attribute in vars(base).items():
            if name not in PYTHON_ATTRIBUTES:
                yield attribute


def _parts_of_container(value: Any) -> Iterable[Any] | None:
    """List the parts of a container, partial, method or primitive; None for others."""
    match value:
        case dict():
            return (*value, *value.values())
        case set() | frozenset():
            return sorted(value, key=repr)
        case list() | tuple():
            return value
        case functools.partial():
            return held_values(value)
        case types.MethodType():
            return (value.__self__, value.__func__)
        case staticmethod() | classmethod():
            return (value.__func__,)
        case property():
            return (value.fget,)
        case types.CodeType() | float() | bytes() | None:
            return ()
        case Made() if not isinstance(value, Adapter):  # an adapter holds code
            return held_values(value)
    return None


def _module_of(value: Any) -> str:
    """Name the module that a value is or comes from: "re" of `re.search` as well."""
    is_module = isinstance(value, types.ModuleType)
    return str(getattr(value, "__name__" if is_module else "__module__", ""))
