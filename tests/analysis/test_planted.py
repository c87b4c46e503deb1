"""Planted faults are found and clean controls earn no finding of high severity: two seeds of each.

`make planted` prints the same for 20 seeds.
"""

import pytest
from planted import CONTROLS, FAULTS, false_findings, outcome
from planted_report import main

from rewardkit.findings import SENTENCES

SEEDS = range(2)

MISSED: dict[tuple[str, str], tuple[int, str]] = {
    ("clustered", "hard"): (5, "nine grades in ten alike tie .82 of the pairs: .8 is within its interval"),
    ("saturated tags", "hard"): (13, "a mean of .967 of 0 and 1 in 800 rows: .95 is within its interval"),
    ("opposed", "hard"): (15, "10 groups of 100: 5 % is within the interval"),
    ("tiny differences", "hard"): (12, "likewise, and the spread of some of the ten is larger by chance"),
    ("outliers", "hard"): (19, "a count of 800 is by chance half as far out as the four"),
    ("two kinds of prompts", "hard"): (18, "means of eight siblings blur the gap between the kinds"),
    ("label falls", "hard"): (19, "a fall of .3 in 480 rows is within the noise of one seed"),
}
"""What is not found in each of 20 seeds: in how many it is, and why not in the others."""

BESIDE = {
    "clustered": {"zero_std_groups"},  # where it is not sure that it is clustered
    "collapsed outputs": {"amplified_noise"},
    "answers repeat": {"collapsed_outputs"},
}
"""Codes of further findings about the component of a fault, which share its cause."""

STRENGTHS = [
    pytest.param(name, strength, id=f"{name}, {strength}") for name in FAULTS for strength in ("easy", "hard")
]


@pytest.mark.parametrize(("name", "strength"), STRENGTHS)
def test_a_planted_fault_is_found_or_is_one_that_is_known_to_be_missed(name, strength):
    seen = [outcome(name, seed, hard=strength == "hard") for seed in SEEDS]
    found_in_20, _ = MISSED.get((name, strength), (20, ""))
    if found_in_20 == 20:
        assert all(item.found for item in seen), FAULTS[name]
    elif found_in_20 == 0:
        assert not any(item.found for item in seen), "found now: take it off the list"
    else:
        assert all(item.found or item.unsure for item in seen), FAULTS[name]
    assert {code for item in seen for code in item.beside} <= BESIDE.get(name, set())


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_earns_no_finding_of_high_severity(name):
    loud = [item for seed in SEEDS for item in false_findings(name, seed) if item[0] == "high"]
    assert loud == []


def test_the_report_has_a_column_a_size_and_says_which_controls_are_silent(capsys):
    main(["2+5", "starved", "graded"])
    told = capsys.readouterr().out.splitlines()
    assert told[1].split() == ["starved", "starved", *["2/2"] * 4, *["1/1"] * 2]
    assert "   200 prompts: 1 of 1 controls silent in all tables" in told


def test_every_finding_is_planted():
    assert {fault.code for fault in FAULTS.values()} == {
        code for code in SENTENCES if not code.startswith("probe:")
    }
