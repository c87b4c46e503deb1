"""`rewardkit lab`: on which notebooks JupyterLab is opened, and what is in them; it is not started here."""

import json
import subprocess
import sys

import nbformat
import pytest
from commands import refused, run
from executed import executed

from rewardkit.cli import lab
from rewardkit.cli.lab import _from_folder as from_folder
from rewardkit.rollouts.package_data import bundled
from rewardkit.starting.notebooks import with_values

NAMES = ["01_build", "02_check", "03_analyze"]
REWARD = "def strict(completion, ground_truth):\n    return float(completion == ground_truth)\n"
MINE = "lab --reward mine.py:strict --rollouts log.jsonl"


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A working folder with files of one's own, and the calls that would have started JupyterLab."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(REWARD)
    rows = [
        {"prompt": f"p{n // 4}", "completion": str(n % 3), "ground_truth": "1", "good": n % 2}
        for n in range(16)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    case = {"completion": "1", "ground_truth": "1", "reward": 1}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    calls = []
    monkeypatch.setattr(subprocess, "call", lambda command, cwd: calls.append((command, cwd)) or 0)
    return calls


def parameters(path):
    """The values of the parameters of a notebook, and the source of their cell."""
    (cell,) = (
        cell
        for cell in nbformat.read(path, as_version=4).cells
        if "parameters" in cell.metadata.get("tags", [])
    )
    values = {}
    exec(cell.source, values)
    return values, cell.source


def there(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_without_options_the_copies_are_the_bundled_notebooks_and_the_first_is_opened(opened, tmp_path):
    assert run("lab --no-browser --port 9999").exit_code == 0
    ((command, folder),) = opened
    assert command[:4] == [sys.executable, "-m", "jupyter", "lab"]
    assert command[4:] == ["01_build.ipynb", "--no-browser", "--port", "9999"]
    assert folder.as_posix() == "rewardkit-notebooks"
    copies = {name: (tmp_path / folder / f"{name}.ipynb").read_bytes() for name in NAMES}
    assert copies == {name: bundled(f"notebooks/{name}.ipynb").read_bytes() for name in NAMES}


def test_the_parameters_have_the_values_and_keep_types_and_comments(opened, tmp_path):
    options = (
        "--cases cases.jsonl --label good --seed 7 --by good --timeout 2.5 --training scale_rewards=none"
    )
    options += " --column completion=completion --group prompt --redact --set \"task=a 'b'\""
    result = run(f"{MINE} {options}")
    assert result.exit_code == 0, result.stderr
    folder = tmp_path / "rewardkit-notebooks"
    for name in NAMES:
        values, source = parameters(folder / f"{name}.ipynb")
        _, before = parameters(bundled(f"notebooks/{name}.ipynb"))
        assert values["reward"] == "../mine.py:strict" and values["rollouts"] == "../log.jsonl"
        assert values["columns"] == {"completion": "completion"} and values["group"] == ["prompt"]
        assert values["timeout"] == 2.5 and values["redact"] is True and values["fill"] == {"task": "a 'b'"}
        for line, old in zip(source.splitlines(), before.splitlines(), strict=True):
            assert line.partition(" = ")[0] == old.partition(" = ")[0]
            assert line.endswith(old[old.index("  # ") :])
    check, analyze = (parameters(folder / f"{name}.ipynb")[0] for name in NAMES[1:])
    assert check["cases"] == "../cases.jsonl" and check["label"] == analyze["label"] == "good"
    assert analyze["training"]["scale_rewards"] == "none" and analyze["by"] == ["good"] and check["seed"] == 7
    assert "budget: float = 60 " in parameters(folder / "02_check.ipynb")[1]  # not asked for: as it was


def test_other_values_get_copies_of_their_own_and_the_same_ones_open_again_as_they_are(opened, tmp_path):
    folder = tmp_path / "rewardkit-notebooks"
    folder.mkdir()
    (folder / "01_build.ipynb").write_text("mine")
    run("lab")
    assert (folder / "01_build.ipynb").read_text() == "mine"  # and what is missing is added
    assert sorted(there(folder)) == [f"{name}.ipynb" for name in NAMES]
    (folder / "02_check-2.ipynb").write_text("no notebook")
    before = there(folder)
    assert run(MINE).exit_code == 0
    after = there(folder)
    assert before.items() <= after.items()
    assert sorted(after.keys() - before.keys()) == [f"{name}-3.ipynb" for name in NAMES]
    assert parameters(folder / "02_check-3.ipynb")[0]["cases"] == ""  # those of the gallery are not one's own
    notebook = nbformat.read(folder / "01_build-3.ipynb", as_version=4)
    notebook.cells[4].source = "1 + 1"
    nbformat.write(notebook, folder / "01_build-3.ipynb")
    after = there(folder)
    assert run(MINE).exit_code == 0 and there(folder) == after
    assert [command[4] for command, _ in opened[1:]] == ["01_build-3.ipynb"] * 2


@pytest.mark.parametrize(
    ("options", "names", "values"),
    [
        ("", ["01_build"], {"reward": ""}),
        (
            "--reward logged --log-weight good=2",
            ["01_build", "03_analyze"],
            {"reward": "logged", "log_weights": {"good": 2.0}},
        ),
    ],
)
def test_without_a_reward_to_run_there_are_only_the_notebooks_that_need_none(
    opened, tmp_path, options, names, values
):
    assert run(f"lab --rollouts log.jsonl {options}").exit_code == 0
    folder = tmp_path / "rewardkit-notebooks"
    assert sorted(there(folder)) == [f"{name}.ipynb" for name in names]
    found, _ = parameters(folder / f"{names[-1]}.ipynb")
    assert found.items() >= {**values, "rollouts": "../log.jsonl"}.items()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lab --reward mine.py", "--reward is for notebooks on rollouts of yours; give --rollouts"),
        ("lab --seed 3", "--seed is for notebooks on rollouts"),
        ("lab --rollouts nope.jsonl", "nope.jsonl"),
        ("lab --rollouts log.jsonl --reward nope.py", "there is no reward file 'nope.py'"),
        ("lab --rollouts log.jsonl --reward mine.py:strikt", "did you mean 'strict'"),
        ("lab --rollouts log.jsonl --reward gallery:mixed", "asks for 'data_source'"),
        (f"{MINE} --cases nope.jsonl", "there is no case file 'nope.jsonl'"),
        (f"{MINE} --label god", "the rollouts have no column 'god'; they have"),
        (f"{MINE} --by god", "no column 'god'"),
        (f"{MINE} --baseline nope.json", "nope.json"),
        (
            f"{MINE} --log-weight good=1",
            "the scores of a log, which is not among the rewards ['mine.py:strict']; give",
        ),
        (
            "lab --rollouts log.jsonl --cases cases.jsonl",
            "cannot be checked against cases; leave them out, or give a reward",
        ),
        (f"{MINE} --column completion=nope", "nope"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_before_anything_is_copied_or_started(
    opened, tmp_path, line, said
):
    refused(line, said)
    assert opened == [] and not (tmp_path / "rewardkit-notebooks").exists()


def test_without_jupyterlab_the_extra_is_named(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    refused("lab", "pip install 'reward-workbench[notebook]'")
    assert opened == [] and not (tmp_path / "rewardkit-notebooks").exists()


@pytest.mark.parametrize(
    ("name", "value", "there"),
    [
        ("rollouts", "log.jsonl", "../../log.jsonl"),
        ("rollouts", "gallery:arithmetic", "gallery:arithmetic"),
        ("rollouts", "/data/log.jsonl", "/data/log.jsonl"),
        ("cases", "", ""),
        ("reward", "mine.py", "../../mine.py"),
        ("reward", "sub/mine.py:strict", "../../sub/mine.py:strict"),
        ("reward", "package.module:name", "package.module:name"),
        ("reward", "gallery:arithmetic.flawed", "gallery:arithmetic.flawed"),
        ("reward", "logged", "logged"),
        ("label", "log.jsonl", "log.jsonl"),
    ],
)
def test_a_path_is_that_of_the_folder_in_which_the_notebook_runs(tmp_path, name, value, there, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert from_folder(name, value, tmp_path / "a/b") == there


def test_a_value_is_put_in_place_behind_any_letters_and_what_is_not_finite_can_be_read_again():
    source = 'name: str = "\u00e9"  # "caf\u00e9"\nlimit: float = 1  # seconds\nother = 3'
    made = with_values(source, {"name": "\ud800'\"", "limit": float("inf"), "other": 4})
    values = {}
    exec(made, values)
    assert values["name"] == "\ud800'\"" and values["limit"] == float("inf") and values["other"] == 3
    assert made.count('  # "caf\u00e9"\n') == 1
    made.encode()


def test_a_notebook_with_values_runs_in_its_folder_and_takes_them(opened, tmp_path, monkeypatch):
    assert run(MINE).exit_code == 0
    monkeypatch.chdir(tmp_path / "rewardkit-notebooks")
    notebook = nbformat.read("01_build.ipynb", as_version=4)
    told = "(len(logged), chosen.name, float(scores.rewards.sum()))"
    notebook.cells.append(nbformat.v4.new_code_cell(told))
    nbformat.write(notebook, "01_build.ipynb")
    notebook, error = executed("01_build.ipynb")
    assert error is None
    assert notebook.cells[-1].outputs[-1].data["text/plain"] == "(16, 'strict', 5.0)"
