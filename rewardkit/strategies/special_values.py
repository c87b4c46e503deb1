"""Special values: numbers that are none, and truths that code forgets: 0, -3, ""."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rewardkit.answers.kinds import split_items
from rewardkit.primitives.verify.numbers import as_decimal, read_number
from rewardkit.strategies.nothing_there import NUMERIC_KINDS
from rewardkit.strategies.strategy import (
    Attempt,
    Expects,
    Strategy,
    strategies_of_texts,
    strategy,
)
from rewardkit.strategies.subject import Subject


def truth_like(truth: Any, answer: str) -> Any:
    r"""Return a truth of the same form with another answer, None where that is no form.

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


def _replace_items(subject: Subject, value: str) -> Iterator[str]:
    """Write a value in place of the answer, or of each item of a list."""
    items, joint = split_items(subject.right)
    if value.casefold() != subject.right.casefold():
        yield subject.format.write(joint.join([value] * len(items)))


_value = strategies_of_texts("special_values", _replace_items)
_number_value = strategies_of_texts(
    "special_values", _replace_items, kinds=NUMERIC_KINDS
)
SPECIAL_VALUES = (
    _number_value("not_a_number", "'NaN' for an answer", "NaN", "nan", "-nan"),
    _number_value(
        "infinity",
        "infinity for an answer",
        *("Infinity", "inf", "-inf", "1e999", "-1e999"),
    ),
    _value("nothing_named", "a word for nothing", "None", "null", "N/A", "undefined"),
    _value(
        "many_digits", "a number of thousands of digits", "9" * 5000, kinds=("number",)
    ),
)


def _against(
    name: str, says: str, truth: str, *answers: str, expects: Expects = "wrong"
) -> Strategy:
    """Make a strategy of answers against another truth.

    Truth and answers may name the {size} of the right answer, and the {right} one.
    """

    def build(subject: Subject) -> Iterator[Attempt]:
        number = read_number(subject.right)
        size = 0 if number is None else abs(int(as_decimal(number)))
        right = "9" if subject.right == "0" else subject.right
        values = {"size": size or 7, "right": right}
        own_truth = subject.columns.get("ground_truth")
        other_truth = truth_like(own_truth, truth.format(**values))
        if other_truth is None:
            return
        for answer in answers:
            completion = subject.format.write(answer.format(**values))
            yield Attempt.of(completion, ground_truth=other_truth)

    return Strategy(
        name, "special_values", build, says, expects=expects, kinds=("number",)
    )


AGAINST_TRUTHS = (
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
        for answer in (subject.wrong[0], subject.right):
            yield Attempt.of(subject.format.write(answer), ground_truth="")
        for text in ("", "I do not know."):
            yield Attempt.of(text, ground_truth="")


@strategy(
    "near_misses", "a number with other decimals", knows="near", kinds=("number",)
)
def other_decimals(subject: Subject) -> Iterator[Attempt]:
    if re.search(r"\.\d", subject.right):
        truth = truth_like(subject.columns.get("ground_truth"), "3.25")
        if truth is not None:
            yield Attempt.of(subject.format.write("3.75"), ground_truth=truth)
