"""The command line: exit statuses, one line for input that cannot be used, and JSON that programs read."""

import json
import logging
import re

import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.cli import main

GALLERY = "gallery:arithmetic"
REWARD = """
import rewardkit as rk

def size(completion):
    return len(completion) / 4

def odd(completion):
    if completion == "bad":
        raise ValueError("bad")
    return None if completion == "none" else len(completion) % 2 == 1

reward = rk.Reward("small", components=[
    rk.Component("size", size), rk.Component("odd", odd, weight=0.5, gate=rk.gate("size", at_least=0.5)),
])
"""


def lines(*rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def rollout(completion, prompt="p", **columns):
    return {"prompt": prompt, "completion": completion, **columns}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a reward, rollouts and cases."""
    monkeypatch.chdir(tmp_path)
    files = {
        "small.py": REWARD,
        "rollouts.jsonl": lines(*(rollout(text) for text in ("a", "bad", "none", "two"))),
        "cases.jsonl": lines({"completion": "abc", "reward": 1.25},
                             {"completion": "a", "scores": {"odd": "gated"}}),
        "missed.jsonl": lines({"completion": "abc", "reward": 1.25},
                              {"completion": "a", "reward": 1.0, "name": "one letter", "why": "too short"}),
        "raises.py": "x = 1\n1 / 0\n",
        "transform.py": "import rewardkit as rk\ndef f(completion): return 1.0\n"
                        "reward = rk.Reward('r', components=[rk.Component('c', f)], "
                        "transform=lambda rewards, groups: rewards / None)\n",
        "broken.jsonl": "{\n", "named.jsonl": lines(rollout("a", size=3)),
        "unknown.jsonl": lines({"completion": "a", "scores": {"sise": 1}}),
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def record(result):
    """The one JSON object on stdout."""
    return json.loads(result.stdout, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


def test_scores_without_one_reward_are_written_and_are_no_success(folder):
    (folder / "fails.py").write_text("def reward(completion):\n    raise ValueError('no')\n")
    result = run("score", "fails.py", "rollouts.jsonl", "-o", "out", "--json")
    assert result.exit_code == 1 and (folder / "out/scores.parquet").is_file()
    assert record(result)["errors"] == record(result)["rows"] == 4
    said = "rewardkit: no rollout has a reward; most often: field 'reward_result' failed: ValueError: no\n"
    assert result.stderr == said


def test_score_writes_the_folder_and_says_what_happened(folder):
    result = run("score", "small.py", "rollouts.jsonl", "-o", "out/deep")
    assert result.exit_code == 0
    assert sorted(path.name for path in (folder / "out/deep").iterdir()) == ["run.json", "scores.parquet"]
    assert "Rollouts: 4 from rollouts.jsonl" in result.stdout and "written to out" in result.stdout
    assert rk.load_scores("out/deep").counts["odd"] == {"scored": 1, "gated": 1, "abstained": 1, "error": 1}


def test_a_score_that_fails_leaves_no_empty_folder(folder):
    (folder / "kept").mkdir()
    for output in ("new/out", "kept"):
        for given in (("no.py", "rollouts.jsonl"), ("small.py", "no.jsonl")):
            assert run("score", *given, "-o", output).exit_code == 2
    assert not (folder / "new").exists() and (folder / "kept").exists()


def test_an_interrupt_is_said_in_our_words_and_leaves_no_empty_folder(folder, monkeypatch):
    """A KeyboardInterrupt that comes while text is decoded speaks of the codec; found in the wild."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt("decoding with 'utf-8-sig' codec failed (KeyboardInterrupt: )")

    monkeypatch.setattr(rk, "load_rollouts", interrupted)
    done = run("score", "small.py", "rollouts.jsonl", "-o", "out")
    assert (done.exit_code, done.stderr) == (130, "rewardkit: interrupted\n")
    assert not (folder / "out").exists()


def test_a_working_folder_that_was_deleted_is_said_so(folder, monkeypatch):
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    done = run("score", str(folder / "small.py"), str(folder / "rollouts.jsonl"))
    assert done.exit_code == 2
    assert done.stderr == "rewardkit: the working folder does not exist any more; change to another one\n"


def test_score_json_has_the_fields_of_the_design(folder):
    got = record(run("score", "small.py", "rollouts.jsonl", "-o", "out", "--json"))
    assert {name: got[name] for name in ("rows", "scored", "gated", "abstained", "errors", "output")} == {
        "rows": 4, "scored": 5, "gated": 1, "abstained": 1, "errors": 1, "output": "out",
    }  # fmt: skip
    assert got["seconds"] >= 0
    assert record(run("score", "small.py", "rollouts.jsonl", "--json"))["output"] is None


def test_columns_and_groups_can_be_named(folder):
    (folder / "other.jsonl").write_text(lines(*({"text": "ab", "seed": seed} for seed in (1, 1, 2, 2))))
    got = record(
        run("score", "small.py", "other.jsonl", "--column", "completion=text", "--group", "seed", "--json")
    )
    assert got["rollouts"]["mapping"] == {"completion": "text"}
    assert (got["rollouts"]["group_key"], got["rollouts"]["group_sizes"]) == (["seed"], {"2": 2})


def test_what_the_users_code_prints_does_not_spoil_the_json(folder):
    code = "print('hello')\ndef f(completion):\n    print(completion)\n    return 1.0\n"
    (folder / "chatty.py").write_text(code)
    assert record(run("score", "chatty.py:f", "rollouts.jsonl", "--json"))["scored"] == 4


def test_check_exits_0_when_every_case_passes_and_1_when_one_is_missed(folder):
    passed = run("check", "small.py", "cases.jsonl")
    assert (passed.exit_code, passed.stdout) == (0, "2 of 2 cases passed for 'small'\n")
    missed = run("check", "small.py", "missed.jsonl")
    assert missed.exit_code == 1
    for said in ("1 of 2 cases passed", "one letter", "expected", "0.25", "'a'", "too short"):
        assert said in missed.stdout
    missed = run("check", "small.py", "missed.jsonl", "--json")
    got = record(missed)
    assert (missed.exit_code, got["passed"], got["failed"]) == (1, 1, 1)
    (miss,) = got["misses"]
    assert (miss["case"], miss["expected"], miss["got"]) == ("one letter", 1.0, 0.25)
    assert record(run("check", "small.py", "cases.jsonl", "--json"))["misses"] == []


def test_what_cases_say_of_components_that_a_reward_lacks_is_left_out_by_an_option(folder):
    flawed = ("check", "gallery:arithmetic.flawed", GALLERY)
    assert "'concise', 'repetition' with --ignore NAME" in run(*flawed).stderr
    left = run(*flawed, "--ignore", "concise", "--ignore", "repetition")
    assert left.exit_code == 1 and left.stdout.startswith("26 of 88 cases passed")


def test_check_tells_which_changes_of_the_reward_no_case_notices(folder):
    told = run("check", GALLERY, GALLERY, "--mutants", "--rollouts", GALLERY)
    assert told.exit_code == 0
    assert "88 of 88 cases passed" in told.stdout
    assert "Mutation score 1.00: your 88 cases catch all " in told.stdout
    record = json.loads(run("check", "small.py", "cases.jsonl", "--mutants", "--json").stdout)
    assert record["mutants"]["survived"] and record["mutants"]["rollouts"] == 0
    case = {"completion": "<answer>4</answer>", "ground_truth": "4", "scores": {"correct": 1}}
    (folder / "one.jsonl").write_text(json.dumps(case))
    asked = ("check", GALLERY, "one.jsonl", "--mutants", "--rollouts", GALLERY)
    assert "then add what is right: --write-cases FILE" in run(*asked).stdout
    assert "cases added to new.jsonl" in run(*asked, "--write-cases", "new.jsonl").stdout
    assert run("check", GALLERY, "new.jsonl").exit_code == 0
    for option in ("--rollouts", "--write-cases"):
        alone = run("check", GALLERY, GALLERY, option, GALLERY)
        assert alone.exit_code == 2 and f"{option} is for --mutants" in alone.stderr


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A folder with scores: constant ones, of a clean reward, of the gallery's, and of its flawed one."""
    folder = tmp_path_factory.mktemp("scored")
    (folder / "own.py").write_text(
        "def constant(completion):\n    return 1.0\n"
        "def spread(completion):\n    return (sum(map(ord, completion)) % 101) / 100\n"
    )
    rollouts = rk.load_rollouts(GALLERY)
    small = rollouts.select(rollouts.groups % 4 == 1)
    rewards = {"constant": f"{folder}/own.py:constant", "spread": f"{folder}/own.py:spread"}
    for name, reward in {**rewards, "good": GALLERY, "flawed": f"{GALLERY}.flawed"}.items():
        rk.score(rk.load_reward(reward), rollouts if name == "good" else small).save(folder / name)
    return folder


def test_diagnose_json_has_the_fields_of_the_design(scored, monkeypatch):
    monkeypatch.chdir(scored)
    result = run("diagnose", "flawed", "--json")
    got = record(result)
    assert result.exit_code == 0
    names = {"code", "severity", "component", "evidence", "n", "threshold", "rollout_ids"}
    assert got["findings"] and all(names <= finding.keys() for finding in got["findings"])
    assert {finding["severity"] for finding in got["findings"]} <= {"info", "warn", "high"}
    assert all({"code", "line", "before", "after"} <= item.keys() for item in got["suggestions"])
    assert got["suggestions"]


@pytest.mark.parametrize(("name", "worst"), [("constant", "high"), ("spread", "info"), ("good", "warn")])
def test_diagnose_exits_0_whatever_it_finds_unless_fail_on_is_met(scored, monkeypatch, name, worst):
    monkeypatch.chdir(scored)
    levels = ["info", "warn", "high"]
    result = run("diagnose", name, "--json")
    assert result.exit_code == 0
    found = max(
        levels.index(item["severity"]) for item in record(result)["findings"] or [{"severity": "info"}]
    )
    assert levels[found] == worst
    for level in ("warn", "high"):
        status = run("diagnose", f"{name}/scores.parquet", "--fail-on", level).exit_code
        assert status == int(found >= levels.index(level))


def test_figures_that_are_not_finite_are_null_in_json(folder):
    rows = (rollout(text, ground_truth="no number") for text in ("a", "b"))
    (folder / "unjudged.jsonl").write_text(lines(*rows))
    run("score", GALLERY, "unjudged.jsonl", "-o", "out")
    result = run("diagnose", "out", "--json")
    assert "null" in result.stdout and record(result)["rows"] == 2


@pytest.mark.parametrize("options", [(), ("--verbose",)])
def test_diagnose_in_words_says_what_a_person_at_a_terminal_can_do(scored, monkeypatch, options):
    monkeypatch.chdir(scored)
    diagnosis = rk.diagnose(rk.load_scores("flawed"))
    text = run("diagnose", "flawed", *options).stdout
    for record in (diagnosis, rk.suggest(diagnosis)):
        first, *_ = record.text(verbose=bool(options)).splitlines()
        assert first in text
    assert not re.search(r"verbose=True|rk\.(suggest|diagnose)|scores\.\w|weights=", text)
    assert "All: --verbose" in " ".join(text.split()) or options
    tried = [line.split()[1:] for line in text.splitlines() if line.startswith("      rewardkit whatif ")]
    assert bool(tried) == bool(options)
    for arguments in tried:
        assert run(*(item.strip("'") for item in arguments)).exit_code == 0


REPORT = ("report", "-o", "pages", "--rollouts")
BAD = [  # what can be wrong with a reward, rollouts or cases is tested with them
    (("score", "nowhere.py", "rollouts.jsonl"), "there is no reward file 'nowhere.py'"),
    (("score", "raises.py", "rollouts.jsonl"), "raises.py:2: ZeroDivisionError"),
    (("score", "transform.py", "rollouts.jsonl"), "transform"),
    (("score", "gallery:arithmetics", "rollouts.jsonl"), "did you mean 'arithmetic'?"),
    (("score", "small.py", "nowhere.jsonl"), "there is no file 'nowhere.jsonl'"),
    (("score", "small.py", "."), "the files of the folder hold different things"),
    (("score", "small.py", "broken.jsonl"), "no usable row; line 1: broken JSON"),
    (("score", "small.py", "named.jsonl"), "'size' is a component and also a column"),
    (("score", GALLERY, "rollouts.jsonl"), "asks for 'ground_truth'"),
    (("score", "small.py", "rollouts.jsonl", "--column", "completion=txt"), "--column asks for 'txt'"),
    (("score", "small.py", "rollouts.jsonl", "--group", "promt"), "did you mean 'prompt'?"),
    (("check", "nowhere.py", "cases.jsonl"), "there is no reward file"),
    (("check", "small.py", "nowhere.jsonl"), "there is no case file"),
    (("check", "small.py", "broken.jsonl"), "broken.jsonl:1: broken JSON"),
    (("check", "small.py", "unknown.jsonl"), "did you mean 'size'?"),
    (("diagnose", "nowhere"), "there is no file 'nowhere'"),
    (("diagnose", "rollouts.jsonl"), "holds no scores of a trainer"),
    ((*REPORT, GALLERY, "--reward", "nowhere.py"), "there is no reward file"),
    ((*REPORT, "nowhere.jsonl", "--reward", GALLERY), "there is no file"),
    ((*REPORT, GALLERY, "--reward", GALLERY, "--cases", "nowhere.jsonl"), "there is no case file"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_input_that_cannot_be_used_is_one_line_on_stderr_and_exit_2(folder, arguments, said):
    before = sorted(folder.rglob("*.parquet"))
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("rewardkit: ") and result.stderr.count("\n") == 1
    assert said in result.stderr
    assert result.stdout == ""
    assert sorted(folder.rglob("*.parquet")) == before and not (folder / "pages").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("scor",), "No such command 'scor'"),
        (("score", "small.py"), "ROLLOUTS"),
        (("score", "small.py", "rollouts.jsonl", "--nope"), "--nope"),
        (("score", "small.py", "rollouts.jsonl", "--column", "text"), "'text' is not canonical=source"),
        (("score", "small.py", "rollouts.jsonl", "-o", "small.py"), "'small.py' is a file"),
        (("diagnose", "x", "--training", "a.yaml", "--training", "b.yaml"), "'b.yaml' is a second file"),
        (("diagnose", "x", "--fail-on", "info"), "'info' is not one of"),
        (("diagnose", "x", "--seed", "x"), "'x' is not a valid integer."),
        (("score", "small.py", "rollouts.jsonl", "--timeout", "x"), "'x' is not a valid number."),
        (("report", "--rollouts", GALLERY), "holds no scores of a trainer"),
        (("report", "--reward", GALLERY), "--rollouts"),
        (("lab", "--folder", "small.py"), "'small.py' is a file"),
    ],
)
def test_a_command_that_is_not_understood_exits_2_without_a_traceback(folder, arguments, said):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr.strip().splitlines()[-1] and "Traceback" not in result.stderr


