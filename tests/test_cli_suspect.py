"""`rewardkit suspect`: the text and JSON, the options, and input that cannot be used."""

import json

import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.cli import main
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

def hangs(completion):
    while True:
        pass

hanging = rk.Reward("hanging", components=[rk.Component("hanging", hangs)])
reward = rk.Reward("flawed", components=[rk.Component("listed", listed)])
strict = rk.Reward("strict", components=[rk.Component("exact", exact)])
"""
EVERY = "0 1 2 3 4 5 6 7 8 9"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rollouts, some of which list all digits, scored; the same as a trainer's log; and the rewards."""
    folder = tmp_path_factory.mktemp("suspects")
    rows, log = [], []
    for at in range(160):
        prompt, place, truth = at // 4, at % 4, str(at // 4 % 10)
        text = EVERY if place == 3 and prompt % 3 == 0 else truth if place < 2 else "99"
        rows.append(
            {
                "rollout_id": at,
                "prompt_id": f"p{prompt}",
                "step": prompt // 2,
                "task": "hard" if prompt % 3 == 0 else "easy",
                "completion": text,
                "ground_truth": truth,
                "good": place < 2,
            }
        )
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


def run(*arguments):
    return CliRunner().invoke(main, ["suspect", *map(str, arguments)])


def record(result):
    """The one JSON object on stdout."""
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


PATTERN = r"^(\d ){5}"


def test_the_text_is_the_suspicion_in_words():
    scores = rk.load_scores("scored")
    for told, *asked in [
        (suspect(scores, pattern=PATTERN), "scored", "--pattern", PATTERN),
        (suspect(scores, like=3), "scored/scores.parquet", "--like", "3"),
    ]:
        assert run(*asked).stdout == f"{told}\n".replace("patched=...", "--patched REWARD")


def test_the_json_is_its_record():
    got = record(run("scored", "--like", "3", "--json"))
    assert (got["found"], got["rows"], got["prompts"], got["first_step"]) == (14, 160, 14, 0)
    assert {item["rollout_id"] for item in got["clearest"]} <= set(range(3, 160, 12))
    assert got["slices"][0]["column"] == "task"
    assert got["slices"][0]["lift"] is None  # there are none elsewhere
    assert got["patched"] is None and got["right"] is None


def test_a_patched_reward_is_held_against_them_and_what_it_prints_is_not_the_result():
    got = record(
        run("scored", "--pattern", PATTERN, "--patched", "own.py:strict", "--label", "good", "--json")
    )
    patch = got["patched"]
    assert (patch["reward"], patch["suspects"], patch["earned"], patch["earn"]) == ("strict", 14, 14, 0)
    assert (patch["right"], patch["right_by"], patch["lost"]) == (80, "that are right by 'good'", [])
    assert "label says nothing" not in " ".join(got["notes"])
    assert got["right"]["found"] == 0.0


def test_columns_and_settings_are_those_of_the_options():
    got = record(
        run("scored", "--pattern", PATTERN, "--by", "good", "--training", "scale_rewards=none", "--json")
    )
    assert {item["column"] for item in got["slices"]} <= {"good"} and got["slices_looked_at"] == 2
    assert got["training"] == "trl: dr_grpo"


def test_the_log_of_a_trainer_is_read_with_its_own_scores():
    result = run("log.jsonl", "--pattern", PATTERN, "--json")
    got = record(result)
    assert (got["found"], got["rows"]) == (14, 160)
    assert got["rollouts"]["kind"] != "rollouts"
    assert got["paid"][0]["component"] == "score"


def test_a_patch_that_hangs_ends_with_the_budget_and_says_so():
    result = run("scored", "--pattern", PATTERN, "--patched", "own.py:hanging", "--timeout", "0.2")
    assert result.exit_code == 0
    assert "'hanging' was not tried on 156 of 160 completions: each of the first calls took" in result.stdout


def test_none_found_is_no_failure():
    result = run("scored", "--pattern", "no such text")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        0,
        "Suspects by 'flawed': No suspects: none of 160 completions match the pattern 'no such text'.",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("scored",), "give --like ID or --pattern REGEX; neither is there"),
        (("scored", "--like", "3", "--pattern", "a"), "give --like ID or --pattern REGEX; not both"),
        (
            ("scored", "--like=-1"),
            "--like '-1' is no rollout_id of these scores, which have ones such as 0; give",
        ),
        (("scored", "--pattern", "a", "--patched", "nowhere.py"), "there is no reward file 'nowhere.py'"),
        (("nowhere", "--pattern", "a"), "there is no file 'nowhere'"),
        (("scored", "--pattern", "a", "--column", "completion=text"), "'scored' is scored already"),
        (("--pattern", "a"), "Missing argument 'SCORES'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_input_that_cannot_be_used_is_one_line_on_stderr_and_exit_2(arguments, said):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr and result.stderr.count("\n") == 1
