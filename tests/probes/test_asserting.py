"""assert_holds(): silent where a reward holds, and all that a person needs where it does not."""

from dataclasses import replace

import pytest
from probed import FAILING, LEAKY, ROWS, STRICT, finding, held, leaked

import rewardkit as rk
from rewardkit.errors import InputError
from rewardkit.probes.probe import Inconclusive
from rewardkit.probes.results.asserting import assert_holds, met
from rewardkit.probes.results.baseline import accept


def leaking(weight):
    """A reward that pays a wrong answer in good form `weight` of what there is to earn."""
    return rk.Reward(
        "leaking",
        fields={"prediction": rk.extract.tag("answer")},
        components=[
            rk.Component("correct", rk.verify.numbers_equal, weight=1 - weight),
            rk.Component("form", rk.measure.tags("answer"), weight=weight),
        ],
    )


def failure(*arguments, **options):
    """What the AssertionError says."""
    with pytest.raises(AssertionError) as error:
        assert_holds(*arguments, **options)
    return str(error.value)


def test_a_reward_that_holds_passes():
    assert assert_holds(STRICT, ROWS) is None


def test_every_alarm_is_told_with_its_sentence_example_and_snippet():
    told = failure(LEAKY, ROWS)
    alarms = leaked().alarms
    assert alarms
    for item in alarms:
        assert told.count(f"{item.code} ({item.family}): {item.sentence}") == 1
        assert item.examples[0].snippet in told or "whole in finding.examples" in told
        assert any(f"truth {example.columns['ground_truth']!r}" in told for example in item.examples)
    assert told.startswith("reward 'leaky' does not hold: 1 hole (high) in ")
    assert "for information" not in told


@pytest.mark.parametrize(
    ("weight", "severity", "holds"),
    [
        pytest.param(0.1, "warn", True, id="a small share for the form"),
        pytest.param(0.6, "warn", False, id="a warning"),
        pytest.param(0.6, "high", True, id="that is none of high severity"),
        pytest.param(0.9, "high", False, id="one that is"),
    ],
)
def test_what_is_less_grave_than_asked_for_passes(weight, severity, holds):
    if holds:
        assert_holds(leaking(weight), ROWS, severity=severity)
    else:
        assert "leakage" in failure(leaking(weight), ROWS, severity=severity)


def test_what_a_baseline_accepts_passes_until_it_is_graver(tmp_path):
    accept(tmp_path / "b.json", leaked().alarms, "for now", reward="leaky")
    assert_holds(LEAKY, ROWS, baseline=tmp_path / "b.json")
    lighter = [replace(item, severity="info") for item in leaked().alarms]
    accept(tmp_path / "b.json", lighter, "for now", reward="leaky")
    assert "does not hold" in failure(LEAKY, ROWS, baseline=tmp_path / "b.json")


def test_the_options_of_probing_are_passed_on():
    assert_holds(LEAKY, ROWS, only="special_values")
    assert_holds(leaking(0.6), ROWS, only="calibration", leakage=0.7)
    with pytest.raises(TypeError, match="unexpected"):
        assert_holds(LEAKY, ROWS, budgett=3)


def test_a_reward_that_fails_everywhere_does_not_hold():
    assert "always_errors" in failure(FAILING, ROWS, timeout=None)


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        pytest.param({}, False, id="all probes"),
        pytest.param({"probes": ()}, True, id="the contract alone, which needs no prompt"),
        pytest.param(
            {"findings": (finding("constant", family="calibration", accepted="a stub"),)},
            True,
            id="what is accepted says why nothing else was tried",
        ),
    ],
)
def test_what_could_not_be_probed_is_not_said_to_hold(monkeypatch, options, holds):
    none = replace(held().calibration, subjects=())
    why = (Inconclusive("reward", "no completion earns full marks; give cases"),)
    result = replace(held(), calibration=none, inconclusive=why, **options)
    monkeypatch.setattr("rewardkit.probes.results.asserting.probe", lambda *_, **__: result)
    if holds:
        assert_holds(STRICT, ROWS)
    else:
        told = failure(STRICT, ROWS)
        assert told.startswith("reward 'strict' was not probed") and "give cases" in told


def test_an_unknown_severity_is_one_sentence():
    with pytest.raises(InputError, match="severity='info' is none that fails; use one of warn, high"):
        assert_holds(STRICT, ROWS, severity="info")


def test_the_findings_that_are_met_are_the_alarms_of_that_severity():
    result = leaked()
    assert met(result, "high") == [item for item in result.alarms if item.severity == "high"]
    assert met(result, "warn") == list(result.alarms)
