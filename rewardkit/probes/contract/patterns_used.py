"""The regular expressions that a callable uses, found without running it."""

from __future__ import annotations

import dis
import functools
import inspect
import re
import sys
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import regex as engine

from rewardkit.rewards.fingerprint import HOLDERS, user_code

__all__ = ["codes_in", "patterns_in"]

Pattern = re.Pattern[str]
"""Or one of `regex`, which has the same methods."""

CALLS = (
    "compile",
    "search",
    "match",
    "fullmatch",
    "findall",
    "finditer",
    "sub",
    "subn",
    "split",
    "splititer",
)
ENGINES = ("re", "regex")
FLAGS = {
    **dict.fromkeys(("IGNORECASE", "I"), re.IGNORECASE),
    **dict.fromkeys(("MULTILINE", "M"), re.MULTILINE),
    **dict.fromkeys(("DOTALL", "S"), re.DOTALL),
    **dict.fromkeys(("VERBOSE", "X"), re.VERBOSE),
    **dict.fromkeys(("ASCII", "A"), re.ASCII),
}
LOOKS_LIKE_ONE = re.compile(r"\\[dDsSwW]|\(\?[:=!<P]|[\]).][*+]|\[\^|[\])]\{\d")
"""What is in no ordinary text. Our choice."""
LONGEST = 2_000
"""Characters of a text that may be a pattern. Our choice."""
MOST = 10_000
"""Objects that are looked at. Our choice."""
SHARED = ("site-packages", "dist-packages")
"""Folders in which modules that have nothing to do with one another lie side by side."""


def patterns_in(function: Any) -> tuple[Pattern, ...]:
    r"""The regular expressions that a callable uses, compiled, each once, in the order in which they are met.

    Looked through are its code, closure, defaults and attributes, the globals that it names, what is held by
    partials, methods, objects and rewardkit's adapters, and in the same way the functions and classes that it
    names of its own module or of one in the same folder. Found are compiled patterns of `re` and `regex`, the
    first argument of calls such as ``re.search(...)``, and other texts that look like a pattern and compile;
    a text has the flags of its call, or those that the function names. A pattern that is put together while
    the function runs is not known, nor are those of rewardkit's own primitives. Nothing is run.

    >>> def total(completion):
    ...     return re.search(r"total: (\d+)", completion, re.IGNORECASE) is not None
    >>> patterns_in(total)
    (re.compile('total: (\\d+)', re.IGNORECASE),)
    """
    search = _Search()
    for part in (function, *user_code(function)):
        search.look(part)
    return tuple(search.found.values())


class _Home(NamedTuple):
    """Where a function or class is defined: its module and folder."""

    module: str
    folder: str

    @classmethod
    def of(cls, value: Any) -> _Home:
        module = str(getattr(value, "__module__", None))
        code = getattr(value, "__code__", None)
        file = code.co_filename if code else getattr(sys.modules.get(module), "__file__", None) or ""
        return cls(module, str(Path(file).parent) if Path(file).is_absolute() else "")

    def is_others(self) -> bool:
        """Whether its patterns are not the user's to answer for."""
        return self.module.partition(".")[0] in sys.stdlib_module_names or self.module.startswith(HOLDERS)

    def near(self, other: _Home) -> bool:
        """Whether both are of one module, or of modules in one folder."""
        beside = self.folder == other.folder != "" and Path(self.folder).name not in SHARED
        return not self.is_others() and (self.module == other.module or beside)


