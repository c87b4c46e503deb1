"""Time limits: a component that hangs, backtracks or ends its process costs its own row and no other."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time

import pytest

import rewardkit as rk
from rewardkit.limits import CannotLimit, TimeLimit

SECONDS = 1.0
FAULTS = {"sleep": "took longer than 1 s", "a" * 64 + "b": "took longer than 1 s"}


def rows(*completions):
    return [
        {"prompt_id": "p", "completion": completion, "ground_truth": "x"}
        for completion in ["fine", *completions, "fine too"]
    ]


def sleeps(completion):
    if completion == "sleep":
        time.sleep(10**6)
    return 0.5


def backtracks(completion):
    return 0.0 if re.match(r"(a+)+$", completion) else 0.5


def exits(completion):
    if completion == "exit":
        os._exit(7)
    return 0.5


async def awaits(completion):
    if completion == "await":
        await asyncio.sleep(10**6)
    if completion == "block":
        time.sleep(10**6)
    rk.note("seen", completion)
    return 0.5


def batch(completion):
    return [sleeps(text) for text in completion]


def one(function, **options):
    return rk.Reward("limited", components=[rk.Component("c", function, **options)])


def outcome(scores):
    return list(
        zip(scores.status("c").tolist(), scores.table["error/c"], scores.score("c").tolist(), strict=True)
    )


FINE = (0, None, 0.5)


@pytest.mark.parametrize(
    ("function", "completion", "said"),
    [
        (sleeps, "sleep", "took longer than 1 s"),
        (backtracks, "a" * 64 + "b", "took longer than 1 s"),
        (exits, "exit", "ended its process (exit status 7)"),
        (awaits, "await", "took longer than 1 s"),
        (awaits, "block", "took longer than 1 s"),
    ],
)
def test_a_call_that_does_not_come_back_is_an_error_of_its_row_and_the_rest_is_scored(
    function, completion, said
):
    first, hung, last = outcome(rk.score(one(function), rows(completion), timeout=SECONDS))
    assert first == last == FINE
    assert hung[:2] == (3, said) and hung[2] != hung[2]


def test_it_works_from_a_thread():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(
            rk.score(one(sleeps), rows("sleep"), timeout=SECONDS).status("c").tolist()
        )
    )
    thread.start()
    thread.join()
    assert found == [[0, 3, 0]]


def test_it_works_under_a_running_event_loop():
    async def notebook():
        return rk.score(one(awaits), rows("await"), timeout=SECONDS)

    assert asyncio.run(notebook()).status("c").tolist() == [0, 3, 0]


def test_a_batch_or_group_is_one_call():
    for kind in ("batch", "group"):
        scores = rk.score(one(batch, **{kind: True}), rows("sleep"), timeout=SECONDS)
        assert scores.table["error/c"].tolist() == ["took longer than 1 s"] * 3
        assert rk.score(one(batch, **{kind: True}), rows(), timeout=SECONDS).score("c").tolist() == [0.5, 0.5]


def test_fields_and_gates_are_bounded_too():
    def slow_field(completion):
        if completion == "sleep":
            time.sleep(10**6)
        return completion

    def slow_gate(completion):
        if completion == "exit":
            os._exit(1)
        return True

    reward = rk.Reward(
        "limited",
        fields={"text": slow_field},
        components=[
            rk.Component("c", lambda text: 0.5),
            rk.Component("d", lambda completion: 0.5, gate=rk.gate(slow_gate)),
        ],
    )
    scores = rk.score(reward, rows("sleep", "exit"), timeout=SECONDS)
    assert scores.status("c").tolist() == [0, 3, 0, 0]
    assert scores.table["error/c"][1] == "field 'text' failed: took longer than 1 s"
    assert scores.status("d").tolist() == [0, 0, 3, 0]
    assert scores.table["error/d"][2] == "its gate failed: ended its process (exit status 1)"


def test_a_limit_changes_no_score_no_note_and_no_error():
    def noting(completion, *, ground_truth):
        rk.note("length", len(completion))
        if completion == "raise":
            raise ValueError("no")
        return len(completion) / 100

    reward = rk.Reward(
        "limited",
        components=[
            rk.Component("c", noting, columns={"ground_truth": "ground_truth"}),
            rk.Component("a", awaits),
            rk.Component("none", lambda completion: None),
            rk.Component("text", lambda completion: "1"),
            rk.Component("out", lambda completion: 2.0),
        ],
    )
    table = rows("raise", "other")
    free = rk.score(reward, table, notes=True)
    limited = rk.score(reward, table, notes=True, timeout=SECONDS)
    for column in free.table:
        assert limited.table[column].astype(str).tolist() == free.table[column].astype(str).tolist(), column
    assert limited.table["note/length"].tolist() == free.table["note/length"].tolist()
    assert limited.run["timeout"] == SECONDS and free.run["timeout"] is None


def test_rewardkit_s_own_functions_run_in_this_process():
    assert not TimeLimit.needed(rk.verify.numbers_equal)
    assert not TimeLimit.needed(rk.extract.first_of(rk.extract.tag("a"), rk.extract.number()))
    assert TimeLimit.needed(sleeps)
    assert TimeLimit.needed(lambda completion: 1.0)


def test_a_function_that_cannot_be_sent_is_one_clear_error():
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 1.0

    with pytest.raises(CannotLimit, match=r"locked cannot be called in another process.*score without timeo"):
        rk.score(one(locked), rows(), timeout=SECONDS)
    assert rk.score(one(locked), rows()).score("c").tolist() == [1.0, 1.0]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "soon"])
def test_a_timeout_that_is_no_time_is_refused(timeout):
    with pytest.raises(rk.RewardError, match="is not a time"):
        rk.score(one(sleeps), rows(), timeout=timeout)


def test_cases_are_checked_under_a_limit(tmp_path):
    cases = tmp_path / "cases.jsonl"
    lines = [
        {"name": name, "completion": name, "ground_truth": "x", "scores": {"c": 0.5}}
        for name in ("sleep", "fine")
    ]
    cases.write_text("\n".join(map(json.dumps, lines)))
    result = rk.check(one(sleeps), cases, timeout=SECONDS)
    assert (result.passed, [miss.case for miss in result.misses]) == (1, ["sleep"])


FILE = """
import os, threading, time
from beside import HALF
LOCK = threading.Lock()  # cannot be pickled, and need not be: the worker runs the file itself

