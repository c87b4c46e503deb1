"""Answers announced in Chinese: 答案是42, 答案为：42, 最终答案：42, or a box.

What it is for: mathematics in Chinese with a number as its truth. The number of the
last announcement counts, in digits of either width, with a unit behind it or not; small
extras are paid for ending with the announcement and for reasoning in Chinese, as
policies drift into English when only the answer is paid. 50% is a half, so write a
truth in percent as "50%".

What it misses: numbers in characters (四十二) are no numbers. Words around the
number are
not understood: of a hedge (3 或 4) the last number counts, and a question
(答案是不是42,
答案是42吗) or a doubt is read as an answer; 答案不是42 is none. The 0.1 for the
announcement is
paid for a hedge as well. The share of Chinese characters says nothing on whether they
mean anything, and code or formulas with many Latin letters lower it in honest work.
"""

from __future__ import annotations

import rewardkit as rk


def in_chinese(completion: object) -> float | None:
    """Return twice the share of Chinese letters, at most 1.0; 0.0 without letters."""
    if not isinstance(completion, str):
        return None
    letters = [character for character in completion if character.isalpha()]
    return min(
        1.0,
        2 * sum("一" <= letter <= "鿿" for letter in letters) / max(1, len(letters)),
    )


reward = rk.Reward(
    "chinese-answer-v1",
    fields={
        "prediction": rk.extract.first_of(
            rk.extract.within(
                rk.extract.answer_phrase(language="zh"), rk.extract.number(percent=True)
            ),
            rk.extract.within(rk.extract.boxed(), rk.extract.number(percent=True)),
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
            "announced",
            rk.measure.regex(
                r"答案[是为]?\s*+[:：]?\s*+[-+−$¥]?\d[^\n。]{0,20}。?\s*+\Z"
            ),
            weight=0.1,
            why="ends with the announcement of a number, where every reader finds it",
        ),
        rk.Component(
            "language",
            in_chinese,
            weight=0.1,
            why=(
                "half of the letters are enough for all of it: units and "
                "variables are Latin in honest work"
            ),
        ),
    ],
)
