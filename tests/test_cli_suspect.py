"""`rewardkit suspect`: the text and JSON, the options, and input that cannot be used."""

import json

import pytest
from commands import record, refused, run

import rewardkit as rk
from rewardkit.probes.suspects.suspect import suspect

SMALL = """
import re
import rewardkit as rk

def listed(completion, ground_truth):
    print("printed by the user's code")
    return ground_truth in re.findall(r"\\d+", completion)

def exact(completion, ground_truth):
    print("printed by the user's code")
    return completion == ground_truth

reward = rk.Reward("flawed", components=[rk.Component("listed", listed)])
strict = rk.Reward("strict", components=[rk.Component("exact", exact)])
"""
PATTERN = r"^(\d ){5}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rollouts, some of which list all digits, scored; the same as a trainer's log; and the rewards."""
    folder = tmp_path_factory.mktemp("suspects")
    rows, log = [], []
    for at in range(160):
        prompt, place, truth = at // 4, at % 4, str(at // 4 % 10)
        text = "0 1 2 3 4 5 6 7 8 9" if place == 3 and prompt % 3 == 0 else truth if place < 2 else "99"
        row = {"rollout_id": at, "prompt_id": f"p{prompt}", "completion": text, "ground_truth": truth}
        task = "hard" if prompt % 3 == 0 else "easy"
        rows.append({**row, "step": prompt // 2, "task": task, "good": place < 2})
        score = float(truth in text)
        log.append({"input": f"q{prompt}", "output": text, "gts": truth, "score": score, "step": prompt // 2})
    for name, lines in (("rollouts", rows), ("log", log)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "own.py").write_text(SMALL)
    rk.score(rk.load_reward(str(folder / "own.py")), folder / "rollouts.jsonl").save(folder / "scored")
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_the_text_is_the_suspicion_in_words_and_none_found_is_no_failure():
    scores = rk.load_scores("scored")
    for asked, found in (("like=3", {"like": 3}), (f"pattern='{PATTERN}'", {"pattern": PATTERN})):
        said = f"{suspect(scores, **found)}\n".replace("patched=...", "--patched REWARD")
        assert run(f"suspect scored/scores.parquet --{asked}").stdout == said
    none = run("suspect scored --pattern 'no such text'")
    assert none.exit_code == 0 and "none of 160 completions match the pattern 'no such text'" in none.stdout


def test_the_json_is_its_record():
    got = record("suspect scored --like 3")
    assert (got["found"], got["rows"], got["prompts"], got["first_step"]) == (14, 160, 14, 0)
    assert {item["rollout_id"] for item in got["clearest"]} <= set(range(3, 160, 12))
    first = got["slices"][0]
    assert (first["column"], first["lift"]) == ("task", None)  # there are none elsewhere
    assert got["patched"] is None and got["right"] is None


def test_options_are_those_of_the_function_and_what_a_patched_reward_prints_is_not_the_result():
    options = "--patched own.py:strict --label good --by good --training scale_rewards=none"
    got = record(f"suspect scored --pattern '{PATTERN}' {options}")
    patch = got["patched"]
    assert (patch["reward"], patch["suspects"], patch["earned"], patch["earn"]) == ("strict", 14, 14, 0)
    assert (patch["right"], patch["right_by"], patch["lost"]) == (80, "that are right by 'good'", [])
    assert got["right"]["found"] == 0.0 and got["training"] == "trl: dr_grpo"
    assert {item["column"] for item in got["slices"]} <= {"good"} and got["slices_looked_at"] == 2


def test_the_log_of_a_trainer_is_read_with_its_own_scores():
    got = record(f"suspect log.jsonl --pattern '{PATTERN}'")
    assert (got["found"], got["rows"], got["paid"][0]["component"]) == (14, 160, "score")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("scored", "give --like ID or --pattern REGEX; neither is there"),
        ("scored --like 3 --pattern a", "give --like ID or --pattern REGEX; not both"),
        ("scored --like=-1", "--like '-1' is no rollout_id of these scores, which have ones such as 0; give"),
        ("scored --pattern a --patched nowhere.py", "there is no reward file 'nowhere.py'"),
        ("nowhere --pattern a", "there is no file 'nowhere'"),
        ("scored --pattern a --column completion=text", "'scored' is scored already"),
        ("--pattern a", "Missing argument 'SCORES'"),
    ],
)
def test_input_that_cannot_be_used_is_one_line_on_stderr_and_exit_2(arguments, said):
    refused(f"suspect {arguments}", said)
