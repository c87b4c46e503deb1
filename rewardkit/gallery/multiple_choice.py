"""A question with up to ten options, A to J, answered by a letter.

What it is for: benchmarks in the form of MMLU-Pro. The letter that is announced last
counts, so options may be weighed aloud before; small extras are paid for the sentence
that the prompt asks for, "The answer is (B).", at the end, and for having announced one
letter only.

What it misses: whether the reasoning leads to the letter. A guess is right one time in
the number of options, so that with four of them a policy that guesses has a quarter of
the reward and a signal that is mostly luck: shuffle the options, and look at the share
of each letter. An answer that names the option's text and no letter is wrong. A hedge
("(B) or (C)"), a list of the options, and what is ruled out ("not (B)", "B is wrong",
"(B). Wait, no.") are no answer and not counted among the letters, but what is taken
back in other words is one ("hardly (B)", "(B), though (C) fits as well"), and so is a
doubt ("it could be (B)").
"""

from __future__ import annotations

from functools import partial

import rewardkit as rk

OPTIONS = "ABCDEFGHIJ"


def one_letter(letters: list[str] | None) -> bool | None:
    """Whether all the letters that it could be read as are the same one."""
    return None if letters is None else len(set(letters)) == 1


reward = rk.Reward(
    "multiple-choice-v1",
    fields={
        "prediction": rk.extract.choice(OPTIONS),
        "letters": rk.extract.every(rk.extract.choice(OPTIONS)),
    },
    components=[
        rk.Component(
            "correct",
            partial(rk.verify.choice_equal, options=OPTIONS),
            weight=1.0,
            primary=True,
            why="the task itself",
        ),
        rk.Component(
            "sentence",
            rk.measure.regex(r"[Tt]he answer is \([A-J]\)\.?\s*+\Z"),
            weight=0.1,
            why=(
                "asked for in the prompt, and nothing behind it for a reader to "
                "stumble over"
            ),
        ),
        rk.Component(
            "one_letter",
            one_letter,
            weight=0.1,
            why="an answer is one letter; weighing others aloud is free",
        ),
    ],
)
