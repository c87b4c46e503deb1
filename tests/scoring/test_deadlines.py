"""Time limits: a component that hangs, backtracks or ends its process costs its own row and no other."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import threading
import time

import pytest
from scored import outcome, reasons, score, statuses

import rewardkit as rk
from rewardkit.scoring.calls import Calls, as_field
from rewardkit.scoring.deadlines import CannotLimit, TimeLimit, cannot_limit

SECONDS = 1.0
FINE, LATE = (0.5, "scored", None), (None, "error", "took longer than 1 s")


def rows(*completions):
    return ["fine", *completions, "fine too"]


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


class Panic(BaseException):
    """As a Rust extension raises where it fails."""


def raises(completion):
    if completion in ERRORS:
        raise ERRORS[completion]
    return 0.5


ERRORS = {
    "panic": Panic("no"),
    "leave": SystemExit("no"),
    "generator": GeneratorExit("no"),
    "interrupt": KeyboardInterrupt("no"),
    "raise": KeyError("no"),
    "cancel": asyncio.CancelledError("no"),
    "time": TimeoutError("no"),
}


async def awaits(completion):
    if completion == "await":
        await asyncio.sleep(10**6)
    if completion == "block":
        time.sleep(10**6)
    if completion == "stubborn":
        try:
            await asyncio.sleep(10**6)
        except asyncio.CancelledError:
            time.sleep(10**6)
    return exits(completion) and raises(completion)


def test_a_call_that_does_not_come_back_is_an_error_of_its_row_and_the_rest_is_scored():
    texts = rows("a" * 64 + "b", "await", "stubborn", "block", "exit")
    scores = score(backtracks, rk.Component("awaits", awaits), rows=texts, timeout=SECONDS)
    ended = (None, "error", "ended its process (exit status 7)")
    assert outcome(scores) == [FINE, LATE, *[FINE] * 5]
    assert outcome(scores, "awaits") == [FINE, FINE, *[LATE] * 3, ended, FINE]


def test_whatever_a_function_raises_is_an_error_of_its_row_and_nothing_is_printed(capfd):
    failed = [(None, "error", f"{type(error).__name__}: {error}") for error in ERRORS.values()]
    scores = score(raises, rk.Component("later", awaits), rows=rows(*ERRORS), timeout=SECONDS)
    assert outcome(scores) == outcome(scores, "later") == [FINE, *failed, FINE]
    assert outcome(score(awaits, rows=rows(*ERRORS))) == [FINE, *failed, FINE]
    assert capfd.readouterr() == ("", "")


class Slow(float):
    """A number that takes its time to say which."""

    __repr__ = __float__ = lambda self: time.sleep(10**6)


def test_results_fields_and_gates_that_take_their_time_are_bounded_too():
    def slow(completion):
        return Slow(0.5)

    parts = {
        rk.Component("number", slow): "",
        rk.Component("numbers", lambda completion: [Slow(0.5) for _ in completion], batch=True): "",
        rk.Component("field", lambda f: 0.5): "field 'f' failed: ",
        rk.Component("gate", sleeps, gate=rk.gate(slow)): "its gate failed: ",
    }
    fields = {"f": lambda completion: (time.sleep(10**6) for _ in "ab")}
    scores = score(*parts, rows=("fine",), fields=fields, timeout=0.3)
    for part, said in parts.items():
        assert reasons(scores, part.name) == [f"{said}took longer than 0.3 s"]


def test_what_cannot_be_sent_back_is_said_without_addresses_and_as_a_note_costs_no_score():
    def notes(completion):
        rk.note("found", re.match("f", completion))
        return 0.5

    how = {"rows": rows(), "fields": {"found": lambda completion: re.match("f", completion)}}
    parts = rk.Component("c", lambda found: 0.5), rk.Component("notes", notes)
    assert outcome(score(*parts, **how)) == [FINE] * 2
    scores = score(*parts, **how, notes=True, timeout=SECONDS)
    assert reasons(scores)[0] == (
        "field 'found' failed: returned what cannot be sent from the process that a time limit needs "
        "(cannot pickle 're.Match' object); return plain values, or score without timeout"
    )
    assert outcome(scores, "notes") == [FINE] * 2 and "re.Match" in str(scores.table["note/found"][0])


class Tokenizer:
    """Not callable, as many are not."""

    def encode(self, text):
        time.sleep(0 if text != "sleep" else 10**6)
        return text.split()


def test_rewardkit_s_own_functions_run_in_this_process_and_all_others_elsewhere():
    @functools.wraps(rk.verify.numbers_equal)
    def wrapped(prediction, ground_truth):
        time.sleep(10**6)

    tokens = rk.measure.length(full_until=3, zero_from=6, unit="tokens", tokenizer=Tokenizer())
    for function, needed in {
        rk.verify.numbers_equal: False,
        rk.extract.first_of(rk.extract.tag("a"), rk.extract.number()): False,
        sleeps: True,
        wrapped: True,  # no function of rewardkit's, though it has its name
        functools.lru_cache(rk.verify.numbers_equal): True,
        tokens: True,
    }.items():
        assert TimeLimit.needed(function) is needed, function
    columns = {"prediction": "completion", "ground_truth": "completion"}
    own, other = (rk.Component("c", function, columns=columns) for function in (rk.verify.matches, wrapped))
    assert own.scoring_record()["function"] != other.scoring_record()["function"]
    scores = score(own, rk.Component("t", tokens), rows=("fine", "sleep"), timeout=SECONDS)
    assert (statuses(scores), statuses(scores, "t")) == (["scored"] * 2, ["scored", "error"])
    assert "test_deadlines.py" in scores.record["reward"]["sources"]


def test_a_function_that_cannot_be_sent_is_one_clear_error_that_is_known_beforehand():
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 0.5

    assert cannot_limit([rk.gate(sleeps), rk.verify.matches]) is None
    assert "locked cannot be called in another process" in cannot_limit([sleeps, rk.gate(locked)])
    with pytest.raises(CannotLimit, match=r"locked cannot be called in another process.*score without timeo"):
        score(locked, timeout=SECONDS)
    with pytest.raises(
        rk.RewardError, match=r"reward 'r' cannot be scored in worker processes.*score without w"
    ):
        score(locked, workers=1)
    assert outcome(score(locked)) == [FINE] * 3
    shut = rk.Component("c", locked, gate=rk.gate("completion", equals="none"))
    assert statuses(score(shut, timeout=SECONDS)) == ["gated"] * 3  # as it is not called


def test_quick_calls_are_made_together_and_each_that_does_not_come_back_is_lost_alone(monkeypatch):
    def fails(completion):
        return sleeps(completion) if completion == "sleep" else exits(completion)

    def answers(*completions):
        return limit.run(Calls(fails, [completions], {}, len(completions), as_field))

    with TimeLimit(SECONDS, processes=1) as limit:
        assert answers("fine", "fine") == [0.5, 0.5]
        sent, send = [], limit._workers.map
        monkeypatch.setattr(
            limit._workers, "map", lambda made, some, **how: sent.append(some) or send(made, some, **how)
        )
        found = answers(*["fine"] * 90, "sleep", "fine", "exit", *["fine"] * 90)
    assert len(sent[0]) < 50  # and those of the batches with the two were made again, each by itself
    lost = {row: answer.message for row, answer in enumerate(found) if answer != 0.5}
    assert lost == {90: "took longer than 1 s", 92: "ended its process (exit status 7)"}


def test_after_so_many_late_calls_of_a_pass_the_others_of_it_are_not_made():
    said = reasons(score(sleeps, rows=rows(*["sleep"] * 12), timeout=0.3, patience=1))
    assert said.count("took longer than 0.3 s") == 1
    assert said.count("was not tried, as calls before it took longer than 0.3 s") >= 10


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


def test_a_reward_file_is_run_again_in_the_worker_also_for_cases(tmp_path):
    (tmp_path / "beside.py").write_text("HALF = 0.5\n")
    (tmp_path / "mine.py").write_text(FILE)
    loaded = rk.load_reward(f"{tmp_path / 'mine.py'}:reward")
    cases = [{"name": text, "completion": text, "ground_truth": "x", "reward": 0.5} for text in rows("sleep")]
    result = rk.check(loaded, cases, timeout=SECONDS)
    assert (result.passed, [miss.case for miss in result.misses]) == (2, ["sleep"])
    assert "took longer than 1 s" in result.misses[0].got
