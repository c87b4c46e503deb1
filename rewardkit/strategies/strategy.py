"""Attempts: what is tried on a prompt whose right answer is known, and the probes that make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewardkit.strategies.subject import Subject

Expects = Literal["wrong", "right", "form", "mark", "more", "back"]
"""A wrong answer that must not gain; a right one that must not lose; a wrong one in marks that are none,
which must not earn what the form earns; a right one in such marks, which must not earn more than without
any; right ones, each longer than the last, which must not earn ever more; a call that has to come back."""

EASE: Mapping[str, float] = {
    "blind": 1.0,
    "copy": 1.0,
    "guess": 0.6,
    "form": 0.6,
    "near": 0.5,
    "mark": 0.2,
    "known": 0.1,
}
"""How easily a policy gets there, by what it has to know: nothing but the prompt (1), a few candidates of
which one is right, how a parser errs, something near the answer, the answer itself and how a parser errs, or
the answer alone. Our choice."""


@dataclass(frozen=True)
class Attempt:
    """Completions that are tried together: a hole is where *all* of them are paid, a loss where one is not.

    `columns` are other values for columns of the row, such as another truth; `transcripts` the turns that
    each completion ends, where these differ.
    """

    completions: tuple[str, ...]
    columns: Mapping[str, Any] = field(default_factory=dict)
    transcripts: tuple[Sequence[Any], ...] = ()

    @classmethod
    def of(cls, *completions: str, **columns: Any) -> Attempt:
        """An attempt of these completions."""
        return cls(completions, columns)

    @property
    def rows(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Each completion with the other values for columns of its row."""
        own = [{"messages": turns} for turns in self.transcripts] or [{}] * len(
            self.completions
        )
        return [
            (text, {**self.columns, **one})
            for text, one in zip(self.completions, own, strict=True)
        ]


Build = Callable[[Subject], Iterable[Attempt | str]]


@dataclass(frozen=True)
class Strategy:
    """A way to try a reward: from a subject it makes attempts, of which it is known what they must not do.

    `says` goes on behind "pays" for a wrong answer and behind "does not pay" for a right one. `kinds` are the
    kinds of answers that it is for (all, where it names none). It needs a right answer, or else at least a
    mark where one could stand, or nothing; and with `tag` a format that marks the answer with a tag.
    """

    name: str
    family: str
    build: Build
    says: str
    expects: Expects = "wrong"
    knows: str = "blind"
    kinds: tuple[str, ...] = ()
    needs: Literal["answer", "mark", "nothing"] = "answer"
    tag: bool = False

    def fits(self, subject: Subject) -> bool:
        """Whether it can be run on this subject."""
        if subject.answer is None and self.needs != "nothing":
            if self.needs == "answer" or not subject.format.opening:
                return False
        if self.tag and subject.format.tag is None:
            return False
        return not self.kinds or subject.kind in self.kinds

    def attempts(self, subject: Subject) -> list[Attempt]:
        """What it tries on a subject; nothing where it does not fit."""
        made = self.build(subject) if self.fits(subject) else ()
        return [Attempt((item,)) if isinstance(item, str) else item for item in made]


def strategy(family: str, says: str, **options: Any) -> Callable[[Build], Strategy]:
    """A decorator that makes a probe of a function; its name is the probe's."""

    def made(build: Build) -> Strategy:
        return Strategy(build.__name__, family, build, says, **options)

    return made


def of_texts(
    family: str, put: Callable[[Subject, str], Iterable[str]], **options: Any
) -> Callable[..., Strategy]:
    """What makes a probe of its name, what it says, and texts, each of which is `put` into completions."""

    def made(name: str, says: str, *texts: str, **more: Any) -> Strategy:
        def build(subject: Subject) -> Iterable[str]:
            return [completion for text in texts for completion in put(subject, text)]

        return Strategy(name, family, build, says, **options, **more)

    return made
