"""Three stages: the marker ``####``, numbered steps before it, the answer behind it.

What it is for: a policy that starts from nothing. The marker is the first thing to
learn and earns 0.1; steps count, for 0.2, once there is a marker; the right number
earns 1.0. The stages of form are gated one behind the other, the answer is not: where
it is, as is usual, a wrong answer in full form earns more than a right one without a
marker.

The last marker is the one that counts: steps stand before it, and where no number
stands right behind it there is no answer. Without any marker the last number of the
text is the answer.

What it misses: what the steps say. Three numbered lines of nonsense earn what three
good ones do, and their 0.2 is earned without solving anything: watch that `correct`
rises when `steps` is full. A hedge is read as its first number ("#### 72 or 73" is 72),
without a marker as its last; the number of a text without a marker may be one of the
question.
"""

from __future__ import annotations

import rewardkit as rk


def before_the_marker(completion: object) -> str | None:
    """Return the text before the last ``####``."""
    return completion.rpartition("####")[0] if isinstance(completion, str) else None


reward = rk.Reward(
    "stages-v1",
    fields={
        "before": before_the_marker,
        "prediction": rk.extract.first_of(rk.extract.gsm8k(), rk.extract.number()),
    },
    components=[
        rk.Component(
            "marker",
            rk.measure.regex(r"(?m)^####(?!#)[ \t]*+\S"),
            weight=0.1,
            why="first stage: something stands behind the mark",
        ),
        rk.Component(
            "steps",
            rk.measure.steps(3),
            columns={"completion": "before"},
            weight=0.2,
            gate=rk.gate("marker", at_least=1.0),
            why="second stage: three different numbered or bulleted lines",
        ),
        rk.Component(
            "correct",
            rk.verify.numbers_equal,
            weight=1.0,
            primary=True,
            why=(
                "third stage, the task itself: not gated, as being right may not "
                "earn less than form"
            ),
        ),
    ],
)
