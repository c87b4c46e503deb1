"""mutants() of slow rewards, of rewards that miss their cases, and of those that judge nothing."""

import itertools
import logging
import math
import re

import pytest

import rewardkit as rk
from rewardkit.probes.mutants.mutants import mutants
from rewardkit.probes.mutants.remembering import BudgetOver, Remembered
from rewardkit.scoring.calls import Calls

ROLLOUTS = [{"completion": str(at), "ground_truth": "4"} for at in range(400)]
CASES = [
    {"name": "right", "completion": "4", "ground_truth": "4", "reward": 1.0},
    {"name": "wrong", "completion": "5", "ground_truth": "4", "reward": 0.0},
]
SAME = "1.0 if completion.strip() == ground_truth else 0.0"
SLOW = f"""
import time

DELAY = {{delay}}

def score(completion, ground_truth):
    time.sleep(DELAY)
    return {SAME}
"""


@pytest.fixture
def load(tmp_path):
    """A reward from a user's file, which is not called to see what it is."""
    number = itertools.count()

    def loaded(text):
        path = tmp_path / f"mine_{next(number)}.py"
        made = (
            "import rewardkit as rk\nreward = rk.Reward('mine', components=[rk.Component('score', score)])\n"
        )
        path.write_text(text + made)
        return rk.load_reward(f"{path}:reward")

    return loaded


def outcomes(result):
    """What became of each mutant, but those of the delay itself."""
    return {
        item.mutant.sentence: item.outcome for item in result.judged if "DELAY" not in item.mutant.sentence
    }


# --- the limit of a call


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_changed_code_that_is_as_slow_as_the_original_is_not_noticed_for_it(load, monkeypatch, timeout):
    monkeypatch.setattr("rewardkit.probes.mutants.remembering.SECONDS", 0.2)
    fast, slow = (mutants(load(SLOW.format(delay=delay)), CASES, timeout=timeout) for delay in (0.0, 0.4))
    assert outcomes(slow) == outcomes(fast)
    assert not any("took longer" in item.reason for item in slow.judged)
    assert all(item.noticed_by for item in slow.noticed)


LOOP = """
import time

def score(completion):
    left = len(completion)
    while left != 0:
        left -= 1
        time.sleep(0.1)
    return 1.0
"""


def test_a_loop_in_a_slow_reward_is_noticed_after_a_multiple_of_its_slowest_call(load, monkeypatch):
    monkeypatch.setattr("rewardkit.probes.mutants.remembering.SECONDS", 0.01)
    result = mutants(load(LOOP), [{"completion": "abc", "reward": 1.0}])
    late = [item for item in result.noticed if item.reason]
    assert [item.mutant.after for item in late] == ["left -= 2"]
    seconds = float(late[0].reason.removeprefix("a call took longer than ").removesuffix(" s"))
    assert 0.9 <= seconds < 9


def test_code_that_is_slower_than_the_timeout_but_not_much_slower_than_the_original_is_not_noticed(load):
    text = "import time\n\ndef score(completion):\n    for _ in range(2):\n        time.sleep(0.4)\n"
    text += "    return 1.0\n"
    result = mutants(load(text), [{"completion": "a", "reward": 1.0}], timeout=1.0)
    slower = next(item for item in result.judged if item.mutant.after == "range(3)")  # 1.2 s, of 0.8 s
    assert (slower.outcome, slower.reason) == ("survived", "")


def test_where_a_call_of_the_original_was_ended_another_reward_says_nothing(load):
    text = "import time\n\ndef score(completion):\n    time.sleep(5 if len(completion) > 2 else 0)\n"
    cases = [
        {"name": "ended", "completion": "abc", "reward": "unscored"},
        {"name": "short", "completion": "a", "reward": 1.0},
    ]
    result = mutants(load(text + "    return 1.0\n"), cases, [{"completion": "abc"}], timeout=0.3)
    assert result.noticed
    assert all("ended" not in item.noticed_by for item in result.judged)
    assert result.missed == 0  # as `check` has it
    quicker = next(item for item in result.judged if "> 3" in item.mutant.after)  # it judges the rollout
    assert (quicker.outcome, quicker.differs) == ("not told apart", 0)


# --- the budget


def test_what_the_budget_does_not_reach_is_listed_and_does_not_count(load):
    reward = load(SLOW.format(delay=0.3))
    result = mutants(reward, CASES, ROLLOUTS, budget=3)
    assert 0 < result.rollouts < 20
    assert f"{400 - result.rollouts} of 400 rollouts: the budget of 3 s was over" in result.left_out
    assert result.score == len(result.noticed) / (len(result.noticed) + len(result.survived))
    assert len(result.record()["not_tried"]) == len(result.not_tried)


def test_cases_that_were_not_reached_leave_what_the_others_do_not_notice_open(load):
    cases = [{**CASES[at % 2], "name": str(at), "completion": f"{5 - at % 2}{' ' * at}"} for at in range(40)]
    cases = [{**case, "reward": 1.0 if case["completion"].strip() == "4" else 0.0} for case in cases]
    result = mutants(load(SLOW.format(delay=0.2)), cases, budget=2)
    assert 0 < result.cases < 40
    assert result.survived == () and result.noticed and result.not_tried
    assert math.isnan(result.score) and result.unreached == 40 - result.cases
    assert f"{len(result.noticed)} of {len(result.judged)} noticed by " in repr(result)
    assert ", score" not in repr(result)
    assert any(f"{40 - result.cases} of 40 cases" in line for line in result.left_out)
    assert all("the budget of 2 s was over" in item.reason for item in result.not_tried)
    assert "  not tried: The reward counts a missing score as 0. (the budget" in repr(result)


