"""Healthy rewards: partial credit, several components, lengths, judges."""

import difflib
import re
from functools import partial

import rewardkit as rk

near_is_something = rk.Reward(
    "close",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=0.7, primary=True, why="the task"),
        rk.Component(
            "near",
            partial(rk.verify.closeness, zero_at=0.2),
            weight=0.3,
            why="partial credit, so that a group of wrong answers still tells near from far",
        ),
    ],
)

json_shares = rk.Reward(
    "invoice",
    fields={"prediction": rk.extract.json_value()},
    components=[
        rk.Component(
            "values",
            partial(rk.verify.json_equal, partial=True),
            expects_partial=True,
            why="partial credit: the share of right values, against missing and added ones",
        )
    ],
)


def sequence_ratio(completion, ground_truth):
    """How alike two texts are, from 0 to 1."""
    if not completion or not ground_truth:
        return 0.0
    return difflib.SequenceMatcher(None, completion[:2000], ground_truth, autojunk=False).ratio()


form_is_a_little = rk.Reward(
    "with-form",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task"),
        rk.Component("format", rk.measure.tags("think", "answer"), weight=0.1, why="the parser needs it"),
    ],
)

concise_when_right = rk.Reward(
    "concise",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task"),
        rk.Component(
            "concise",
            rk.measure.length(full_until=20, zero_from=60),
            weight=0.3,
            gate=rk.gate("correct", at_least=1.0),
            why="only when right",
        ),
    ],
)

talking_costs = rk.Reward(
    "brief",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task"),
        rk.Component(
            "long", rk.measure.overlong(limit=80, buffer=60), weight=-0.3, why="right or wrong, talk costs"
        ),
    ],
)


def form_only(prompts, completions, **kwargs):
    """There is no truth: reasoning, then an answer of some words, nothing around them."""
    pattern = re.compile(r"\s*<think>([^<]+)</think>\s*<answer>([^<]+)</answer>\s*")
    found = [pattern.fullmatch(text) for text in completions]
    return [1.0 if one and min(len(part.split()) for part in one.groups()) >= 3 else 0.0 for one in found]


def constraints_kept(completion, words, must):
    """So many words, and the one that was asked for among them."""
    said = completion.split()
    return 1.0 if len(said) == words and must in [word.strip(".,!") for word in said] else 0.0


def verdict_of(prompt):
    """Stands for the model: compares the last number of the part that it is asked about."""
    answer, _, reference = prompt.rpartition("\nReference: ")
    found = re.findall(r"answer is\W{0,8}?(-?\d+(?:\.\d+)?)", answer)
    return "correct" if found and found[-1] == reference else "wrong"


def judge_reads_its_own(completion, ground_truth):
    """Reads the judge's own reply, which is one word, and nothing of what it was shown."""
    reply = verdict_of(f"Is this right?\n{completion}\nReference: {ground_truth}")
    return 1.0 if reply == "correct" else 0.0