class _Search:
    """What has been found, and what has been looked at."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], Pattern] = {}
        self.seen: dict[int, Any] = {}  # the objects too, so that no other gets the same id

    def look(self, value: Any, home: _Home | None = None, flags: int = 0) -> None:
        """Look at a value that stands in what is defined at `home`; `flags` are those for a text."""
        if isinstance(value, str):
            if len(value) <= LONGEST and LOOKS_LIKE_ONE.search(value):
                self.take(value, flags)
            return
        if id(value) in self.seen or len(self.seen) >= MOST:
            return
        self.seen[id(value)] = value
        if isinstance(value, re.Pattern | engine.Pattern):
            if isinstance(value.pattern, str):
                self.found.setdefault((value.pattern, int(value.flags)), value)
        elif isinstance(value, types.FunctionType):
            own = _Home.of(value)
            if own.near(home or own):
                self.function(value, own)
        elif isinstance(value, dict):
            self.all((*value, *value.values()), home, flags)
        elif isinstance(value, list | tuple | set | frozenset):
            self.all(value, home, flags)
        elif isinstance(value, functools.partial):
            self.all((value.func, *value.args, *value.keywords.values()), home, flags)
        elif isinstance(value, types.MethodType | staticmethod | classmethod | property):
            self.all((getattr(value, name, None) for name in ("__self__", "__func__", "fget")), home, flags)
        elif (wrapped := inspect.getattr_static(value, "__wrapped__", None)) is not None:  # of a cache
            self.look(wrapped, home, flags)
        elif not isinstance(value, types.ModuleType | int | float | bytes | None):
            self.object(value, home, flags)

    def all(self, values: Iterable[Any], home: _Home | None, flags: int) -> None:
        for value in values:
            self.look(value, home, flags)

    def object(self, value: Any, home: _Home | None, flags: int) -> None:
        """A class with its methods, or an object with its class and what it holds."""
        kind = value if isinstance(value, type) else type(value)
        own = _Home.of(kind)
        if not own.near(home or own):
            return
        if value is not kind:
            self.all(getattr(value, "__dict__", {}).values(), own, flags)
            self.all((getattr(value, name, None) for name in _slots(kind)), own, flags)
        for base in kind.__mro__:
            if _Home.of(base).near(own):
                self.all((item for name, item in vars(base).items() if name != "__doc__"), own, flags)

    def function(self, function: types.FunctionType, home: _Home) -> None:
        codes, known = list(codes_in(function.__code__)), function.__globals__
        names = dict.fromkeys(name for code in codes for name in code.co_names)
        flags = functools.reduce(lambda all, name: all | FLAGS[name], filter(_is_flag, names), 0)
        names_there = {**known, **_imported(codes)}
        for code in codes:
            for text, own in _arguments(code, names_there):
                self.take(text, own)
            self.all((item.argval for item in dis.get_instructions(code) if _is_text(item)), home, flags)
        held = [known[name] for name in names if name in known]
        for module in [value for value in held if isinstance(value, types.ModuleType)]:
            file = getattr(module, "__file__", None) or ""
            if _Home(module.__name__, str(Path(file).parent)).near(home):
                held += [vars(module)[name] for name in names if name in vars(module)]
        held += [value for cell in function.__closure__ or () for value in _content(cell)]
        held += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        self.all([*held, *vars(function).values()], home, flags)

    def take(self, text: str, flags: int) -> None:
        """Keep a text that compiles, unless it is there already."""
        if any(text == known for known, _ in self.found):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for compile_one in (re.compile, engine.compile):
                try:
                    made = compile_one(text, flags)
                except (re.error, engine.error, ValueError, OverflowError, RecursionError):
                    continue
                self.found[text, int(made.flags)] = made
                return


def _is_flag(name: str) -> bool:
    return name in FLAGS and len(name) > 1  # a single letter may be anything


def _slots(kind: type) -> list[str]:
    slots = getattr(kind, "__slots__", ())
    return [slots] if isinstance(slots, str) else list(slots)


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code and that of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def _content(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not filled yet
        return []


def _is_text(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith("LOAD_CONST") and isinstance(instruction.argval, str)


def _imported(codes: Iterable[types.CodeType]) -> dict[str, Any]:
    """What the codes import of `re` and `regex` themselves, by the names that they give it."""
    found: dict[str, Any] = {}
    for code in codes:
        module = value = None
        for item in dis.get_instructions(code):
            if item.opname == "IMPORT_NAME":
                module = value = sys.modules.get(str(item.argval)) if item.argval in ENGINES else None
            elif item.opname == "IMPORT_FROM":
                value = getattr(module, str(item.argval), None)
            elif item.opname.startswith("STORE") and value is not None:
                name = item.argval[0] if isinstance(item.argval, tuple) else item.argval  # two in one: 3.13
                found[str(name)], value = value, None
    return found


def _arguments(code: types.CodeType, known: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The first argument of each call of `re` or `regex`, where it is a text, and the flags behind it."""
    calls: list[tuple[Any, int]] = []
    waiting, before = False, None
    for item in dis.get_instructions(code):
        if "LOAD" not in item.opname:
            continue
        constant = item.opname.startswith("LOAD_CONST")
        attribute = "ATTR" in item.opname or "METHOD" in item.opname
        name = "" if constant else str(item.argval[-1] if isinstance(item.argval, tuple) else item.argval)
        value = item.argval if constant else None if attribute else known.get(name)
        if _is_call(value, name if attribute else "", before):
            waiting = True
        elif waiting:
            calls.append((value, 0))
            waiting = False
        elif calls and name in FLAGS:
            calls[-1] = calls[-1][0], calls[-1][1] | FLAGS[name]
        before = value
    return [(text, flags) for text, flags in calls if isinstance(text, str)]


def _is_call(value: Any, attribute: str, before: Any) -> bool:
    """Whether what is loaded is a function of `re` or `regex` that takes a pattern."""
    if attribute:
        of_engine = isinstance(before, types.ModuleType) and before.__name__ in ENGINES
        return of_engine and attribute in CALLS
    if not isinstance(value, types.FunctionType):
        return False
    return value.__module__.partition(".")[0] in ENGINES and value.__name__ in CALLS
