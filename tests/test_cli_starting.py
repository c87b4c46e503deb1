"""`rewardkit new` and `rewardkit lab`: what they begin from a log; JupyterLab is not started here."""

import json
import re
import subprocess
import sys

import nbformat
import pytest
from commands import record, refused, run, write_rows
from executed import executed

from rewardkit.cli import design
from rewardkit.rollouts.paths import bundled
from rewardkit.starting.start import seen_from, with_values

pytestmark = pytest.mark.integration

NEW = "new countdown --log said.jsonl --column completion=said"
NAMES = ["01_build", "02_check", "03_analyze"]
MINE = "lab mine.py:strict log.jsonl"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working folder with a reward, two logs and a case."""
    monkeypatch.chdir(tmp_path)
    said = [
        {
            "q": f"{at} and 1?",
            "said": f"<answer>{at + place}</answer>",
            "ground_truth": str(at + 1),
        }
        for at in range(12)
        for place in range(4)
    ]
    log = [
        {
            "prompt": f"p{n // 4}",
            "completion": str(n % 3),
            "ground_truth": "1",
            "good": n % 2,
        }
        for n in range(16)
    ]
    case = {"completion": "1", "ground_truth": "1", "reward": 1}
    for name, rows in (("said", said), ("log", log), ("cases", [case])):
        write_rows(tmp_path / f"{name}.jsonl", rows)
    reward = "def strict(completion, ground_truth):\n    return float(completion == ground_truth)\n"
    (tmp_path / "mine.py").write_text(reward)
    return tmp_path


def there(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.*")
    }


# new


def test_it_says_what_was_written_and_the_next_commands_which_work(folder):
    done = run(f"{NEW} --column prompt=q -o 'my task'")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[:4] == [
        "said.jsonl: 48 completions",
        "  12 prompts; the truths are numbers, compared by their value and exactly",
        '  answers are read by tag("answer"): found in 100 %, right in 25 % of the completions',
        "  paid: correct 1, format 0.2",
    ]
    names = ["countdown.py", "countdown_cases.jsonl", "countdown.ipynb"]
    assert [line.split("  ")[1] for line in lines[5:8]] == [
        f"my task/{name}" for name in names
    ]
    assert sorted(there(folder / "my task")) == sorted(names)
    _, check, probe = [line.strip().removeprefix("rewardkit ") for line in lines[9:]]
    checked = run(check)
    assert checked.exit_code == 0
    made = record(f"check {check.removeprefix('check ')}")
    assert made["passed"] > 0 and made["undecided"] > 0
    passed = f"\u2713 {made['passed']} of {made['passed']} cases passed"
    assert checked.output.startswith(passed)
    assert f", {made['undecided']} undecided" in checked.output.splitlines()[0]
    assert run(f"{probe} --only contract").exit_code == 0
    made = record(NEW)
    assert (made["reward"], made["rows"]) == ("countdown/countdown.py", 48)


# lab


@pytest.fixture
def opened(monkeypatch):
    """The calls that would have started JupyterLab."""
    calls = []
    monkeypatch.setattr(
        subprocess, "call", lambda command, cwd: calls.append((command, cwd)) or 0
    )
    return calls


def parameters(path):
    """The values of the parameters of a notebook, and the source of their cell."""
    cells = nbformat.read(path, as_version=4).cells
    (source,) = (
        cell.source for cell in cells if "parameters" in cell.metadata.get("tags", [])
    )
    values = {}
    exec(source, values)
    return values, source


def test_without_options_the_copies_are_the_bundled_notebooks_and_the_first_is_opened(
    opened, folder
):
    assert run("lab --no-browser --port 9999").exit_code == 0
    ((command, place),) = opened
    assert command[:4] == [sys.executable, "-m", "jupyter", "lab"]
    assert command[4:] == ["01_build.ipynb", "--no-browser", "--port", "9999"]
    assert place.as_posix() == "rewardkit-notebooks"
    copies = {
        f"{name}.ipynb": bundled(f"notebooks/{name}.ipynb").read_bytes()
        for name in [*NAMES, "04_compare", "05_monitor"]
    }
    assert there(folder / place) == copies


def test_the_parameters_have_the_values_and_keep_types_and_comments(opened, folder):
    options = "--cases cases.jsonl --label good --seed 7 --by good --timeout 2.5 --training scale_rewards=none"
    options += (
        " --column completion=completion --group prompt --redact --set \"task=a 'b'\""
    )
    result = run(f"{MINE} {options}")
    assert result.exit_code == 0, result.stderr
    made = {
        name: parameters(folder / f"rewardkit-notebooks/{name}.ipynb") for name in NAMES
    }
    for name, (values, source) in made.items():
        _, before = parameters(bundled(f"notebooks/{name}.ipynb"))
        assert (
            values["reward"] == "../mine.py:strict"
            and values["rollouts"] == "../log.jsonl"
        )
        reading = {"columns": {"completion": "completion"}, "group": ["prompt"]}
        assert values["reading"] == {**reading, "fill": {"task": "a 'b'"}}
        assert values["limits"] == {"timeout": 2.5, "seed": 7}
        assert values["redact"] is True
        declared, comment = r"(?m)^\w+: [^=]+ = ", "  # .*"
        for kept in (declared, comment):
            assert re.findall(kept, source) == re.findall(kept, before) != []
    check, analyze = (made[name][0] for name in NAMES[1:])
    assert (
        check["cases"] == "../cases.jsonl"
        and check["label"] == analyze["label"] == "good"
    )
    assert analyze["training"]["scale_rewards"] == "none" and analyze["by"] == ["good"]
    assert check["fail_on"] == "miss"  # not asked for: as it was


def test_other_values_get_copies_of_their_own_and_the_same_ones_open_again_as_they_are(
    opened, folder
):
    folder /= "rewardkit-notebooks"
    folder.mkdir()
    (folder / "01_build.ipynb").write_text("mine")
    run("lab")
    assert (
        folder / "01_build.ipynb"
    ).read_text() == "mine"  # and what is missing is added
    names = [f"{name}.ipynb" for name in [*NAMES, "04_compare", "05_monitor"]]
    assert sorted(there(folder)) == names
    (folder / "02_check-2.ipynb").write_text("no notebook")
    before = there(folder)
    assert run(MINE).exit_code == 0
    after = there(folder)
    assert before.items() <= after.items()
    assert sorted(after.keys() - before.keys()) == [f"{name}-3.ipynb" for name in NAMES]
    assert (
        parameters(folder / "02_check-3.ipynb")[0]["cases"] is None
    )  # those of the gallery are not one's own
    notebook = nbformat.read(folder / "01_build-3.ipynb", as_version=4)
    notebook.cells[4].source = "1 + 1"
    nbformat.write(notebook, folder / "01_build-3.ipynb")
    after = there(folder)
    assert run(MINE).exit_code == 0 and there(folder) == after
    assert [command[4] for command, _ in opened[1:]] == ["01_build-3.ipynb"] * 2


def test_the_notebook_on_a_run_is_for_a_log_with_steps(opened, folder):
    log = folder / "log.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    stepped = [{**row, "step": at // 8} for at, row in enumerate(rows)]
    write_rows(log, stepped)
    assert run(MINE).exit_code == 0
    folder /= "rewardkit-notebooks"
    names = [f"{name}.ipynb" for name in [*NAMES, "05_monitor"]]
    assert sorted(there(folder)) == names
    assert parameters(folder / names[-1])[0]["reward"] == "../mine.py:strict"


@pytest.mark.parametrize(
    ("options", "names", "name", "value"),
    [
        ("", ["01_build"], "reward", ""),
        (
            "--reward logged --log-weight good=2",
            ["01_build", "03_analyze"],
            "reading",
            {"log_weights": {"good": 2.0}},
        ),
    ],
)
def test_without_a_reward_to_run_there_are_only_the_notebooks_that_need_none(
    opened, folder, options, names, name, value
):
    assert run(f"lab --rollouts log.jsonl {options}").exit_code == 0
    folder /= "rewardkit-notebooks"
    assert sorted(there(folder)) == [f"{name}.ipynb" for name in names]
    assert parameters(folder / f"{names[-1]}.ipynb")[0][name] == value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("new 2x --log log.jsonl", "'2x' cannot be the name of a Python file"),
        ("new task --log said.jsonl", "no column holds the completions"),
        ("new task", "Missing option '--log'"),
        (
            "new mine --log log.jsonl -o .",
            "'mine.py' is there, and is not written over",
        ),
        (
            "lab --reward mine.py",
            "--reward is for notebooks on rollouts of yours; give --rollouts",
        ),
        ("lab mine.py", "mine.py is for notebooks on rollouts of yours"),
        ("lab mine.py log.jsonl cases.jsonl", "'cases.jsonl' is one argument too many"),
        ("lab --reward mine.py log.jsonl x", "'x' is one argument too many"),
        ("lab --seed 3", "--seed is for notebooks on rollouts"),
        ("lab --rollouts log.jsonl --reward gallery:mixed", "asks for 'data_source'"),
        (f"{MINE} --cases nope.jsonl", "there is no case file 'nope.jsonl'"),
        (f"{MINE} --label god", "the rollouts have no column 'god'; they have"),
        (f"{MINE} --baseline nope.json", "nope.json"),
        (
            f"{MINE} --log-weight good=1",
            "which is not among the rewards ['mine.py:strict']; give",
        ),
        (
            "lab --rollouts log.jsonl --cases cases.jsonl",
            "cannot be checked against cases; leave them out",
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence_before_anything_is_written_or_started(
    opened, folder, line, said
):
    before = there(folder)
    refused(line, said)
    assert opened == [] and there(folder) == before


def test_without_jupyterlab_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(design, "find_spec", lambda name: None)
    refused("lab", "pip install 'reward-workbench[notebook]'")


@pytest.mark.parametrize(
    ("seen", "value", "there"),
    [
        (seen_from, "log.jsonl", "../../log.jsonl"),
        (seen_from, "gallery:arithmetic", "gallery:arithmetic"),
        (seen_from, "/data/log.jsonl", "/data/log.jsonl"),
        (design.seen_reward_from, "sub/mine.py:strict", "../../sub/mine.py:strict"),
        (design.seen_reward_from, "package.module:name", "package.module:name"),
        (design.seen_options_from, {"join": "t.csv"}, {"join": "../../t.csv"}),
        (design.seen_options_from, {"on": "log.jsonl"}, {"on": "log.jsonl"}),
    ],
)
def test_a_path_is_that_of_the_folder_in_which_the_notebook_runs(
    folder, seen, value, there
):
    assert seen(folder / "a/b", value) == there


def test_a_value_is_put_in_place_behind_any_letters_and_what_is_not_finite_can_be_read_again():
    source = (
        'name: str = "\u00e9"  # "caf\u00e9"\nlimit: float = 1  # seconds\nother = 3'
    )
    made = with_values(source, {"name": "\ud800'\"", "limit": float("inf"), "other": 4})
    values = {}
    exec(made, values)
    assert (
        values["name"] == "\ud800'\""
        and values["limit"] == float("inf")
        and values["other"] == 3
    )
    assert made.count('  # "caf\u00e9"\n') == 1
    made.encode()


def test_a_notebook_with_values_runs_in_its_folder_and_takes_them(
    opened, folder, monkeypatch
):
    assert run(MINE).exit_code == 0
    monkeypatch.chdir(folder / "rewardkit-notebooks")
    notebook = nbformat.read("01_build.ipynb", as_version=4)
    told = "(len(rollouts), reward.name, float(scores.rewards.sum()))"
    notebook.cells.append(nbformat.v4.new_code_cell(told))
    nbformat.write(notebook, "01_build.ipynb")
    notebook, error = executed("01_build.ipynb")
    assert error is None
    assert notebook.cells[-1].outputs[-1].data["text/plain"] == "(16, 'strict', 5.0)"
