"""The command line: exit statuses, one line for input that cannot be used, and JSON that programs read."""

import json
import logging
import re

import pytest
from commands import record, refused, run

import rewardkit as rk

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


def test_scores_without_one_reward_are_written_and_are_no_success(folder):
    (folder / "fails.py").write_text("def reward(completion):\n    raise ValueError('no')\n")
    result = run("score fails.py rollouts.jsonl -o out --json")
    assert result.exit_code == 1 and (folder / "out/scores.parquet").is_file()
    assert json.loads(result.stdout)["errors"] == json.loads(result.stdout)["rows"] == 4
    why = "field 'reward_result' failed: ValueError: no (fails.py:2)"
    assert result.stderr == f"rewardkit: no rollout has a reward; most often: {why}\n"


def test_score_writes_the_folder_and_says_what_happened(folder):
    result = run("score small.py rollouts.jsonl -o out/deep")
    assert result.exit_code == 0
    assert sorted(path.name for path in (folder / "out/deep").iterdir()) == ["run.json", "scores.parquet"]
    assert "Rollouts: 4 from rollouts.jsonl" in result.stdout and "written to out" in result.stdout
    assert rk.load_scores("out/deep").counts["odd"] == {"scored": 1, "gated": 1, "abstained": 1, "error": 1}
    got = record("score small.py rollouts.jsonl")
    assert [got[name] for name in ("rows", "scored", "gated", "abstained", "errors")] == [4, 5, 1, 1, 1]
    assert got["seconds"] >= 0 and got["output"] is None


def test_a_score_that_fails_leaves_no_empty_folder(folder):
    (folder / "kept").mkdir()
    for output in ("new/out", "kept"):
        for given in ("no.py rollouts.jsonl", "small.py no.jsonl"):
            assert run(f"score {given} -o {output}").exit_code == 2
    assert not (folder / "new").exists() and (folder / "kept").exists()


