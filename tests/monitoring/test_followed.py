"""A run that is looked at again and again: what was read is not read again, and the verdict is that of one look."""

import json
import os
from contextlib import suppress
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from commands import run

import rewardkit as rk
from rewardkit.history.files import RECORDER, part_name
from rewardkit.history.parts import holds_scores
from rewardkit.monitoring import readings
from rewardkit.monitoring.readings import CompletionReader
from rewardkit.monitoring.windows import Windows
from rewardkit.plain import to_json
from rewardkit.rollouts import lines
from rewardkit.rollouts.file_cache import FileCache
from rewardkit.rollouts.paths import bundled
from rewardkit.scoring.stored import write_table

ROWS_A_STEP, SESSION = 16, "1a2b3c4d"


@cache
def collapsed():
    """The first rows of each step of the run that collapsed."""
    log = rk.load_rollouts("gallery:brevity")
    number = log.table.groupby("step").cumcount()
    return log.select((number < ROWS_A_STEP).to_numpy().nonzero()[0])


def put(folder, number, *steps, session=SESSION):
    """Put a part with some steps into its place, as a recorder does."""
    folder.mkdir(exist_ok=True)
    log = collapsed()
    rows = log.table["step"].isin(steps).to_numpy().nonzero()[0]
    scores = rk.score(rk.recorded(log), log.select(rows))
    about = {"session": session, "run": session, "part": number, "before": {}}
    about |= {"steps": "trainer", "calls": 0, "redacted": False, "sample": 1.0}
    record = {**scores.record, RECORDER: {**about, "rows_left_out": 0}}
    write_table(folder / part_name(session, number), scores.table, record)


def halve(folder, number):
    path = folder / part_name(SESSION, number)
    path.write_bytes(path.read_bytes()[:-100])


def empty(folder):
    for path in folder.iterdir():
        path.unlink()


LOG = bundled("data/brevity/rollouts.jsonl").read_text().splitlines(keepends=True)
LINES = [line for row, line in enumerate(LOG) if row % 128 < 32]
"""Of each step of it the first groups."""


def add(*written, name="1.jsonl", mode="a"):
    """Return a change that writes lines into a file of a folder."""

    def change(folder):
        folder.mkdir(exist_ok=True)
        with open(folder / name, mode) as file:
            file.write("".join(written))

    return change


TABLE = {
    "columns": ["prompt", "completion", "step", "reward"],
    "data": [["2+2?", str(row), row % 4, row % 3] for row in range(40)],
}
HISTORIES = {
    "grown": [
        lambda run: put(run, 1, 0),
        lambda run: put(run, 2, 20, 40),
        lambda run: put(run, 3, 60, 80, 100, 120, 140),
    ],
    "replaced": [
        lambda run: (put(run, 1, 0, 20), put(run, 2, 40)),
        lambda run: put(run, 2, 60, 80),
    ],
    "emptied": [
        lambda run: (put(run, 1, 0, 20), put(run, 2, 40)),
        empty,
        lambda run: put(run, 1, 0, 20, 40, session="5e6f7a8b"),
    ],
    "half a part": [
        lambda run: (put(run, 1, 0, 20), put(run, 2, 40), halve(run, 2)),
        lambda run: put(run, 2, 40),
    ],
    "lines added": [add(*LINES[:32]), add(*LINES[32:96]), add(*LINES[96:128])],
    "half a line": [
        add(*LINES[:32], LINES[32][:50]),
        add(LINES[32][50:]),
        add(*LINES[33:64]),
    ],
    "lines that are none": [
        add(*LINES[:50], '\n[1]\n{"a": \n'),
        add(*LINES[50:75]),
    ],
    "begun anew, longer": [add(*LINES[:50]), add(*LINES[25:125], mode="w")],
    "begun anew, shorter": [add(*LINES[:75]), add(*LINES[50:96], mode="w")],
    "one file of several": [
        add(*LINES[:50]),
        add(*LINES[50:75], name="2.jsonl"),
        add(*LINES[75:100], name="2.jsonl"),
    ],
    "tables of a tracker": [add(json.dumps(TABLE), "\n"), add(json.dumps(TABLE))],
}


