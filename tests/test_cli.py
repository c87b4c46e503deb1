"""The command line: exit statuses, one line for input that cannot be used, and JSON that programs read."""

import json
import logging

import pytest
from commands import record, refused, run

import rewardkit as rk

pytestmark = pytest.mark.integration

GALLERY = "gallery:arithmetic"
REWARD = """
import threading, time
import rewardkit as rk

def size(completion):
    return len(completion) / 4

def odd(completion):
    if completion == "bad":
        raise ValueError("bad")
    return None if completion == "none" else len(completion) % 2 == 1

def fails(completion):
    raise ValueError("no")

def waits(completion):
    if completion == "bad":
        time.sleep(10**6)
    return 1.0

class Held:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, completion):
        return 1.0

reward = rk.Reward("small", components=[
    rk.Component("size", size), rk.Component("odd", odd, weight=0.5, gate=rk.gate("size", at_least=0.5)),
])
own = rk.Reward("own", components=[rk.Component("c", size)], transform=lambda rewards, _: rewards * 2)
broken = rk.Reward("r", components=[rk.Component("c", size)], transform=lambda rewards, _: rewards / None)
held = rk.Reward("held", components=[rk.Component("c", Held())])
"""


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with rewards, rollouts and cases."""
    monkeypatch.chdir(tmp_path)
    rollouts = [
        {"prompt": "p", "completion": text} for text in ("a", "bad", "none", "two")
    ]
    passed = {"completion": "abc", "reward": 1.25}
    files = {
        "small.py": REWARD,
        "raises.py": "x = 1\n1 / 0\n",
        "rollouts.jsonl": lines(*rollouts),
        "other.jsonl": lines(*({"text": "ab", "seed": seed} for seed in (1, 1, 2, 2))),
        "unjudged.jsonl": lines(
            *({**row, "ground_truth": "no number"} for row in rollouts)
        ),
        "cases.jsonl": lines(passed, {"completion": "a", "scores": {"odd": "gated"}}),
        "missed.jsonl": lines(
            passed,
            {
                "completion": "a",
                "reward": 1.0,
                "name": "one letter",
                "why": "too short",
            },
        ),
        "hang.jsonl": lines(
            {"completion": "bad", "reward": 1}, {"completion": "a", "reward": 1}
        ),
        "broken.jsonl": "{\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_score_writes_the_folder_and_says_what_happened(folder):
    result = run("score small.py rollouts.jsonl -o out/deep")
    assert result.exit_code == 0
    assert sorted(path.name for path in (folder / "out/deep").iterdir()) == [
        "run.json",
        "scores.parquet",
    ]
    assert (
        "Rollouts: 4 from rollouts.jsonl" in result.stdout
        and "written to out" in result.stdout
    )
    assert rk.load_scores("out/deep").counts["odd"] == {
        "scored": 1,
        "gated": 1,
        "abstained": 1,
        "error": 1,
    }
    got = record("score small.py other.jsonl --column completion=text --group seed")
    assert [got[name] for name in ("rows", "scored", "gated", "output")] == [
        4,
        8,
        0,
        None,
    ]
    assert (got["rollouts"]["mapping"], got["rollouts"]["group_sizes"]) == (
        {"completion": "text"},
        {"2": 2},
    )


def test_scores_without_one_reward_are_written_and_are_no_success(folder):
    result = run("score small.py:fails rollouts.jsonl -o out --json")
    assert result.exit_code == 1 and (folder / "out/scores.parquet").is_file()
    assert json.loads(result.stdout)["errors"] == json.loads(result.stdout)["rows"] == 4
    why = "field 'fails_result' failed: ValueError: no (small.py:14)"
    assert result.stderr == f"rewardkit: no rollout has a reward; most often: {why}\n"


def test_a_score_that_fails_leaves_no_empty_folder(folder):
    (folder / "kept").mkdir()
    for output in ("new/out", "kept"):
        assert run(f"score small.py no.jsonl -o {output}").exit_code == 2
    assert not (folder / "new").exists() and (folder / "kept").exists()


def test_why_a_case_was_written_is_told_once_of_the_first_that_fails(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("def reward(completion): return 0.0\n")
    rows = []
    for name in ("first", "second"):
        row = {"name": name, "completion": "x", "reward": 1.0}
        rows.append(json.dumps({**row, "why": f"so it was agreed of the {name}"}))
    (tmp_path / "cases.jsonl").write_text("\n".join(rows))
    text = run("check own.py cases.jsonl").stdout
    assert text.count("so it was agreed of the first") == 1
    assert text.count("so it was agreed of the second") == 1
    (tmp_path / "cases.jsonl").write_text(rows[0])
    assert run("check own.py cases.jsonl").stdout.count("so it was agreed") == 1


def test_an_interrupt_is_said_in_our_words_and_leaves_no_empty_folder(
    folder, monkeypatch
):
    """A KeyboardInterrupt that comes while text is decoded speaks of the codec; found in the wild."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt(
            "decoding with 'utf-8-sig' codec failed (KeyboardInterrupt: )"
        )

    monkeypatch.setattr("rewardkit.cli.score.open_log", interrupted)
    done = run("score small.py rollouts.jsonl -o out")
    assert (done.exit_code, done.stderr) == (130, "rewardkit: interrupted\n")
    assert not (folder / "out").exists()


