"""Tagged reasoning: ``<think>...</think><answer>...</answer>`` and nothing else.

What it is for: training a base model to reason before it answers with a number, in the
form of DeepSeek-R1. Being right earns 1.0; the whole form 0.2, and a share of another
0.1 for each tag that is kept, so that there is a way to it; 0.1 more is paid where the
form holds and some reasoning stands in it. `prefilled` is for chat templates that end
the prompt with ``<think>``, so that the completion starts inside it.

What it misses: the reasoning is counted and not read: ten words of nothing earn what
ten good ones do, and the answer need not follow from them. The answer is all that the
tag holds: "42 apples" is not 42.
"""

from __future__ import annotations

import rewardkit as rk


def tagged(name: str, prefilled: bool) -> rk.Reward:
    """Make the reward for completions that start inside or before ``<think>``."""
    return rk.Reward(
        name,
        fields={
            "prediction": rk.extract.tag("answer"),
            "reasoning": rk.extract.tag("think", prefilled=prefilled),
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
                "format",
                rk.measure.tags(
                    "think", "answer", outside="nowhere", prefilled=prefilled
                ),
                weight=0.2,
                why=(
                    "one pair of each, in this order, nothing around them: what "
                    "the parser relies on"
                ),
            ),
            rk.Component(
                "kept_tags",
                rk.measure.tags("think", "answer", partial=True, prefilled=prefilled),
                weight=0.1,
                why="a way to the whole form: half of it is worth something",
            ),
            rk.Component(
                "reasoned",
                rk.measure.length(full_from=10, full_until=2000, zero_from=4000),
                columns={"completion": "reasoning"},
                weight=0.1,
                gate=rk.gate("format", at_least=1.0),
                why=(
                    "an empty tag is no reasoning; ten words are enough, as more "
                    "is not to be paid"
                ),
            ),
        ],
    )


reward = tagged("tagged-v1", prefilled=False)
prefilled = tagged("tagged-prefilled-v1", prefilled=True)
