"""`rewardkit probe`: exit status, JSON, baseline, cases, and one line for input that cannot be used."""

import json
from typing import get_args

import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.cli.probe import MUST
from rewardkit.probes.strategies.attempts import Expects
from rewardkit.probes.strategies.families import FAMILIES, PROBES

REWARDS = '''
import rewardkit as rk

def anywhere(completion, ground_truth):
    """Pays the truth wherever it stands."""
    print("judging", completion)
    return float(ground_truth in completion)

def form(completion):
    return completion.startswith("<answer>") and completion.endswith("</answer>")

prediction = {"prediction": rk.extract.tag("answer")}
correct = rk.Component("correct", rk.verify.numbers_equal)
strict = rk.Reward("strict", prediction, [correct])
leaking = rk.Reward("leaking", prediction, [
    rk.Component("correct", rk.verify.numbers_equal, weight=0.35),
    rk.Component("form", rk.measure.tags("answer", outside="nowhere"), weight=0.65),
])

def endless(completion, ground_truth):
    while "((((((" in completion:
        pass
    return ground_truth == completion
'''
MENDED = 'anywhere = rk.Reward("anywhere", prediction, [correct])\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with rewards, rollouts and cases."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(REWARDS)
    rows = [
        {
            "prompt": f"What is {answer - 1} and 1?",
            "completion": f"<answer>{text}</answer>",
            "ground_truth": str(answer),
            "is_right": text != "1",
        }
        for answer in (42, 17, 83, 210)
        for text in (str(answer), "1")
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    case = {"completion": "<answer>5</answer>", "ground_truth": "5", "reward": 1.0, "name": "half \ud83d"}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["probe", *map(str, arguments)])


