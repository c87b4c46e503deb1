"""Correct first, then judged: a right answer earns more where a model finds it clear.

What it is for: word problems whose solutions people are to read. The answer is checked
by a rule, and only a right one is put before the judge, so that a call is made for each
of these and for no other, and no wrong answer is paid for reading well. The judge has
three levels and is asked for the reason before the level. Here its answers are
recorded, so that it runs without a server: give `model` and `base_url` of yours in
place of `recorded`.

What it misses: whether the judge is right: hold yours against labels, `rewardkit judge`
does it. Clear is not short, and a right answer after wrong steps is for the judge to
notice. What is not judged has no reward.
"""

from __future__ import annotations

import rewardkit as rk

CLEAR = (
    "Could a pupil of twelve follow how the solution of this problem comes to its "
    "answer? Clear: each step "
    "says what is computed and why, and the answer follows. Gaps: the way can be "
    "followed, but a step is "
    "missing, wrong or not explained. Unclear: there are no steps, they do not lead "
    "to the answer, or most "
    "of the text is about something else. The answer itself is checked elsewhere."
)

reward = rk.Reward(
    "judged-clarity-v1",
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
            "clarity",
            rk.judge(
                CLEAR,
                model="written-by-hand",
                scale={"clear": 1.0, "gaps": 0.5, "unclear": 0.0},
                recorded="gallery:judged_clarity",
            ),
            weight=0.5,
            gate=rk.gate("correct", at_least=1.0),
            why=(
                "a way that a reader can follow; only when right, and less than "
                "the task"
            ),
        ),
    ],
)
