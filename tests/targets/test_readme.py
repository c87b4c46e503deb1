"""The table of targets in rewardkit/targets/README.md says what the code does."""

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from rewardkit import targets

ROOT = Path(__file__).parents[2]
TEXT = (Path(targets.__file__).parent / "README.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("## What each can do\n")[2].partition("\n## ")[0]
LINES = [
    line.strip("|").split("|") for line in SECTION.splitlines() if line.startswith("|")
]
ROWS = [[cell.strip() for cell in cells] for cells in LINES]
TABLE = {row[0]: row for row in ROWS[2:]}


def test_the_table_has_every_target_in_the_order_in_which_they_are_asked():
    assert list(TABLE) == [target.name for target in targets.TARGETS]


@pytest.mark.parametrize("target", targets.TARGETS, ids=lambda target: target.name)
def test_a_target_can_do_what_the_table_says(target):
    _, _, written, called = TABLE[target.name]
    assert (written == "yes") is (target.functions is not None)
    assert (called == "-") is (target.call is None)
    source = inspect.getsource(inspect.getmodule(target.call or target.readings))
    for name in re.findall("`(.*?)`", called):
        assert name.rpartition(".")[2] in source, f"{target.name} does not call {name}"
    assert ("copy in small" in called) is ("copy in small" in source)


def test_a_caller_is_run_by_a_test_in_an_environment_that_has_the_trainer():
    described = tomllib.loads(
        (ROOT / "tests/trainers/environments.toml").read_text(encoding="utf-8")
    )
    files = [
        ROOT / test
        for one in described["environment"].values()
        for test in one["tests"]
    ]
    run = {file.stem for file in files}
    names = [
        inspect.getmodule(one.readings).__name__ for one in targets.TARGETS if one.call
    ]
    assert {f"test_{name.rpartition('.')[2]}" for name in names} <= run
    assert all(file.is_file() for file in files)
