"""Constants: texts, whole numbers and regular expressions that functions hold, found without a call."""

from __future__ import annotations

import dis
import functools
import inspect
import re
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import regex

from rewardkit.mutation.code import codes_in, names_in
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.fingerprint import HOLDERS, user_code
from rewardkit.targets.adapter import Adapter

Pattern = re.Pattern[str]
"""Or one of `regex`, which has the same methods."""

ENGINES = ("re", "regex")
FLAGS = {
    name: flag
    for name, flag in re.RegexFlag.__members__.items()
    if name
    in (
        "IGNORECASE",
        "I",
        "MULTILINE",
        "M",
        "DOTALL",
        "S",
        "VERBOSE",
        "X",
        "ASCII",
        "A",
    )
}
MAY_BE_ONE = re.compile(r"[*+?{|\[\\]")
"""What a pattern that is more than a word has; told of texts in functions that name `re`."""
LOOKS_LIKE_ONE = re.compile(r"\\[dDsSwW]|\(\?[:=!<P]|[\]).][*+]|\[\^|[\])]\{\d")
"""What is in no ordinary text. Our choice."""
LONGEST = 2_000  # characters of a text that may be a pattern: our choice
MOST = 10_000  # objects that are looked at: our choice
OF_CLASSES = (
    "__doc__",
    "__module__",
    "__qualname__",
    "__firstlineno__",
    "__static_attributes__",
)
"""What Python itself keeps with a class."""
SHARED = ("site-packages", "dist-packages")
"""Folders in which modules that have nothing to do with one another lie side by side."""


def constants(functions: Iterable[Any]) -> list[str | int]:
    """Texts and whole numbers that functions hold, each once, in the order in which they are met.

    Looked through are code, closure, defaults and attributes, the globals that they name, what partials,
    methods, objects and rewardkit's adapters hold, and the functions and classes that they name of their own
    module or of one in the same folder; of rewardkit's primitives the options. Docstrings are not among them.

    >>> def long(completion):
    ...     "Not this."
    ...     return len(completion) > 300 and "because" in completion
    >>> constants([long])
    [300, 'because']
    """
    held = (value for value, _ in _held(functions))
    return list(dict.fromkeys(value for value in held if isinstance(value, str | int)))


def patterns_in(functions: Iterable[Any]) -> tuple[Pattern, ...]:
    r"""The regular expressions that functions hold, looked for as `constants` does, compiled, each once.

    Found are compiled ones of `re` and `regex`, and texts that compile and look like one, or are more than a
    word and stand in a function that names `re` or `regex`: these have all the flags that it names. A pattern
    that is put together while a function runs is not known.

    >>> def total(completion):
    ...     return re.search(r"total: (\d+)", completion, re.IGNORECASE) is not None
    >>> patterns_in([total])
    (re.compile('total: (\\d+)', re.IGNORECASE),)
    """
    found: dict[str, Pattern] = {}
    for value, flags in _held(functions):
        if isinstance(value, re.Pattern | regex.Pattern):
            if isinstance(value.pattern, str):
                found.setdefault(value.pattern, value)
        elif isinstance(value, str) and len(value) <= LONGEST and value not in found:
            if LOOKS_LIKE_ONE.search(value) or (
                flags is not None and MAY_BE_ONE.search(value)
            ):
                made = _compiled(value, flags or 0)
                found |= {} if made is None else {value: made}
    return tuple(found.values())


