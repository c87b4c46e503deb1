"""Scores that stand in a log: as a reward of their own, against a reward that is given, and in reports."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.notebook.report import report
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rollouts.logs.log import Logged

_spec = importlib.util.spec_from_file_location("trainer_logs", Path(__file__).with_name("trainer_logs.py"))
made = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)

MINE = """
import rewardkit as rk

def acc(prediction, ground_truth):
    return None if ground_truth is None else prediction == ground_truth

reward = rk.Reward("mine", {"prediction": rk.extract.tag("answer")}, [rk.Component("acc", acc)])
faulty = rk.Reward("faulty", {"prediction": rk.extract.tag("answer")}, [
    rk.Component("acc", lambda prediction: prediction == "4"),
])
"""


def equal(prediction, ground_truth):
    return None if ground_truth is None else prediction == ground_truth


def mine(function=equal, name="acc", **options):
    return rk.Reward(
        "mine", {"prediction": rk.extract.tag("answer")}, [rk.Component(name, function)], **options
    )


def dump(steps=20):
    return [row for step in range(1, steps + 1) for row in made.verl_rows(step)]


def codes(diagnosis):
    return [finding.code for finding in diagnosis.findings]


# recorded()


def test_the_scores_of_a_trl_log_are_components_of_weight_one_and_a_missing_one_is_not_judged():
    rollouts = rk.load_rollouts(made.trl_rows())
    reward = rk.recorded(rollouts)
    assert reward.weights == {"right": 1.0, "brief": 1.0, "n_chars": 0.0}
    assert all(item.range is None for item in reward.components)
    scores = rk.score(reward, rollouts)
    assert scores.table["status/brief"].tolist() == ["abstained", "scored"] * 2
    assert scores.table["score/brief"].isna().tolist() == [True, False] * 2
    assert scores.rewards == pytest.approx([0.0, 0.7, 0.0, 0.7])  # as TRL adds them: nansum


def test_a_row_that_no_function_judged_has_no_reward():
    rows = [
        {**row, "right": None, "brief": None} if at == 0 else row for at, row in enumerate(made.trl_rows())
    ]
    rollouts = rk.load_rollouts(rows)
    assert np.isnan(rk.score(rk.recorded(rollouts), rollouts).rewards).tolist() == [True, False, False, False]


def test_of_a_verl_dump_the_score_is_paid_and_the_rest_recorded():
    rollouts = rk.load_rollouts(made.verl_rows())
    reward = rk.recorded(rollouts)
    assert reward.weights == {"score": 1.0, "acc": 0.0}
    assert rk.score(reward, rollouts).rewards.tolist() == [1.0, 0.0, 0.0, 1.0]


def test_weights_are_given_and_make_components_of_other_numbers():
    rollouts = rk.load_rollouts(
        [{"prompt": "p", "completion": text, "level": 3, "tag": "x"} for text in "ab"]
    )
    assert rk.recorded(rollouts, {"level": 2.0}).weights == {"logged_level": 2.0}
    log = rk.load_rollouts(made.trl_rows())
    assert rk.recorded(log, {"brief": -1.0, "advantage": 0.5}).weights == {
        "right": 1.0, "brief": -1.0, "n_chars": 0.0, "logged_advantage": 0.5
    }  # fmt: skip


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        pytest.param(
            None, "holds no scores of a trainer; its columns of numbers are ['level']", id="no scores"
        ),
        pytest.param({"levl": 1.0}, "did you mean 'level'?", id="misspelt"),
        pytest.param({"tag": 1.0}, "weights= names 'tag'", id="text"),
    ],
)
def test_scores_that_are_not_there_are_one_sentence(weights, said):
    rollouts = rk.load_rollouts([{"prompt": "p", "completion": "c", "level": 3, "tag": "x"}])
    with pytest.raises(rk.RewardError) as raised:
        rk.recorded(rollouts, weights)
    assert said in str(raised.value)


def test_a_score_that_is_not_finite_is_an_error_and_no_score():
    rollouts = rk.load_rollouts([{**row, "score": float("inf")} for row in made.verl_rows()])
    assert rk.score(rk.recorded(rollouts), rollouts).counts["score"]["error"] == 4


def test_names_that_no_component_can_have_are_made_into_some_that_differ():
    logged = rk.load_rollouts([{**made.verl_rows()[0], "a b": 1.0, "a-b": 2.0, "1st": 3.0}]).logged
    assert logged.components == {
        "score": "logged/score", "acc": "logged/acc", "a_b": "logged/a b", "a_b_2": "logged/a-b",
        "score_1st": "logged/1st",
    }  # fmt: skip


def test_a_log_alone_is_diagnosed_suggested_on_and_saved(tmp_path):
    rollouts = rk.load_rollouts(dump())
    scores = rk.score(rk.recorded(rollouts), rollouts, timeout=5)
    diagnosis = rk.diagnose(scores)
    assert "log_mismatch" not in codes(diagnosis)
    rk.suggest(diagnosis)
    again = rk.load_scores(scores.save(tmp_path / "run"))
    assert (again.rollouts.kind, again.rollouts.logged) == (rollouts.kind, rollouts.logged)
    assert is_recorded(again.reward) and is_recorded(scores.reward) and not is_recorded(mine())
    assert "log_mismatch" not in codes(rk.diagnose(again.reweigh({"score": 3.0})))
    assert repr(rk.explain(scores.reward, rollouts[0]).result.reward) == "1.0"


def test_the_record_of_a_log_is_made_again_from_plain_data():
    logged = rk.load_rollouts(made.verl_rows()).logged
    assert Logged(**json.loads(json.dumps(logged.record()))) == logged


# log_mismatch


@pytest.fixture
def joined():
    return rk.load_rollouts(dump(), join=made.training_rows())


def test_a_reward_that_gives_what_the_log_has_is_silent(joined):
    assert {"log_mismatch", "log_not_compared"}.isdisjoint(codes(rk.diagnose(rk.score(mine(), joined))))


def test_a_reward_that_gives_something_else_is_the_first_finding_with_rows_and_numbers(joined):
    faulty = mine(lambda prediction, ground_truth: prediction == ground_truth and ground_truth == "4")
    scores = rk.score(faulty, joined)
    diagnosis = rk.diagnose(scores)
    total, component = diagnosis.findings[:2]
    assert (total.code, total.component, total.severity) == ("log_mismatch", None, "high")
    assert (component.code, component.component) == ("log_mismatch", "acc")
    assert total.evidence["rows"] == 20 and total.evidence["compared"] == 80
    assert total.evidence["largest"] == 1.0 and total.evidence["column"] == "logged/score"
    wrong = set(scores.table.loc[scores.table["logged/score"] != scores.table["reward"], "rollout_id"])
    assert len(total.rollout_ids) == 5 and set(total.rollout_ids) <= wrong
    assert total.sentence.startswith(
        "The reward is not the one in the log (logged/score) in 20 of 80 rows (25 %), by up to 1: mean 0.25 "
        "here, 0.5 in the log"
    )
    assert "log_mismatch" in repr(diagnosis).splitlines()[1]
    assert json.dumps(total.record())


def test_it_comes_first_where_few_rows_differ_and_others_are_more_severe(joined):
    table = joined.table.copy()
    table.loc[0, "logged/score"] = 0.25
    changed = rk.load_rollouts(pd.concat([table] * 4).drop(columns="rollout_id"))
    parts = [*mine().components, rk.Component("none", lambda completion: 1 / 0)]
    everywhere = rk.Reward("r", mine().fields, parts, on_missing="skip")
    diagnosis = rk.diagnose(rk.score(everywhere, changed))
    assert [item.severity for item in diagnosis.findings][:2] == ["high", "high"]
    assert codes(diagnosis)[0] == "log_mismatch"


def test_float32_is_no_difference(joined):
    weighted = mine(lambda prediction, ground_truth: 0.1 if prediction == ground_truth else 0.7)
    rows = [{**row, "score": made.float32(0.1 if row["score"] else 0.7), "acc": None} for row in dump()]
    rollouts = rk.load_rollouts(rows, join=made.training_rows())
    assert "log_mismatch" not in codes(rk.diagnose(rk.score(weighted, rollouts)))


def test_a_difference_beyond_float32_is_one():
    rollouts = rk.load_rollouts(
        [{**row, "score": row["score"] + 2e-5} for row in dump()], join=made.training_rows()
    )
    (finding,) = rk.diagnose(rk.score(mine(), rollouts))["log_mismatch"]
    assert finding.component is None and finding.evidence["rows"] == 80
    assert finding.evidence["largest"] == pytest.approx(2e-5)


def test_rows_without_a_reward_where_the_log_has_one_are_said():
    rollouts = rk.load_rollouts(dump(), join=made.training_rows(("2+2?",)))
    finding = rk.diagnose(rk.score(mine(), rollouts))["log_mismatch"][0]
    assert (finding.evidence["rows"], finding.evidence["missing"]) == (0, 40)
    assert "is missing in 40 rows where the log has one" in finding.sentence
    missing = set(rollouts.table.loc[rollouts.table["ground_truth"].isna(), "rollout_id"])
    assert set(finding.rollout_ids) <= missing


def test_rows_that_only_the_reward_judges_are_no_difference():
    rows = [{**row, "score": None, "acc": None} if at % 2 else row for at, row in enumerate(dump())]
    rollouts = rk.load_rollouts(rows, join=made.training_rows())
    assert "log_mismatch" not in codes(rk.diagnose(rk.score(mine(), rollouts)))


def test_the_raw_reward_is_held_against_the_log_and_not_the_transformed_one(joined):
    scores = rk.score(mine(transform=rk.weigh.standardise()), joined)
    assert scores.rewards.tolist() != scores.table["reward_raw"].tolist()
    assert "log_mismatch" not in codes(rk.diagnose(scores))


def test_a_log_of_several_functions_without_a_total_is_compared_by_name():
    rows = [row for step in range(20) for row in made.trl_rows(step)]
    rollouts = rk.load_rollouts(rows)
    right = rk.Reward("r", components=[rk.Component("right", lambda completion: 0.2 * (completion == "10"))])
    assert "log_mismatch" not in codes(rk.diagnose(rk.score(right, rollouts)))
    wrong = rk.Reward("r", components=[rk.Component("right", lambda completion: 0.3 * (completion == "10"))])
    (finding,) = rk.diagnose(rk.score(wrong, rollouts))["log_mismatch"]
    assert finding.component == "right" and finding.evidence["largest"] == pytest.approx(0.1)
    other = rk.Reward("r", components=[rk.Component("mine", lambda completion: float(len(completion) > 1))])
    (finding,) = rk.diagnose(rk.score(other, rollouts))["log_not_compared"]
    assert "'right', 'brief', 'n_chars'" in finding.sentence and finding.severity == "info"


def test_rollouts_that_are_no_log_have_nothing_to_compare():
    rollouts = rk.load_rollouts([{"prompt": f"p{at // 4}", "completion": "a" * (at % 4)} for at in range(80)])
    reward = rk.Reward("r", components=[rk.Component("size", lambda completion: len(completion) / 4)])
    assert not {"log_mismatch", "log_not_compared"} & set(codes(rk.diagnose(rk.score(reward, rollouts))))


def test_a_saved_run_knows_what_the_log_said(joined, tmp_path):
    faulty = mine(lambda prediction, ground_truth: False)
    scores = rk.load_scores(rk.score(faulty, joined).save(tmp_path / "run"))
    assert codes(rk.diagnose(scores))[0] == "log_mismatch"


# the command line and reports


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a verl dump, its training set, a TRL folder and rewards."""
    monkeypatch.chdir(tmp_path)
    for step in range(1, 21):
        made.write_jsonl(tmp_path / f"dump/{step}.jsonl", made.verl_rows(step))
    made.write_trl(
        tmp_path / "trl", *(made.trl_rows(step, prompts=(f"{step}+0?", "5+5?")) for step in range(1, 21))
    )
    pd.DataFrame(made.training_rows()).to_parquet(tmp_path / "train.parquet")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_score_joins_and_sets_and_diagnose_says_first_what_the_log_contradicts(folder):
    options = ["--join", "train.parquet", "--on", "prompt", "--set", "run=7"]
    result = run("score", "mine.py:faulty", "dump", *options, "-o", "run", "--timeout", 0)
    assert result.exit_code == 0, result.stderr
    assert "verl rollout dump" in result.stdout and "80 of 80 rows matched" in result.stdout
    assert pd.read_parquet(folder / "run/scores.parquet")["run"].tolist() == [7] * 80
    told = json.loads(run("diagnose", "run", "--json").stdout)
    assert told["findings"][0]["code"] == "log_mismatch" and told["findings"][0]["evidence"]["rows"] == 40
    again = run("score", "mine.py:reward", "dump", *options, "-o", "run2", "--timeout", 0)
    assert again.exit_code == 0
    assert "log_mismatch" not in run("diagnose", "run2").stdout


