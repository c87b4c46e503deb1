"""Small word problems answered in tags: `<think>...</think><answer>42</answer>`.

What it is for: early training on problems with one number as their answer. `reward`
pays for the right number and, a little, for a form that the parser can rely on and for
not talking on.

What it misses: right reasoning with a slip at the end earns nothing, and on the bundled
rollouts 46 % of the groups have no right completion at all, so that `correct` gives
them no signal (`rk.suggest` shows what partial credit would do).

`flawed` is a first version as people write them. Its faults, each found by
`rk.diagnose` or by the cases:
 1. `correct` calls float() on whatever stands in the tag: no answer, or "7 + 7 = 14",
    is an error and not a
    wrong answer, and the row drops out of the baseline instead of being punished;
 2. `format` is nearly always earned (saturated);
 3. `closed` says what `format` says (redundant);
 4. no completion of this policy says "therefore" or "step by step", so `steps` is
    constant;
 5. `detail` is a number of words, without bounds, so that a weight of 0.05 holds
    nearly half of the squared
    advantage (dominant).
"""

from __future__ import annotations

import rewardkit as rk

reward = rk.Reward(
    "arithmetic-v1",
    fields={"prediction": rk.extract.tag("answer")},
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
            rk.measure.tags("think", "answer"),
            weight=0.2,
            why=(
                "the parser needs both tags; small, as 99 % of the five-shot "
                "samples have them already"
            ),
        ),
        rk.Component(
            "concise",
            rk.measure.length(full_until=14, zero_from=24),
            weight=0.1,
            gate=rk.gate("correct", at_least=1.0),
            why=(
                "only when right; right completions have 14 words (5 % quantile) "
                "to 23 (the longest)"
            ),
        ),
        rk.Component(
            "repetition",
            rk.measure.repetition(ngram=4),
            weight=-0.2,
            why=(
                "1.2 % of the samples loop; in an ordinary one no run of four "
                "words comes twice"
            ),
        ),
    ],
)


def float_equal(prediction: str | None, ground_truth: str) -> bool:
    """Fault 1: raises where there is no number."""
    return float(prediction) == float(ground_truth)  # type: ignore[arg-type]


def has_answer(prediction: str | None) -> bool:
    """Fault 2: true of nearly every completion."""
    return prediction is not None


def closes_answer(completion: str) -> bool:
    """Fault 3: true of the same completions as `has_answer`."""
    return "</answer>" in completion


def words(completion: str) -> float:
    """Fault 5: a count, on another scale than the scores beside it."""
    return float(len(completion.split()))


flawed = rk.Reward(
    "arithmetic-flawed",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component(
            "correct", float_equal, weight=1.0, primary=True, why="the task itself"
        ),
        rk.Component("format", has_answer, weight=0.2, why="an answer tag"),
        rk.Component("closed", closes_answer, weight=0.2, why="the tag is closed"),
        rk.Component(
            "steps",
            rk.measure.keywords("therefore", "step by step", mode="any"),
            weight=0.2,
            why="shows its steps",
        ),
        rk.Component(
            "detail", words, weight=0.05, range=None, why="a nudge to explain itself"
        ),
    ],
)
