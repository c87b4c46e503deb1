"""What the callers of the proof share: a file as a trainer loads it, and whether the trainer is installed."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.rewards.signature import is_async

__all__ = ["awaited", "each", "installed", "loaded"]


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


def each(function: Callable[[Any], Any], rows: Sequence[Any]) -> list[Any]:
    """What a function gives for each row; awaited in a thread of its own where it has to be."""
    if not is_async(function):
        return [function(row) for row in rows]

    async def together() -> list[Any]:
        return list(await asyncio.gather(*map(function, rows)))

    found: list[Any] = awaited(together())
    return found


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