@pytest.mark.parametrize("place", [0, 3], ids=["before the command", "behind it"])
def test_debug_shows_the_traceback_before_the_line(folder, place):
    arguments = ["score", "raises.py", "rollouts.jsonl"]
    arguments.insert(place, "--debug")
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback (most recent call last)")
    assert "1 / 0" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("rewardkit: ")


@pytest.mark.parametrize("prompts", ["ab", "aab"], ids=["groups of one", "mixed sizes"])
def test_groups_of_one_and_of_mixed_size_are_a_warning_and_the_work_goes_on(folder, prompts, caplog):
    (folder / "groups.jsonl").write_text(lines(*(rollout("two", prompt) for prompt in prompts)))
    with caplog.at_level(logging.WARNING):
        result = run("score", "small.py", "groups.jsonl", "-o", "out")
    said = "every group has one completion" if prompts == "ab" else "group sizes are mixed"
    assert result.exit_code == 0
    assert said in result.stdout and said in caplog.text
    warnings = record(run("score", "small.py", "groups.jsonl", "--json"))["rollouts"]["warnings"]
    assert len(warnings) == 1 and said in warnings[0]
    assert run("diagnose", "out").exit_code == 0


def test_scores_under_a_transform_of_ones_own_can_be_diagnosed(folder):
    text = (folder / "transform.py").read_text().replace("rewards / None", "rewards * 2")
    (folder / "transform.py").write_text(text)
    assert run("score", "transform.py", "rollouts.jsonl", "-o", "out").exit_code == 0
    assert run("diagnose", "out").exit_code == 0


