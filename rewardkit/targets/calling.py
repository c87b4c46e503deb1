"""Others' code: a user's class made as a trainer makes it; for the proof a trainer that is installed here."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import CAUGHT, RewardError
from rewardkit.rewards.load import failed


@lru_cache(maxsize=8)  # so that all who look at a class speak of one object
def made(kind: type) -> Any:
    """An object of the class, the same each time; RewardError with file and line where its making fails.

    >>> class Weighed:
    ...     def __init__(self, weight): ...
    >>> made(Weighed)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    rewardkit.errors.RewardError: Weighed() failed at ...: TypeError: ...; give an object of it, made with ...
    """
    try:
        return kind()
    except CAUGHT as error:
        place = str(
            getattr(inspect.getmodule(kind), "__file__", None) or kind.__module__
        )
        raise RewardError(
            f"{kind.__name__}() failed at {failed(place, error)}; give an object of it, made with what it "
            "needs"
        ) from error


def installed(distribution: str, *modules: str) -> str:
    """The trainer and its version, such as "trl 1.16.0"; RewardError where it cannot be imported here."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    try:
        found = version(distribution)
    except PackageNotFoundError:
        missing = [distribution, *missing]
        found = ""
    if missing:
        raise RewardError(
            f"the proof runs {distribution}'s own code; missing here: {', '.join(missing)}; "
            "install that, or export without --verify"
        )
    return f"{distribution} {found}"


def awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives, on a loop in a thread of its own, as a notebook's is running already."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def loaded(path: Path) -> ModuleType:
    """The module that a file is, imported from its path as trainers do."""
    name = f"export_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling its functions needs to find it there
    spec.loader.exec_module(module)
    return module


def grouped(keys: Iterable[str]) -> list[list[int]]:
    """The places of each key: of the rows that a trainer hands over together.

    >>> grouped(["a", "b", "a"])
    [[0, 2], [1]]
    """
    found: dict[str, list[int]] = {}
    for at, key in enumerate(keys):
        found.setdefault(key, []).append(at)
    return list(found.values())
