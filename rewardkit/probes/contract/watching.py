"""Watching: users' functions that say where they change what they are given, and rows on which they would."""

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
    """A function changed what it was given."""


class GivesNaN(TypeError):
    """A function gave a list that holds a NaN."""


@dataclass(frozen=True, repr=False)
class Watched:
    """A user's function that raises where it changes what it is given, nested values included.

    A `lasting` one raises in each call behind that, too. With `nan` it raises where a list has a NaN.
    """

    function: Callable[..., Any]
    lasting: bool = False
    nan: bool = False
    said: list[str] = field(default_factory=list, init=False)

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
        """What the function gives; ArgumentChanged, GivesNaN: what it did."""
        names = [*(f"{place + 1}" for place in range(len(positional))), *keywords]
        given = [*positional, *keywords.values()]
        before = [_copied(value) for value in given]
        answer = self.function(*positional, **keywords)
        if self.is_async:
            return self._later(answer, names, before, given)
        self._look(answer, names, before, given)
        return answer

    async def _later(
        self, answer: Any, names: list[str], before: list[Any], given: list[Any]
    ) -> Any:
        value = await answer
        self._look(value, names, before, given)
        return value

    def _look(
        self, answer: Any, names: list[str], before: list[Any], given: list[Any]
    ) -> None:
        if self.nan and isinstance(answer, list) and any(map(_is_nan, answer)):
            raise GivesNaN("gives NaN")
        for name, old, new in zip(names, before, given, strict=True):
            if old is not UNKNOWN and repr(old) != repr(new):
                self.said.append(f"changed its argument {name!r}")
                raise ArgumentChanged(self.said[-1])
        if self.lasting and self.said:
            raise ArgumentChanged(self.said[-1])


UNKNOWN = object()


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _copied(value: Any) -> Any:
    if type(value) in (str, int, float, bool, type(None)):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # a lock, a client: it cannot be told whether it changes
        return UNKNOWN


def watching(reward: Reward, **options: bool) -> Reward:
    """The reward with each of the user's functions watched, see `Watched`, but for gates."""

    def watched(function: Any) -> Any:
        if not TimeLimit.needed(function):
            return function
        if not isinstance(function, Adapter):
            return Watched(function, **options)
        own = (
            function.method or type(function).called is not Adapter.called
        )  # a method, not the object
        if own or not callable(function.function):
            return function
        return replace(function, function=Watched(function.function, **options))

    def with_watched(branch: Reward) -> Reward:
        fields = {name: watched(function) for name, function in branch.fields.items()}
        components = [
            replace(item, function=watched(item.function)) for item in branch.components
        ]
        return replace(branch, fields=fields, components=components)

    return reward.map(with_watched)


FORMS: tuple[Callable[[str], str], ...] = (
    lambda text: f"  \t{text}\n\n ",
    lambda text: text.replace("\n", "\r\n") + "\r\n",
    str.upper,
    str.lower,
    lambda text: (
        f"{text} Caf{unicodedata.normalize('NFD', 'é')} \ufb01t \uff14\u00a0\u200b"
    ),
    lambda text: (
        f"Sure! **So**:\n```\n{text}\n```\n\\[ $1,000 \\] I hope that this helps.<|im_end|>"
    ),
    lambda text: " I do not know.\n",
)
"""What code takes off or makes alike: white space, line ends, case, Unicode forms, marks and talk around; and
a completion without an answer."""

TEXTS = ("prompt", "completion", "ground_truth")


def varied(rows: Iterable[Row], variants: Variants) -> list[dict[str, Any]]:
    """The rows in forms on which code that tidies texts up changes something, one form after the other.

    The completion has that form, in a transcript as well, and white space stands around the other texts.
    """
    return [
        _in_form(row, FORMS[place % len(FORMS)], variants)
        for place, row in enumerate(rows)
    ]


def _in_form(
    row: Row, form: Callable[[str], str], variants: Variants
) -> dict[str, Any]:
    texts = {name: row[name] for name in TEXTS if isinstance(row.get(name), str)}
    completion = form(texts.pop("completion")) if "completion" in texts else None
    return variants.of(
        row, completion, **{name: FORMS[0](text) for name, text in texts.items()}
    )
