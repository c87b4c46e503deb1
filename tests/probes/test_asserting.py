"""assert_holds(): silent where a reward holds, and all that a person needs where it does not."""

from dataclasses import replace

import pytest
from probed import FAILING, LEAKY, ROWS, STRICT, failed, finding, held, leaked, with_findings

import rewardkit as rk
from rewardkit.errors import InputError
from rewardkit.probes.probe import Inconclusive
from rewardkit.probes.results.asserting import assert_holds
from rewardkit.probes.results.baseline import accept

UNPROBED = {
    "calibration": replace(held().calibration, subjects=()),
    "inconclusive": (Inconclusive("reward", "no completion earns full marks; give cases"),),
}
NOTHING = replace(held(), **UNPROBED)
WARNING = with_findings(finding(severity="warn"))
STUB = finding("constant", family="calibration", accepted="a stub")
CASES = {
    "nothing found": (held(), {}, ""),
    "holes": (leaked(), {}, "reward 'strict' does not hold: 1 hole (high) in "),
    "a warning": (WARNING, {}, "does not hold"),
    "a warning where only high fails": (WARNING, {"severity": "high"}, ""),
    "for information": (with_findings(finding(severity="info")), {}, ""),
    "accepted": (with_findings(finding(accepted="known")), {}, ""),
    "broken": (with_findings(failed("ValueError: no")), {}, "ValueError: no"),
    "nothing was tried": (replace(NOTHING, made=frozenset()), {}, "was not probed.*give cases"),
    "nothing was asked for": (replace(NOTHING, probes=(), made=frozenset()), {}, ""),
    "an accepted one is all": (replace(NOTHING, findings=(STUB,)), {}, ""),
}


@pytest.mark.parametrize(("result", "options", "told"), CASES.values(), ids=CASES)
def test_an_error_is_raised_where_something_of_that_severity_is_found(monkeypatch, result, options, told):
    monkeypatch.setattr("rewardkit.probes.results.asserting.probe", lambda *_, **__: result)
    if not told:
        assert assert_holds(STRICT, ROWS, **options) is None
        return
    with pytest.raises(AssertionError, match=told.replace("(", r"\(").replace(")", r"\)")):
        assert_holds(STRICT, ROWS, **options)


def test_every_alarm_is_told_with_its_sentence_examples_and_snippet_until_a_baseline_accepts_it(tmp_path):
    fast = {"only": ["shotgun", "calibration"], "timeout": None}
    alarms = rk.probe(LEAKY, ROWS, **fast).alarms
    with pytest.raises(AssertionError) as error:
        assert_holds(LEAKY, ROWS, **fast)
    for item in alarms:
        assert str(error.value).count(f"{item.code}: {item.sentence}") == 1
        assert item.examples[0].snippet in str(error.value) or "whole in finding.examples" in str(error.value)
        assert any(f"truth {one.columns['ground_truth']!r}" in str(error.value) for one in item.examples)
    accept(tmp_path / "b.json", alarms, "for now", reward="leaky")
    assert alarms and assert_holds(LEAKY, ROWS, baseline=tmp_path / "b.json", **fast) is None
    with pytest.raises(AssertionError, match=r"always_errors: Fails on everything\."):
        assert_holds(FAILING, ROWS, timeout=None)


def test_an_unknown_severity_is_one_sentence():
    with pytest.raises(InputError, match="severity='info' is none that fails; use one of warn, high"):
        assert_holds(STRICT, ROWS, severity="info")