def test_a_budget_for_less_than_one_case_is_said(load):
    result = mutants(load(SLOW.format(delay=2.0)), CASES, timeout=5.0, budget=0.5)
    assert result.judged == () and math.isnan(result.score)
    assert "the budget of 0.5 s was over before the reward had judged one case" in repr(result)


def test_a_reward_of_which_every_call_is_late_ends_within_its_budget(load):
    result = mutants(load(SLOW.format(delay=30)), CASES, ROLLOUTS, timeout=0.3, budget=20)
    assert result.judged == () and result.cause == "took longer than 0.3 s"
    assert re.search(r"none of 2 cases(,| and \d{1,2} rollouts)", result.stopped)


def test_after_the_budget_only_what_is_known_is_given():
    made = []

    def number(text):
        made.append(text)
        return len(text)

    memory = Remembered(None, [number])
    assert memory.run(Calls(number, [["a", "bb"]], {}, 2, int)) == [1, 2]
    with memory.until(0):
        assert memory.run(Calls(number, [["bb"]], {}, 1, int)) == [2]
        with pytest.raises(BudgetOver):
            memory.run(Calls(number, [["ccc"]], {}, 1, int))
    assert memory.run(Calls(number, [["ccc"]], {}, 1, int)) == [3]
    assert made == ["a", "bb", "ccc"]
    with memory.until(0), pytest.raises(BudgetOver):
        memory.run(Calls(rk.measure.length(full_until=1, zero_from=2), [["a"]], {}, 1, float))


# --- cases that miss already


def test_the_cases_that_miss_already_are_said_first_and_nothing_is_proposed_of_such_a_reward():
    names = rk.load_reward("gallery:arithmetic").names
    flawed = rk.load_reward("gallery:arithmetic.flawed")
    cases = rk.load_cases("gallery:arithmetic")
    failed = rk.check(flawed, cases, ignore=names).failed
    result = mutants(flawed, cases, "gallery:arithmetic", ignore=names)
    assert result.missed == failed > len(cases) / 2
    assert result.survived and result.proposed_cases == ()
    assert all(item.case is None for item in result.survived)
    first = (
        f"mutants of 'arithmetic-flawed': {failed} of 88 cases miss already, and what misses notices nothing"
    )
    assert repr(result).startswith(first)
    assert "mend what the cases miss first" in result.next_step
    assert "no row tells" not in repr(result)


def test_of_a_reward_that_misses_few_cases_proposals_say_what_they_expect():
    cases = [*CASES, {"name": "missed", "completion": "4", "ground_truth": "4", "reward": 7.0}]
    reward = rk.Reward(
        "r", components=[rk.Component("right", lambda completion, ground_truth: completion == ground_truth)]
    )
    weak = [case for case in cases if case["name"] != "wrong"]
    result = mutants(reward, [*weak, {**weak[0], "name": "again"}], ROLLOUTS)
    assert result.missed == 1 and result.proposed_cases
    assert all("right only if this is what it should give" in case["why"] for case in result.proposed_cases)
    assert repr(result).startswith("mutants of 'r': 1 of 3 cases misses already")
    assert result.next_step.startswith("mend what the cases miss first")


# --- rewards that judge nothing


@pytest.mark.parametrize(
    ("code", "stopped", "cause"),
    [
        pytest.param("return 1.0 / 0", "component 'score' fails", "ZeroDivisionError", id="raises"),
        pytest.param("return None", "component 'score' abstains", "returned None", id="abstains"),
        pytest.param("return 'much'", "component 'score' fails", "'much'", id="gives no number"),
    ],
)
@pytest.mark.parametrize("rollouts", [None, ROLLOUTS])
def test_a_reward_that_judges_nothing_is_one_sentence_with_the_cause(load, code, stopped, cause, rollouts):
    result = mutants(load(f"def score(completion):\n    {code}\n"), CASES, rollouts)
    assert (result.judged, result.proposed_cases, result.missed) == ((), (), 0)
    assert result.stopped.endswith(stopped) and cause in result.cause
    assert repr(result).count("\n") == 0 and cause in repr(result) and "nan" not in repr(result)
    assert ("rollouts" in result.stopped) == (rollouts is not None)
    assert result.record()["score"] is None and result.record()["stopped"] == result.stopped


def test_a_reward_that_judges_rollouts_but_no_case_is_tried(load):
    reward = load("def score(completion):\n    return float(completion)\n")
    result = mutants(reward, [{"completion": "none", "reward": "unscored"}], [{"completion": "0.5"}])
    assert not result.stopped and result.survived


# --- what is said


def test_nothing_is_said_of_the_groups_of_rollouts(caplog):
    reward = rk.load_reward("gallery:gsm8k")
    broken = [*ROLLOUTS[:2], {"completion": None, "ground_truth": "4"}]
    with caplog.at_level(logging.WARNING, logger="rewardkit"):
        mutants(reward, "gallery:gsm8k", broken)
        assert "group" not in caplog.text
        assert "1 of 3 rows kept out" in caplog.text
        rk.load_rollouts(ROLLOUTS)
        assert "group" in caplog.text
