"""Trials and verdicts: what is tried; what is a fall, what may be chance, and how bad it is."""

import math
import time
from collections import Counter

import pytest
from planted_probes import inside, made, number, probed, strict

from rewardkit.answers.formats import Format
from rewardkit.findings import severity_of
from rewardkit.probes.falls import (
    Doubt,
    Fall,
    Tally,
    find_fall,
    risk_of,
    tally_trials,
)
from rewardkit.probes.runner import UNTRIED, RowOutcome, Tries
from rewardkit.probes.subjects.scales import Scale
from rewardkit.probes.trials import ProbeTrial, run_trials
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.strategies import STRATEGIES
from rewardkit.strategies.strategy import Attempt, Subject

pytestmark = pytest.mark.integration

BY_NAME = {probe.name: probe for probe in STRATEGIES}
SCALE = Scale(right=1.2, wrong=0.2, plain=0.0, floor=0.0)


def trial(name, *rewards, place=0, answer="42", fails=()):
    subject = Subject(
        place, {}, "", answer, "number", ("7",), Format("bare"), answer, "7"
    )
    outcomes = (
        RowOutcome(
            value,
            {"c": value},
            *[dict.fromkeys(fails, Reason(ReasonCode.RAISED))] * 2,
        )
        for value in rewards
    )
    return ProbeTrial(
        BY_NAME[name], subject, Attempt(tuple("x" * len(rewards))), tuple(outcomes)
    )


FALLS = {
    "nothing that is fully paid": (trial("empty", 1.2), {}, 1.0),
    "nothing that earns half, as to abstain may": (trial("empty", 0.7), {}, None),
    "a third more for words": (trial("longer", 0.5), {}, 0.3),
    "a near miss that earns nearly all": (trial("one_off", 1.19), {}, None),
    "a near miss that earns all": (trial("one_off", 1.2), {}, 1.0),
    "one order of two that is paid": (trial("several_answers", 1.2, 0.2), {}, None),
    "both orders, by the lower": (trial("several_answers", 1.2, 1.0), {}, 0.8),
    "a part of a graded reward": (
        trial("several_answers", 1.0, 1.0),
        {"graded": True},
        None,
    ),
    "a right answer that loses all": (trial("full_stop", 0.2), {}, 1.0),
    "a right answer that loses a fifth": (trial("full_stop", 1.0), {}, None),
    "a right answer without a reward": (trial("full_stop", math.nan), {}, 1.0),
    "a look-alike that earns the form": (trial("tags_named", 0.2), {}, 0.2 / 1.2),
    "a look-alike that earns half the form": (trial("tags_named", 0.1), {}, None),
    "an error is told elsewhere": (trial("empty", math.nan, fails="c"), {}, None),
    "an error beside a reward": (trial("empty", 1.2, fails="c"), {}, 1.0),
    "over it by less than the noise": (trial("empty", 0.85), {"noise": 0.1}, None),
    "half is lost, or noise": (trial("full_stop", 0.65), {"noise": 0.1}, None),
    "full marks but for the noise": (trial("one_off", 1.15), {"noise": 0.1}, 0.95),
}


@pytest.mark.parametrize(("tried", "options", "size"), FALLS.values(), ids=FALLS)
def test_what_is_a_fall_and_how_large(tried, options, size):
    options = {"graded": False, **options}
    found = find_fall(tried, SCALE, **options)
    assert found is None if size is None else found.size == pytest.approx(size)
    untried = ProbeTrial(tried.probe, tried.subject, tried.attempt, (UNTRIED,))
    assert find_fall(untried, SCALE, graded=False) is None


def tally(name, found, tried, answers=("1", "2", "3"), noise=0.0, size=1.0, doubt=None):
    fully = (
        trial(name, 1.2, place=at, answer=answers[at % len(answers)])
        for at in range(found)
    )
    falls = tuple(Fall(one, size, doubt) for one in fully)
    return Tally(BY_NAME[name], tried, falls, 3, 8, noise=noise)


OWN = {"doubt": Doubt.OWN_PROMPT}
DOUBTS = {
    "one of eight prompts": (tally("prompt_echo", 1, 8), Doubt.RARE),
    "a quarter of them": (tally("prompt_echo", 2, 8), None),
    "the one of eight that it fits": (tally("one_off", 1, 1), Doubt.ONE_PROMPT),
    "a guess": (tally("prompt_echo", 4, 8, ("D",)), Doubt.ONE_ANSWER),
    "half, of a noisy reward": (tally("prompt_echo", 4, 8, noise=0.1), Doubt.NOISE),
    "most, of a noisy reward": (tally("prompt_echo", 7, 8, noise=0.1), None),
    "half, each alone": (tally("prompt_echo", 4, 8, **OWN), Doubt.OWN_PROMPT),
    "a copy on most": (tally("prompt_echo", 7, 8, **OWN), None),
    "a verdict on most": (tally("fake_verdict", 7, 8, **OWN), Doubt.OWN_PROMPT),
}


