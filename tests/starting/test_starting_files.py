"""The files that a task starts with: what is refused, what is written, and that the notebook holds it."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from executed import executed
from tables import read_table

import rewardkit as rk
from rewardkit.starting import start as starting

pytestmark = pytest.mark.integration

ROWS = [
    {
        "prompt": f"{at} and 1?",
        "completion": f"<answer>{at + place}</answer>",
        "ground_truth": str(at + 1),
    }
    for at in range(12)
    for place in range(4)
]


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_three_files_are_written_and_nothing_else(written):
    before = set(sys.modules)
    made = written(ROWS, folder="deep/er")
    assert sorted(contents("deep/er")) == ["task.ipynb", "task.py", "task_cases.jsonl"]
    files = [made.reward, made.cases, made.notebook]
    assert files == [
        Path("deep/er") / name for name in ("task.py", "task_cases.jsonl", "task.ipynb")
    ]
    assert made.record() == json.loads(json.dumps(made.record()))
    assert [
        name
        for name in set(sys.modules) - before
        if name.startswith("reward_file_task")
    ] == []


def test_the_same_log_gives_the_same_bytes(written):
    one, other = (written(ROWS, folder=name).reward.parent for name in "ab")
    assert contents(one) == contents(other)


@pytest.mark.parametrize("name", ["task.py", "task_cases.jsonl", "task.ipynb"])
def test_a_file_that_is_there_is_not_written_over_and_nothing_else_is_written(
    written, name
):
    Path(name).write_text("mine")
    with pytest.raises(
        rk.InputError, match=f"{name}' is there, and is not written over"
    ):
        written(ROWS)
    assert contents(".") == {name: b"mine"}
    Path(name).rename("mine")
    Path(name).symlink_to("gone")  # a link that leads nowhere is a file that is there
    with pytest.raises(rk.InputError, match="is not written over"):
        written(ROWS)


NAMES = """
3x :: cannot be the name
class :: cannot be the name
a/b :: cannot be the name
'' :: cannot be the name
json :: 'json' is the name of a module
pandas :: take another
"""


@pytest.mark.parametrize(("name", "said"), read_table(NAMES))
def test_a_name_that_no_module_can_have_or_that_hides_one_is_refused(
    tmp_path, name, said
):
    with pytest.raises(rk.InputError, match=said):
        rk.start(name, "gallery:arithmetic", tmp_path)
    assert contents(tmp_path) == {}


def test_the_folder_of_a_task_of_this_name_is_no_module_that_it_would_hide(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "countdown_again").mkdir()
    started = rk.start("countdown_again", "gallery:arithmetic", tmp_path / "other")
    assert started.reward.is_file()


def test_a_log_that_cannot_be_read_leaves_nothing_behind(tmp_path):
    (tmp_path / "log.jsonl").write_text("")
    for log in ("log.jsonl", "none.jsonl"):
        with pytest.raises(rk.RolloutsError, match=log):
            rk.start("task", tmp_path / log, tmp_path / "new")
    assert list(contents(tmp_path)) == ["log.jsonl"]


def test_a_folder_that_takes_nothing_is_told_and_nothing_is_half_written(
    written, monkeypatch
):
    Path("file").write_text("")
    with pytest.raises(
        rk.InputError, match=r"nothing can be written to 'file' \(File exists\)"
    ):
        written(ROWS, folder="file")
    write = starting.write_whole

    def fails_at_the_notebook(path, fill):
        if path.suffix == ".ipynb":
            raise PermissionError(13, "Permission denied")
        write(path, fill)

    monkeypatch.setattr(starting, "write_whole", fails_at_the_notebook)
    with pytest.raises(
        rk.InputError, match=r"nothing can be written to 'out' \(Permission denied\)"
    ):
        written(ROWS, folder="out")
    assert contents("out") == {}


def test_of_a_long_log_some_rows_are_measured_by_the_seed(written, monkeypatch):
    monkeypatch.setattr(starting, "MOST_MEASURED", 20)
    one, other, again = (
        written(ROWS, folder=name, seed=seed)
        for name, seed in (("a", 1), ("b", 2), ("c", 1))
    )
    assert "of 20 of the 48 completions of" in one.reward.read_text()
    assert one.cases.read_text() != other.cases.read_text()
    assert one.cases.read_text() == again.cases.read_text()


def test_of_long_completions_fewer_are_measured_but_one_at_the_least(
    written, monkeypatch
):
    monkeypatch.setattr(starting, "MOST_CHARACTERS", 180)
    assert 8 <= written(ROWS, folder="a").measured <= 10
    monkeypatch.setattr(starting, "MOST_CHARACTERS", 1)
    assert written(ROWS, folder="b").measured == 1


RENAMED = [
    {"say": row["completion"], "answer": row["ground_truth"], "of": row["prompt"]}
    for row in ROWS
]
COLUMNS = {"completion": "say", "prompt": "of"}


def test_the_next_commands_name_the_files_and_how_the_log_is_read(written):
    options = {"columns": COLUMNS, "group": "prompt", "fill": {"data_source": "it's"}}
    made = written(RENAMED, folder="my folder", **options)
    assert '"group": ["prompt"]' in parameters(made)
    lab, check, probe = map(shlex.split, made.next)
    assert lab == ["jupyter", "lab", "my folder/task.ipynb"]
    assert check == [
        "rewardkit",
        "check",
        "my folder/task.py",
        "my folder/task_cases.jsonl",
    ]
    assert probe[:6] == [
        "rewardkit",
        "probe",
        check[2],
        "../log.jsonl",
        "--cases",
        check[3],
    ]
    columns = {"--column=completion=say", "--column=prompt=of"}
    assert set(probe[6:]) == {*columns, "--group=prompt", "--set=data_source=it's"}


def cells(made):
    return json.loads(made.notebook.read_text())["cells"]


def parameters(made):
    return "".join(cells(made)[1]["source"])


def test_the_notebook_has_no_outputs_typed_parameters_and_ids_that_stay(written):
    made = written(ROWS)
    code = [cell for cell in cells(made) if cell["cell_type"] == "code"]
    assert all(
        cell["outputs"] == [] and cell["execution_count"] is None for cell in code
    )
    assert [cell["id"] for cell in cells(made)] == [
        str(at) for at in range(len(cells(made)))
    ]
    assert cells(made)[1]["metadata"]["tags"] == ["parameters"]
    names: dict = {}
    exec(parameters(made), names)
    assert names["reward"] == "task.py" and names["cases"] == "task_cases.jsonl"
    assert set(names["__annotations__"]) <= set(names)


SEEN = """
. :: ../log.jsonl
a/b :: ../../../log.jsonl
.. :: log.jsonl
link :: ../../../log.jsonl
"""


@pytest.mark.parametrize(("folder", "seen"), read_table(SEEN))
def test_the_log_is_named_as_the_notebook_sees_it_from_a_folder_that_may_be_a_link(
    written, folder, seen, tmp_path
):
    (tmp_path / "so" / "far" / "away").mkdir(parents=True)
    Path("link").symlink_to(tmp_path / "so" / "far" / "away")
    made = written(ROWS, folder=folder, join="../log.jsonl")
    assert f'rollouts: str = "{seen}"' in parameters(made)
    assert f'"join": "{seen}"' in parameters(made)


def test_the_notebook_runs_from_the_folder_of_its_files_and_holds_the_cases(
    written, monkeypatch
):
    made = written(RENAMED, folder="out", columns=COLUMNS)
    monkeypatch.chdir("out")
    notebook, error = executed("task.ipynb")
    assert error is None
    decided, undecided = made.decided, made.undecided
    assert decided and undecided
    passed = f"{decided} of {decided} cases passed, 0 failed, {undecided} undecided"
    assert passed in str(notebook)
    listed = f"Cases to decide, of {decided + undecided}: {undecided}"
    assert listed in str(notebook)
    cases = Path("task_cases.jsonl")
    first, *others = map(json.loads, cases.read_text().splitlines())
    first["above"], first["below"] = first["below"], first["above"]
    cases.write_text("\n".join(map(json.dumps, [first, *others])))
    _, error = executed("task.ipynb")
    assert "1 failed" in str(error) and "more than below" in str(error)


def test_a_log_in_memory_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(rk.InputError, match="start takes the path of a log, not"):
        rk.start("sums", rk.load_rollouts([{"completion": "4"}]), tmp_path / "new")
    assert not list(tmp_path.iterdir())
