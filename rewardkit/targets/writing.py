"""What the files for trainers share: how their functions are written, and what they take from the trainer."""

from __future__ import annotations

from collections.abc import Mapping

from rewardkit.targets.losses import async_parts
from rewardkit.targets.target import Export

__all__ = ["answer", "class_name", "options", "taken", "waits"]


def options(export: Export) -> str:
    """The keyword arguments of an exported callable, behind a comma; nothing for those at their default."""
    given = f", columns={dict(export.columns)!r}" if export.columns else ""
    return given + (f", missing={export.missing!r}" if export.missing else "")


def waits(export: Export) -> bool:
    """Whether the reward has async components, so that its functions are best awaited."""
    return any(map(async_parts, export.reward.inner))


def answer(call: str, *, awaited: bool) -> str:
    """The expression for a call ``f(a, b)``: as it is, or made in a thread of its own and awaited.

    >>> answer("_score(state, target)", awaited=True)
    'await asyncio.to_thread(_score, state, target)'
    """
    function, _, arguments = call.partition("(")
    return f"await asyncio.to_thread({function}, {arguments}" if awaited else call


def taken(module: str, instead: Mapping[str, str]) -> str:
    """Lines that import names from the trainer, with what stands for them where it is not installed.

    So a file can be read back, and shown to work, on a machine without the trainer.
    """
    return (
        f"try:\n    from {module} import {', '.join(instead)}\n"
        f"except ImportError:  # the trainer is not here: the file can be looked at, and loaded back\n"
        f"    {', '.join(instead)} = {', '.join(instead.values())}"
    )


def class_name(identifier: str) -> str:
    """The name of a class for a reward of this name.

    >>> class_name("graded_math")
    'GradedMath'
    """
    return "".join(part[:1].upper() + part[1:] for part in identifier.split("_") if part) or "Reward"
