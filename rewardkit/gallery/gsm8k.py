"""Word problems that end in ``#### 42``: graded strictly and flexibly, with credit for the form.

What it is for: GSM8K and its like. The right number behind the mark earns everything; the right number as the
last one of a text without a mark earns half, so that a policy that can calculate but does not know the form
still has a signal; a wrong number in the form earns the credit for the form alone. Give the number as
`ground_truth`: a whole worked solution ("... #### 42") is not judged. `strict` and `flexible` pay one way of
grading only.

What it misses: the steps are not read, so a bare "#### 42" earns everything and wrong steps that end well
too. "#### 42 or 43" is read as 42. Without a mark the last number counts, and that may be the year, the price
or a number of the question. Numbers in words ("forty-two") are no numbers.
"""

from __future__ import annotations

from dataclasses import replace

import rewardkit as rk

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
            why="the task in any form: a signal before the mark is learned; what strict pays, this pays too",
        ),
        rk.Component(
            "format",
            rk.measure.regex(r"####\s*+[-+]?\$?\d[\d,]*+(?:\.\d++)?\.?\s*+\Z"),
            weight=0.1,
            why="ends with the mark and one number; 0.1, so that form without the answer is worth little",
        ),
    ],
)

strict = replace(reward.reweigh({"strict": 1.0, "flexible": 0.0}), name="gsm8k-strict-v1")
flexible = replace(reward.reweigh({"strict": 0.0, "flexible": 1.0}), name="gsm8k-flexible-v1")
