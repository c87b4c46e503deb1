"""Tell definitions apart by the text of their functions and by source hashes.

A function's source file is hashed when a component or reward first uses it. A later
edit of the file therefore does not change the hash of the code that ran.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from rewardkit.errors import RewardError
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.users_code import cell_content, is_from_rewardkit, user_code

SOURCE_HASH = "__rewardkit_source_hash__"
"""Attribute of a module run by `load_reward`: the hash of its text."""

_SEEN: WeakKeyDictionary[Any, tuple[str, str]] = WeakKeyDictionary()
"""Function or class -> name and hash of its source file when it was first used."""


@dataclass(frozen=True, repr=False)
class Recorded:
    """A stand-in for a function that is known only from a run record."""

    text: str
    asked_for: tuple[str, ...] = ()

    def __call__(self, *_: Any) -> Any:
        """Raise a RewardError: a recorded function cannot run."""
        raise RewardError(
            f"{self.text} was read from a run record and cannot be run; load the "
            "reward itself"
        )

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ReadFrom:
    """The files that a reward was read from, as they were when they ran.

    `entry` names the reward, as "my_reward.py:reward". `files` has the file and the
    modules beside it that it imported, by name. `definition` is the record of the
    reward when it was read: one that was changed since has another record.
    """

    entry: str
    files: Mapping[str, bytes] = field(repr=False)
    definition: Mapping[str, Any] = field(repr=False)


def describe(function: Any) -> str:
    """Return the text of a function in records and fingerprints.

    It has no memory addresses and is the same on every machine. A primitive has its
    public name (``rk.verify.matches``).
    """
    if isinstance(function, functools.partial):
        arguments = [_describe_argument(value) for value in function.args]
        for name, value in function.keywords.items():
            arguments.append(f"{name}={_describe_argument(value)}")
        return f"partial({', '.join([describe(function.func), *arguments])})"
    if isinstance(function, Gate) and callable(function.on):
        return f"gate({describe(function.on)})"
    if hasattr(function, "__qualname__"):
        if not is_from_rewardkit(function):
            return str(function.__qualname__)
        module = function.__module__
        if module.startswith("rewardkit.primitives."):
            module = f"rk.{module.split('.')[2]}"
        return f"{module}.{function.__qualname__}"
    text = repr(function)
    if " at 0x" in text:
        return f"{type(function).__qualname__}()"
    return text


def _describe_argument(value: Any) -> str:
    return describe(value) if callable(value) else repr(value)


def fingerprint(content: Any) -> str:
    """Return the hash of plain data, the same on every machine."""
    return source_hash(json.dumps(content, sort_keys=True, default=str).encode())


NO_DEFINITION = ("version", "name", "origin", "fingerprints")
"""Keys of a reward's record that are no part of its definition."""
NO_SCORING = ("weight", "schedule", "why", "primary", "expects_partial")
"""The same of a component; the reward's record has all weights and schedules."""


def definition_hash(record: Mapping[str, Any]) -> str:
    """Return the hash of a reward's record, ignoring the names of source files."""
    if "route" in record:
        route = record["route"]
        branches = route["rewards"]
        hashes = [[item["value"], definition_hash(item["reward"])] for item in branches]
        default = route["default"] and definition_hash(route["default"])
        return fingerprint([route["column"], hashes, default])
    definition = {key: record[key] for key in record if key not in NO_DEFINITION}
    components = []
    for item in record["components"]:
        components.append({key: item[key] for key in item if key not in NO_SCORING})
    definition["components"] = components
    for key in ("sources", "transform_sources"):
        definition[key] = sorted(record[key].values())
    return fingerprint(definition)


def source_hash(text: bytes) -> str:
    """Return the hash of the text of a source file."""
    return hashlib.sha256(text).hexdigest()[:16]


def sources(functions: Iterable[Any]) -> dict[str, str]:
    """Return file name -> hash of the source files of users' functions.

    The hash is of the file when its function was first used; "unknown" without source.
    """
    hashes: dict[str, list[str]] = {}
    for code, name, file_hash in sources_seen(functions):
        file_hashes = hashes.setdefault(name, [])
        full_hash = file_hash + _state_hash(code)
        if full_hash not in file_hashes:
            file_hashes.append(full_hash)
    return {name: " ".join(hashes[name]) for name in sorted(hashes)}


def sources_seen(functions: Iterable[Any]) -> list[tuple[Any, str, str]]:
    """Return each user function with the name and hash of its source file."""
    code_files = []
    for function in functions:
        for code in user_code(function):
            code_files.append((code, *_source_file(code)))
    return code_files


def _source_file(part: Any) -> tuple[str, str]:
    """Return the name of a source file and its hash when it was first used."""
    code = part if hasattr(part, "__qualname__") else type(part)
    module_hash = getattr(code, "__globals__", {}).get(SOURCE_HASH)
    if module_hash:  # from the run of a reward file
        return Path(code.__code__.co_filename).name, module_hash
    try:
        return _SEEN.get(code) or _SEEN.setdefault(code, _read_source(code))
    except TypeError:  # a built-in function cannot be remembered, and has no source
        return describe(part), "unknown"


def _read_source(code: Any) -> tuple[str, str]:
    """Return the name and current hash of the file of a function or class."""
    try:
        file = inspect.getsourcefile(code)
        # Python 3.13 would return the text that ran last
        if file in ("<string>", "<stdin>"):
            raise OSError
        if file and Path(file).is_file():
            text = Path(file).read_bytes()
        else:
            text = inspect.getsource(code).encode("utf-8", "replace")
    except (OSError, TypeError):
        return describe(code), "unknown"
    return Path(file).name if file else describe(code), source_hash(text)


def _state_hash(part: Any) -> str:
    """Hash the closure, defaults and attributes of a function, "" without any."""
    state: Any = {}
    code = getattr(part, "__code__", None)
    if code is not None:
        cells: list[Any] = []
        for content in map(cell_content, part.__closure__ or ()):
            cells.append(describe(content) if callable(content) else content)
        place = None
        if "<lambda>" in part.__qualname__:
            columns = [column for _, _, column, _ in code.co_positions() if column]
            place = (code.co_firstlineno, min(columns, default=0))
        candidates = (cells, part.__defaults__, part.__kwdefaults__, place)
        state = [value for value in candidates if value]
    elif hasattr(part, "__dict__") and not isinstance(part, type):
        state = vars(part)
    if not state:
        return ""
    text = repr(state)
    if " at 0x" in text:
        return "/unknown"
    return f"/{source_hash(text.encode())}"
