"""Small word problems answered in tags: `<think>...</think><answer>42</answer>`.

`reward` pays for the right number and, a little, for a form that the parser can rely on and for not talking on. What it
misses: right reasoning with a slip at the end earns nothing, and on the bundled rollouts four groups of ten have no
right completion at all, so that `correct` gives them no signal (`rk.suggest` shows what partial credit would do).

`flawed` is a first version as people write them. Its faults, all found by `rk.diagnose` or by the cases:
 1. `correct` calls float() on whatever was found: a completion without a number is an error, not a wrong answer;
 2. the last number anywhere counts, so an answer in the reasoning is paid although none was given;
 3. `closed` says what `format` says (redundant);
 4. `format` is nearly always earned (saturated);
 5. no completion of this policy says "therefore" or "step by step", so `steps` is constant;
 6. `detail` pays for length, right or wrong, and outweighs `correct` among siblings (dominant).
"""

from __future__ import annotations

import rewardkit as rk

reward = rk.Reward(
    "arithmetic-v1",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task itself"),
        rk.Component(
            "format",
            rk.measure.tags("think", "answer"),
            weight=0.2,
            why="the parser needs both tags once, in order; small, because five-shot samples have it 99 % of the time already",
        ),
        rk.Component(
            "concise",
            rk.measure.length(full_until=17, zero_from=34),
            weight=0.1,
            gate=rk.gate("correct", at_least=1.0),
            why="worth paying for only when right; 95 % of the right completions have at most 17 words, 99 % of all at most 34",
        ),
        rk.Component(
            "repetition",
            rk.measure.repetition(ngram=4),
            weight=-0.2,
            why="1.2 % of the samples loop; in an ordinary one no run of four words comes twice",
        ),
    ],
)


def float_equal(prediction: str | None, ground_truth: str) -> bool:
    """Fault 1: raises where there is no number."""
    return float(prediction) == float(ground_truth)  # type: ignore[arg-type]


def opens_answer(completion: str) -> bool:
    """Fault 4: true of nearly every completion."""
    return "<answer>" in completion


def closes_answer(completion: str) -> bool:
    """Fault 3: true of the same completions as `opens_answer`."""
    return "</answer>" in completion


def long_enough(completion: str) -> float:
    """Fault 6: the more words, the better, up to 60."""
    return min(1.0, len(completion.split()) / 60)


flawed = rk.Reward(
    "arithmetic-flawed",
    fields={"prediction": rk.extract.number(which="last")},
    components=[
        rk.Component("correct", float_equal, weight=0.5, primary=True, why="the task itself"),
        rk.Component("format", opens_answer, weight=0.3, why="an answer tag"),
        rk.Component("closed", closes_answer, weight=0.3, why="the tag is closed"),
        rk.Component("steps", rk.measure.keywords("therefore", "step by step", mode="any"), weight=0.2, why="shows its steps"),
        rk.Component("detail", long_enough, weight=2.0, why="explains itself"),
    ],
)