def record(result):
    """The one JSON object on stdout."""
    return json.loads(result.stdout, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


@pytest.mark.parametrize(
    ("reward", "options", "status"),
    [
        pytest.param("strict", [], 0, id="nothing found"),
        pytest.param("strict", ["--fail-on", "warn"], 0, id="nothing found, nothing to fail on"),
        pytest.param("anywhere", [], 0, id="a hole alone does not fail"),
        pytest.param("anywhere", ["--fail-on", "high"], 1, id="a hole does where asked"),
        pytest.param("leaking", ["--fail-on", "high"], 0, id="a warning is no hole of high severity"),
        pytest.param("leaking", ["--fail-on", "warn"], 1, id="a warning"),
        pytest.param("leaking", ["--fail-on", "warn", "--leakage", "0.7"], 0, id="allowed leakage"),
        pytest.param("anywhere", ["--fail-on", "warn", "--only", "special_values"], 0, id="not looked for"),
        pytest.param("anywhere", ["--fail-on", "warn", "--only", "mentioned"], 1, id="looked for"),
    ],
)
def test_the_exit_status_is_1_only_where_a_finding_of_that_severity_was_to_fail(
    folder, reward, options, status
):
    result = run(f"mine.py:{reward}", "log.jsonl", *options)
    assert result.exit_code == status, result.output


def test_the_text_says_the_verdict_first_and_how_to_see_it_again(folder):
    result = run("mine.py:anywhere", "log.jsonl")
    lines = result.stdout.splitlines()
    (head,) = [line for line in lines if line.startswith("anywhere: ")]
    assert "hole" in head and "● high" in head
    assert any("reward = rk.load_reward('mine.py:anywhere')" in line for line in lines)
    assert any(line.strip().startswith("shown by: reward(") for line in lines)
    assert any(line.strip().startswith("next: ") for line in lines)


def test_json_has_the_fields_of_the_design(folder):
    got = record(run("mine.py:anywhere", "log.jsonl", "--json"))
    assert got["findings"] and got["inconclusive"] == [] and got["stale"] == []
    asked = {"code", "severity", "component", "evidence", "n", "threshold", "rollout_ids"}
    for item in got["findings"]:
        assert asked <= set(item)
        assert item["severity"] in ("high", "warn", "info")
    assert got["calls"] > 100 and got["subjects"] > 0


def test_what_the_users_code_prints_while_it_is_probed_is_shown_nowhere(folder, capfd):
    loud = "loud = rk.Reward('loud', prediction, [rk.Component('anywhere', anywhere)])"
    locked = "import threading\ndef made(lock): return lambda completion: print('judging', lock)"
    here = "here = rk.Reward('here', prediction, [rk.Component('here', made(threading.Lock()))])"
    (folder / "loud.py").write_text("\n".join([REWARDS, "print('read')", loud, locked, here]))
    for reward in ("loud", "here"):  # in a worker process, and in this one
        result = run(f"loud.py:{reward}", "log.jsonl", "--json", "--only", "nothing_there")
        assert record(result)["reward"] == reward
        assert result.stderr == "read\n"
        assert "judging" not in "".join(capfd.readouterr())


def test_what_is_accepted_fails_no_more_and_stays_in_sight(folder):
    arguments = ["mine.py:anywhere", "log.jsonl", "--baseline", "known.json", "--fail-on", "warn"]
    accepted = run(*arguments, "--accept", "the old prompts need it")
    assert accepted.exit_code == 0 and "accepted in known.json" in accepted.stdout
    again = run(*arguments, "--json")
    assert again.exit_code == 0
    alarms = [item for item in record(again)["findings"] if item["severity"] != "info"]
    assert alarms and {item["accepted"] for item in alarms} == {"the old prompts need it"}
    written = json.loads((folder / "known.json").read_text())["accepted"]
    assert len(written) == len(alarms)


def test_what_is_accepted_keeps_its_reason_when_more_is_accepted(folder):
    arguments = ["log.jsonl", "--baseline", "known.json", "--accept"]
    run("mine.py:anywhere", *arguments, "first")
    before = (folder / "known.json").read_text()
    run("mine.py:anywhere", *arguments, "second")
    assert (folder / "known.json").read_text() == before
    run("mine.py:leaking", *arguments, "third")
    reasons = [item["reason"] for item in json.loads((folder / "known.json").read_text())["accepted"]]
    assert set(reasons) == {"first", "third"}


def test_what_is_not_found_any_more_is_told(folder):
    run("mine.py:anywhere", "log.jsonl", "--baseline", "known.json", "--accept", "for now")
    other = run("mine.py:strict", "log.jsonl", "--baseline", "known.json", "--json")
    assert not record(other)["stale"]  # what was accepted is another reward's
    (folder / "mine.py").write_text(REWARDS.replace("anywhere(", "old(") + MENDED)
    result = run("mine.py:anywhere", "log.jsonl", "--baseline", "known.json")
    assert result.exit_code == 0 and "is not found any more" in result.stdout
    assert record(run("mine.py:anywhere", "log.jsonl", "--baseline", "known.json", "--json"))["stale"]


def test_the_cases_that_are_written_miss_for_the_reward_and_hold_for_a_strict_one(folder):
    result = run("mine.py:anywhere", "log.jsonl", "--write-cases", "new.jsonl", "--json")
    assert record(result)["cases_written"] == len(rk.load_cases("new.jsonl")) > 0
    assert rk.check(rk.load_reward("mine.py:anywhere"), "new.jsonl").passed == 0
    assert rk.check(rk.load_reward("mine.py:strict"), "new.jsonl").failed == 0
    before = (folder / "new.jsonl").read_text()
    assert record(run("mine.py:anywhere", "log.jsonl", "--write-cases", "new.jsonl", "--json"))[
        "cases_written"
    ] in (0, 1)
    assert (folder / "new.jsonl").read_text().startswith(before)


def test_a_hang_ends_as_a_finding(folder):
    got = record(run("mine.py:endless", "log.jsonl", "--only", "hang", "--timeout", "0.5", "--json"))
    assert [item["code"] for item in got["findings"]] == ["hang"]


def test_cases_are_probed_too_or_alone(folder):
    alone = record(run("mine.py:strict", "--cases", "cases.jsonl", "--json"))
    assert alone["subjects"] == 1
    both = record(run("mine.py:strict", "log.jsonl", "--cases", "cases.jsonl", "--json"))
    assert both["subjects"] == 5


def test_what_each_kind_of_probe_must_do_is_told():
    assert set(MUST) == set(get_args(Expects))


def test_the_list_names_every_family_and_probe():
    result = run("--list")
    assert result.exit_code == 0
    for name in (*FAMILIES, *(item.name for item in PROBES)):
        assert name in result.stdout
    listed = record(run("--list", "--json"))["families"]
    assert [item["family"] for item in listed] == list(FAMILIES)
    assert sum(len(item["probes"]) for item in listed) == len(PROBES)
    assert all(item["says"] or item["probes"] for item in listed)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param([], "missing argument REWARD", id="nothing"),
        pytest.param(["mine.py:strict"], "missing argument ROLLOUTS, or --cases", id="no rollouts"),
        pytest.param(["logged", "log.jsonl"], "the scores of a log cannot be probed", id="logged"),
        pytest.param(["mine.py:none", "log.jsonl"], "none", id="no such reward"),
        pytest.param(["mine.py:strict", "no.jsonl"], "there is no file 'no.jsonl'", id="no such file"),
        pytest.param(
            ["mine.py:strict", "log.jsonl", "--only", "shotgan"], "did you mean 'shotgun'", id="only"
        ),
        pytest.param(
            ["mine.py:strict", "log.jsonl", "--label", "is_rigth"], "did you mean 'is_right'", id="label"
        ),
        pytest.param(["mine.py:strict", "log.jsonl", "--timeout", "0"], "--timeout", id="no time"),
        pytest.param(["mine.py:strict", "log.jsonl", "--leakage", "2"], "--leakage", id="leakage"),
        pytest.param(["mine.py:strict", "log.jsonl", "--accept", "x"], "--baseline FILE", id="accept where"),
        pytest.param(
            ["mine.py:strict", "log.jsonl", "--baseline", "b.json"],
            "there is no baseline file",
            id="baseline",
        ),
        pytest.param(
            ["mine.py:strict", "log.jsonl", "--baseline", "log.jsonl"], "is no JSON", id="another file"
        ),
        pytest.param(
            ["mine.py:strict", "log.jsonl", "--baseline", "b.json", "--accept", " "],
            "does not say why",
            id="no reason",
        ),
        pytest.param(["mine.py:strict", "log.jsonl", "--cases", "no.jsonl"], "no case file", id="cases"),
    ],
)
def test_input_that_cannot_be_used_is_one_line_and_exit_2(folder, arguments, sentence):
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("rewardkit: ") and sentence in line


def test_hostile_completions_can_be_printed_and_sent_as_json(folder):
    hostile = "\x1b[2J\u202e<script>\ud800\u200b"
    rows = [
        {"prompt": f"{hostile}{n}", "completion": f"{hostile}<answer>{n}</answer>", "ground_truth": str(n)}
        for n in (42, 17, 83)
    ]
    (folder / "hostile.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = run("mine.py:anywhere", "hostile.jsonl")
    assert result.exit_code == 0, result.stderr
    result.stdout.encode("utf-8")
    assert not {"\x1b", "\u202e", "\u200b"} & set(result.stdout)
    assert record(run("mine.py:anywhere", "hostile.jsonl", "--json"))["findings"]
