"""mutants() of slow rewards, of code that does not end, and of rewards that judge nothing."""

import itertools
import math

import pytest

import rewardkit as rk
from rewardkit.probes.mutants import scoring
from rewardkit.probes.mutants.scoring import Memory
from rewardkit.scoring.calls import Calls

ROLLOUTS = [{"completion": str(at), "ground_truth": "4"} for at in range(400)]
CASES = [
    {"name": "right", "completion": "4", "ground_truth": "4", "reward": 1.0},
    {"name": "wrong", "completion": "5", "ground_truth": "4", "reward": 0.0},
]
SLOW = """
DELAY = {delay}

def score(completion, ground_truth):
    time.sleep(DELAY)
    return 1.0 if completion.strip() == ground_truth else 0.0
"""
LOOP = """
def score(completion):
    left = len(completion)
    while left != 0:
        left -= 1
        time.sleep({delay})
    return 1.0
"""


@pytest.fixture
def load(tmp_path):
    """A reward from a user's file, which is not called to see what it is."""
    number = itertools.count()
    made = "reward = rk.Reward('mine', components=[rk.Component('score', score)])"

    def loaded(text):
        path = tmp_path / f"mine_{next(number)}.py"
        path.write_text(f"import time\nimport rewardkit as rk\n{text}\n{made}\n")
        return rk.load_reward(f"{path}:reward")

    return loaded


def outcomes(result):
    """What became of each mutant, but those of the delay itself."""
    kept = [item for item in result.judged if "DELAY" not in item.mutant.sentence]
    return {item.mutant.sentence: (item.outcome, item.reason) for item in kept}


def test_changed_code_that_is_as_slow_as_the_original_is_not_caught_for_it(load, monkeypatch):
    monkeypatch.setattr(scoring, "SECONDS", 0.1)
    fast, slow = (rk.mutants(load(SLOW.format(delay=delay)), CASES, timeout=5.0) for delay in (0.0, 0.2))
    assert outcomes(slow) == outcomes(fast)
    assert all(item.noticed_by and not item.reason for item in slow.noticed)


@pytest.mark.parametrize(
    ("delay", "options", "reason"),
    [(0.0, {"timeout": 0.3}, "a call took longer than 0.3 s"), (0.1, {}, "a call took longer than ")],
    ids=["the timeout of a call", "a multiple of the slowest call"],
)
def test_code_that_does_not_end_any_more_is_caught_within_its_time(load, monkeypatch, delay, options, reason):
    monkeypatch.setattr(scoring, "SECONDS", 0.01)
    reward = load(LOOP.format(delay=delay))
    result = rk.mutants(reward, [{"completion": "abc", "reward": [0, 2]}], **options)
    hanging = next(item for item in result.judged if item.mutant.after == "left -= 2")
    assert hanging.outcome == "noticed" and hanging.reason.startswith(reason)
    if delay == 0:
        even = [{"completion": "ab", "reward": 1.0}]
        survived = rk.mutants(reward, even, [{"completion": "abc"}], **options).survived
        found = next(item for item in survived if item.mutant.after == "left -= 2")
        assert found.reason.endswith(" s, on a rollout") and found.case is None


def test_where_a_call_of_the_original_was_ended_another_reward_says_nothing(load):
    text = "def score(completion):\n    time.sleep(5 if len(completion) > 2 else 0)\n    return 1.0"
    ended = {"name": "ended", "completion": "abc", "reward": "unscored"}
    short = {"name": "short", "completion": "a", "reward": 1.0}
    result = rk.mutants(load(text), [ended, short], [{"completion": "abc"}], timeout=0.3)
    assert result.noticed and result.missed == 0  # as `check` has it
    assert all("ended" not in item.noticed_by for item in result.judged)
    quicker = next(item for item in result.judged if "> 3" in item.mutant.after)  # it judges the rollout
    assert (quicker.outcome, quicker.differs) == ("not told apart", 0)


def test_what_the_budget_does_not_reach_is_listed_and_does_not_count(load):
    result = rk.mutants(load(SLOW.format(delay=0.05)), CASES, ROLLOUTS, budget=1)
    assert 0 < result.rollouts < 30
    assert f"{400 - result.rollouts} of 400 rollouts: there was no time" in result.left_out
    assert result.score == len(result.noticed) / (len(result.noticed) + len(result.survived))
    tight = rk.mutants(load(SLOW.format(delay=0.3)), CASES, budget=1)
    assert tight.not_tried and "more were not tried" in tight.verdict
    assert all(item.reason == "the budget of 1 s was over" for item in tight.not_tried)
    assert f"not tried: {len(tight.not_tried)} mutant" in repr(tight)


def test_a_budget_that_is_too_short_for_the_cases_is_said(load):
    result = rk.mutants(load(SLOW.format(delay=1.0)), CASES, timeout=5.0, budget=0.3)
    assert result.judged == () and math.isnan(result.score)
    told = "the budget of 0.3 s was over before the reward had judged 2 cases; give a larger budget, or a "
    assert result.stopped == f"{told}faster reward" and result.stopped in repr(result)


def test_calls_are_remembered_by_what_they_were_given():
    def number(row):
        return row["n"]

    memory = Memory(None, [number], budget=60)
    for at in range(50):  # each row dies, and the next one lies where it was
        assert memory.run(Calls(number, [[{"n": at}]], {}, 1, float)) == [at]
    texts = ["1", "1.0", "True", "1", "[1]", "[1.0]", "(1,)"]
    assert memory.run(Calls(str, [[1, 1.0, True, "1", [1], [1.0], (1,)]], {}, 7, str)) == texts


@pytest.mark.parametrize(
    ("code", "rollouts", "cause"),
    [("1.0 / 0", None, "ZeroDivisionError"), ("None", ROLLOUTS, "returned None"), ("'much'", None, "'much'")],
)
def test_a_reward_that_judges_nothing_is_one_sentence_with_the_cause(load, code, rollouts, cause):
    result = rk.mutants(load(f"def score(completion):\n    return {code}\n"), CASES, rollouts)
    assert (result.judged, result.proposed_cases, result.missed) == ((), (), 0)
    assert "as component 'score' gives no score; fix that first" in result.stopped
    assert cause in result.cause and cause in repr(result) and cause not in result.verdict
    assert result.record()["score"] is None and result.record()["stopped"] == result.stopped
