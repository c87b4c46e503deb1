"""A right answer, shaped: bonuses for reasoning and a closing sentence, less for loops.

What it is for: nudges beside a sparse task. "The answer is 42." at the end earns 0.1,
words that join an argument ("first", "then", "because", "therefore") up to 0.1, and the
share of the text that repeats runs of four words costs up to 0.3. All of it together is
less than being right, so that no shaping outweighs the task.

What it misses: shaping is what a policy learns to fake first. The four words need not
join anything, and a group in which all are wrong is still ranked by them: set their
weights to 0 once they are saturated. Ordinary words that come again are no loop here,
but a refrain, a table or a list of similar lines is one, and a long text around a loop
makes it cheap. Words around the announced number are not understood: of a hedge the
last number counts; "the answer is not 7" is no answer, a denial or doubt in other words
is one.
"""

from __future__ import annotations

import rewardkit as rk

reward = rk.Reward(
    "shaped-v1",
    fields={
        "prediction": rk.extract.within(
            rk.extract.answer_phrase(language="en"), rk.extract.number()
        )
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
            "reasoning",
            rk.measure.keywords("first", "then", "because", "therefore"),
            weight=0.1,
            why="different words, each once: saying one of them again earns nothing",
        ),
        rk.Component(
            "template",
            rk.measure.regex(
                r"[Tt]he answer is "
                r"[-−]?\$?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?\.\s*+\Z"
            ),
            weight=0.1,
            why="ends with the sentence that the prompt asks for",
        ),
        rk.Component(
            "repetition", rk.measure.repetition(ngram=4), weight=-0.3, why="loops"
        ),
    ],
)
