"""`rewardkit compare`: exit statuses, the JSON that programs read, and input that cannot be used."""

import json

import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.analysis.compare import compare
from rewardkit.cli import main
from rewardkit.cli.spelling import as_typed

GALLERY = "gallery:arithmetic"
SMALL = """
import rewardkit as rk

def spread(completion):
    return (sum(map(ord, completion)) % 101) / 100

def one(completion):
    return 1.0

task = rk.Component("task", spread)
fine = rk.Reward("fine", components=[task])
warned = rk.Reward("warned", components=[task, rk.Component("idle", one, weight=0.1)])
dead = rk.Reward("dead", components=[rk.Component("task", one)])

def size(completion):
    print("printed by the user's code")
    return len(completion) / 4

def even(completion):
    return len(completion) % 2 == 0

reward = rk.Reward("small", components=[rk.Component("size", size)])
heavier = reward.reweigh({"size": 2.0})
other = rk.Reward("other", components=[rk.Component("size", even)])
"""
CASES = [
    {"name": "three", "completion": "abc", "reward": 0.75},
    {"name": "two", "completion": "ab", "reward": [0.4, 1]},
    {"name": "one", "completion": "a", "scores": {"size": 0}},
]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def record(result):
    """The one JSON object on stdout."""
    return json.loads(result.stdout, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A folder with scores of the gallery's rewards, of small ones, and the files that they are of."""
    folder = tmp_path_factory.mktemp("scored")
    (folder / "small.py").write_text(SMALL)
    texts = ["a", "ab", "abc", "abcd", "abcd", "abc", "ab", "ab"]
    rows = [
        {"rollout_id": row, "prompt": f"p{row % 2}", "completion": text} for row, text in enumerate(texts)
    ]
    (folder / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "part.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:6]))
    (folder / "elsewhere.jsonl").write_text(json.dumps({"rollout_id": "x", "completion": "a"}) + "\n")
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    (folder / "broken.jsonl").write_text("{\n")
    part = rk.load_rollouts(GALLERY).table[::4]
    part.to_json(folder / "arithmetic.jsonl", orient="records", lines=True)
    for name, reward, source in (
        ("good", GALLERY, "arithmetic.jsonl"),
        ("flawed", f"{GALLERY}.flawed", "arithmetic.jsonl"),
        ("fine", "small.py:fine", "arithmetic.jsonl"),
        ("warned", "small.py:warned", "arithmetic.jsonl"),
        ("dead", "small.py:dead", "arithmetic.jsonl"),
        ("small", "small.py", "rollouts.jsonl"),
        ("heavier", "small.py:heavier", "rollouts.jsonl"),
        ("other", "small.py:other", "rollouts.jsonl"),
        ("part", "small.py", "part.jsonl"),
        ("elsewhere", "small.py", "elsewhere.jsonl"),
    ):
        reward = str(folder / reward) if ".py" in reward else reward
        rk.score(rk.load_reward(reward), folder / source).save(folder / name)
    return folder


@pytest.fixture(autouse=True)
def inside(scored, monkeypatch):
    monkeypatch.chdir(scored)


def test_the_json_has_the_fields_of_the_design():
    result = run("compare", "flawed", "good", "--json")
    got = record(result)
    assert result.exit_code == 0
    assert {"changed", "advantage_sign_changes", "rank_agreement", "verdict"} <= got.keys()
    found = compare(rk.load_scores("flawed"), rk.load_scores("good"))
    assert got["changed"] == found.changed == 400
    assert got["rank_agreement"]["value"] == found.ranks["value"]
    assert (got["a"]["reward"], got["b"]["reward"]) == ("arithmetic-flawed", "arithmetic-v1")
    assert got["verdict"] == found.verdict
    told = as_typed(str(found), main.commands["compare"])
    assert run("compare", "flawed/scores.parquet", "good").stdout == f"{told}\n"


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        ("fine dead", 0, "nothing is asked for"),
        ("fine warned --fail-on warn", 1, "a constant component is a warning"),
        ("fine warned --fail-on high", 0, "a warning is not high"),
        ("fine dead --fail-on warn", 1, "high is above warn"),
        ("dead fine --fail-on warn", 0, "the findings are those of A"),
        ("warned warned --fail-on warn", 0, "none is new"),
    ],
)
def test_only_what_is_new_in_b_fails(arguments, status, why):
    assert run("compare", *arguments.split()).exit_code == status, why


