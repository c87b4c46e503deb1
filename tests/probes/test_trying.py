"""Tries: late calls hold up no others; right answers are tried on all subjects, wrong ones on some."""

import math
import time
from collections import Counter
from dataclasses import replace

import pytest
from planted_probes import made

from rewardkit.probes.runner import Tries
from rewardkit.probes.strategies.families import PROBES
from rewardkit.probes.subjects.formats import Format
from rewardkit.probes.subjects.subject import Subject
from rewardkit.probes.trials import trials
from rewardkit.scoring.deadlines import TimeLimit

ROWS = [{"completion": str(place), "ground_truth": "3"} for place in range(20)]


def tries_of(function, limit=None, budget=60, **options):
    return Tries(made(function, range=None, **options), limit, budget)


def test_late_calls_end_a_pass_where_patience_is_over_and_a_reward_that_never_comes_back_is_given_up():
    def sleeps(completion):
        if int(completion) % 2:
            time.sleep(30)
        return 1.0

    def hangs(completion):
        time.sleep(30)

    with TimeLimit(0.2, patience=2, processes=2) as limit:
        tries = tries_of(sleeps, limit)
        piece = tries._piece(ROWS, [()] * len(ROWS))
        hopeless = tries_of(hangs, limit)
        outcomes = hopeless.outcomes(ROWS)
    late = [outcome for outcome in piece if outcome.late]
    assert len(late) == 2 and all(math.isnan(outcome.reward) for outcome in late)
    untried = [outcome for outcome in piece if not outcome.tried]
    assert untried and tries.calls == len(ROWS) - len(untried) and tries.late == 2
    assert hopeless.hopeless and sum(outcome is not None for outcome in outcomes) == hopeless.calls <= 6
    with TimeLimit(0.2, processes=2) as limit:
        piece = tries_of(sleeps, limit)._piece(ROWS[:4], [()] * 4)
    assert [outcome.late for outcome in piece] == [False, True, False, True]


def test_right_answers_are_tried_on_all_subjects_and_wrong_ones_that_found_nothing_on_the_first():
    given = {"completion": "7"}, "", "7", "number", ("9",), Format("bare"), "7", "9"
    subjects = [Subject(place, *given) for place in range(6)]
    probes = [probe for probe in PROBES if probe.name in ("empty", "full_stop")]
    tried = trials(tries_of(lambda completion: 1.0), subjects, probes, lambda trial: False)
    assert Counter(trial.probe.name for trial in tried) == {"empty": 4, "full_stop": 6}


@pytest.mark.parametrize("group", [True, False])
def test_siblings_stand_beside_a_row_where_the_reward_looks_at_them_and_nowhere_else(group):
    def score(completion):
        return [float(len(completion))] * len(completion) if group else 1.0

    subject = Subject(0, ROWS[0], "", "0", "number", ("9",), Format("bare"), "0", "9", "", tuple(ROWS[1:4]))
    tries = tries_of(score, group=group)
    (alone, beside) = tries.on([(replace(subject, siblings=()), "7", {}), (subject, "7", {})])
    assert (alone.reward, beside.reward) == ((1.0, 4.0) if group else (1.0, 1.0))
    assert tries.calls == (4 if group else 2)
