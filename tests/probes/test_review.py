"""review(): cases, probes and the last kept run in one answer, as CI asks for it."""

import shutil

import pytest
from commands import record, refused, run

import rewardkit as rk
from rewardkit.errors import InputError
from rewardkit.history.baseline import accept

pytestmark = pytest.mark.integration

LOG = "gallery:arithmetic"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of runs with the sound reward of the gallery, under the name of the flawed one."""
    place = tmp_path_factory.mktemp("review")
    (place / "sound.py").write_text(
        "from dataclasses import replace\nfrom rewardkit.gallery import arithmetic\n"
        "reward = replace(arithmetic.reward, name='arithmetic-flawed')\n"
    )
    sound = rk.load_reward(f"{place / 'sound.py'}:reward")
    rk.keep(rk.score(sound, LOG), folder=place / "runs", note="sound")
    return place


@pytest.fixture(scope="module")
def flawed(folder):
    return rk.review(
        rk.load_reward("gallery:arithmetic.flawed"), LOG, folder=folder / "runs"
    )


def test_a_reward_that_holds_and_is_the_only_one_kept_passes(folder):
    sound = rk.load_reward(f"{folder / 'sound.py'}:reward")
    told = rk.review(sound, LOG, cases=LOG, folder=folder / "runs")
    assert told.passed and told.problems == []
    assert told.why_not_compared.endswith("are of this definition")
    assert "passes" in str(told) and "Cases: 88 of 88 pass" in str(told)


def test_a_reward_that_is_kept_already_is_compared_with_the_definition_before_it(
    folder, tmp_path
):
    shutil.copytree(folder / "runs", tmp_path / "runs")
    flawed = rk.load_reward("gallery:arithmetic.flawed")
    rk.keep(rk.score(flawed, LOG), folder=tmp_path / "runs")
    told = rk.review(flawed, LOG, folder=tmp_path / "runs", budget=1)
    assert told.why_not_compared == "" and told.compared.names == ["v1", "this one"]
    assert any(problem.startswith("worse than v1") for problem in told.problems)
    sound = rk.load_reward(f"{folder / 'sound.py'}:reward")
    told = rk.review(sound, LOG, folder=tmp_path / "runs", budget=1)
    assert told.passed and told.compared.names == ["v2", "this one"]


def test_what_is_found_and_what_got_worse_is_a_problem(flawed):
    assert not flawed.passed
    alarms, worse = flawed.problems
    assert alarms == "2 alarms of the probes"
    assert worse.startswith(
        "worse than v1: a rehearsed training ends at 0.04 of the task, not 0.82"
    )
    text = flawed._repr_markdown_()
    assert "does not pass" in text and "Padding pays" in text
    assert "| figure | v1 | this one |" in text


def test_what_is_accepted_is_no_problem_and_a_missed_case_is(flawed, tmp_path):
    path = tmp_path / "accepted.json"
    reward = rk.load_reward("gallery:arithmetic.flawed")
    accept(path, flawed.probed.alarms, "as agreed", reward=reward.name)
    case = {"completion": "4", "ground_truth": "4", "reward": 9.0}
    undecided = {**case, "name": "other", "why": "TODO: decide"}
    told = rk.review(reward, LOG, cases=[case, undecided], baseline=path, against=None)
    assert told.problems == ["1 case missed"]
    assert "Cases: 0 of 1 pass; 1 undecided" in str(told)
    assert "Not compared: that was not asked for" in str(told)


def test_the_command_fails_with_what_is_wrong_and_writes_a_comment(folder, monkeypatch):
    monkeypatch.chdir(folder)
    line = f"review gallery:arithmetic.flawed {LOG} --comment comment.md"
    done = run(line)
    assert done.exit_code == 1 and "does not pass" in done.stdout
    assert "worse than v1" in (folder / "comment.md").read_text()
    told = record(f"review sound.py {LOG} --against none")
    assert told["passed"] and told["problems"] == []
    refused(f"review sound.py {LOG} --against v7", "there is no run 'v7'")
    refused(f"review sound.py {LOG} --fail-on never", "--fail-on")


def test_the_label_of_the_run_before_holds_where_the_log_has_it(tmp_path):
    rows = [
        {"prompt": f"{n}?", "completion": text, "truth": str(n), "good": text == str(n)}
        for n in range(12)
        for text in (str(n), "none", f"{n} or 99", "")
    ]
    exact = rk.Component("paid", lambda completion, truth: float(completion == truth))
    loose = rk.Component("paid", lambda completion, truth: float(truth in completion))
    before, now = (rk.Reward("r", components=[item]) for item in (exact, loose))
    scores = rk.score(before, rows)
    rk.keep(scores, folder=tmp_path, figures={"label": "good"})
    told = rk.review(now, rows, folder=tmp_path, timeout=None)
    (pair,) = told.compared.pairs
    assert pair.sides[0].diagnosis.views[0].context.label_name == "good"
    assert pair.verdict == "worse"
    plain = [{key: row[key] for key in row if key != "good"} for row in rows]
    other = rk.review(now, plain, folder=tmp_path, timeout=None)
    assert other.compared.sides[0].diagnosis.views[0].context.label is None


def test_a_severity_that_is_none_is_refused():
    with pytest.raises(InputError, match="fail_on='info' is none of 'high', 'warn'"):
        rk.review(rk.load_reward("gallery:arithmetic"), LOG, fail_on="info")
