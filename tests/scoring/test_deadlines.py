"""Time limits: a component that hangs, backtracks or ends its process costs its own row and no other."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import rewardkit as rk
from rewardkit.scoring.deadlines import CannotLimit, TimeLimit, cannot_limit

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
    if completion == "exit":
        os._exit(7)
    if completion == "stop":
        asyncio.get_running_loop().stop()
        await asyncio.sleep(10**6)
    if completion == "raise":
        raise KeyError("no such thing")
    if completion == "stubborn":
        try:
            await asyncio.sleep(10**6)
        except asyncio.CancelledError:
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
        (awaits, "exit", "ended its process (exit status 7)"),
        (awaits, "stubborn", "took longer than 1 s"),
        (awaits, "stop", "Event loop stopped before Future completed."),
        (awaits, "raise", "KeyError: 'no such thing'"),
    ],
)
def test_a_call_that_does_not_come_back_is_an_error_of_its_row_and_the_rest_is_scored(
    function, completion, said
):
    first, hung, last = outcome(rk.score(one(function), rows(completion), timeout=SECONDS))
    assert first == last == FINE
    assert hung[:2] == (3, said) and hung[2] != hung[2]


def test_coroutines_wait_together_and_one_that_blocks_harms_no_neighbour():
    async def waits(completion):
        if completion == "block":
            time.sleep(10**6)
        await asyncio.sleep(0.8 * SECONDS)
        return 0.5

    started = time.monotonic()
    assert rk.score(one(waits), rows(*["wait"] * 14), timeout=SECONDS).score("c").tolist() == [0.5] * 16
    assert time.monotonic() - started < 8  # one after the other they would need 13 s
    scores = rk.score(one(waits), rows("wait", "block"), timeout=SECONDS)
    assert scores.status("c").tolist() == [0, 0, 3, 0]


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

    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop, of a browser's test
        assert pool.submit(asyncio.run, notebook()).result().status("c").tolist() == [0, 3, 0]


def test_a_batch_or_group_is_one_call():
    for kind in ("batch", "group"):
        scores = rk.score(one(batch, **{kind: True}), rows("sleep"), timeout=SECONDS)
        assert scores.table["error/c"].tolist() == ["took longer than 1 s"] * 3
        assert rk.score(one(batch, **{kind: True}), rows(), timeout=SECONDS).score("c").tolist() == [0.5, 0.5]


def test_a_batch_may_give_anything_that_can_be_listed():
    for give in (
        iter,
        tuple,
        lambda scores: (s for s in scores),
        lambda s: {1: s[0]}.values(),
    ):

        def listing(completion, give=give):
            return give([0.5])

        for timeout in (None, SECONDS):
            scores = rk.score(one(listing, batch=True), rows()[:1], timeout=timeout)
            assert scores.table["error/c"].tolist() == [None], give


@pytest.mark.parametrize("given", ["1", b"1", {0.5: 1}])
def test_a_batch_may_not_give_a_text_or_a_dict_though_both_can_be_listed(given):
    for timeout in (None, SECONDS):
        scores = rk.score(one(lambda completion: given, batch=True), rows()[:1], timeout=timeout)
        assert "not a list of scores" in scores.table["error/c"][0]


class Slow(float):
    """A number that takes its time to say which."""

    def __float__(self):
        time.sleep(10**6)

    __repr__ = __float__


@pytest.mark.parametrize(
    ("give", "options"),
    [
        (lambda completion: Slow(0.5), {}),
        (lambda completion: [Slow(0.5) for _ in completion], {"batch": True}),
    ],
    ids=["number", "batch of numbers"],
)
def test_a_result_that_takes_its_time_is_bounded_too(give, options):
    scores = rk.score(one(give, **options), rows(), timeout=SECONDS)
    assert scores.table["error/c"].tolist() == ["took longer than 1 s"] * 2


def test_a_gate_s_answer_is_made_plain_over_there():
    gate = rk.gate(lambda completion: Slow(0.5))
    scores = rk.score(one(lambda completion: 0.5, gate=gate), rows(), timeout=SECONDS)
    assert scores.table["error/c"].tolist() == ["its gate failed: took longer than 1 s"] * 2


def test_a_field_that_can_be_gone_through_once_serves_all_that_ask_for_it():
    for give in (lambda text: (word for word in text.split()), lambda text: {1: text}.values()):
        reward = rk.Reward(
            "limited",
            fields={"words": lambda completion, give=give: give(completion)},
            components=[rk.Component(name, lambda words: len(list(words)) / 4) for name in ("c", "d")],
        )
        for timeout in (None, SECONDS):
            scores = rk.score(reward, rows()[:1], timeout=timeout)
            assert scores.score("c").tolist() == scores.score("d").tolist() == [0.25]


def test_what_cannot_be_sent_back_is_said_without_addresses():
    reward = rk.Reward(
        "limited",
        fields={"found": lambda completion: re.match("f", completion)},
        components=[rk.Component("c", lambda found: 0.5)],
    )
    assert rk.score(reward, rows()).score("c").tolist() == [0.5, 0.5]
    assert rk.score(reward, rows(), timeout=SECONDS).table["error/c"][0] == (
        "field 'found' failed: returned what cannot be sent from the process that a time limit needs "
        "(cannot pickle 're.Match' object); return plain values, or score without timeout"
    )


def test_a_note_that_cannot_be_sent_back_costs_no_score():
    def notes(completion):
        rk.note("found", re.match("f", completion))
        rk.note("length", len(completion))
        return 0.5

    for timeout in (None, SECONDS):
        scores = rk.score(one(notes), rows(), notes=True, timeout=timeout)
        assert scores.score("c").tolist() == [0.5, 0.5]
        assert "re.Match" in str(scores.table["note/found"][0])
        assert scores.table["note/length"].tolist() == [4, 8]


class Panic(BaseException):
    """As a Rust extension raises where it fails."""


@pytest.mark.parametrize("error", [Panic, GeneratorExit, SystemExit, pytest.fail.Exception])
@pytest.mark.parametrize("timeout", [None, SECONDS])
def test_whatever_a_function_raises_is_an_error_of_its_row(error, timeout):
    def raises(completion):
        if completion == "raise":
            raise error("no")
        return 0.5

    async def awaited(completion):
        return raises(completion)

    for function in (raises, awaited):
        first, raised, last = outcome(rk.score(one(function), rows("raise"), timeout=timeout))
        assert first == last == FINE
        assert raised[:2] == (3, f"{error.__name__}: no")


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


def test_a_wrapper_is_no_function_of_rewardkit_s_though_it_has_its_name():
    @functools.wraps(rk.verify.numbers_equal)
    def wrapped(prediction, ground_truth):
        time.sleep(10**6)

    assert TimeLimit.needed(wrapped)
    assert TimeLimit.needed(functools.lru_cache(rk.verify.numbers_equal))
    columns = {"prediction": "completion"}
    ours, theirs = (one(function, columns=columns) for function in (rk.verify.numbers_equal, wrapped))
    assert ours.record()["fingerprints"] != theirs.record()["fingerprints"]
    limited = rk.score(theirs, rows(), timeout=0.2)
    assert limited.table["error/c"].tolist() == ["took longer than 0.2 s"] * 2


class Tokenizer:
    """Not callable, as many are not."""

    def encode(self, text):
        time.sleep(0 if text != "sleep" else 10**6)
        return text.split()


def test_a_tokenizer_is_the_user_s_code():
    reward = one(rk.measure.length(full_until=3, zero_from=6, unit="tokens", tokenizer=Tokenizer()))
    assert rk.score(reward, rows("sleep"), timeout=SECONDS).status("c").tolist() == [0, 3, 0]
    assert "test_deadlines.py" in reward.record()["sources"]


def test_whether_a_gate_can_be_limited_is_known_beforehand():
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return True

    assert cannot_limit([rk.gate(sleeps), rk.verify.matches]) is None
    assert "locked cannot be called in another process" in cannot_limit([sleeps, rk.gate(locked)])


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


def test_after_so_many_late_calls_of_a_pass_the_others_of_it_are_not_made():
    scores = rk.score(one(sleeps), rows(*["sleep"] * 12), timeout=0.3, patience=1)
    reasons = scores.table["error/c"].dropna().tolist()
    assert reasons.count("took longer than 0.3 s") == 1
    assert sum("was not tried" in reason for reason in reasons) >= 10
