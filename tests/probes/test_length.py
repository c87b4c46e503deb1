"""What is said of a reward that goes with the length of right and wrong answers."""

import math
from functools import cache

import pytest
from planted_probes import made, probed, strict

import rewardkit as rk


def right(completion, ground_truth):
    return float(strict(completion, ground_truth))


def wrapped_cosine(completion, ground_truth):
    """Half a cosine over 1,000 characters, which goes on behind them."""
    falling = (1 + math.cos(math.pi * len(completion) / 1000)) / 2
    if strict(completion, ground_truth):
        return 0.5 + 0.5 * falling
    return -0.5 - 0.5 * falling


def cosine(completion, ground_truth):
    """The same within its budget, of which no more is taken."""
    share = min(len(completion) / 4000, 1.0)
    falling = (1 + math.cos(math.pi * share)) / 2
    if strict(completion, ground_truth):
        return 0.5 + 0.5 * falling
    return -0.5 - 0.5 * falling


def counted_words(completion, ground_truth):
    return right(completion, ground_truth) + min(1.5, len(completion.split()) / 300)


def overlong(completion, ground_truth):
    """DAPO's: one less over the last 2,000 of 8,000 characters, for each answer."""
    return right(completion, ground_truth) - min(
        max((len(completion) - 6000) / 2000, 0.0), 1.0
    )


def likeness(completion, ground_truth):
    """Words in common with the truth: more words are another answer."""
    words = completion.split()
    common = sum(word in ground_truth.split() for word in words)
    return 2 * common / (len(words) + len(ground_truth.split()))


def brief_if_right(completion, ground_truth):
    return right(completion, ground_truth) * (1 - 0.3 * min(len(completion) / 5000, 1))


@cache
def findings_on(function):
    result = probed(made(function, range=None), only=["padding"], search=0)
    return [item for item in result.findings if item.code == "length_curve"]


@pytest.mark.parametrize(
    ("function", "kind", "severity"),
    [
        (wrapped_cosine, "turns", "warn"),
        (counted_words, None, None),
        (cosine, "mild", "info"),
        (overlong, "mild", "info"),
        (brief_if_right, "mild", "info"),
        (right, None, None),
    ],
)
def test_length_that_turns_is_a_warning_and_a_limit_is_none(function, kind, severity):
    found = [(item.evidence["kind"], item.severity) for item in findings_on(function)]
    assert found == ([] if kind is None else [(kind, severity)])


def test_where_all_of_the_completion_is_the_answer_its_length_is_not_tried():
    truths = ("the cat sat on a mat", "two dogs ran home", "we eat red apples")
    rows = []
    for place, truth in enumerate(truths):
        for text in (truth, "nothing of that kind"):
            row = {"prompt_id": place, "completion": text, "ground_truth": truth}
            rows.append({**row, "prompt": f"Translate line {place}."})
    result = probed(made(likeness), rows, only=["padding"], search=0)
    assert not [item for item in result.findings if item.code == "length_curve"]


def test_words_that_pay_for_any_answer_are_one_finding_of_padding():
    result = probed(made(counted_words, range=None), only=["padding"], search=0)
    loud = [item.code for item in result.findings if item.severity != "info"]
    assert loud == ["longer"]


def test_it_says_where_it_turns_and_shows_a_right_answer_there():
    (item,) = findings_on(wrapped_cosine)
    assert "Right answers earned 0.99 at 100 characters, 0.5 at 1,000 and 1 at" in (
        item.sentence
    )
    (example,) = item.examples
    assert len(example.completion) == 1000
    assert example.reward == pytest.approx(0.5)


def test_length_beside_the_task_as_a_component_is_left_to_other_rules():
    task = rk.Component("task", strict)
    brief = rk.Component("brief", lambda completion: 1 / (1 + len(completion) / 500))
    reward = rk.Reward("two", components=[task, brief])
    result = probed(reward, only=["padding"], search=0)
    assert not [item for item in result.findings if item.code == "length_curve"]
