"""Concise but correct: short answers are worth more, but only where they are right.

What it is for: models that talk on. Up to 40 words a right answer earns all of the
bonus, then less along a cosine, and none from 120 words on. Whatever the answer, a
completion that runs into the last 50 of its 300 words loses a little, as one that is
cut off at the limit of a run would. A wrong answer is never paid for being short:
without that gate, saying nothing is the surest way to a reward.

What it misses: which words are saved. Reasoning that the policy still needs is cut as
readily as chatter, and then fewer answers are right: watch `correct` beside `concise`.
Words are runs between spaces, so a formula is a word (and a text without spaces is
short), and a text in Chinese is counted by its characters. Words around the announced
number are not understood: of a hedge, a range or a list the last number counts, which
is no better than one guess; "the answer is not 7" is no answer, a denial or doubt in
other words is one.
"""

from __future__ import annotations

import rewardkit as rk

reward = rk.Reward(
    "concise-v1",
    fields={
        "prediction": rk.extract.within(
            rk.extract.answer_phrase(language="en"), rk.extract.number()
        )
    },
    components=[
        rk.Component(
            "correct",
            rk.verify.numbers_equal,
            weight=1.0,
            primary=True,
            why="the task itself",
        ),
        rk.Component(
            "concise",
            rk.measure.length(full_until=40, zero_from=120, fall="cosine"),
            weight=0.3,
            gate=rk.gate("correct", at_least=1.0),
            why=(
                "only when right; less than the task, so that one more right "
                "answer is worth more"
            ),
        ),
        rk.Component(
            "overlong",
            rk.measure.overlong(limit=300, buffer=50),
            weight=-0.3,
            why="runs into the limit, right or wrong",
        ),
    ],
)
