"""Calls that do not come back end as findings, from Python and the command line."""

import json
import re
import time

import pytest
from click.testing import CliRunner
from planted_probes import DATA

import rewardkit as rk
from rewardkit.cli import main

SECONDS = 1.5


def probed(function, data, **options):
    """The result of probing a function as the one component of a reward, whatever it may give."""
    return rk.probe(rk.Reward("r", components=[rk.Component("c", function, range=None)]), data, **options)


HANGING = """
import re

def backtracks(completion, ground_truth):
    return re.search(r"<answer>((\\\\d+,?)+)</answer>", completion) is not None and ground_truth in completion

def endless(completion, ground_truth):
    place = 0
    while "</answer>" not in completion[place:]:
        place = 0
    return ground_truth in completion

def deep(completion, ground_truth):
    def depth(text):
        return 1 + max(depth(text[1:-1]), depth(text[1:-1])) if text[:1] in "([{" and text else 0
    inner = completion.partition("<answer>")[2].partition("</answer>")[0]
    return depth(inner) < 3 and ground_truth in inner

def powers(completion, ground_truth):
    inner = completion.partition("<answer>")[2].partition("</answer>")[0]
    found = re.fullmatch(r"(\\\\d+)\\\\*\\\\*(\\\\d+)(?:\\\\*\\\\*(\\\\d+))?", inner.strip())
    value = int(found[1]) ** (int(found[2]) ** int(found[3] or 1)) if found else inner.strip()
    return str(value) == ground_truth
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hang")
    (folder / "mine.py").write_text(HANGING.replace("\\\\", "\\"))
    (folder / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DATA["numbers"]))
    return folder


@pytest.mark.parametrize("name", ["backtracks", "endless", "deep", "powers"])
def test_each_hanging_form_ends_as_a_finding_on_the_command_line(files, name):
    began = time.monotonic()
    arguments = [
        f"{files / 'mine.py'}:{name}",
        str(files / "rollouts.jsonl"),
        *("--only", "hang", "--timeout", str(SECONDS), "--fail-on", "high", "--json"),
    ]
    ran = CliRunner().invoke(main, ["probe", *arguments])
    assert ran.exit_code == 1, ran.output
    findings = json.loads(ran.stdout)["findings"]
    assert [(item["code"], item["severity"]) for item in findings] == [("hang", "high")]
    assert findings[0]["evidence"]["seconds"] == SECONDS
    assert time.monotonic() - began < 60  # not for ever


def test_the_shortest_completion_that_hangs_is_shown():
    def slow(completion, ground_truth):
        if completion.count("(") > 20:
            time.sleep(60)
        return ground_truth in completion

    result = probed(slow, DATA["numbers"], only="hang", timeout=1)
    (item,) = result.findings
    assert len(item.examples[0].completion) < 300 and "took longer than 1 s" in item.examples[0].said


def test_patterns_of_the_rewards_own_code_are_tried():
    def dates(completion, ground_truth):
        return re.fullmatch(r"(\d+-?)+z", completion) is None and ground_truth in completion

    result = probed(dates, DATA["numbers"], only="patterns", timeout=1)
    assert [item.code for item in result.findings] == ["hang"]
    assert "a pattern in its code" in result.findings[0].sentence


def test_linear_code_has_no_finding_of_this_family():
    def plain(completion, ground_truth):
        return f"<answer>{ground_truth}</answer>" in completion

    assert not probed(plain, DATA["numbers"], only="hang", timeout=5).findings


@pytest.mark.parametrize(
    ("beyond", "severity", "stops"),
    [
        pytest.param(25_000, "high", True, id="a completion that there may be"),
        pytest.param(100_000, "info", False, id="longer than completions are"),
    ],
)
def test_a_hang_on_more_than_a_completion_holds_is_for_information_and_says_its_length(
    beyond, severity, stops
):
    def slow(completion, ground_truth):
        if len(completion) > beyond:
            time.sleep(60)
        return ground_truth in completion

    (item,) = probed(slow, DATA["numbers"], only="hang", timeout=0.5).findings
    assert (item.code, item.severity) == ("hang", severity)
    assert ("One such completion stops the training" in item.sentence) == stops
    assert (" characters" in item.sentence) == (not stops)


@pytest.mark.parametrize("name", ["runs_for_ever", "left_open"])
def test_what_a_policy_may_write_to_make_code_hang_is_tried(name):
    def runs(completion, ground_truth):
        inner = completion.partition("<answer>")[2].partition("</answer>")[0]
        if name == "left_open" and inner == "{":
            time.sleep(60)
        if name == "runs_for_ever" and "(" in inner:
            re.fullmatch(inner.strip(), "a text to match")
        return ground_truth in inner

    (item,) = probed(runs, DATA["numbers"], only=name, timeout=0.5).findings
    assert item.code == "hang" and item.examples[0].probe == name


@pytest.mark.parametrize(
    ("beyond", "severity"), [(50, "warn"), (20_000, "info")], ids=["of any length", "only if very long"]
)
def test_a_call_that_comes_back_after_all_is_slow_and_its_time_is_said(beyond, severity):
    def slow(completion, ground_truth):
        if len(completion) > beyond and "!" in completion:
            time.sleep(1.0)
        return ground_truth in completion

    (item,) = probed(slow, DATA["numbers"], only="hang", timeout=0.5).findings
    assert (item.code, item.severity) == ("slow", severity)
    assert re.search(r"A call took 1\.\d s for .*; the time limit is 0.5 s", item.sentence)
