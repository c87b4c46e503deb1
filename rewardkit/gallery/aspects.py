"""Several aspects of one answer, as a weighted mean: right, complete, clear, efficient.

What it is for: problems that ask for several quantities at once, answered in numbered
steps and a JSON object at the end. Full marks are 1.0. Half of the weight is the share
of right quantities; completeness asks whether each has a number at all; clarity (three
steps) and efficiency (few words) count only where everything is right, so that no
well-written wrong answer earns more than a right one.

What it misses: whether a step is true, or clear to anyone: numbered lines that say
something new are counted. Any numbers make an object complete, which is why it weighs
little. A mean hides which aspect moved: look at the components.
"""

from __future__ import annotations

from functools import partial

import rewardkit as rk

NUMBER_SCHEMA = {"type": "number"}
ASKED = {
    "type": "object",
    "properties": {
        "total": NUMBER_SCHEMA,
        "each": NUMBER_SCHEMA,
        "left": NUMBER_SCHEMA,
    },
    "required": ["total", "each", "left"],
}

reward = rk.Reward(
    "aspects-v1",
    fields={"prediction": rk.extract.json_value()},
    components=[
        rk.Component(
            "correctness",
            partial(rk.verify.json_equal, partial=True),
            weight=10,
            primary=True,
            why="the task itself, quantity by quantity",
        ),
        rk.Component(
            "completeness",
            rk.measure.json_schema(ASKED, partial=True),
            weight=3,
            why="a number for each quantity; little, as any number will do",
        ),
        rk.Component(
            "clarity",
            rk.measure.steps(3),
            weight=4,
            gate=rk.gate("correctness", at_least=1.0),
            why="steps that a reader can follow, of answers that are worth following",
        ),
        rk.Component(
            "efficiency",
            rk.measure.length(full_until=60, zero_from=120),
            weight=3,
            gate=rk.gate("correctness", at_least=1.0),
            why=(
                "no more words than it takes; only when right, or silence would "
                "be the most efficient"
            ),
        ),
    ],
    aggregation="weighted_mean",
)