def test_an_interrupt_is_said_in_our_words_and_leaves_no_empty_folder(folder, monkeypatch):
    """A KeyboardInterrupt that comes while text is decoded speaks of the codec; found in the wild."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt("decoding with 'utf-8-sig' codec failed (KeyboardInterrupt: )")

    monkeypatch.setattr(rk, "load_rollouts", interrupted)
    done = run("score small.py rollouts.jsonl -o out")
    assert (done.exit_code, done.stderr) == (130, "rewardkit: interrupted\n")
    assert not (folder / "out").exists()


def test_a_working_folder_that_was_deleted_is_said_so(folder, monkeypatch):
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    refused(f"score {folder}/small.py {folder}/rollouts.jsonl", "the working folder does not exist any more")


def test_columns_and_groups_can_be_named(folder):
    (folder / "other.jsonl").write_text(lines(*({"text": "ab", "seed": seed} for seed in (1, 1, 2, 2))))
    got = record("score small.py other.jsonl --column completion=text --group seed")["rollouts"]
    assert got["mapping"] == {"completion": "text"}
    assert (got["group_key"], got["group_sizes"]) == (["seed"], {"2": 2})


def test_check_exits_0_when_every_case_passes_and_1_when_one_is_missed(folder):
    passed = run("check small.py cases.jsonl")
    assert (passed.exit_code, passed.stdout) == (0, "2 of 2 cases passed for 'small'\n")
    missed = run("check small.py missed.jsonl")
    assert missed.exit_code == 1
    for said in ("1 of 2 cases passed", "one letter", "expected", "0.25", "'a'", "too short"):
        assert said in missed.stdout
    got = record("check small.py missed.jsonl", 1)
    assert (got["passed"], got["failed"]) == (1, 1)
    (miss,) = got["misses"]
    assert (miss["case"], miss["expected"], miss["got"]) == ("one letter", 1.0, 0.25)


def test_what_cases_say_of_components_that_a_reward_lacks_is_left_out_by_an_option(folder):
    flawed = f"check {GALLERY}.flawed {GALLERY}"
    assert "'concise', 'repetition' with --ignore NAME" in run(flawed).stderr
    left = run(f"{flawed} --ignore concise --ignore repetition")
    assert left.exit_code == 1 and left.stdout.startswith("26 of 88 cases passed")


def test_check_tells_which_changes_of_the_reward_no_case_notices(folder):
    told = run(f"check {GALLERY} {GALLERY} --mutants --rollouts {GALLERY}")
    assert told.exit_code == 0
    assert "Mutation score 1.00: your 88 cases catch all " in told.stdout
    got = json.loads(run("check small.py cases.jsonl --mutants --json").stdout)["mutants"]
    assert got["survived"] and got["rollouts"] == 0
    case = {"completion": "<answer>4</answer>", "ground_truth": "4", "scores": {"correct": 1}}
    (folder / "one.jsonl").write_text(json.dumps(case))
    asked = f"check {GALLERY} one.jsonl --mutants --rollouts {GALLERY}"
    assert "then add what is right: --write-cases FILE" in run(asked).stdout
    assert "cases added to new.jsonl" in run(f"{asked} --write-cases new.jsonl").stdout
    assert run(f"check {GALLERY} new.jsonl").exit_code == 0


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
    got = record("diagnose flawed")
    names = {"code", "severity", "component", "evidence", "n", "threshold", "rollout_ids"}
    assert got["findings"] and all(names <= finding.keys() for finding in got["findings"])
    assert got["suggestions"]
    assert all({"code", "line", "before", "after"} <= item.keys() for item in got["suggestions"])


@pytest.mark.parametrize(("name", "worst"), [("constant", "high"), ("spread", "info"), ("good", "warn")])
def test_diagnose_exits_0_whatever_it_finds_unless_fail_on_is_met(scored, monkeypatch, name, worst):
    monkeypatch.chdir(scored)
    levels = ["info", "warn", "high"]
    found = [levels.index(item["severity"]) for item in record(f"diagnose {name}")["findings"]]
    assert levels[max(found, default=0)] == worst
    for level in ("warn", "high"):
        status = run(f"diagnose {name}/scores.parquet --fail-on {level}").exit_code
        assert status == int(levels.index(worst) >= levels.index(level))


def test_figures_that_are_not_finite_are_null_in_json(folder):
    rows = (rollout(text, ground_truth="no number") for text in ("a", "b"))
    (folder / "unjudged.jsonl").write_text(lines(*rows))
    run(f"score {GALLERY} unjudged.jsonl -o out")
    assert "null" in run("diagnose out --json").stdout and record("diagnose out")["rows"] == 2


@pytest.mark.parametrize("option", ["", "--verbose"])
def test_diagnose_in_words_says_what_a_person_at_a_terminal_can_do(scored, monkeypatch, option):
    monkeypatch.chdir(scored)
    diagnosis = rk.diagnose(rk.load_scores("flawed"))
    text = run(f"diagnose flawed {option}").stdout
    for found in (diagnosis, rk.suggest(diagnosis)):
        first, *_ = found.text(verbose=bool(option)).splitlines()
        assert first in text
    assert not re.search(r"verbose=True|rk\.(suggest|diagnose)|scores\.\w|weights=", text)
    assert "All: --verbose" in " ".join(text.split()) or option
    tried = [line for line in text.splitlines() if line.startswith("      rewardkit whatif ")]
    assert bool(tried) == bool(option)
    for line in tried:
        assert run(line.strip().removeprefix("rewardkit ")).exit_code == 0


REPORT = "report -o pages --rollouts"
BAD = [  # what can be wrong with a reward, rollouts or cases is tested with them
    ("score nowhere.py rollouts.jsonl", "there is no reward file 'nowhere.py'"),
    ("score raises.py rollouts.jsonl", "raises.py:2: ZeroDivisionError"),
    ("score transform.py rollouts.jsonl", "transform"),
    ("score small.py .", "the files of the folder hold different things"),
    ("score small.py broken.jsonl", "no usable row; line 1: broken JSON"),
    ("score small.py named.jsonl", "'size' is a component and also a column"),
    (f"score {GALLERY} rollouts.jsonl", "asks for 'ground_truth'"),
    ("score small.py rollouts.jsonl --column completion=txt", "--column asks for 'txt'"),
    ("score small.py rollouts.jsonl --group promt", "did you mean 'prompt'?"),
    ("check small.py nowhere.jsonl", "there is no case file"),
    ("check small.py unknown.jsonl", "did you mean 'size'?"),
    (f"check {GALLERY} {GALLERY} --rollouts {GALLERY}", "--rollouts is for --mutants"),
    (f"check {GALLERY} {GALLERY} --write-cases {GALLERY}", "--write-cases is for --mutants"),
    (f"export {GALLERY} --to trl --group prompt", "options for reading are for the rollouts of --verify"),
    ("diagnose nowhere", "there is no file 'nowhere'"),
    ("diagnose rollouts.jsonl", "holds no scores of a trainer"),
    (f"{REPORT} {GALLERY} --reward nowhere.py", "there is no reward file"),
    (f"{REPORT} nowhere.jsonl --reward {GALLERY}", "there is no file"),
    (f"{REPORT} {GALLERY} --reward {GALLERY} --cases nowhere.jsonl", "there is no case file"),
    ("scor", "No such command 'scor'"),
    ("score small.py", "ROLLOUTS"),
    ("score small.py rollouts.jsonl --nope", "--nope"),
    ("score small.py rollouts.jsonl --column text", "'text' is not canonical=source"),
    ("score small.py rollouts.jsonl -o small.py", "'small.py' is a file"),
    ("diagnose x --training a.yaml --training b.yaml", "'b.yaml' is a second file"),
    ("diagnose x --fail-on info", "'info' is not one of"),
    ("diagnose x --seed x", "'x' is not a valid integer."),
    ("score small.py rollouts.jsonl --timeout x", "'x' is not a valid number."),
    ("score small.py rollouts.jsonl --timeout -1", "-1"),
    (f"report --rollouts {GALLERY}", "holds no scores of a trainer"),
    (f"report --reward {GALLERY}", "--rollouts"),
    ("lab --folder small.py", "'small.py' is a file"),
]


@pytest.mark.parametrize(("line", "said"), BAD)
def test_input_that_cannot_be_used_is_one_line_on_stderr_and_exit_2(folder, line, said):
    refused(line, said)
    assert not [*folder.rglob("*.parquet")] and not (folder / "pages").exists()


@pytest.mark.parametrize("words", ["--debug score", "score --debug"])
def test_debug_shows_the_traceback_before_the_line(folder, words):
    result = run(f"{words} raises.py rollouts.jsonl")
    assert result.exit_code == 2 and "1 / 0" in result.stderr
    assert result.stderr.startswith("Traceback (most recent call last)")
    assert result.stderr.splitlines()[-1].startswith("rewardkit: ")


@pytest.mark.parametrize("prompts", ["ab", "aab"], ids=["groups of one", "mixed sizes"])
def test_groups_of_one_and_of_mixed_size_are_a_warning_and_the_work_goes_on(folder, prompts, caplog):
    (folder / "groups.jsonl").write_text(lines(*(rollout("two", prompt) for prompt in prompts)))
    with caplog.at_level(logging.WARNING):
        result = run("score small.py groups.jsonl -o out")
    said = "every group has one completion" if prompts == "ab" else "group sizes are mixed"
    assert result.exit_code == 0 and said in result.stdout and said in caplog.text
    (warning,) = record("score small.py groups.jsonl")["rollouts"]["warnings"]
    assert said in warning and run("diagnose out").exit_code == 0


def test_scores_under_a_transform_of_ones_own_can_be_diagnosed(folder):
    text = (folder / "transform.py").read_text().replace("rewards / None", "rewards * 2")
    (folder / "transform.py").write_text(text)
    assert run("score transform.py rollouts.jsonl -o out").exit_code == 0
    assert run("diagnose out").exit_code == 0


def test_version_is_told():
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
    got = record("score hangs.py rollouts.jsonl --timeout 0.5 -o out")
    assert (got["errors"], got["scored"]) == (1, 3)
    assert rk.load_scores("out").table["error/c"][1] == "took longer than 0.5 s"
    assert record("check hangs.py hang.jsonl --timeout 0.5", 1)["passed"] == 1


def test_the_default_limit_gives_way_to_a_function_that_cannot_be_limited_and_says_so(folder):
    (folder / "hangs.py").write_text(HANGS)
    line = "score hangs.py:held rollouts.jsonl"
    done = run(line)
    assert done.exit_code == 0
    assert "no time limit: Held() cannot be called in another process" in done.stderr
    refused(f"{line} --timeout 1", "cannot be called in another process")
    unlimited = run(f"{line} --timeout 0")
    assert unlimited.exit_code == 0 and "time limit" not in unlimited.stderr
