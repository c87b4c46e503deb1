"""Extraction into JSON: an invoice as an object of a fixed schema, paid by the value.

What it is for: filling a schema from a text, where the truth is the object as JSON.
Each right value is paid, so that one slip does not cost everything, and a wholly right
object earns a bonus. An object that is cut off or written in Python's way is repaired
before it is compared, so that what was extracted and how it was written are judged
apart: the schema is for strict JSON, and what had to be repaired does not earn its 0.2.

What it misses: a value that is nearly right ("Ada" for "Ada Ltd") earns nothing, and
all values weigh the same, the total as much as the list of items. The schema judges
form alone: an object of wrong values in perfect form earns its 0.2. Text around the
object costs nothing here.
"""

from __future__ import annotations

from functools import partial

import rewardkit as rk

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string", "minLength": 1},
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
        "items": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["vendor", "total", "paid", "items"],
    "additionalProperties": False,
}


def all_right(values: float) -> bool:
    """Whether every value is right and none is added."""
    return values == 1.0


reward = rk.Reward(
    "json-record-v1",
    fields={"record": rk.extract.json_value(repair=True)},
    components=[
        rk.Component(
            "values",
            partial(rk.verify.json_equal, partial=True),
            columns={"prediction": "record"},
            weight=0.5,
            why=(
                "partial credit: the share of right values, against missing and "
                "added ones"
            ),
        ),
        rk.Component(
            "exact",
            all_right,
            weight=0.5,
            primary=True,
            why="the task itself: nothing wrong, nothing added",
        ),
        rk.Component(
            "schema",
            rk.measure.json_schema(SCHEMA),
            weight=0.2,
            why=(
                "what a strict reader can take, without repair; 0.2, as it says "
                "nothing on being right"
            ),
        ),
    ],
)
