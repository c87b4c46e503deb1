"""Tries: rows within a budget of time, beside their siblings; late calls do not hold up the others."""

import math
import time
from collections import Counter

import pytest

import rewardkit as rk
from rewardkit.probes.runner import Tries, Variants
from rewardkit.probes.strategies.families import PROBES
from rewardkit.probes.subjects.formats import Format
from rewardkit.probes.subjects.subject import Subject
from rewardkit.probes.trials import trials
from rewardkit.scoring.deadlines import TimeLimit

ROWS = [{"completion": str(place), "ground_truth": "3"} for place in range(20)]


def made(function, **options):
    return rk.Reward("r", components=[rk.Component("c", function, range=None, **options)])


def test_what_each_row_got_is_in_its_order_with_fields_scores_and_reasons():
    def score(completion):
        if completion == "4":
            raise ValueError("four")
        return None if completion == "5" else float(completion)

    outcomes = Tries(made(score), None, 60).outcomes(ROWS)
    assert [outcome.reward for outcome in outcomes[:4]] == [0, 1, 2, 3]
    assert outcomes[4].failures == {"c": "ValueError: four"} and not outcomes[4].judged
    assert outcomes[5].statuses == {"c": "abstained"} and not outcomes[5].failures


def test_a_budget_that_is_over_leaves_the_rest_untried():
    def slow(completion):
        time.sleep(0.05)
        return 1.0

    tries = Tries(made(slow), None, 0.4)
    outcomes = tries.outcomes(ROWS)
    tried = [outcome for outcome in outcomes if outcome is not None]
    assert 2 <= len(tried) < len(ROWS) and outcomes[-1] is None and tries.calls == len(tried)


def test_a_share_of_the_budget_is_kept_for_later():
    def slow(completion):
        time.sleep(0.02)
        return 1.0

    tries = Tries(made(slow), None, 1.0)
    tries.outcomes(ROWS * 10, share=0.3)
    assert tries.left > 0.4


def test_rows_stand_beside_their_siblings_where_these_are_given():
    def share(completion):
        values = [float(text) for text in completion]
        return [value / sum(values) for value in values]

    siblings = [[{"completion": "6"}, {"completion": "2"}]] * 2
    outcomes = Tries(made(share, group=True), None, 60).outcomes(
        [{"completion": "2"}, {"completion": "8"}], siblings
    )
    assert [outcome.reward for outcome in outcomes] == [0.2, 0.5]


def test_nothing_more_is_tried_when_what_was_looked_for_is_there():
    outcomes = Tries(made(lambda completion: 1.0), None, 60).outcomes(ROWS, until=lambda outcome: True)
    assert [outcome is None for outcome in outcomes] == [False, False] + [True] * 18


def sleeps(completion):
    if int(completion) % 2:
        time.sleep(30)
    return 1.0


def test_late_calls_of_a_pass_end_it_and_the_others_are_not_taken_for_tried():
    with TimeLimit(0.3, patience=2, processes=2) as limit:
        tries = Tries(made(sleeps), limit, 60)
        piece = tries._piece(ROWS, [])
    late = [outcome for outcome in piece if outcome.late]
    assert len(late) == 2 and all(math.isnan(outcome.reward) for outcome in late)
    untried = [outcome for outcome in piece if not outcome.tried]
    assert untried and tries.calls == len(ROWS) - len(untried) and tries.late == 2


def test_without_patience_every_late_call_is_waited_for():
    with TimeLimit(0.2, processes=2) as limit:
        piece = Tries(made(sleeps), limit, 60)._piece(ROWS[:4], [])
    assert [outcome.late for outcome in piece] == [False, True, False, True]


def test_a_reward_that_never_comes_back_is_given_up():
    def hangs(completion):
        time.sleep(30)

    with TimeLimit(0.2, patience=2, processes=2) as limit:
        tries = Tries(made(hangs), limit, 60)
        outcomes = tries.outcomes(ROWS)
    assert tries.hopeless and sum(outcome is not None for outcome in outcomes) == tries.calls <= 6


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param({"completion": "a"}, {"completion": "new"}, id="a text"),
        pytest.param(
            {"completion": "a", "response": "a"},
            {"completion": "new", "response": "new"},
            id="the log's own name",
        ),
        pytest.param(
            {
                "completion": "a",
                "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
            },
            {
                "completion": "new",
                "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "new"}],
            },
            id="the last turn of a transcript",
        ),
    ],
)
def test_a_variant_has_the_completion_wherever_the_row_holds_it(row, expected):
    before = repr(row)
    assert Variants({"completion": "response"}).of(row, "new") == expected
    assert repr(row) == before


def test_a_variant_takes_other_values_under_the_logs_name_as_well():
    made = Variants({"ground_truth": "answer"}).of({"ground_truth": "1", "answer": "1"}, ground_truth="2")
    assert made == {"ground_truth": "2", "answer": "2"}


def test_a_budget_without_an_end_is_one():
    outcomes = Tries(made(lambda completion: 1.0), None, math.inf).outcomes(ROWS, share=0.3)
    assert [outcome.reward for outcome in outcomes] == [1.0] * len(ROWS)


def test_right_answers_are_tried_on_all_subjects_and_wrong_ones_that_found_nothing_on_the_first():
    form = Format("bare")
    subjects = [
        Subject(place, {"completion": "7"}, "", "7", "number", ("9",), form, "7", "9") for place in range(6)
    ]
    probes = [probe for probe in PROBES if probe.name in ("empty", "full_stop")]
    tries = Tries(made(lambda completion: 1.0), None, 60)
    tried = trials(tries, subjects, probes, Variants({}), lambda trial: False)
    assert Counter(trial.probe.name for trial in tried) == {"empty": 4, "full_stop": 6}
