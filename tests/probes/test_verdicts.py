"""Verdicts on trials: what is a fall, what may be chance, and how bad it is."""

import math

import pytest

import rewardkit as rk
from rewardkit.probes.runner import Outcome
from rewardkit.probes.strategies.attempts import Attempt
from rewardkit.probes.strategies.families import PROBES
from rewardkit.probes.subjects.formats import Format
from rewardkit.probes.subjects.subject import Scale, Subject
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import Fall, Tally, fall, risk, tallied, wilson

BY_NAME = {probe.name: probe for probe in PROBES}
SCALE = Scale(right=1.2, wrong=0.2, plain=0.0, floor=0.0)


def subject(place=0, answer="42"):
    return Subject(place, {}, "", answer, "number", ("7",), Format("bare"), answer, "7")


def outcome(reward, **errors):
    return Outcome(reward, {"c": reward}, dict.fromkeys(errors, "error"), errors)


def trial(name, *rewards, place=0, answer="42", **errors):
    probe = BY_NAME[name]
    attempt = Attempt(tuple("x" * len(rewards)))
    return Trial(probe, subject(place, answer), attempt, tuple(outcome(value, **errors) for value in rewards))


@pytest.mark.parametrize(
    ("made", "graded", "size"),
    [
        pytest.param(trial("empty", 1.2), False, 1.0, id="nothing that is fully paid"),
        pytest.param(trial("empty", 0.7), False, None, id="nothing that earns half, as to abstain may"),
        pytest.param(trial("empty", math.nan), False, None, id="nothing that is not judged"),
        pytest.param(trial("longer", 0.5), False, 0.3, id="a third more for words"),
        pytest.param(trial("longer", 0.4), False, None, id="a fifth more for words"),
        pytest.param(trial("one_off", 1.19), False, None, id="a near miss that earns nearly all"),
        pytest.param(trial("one_off", 1.2), False, 1.0, id="a near miss that earns all"),
        pytest.param(trial("several_answers", 1.2, 0.2), False, None, id="one order of two that is paid"),
        pytest.param(trial("several_answers", 1.2, 1.0), False, 0.8, id="both orders, by the lower"),
        pytest.param(trial("several_answers", 1.0, 1.0), True, None, id="a part of a graded reward"),
        pytest.param(trial("several_answers", 1.2, math.nan), False, None, id="one that is not judged"),
        pytest.param(trial("full_stop", 0.2), False, 1.0, id="a right answer that loses all"),
        pytest.param(trial("full_stop", 1.0), False, None, id="a right answer that loses a fifth"),
        pytest.param(trial("full_stop", math.nan), False, 1.0, id="a right answer without a reward"),
        pytest.param(trial("escaped_tags", 0.2), False, 0.2 / 1.2, id="a look-alike that earns the form"),
        pytest.param(trial("escaped_tags", 0.1), False, None, id="a look-alike that earns half the form"),
        pytest.param(trial("empty", 1.2, c="ValueError"), False, None, id="an error is told elsewhere"),
    ],
)
def test_what_is_a_fall_and_how_large(made, graded, size):
    found = fall(made, SCALE, graded=graded)
    assert found is None if size is None else found.size == pytest.approx(size)


def test_a_mark_that_is_none_is_no_fall_where_the_answer_is_found_without_any():
    made = trial("marks_that_are_none", 1.2)
    assert fall(made, SCALE, graded=False).size == 1.0
    anywhere = Scale(right=1.2, wrong=0.2, plain=0.0, floor=0.0, bare=1.0)
    assert fall(made, anywhere, graded=False) is None


def test_what_was_not_tried_is_no_fall():
    whole = trial("empty", 1.2)
    assert fall(Trial(whole.probe, whole.subject, whole.attempt, (None,)), SCALE, graded=False) is None


@pytest.mark.parametrize(
    ("name", "reward", "noise", "falls"),
    [
        pytest.param("empty", 0.85, 0.0, True, id="over the limit"),
        pytest.param("empty", 0.85, 0.1, False, id="over it by less than the noise"),
        pytest.param("full_stop", 0.65, 0.0, True, id="half is lost"),
        pytest.param("full_stop", 0.65, 0.1, False, id="half is lost, or noise"),
        pytest.param("one_off", 1.15, 0.1, True, id="full marks but for the noise"),
    ],
)
def test_noise_is_no_fall(name, reward, noise, falls):
    assert (fall(trial(name, reward), SCALE, graded=False, noise=noise) is not None) is falls


