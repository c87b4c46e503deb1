"""Two data sources: a JSON object read from a sentence, and a multiple-choice question.

What it is for: one run over two kinds of task. `reward` is a route over `data_source`.
For ``people-json`` every right key is paid, so that an object with one slip earns more
than none, and a wholly right one earns a bonus; for ``largest-choice`` the letter is
the task and the sentence it stands in a small extra.

What it misses: a right choice may be a guess (one in four is right by chance), and a
value that is nearly right ("Davao City" for "Davao") earns nothing.
"""

from __future__ import annotations

from functools import partial

import rewardkit as rk


def only_json(completion: str, record: str | None) -> bool:
    """Whether the completion is the JSON object and nothing else."""
    return (
        record is not None and record.startswith("{") and completion.strip() == record
    )


def all_right(keys: float) -> bool:
    """Whether every key is right and none is added."""
    return keys == 1.0


ANSWER_SENTENCE = rk.extract.pattern(r"The answer is \(([A-D])\)\.\s*$")


def ends_as_asked(completion: str) -> bool:
    """Whether it ends with the sentence that the prompt asks for."""
    return ANSWER_SENTENCE(completion) is not None


people = rk.Reward(
    "people-json-v1",
    fields={"record": rk.extract.json_value()},
    components=[
        rk.Component(
            "keys",
            partial(rk.verify.json_equal, partial=True, text="matches"),
            columns={"prediction": "record"},
            weight=0.5,
            why=(
                "partial credit: 52 % of the samples have a slip, and 58 % of "
                "these a single key of four"
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
            "only_json",
            only_json,
            weight=0.1,
            why="text around the object breaks the reader downstream",
        ),
    ],
)

choice = rk.Reward(
    "largest-choice-v1",
    fields={"prediction": rk.extract.choice("ABCD")},
    components=[
        rk.Component(
            "correct",
            rk.verify.matches,
            weight=1.0,
            primary=True,
            why="the task itself",
        ),
        rk.Component(
            "sentence",
            ends_as_asked,
            weight=0.1,
            why="asked for in the prompt; 0.1, since it says nothing on being right",
        ),
    ],
)

reward = rk.Route(
    "data_source", {"people-json": people, "largest-choice": choice}, name="mixed-v1"
)