def look(source, cache=None, reader=None):
    """Return all that is said of a run, as text."""
    try:
        if holds_scores(source):
            scores = rk.load_scores(source, cache=cache)
        else:
            log = rk.load_rollouts(source, cache=cache)
            scores = rk.score(rk.recorded(log), log)
    except rk.RolloutsError as error:
        return str(error)
    told = [scores.table.to_json(), scores.record, scores.rollouts.notes]
    told.append([*scores.rollouts.rejected])
    with suppress(rk.InputError):  # of one step, or of two runs
        watched = rk.monitor(scores, reader=reader)
        told += [watched.record(), watched.page().text(verbose=True)]
    return json.dumps(to_json(told))


@pytest.mark.parametrize("changes", HISTORIES.values(), ids=HISTORIES)
def test_looks_at_what_is_new_say_what_one_look_at_all_says(changes, tmp_path):
    cache, reader = FileCache(), CompletionReader()
    tmp_path.joinpath("run").mkdir()
    for change in changes:
        change(tmp_path / "run")
        assert cache.has_news(tmp_path / "run")
        assert look(tmp_path / "run", cache, reader) == look(tmp_path / "run")
        assert not cache.has_news(tmp_path / "run")


def test_a_part_that_was_read_is_not_read_again(tmp_path):
    cache = FileCache()
    put(tmp_path / "run", 1, 0, 20)
    look(tmp_path / "run", cache)
    put(tmp_path / "run", 2, 40)
    told = look(tmp_path / "run", cache)
    for path in (tmp_path / "run").iterdir():  # now none of them could be read
        status = path.stat()
        path.write_bytes(b"0" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert look(tmp_path / "run", cache) == told


def test_of_lines_that_are_added_these_alone_are_read(tmp_path, monkeypatch):
    sizes = []
    read_lines = lines.read_lines

    def counted(file, before):
        sizes.append(len(file.getvalue()))
        return read_lines(file, before)

    monkeypatch.setattr(lines, "read_lines", counted)
    cache = FileCache()
    for change in HISTORIES["lines added"]:
        change(tmp_path)
        look(tmp_path, cache)
    assert sum(sizes) == (tmp_path / "1.jsonl").stat().st_size


def test_a_completion_that_was_read_is_not_read_again(tmp_path, monkeypatch):
    read = []
    read_statement = readings.read_statement

    def counted(completion, truth):
        read.append((completion, truth))
        return read_statement(completion, truth)

    monkeypatch.setattr(readings, "read_statement", counted)
    reader = CompletionReader()
    for change in HISTORIES["lines added"]:
        change(tmp_path)
        look(tmp_path, reader=reader)
    assert len(read) == len(set(read)) > 0


def test_of_a_run_that_grows_mostly_the_same_groups_are_read():
    looks = []
    for steps in (4_000, 4_400):
        groups = np.repeat(np.arange(8 * steps), 8)
        windows = Windows.of(groups // 8, groups)
        rows = windows.spread_rows(20_000)
        of_window = np.bincount(windows.row_windows[rows])
        assert of_window.max() - of_window.min() <= 16  # two groups
        looks.append(set(groups[rows]))
    before, after = looks
    assert len(after - before) < 0.2 * len(after)  # a tenth is new steps


def test_a_run_that_has_no_news_is_not_looked_at(tmp_path, monkeypatch):
    loads = []
    load_rollouts = rk.load_rollouts
    changes = iter([add(*LINES[:75]), lambda run: None, add(*LINES[75:150])])

    def sleep(seconds):
        change = next(changes, None)
        if change is None:
            raise KeyboardInterrupt
        change(tmp_path)

    def counted(source, **options):
        loads.append(source)
        return load_rollouts(source, **options)

    monkeypatch.setattr("rewardkit.cli.watch.time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(rk, "load_rollouts", counted)
    sleep(0)
    run(f"monitor {tmp_path} --follow")
    assert len(loads) == 2
