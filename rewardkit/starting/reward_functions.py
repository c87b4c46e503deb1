"""Functions of a first reward, in its words: what a file needs of them is copied into it."""

from __future__ import annotations

import inspect

from rewardkit.answers.truths import accepted


def all_right(values: float) -> bool:
    """Whether every value is right and none is added."""
    return values == 1.0


def stated(marked: str | None) -> bool:
    """Whether an answer stands where it is asked for, with something in it."""
    return bool(marked)


FUNCTIONS = {
    one.__name__: inspect.getsource(one).rstrip()
    for one in (accepted, all_right, stated)
}
"""Name -> the text of each."""