REWARDS = ("--reward-a", "small.py", "--reward-b", "small.py:other")


def test_a_case_that_was_lost_is_high_where_the_rewards_are_named():
    cases = ("--cases", "cases.jsonl", "--timeout", "0", *REWARDS)
    result = run("compare", "small", "other", *cases, "--fail-on", "high", "--json")
    assert result.exit_code == 1
    got = record(result)["cases"]  # what the user's code prints is not on stdout
    assert (got["lost"], got["gained"]) == (["three"], ["one"])
    assert (got["a"], got["b"]) == ({"passed": 2, "failed": 1}, {"passed": 2, "failed": 1})
    assert run("compare", "small", "other", *cases).exit_code == 0
    back = ("--cases", "cases.jsonl", "--reward-b", "small.py", "--reward-a", "small.py:other")
    assert run("compare", "other", "small", *back, "--fail-on", "high").exit_code == 1  # "one" is lost


def test_cases_without_the_rewards_are_said_to_be_not_compared():
    result = run("compare", "small", "other", "--cases", "cases.jsonl", "--json")
    assert result.exit_code == 0
    got = record(result)["cases"]
    assert (got["lost"], got["compared"]) == (None, 0)
    assert got["reason"] == "the reward of A and B was read from a run record and cannot be run"
    assert "Cases were not compared" in run("compare", "small", "other", "--cases", "cases.jsonl").stdout


def test_fail_on_does_not_pass_where_cases_were_given_and_could_not_be_compared():
    result = run("compare", "small", "other", "--cases", "cases.jsonl", "--fail-on", "high", *REWARDS[:2])
    assert result.exit_code == 2
    assert result.stdout.startswith(
        "changed: 'other' (B) against 'small' (A)"
    )  # what was found is said all the same
    assert result.stderr.endswith(
        "the cases were not compared: the reward of B was read from a run record and cannot be run; "
        "name both with --reward-a and --reward-b\n"
    )


def test_rows_that_one_side_alone_has_are_counted():
    got = record(run("compare", "small", "part", "--json"))["matching"]
    assert (got["matched"], got["only_a"], got["only_a_ids"], got["only_b"]) == (6, 2, [6, 7], 0)


def test_training_and_seed_are_those_of_the_options():
    first, again, other = (
        run("compare", "flawed", "good", "--json", "--seed", seed, "--training", "scale_rewards=none")
        for seed in "001"
    )
    assert record(first)["training"]["scale_rewards"] == "none"
    assert first.stdout == again.stdout != other.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere", "good"), "there is no file 'nowhere'"),
        (("good", "."), "there is no file 'scores.parquet'"),
        (("rollouts.jsonl", "good"), "'rollouts.jsonl' is not a scored table"),
        (("small", "elsewhere"), "have no rollout_id in common (A: 0, 1, 2 ..., B: 'x' ...)"),
        (("small", "other", "--cases", "nowhere.jsonl"), "there is no case file 'nowhere.jsonl'"),
        (("small", "other", "--cases", "broken.jsonl"), "broken.jsonl:1: broken JSON"),
        (("small", "other", "--reward-a", "small.py"), "--reward-a and --reward-b are for cases"),
        (("small", "other", "--cases", "cases.jsonl", "--reward-a", "nowhere.py"), "there is no reward file"),
        (("small", "other", "--cases", "cases.jsonl", "--reward-a", "small.py:heavier"),
         "'small.py:heavier' is not the reward that 'small' was scored with (fingerprint"),
        (("small", "other", "--training", "scale_reward=none"), "did you mean 'scale_rewards'?"),
        (("small", "other", "--fail-on", "info"), "'info' is not one of"),
        (("small",), "Missing argument 'B'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_input_that_cannot_be_used_is_one_line_on_stderr_and_exit_2(arguments, said):
    result = run("compare", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr and result.stderr.count("\n") == 1
