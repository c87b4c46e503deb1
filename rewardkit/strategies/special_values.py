"""Special values: numbers that are none, and truths that code forgets: zero, negative, empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewardkit.answers.marks import split
from rewardkit.primitives.verify.numbers import as_decimal, read_number
from rewardkit.strategies.strategy import (
    Attempt,
    Expects,
    Strategy,
    of_texts,
    strategy,
)
from rewardkit.strategies.subject import Subject


def truth_like(truth: Any, answer: str) -> Any:
    r"""A truth of the same form with another answer; ``None`` where that form cannot be written.

    >>> truth_like("6 * 7\n#### 42", "0"), truth_like(42, "-3"), truth_like(["42"], "0")
    ('6 * 7\n#### 0', -3, ['0'])
    """
    if isinstance(truth, list):
        return [truth_like(truth[0], answer)] if len(truth) == 1 else None
    if isinstance(truth, int | float) and not isinstance(truth, bool):
        return type(truth)(answer) if answer else None
    if not isinstance(truth, str) or r"\boxed" in truth:
        return None
    head, mark, _ = truth.rpartition("####")
    return f"{head}{mark} {answer}" if mark else answer


def _instead(subject: Subject, value: str) -> Iterator[str]:
    """A completion with this in the place of the answer, or of each item of a list."""
    items, joint = split(subject.right)
    if value.casefold() != subject.right.casefold():
        yield subject.format.write(joint.join([value] * len(items)))


NUMERIC = ("number", "mathematics", "list")


_value = of_texts("special_values", _instead)
VALUES = (
    _value("not_a_number", "'NaN' for an answer", "NaN", "nan", "-nan", kinds=NUMERIC),
    _value(
        "infinity",
        "infinity for an answer",
        "Infinity",
        "inf",
        "-inf",
        "1e999",
        "-1e999",
        kinds=NUMERIC,
    ),
    _value("nothing_named", "a word for nothing", "None", "null", "N/A", "undefined"),
    _value(
        "many_digits", "a number of thousands of digits", "9" * 5000, kinds=("number",)
    ),
)


def _against(
    name: str, says: str, truth: str, *answers: str, expects: Expects = "wrong"
) -> Strategy:
    """Answers held against another truth, written with the `size` of the right answer, and it."""

    def build(subject: Subject) -> Iterator[Attempt]:
        number = read_number(subject.right)
        size = abs(int(as_decimal(number))) if number is not None else 0
        known = {
            "size": size or 7,
            "right": subject.right if subject.right != "0" else "9",
        }
        written = truth_like(subject.columns.get("ground_truth"), truth.format(**known))
        for answer in answers if written is not None else ():
            yield Attempt.of(
                subject.format.write(answer.format(**known)), ground_truth=written
            )

    return Strategy(
        name, "special_values", build, says, expects=expects, kinds=("number",)
    )


AGAINST = (
    _against("zero_is_right", "the right answer 0", "0", "0", expects="right"),
    _against(
        "nothing_for_zero", "no answer where 0 is right", "0", "", "nothing", "{right}"
    ),
    _against(
        "negative_is_right",
        "a right answer that is negative",
        "-{size}",
        "-{size}",
        expects="right",
    ),
    _against(
        "sign_lost",
        "a positive answer where a negative one is right",
        "-{size}",
        "{size}",
    ),
)


@strategy("special_values", "any answer where the truth is empty")
def empty_truth(subject: Subject) -> Iterator[Attempt]:
    if isinstance(subject.columns.get("ground_truth"), str):
        yield Attempt.of(subject.format.write(subject.wrong[0]), ground_truth="")
        yield Attempt.of(subject.format.write(subject.right), ground_truth="")
        for text in ("", "I do not know."):
            yield Attempt.of(text, ground_truth="")