def tally(name, found, tried, answers=("1", "2", "3"), noise=0.0):
    falls = tuple(
        Fall(trial(name, 1.2, place=place, answer=answers[place % len(answers)]), 1.0)
        for place in range(found)
    )
    return Tally(BY_NAME[name], tried, falls, len(answers) if len(answers) > 1 else 3, noise=noise)


@pytest.mark.parametrize(
    ("made", "chance"),
    [
        pytest.param(tally("prompt_echo", 1, 8), True, id="one of eight prompts"),
        pytest.param(tally("prompt_echo", 2, 8), False, id="a quarter of them"),
        pytest.param(tally("prompt_echo", 4, 8, ("D",)), True, id="always the same answer, so a guess"),
        pytest.param(tally("several_answers", 4, 8, ("D",)), False, id="one that knows the answer"),
        pytest.param(tally("prompt_echo", 4, 8, noise=0.1), True, id="half of them, of a noisy reward"),
        pytest.param(tally("prompt_echo", 7, 8, noise=0.1), False, id="most of them, of a noisy reward"),
        pytest.param(tally("prompt_echo", 0, 8), True, id="none"),
    ],
)
def test_what_a_guess_would_find_is_by_chance(made, chance):
    assert made.by_chance is chance


def test_risk_is_the_share_of_the_ceiling_of_the_prompts_and_how_easily_it_is_reached():
    scales = {place: SCALE for place in range(8)}
    share = 1.0 / 1.2  # what being right adds of all there is to earn
    assert risk(tally("empty", 8, 8), scales) == pytest.approx(share)
    assert risk(tally("empty", 4, 8), scales) == pytest.approx(share / 2)
    assert risk(tally("one_off", 8, 8), scales) == pytest.approx(share * 0.5)
    assert risk(tally("negated", 8, 8), scales) == pytest.approx(share * 0.1)


def test_a_subject_counts_once_with_its_clearest_attempt():
    trials = [trial("empty", value, place=place) for place in (0, 1) for value in (1.0, 1.2)]
    (made,) = tallied(trials, {0: SCALE, 1: SCALE}, graded={})
    assert (made.tried, len(made.falls), made.size) == (2, 2, 1.0)


def test_a_hole_that_only_shows_under_a_truth_which_no_rollout_has_is_for_information():
    from planted_probes import DATA, strict

    def scores(completion, ground_truth):
        return strict(completion, ground_truth) or not ground_truth.strip()

    reward = rk.Reward("r", components=[rk.Component("c", scores)])
    for data, severity in (("numbers", "info"), ("gaps", "high")):
        (item,) = rk.probe(reward, DATA[data], only="empty_truth", timeout=None)["empty_truth"]
        assert item.severity == severity


def test_a_failure_that_only_a_truth_shows_which_no_rollout_has_is_not_told():
    from planted_probes import DATA, inside

    def divides(completion, ground_truth):
        try:
            answer = float(inside(completion) or "nan")
        except ValueError:
            return False
        return abs(answer - float(ground_truth)) / float(ground_truth) < 1e-6

    reward = rk.Reward("r", components=[rk.Component("c", divides)])
    assert not rk.probe(reward, DATA["numbers"], only=["special_values", "contract"], timeout=None)["raises"]
    found = rk.probe(reward, DATA["special"], only=["special_values", "contract"], timeout=None)["raises"]
    assert "ZeroDivisionError" in found[0].sentence


@pytest.mark.parametrize(
    ("found", "tried", "low", "high"),
    [
        pytest.param(8, 8, 0.6756, 1.0, id="all of eight"),
        pytest.param(0, 20, 0.0, 0.1611, id="none of twenty"),
        pytest.param(0, 0, math.nan, math.nan, id="none of none"),
        pytest.param(5, 10, 0.2366, 0.7634, id="half of ten"),
        pytest.param(81, 263, 0.2553, 0.3662, id="Newcombe (1998), table I"),
    ],
)
def test_the_interval_of_a_share_is_wilson_s(found, tried, low, high):
    assert wilson(found, tried) == pytest.approx((low, high), abs=5e-5, nan_ok=True)


def test_what_beats_the_right_answer_is_as_grave_as_if_it_were_easily_reached():
    for name, grave in (("one_off", True), ("negated", False)):  # who writes this knows the right answer
        falls = tuple(Fall(trial(name, 2.7, place=place), 2.5) for place in range(8))
        assert (risk(Tally(BY_NAME[name], 8, falls, 3), {place: SCALE for place in range(8)}) > 0.8) is grave