def test_a_working_folder_that_was_deleted_is_said_so(folder, monkeypatch):
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    refused(
        f"score {folder}/small.py {folder}/rollouts.jsonl",
        "the working folder does not exist any more",
    )


def test_check_exits_0_when_every_case_passes_and_1_when_one_is_missed(folder):
    passed = run("check small.py cases.jsonl")
    assert (passed.exit_code, passed.stdout) == (
        0,
        "\u2713 2 of 2 cases passed, 0 failed: reward small\n",
    )
    missed = run("check small.py missed.jsonl")
    assert missed.exit_code == 1
    for said in (
        "1 of 2 cases passed",
        "one letter",
        "expected",
        "0.25",
        " a ",
        "too short",
    ):
        assert said in missed.stdout
    got = record("check small.py missed.jsonl", 1)
    assert (got["passed"], got["failed"], got["misses"][0]["case"]) == (
        1,
        1,
        "one letter",
    )


def test_what_cases_say_of_components_that_a_reward_lacks_is_left_out_by_an_option(
    folder,
):
    flawed = f"check {GALLERY}.flawed {GALLERY}"
    named = record(flawed, 1)["unknown"]
    assert sorted(named) == ["concise", "repetition"]
    assert "(" + repr(named["concise"][0]) in run(flawed).stdout
    left = run(f"{flawed} --ignore concise --ignore repetition")
    assert left.exit_code == 1 and left.stdout.startswith(
        "\u2717 26 of 88 cases passed"
    )
    assert "more missed expectations: --verbose" in left.stdout


def test_check_tells_which_changes_of_the_reward_no_case_notices(folder):
    told = run(f"check {GALLERY} {GALLERY} --mutants --rollouts {GALLERY}")
    assert (
        told.exit_code == 0
        and "Mutation score 1.00: your 88 cases catch all " in told.stdout
    )
    case = {
        "completion": "<answer>4</answer>",
        "ground_truth": "4",
        "scores": {"correct": 1},
    }
    (folder / "one.jsonl").write_text(json.dumps(case))
    asked = f"check {GALLERY} one.jsonl --mutants --rollouts {GALLERY}"
    assert record(asked)["mutants"]["survived"]
    printed = " ".join(run(asked).stdout.split())
    assert "then add what is right: --write-cases FILE" in printed
    assert "cases added to new.jsonl" in run(f"{asked} --write-cases new.jsonl").stdout
    assert run(f"check {GALLERY} new.jsonl").exit_code == 0


