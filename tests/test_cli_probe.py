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


def record(*arguments):
    """The one JSON object on stdout."""
    stdout = run(*arguments, "--json").stdout
    return json.loads(stdout, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


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


def test_the_text_is_one_page_and_verbose_says_how_to_see_it_again(folder):
    short, whole = (run("mine.py:anywhere", "log.jsonl", *more).stdout for more in ([], ["--verbose"]))
    for text in (short, whole):
        (head,) = [line for line in text.splitlines() if line.startswith("anywhere is not ready: ")]
        assert "hole" in head and "high" in head and "       fix: " in text
    assert len(short.splitlines()) <= 25 and "--verbose" in short and "shown by" not in short
    assert "reward = rk.load_reward('mine.py:anywhere')" in whole and "shown by: reward(" in whole


def test_json_has_the_fields_of_the_design(folder):
    got = record("mine.py:anywhere", "log.jsonl")
    assert {"reward", "findings", "inconclusive", "untried", "probes", "subjects", "calls"} <= set(got)
    assert got["findings"] and got["inconclusive"] == [] and got["stale"] == []
    asked = {
        "code",
        "severity",
        "component",
        "sentence",
        "evidence",
        "n",
        "threshold",
        "rollout_ids",
        "cases",
    }
    assert all(
        asked <= set(item) and item["severity"] in ("high", "warn", "info") for item in got["findings"]
    )
    assert got["calls"] > 100 and got["subjects"] > 0


def test_what_the_users_code_prints_while_it_is_probed_is_shown_nowhere(folder, capfd):
    loud = "loud = rk.Reward('loud', prediction, [rk.Component('anywhere', anywhere)])"
    locked = "import threading\ndef made(lock): return lambda completion: print('judging', lock)"
    here = "here = rk.Reward('here', prediction, [rk.Component('here', made(threading.Lock()))])"
    (folder / "loud.py").write_text("\n".join([REWARDS, "print('read')", loud, locked, here]))
    for reward in ("loud", "here"):  # in a worker process, and in this one
        result = run(f"loud.py:{reward}", "log.jsonl", "--json", "--only", "nothing_there")
        assert json.loads(result.stdout)["reward"] == reward and result.stderr == "read\n"
        assert "judging" not in "".join(capfd.readouterr())


def test_what_is_accepted_fails_no_more_keeps_its_reason_and_is_told_when_it_is_gone(folder):
    arguments = ["mine.py:anywhere", "log.jsonl", "--baseline", "known.json", "--fail-on", "warn"]
    first = run(*arguments, "--accept", "the old prompts need it")
    assert first.exit_code == 0 and "accepted in known.json" in first.stdout
    assert run(*arguments, "--accept", "second").exit_code == 0  # nothing is left to accept
    alarms = [item for item in record(*arguments)["findings"] if item["severity"] != "info"]
    assert alarms and {item["accepted"] for item in alarms} == {"the old prompts need it"}
    assert len(json.loads((folder / "known.json").read_text())["accepted"]) == len(alarms)
    assert not record("mine.py:strict", *arguments[1:])["stale"]  # what was accepted is another reward's
    (folder / "mine.py").write_text(REWARDS.replace("anywhere(", "old(") + MENDED)
    assert "is not found any more" in run(*arguments).stdout
    assert record(*arguments)["stale"]


def test_the_cases_that_are_written_miss_for_the_reward_and_hold_for_a_strict_one(folder):
    writing = ["mine.py:anywhere", "log.jsonl", "--write-cases", "new.jsonl"]
    assert record(*writing)["cases_written"] == len(rk.load_cases("new.jsonl")) > 0
    assert rk.check(rk.load_reward("mine.py:anywhere"), "new.jsonl").passed == 0
    assert rk.check(rk.load_reward("mine.py:strict"), "new.jsonl").failed == 0
    before = (folder / "new.jsonl").read_text()
    assert record(*writing)["cases_written"] in (0, 1)
    assert (folder / "new.jsonl").read_text().startswith(before)


def test_a_finding_without_a_case_to_write_is_told_beside_the_cases(folder):
    told = run(
        "mine.py:endless", "log.jsonl", "--only", "hang", "--timeout", "0.5", "--write-cases", "new.jsonl"
    )
    assert "0 cases added to new.jsonl; none for 1 finding (hang), as nothing says which rew" in told.stdout


def test_a_hang_ends_as_a_finding(folder):
    got = record("mine.py:endless", "log.jsonl", "--only", "hang", "--timeout", "0.5")
    assert [item["code"] for item in got["findings"]] == ["hang"]


def test_cases_are_probed_too_or_alone(folder):
    assert record("mine.py:strict", "--cases", "cases.jsonl")["subjects"] == 1
    assert record("mine.py:strict", "log.jsonl", "--cases", "cases.jsonl")["subjects"] == 5


def test_the_list_names_every_family_and_probe_and_what_it_must_do():
    assert set(MUST) == set(get_args(Expects))
    result = run("--list")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in (*FAMILIES, *(item.name for item in PROBES)))
    listed = record("--list")["families"]
    assert [item["family"] for item in listed] == list(FAMILIES)
    assert sum(len(item["probes"]) for item in listed) == len(PROBES)
    assert all(item["says"] or item["probes"] for item in listed)


GOOD = ["mine.py:strict", "log.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "missing argument REWARD"),
        (["mine.py:strict"], "missing argument ROLLOUTS, or --cases"),
        (["logged", "log.jsonl"], "the scores of a log cannot be probed"),
        (["mine.py:none", "log.jsonl"], "none"),
        (["mine.py:strict", "no.jsonl"], "there is no file 'no.jsonl'"),
        ([*GOOD, "--only", "shotgan"], "did you mean 'shotgun'"),
        ([*GOOD, "--label", "is_rigth"], "did you mean 'is_right'"),
        ([*GOOD, "--timeout", "0"], "--timeout"),
        ([*GOOD, "--leakage", "2"], "--leakage"),
        ([*GOOD, "--accept", "x"], "--baseline FILE"),
        ([*GOOD, "--baseline", "b.json"], "there is no baseline file"),
        ([*GOOD, "--baseline", "log.jsonl"], "is no JSON"),
        ([*GOOD, "--baseline", "b.json", "--accept", " "], "does not say why"),
        ([*GOOD, "--cases", "no.jsonl"], "no case file"),
    ],
)
def test_input_that_cannot_be_used_is_one_line_and_exit_2(folder, arguments, sentence):
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("rewardkit: ") and sentence in line
