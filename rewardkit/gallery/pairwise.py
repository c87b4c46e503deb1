"""A tournament within the group: right answers earn more, the more siblings they beat.

What it is for: tasks whose right answers differ in quality, where no scale says by how
much. A model compares every two right siblings, in one order and in the other, so that
a place that decides by itself is a tie; the share of comparisons won always spreads
within the group, which is what a group advantage needs. A wrong answer is not compared.
Without a right sibling a right answer earns the task alone. The answers of the judge
are recorded, so that it runs without a server: give `model` and `base_url` of yours in
place of `recorded`.

What it misses: whether all siblings are bad: the best of a poor group earns what the
best of a good one does. Calls grow with the square of the group (`opponents` bounds
them). A score depends on siblings, so that the same completion earns another reward
beside others.
"""

from __future__ import annotations

import rewardkit as rk

BETTER_HELP = (
    "Which of two right solutions would you rather show to a pupil of twelve? The one "
    "whose steps say what "
    "is computed and why, without what does not belong to it. Neither the longer nor "
    "the shorter as such."
)

reward = rk.Reward(
    "pairwise-v1",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component(
            "correct",
            rk.verify.numbers_equal,
            weight=1.0,
            primary=True,
            why="the task itself",
        ),
        rk.Component(
            "tournament",
            rk.judges.pairwise(
                BETTER_HELP, model="written-by-hand", recorded="gallery:pairwise"
            ),
            weight=0.5,
            gate=rk.gate("correct", at_least=1.0),
            why="better than its right siblings; less than the task",
        ),
    ],
    on_missing="skip",
)