def test_figures_that_are_not_finite_are_null_in_json_and_a_transform_of_ones_own_is_diagnosed(
    folder,
):
    for reward, output in ((GALLERY, "null"), ("small.py:own", "transform")):
        run(f"score {reward} unjudged.jsonl -o out --force")
        assert (
            output in run("diagnose out --json").stdout
            and record("diagnose out")["rows"] == 4
        )


REPORT = "report -o pages --rollouts"
BAD = [  # what can be wrong with a reward, rollouts or cases is tested with them
    ("score nowhere.py rollouts.jsonl", "there is no reward file 'nowhere.py'"),
    ("score raises.py rollouts.jsonl", "raises.py:2: ZeroDivisionError"),
    ("score small.py:broken rollouts.jsonl", "transform"),
    ("score small.py broken.jsonl", "no usable row; line 1: broken JSON"),
    (
        "score small.py rollouts.jsonl --column completion=txt",
        "--column asks for 'txt'",
    ),
    ("score small.py rollouts.jsonl --group promt", "did you mean 'prompt'?"),
    (
        f"export {GALLERY} --to trl --group prompt",
        "options for reading are for the rollouts of --verify",
    ),
    ("score small.py", "ROLLOUTS"),
    ("score small.py rollouts.jsonl --nope", "--nope"),
    ("score small.py rollouts.jsonl --column text", "'text' is not canonical=source"),
    ("score small.py rollouts.jsonl --set data_source", "is not column=value"),
    ("score small.py rollouts.jsonl --on uid", "give --join too"),
    ("score small.py rollouts.jsonl -o small.py", "'small.py' is a file"),
    ("score small.py rollouts.jsonl --timeout x", "'x' is not a valid number."),
    ("score small.py rollouts.jsonl --timeout -1", "-1"),
    (
        "score small.py:held rollouts.jsonl --timeout 1",
        "cannot be called in another process",
    ),
    ("check small.py nowhere.jsonl", "there is no case file"),
    (f"check {GALLERY} {GALLERY} --rollouts {GALLERY}", "--rollouts is for --mutants"),
    (f"{REPORT} {GALLERY} --reward nowhere.py", "there is no reward file"),
    (
        f"{REPORT} {GALLERY} --reward {GALLERY} --cases nowhere.jsonl",
        "there is no case file",
    ),
    (
        f"{REPORT} {GALLERY} --reward {GALLERY} --label god",
        "the rollouts have no column 'god'",
    ),
    (
        f"{REPORT} {GALLERY} --reward {GALLERY} --by prompt --redact",
        "--by ['prompt'] names the slices by",
    ),
    (f"{REPORT} {GALLERY}", "holds no scores of a trainer"),
    (f"report --reward {GALLERY}", "--rollouts"),
    ("scor", "No such command 'scor'"),
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


def test_groups_of_one_are_a_warning_and_the_work_goes_on(folder, caplog):
    with caplog.at_level(logging.WARNING):
        result = run("score small.py rollouts.jsonl --group completion -o out")
    said = "every group has one completion"
    assert result.exit_code == 0 and said in result.stdout and said in caplog.text
    assert run("diagnose out").exit_code == 0


def test_version_is_told():
    assert run("--version").stdout.startswith("rewardkit, version ")


def test_a_component_that_hangs_ends_as_an_error_of_its_row(folder):
    got = record("score small.py:waits rollouts.jsonl --timeout 0.5")
    assert (got["errors"], got["scored"]) == (1, 3)
    assert record("check small.py:waits hang.jsonl --timeout 0.5", 1)["passed"] == 1


def test_the_default_limit_gives_way_to_a_function_that_cannot_be_limited_and_says_so(
    folder,
):
    for limit, said in (("", True), ("--timeout 0", False)):
        done = run(f"score small.py:held rollouts.jsonl {limit}")
        assert done.exit_code == 0
        assert (
            "no time limit: Held() cannot be called in another process" in done.stderr
        ) == said
