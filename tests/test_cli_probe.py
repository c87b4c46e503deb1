"""`rewardkit probe`: exit status, JSON, baseline, cases, and one line for input that cannot be used."""

import json
from typing import get_args

import pytest
from commands import record, refused, run, write_rows

import rewardkit as rk
from rewardkit.cli.check import EXPECTATIONS
from rewardkit.probes.options import FAMILIES
from rewardkit.strategies import STRATEGIES
from rewardkit.strategies.strategy import Expects

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("short_rehearsals")]

REWARDS = '''
import threading
import rewardkit as rk

def anywhere(completion, ground_truth):
    """Pays the truth wherever it stands."""
    print("judging", completion)
    return float(ground_truth in completion)

def locked(lock):
    return lambda completion, ground_truth: lock and anywhere(completion, ground_truth)

prediction = {"prediction": rk.extract.tag("answer")}
correct = rk.Component("correct", rk.verify.numbers_equal)
strict = rk.Reward("strict", prediction, [correct])
here = rk.Reward("here", prediction, [rk.Component("here", locked(threading.Lock()))])

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
        {"prompt": f"What is {answer - 1} and 1?", "completion": f"<answer>{text}</answer>",
         "ground_truth": str(answer), "is_right": text != "1"}
        for answer in (42, 17, 83, 210)
        for text in (str(answer), "1")
    ]  # fmt: skip
    write_rows(tmp_path / "log.jsonl", rows)
    case = {
        "completion": "<answer>5</answer>",
        "ground_truth": "5",
        "reward": 1.0,
        "name": "half \ud83d",
    }
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    return tmp_path


PROBE = "probe mine.py:{} log.jsonl --only shotgun"
FAULTY, STRICT = PROBE.format("anywhere"), PROBE.format("strict")


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        (f"{STRICT} --fail-on warn", 0, ""),
        (FAULTY, 0, ""),
        (f"{FAULTY} --fail-on high", 1, ""),
        (f"{STRICT} --budget 1e-9", 0, ""),
        (
            f"{STRICT} --budget 1e-9 --fail-on high",
            1,
            "no prompt could be probed, so nothing says that the",
        ),
    ],
)
def test_the_exit_status_is_1_only_where_a_finding_was_to_fail_or_nothing_was_probed(
    folder, line, status, said
):
    done = run(line)
    assert done.exit_code == status and said in done.stderr


def test_one_whole_run_is_a_page_a_record_and_cases_that_hold_for_a_strict_reward(
    folder,
):
    got = record("probe mine.py:anywhere log.jsonl --write-cases new.jsonl")
    assert got["findings"] and got["inconclusive"] == [] and got["stale"] == []
    assert got["calls"] > 100 and got["subjects"] == 4
    assert got["cases_written"] == len(rk.load_cases("new.jsonl")) > 0
    assert rk.check(rk.load_reward("mine.py:anywhere"), "new.jsonl").passed == 0
    assert rk.check(rk.load_reward("mine.py:strict"), "new.jsonl").failed == 0
    before = (folder / "new.jsonl").read_text()
    short, whole = (
        run(f"{FAULTY} --write-cases new.jsonl {more}").stdout
        for more in ("", "--verbose")
    )
    assert (folder / "new.jsonl").read_text().startswith(before)
    assert (
        len(short.splitlines()) <= 25
        and "--verbose" in short
        and "reward(completion=" not in short
    )
    assert (
        "reward = rk.load_reward('mine.py:anywhere')" in whole
        and "  reward(completion=" in whole
    )


@pytest.mark.parametrize(
    "reward", ["anywhere", "here"]
)  # in a worker process, and in this one
def test_what_the_users_code_prints_while_it_is_probed_is_shown_nowhere(
    folder, capfd, reward
):
    (folder / "mine.py").write_text(f'print("read"){REWARDS}')
    result = run(f"probe mine.py:{reward} log.jsonl --json --only empty")
    assert json.loads(result.stdout)["reward"] == reward and result.stderr == "read\n"
    assert "judging" not in "".join(capfd.readouterr())


def test_cases_are_probed_too_or_alone_and_those_that_a_probe_wrote_are_no_places_and_written_once(
    folder,
):
    assert (
        record("probe mine.py:strict --cases cases.jsonl --only shotgun")["subjects"]
        == 1
    )
    both = f"{FAULTY} --cases cases.jsonl --write-cases cases.jsonl"
    first, again = (record(both) for _ in range(2))
    assert (
        first["cases_written"] > 0 == again["cases_written"] and again["subjects"] == 5
    )
    (folder / "cases.jsonl").write_text(
        (folder / "cases.jsonl").read_text().partition("\n")[2]
    )
    assert (
        "a probe wrote all of these cases"
        in run("probe mine.py:strict --cases cases.jsonl").stderr
    )


def test_what_is_accepted_fails_no_more_keeps_its_reason_and_is_told_when_it_is_gone(
    folder,
):
    line = f"{FAULTY} --baseline known.json --fail-on warn"
    first = run(f"{line} --accept 'the old prompts need it'")
    assert first.exit_code == 0 and "accepted in known.json" in first.stdout
    alarms = [item for item in record(line)["findings"] if item["severity"] != "info"]
    assert alarms and {item["accepted"] for item in alarms} == {
        "the old prompts need it"
    }
    (folder / "mine.py").write_text(REWARDS.replace("anywhere(", "old(") + MENDED)
    assert record(line.replace("--only shotgun", ""))[
        "stale"
    ]  # which a part of the probes cannot tell


def test_the_findings_to_accept_can_be_named_and_those_of_a_run_are_counted_too(folder):
    log, line = "gallery:brevity", "--baseline known.json --accept 'as agreed'"
    by_step = {item["code"]: item for item in record(f"monitor {log}")["findings"]}
    at_once = record(f"diagnose {log}")["findings"]
    names = [(item["code"], item["component"]) for item in at_once]
    assert ("dominant", "exact") in names and "task_falls" in by_step

    def accepted():
        entries = json.loads((folder / "known.json").read_text())["accepted"]
        return {item["finding"] for item in entries}

    named = "--finding dominant:exact --finding task_falls"
    assert record(f"diagnose {log} {line} {named}")["accepted"] == 2
    assert accepted() == {"dominant/exact", "task_falls"}
    left = record(f"diagnose {log} --baseline known.json")
    told = [*left["findings"], *left["monitor"]["findings"]]
    marked = {item["code"] for item in told if item.get("accepted")}
    assert marked == {"dominant", "task_falls"}
    for wrong in ("dominant:short", "dominance"):
        refused(f"diagnose {log} {line} --finding {wrong}", f"--finding {wrong}: no al")
    refused(f"diagnose {log} --finding dominant", "--finding is for --accept")
    renewed = "--accept 'for a month' --until 2099-01-31 --finding dominant"
    again = record(f"diagnose {log} --baseline known.json {renewed}")
    assert again["accepted"] == 1
    reasons = {item["code"]: item["accepted"] for item in again["findings"]}
    assert reasons["dominant"] == "for a month"
    entries = json.loads((folder / "known.json").read_text())["accepted"]
    days = {item["finding"]: item.get("until") for item in entries}
    assert days == {"dominant/exact": "2099-01-31", "task_falls": None}
    text = run(f"diagnose {log} {line}").stdout
    alarms = {item["code"] for item in told if item["severity"] != "info"}
    assert alarms == {key.partition("/")[0] for key in accepted()}
    assert f"{len(accepted()) - 2} findings accepted in known.json" in text


def test_a_hang_ends_as_a_finding_which_has_no_case_to_write(folder):
    told = run(
        "probe mine.py:endless log.jsonl --only hang --timeout 0.5 --write-cases new.jsonl"
    )
    assert (
        "0 cases added to new.jsonl; none for 1 finding (hang), as nothing says which rew"
        in told.stdout
    )


def test_the_list_names_every_family_and_probe_and_what_it_must_do():
    assert set(EXPECTATIONS) == set(get_args(Expects))
    shown = run("probe --list").stdout
    assert all(
        name in shown for name in (*FAMILIES, *(item.name for item in STRATEGIES))
    )
    listed = record("probe --list")["families"]
    assert [item["family"] for item in listed] == list(FAMILIES)
    assert sum(len(item["probes"]) for item in listed) == len(STRATEGIES)


GOOD = "mine.py:strict log.jsonl"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "missing argument REWARD"),
        ("mine.py:strict", "missing argument ROLLOUTS, or --cases"),
        ("logged log.jsonl", "the scores of a log cannot be probed"),
        (f"{GOOD} --only shotgan", "did you mean 'shotgun'"),
        (f"{GOOD} --timeout 0", "--timeout"),
        (f"{GOOD} --leakage 2", "--leakage"),
        (f"{GOOD} --accept x", "--baseline FILE"),
        (f"{GOOD} --baseline b.json --until 2027-01-31", "--until is for --accept"),
        (
            f"{GOOD} --baseline b.json --accept x --until May",
            "'May' is no day; write it as in 2027-01-31",
        ),
        (f"{GOOD} --baseline log.jsonl", "is no JSON"),
        (
            f"{GOOD} --baseline b.json --accept '' --until 2099-01-31",
            "reason='' does not say why a finding is accepted",
        ),
    ],
)
def test_input_that_cannot_be_used_is_one_line_and_exit_2(folder, arguments, sentence):
    refused(f"probe {arguments}", sentence)
