"""`rewardkit new`: what is printed, the options, and input that cannot be used."""

import json

import pytest
from commands import record, refused, run

NEW = "new countdown --log log.jsonl --column completion=said"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"q": f"{at} and 1?", "said": f"<answer>{at + place}</answer>", "ground_truth": str(at + 1)}
        for at in range(12)
        for place in range(4)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_it_says_what_was_written_and_the_next_commands_which_work(folder):
    done = run(f"{NEW} --column prompt=q -o 'my task'")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[:4] == [
        "log.jsonl: 48 completions",
        "  12 prompts; the truths are numbers, compared by their value and exactly",
        '  answers are read by tag("answer"): found in 100 %, right in 25 % of the completions',
        "  paid: correct 1, format 0.2",
    ]
    names = ["countdown.py", "countdown_cases.jsonl", "countdown.ipynb"]
    assert [line.split("  ")[1] for line in lines[5:8]] == [f"my task/{name}" for name in names]
    assert sorted(path.name for path in (folder / "my task").iterdir()) == sorted(names)
    _, check, probe = [line.strip().removeprefix("rewardkit ") for line in lines[9:]]
    checked = run(check)
    assert (checked.exit_code, checked.output.split(" cases")[0]) == (0, "20 of 20")
    assert "20 cases are still marked TODO: they say what the reward gives" in checked.output
    assert run(f"{probe} --only contract").exit_code == 0


def test_as_json_it_is_one_object(folder):
    made = record(NEW)
    assert (made["reward"], made["stubs"], made["rows"]) == ("countdown/countdown.py", 20, 48)
    assert len(made["next"]) == 3


def test_what_is_there_is_kept_and_told_in_one_line(folder):
    (folder / "countdown_cases.jsonl").write_text("mine")
    done = run(f"{NEW} -o .")
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "rewardkit: 'countdown_cases.jsonl' is there, and is not written over; take another name or another "
        "folder, or move it away"
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["countdown_cases.jsonl", "log.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("2x --log log.jsonl", "'2x' cannot be the name of a Python file"),
        ("json --log log.jsonl", "'json' is the name of a module"),
        ("task --log none.jsonl", "there is no file 'none.jsonl'"),
        ("task --log log.jsonl", "no column holds the completions"),
        ("task --log log.jsonl --column completion=sad", "did you mean 'said'?"),
        ("task", "Missing option '--log'"),
        ("task --log log.jsonl --column completion=said -o log.jsonl", "'log.jsonl' is a file"),
    ],
)
def test_input_that_cannot_be_used_is_one_clear_line(folder, arguments, said):
    refused(f"new {arguments}", said)
    assert [path.name for path in folder.iterdir()] == ["log.jsonl"]