def test_help_and_version_exit_0(folder):
    assert all(run(*words).stdout.startswith("Usage:") for words in (["--help"], ["score", "-h"]))
    assert run("--version").stdout.startswith("rewardkit, version ")


HANGS = """
import threading, time
import rewardkit as rk
LOCK = threading.Lock()

def waits(completion):
    if completion == "bad":
        time.sleep(10**6)
    return 1.0

class Held:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, completion):
        return 1.0

reward = rk.Reward("waiting", components=[rk.Component("c", waits)])
held = rk.Reward("held", components=[rk.Component("c", Held())])
"""


def test_a_component_that_hangs_ends_as_an_error_of_its_row(folder):
    (folder / "hangs.py").write_text(HANGS)
    (folder / "hang.jsonl").write_text(
        lines({"completion": "bad", "reward": 1}, {"completion": "a", "reward": 1})
    )
    done = run("score", "hangs.py", "rollouts.jsonl", "--timeout", "0.5", "-o", "out", "--json")
    assert (done.exit_code, json.loads(done.stdout)["errors"], json.loads(done.stdout)["scored"]) == (0, 1, 3)
    assert rk.load_scores("out").table["error/c"][1] == "took longer than 0.5 s"
    done = run("check", "hangs.py", "hang.jsonl", "--timeout", "0.5", "--json")
    assert (done.exit_code, json.loads(done.stdout)["passed"]) == (1, 1)


def test_the_default_limit_gives_way_to_a_function_that_cannot_be_limited_and_says_so(folder):
    (folder / "hangs.py").write_text(HANGS)
    done = run("score", "hangs.py:held", "rollouts.jsonl", "--json")
    assert (done.exit_code, json.loads(done.stdout)["scored"]) == (0, 4)
    assert "no time limit: Held() cannot be called in another process" in done.stderr
    asked = run("score", "hangs.py:held", "rollouts.jsonl", "--timeout", "1")
    assert asked.exit_code == 2 and "cannot be called in another process" in asked.stderr
    unlimited = run("score", "hangs.py:held", "rollouts.jsonl", "--timeout", "0")
    assert unlimited.exit_code == 0 and "time limit" not in unlimited.stderr
    assert run("score", "hangs.py", "rollouts.jsonl", "--timeout", "-1").exit_code == 2