def _compiled(text: str, flags: int) -> Pattern | None:
    """The pattern that a text is, by `re` or else by `regex`; ``None`` where it does not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for engine, known in ((re, flags), (regex, flags & ~re.ASCII)):
            try:
                made: Pattern = engine.compile(text, known)
                return made
            except (re.error, regex.error, ValueError, OverflowError, RecursionError):
                continue
    return None


class _Home(NamedTuple):
    """Where a function or class is defined: its module and folder."""

    module: str
    folder: str

    @classmethod
    def of(cls, value: Any) -> _Home:
        module = str(getattr(value, "__module__", None))
        code = getattr(value, "__code__", None)
        file = (
            code.co_filename
            if code
            else getattr(sys.modules.get(module), "__file__", None) or ""
        )
        return cls(module, str(Path(file).parent) if Path(file).is_absolute() else "")

    def near(self, other: _Home) -> bool:
        """Whether both are of one module or folder, and neither of Python nor of rewardkit."""
        if self.module.partition(".")[
            0
        ] in sys.stdlib_module_names or self.module.startswith(HOLDERS):
            return False
        beside = (
            self.folder == other.folder != "" and Path(self.folder).name not in SHARED
        )
        return self.module == other.module or beside


def _held(functions: Iterable[Any]) -> list[tuple[Any, int | None]]:
    search = _Search()
    for function in functions:
        for part in (function, *user_code(function)):
            search.look(part, None, None)
    return search.found


@dataclass(eq=False)
class _Search:
    """The plain values and patterns found, each with the flags named beside it; ``None``: no `re` is."""

    found: list[tuple[Any, int | None]] = field(default_factory=list)
    seen: dict[int, Any] = field(
        default_factory=dict
    )  # objects too, so that no other gets the same id

    def look(self, value: Any, home: _Home | None, flags: int | None) -> None:
        """Look at a value that stands in what is defined at `home`."""
        if isinstance(value, str | re.Pattern | regex.Pattern) or type(value) is int:
            self.found.append((value, flags))
            return
        if (
            id(value) in self.seen
            or len(self.seen) >= MOST
            or isinstance(value, types.ModuleType)
        ):
            return
        self.seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            own = _Home.of(value)
            if own.near(home or own):
                self.function(value, own)
        elif (inner := _inside(value)) is not None:
            self.all(inner, home, flags)
        elif (
            wrapped := inspect.getattr_static(value, "__wrapped__", None)
        ) is not None:  # of a cache
            self.look(wrapped, home, flags)
        else:
            self.all(self.of_object(value, home), home, flags)

    def all(self, values: Iterable[Any], home: _Home | None, flags: int | None) -> None:
        for value in values:
            self.look(value, home, flags)

    def of_object(self, value: Any, home: _Home | None) -> Iterator[Any]:
        """What a class has, or an object and its class."""
        kind = value if isinstance(value, type) else type(value)
        own = _Home.of(kind)
        if own.near(home or own):
            slots = getattr(kind, "__slots__", ())
            names = [slots] if isinstance(slots, str) else list(slots)
            if value is not kind:
                yield from getattr(value, "__dict__", {}).values()
                yield from (getattr(value, name, None) for name in names)
            for base in kind.__mro__:
                if _Home.of(base).near(own):
                    yield from (
                        item
                        for name, item in vars(base).items()
                        if name not in OF_CLASSES
                    )

    def function(self, function: types.FunctionType, home: _Home) -> None:
        names, known = dict.fromkeys(names_in(function)), function.__globals__
        held = [known[name] for name in names if name in known]
        for module in [value for value in held if isinstance(value, types.ModuleType)]:
            file = getattr(module, "__file__", None) or ""
            if _Home(module.__name__, str(Path(file).parent)).near(home):
                held += [vars(module)[name] for name in names if name in vars(module)]
        flags = None
        if {*names, *map(_engine, held)} & {*ENGINES}:
            flags = functools.reduce(
                int.__or__, (FLAGS[name] for name in names if name in FLAGS), 0
            )
        for code in codes_in(function.__code__):
            loads = (
                item for item in dis.get_instructions(code) if "CONST" in item.opname
            )
            self.all((item.argval for item in loads), home, flags)
        self.all([*held, *map(_content, function.__closure__ or ())], home, flags)
        self.all(
            [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()],
            home,
            flags,
        )
        self.all(vars(function).values(), home, flags)


def _inside(value: Any) -> Iterable[Any] | None:
    """What a container, a partial, a method or a primitive holds; ``None``: it is another object."""
    match value:
        case dict():
            return (*value, *value.values())
        case set() | frozenset():
            return sorted(value, key=repr)
        case list() | tuple():
            return value
        case functools.partial():
            return (value.func, *value.args, *value.keywords.values())
        case types.MethodType():
            return (value.__self__, value.__func__)
        case staticmethod() | classmethod():
            return (value.__func__,)
        case property():
            return (value.fget,)
        case types.CodeType() | float() | bytes() | None:
            return ()
        case Made() if not isinstance(value, Adapter):  # what an adapter holds is code
            return [getattr(value, item.name) for item in fields(value)]  # type: ignore[arg-type]
    return None


def _engine(value: Any) -> str:
    """The module that something is, or comes from: "re" of `re.search` as well."""
    return str(
        getattr(
            value,
            "__name__" if isinstance(value, types.ModuleType) else "__module__",
            "",
        )
    )


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