@pytest.mark.parametrize(
    "log", ["dump", "trl", "trl/completions", "trl/completions/completions_00002.parquet"]
)
def test_diagnose_takes_a_log_alone(folder, log):
    result = run("diagnose", log)
    assert result.exit_code == 0, result.stderr
    assert "diagnosis of 'logged'" in result.stdout
    told = json.loads(run("diagnose", log, "--json").stdout)
    assert told["rollouts"]["kind"] in ("verl rollout dump", "TRL completions")


def test_diagnose_of_a_log_takes_weights_and_the_options_for_reading(folder):
    told = json.loads(
        run("diagnose", "dump", "--join", "train.parquet", "--set", "data_source=x", "--json").stdout
    )
    assert told["rollouts"]["group_key"] == ["prompt", "step", "data_source"]
    paid = run(
        "diagnose", "trl", "--log-weight", "right=0", "--log-weight", "brief=0", "--log-weight", "n_chars=1"
    )
    assert "diagnosis of 'logged'" in paid.stdout and "n_chars" in paid.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("diagnose", "dump", "--log-weight", "scor=1"), "did you mean 'score'?"),
        (("diagnose", "dump", "--log-weight", "score=high"), "score='high' is not a number"),
        (("diagnose", "dump", "--on", "uid"), "give --join too"),
        (("diagnose", "train.parquet"), "it has no completions"),
        (("diagnose", "nowhere"), "there is no file 'nowhere'"),
        (("score", "mine.py", "dump", "--set", "data_source"), "is not column=value"),
        (("score", "mine.py", "dump", "--join", "nowhere.parquet"), "there is no file 'nowhere.parquet'"),
        (("score", "mine.py", "dump", "--join", "train.parquet", "--on", "uid"), "the join is on 'uid'"),
        (("score", "mine.py", "train.parquet"), "it has no completions"),
        (
            ("report", "--rollouts", "dump", "--cases", "gallery:arithmetic"),
            "cannot be checked against cases",
        ),
        (
            ("report", "--rollouts", "dump", "--reward", "mine.py", "--log-weight", "acc=1"),
            "not among the rewards",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_input_that_cannot_be_used_is_one_line_and_exit_2(folder, arguments, said):
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr and result.stderr.startswith("rewardkit: ")
    assert result.stdout == "" and not (folder / "reports").exists()


def test_reading_options_on_scores_are_refused(folder):
    assert run("score", "logged", "dump", "-o", "run").exit_code == 0
    for options in (("--join", "train.parquet"), ("--log-weight", "score=1"), ("--set", "a=b")):
        result = run("diagnose", "run", *options)
        assert result.exit_code == 2 and "is scored already" in result.stderr


def test_a_log_alone_and_a_reward_against_it_are_a_report(folder):
    weights = {"acc": 1.0, "score": 0.0}
    rewards = ["logged", "mine.py:faulty"]
    made_pages = report(
        rewards, "dump", "pages", join="train.parquet", fill={"run": "a"}, log_weights=weights
    )
    assert made_pages.failed == []
    logged, faulty = made_pages.summaries
    assert logged.name == "logged" and "log_mismatch" not in codes(logged.diagnosis)
    assert codes(faulty.diagnosis)[0] == "log_mismatch"
    page = (folder / "pages/faulty/03_analyze.html").read_text()
    assert page.index("log_mismatch") < page.index("what it means") + 500
    assert page.count("80 of 80 rows matched") == 1
    index = (folder / "pages/index.html").read_text()
    assert "<b>log_mismatch</b>" in index
    for stem in ("01_build", "03_analyze"):
        text = re.sub("<[^>]*>", "", (folder / f"pages/logged/{stem}.html").read_text())
        assert re.search(r"log_weights = \{.*acc.*: 1.0", text)


def test_without_a_reward_the_report_is_of_the_log(folder):
    result = run("report", "--rollouts", "trl", "-o", "pages", "--json")
    assert result.exit_code == 0, result.stderr
    assert list(json.loads(result.stdout)["verdicts"]) == ["logged"]


# Keys of a function's dicts that came after the sample


LATE = """
def f(solution_str, ground_truth, **kwargs):
    found = {"score": float(ground_truth in solution_str), "said": solution_str}
    if solution_str == "late":
        found["length"] = 4.0
    return found
"""


def test_keys_that_the_sample_did_not_have_are_a_finding_and_not_lost_silently(tmp_path):
    (tmp_path / "mine.py").write_text(LATE)
    rows = [{"prompt": str(at // 4), "completion": str(at % 4), "ground_truth": "1"} for at in range(60)]
    clean = rk.load_rollouts(rows)
    rows[33]["completion"] = "late"  # none of the sixteen rows that the function is tried on
    rollouts = rk.load_rollouts(rows)
    reward = rk.load_reward(f"{tmp_path / 'mine.py'}:f", rollouts=rollouts)
    assert reward.names == ("score",)
    scores = rk.score(reward, rollouts)
    (finding,) = rk.diagnose(scores)["unread_keys"]
    assert finding.evidence["keys"] == {"length": 1} and finding.severity == "warn"
    assert finding.rollout_ids == (rollouts[33]["rollout_id"],)
    assert "'length' in 1 of 60 rows" in finding.sentence
    again = rk.load_scores(scores.save(tmp_path / "run"))
    assert rk.diagnose(again)["unread_keys"][0].record() == finding.record()
    assert not rk.diagnose(rk.score(reward, clean))["unread_keys"]
