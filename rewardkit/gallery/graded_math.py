r"""Mathematics in a box, ``\boxed{42}``, with partial credit for a number nearly right.

What it is for: answers that may be expressions, and problems that are so hard at first
that no completion of a group is right: a wrong number within a tenth of the true one
earns up to 0.3, falling in a straight line with its error. The error is a share of the
larger of the two, so that truths of 0 and negative ones are graded like any other.
Where the truth is no plain number there is no distance, and only what is equal is paid.

What it misses: an expression that equals the truth is right, so that a box may hold the
unfinished sum, or the problem itself: where truths are numbers, compare by
`numbers_equal`. Near is not nearly understood. A sign lost at the end earns nothing, a
rough estimate without reasoning earns as much as a slip in the last digit, and where
the truths of a task lie close together guessing their mean is paid: lower the weight of
`near`, or end it, once groups hold right answers.
"""

from __future__ import annotations

from functools import partial

import rewardkit as rk


def missed(correct: float, ground_truth: object) -> bool:
    """Return whether the answer is wrong and the truth a number to measure against."""
    return correct == 0.0 and rk.verify.read_number(ground_truth) is not None


def filled(box: str | None) -> bool:
    """Whether there is a box with something in it."""
    return bool(box)


reward = rk.Reward(
    "graded-math-v1",
    fields={
        "box": rk.extract.boxed(),
        "prediction": rk.extract.first_of(
            rk.extract.boxed(), rk.extract.answer_phrase(language="en")
        ),
    },
    components=[
        rk.Component(
            "correct",
            rk.verify.math_equal,
            weight=1.0,
            primary=True,
            why="the task itself",
        ),
        rk.Component(
            "near",
            partial(rk.verify.closeness, zero_at=0.1),
            weight=0.3,
            gate=rk.gate(missed),
            why=(
                "a signal where no sibling is right; under a third of what being "
                "right is worth"
            ),
        ),
        rk.Component(
            "boxed",
            filled,
            weight=0.1,
            why="every reader of such answers looks for the box",
        ),
    ],
)
