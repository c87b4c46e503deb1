"""Agents that look something up with tools: the task, and a budget of calls.

What it is for: whole transcripts (`messages`), with the final answer in ``<answer>`` of
the last assistant message. Being right is worth far more than how it was done; of right
rollouts those within the budget earn a little more; failed and repeated calls cost a
little, right or wrong. `looked_up` is recorded and not paid: it shows how often the
policy answers from memory.

What it misses: a right answer from memory or by luck earns everything, and a wrong one
without any call costs nothing, so a policy that fails often may learn not to call at
all: watch `looked_up`. Failed and repeated calls are shares: needless calls that
succeed thin them out, and where the answer is wrong these cost nothing. What failed is
told by how the result begins or by the fields of its JSON; "no results" is no failure.
A tool that fails through no fault of the policy costs it the same. The answer is
compared as text: "330 m" is not "330 metres", nor "330.0" "330".

`busy` is a first version as people write them. It pays every call, right or wrong and
without an end: an agent that asks the same again and again earns more than one that is
right.
"""

from __future__ import annotations

from typing import Any

import rewardkit as rk

reward = rk.Reward(
    "tool-use-v1",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component(
            "success",
            rk.verify.matches,
            weight=1.0,
            primary=True,
            why="the task itself",
        ),
        rk.Component(
            "budget",
            rk.measure.calls_within(4, zero_from=8),
            weight=0.2,
            gate=rk.gate("success", at_least=1.0),
            why=(
                "calls cost time; only when right, or doing nothing would be the "
                "cheapest way to be paid"
            ),
        ),
        rk.Component(
            "failed",
            rk.measure.failed_calls(),
            weight=-0.2,
            why="calls that cannot be read or that the tool refuses",
        ),
        rk.Component(
            "repeated",
            rk.measure.repeated_calls(),
            weight=-0.1,
            why="asking the same again; one retry after a failure is free",
        ),
        rk.Component(
            "looked_up",
            rk.measure.tool_calls(),
            weight=0.0,
            why="recorded: any call at all",
        ),
    ],
)


def calls(messages: Any) -> int:
    """How many calls of tools there are."""
    return sum(len(turn.get("tool_calls") or ()) for turn in messages)


busy = rk.Reward(
    "tool-use-busy",
    fields=reward.fields,
    components=[
        reward.components[0],
        rk.Component(
            "calls", calls, weight=0.2, range=None, why="a nudge to look things up"
        ),
    ],
)
