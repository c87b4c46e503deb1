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
    form = rk.Component("form", rk.measure.tags("answer"), weight=weight)
    correct = rk.Component("correct", rk.verify.numbers_equal, weight=1 - weight)
    return rk.Reward("leaking", {"prediction": rk.extract.tag("answer")}, [correct, form])


@pytest.mark.parametrize(
    ("reward", "options", "told"),
    [
        (STRICT, {}, ""),
        (LEAKY, {}, "reward 'leaky' does not hold: 1 hole (high) in "),
        (LEAKY, {"only": "special_values"}, ""),
        (leaking(0.6), {"only": "calibration"}, "leakage: Form pays."),
        (leaking(0.6), {"only": "calibration", "severity": "high"}, ""),
        (leaking(0.6), {"only": "calibration", "leakage": 0.7}, ""),
        (FAILING, {"timeout": None}, "always_errors: Fails on everything."),
    ],
)
def test_an_error_is_raised_where_something_of_that_severity_is_found(reward, options, told):
    if not told:
        assert assert_holds(reward, ROWS, **options) is None
        return
    with pytest.raises(AssertionError) as error:
        assert_holds(reward, ROWS, **options)
    assert told in str(error.value)


def test_every_alarm_is_told_with_its_sentence_examples_and_snippet():
    with pytest.raises(AssertionError) as error:
        assert_holds(LEAKY, ROWS)
    told = str(error.value)
    for item in leaked().alarms:
        assert told.count(f"{item.code}: {item.sentence}") == 1
        assert item.examples[0].snippet in told or "whole in finding.examples" in told
        assert any(f"truth {example.columns['ground_truth']!r}" in told for example in item.examples)


def test_what_a_baseline_accepts_passes_until_it_is_graver(tmp_path):
    accept(tmp_path / "b.json", leaked().alarms, "for now", reward="leaky")
    assert_holds(LEAKY, ROWS, baseline=tmp_path / "b.json")
    lighter = [replace(item, severity="info") for item in leaked().alarms]
    accept(tmp_path / "b.json", lighter, "for now", reward="leaky")
    with pytest.raises(AssertionError, match="does not hold"):
        assert_holds(LEAKY, ROWS, baseline=tmp_path / "b.json")


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        ({"made": frozenset()}, False),
        ({"calibration": replace(held().calibration, modes={"": "unknown"})}, False),
        ({"probes": (), "made": frozenset()}, True),
        ({"findings": (finding("constant", family="calibration", accepted="a stub"),)}, True),
    ],
)
def test_what_could_not_be_probed_is_not_said_to_hold(monkeypatch, options, holds):
    none = replace(held().calibration, subjects=())
    why = (Inconclusive("reward", "no completion earns full marks; give cases"),)
    result = replace(held(), **{"calibration": none, "inconclusive": why, **options})
    monkeypatch.setattr("rewardkit.probes.results.asserting.probe", lambda *_, **__: result)
    if holds:
        assert_holds(STRICT, ROWS)
    else:
        with pytest.raises(AssertionError, match=r"reward 'strict' was not probed.*give cases"):
            assert_holds(STRICT, ROWS)


def test_an_unknown_severity_is_one_sentence():
    with pytest.raises(InputError, match="severity='info' is none that fails; use one of warn, high"):
        assert_holds(STRICT, ROWS, severity="info")


def test_the_findings_that_are_met_are_the_alarms_of_that_severity():
    result = replace(leaked(), findings=(*leaked().findings, finding(severity="warn")))
    assert met(result, "high") == [item for item in result.alarms if item.severity == "high"] != []
    assert met(result, "warn") == list(result.alarms) != met(result, "high")
