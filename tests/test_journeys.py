"""Two ways in, as the README tells them: from a trainer's log and its reward to a report, and back."""

import importlib.util
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from commands import run
from trainer_logs import float32, write_jsonl, write_trl

import rewardkit as rk
from rewardkit.notebook.report import NOTEBOOKS

pytestmark = pytest.mark.integration

ROWS = list(rk.load_rollouts("gallery:arithmetic").select(range(160)))
STEPS = [(1, ROWS[:80]), (2, ROWS[80:])]
TRUTHS = {row["prompt"]: row["ground_truth"] for row in ROWS}
REWARDS = '''
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


def said(line, status=0):
    done = run(line)
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(REWARDS)
    return tmp_path


def _proves_or_says_what_is_missing(folder, name, given, target):
    """The third command: proved where the trainer is installed, else written all the same, and said."""
    there = importlib.util.find_spec(target) is not None
    told = said(
        f"export {name} --to {target} --verify {given}", status=0 if there else 2
    )
    assert f"written for {target}: " in told and "read as" in told
    assert (folder / f"{name.partition(':')[2]}_{target}.py").is_file()
    if there:
        assert (
            told.count(", equal, ") == 2 and "on the function as it was found" in told
        )
    else:
        assert f"the proof runs {target}'s own code; missing here: {target}" in told


def test_a_verl_dump_and_a_compute_score(folder):
    for step, rows in STEPS:
        dump = [
            {
                "input": f"user\n{row['prompt']}\nassistant\n",
                "output": row["completion"],
                "gts": None,
            }
            | {"score": score(row), "step": step}
            for row in rows
        ]
        write_jsonl(folder / f"rollouts/{step}.jsonl", dump)
    training = [
        {
            "data_source": "countdown",
            "prompt": [{"role": "user", "content": prompt}],
            "reward_model": {"style": "rule", "ground_truth": truth},
        }
        for prompt, truth in TRUTHS.items()
    ]
    pd.DataFrame(training).to_parquet("train.parquet")
    told = said("diagnose rollouts")
    assert "verl rollout dump" in told and "zero_std_groups" in told
    name, given = "mine.py:compute_score", "rollouts --join train.parquet"
    told = said(f"score {name} {given} -o run1")
    assert "160 of 160 rows matched" in told and "read as verl" in told
    assert rk.load_scores("run1").rewards.tolist() == [score(row) for row in ROWS]
    assert "log_mismatch" not in said("diagnose run1")
    _proves_or_says_what_is_missing(folder, name, given, "verl")
    export = f"export {name} --to trl -o mine_trl.py"
    assert "give it, too" in said(f"{export} --set a=1", status=2)
    said(export)
    (loaded,) = rk.load_reward(f"{folder}/mine_trl.py:compute_score").components
    assert callable(loaded.function)


def test_a_trl_folder_its_training_set_and_a_list_of_functions(
    folder, here, monkeypatch
):
    logged = [
        [
            {
                "step": step,
                "prompt": row["prompt"],
                "completion": row["completion"],
                "right": score(row),
            }
            | {
                "short": float32(max(0.0, 1 - len(row["completion"]) / 200)),
                "advantage": 0.0,
            }
            for row in rows
        ]
        for step, rows in STEPS
    ]
    write_trl(folder, *logged)
    pd.DataFrame(TRUTHS.items(), columns=["prompt", "solution"]).to_parquet(
        "train.parquet"
    )
    name, given = "mine.py:functions", "completions --join train.parquet"
    told = said(f"score {name} {given} -o run1")
    assert "TRL completions" in told and "What each takes: --json" in " ".join(
        told.split()
    )
    assert "log_mismatch" not in said("diagnose run1")
    assert rk.load_scores("run1").score("right").tolist() == [
        score(row) for row in ROWS
    ]
    monkeypatch.setattr("rewardkit.notebook.report.NOTEBOOKS", NOTEBOOKS[2:])
    made = json.loads(
        said(f"report --reward {name} --rollouts {given} -o pages --json")
    )
    assert made["failed"] == [] and "read as TRL" in made["origins"][0]
    assert "right read as TRL" in (folder / "pages" / "index.html").read_text()
    _proves_or_says_what_is_missing(folder, name, given, "trl")
    made = json.loads(said(f"export {name} --to verl --json"))
    assert (
        made["path"] == "functions_verl.py" and (folder / "functions_verl.py").is_file()
    )


def test_the_lines_of_the_readme_on_bundled_data_run_one_after_the_other():
    root = Path(__file__).parents[1]
    pages = ("README.md", "rewardkit/suspects/README.md")
    readme = "\n".join((root / page).read_text() for page in pages)
    lines = re.findall(
        r"(?m)^    rewardkit ([^#\n]*\b(?:sums|busy|v1)\b[^#\n]*)", readme
    )
    told = [said(line) for line in lines]
    jobs = "new check probe score diagnose export score suspect"
    assert [line.split()[0] for line in lines] == jobs.split()
    assert "6 of 6 cases passed" in told[1] and "14 undecided" in told[1]
    assert "kept as v1" in told[3] and "Paid. 25 of 320" in told[7]
