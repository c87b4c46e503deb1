"""Own functions of a starting reward, in its words: what a file needs of them is copied into it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import rewardkit as rk

__all__ = ["OWN", "accepted", "all_right", "source", "stated"]


def accepted(prediction: str | None, ground_truth: list[str] | None) -> bool | None:
    """Whether the answer is one of the accepted ones."""
    return any(rk.verify.matches(prediction, one) for one in ground_truth) if ground_truth else None


def all_right(values: float) -> bool:
    """Whether every value is right and none is added."""
    return values == 1.0


def stated(marked: str | None) -> bool:
    """Whether an answer stands where it is asked for, with something in it."""
    return bool(marked)


OWN: dict[str, Callable[..., Any]] = {one.__name__: one for one in (accepted, all_right, stated)}


def source(name: str) -> str:
    """The text of one of them."""
    return inspect.getsource(OWN[name])
