"""What users' functions print: three lines of it are shown, the first of the rest is in the run record."""

import contextlib
import io
import json
import os
import sys

import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.scoring.printed import KEPT


def noisy(completion):
    print("judging", completion)
    return 1.0


def rows(count):
    return [{"prompt_id": f"p{at // 4}", "completion": f"{at}"} for at in range(count)]


def one(function):
    return rk.Reward("noisy", components=[rk.Component("c", function)])


@pytest.mark.parametrize("options", [{}, {"timeout": 30.0}, {"workers": 2}], ids=str)
def test_three_lines_are_shown_with_a_count_and_the_first_are_in_the_run_record(capfd, options):
    scores = rk.score(one(noisy), rows(2000), **options)
    shown = capfd.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert lines[0] == "the reward's functions printed 2,000 lines:"
    assert all(line.startswith("  judging ") for line in lines[1:4])
    assert lines[4:] == [f"  ... 1,997 more, the first {KEPT:,} characters in the run record"]
    printed = scores.run["printed"]
    assert printed["lines"] == 2000 and len(printed["text"]) == KEPT
    if not options:
        assert printed["text"].startswith("judging 0\njudging 1\n")


def test_a_reward_that_prints_nothing_says_nothing(capfd):
    scores = rk.score(one(lambda completion: 1.0), rows(8))
    assert capfd.readouterr() == ("", "") and "printed" not in scores.run


def test_what_controls_a_terminal_is_escaped(capfd):
    def hostile(completion):
        print("\x1b[2Jred\ud800")
        return 1.0

    for options in ({}, {"timeout": 30.0}):
        scores = rk.score(one(hostile), rows(1), **options)
        assert capfd.readouterr().err.splitlines()[1:] == [r"  \x1b[2Jred\ud800"]
        json.dumps(scores.record).encode()


@pytest.mark.parametrize("word", ["x" * 5000, "no end of line"])
def test_a_line_without_end_is_one_and_cut(capfd, word):
    rk.score(one(lambda completion: sys.stdout.write(word) and 1.0), rows(1))
    assert capfd.readouterr().err == (
        f"the reward's functions printed 1 line:\n  {word if len(word) < 120 else word[:117] + '...'}\n"
    )


def test_what_a_function_does_to_standard_output_ends_with_its_call(capfd):
    def takes(completion):
        print("before")
        sys.stdout.close()
        sys.stdout = io.StringIO()
        return 1.0

    before = sys.stdout
    assert rk.score(one(takes), rows(3)).score("c").tolist() == [1.0] * 3
    assert sys.stdout is before
    print("still here")
    assert capfd.readouterr().out == "still here\n"


def test_a_function_that_changes_the_working_folder_changes_it_for_no_one_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rk.score(one(lambda completion: os.chdir("/") or 1.0), rows(3)).score("c").tolist() == [1.0] * 3
    assert os.getcwd() == str(tmp_path)


def test_the_command_prints_its_json_alone(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def reward(completion, ground_truth):\n    print('judging')\n    return 1.0\n"
    )
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({**row, "ground_truth": "x"}) + "\n" for row in rows(400)))
    with contextlib.chdir(tmp_path):
        done = CliRunner().invoke(main, ["score", "mine.py", str(log), "-o", "s.parquet", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)
    assert done.stderr.count("judging") == 3
    assert rk.load_scores(tmp_path / "s.parquet").run["printed"]["lines"] == 400
