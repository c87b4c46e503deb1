"""Calls that do not come back end as findings."""

import re
import time

import pytest
from planted_probes import inside, probed


def waiting(late, seconds=60.0):
    """A function that waits on completions that are `late`."""

    def score(completion, ground_truth):
        if late(completion):
            time.sleep(seconds)
        return ground_truth in completion

    return score


def powers(completion, ground_truth):
    answer = (inside(completion) or "").strip()
    found = re.fullmatch(r"(\d+)\*\*(\d+)\*\*(\d+)", answer)
    return str(int(found[1]) ** int(found[2]) ** int(found[3]) if found else answer) == ground_truth


def pattern(completion, ground_truth):
    return re.fullmatch(r"(\d+-?)+z", completion) is None and ground_truth in completion


def pattern_of_the_policy(completion, ground_truth):
    answer = (inside(completion) or "").strip()
    return not ("(" in answer and re.fullmatch(answer, "a text to match")) and ground_truth in answer


def endless(completion, ground_truth):
    while "</answer>" not in completion:
        pass
    return ground_truth in completion


ENDS, CALL = "One such completion stops the training", "A call took 1."
BRACKETS = waiting(lambda text: 300 > len(text) > text.count("(") > 20)
CASES = {
    "a loop that does not end": (endless, "hang", "high", ENDS),
    "a power of a power": (powers, "hang", "high", ENDS),
    "a pattern in the reward's code": (pattern, "patterns", "high", "a pattern in its code"),
    "a pattern that the policy writes": (pattern_of_the_policy, "runs_for_ever", "high", ENDS),
    "what is left open": (waiting(lambda text: "<answer>{<" in text), "left_open", "high", ENDS),
    "many brackets": (BRACKETS, "hang", "high", ENDS),
    "a long completion": (waiting(lambda text: len(text) > 25_000), "hang", "high", ENDS),
    "longer than completions are": (waiting(lambda text: len(text) > 100_000), "hang", "info", " characters"),
    "slow": (waiting(lambda text: len(text) > 50 and "!" in text, 1.0), "hang", "warn", CALL),
    "slow if long": (waiting(lambda text: len(text) > 20_000 and "!" in text, 1.0), "hang", "info", CALL),
    "linear": (lambda completion, ground_truth: ground_truth in completion, "hang", None, ""),
}


@pytest.mark.parametrize(("function", "only", "severity", "told"), CASES.values(), ids=CASES)
def test_a_call_that_does_not_come_back_is_a_finding(function, only, severity, told):
    result = probed(function, only=only, timeout=0.3)
    if severity is None:
        assert not result.findings
        return
    (item,) = result.findings
    assert (item.code, item.severity) == ("slow" if told is CALL else "hang", severity)
    assert told in item.sentence and item.evidence["seconds"] == 0.3
    assert (ENDS in item.sentence) is (item.code == "hang" and severity == "high")
    assert item.code == "slow" or "took longer than 0.3 s" in item.examples[0].said
    assert len(item.examples[0].completion) < 300 or only != "left_open"
