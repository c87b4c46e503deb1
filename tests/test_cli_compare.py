"""`rewardkit compare`: exit statuses, the JSON that programs read, and input that cannot be used."""

import json

import pytest
from commands import record, refused, run

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
    gallery = {"good": GALLERY, "flawed": f"{GALLERY}.flawed"}
    own = {name: f"{folder}/small.py:{name}" for name in ("fine", "warned", "dead", "heavier", "other")}
    small = f"{folder}/small.py"
    made = {"arithmetic": gallery | {name: own[name] for name in ("fine", "warned", "dead")}}
    made |= {"rollouts": {"small": small, "heavier": own["heavier"], "other": own["other"]}}
    made |= {"part": {"part": small}, "elsewhere": {"elsewhere": small}}
    for source, rewards in made.items():
        for name, reward in rewards.items():
            rk.score(rk.load_reward(reward), folder / f"{source}.jsonl").save(folder / name)
    return folder


@pytest.fixture(autouse=True)
def inside(scored, monkeypatch):
    monkeypatch.chdir(scored)


def test_the_json_has_the_fields_of_the_design():
    got = record("compare flawed good")
    assert {"changed", "advantage_sign_changes", "rank_agreement", "verdict"} <= got.keys()
    found = compare(rk.load_scores("flawed"), rk.load_scores("good"))
    assert got["changed"] == found.changed == 400
    assert got["rank_agreement"]["value"] == found.ranks["value"]
    assert (got["a"]["reward"], got["b"]["reward"]) == ("arithmetic-flawed", "arithmetic-v1")
    assert got["verdict"] == found.verdict
    told = as_typed(str(found), main.commands["compare"])
    assert run("compare flawed/scores.parquet good").stdout == f"{told}\n"


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
    assert run(f"compare {arguments}").exit_code == status, why


CASED, BOTH = "compare small other --cases cases.jsonl", "--reward-a small.py --reward-b small.py:other"


def test_a_case_that_was_lost_is_high_where_the_rewards_are_named():
    line = f"{CASED} --timeout 0 {BOTH}"
    got = record(f"{line} --fail-on high", 1)["cases"]  # what the user's code prints is not on stdout
    assert (got["lost"], got["gained"]) == (["three"], ["one"])
    assert (got["a"], got["b"]) == ({"passed": 2, "failed": 1}, {"passed": 2, "failed": 1})
    assert run(line).exit_code == 0


def test_rows_that_one_side_alone_has_are_counted():
    got = record("compare small part")["matching"]
    assert (got["matched"], got["only_a"], got["only_a_ids"], got["only_b"]) == (6, 2, [6, 7], 0)


def test_training_and_seed_are_those_of_the_options():
    first, again, other = (
        record(f"compare flawed good --seed {seed} --training scale_rewards=none") for seed in "001"
    )
    assert first["training"]["scale_rewards"] == "none" and first == again != other


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("compare nowhere good", "there is no file 'nowhere'"),
        ("compare good .", "there is no file 'scores.parquet'"),
        ("compare rollouts.jsonl good", "'rollouts.jsonl' is not a scored table"),
        ("compare small elsewhere", "have no rollout_id in common (A: 0, 1, 2 ..., B: 'x' ...)"),
        (f"{CASED} {BOTH}".replace("cases.", "nowhere."), "there is no case file 'nowhere.jsonl'"),
        (f"{CASED} {BOTH}".replace("cases.", "broken."), "broken.jsonl:1: broken JSON"),
        (f"{CASED} --reward-a small.py", "--cases, --reward-a and --reward-b go together"),
        ("compare small other --reward-a small.py", "--cases, --reward-a and --reward-b go together"),
        (f"{CASED} {BOTH}".replace("a small", "a nowhere"), "there is no reward file"),
        (
            f"{CASED} {BOTH}".replace("small.py ", "small.py:heavier "),
            "'small.py:heavier' is not the reward that 'small' was scored with (fingerprint",
        ),
        ("compare small other --training scale_reward=none", "did you mean 'scale_rewards'?"),
        ("compare small other --fail-on info", "'info' is not one of"),
        ("compare small", "Missing argument 'B'"),
    ],
)
def test_input_that_cannot_be_used_is_one_line_on_stderr_and_exit_2(line, said):
    refused(line, said)