def reward(completion, ground_truth):
    with LOCK:
        if completion == "sleep":
            time.sleep(10**6)
        return HALF
"""


def test_a_reward_file_is_run_again_in_the_worker(tmp_path):
    (tmp_path / "beside.py").write_text("HALF = 0.5\n")
    (tmp_path / "mine.py").write_text(FILE)
    loaded = rk.load_reward(f"{tmp_path / 'mine.py'}:reward")
    scores = rk.score(loaded, rows("sleep"), timeout=SECONDS)
    assert scores.status("reward").tolist() == [0, 3, 0]


NOTEBOOK = """
import time
import rewardkit as rk

def sleeps(completion):
    if completion == "sleep":
        time.sleep(10**6)
    return 0.5

rows = [{"prompt_id": "p", "completion": text} for text in ("fine", "sleep", "fine too")]
scores = rk.score(rk.Reward("limited", components=[rk.Component("c", sleeps)]), rows, timeout=1.0)
print(scores.status("c").tolist(), scores.table["error/c"][1])
"""


def test_a_function_of_a_notebook_s_cell_is_bounded_in_the_notebook():
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK, id="0")])
    NotebookClient(notebook, timeout=60).execute()
    printed = [output.text for output in notebook.cells[0].outputs if output.get("name") == "stdout"]
    assert "".join(printed).strip() == "[0, 3, 0] took longer than 1 s"
