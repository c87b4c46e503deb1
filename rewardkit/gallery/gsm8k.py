"""Word problems that end in ``#### 42``: graded strictly and flexibly, form included.

What it is for: GSM8K and its like. The right number behind the last mark earns
everything; the right number as the last one of a text earns half where no number stands
behind that mark, or there is none, so that a policy that can calculate but does not
know the form still has a signal; a wrong number in the form earns the credit for the
form alone. Give the number as `ground_truth`: a whole worked solution ("... #### 42")
is not judged.

`strict` and `flexible` pay one way of grading only, and the form as here. To `strict` a
right answer without the mark is no answer: it earns 0, a wrong number in the form 0.1.

What it misses: the steps are not read, so a bare "#### 42" earns everything and
wrong steps that end well
too. A hedge is one guess: "#### 42 or 43" is read as 42 (and is not the form),
"42 or 43" without a mark as
43. Without a mark the last number may be the year, the price or a number of the
question. Numbers in words
("forty-two") are no numbers.
"""

from __future__ import annotations

from dataclasses import replace

import rewardkit as rk

# The number on the line of its mark, as the strict grading reads it.
FORM = r"####[^\S\n]*+[-+−]?\$?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?\.?\s*+\Z"

reward = rk.Reward(
    "gsm8k-v1",
    fields={"marked": rk.extract.gsm8k(), "found": rk.extract.gsm8k("flexible")},
    components=[
        rk.Component(
            "strict",
            rk.verify.numbers_equal,
            columns={"prediction": "marked"},
            weight=0.5,
            primary=True,
            why="the task in the form asked for: the number behind the last mark",
        ),
        rk.Component(
            "flexible",
            rk.verify.numbers_equal,
            columns={"prediction": "found"},
            weight=0.5,
            why=(
                "the task in any form: a signal before the mark is learned; what "
                "strict pays, this pays too"
            ),
        ),
        rk.Component(
            "format",
            rk.measure.regex(FORM),
            weight=0.1,
            why=(
                "ends with the mark and one number; 0.1, so that form without the "
                "answer is worth little"
            ),
        ),
    ],
)

strict = replace(
    reward.reweigh({"strict": 1.0, "flexible": 0.0}), name="gsm8k-strict-v1"
)
flexible = replace(
    reward.reweigh({"strict": 0.0, "flexible": 1.0}), name="gsm8k-flexible-v1"
)
