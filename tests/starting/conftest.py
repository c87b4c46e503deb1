"""Logs of tasks of many kinds, small, and what `rk.start` makes of them."""

import json

import pytest

import rewardkit as rk


@pytest.fixture(scope="session")
def sums(tmp_path_factory):
    """A task that is started from the bundled sums."""
    return rk.start("sums", "gallery:arithmetic", tmp_path_factory.mktemp("sums"))


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes rows as a log beside the working folder, starts a task from it, and gives what was written."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def made(rows, **options):
        (tmp_path / "log.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
        return rk.start("task", "../log.jsonl", **options)

    return made


@pytest.fixture
def cases():
    """The cases of a task that was started, as they stand in the file."""
    return lambda made: [
        json.loads(line) for line in made.cases.read_text().splitlines()
    ]
