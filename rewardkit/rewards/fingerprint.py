"""What tells two definitions apart: how functions are written, and source hashes.

The hash of a function's source file is taken when a component or reward is first made
of it, so that an edit of the file afterwards does not vouch for code that never ran.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import operator
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from rewardkit.errors import RewardError
from rewardkit.primitives.gates import Gate

SOURCE_HASH = "__rewardkit_source_hash__"
"""The name under which a module that `load_reward` ran holds the hash of its text."""

HOLDERS = (
    "rewardkit.primitives.",
    "rewardkit.judges.",
    "rewardkit.targets.",
)
"""Where rewardkit's callables that may hold a user's function are defined."""

_SEEN: WeakKeyDictionary[Any, tuple[str, str]] = WeakKeyDictionary()
"""Function or class -> name and hash of its source file when it was first asked for."""


@dataclass(frozen=True, repr=False)
class Recorded:
    """A stand-in for a function of which only its text and columns were recorded."""

    text: str
    asked_for: tuple[str, ...] = ()

    def __call__(self, *_: Any) -> Any:
        """RewardError: it cannot be run."""
        raise RewardError(
            f"{self.text} was read from a run record and cannot be run; load the "
            "reward itself"
        )

    def __repr__(self) -> str:
        return self.text


def describe(function: Any) -> str:
    """How a function is written in records and fingerprints.

    The same on every machine, no memory addresses; a primitive's as people write it
    (``rk.verify.matches``).
    """
    if isinstance(function, functools.partial):
        bound = [
            describe(argument) if callable(argument) else repr(argument)
            for argument in function.args
        ]
        for name, value in function.keywords.items():
            bound.append(
                f"{name}={describe(value) if callable(value) else repr(value)}"
            )
        return f"partial({', '.join([describe(function.func), *bound])})"
    if isinstance(function, Gate) and callable(function.on):
        return f"gate({describe(function.on)})"
    if hasattr(function, "__qualname__"):
        if not of_rewardkit(function):
            return str(function.__qualname__)
        _, place, room, *_ = f"{function.__module__}..".split(".")
        home = f"rk.{room}" if place == "primitives" else function.__module__
        return f"{home}.{function.__qualname__}"
    text = repr(function)
    return text if " at 0x" not in text else f"{type(function).__qualname__}()"


def fingerprint(content: Any) -> str:
    """Hash of plain data, the same on every machine."""
    return source_hash(json.dumps(content, sort_keys=True, default=str).encode())


def source_hash(text: bytes) -> str:
    """Hash of the text of a source file."""
    return hashlib.sha256(text).hexdigest()[:16]


def sources(functions: Iterable[Any]) -> dict[str, str]:
    """File name -> hash, for the source files that user functions come from.

    As they were when the functions were first seen; a function without source is
    "unknown".
    """
    found: dict[str, dict[str, None]] = {}  # hashes in order, each once
    for part, name, hashed in sources_seen(functions):
        found.setdefault(name, {})[hashed + _captured(part)] = None
    return {name: " ".join(hashes) for name, hashes in sorted(found.items())}


def sources_seen(functions: Iterable[Any]) -> list[tuple[Any, str, str]]:
    """Return each piece of users' code with the name and hash of its source file."""
    return [
        (part, *_source(part)) for function in functions for part in user_code(function)
    ]


def _source(part: Any) -> tuple[str, str]:
    code = part if hasattr(part, "__qualname__") else type(part)
    if loaded := getattr(code, "__globals__", {}).get(
        SOURCE_HASH
    ):  # of the run that made it
        return Path(code.__code__.co_filename).name, loaded
    try:
        return _SEEN.get(code) or _SEEN.setdefault(code, _read(code))
    except TypeError:  # a built-in function cannot be remembered, and has no source
        return describe(part), "unknown"


def _read(code: Any) -> tuple[str, str]:
    """Name and hash of the file that a function or class comes from, as it is now."""
    try:
        file = inspect.getsourcefile(code)
        if file in (
            "<string>",
            "<stdin>",
        ):  # Python 3.13 would give the text of whatever ran last
            raise OSError
        whole = file and Path(file).is_file()
        text = (
            Path(str(file)).read_bytes()
            if whole
            else inspect.getsource(code).encode("utf-8", "replace")
        )
        return Path(file).name if file else describe(code), source_hash(text)
    except (OSError, TypeError):
        return describe(code), "unknown"


def _captured(part: Any) -> str:
    """Hash what a function has besides its source: closure, defaults, state."""
    code = getattr(part, "__code__", None)
    if code is not None:
        columns = (column for _, _, column, _ in code.co_positions() if column)
        place = (
            (code.co_firstlineno, min(columns, default=0))
            if "<lambda>" in part.__qualname__
            else None
        )
        cells = [_cell(cell) for cell in part.__closure__ or ()]
        held: Any = [
            item
            for item in (cells, part.__defaults__, part.__kwdefaults__, place)
            if item
        ]
    else:
        held = (
            vars(part)
            if hasattr(part, "__dict__") and not isinstance(part, type)
            else {}
        )
    text = repr(held)
    return (
        ""
        if not held
        else "/unknown"
        if " at 0x" in text
        else f"/{source_hash(text.encode())}"
    )


def _cell(cell: Any) -> Any:
    try:
        value = cell.cell_contents
    except ValueError:  # not filled yet
        return None
    return describe(value) if callable(value) else value


def of_rewardkit(code: Any) -> bool:
    """Return whether code is rewardkit's own, and no wrapper with the same name."""
    module = getattr(code, "__module__", None) or ""
    if not module.startswith("rewardkit."):
        return False
    try:
        return operator.attrgetter(code.__qualname__)(sys.modules[module]) is code
    except (AttributeError, KeyError):
        return False


def user_code(function: Any) -> list[Any]:
    """Return the functions and classes behind a callable that are not rewardkit's own.

    Tokenizers among what it holds count, which need not be callable.
    """
    code = function if hasattr(function, "__qualname__") else type(function)
    if isinstance(function, functools.partial):
        held = [function.func, *function.args, *function.keywords.values()]
    elif of_rewardkit(code) and code.__module__.startswith(HOLDERS):
        values = (
            [getattr(function, item.name) for item in fields(function)]
            if is_dataclass(function)
            else []
        )
        held = [
            inner
            for value in values
            for inner in (value if type(value) is tuple else (value,))
        ]
    else:
        return [function]
    return [
        part
        for value in held
        if callable(value) or (hasattr(value, "encode") and not isinstance(value, str))
        for part in user_code(value)
    ]
