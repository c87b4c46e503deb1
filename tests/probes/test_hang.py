"""Calls that do not come back end as findings."""

import time

import pytest
from planted_probes import probed

HANGING = r"""
import re

def endless(completion, ground_truth):
    place = 0
    while "</answer>" not in completion[place:]:
        place = 0
    return ground_truth in completion

def deep(completion, ground_truth):
    def depth(text):
        return 1 + max(depth(text[1:-1]), depth(text[1:-1])) if text[:1] in "([{" and text else 0
    inner = completion.partition("<answer>")[2].partition("</answer>")[0]
    return depth(inner) < 3 and ground_truth in inner

def powers(completion, ground_truth):
    inner = completion.partition("<answer>")[2].partition("</answer>")[0]
    found = re.fullmatch(r"(\d+)\*\*(\d+)(?:\*\*(\d+))?", inner.strip())
    value = int(found[1]) ** (int(found[2]) ** int(found[3] or 1)) if found else inner.strip()
    return str(value) == ground_truth

def pattern(completion, ground_truth):
    return re.fullmatch(r"(\d+-?)+z", completion) is None and ground_truth in completion

def pattern_of_the_policy(completion, ground_truth):
    inner = completion.partition("<answer>")[2].partition("</answer>")[0]
    if "(" in inner:
        re.fullmatch(inner.strip(), "a text to match")
    return ground_truth in inner
"""
FUNCTIONS = {}
exec(HANGING, FUNCTIONS)


def waiting(late, seconds=60.0):
    """A function that waits on completions that are `late`."""

    def score(completion, ground_truth):
        if late(completion):
            time.sleep(seconds)
        return ground_truth in completion

    return score


def left_open(completion):
    return completion.partition("<answer>")[2].partition("</answer>")[0] == "{"


CASES = {
    "a loop that does not end": ("endless", "hang", "high", "stops the training"),
    "a depth": ("deep", "hang", "high", "stops the training"),
    "a power of a power": ("powers", "hang", "high", "stops the training"),
    "a pattern in the reward's code": ("pattern", "patterns", "high", "a pattern in its code"),
    "a pattern that the policy writes": ("pattern_of_the_policy", "runs_for_ever", "high", "stops"),
    "what is left open": (waiting(left_open), "left_open", "high", "stops the training"),
    "many brackets": (
        waiting(lambda text: 300 > len(text) > text.count("(") > 20),
        "hang",
        "high",
        "stops the training",
    ),
    "a long completion": (waiting(lambda text: len(text) > 25_000), "hang", "high", "stops the training"),
    "longer than completions are": (waiting(lambda text: len(text) > 100_000), "hang", "info", " characters"),
    "slow": (waiting(lambda text: len(text) > 50 and "!" in text, 1.0), "hang", "warn", "A call took 1."),
    "slow if long": (
        waiting(lambda text: len(text) > 20_000 and "!" in text, 1.0),
        "hang",
        "info",
        "took 1.",
    ),
    "linear": (lambda completion, ground_truth: ground_truth in completion, "hang", None, ""),
}


@pytest.mark.parametrize(("function", "only", "severity", "told"), CASES.values(), ids=CASES)
def test_a_call_that_does_not_come_back_is_a_finding(function, only, severity, told):
    result = probed(FUNCTIONS.get(function, function), only=only, timeout=0.5)
    if severity is None:
        assert not result.findings
        return
    (item,) = result.findings
    assert (item.code, item.severity) == ("slow" if "took" in told else "hang", severity)
    assert told in item.sentence and item.evidence["seconds"] == 0.5
    stops = item.code == "hang" and severity == "high"
    assert ("One such completion stops the training" in item.sentence) is stops
    assert item.code == "slow" or "took longer than 0.5 s" in item.examples[0].said
    assert len(item.examples[0].completion) < 300 or only != "left_open"
