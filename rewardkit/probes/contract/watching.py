"""Users' functions that report when they change their arguments, and rows to try.

A row is varied so that code which tidies texts up changes something.
"""

from __future__ import annotations

import copy
import inspect
import math
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.probes.runner import Variants
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import is_async
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.strategies.subject import Row
from rewardkit.targets.adapter import Adapter


class ArgumentChanged(TypeError):
    """A function changed an argument."""


class GivesNaN(TypeError):
    """A function gave a list that holds a NaN."""


@dataclass(frozen=True, repr=False)
class Watched:
    """A user's function that raises where it changes an argument, nested or not.

    A `lasting` one raises in each later call, too. With `nan` it raises where a list
    has a NaN. `changes` has the words of each change so far.
    """

    function: Callable[..., Any]
    lasting: bool = False
    nan: bool = False
    changes: list[str] = field(default_factory=list, init=False)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def is_async(self) -> bool:
        """Whether its answer has to be awaited."""
        return is_async(self.function)

    @property
    def together(self) -> str:
        """How it is called as a field."""
        return str(getattr(self.function, "together", ""))

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        """Call the function and check its arguments and its answer.

        Raises:
            ArgumentChanged: It changed an argument.
            GivesNaN: It gave a NaN.
        """
        arguments: dict[str, Any] = {}
        for place, value in enumerate(positional, 1):
            arguments[str(place)] = value
        arguments |= keywords
        copies = {name: _copy(value) for name, value in arguments.items()}
        answer = self.function(*positional, **keywords)
        if self.is_async:
            return self._await(answer, copies, arguments)
        self._check(answer, copies, arguments)
        return answer

    async def _await(
        self, answer: Any, copies: dict[str, Any], arguments: dict[str, Any]
    ) -> Any:
        value = await answer
        self._check(value, copies, arguments)
        return value

    def _check(
        self, answer: Any, copies: dict[str, Any], arguments: dict[str, Any]
    ) -> None:
        if self.nan and isinstance(answer, list) and any(map(_is_nan, answer)):
            raise GivesNaN("gives NaN")
        for name, before in copies.items():
            if before is not NOT_COPIED and repr(before) != repr(arguments[name]):
                self.changes.append(f"changed its argument {name!r}")
                raise ArgumentChanged(self.changes[-1])
        if self.lasting and self.changes:
            raise ArgumentChanged(self.changes[-1])


NOT_COPIED = object()


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _copy(value: Any) -> Any:
    if type(value) in (str, int, float, bool, type(None)):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # a lock, a client: nobody can tell whether it changes
        return NOT_COPIED


def watch(reward: Reward, **options: bool) -> Reward:
    """Return the reward with each of the user's functions watched, but for gates.

    Args:
        reward: The reward.
        options: See `Watched`.
    """

    def watch_branch(branch: Reward) -> Reward:
        fields = {
            name: _watch_function(function, **options)
            for name, function in branch.fields.items()
        }
        components = [
            replace(item, function=_watch_function(item.function, **options))
            for item in branch.components
        ]
        return replace(branch, fields=fields, components=components)

    return reward.map(watch_branch)


def _watch_function(function: Any, **options: bool) -> Any:
    if not TimeLimit.needed(function):
        return function
    if not isinstance(function, Adapter):
        return Watched(function, **options)
    # an adapter may call a method, or its object in a way of its own
    is_special = function.method or type(function).called is not Adapter.called
    if is_special or not callable(function.function):
        return function
    return replace(function, function=Watched(function.function, **options))


def _pad(text: str) -> str:
    return f"  \t{text}\n\n "


def _use_line_ends(text: str) -> str:
    return text.replace("\n", "\r\n") + "\r\n"


def _add_unicode(text: str) -> str:
    accent = unicodedata.normalize("NFD", "é")
    return f"{text} Caf{accent} \ufb01t \uff14\u00a0\u200b"


def _add_talk(text: str) -> str:
    return (
        f"Sure! **So**:\n```\n{text}\n```\n\\[ $1,000 \\] I hope that this helps."
        "<|im_end|>"
    )


def _give_up(text: str) -> str:
    return " I do not know.\n"


TEXT_FORMS: tuple[Callable[[str], str], ...] = (
    _pad,
    _use_line_ends,
    str.upper,
    str.lower,
    _add_unicode,
    _add_talk,
    _give_up,
)
"""What code takes off or makes alike: white space, line ends, case, Unicode,
marks and talk around; and a completion without an answer."""

PADDED_COLUMNS = ("prompt", "ground_truth")


def vary(rows: Iterable[Row], variants: Variants) -> list[dict[str, Any]]:
    """Return rows in the forms that tidying changes, one form after the other.

    The completion has that form, in a transcript as well, and white space stands around
    the other texts.
    """
    varied: list[dict[str, Any]] = []
    for place, row in enumerate(rows):
        form = TEXT_FORMS[place % len(TEXT_FORMS)]
        completion = row.get("completion")
        completion = form(completion) if isinstance(completion, str) else None
        padded = {
            name: _pad(row[name])
            for name in PADDED_COLUMNS
            if isinstance(row.get(name), str)
        }
        varied.append(variants.of(row, completion, **padded))
    return varied
