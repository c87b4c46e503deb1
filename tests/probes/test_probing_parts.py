"""probe() over several data sources, of chance, without time and with numbers that make no sense."""

import math
import os
import random
import re
import time

import pytest
from planted_probes import DATA, strict
from test_probing import FAST, made

import rewardkit as rk
from rewardkit.probes.verdicts import wilson


def srcs(paid_anything):
    """A strict reward that pays anything in some data sources, and rollouts of ten of them."""

    def score(completion, ground_truth, data_source):
        return data_source in paid_anything or strict(completion, ground_truth)

    data = [
        {**row, "prompt_id": f"{place}-{row['prompt_id']}", "data_source": f"src{place}"}
        for place in range(10)
        for row in DATA["numbers"][:8]
    ]
    return made(score), data


def test_every_data_source_is_probed_and_one_that_pays_anything_is_a_finding():
    reward, data = srcs({"src8", "src9"})
    (alarm,) = rk.probe(reward, data, **FAST).alarms
    assert (alarm.code, alarm.severity, alarm.part) == ("constant", "high", "src8, src9")
    assert alarm.sentence.startswith("Always 1. All ") and "Data source: src8, src9." in alarm.sentence
    assert not rk.probe(*srcs(()), **FAST).alarms


def test_what_all_data_sources_show_alike_is_one_finding_with_the_rate_of_all():
    def score(completion, ground_truth):
        return max(float(strict(completion, ground_truth)), 0.5 * ("certain" in completion))

    (alarm,) = rk.probe(made(score), srcs(())[1], **FAST).alarms
    assert (alarm.code, alarm.part, alarm.evidence["tried"]) == ("certain", "", 40)
    assert alarm.evidence["found"] == 40 and alarm.evidence["interval"] == pytest.approx(wilson(40, 40))
    assert len({example.rollout_id for example in alarm.examples}) == 3


def test_what_a_rollout_says_beside_its_answer_is_not_taken_for_the_form():
    def score(completion, ground_truth):
        return float(strict(completion, ground_truth)) + 0.5 * ("certain" in completion)

    data = [{**row, "completion": row["completion"].replace("so", "I am certain")} for row in DATA["numbers"]]
    result = rk.probe(rk.Reward("r", components=[rk.Component("c", score, range=None)]), data, **FAST)
    assert [item.code for item in result.alarms] == ["certain"]
    assert all("certain" not in subject.reference for subject in result.calibration.subjects)


def test_a_budget_that_ends_before_right_answers_were_tried_is_no_finding():
    def slow(completion, ground_truth):
        time.sleep(0.3)
        return strict(completion, ground_truth)

    wrong = [row for row in DATA["numbers"] if "none" in row["completion"]]
    result = rk.probe(made(slow), wrong, budget=1.0, timeout=None)
    assert not result.findings and any(
        "the budget of 1 s was over" in item.why for item in result.inconclusive
    )


def test_of_a_reward_of_chance_the_contract_is_the_one_finding():
    def chance(completion, ground_truth):
        return random.random()

    result = rk.probe(made(chance), DATA["numbers"], timeout=None)
    assert [item.code for item in result.alarms] == ["differs_between_calls"]


@pytest.mark.parametrize(
    ("reward", "given", "sentence"),
    [
        pytest.param(strict, {}, "probe takes a Reward, not <function", id="no reward"),
        pytest.param(made(strict), {"label": "correct"}, "no column 'correct' to be the label", id="label"),
        pytest.param(made(strict), {"budget": -1}, "budget=-1 .* give seconds above 0", id="budget"),
        pytest.param(made(strict), {"leakage": math.nan}, "leakage=nan .* from 0 to 1", id="leakage"),
        pytest.param(made(strict), {"search": -1}, "search=-1 .* a number of completions", id="search"),
        pytest.param(made(strict), {"timeout": 0}, "timeout=0 .* above 0, or None", id="timeout"),
    ],
)
def test_what_cannot_be_probed_so_is_one_sentence(reward, given, sentence):
    with pytest.raises((rk.RewardError, rk.RolloutsError), match=sentence):
        rk.probe(reward, DATA["numbers"], **given)


def test_a_gain_above_what_being_right_adds_is_told_as_it_is():
    def long(completion, ground_truth):
        return float(strict(completion, ground_truth)) + len(completion.split()) / 100

    result = rk.probe(
        rk.Reward("r", components=[rk.Component("c", long, range=None)]), DATA["numbers"], **FAST
    )
    (alarm,) = result.alarms
    example = alarm.examples[0]
    gain = (example.reward - example.wrong) / (example.right - example.wrong)
    assert alarm.code == "longer" and alarm.evidence["gain"] == pytest.approx(gain, rel=0.01) and gain > 15


def test_a_process_that_ends_is_a_broken_contract_and_no_hang():
    def ends(completion, ground_truth):
        if "sorry" in completion:
            os._exit(9)
        return strict(completion, ground_truth)

    result = rk.probe(made(ends), DATA["numbers"], only=["nothing_there", "contract"], timeout=5)
    assert [(item.code, item.family) for item in result.alarms] == [("dies", "contract")]
    assert "nan" not in result.alarms[0].sentence


def test_a_verdict_that_states_the_right_answer_is_none():
    def last_number(completion, ground_truth):
        found = re.findall(r"\d+", completion)
        return bool(found) and found[-1] == ground_truth

    data = [
        {
            "prompt_id": place,
            "prompt": f"Case {chr(97 + place)}?",
            "completion": f"It is {said}.",
            "ground_truth": truth,
        }
        for place, truth in enumerate(("1", "10", "100", "1", "10", "100"))
        for said in (truth, "57")
    ]
    assert not rk.probe(made(last_number), data, only="judge", timeout=None).alarms
