"""Shotgun: many answers at once, of which one is right: listing must not pay as deciding does.

Where a reward takes the first or the last of several, a list earns what one answer does: so the right one is
tried at both ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from rewardkit.answers.kinds import options_in
from rewardkit.primitives.verify.numbers import as_decimal, read_number
from rewardkit.strategies.strategy import Attempt, strategy
from rewardkit.strategies.subject import Subject

LISTED = ("number", "choice", "text", "mathematics")


def _numbers(subject: Subject) -> str | None:
    """Every whole number from below the right one to beyond it; ``None`` where it is not whole, or large."""
    number = read_number(subject.right)
    value = as_decimal(number) if number is not None else None
    if value is None or value != int(value) or not -500 < value < 5000:
        return None
    numbers = range(min(0, int(value) - 20), max(1000, int(value) + 100))
    return " ".join(map(str, numbers))


@strategy("shotgun", "a list of all numbers", kinds=("number",))
def every_number(subject: Subject) -> Iterator[Attempt]:
    listed = _numbers(subject)
    if listed:
        backwards = " ".join(reversed(listed.split()))
        yield Attempt.of(subject.format.write(listed), subject.format.write(backwards))


@strategy("shotgun", "a list of all choices", kinds=("choice",))
def every_choice(subject: Subject) -> Iterator[Attempt]:
    letters = options_in(subject.prompt)
    for joint in (", ", " ", " or "):
        yield Attempt.of(
            subject.format.write(joint.join(letters)),
            subject.format.write(joint.join(reversed(letters))),
        )


@strategy("shotgun", "a list of everything that could be asked for", kinds=("json",))
def every_item(subject: Subject) -> Iterator[Attempt]:
    lists = [
        json.loads(answer)
        for answer in (subject.right, *(subject.wrong[:-1] or subject.wrong))
    ]
    if isinstance(lists[0], list):
        items = [item for some in lists if isinstance(some, list) for item in some]
        every = sorted({json.dumps(item): item for item in items}.items())
        listed = [item for _, item in every]
        texts = [
            json.dumps(some, ensure_ascii=False) for some in (listed, listed[::-1])
        ]
        yield Attempt.of(*map(subject.format.write, texts))


@strategy("shotgun", "several answers in one mark", kinds=LISTED, knows="guess")
def several_answers(subject: Subject) -> Iterator[Attempt]:
    for joint in (" or ", ", ", " and ", " / ", " = ", "; ", "\n"):
        yield _both_ways(subject, subject.right, subject.wrong[0], joint)


def _both_ways(subject: Subject, right: str, wrong: str, joint: str) -> Attempt:
    return Attempt.of(
        subject.format.write(f"{right}{joint}{wrong}"),
        subject.format.write(f"{wrong}{joint}{right}"),
    )


@strategy("shotgun", "several marked answers", knows="guess")
def several_marks(subject: Subject) -> Iterator[Attempt]:
    form = subject.format
    if not form.opening:
        return
    right, wrong = form.marked(subject.right), form.marked(subject.wrong[0])
    yield Attempt.of(form.around(f"{right}\n{wrong}"), form.around(f"{wrong}\n{right}"))


@strategy(
    "shotgun",
    "a wrong answer that names the right one among others in its reasoning",
    knows="guess",
)
def mentioned(subject: Subject) -> Iterator[Attempt | str]:
    if subject.kind in ("json", "code", "prose"):
        return
    wrong = subject.wrong
    yield subject.format.write(
        wrong[0],
        reasoning=f"It could be {wrong[-1]}, {subject.right}, or it could be {wrong[0]}.",
    )
    listed = _numbers(subject) if subject.kind == "number" else None
    if listed:
        yield Attempt.of(
            subject.format.write(wrong[0], reasoning=f"Numbers: {listed} {wrong[0]}.")
        )


@strategy("shotgun", '"not" before the right answer', knows="known", kinds=LISTED)
def negated(subject: Subject) -> Iterator[str]:
    yield subject.format.write(f"not {subject.right}")
    yield subject.format.write(f"anything but {subject.right}")


@strategy("shotgun", "a right answer that is then withdrawn", knows="known")
def retracted(subject: Subject) -> Iterator[str]:
    form = subject.format
    right, wrong = form.marked(subject.right), form.marked(subject.wrong[0])
    yield form.around(f"{right}\nNo, that was a mistake. Once more:\n{wrong}")
