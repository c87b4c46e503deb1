"""Format times content: nothing is paid below a threshold of form.

What it is for: short answers from a text, written in four sections (evidence,
reasoning, check, answer), where a reader downstream needs the sections. Below three of
them the reward is 0; from there on it is the share of words that answer and truth have
in common (F1), times the fourth root of the share of sections that are kept: one
section missing costs 7 %.

What it misses: a product with a threshold has no way to it. A right answer without the
form earns as little as a wrong one, and while no answer is right the form earns nothing
either, so train the form first or add it to a sum (`tagged` does). F1 pays words, not
meaning: "not in Oslo" earns 0.8 beside "in Oslo", a hedge ("Oslo or Bergen") half, and
neither order nor brackets tell anything. Numbers in it count by their values, and what
is nearly the number is another word.
"""

from __future__ import annotations

import rewardkit as rk

reward = rk.Reward(
    "strict-format-v1",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component(
            "format",
            rk.measure.tags("evidence", "reasoning", "check", "answer", partial=True),
            weight=0.25,
            why=(
                "an exponent: the threshold decides whether anything is paid, "
                "this only a little of how much"
            ),
        ),
        rk.Component(
            "content", rk.verify.f1, weight=1.0, primary=True, why="the task itself"
        ),
    ],
    aggregation="product",
    gate=rk.gate("format", at_least=0.75),
)
