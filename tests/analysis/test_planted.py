"""Planted faults are found and clean controls earn no finding of high severity: two seeds of each.

`make planted` prints the same for 20 seeds.
"""

import pytest
from planted import CONTROLS, FAULTS, false_findings, outcome

from rewardkit.findings import read_codes
from rewardkit.monitoring.rules import RULES as MONITOR_RULES

SEEDS = range(2)

MISSED: dict[tuple[str, str], tuple[int, str]] = {
    ("clustered", "hard"): (
        5,
        "nine grades in ten alike tie .82 of the pairs: .8 is within its interval",
    ),
    ("saturated tags", "hard"): (
        13,
        "a mean of .967 of 0 and 1 in 800 rows: .95 is within its interval",
    ),
    ("opposed", "hard"): (15, "10 groups of 100: 5 % is within the interval"),
    ("tiny differences", "hard"): (
        12,
        "likewise, and the spread of some of the ten is larger by chance",
    ),
    ("outliers", "hard"): (
        19,
        "a count of 800 is by chance half as far out as the four",
    ),
    ("two kinds of prompts", "hard"): (
        18,
        "means of eight siblings blur the gap between the kinds",
    ),
}
"""What is not found in each of 20 seeds: in how many it is, and why not in the others."""

BESIDE = {
    "clustered": {"zero_std_groups"},  # where it is not sure that it is clustered
    "collapsed outputs": {"amplified_noise"},
    "a class is never paid": {"zero_std_groups"},
    "tag of the prompt": {"sparse"},
}
"""Codes of further findings about the component of a fault, which share its cause."""


@pytest.mark.parametrize(("strength", "seeds"), [("easy", SEEDS[:1]), ("hard", SEEDS)])
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_or_is_one_that_is_known_to_be_missed(
    name, strength, seeds
):
    seen = [outcome(name, seed, hard=strength == "hard") for seed in seeds]
    if (name, strength) in MISSED:
        assert all(item.found or item.unsure for item in seen)
    else:
        assert all(item.found for item in seen)
    assert set().union(*(item.beside for item in seen)) <= BESIDE.get(name, set())


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_earns_no_finding_of_high_severity(name):
    loud = [
        item
        for seed in SEEDS
        for item in false_findings(name, seed)
        if item[0] == "high"
    ]
    assert loud == []


@pytest.mark.parametrize(
    ("control", "code"),
    [
        (
            "a form without which right answers lose, truths known",
            "wrong_above_right",
        ),
        (
            "tags without which right answers lose, in short completions",
            "length_curve",
        ),
    ],
)
def test_right_answers_that_lose_by_their_form_are_blamed_on_nothing_else(
    control, code
):
    findings = [item for seed in SEEDS for item in false_findings(control, seed)]
    assert ("warn", code) not in findings


def test_every_finding_is_planted():
    of_runs = {code for rule in MONITOR_RULES for code in rule.codes}
    planted = {fault.code for fault in FAULTS.values()}
    assert planted == set(read_codes()["diagnosis"]) - of_runs
