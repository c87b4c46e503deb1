"""Two ways in, as the README tells them: from a trainer's log and its reward to a report, and back."""

import importlib.util
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.notebook.report.report import NOTEBOOKS

ROWS = list(rk.load_rollouts("gallery:arithmetic").select(range(160)))

VERL = '''
import re


def extract(text):
    found = re.findall(r"<answer>(.*?)</answer>", text)
    return found[-1].strip() if found else None


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """One point for the right answer in its tag."""
    if data_source != "countdown":
        raise NotImplementedError(data_source)
    right = extract(solution_str) == ground_truth
    return {"score": 1.0 if right else 0.0, "tagged": "<answer>" in solution_str}
'''

TRL = '''
def right(completions, solution, **kwargs):
    """The right answer in its tag."""
    return [float(f"<answer>{truth}</answer>" in text) for text, truth in zip(completions, solution)]


def short(completions, **kwargs):
    return [max(0.0, 1 - len(text) / 200) for text in completions]


functions = [right, short]
'''


def score(row):
    found = re.findall(r"<answer>(.*?)</answer>", row["completion"])
    return float(found[-1].strip() == row["ground_truth"]) if found else 0.0


def run(*command, status=0):
    done = CliRunner().invoke(main, command)
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture
def verl(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rollouts").mkdir()
    for step in (1, 2):
        dump = [
            {
                "input": f"user\n{row['prompt']}\nassistant\n",
                "output": row["completion"],
                "gts": None,
                "score": score(row),
                "step": step,
            }
            for row in ROWS[(step - 1) * 80 : step * 80]
        ]
        (tmp_path / f"rollouts/{step}.jsonl").write_text("\n".join(map(json.dumps, dump)))
    training = {
        row["prompt"]: {
            "data_source": "countdown",
            "prompt": [{"role": "user", "content": row["prompt"]}],
            "reward_model": {"style": "rule", "ground_truth": row["ground_truth"]},
            "extra_info": {"index": at},
        }
        for at, row in enumerate(ROWS)
    }
    pd.DataFrame(list(training.values())).to_parquet(tmp_path / "train.parquet")
    (tmp_path / "my_reward.py").write_text(VERL)
    return tmp_path


@pytest.fixture
def trl(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "completions").mkdir()
    for step in (1, 2):
        rows = ROWS[(step - 1) * 80 : step * 80]
        table = {
            "step": [step] * len(rows),
            "prompt": [row["prompt"] for row in rows],
            "completion": [row["completion"] for row in rows],
            "right": [score(row) for row in rows],
            "short": [max(0.0, 1 - len(row["completion"]) / 200) for row in rows],
            "advantage": [0.0] * len(rows),
        }
        logged = pd.DataFrame(table)
        logged[["right", "short"]] = logged[["right", "short"]].astype("float32").astype("float64")
        logged.to_parquet(tmp_path / f"completions/completions_{step:05d}.parquet")
    training = {row["prompt"]: row["ground_truth"] for row in ROWS}
    pd.DataFrame({"prompt": list(training), "solution": list(training.values())}).to_parquet(
        tmp_path / "train.parquet"
    )
    (tmp_path / "rewards.py").write_text(TRL)
    return tmp_path


def _proves_or_says_what_is_missing(folder, given, target):
    """The third command: proved where the trainer is installed, else written all the same, and said."""
    reward, rollouts, *join = given
    command = ("export", reward, "--to", target, "--verify", rollouts, *join)
    there = importlib.util.find_spec(target) is not None
    said = run(*command, status=0 if there else 2)
    assert f"written for {target}: " in said and "read as" in said
    assert (folder / f"{reward.partition(':')[2]}_{target}.py").is_file()
    if there:
        assert said.count(", equal, ") == 2 and "on the function as it was found" in said
    else:
        assert f"the proof runs {target}'s own code; missing here: {target}" in said


def test_a_verl_dump_and_a_compute_score(verl):
    said = run("diagnose", "rollouts")
    assert "verl rollout dump" in said and "zero_std_groups" in said
    given = ("my_reward.py:compute_score", "rollouts", "--join", "train.parquet")
    said = run("score", *given, "-o", "run1")
    assert "160 of 160 rows matched" in said and "read as verl" in said
    scores = rk.load_scores(verl / "run1")
    assert scores.rewards.tolist() == [score(row) for row in ROWS]
    assert "log_mismatch" not in run("diagnose", "run1")
    _proves_or_says_what_is_missing(verl, given, "verl")
    said = run("export", given[0], "--to", "trl", "-o", "mine_trl.py", "--set", "a=1", status=2)
    assert "give it, too" in said
    run("export", given[0], "--to", "trl", "-o", "mine_trl.py")
    (loaded,) = rk.load_reward(f"{verl}/mine_trl.py:compute_score").components
    assert callable(loaded.function)


def test_a_reward_that_is_not_what_was_logged_is_the_first_finding(verl):
    file = verl / "my_reward.py"
    file.write_text(file.read_text().replace("found[-1]", "found[0]").replace("1.0 if", "2.0 if"))
    given = ("my_reward.py:compute_score", "rollouts", "--join", "train.parquet")
    run("score", *given, "-o", "run1")
    found = json.loads(run("diagnose", "run1", "--json"))["findings"]
    assert found[0]["code"] == "log_mismatch" and found[0]["severity"] == "high"
    assert [item["code"] for item in found].count("log_mismatch") == 1  # the score is the whole reward here


def test_what_the_log_lacks_is_named(verl):
    said = run("score", "my_reward.py:compute_score", "rollouts", status=2)
    assert "asks for" in said and "join" in said


def test_a_trl_folder_its_training_set_and_a_list_of_functions(trl, here, monkeypatch):
    given = ("rewards.py:functions", "completions", "--join", "train.parquet")
    said = run("score", *given, "-o", "run1")
    assert "TRL completions" in said and "right, short read as TRL; what each takes: --json" in said
    assert "log_mismatch" not in run("diagnose", "run1")
    loaded = rk.load_scores(trl / "run1")
    assert loaded.score("right").tolist() == [score(row) for row in ROWS]
    monkeypatch.setattr("rewardkit.notebook.report.report.NOTEBOOKS", NOTEBOOKS[2:])
    command = ("report", "--reward", given[0], "--rollouts", *given[1:], "-o", "pages", "--json")
    made = json.loads(run(*command))
    assert made["failed"] == [] and "read as TRL" in made["origins"][0]
    assert "right read as TRL" in (trl / "pages" / "index.html").read_text()
    _proves_or_says_what_is_missing(trl, given, "trl")
    made = json.loads(run("export", given[0], "--to", "verl", "--json"))
    assert made["path"] == "functions_verl.py" and (trl / "functions_verl.py").is_file()


def test_an_unknown_trainer_and_one_that_does_not_fit_end_in_one_line(trl):
    given = ("score", "rewards.py:right", "completions", "--join", "train.parquet")
    assert "no target 'tlr'; known are" in run(*given, "--as", "tlr", status=2)
    said = run(*given, "--as", "verl", status=2)
    assert "cannot be read as verl" in said and said.count("\n") == 1
    assert "read as TRL" in run(*given, "--as", "trl")


def test_the_lines_of_the_readme_on_bundled_data_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = Path(__file__).parents[1] / "README.md"
    lines = re.findall(r"(?m)^    rewardkit ([^#\n]*\b(?:sums|busy)\b[^#\n]*)", readme.read_text())
    said = [run(*line.split()) for line in lines]
    assert [line.split()[0] for line in lines] == ["new", "probe", "check", "export", "score", "suspect"]
    assert "20 of 20 cases passed" in said[2] and "Paid. 25 of 320" in said[5]