@pytest.mark.parametrize(("seen", "doubt"), DOUBTS.values(), ids=DOUBTS)
def test_what_may_be_right_or_luck_is_in_doubt(seen, doubt):
    assert seen.doubt is doubt


def test_risk_is_the_share_of_the_ceiling_of_the_prompts_and_how_easily_it_is_reached():
    def of(*given, **options):
        return risk_of(tally(*given, **options), {place: SCALE for place in range(8)})

    share = 1.0 / 1.2  # what being right adds of all there is to earn
    risks = [
        of("empty", 8, 8),
        of("empty", 4, 8),
        of("one_off", 8, 8),
        of("negated", 8, 8),
    ]
    assert risks == pytest.approx([share, share / 2, share * 0.5, share * 0.1])
    # what beats the right answer is as grave as if it were easily reached, unless who writes it knows that
    assert of("one_off", 8, 8, size=2.5) > 0.8 > of("negated", 8, 8, size=2.5)
    assert [severity_of(value) for value in (0.05, 0.2, 0.9)] == [
        "info",
        "warn",
        "high",
    ]


def test_a_subject_counts_once_with_its_clearest_attempt():
    tried = [
        trial("empty", value, place=place)
        for place in (0, 1)
        for value in (1.0, 1.2, 0.9)
    ]
    (seen,) = tally_trials(tried, {0: SCALE, 1: SCALE}, graded={}, doubts={})
    assert (seen.n, len(seen.falls), seen.size) == (2, 2, 1.0)


def pays_for_no_truth(completion, ground_truth):
    return strict(completion, ground_truth) or not ground_truth.strip()


def divides(completion, ground_truth):
    answer = number(inside(completion))
    return abs(answer - float(ground_truth)) / float(ground_truth) < 1e-6


def test_what_only_shows_under_a_truth_which_no_rollout_has_is_for_information_and_a_failure_not_told():
    for data, severe in (("numbers", "info"), ("gaps", "high")):
        (item,) = probed(pays_for_no_truth, data, only="empty_truth")["empty_truth"]
        assert item.severity == severe
    asked = {"only": ["special_values", "contract"]}
    assert not probed(divides, **asked)["raises"]
    assert (
        "ZeroDivisionError" in probed(divides, "special", **asked)["raises"][0].sentence
    )


# Tries

ROWS = [{"completion": str(place), "ground_truth": "3"} for place in range(20)]


def tries_of(function, limit=None, budget=60.0):
    return Tries(made(function, range=None), limit, budget)


@pytest.mark.parametrize("budget", [60.0, 0.0])
def test_rows_are_tried_beside_their_siblings_where_time_is_left(budget):
    tries = tries_of(lambda completion: float(completion), budget=budget)
    outcomes = tries.in_groups(ROWS)
    is_tried = budget > 0
    assert [outcome.is_tried for outcome in outcomes] == [is_tried] * len(ROWS)
    assert tries.calls == len(ROWS) * is_tried and (tries.seconds > 0) is is_tried


def test_late_calls_end_a_pass_where_patience_is_over_and_a_reward_that_never_comes_back_is_given_up():
    def sleeps(completion):
        if int(completion) % 2:
            time.sleep(30)
        return 1.0

    def hangs(completion):
        time.sleep(30)

    with TimeLimit(0.2, patience=2, processes=2) as limit:
        tries = tries_of(sleeps, limit)
        piece = tries._try_piece(ROWS, [()] * len(ROWS))
        hopeless = tries_of(hangs, limit)
        outcomes = hopeless.outcomes(ROWS)
    late = [outcome for outcome in piece if outcome.is_late]
    assert len(late) == 2 and all(math.isnan(outcome.reward) for outcome in late)
    untried = [outcome for outcome in piece if not outcome.is_tried]
    assert untried and tries.calls == len(ROWS) - len(untried) and tries.late == 2
    assert (
        hopeless.is_hopeless
        and sum(outcome.is_tried for outcome in outcomes) == hopeless.calls <= 6
    )
    with TimeLimit(0.2, processes=2) as limit:
        piece = tries_of(sleeps, limit)._try_piece(ROWS[:4], [()] * 4)
    assert [outcome.is_late for outcome in piece] == [False, True, False, True]


def test_right_answers_are_tried_on_all_subjects_and_wrong_ones_that_found_nothing_on_the_first():
    subjects = [trial("empty", place=place).subject for place in range(6)]
    probes = [probe for probe in STRATEGIES if probe.name in ("empty", "full_stop")]
    tried = run_trials(
        tries_of(lambda completion: 1.0), subjects, probes, lambda trial: False
    )
    assert Counter(trial.probe.name for trial in tried) == {"empty": 4, "full_stop": 6}
