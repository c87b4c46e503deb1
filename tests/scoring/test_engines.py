"""Time limits, worker processes and interrupts: each costs its own row and no other, to the same bit."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scored import outcome, reasons, score, statuses

import rewardkit as rk
from rewardkit.scoring import deadlines
from rewardkit.scoring.answers import as_field
from rewardkit.scoring.calls import Calls
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
    scores = score(
        backtracks, rk.Component("awaits", awaits), rows=texts, timeout=SECONDS
    )
    ended = (None, "error", "ended its process (exit status 7)")
    assert outcome(scores) == [FINE, LATE, *[FINE] * 5]
    assert outcome(scores, "awaits") == [FINE, FINE, *[LATE] * 3, ended, FINE]


def test_whatever_a_function_raises_is_an_error_of_its_row_and_nothing_is_printed(
    capfd,
):
    failed = [
        (None, "error", f"{type(error).__name__}: {error}") for error in ERRORS.values()
    ]
    scores = score(
        raises, rk.Component("later", awaits), rows=rows(*ERRORS), timeout=SECONDS
    )
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
        rk.Component(
            "numbers", lambda completion: [Slow(0.5) for _ in completion], batch=True
        ): "",
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

    parts = rk.Component("c", lambda found: 0.5), rk.Component("notes", notes)
    fields = {"found": lambda completion: re.match("f", completion)}
    scores = score(*parts, rows=rows(), fields=fields, notes=True, timeout=SECONDS)
    assert reasons(scores)[0] == (
        "field 'found' failed: returned what cannot be sent back from a worker process "
        "(cannot pickle 're.Match' object); return plain values, or score without a time limit or workers"
    )
    assert outcome(scores, "notes") == [FINE] * 2 and "re.Match" in str(
        scores.table["note/found"][0]
    )


class Tokenizer:
    """Not callable, as many are not."""

    def encode(self, text):
        time.sleep(0 if text != "sleep" else 10**6)
        return text.split()


def test_rewardkit_s_own_functions_run_in_this_process_and_all_others_elsewhere():
    @functools.wraps(rk.verify.numbers_equal)
    def wrapped(prediction, ground_truth):
        """No function of rewardkit's, though it has its name."""

    tokens = rk.measure.length(
        full_until=3, zero_from=6, unit="tokens", tokenizer=Tokenizer()
    )
    ours = (
        rk.verify.numbers_equal,
        rk.extract.first_of(rk.extract.tag("a"), rk.extract.number()),
    )
    theirs = sleeps, wrapped, functools.lru_cache(rk.verify.numbers_equal), tokens
    assert [TimeLimit.needed(function) for function in (*ours, *theirs)] == [
        False
    ] * 2 + [True] * 4
    scores = score(rk.Component("t", tokens), rows=("fine", "sleep"), timeout=SECONDS)
    assert statuses(scores, "t") == ["scored", "error"]
    assert "test_engines.py" in scores.record["reward"]["sources"]


def test_a_function_that_cannot_be_sent_is_one_clear_error_that_is_known_beforehand():
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 0.5

    assert cannot_limit([rk.gate(sleeps), rk.verify.matches]) is None
    assert "locked cannot be called in another process" in cannot_limit(
        [sleeps, rk.gate(locked)]
    )
    with pytest.raises(
        CannotLimit,
        match=r"locked cannot be called in another process.*score without a time limit",
    ):
        score(locked, timeout=SECONDS)
    with pytest.raises(
        rk.RewardError,
        match=r"'r' cannot be scored in worker processes.*score without w",
    ):
        score(locked, workers=1)
    shut = rk.Component("c", locked, gate=rk.gate("completion", equals="none"))
    assert (
        statuses(score(shut, timeout=SECONDS)) == ["gated"] * 3
    )  # as it is not called


def test_quick_calls_are_made_together_and_each_that_does_not_come_back_is_lost_alone(
    monkeypatch,
):
    def fails(completion):
        return exits(completion) and sleeps(completion)

    def answers(*completions):
        return limit.run(Calls(fails, [completions], {}, len(completions), as_field))

    # so that a call that a busy machine held up is quick, too
    monkeypatch.setattr(deadlines, "SECONDS_TOGETHER", 60)
    with TimeLimit(SECONDS, processes=1) as limit:
        assert answers("fine", "fine") == [0.5, 0.5]
        sent, send = [], limit._workers.map
        counted = lambda made, some, **how: sent.append(some) or send(made, some, **how)  # noqa: E731
        monkeypatch.setattr(limit._workers, "map", counted)
        found = answers(*["fine"] * 90, "sleep", "fine", "exit", *["fine"] * 90)
    assert (
        len(sent[0]) < 50
    )  # and those of the batches with the two were made again, each by itself
    lost = {row: str(reason) for row, reason in enumerate(found) if reason != 0.5}
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
    cases = [
        {"completion": text, "ground_truth": "x", "reward": 0.5}
        for text in rows("sleep")
    ]
    (miss,) = rk.check(loaded, cases, timeout=SECONDS).misses
    assert miss.case == "line 2" and "took longer than 1 s" in miss.got


# runs in shards

ROWS = [
    {"prompt_id": f"p{at % 40}", "completion": "x" * (at % 7), "n": at}
    for at in range(400)
]


def length(completion):
    return len(completion) / 7 or None


def noted(completion, n):
    rk.note("n", n)
    if n == 13:
        raise ValueError("unlucky")
    return n / 400


def share(n):
    return [value / sum(n) for value in n]


def odd(n):
    return ["text", 2.0, None, np.float32(0.5), [0.5]][n % 5]


async def awaited(n):
    rk.note("awaited", n)
    return n / 500 if n % 9 else "text"


PARTS = [
    rk.Component("odd", odd),
    rk.Component("awaited", awaited),
    rk.Component("length", length),
    rk.Component("noted", noted, gate=rk.gate("length", at_least=0.2)),
    rk.Component("share", share, group=True),
    rk.Component("halves", lambda field: field / 800),
]


@pytest.mark.parametrize("options", [{"workers": 3}, {"timeout": 60.0}], ids=str)
def test_wherever_it_is_scored_the_table_is_the_same_to_the_last_bit(options):
    ranked = {"transform": rk.weigh.rank()}
    how = {
        "rows": ROWS,
        "fields": {"field": lambda n: n},
        "notes": True,
        "reward": ranked,
    }
    parts = (
        PARTS
        if "timeout" in options
        else [part for part in PARTS if part.function is not awaited]
    )
    here, there = score(*parts, **how), score(*parts, **how, **options)
    assert here.table.equals(there.table)
    assert (
        there.table["n"].tolist() == list(range(400)) and there.status("noted")[13] == 3
    )


def test_a_call_that_ends_its_worker_costs_its_own_row(capfd):
    ends = {
        "exit": lambda: os._exit(7),
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    }

    def deadly(n):
        return {115: ends["exit"], 215: ends["kill"]}.get(n, lambda: 0.5)()

    scores = score(deadly, rk.Component("other", lambda n: 1.0), rows=ROWS, workers=2)
    said = {
        115: "ended its process (exit status 7)",
        215: "ended its process (signal SIGKILL)",
    }
    assert reasons(scores) == [said.get(at) for at in range(400)]
    assert set(statuses(scores, "other")) == {"scored"}
    assert capfd.readouterr().err == ""


held = []
"""What calls keep; in a worker, until it ends."""


@pytest.mark.parametrize("options", [{"workers": 2}, {"timeout": 60.0}], ids=str)
def test_a_reward_that_grows_without_end_is_scored_whole_where_memory_is_limited(
    options,
):
    def grows(n):
        if sum(held) >= 150:
            raise MemoryError
        held.append(1)
        return 0.5

    def too_large(n):
        if n % 100 == 7:
            raise MemoryError("7 asks for too much")
        return 0.5

    scores = score(grows, rows=ROWS, **options)
    assert reasons(scores) == [None] * 400 and held == []
    scores = score(too_large, rows=ROWS, **options)
    said = [reason for reason in reasons(scores) if reason]
    assert len(said) == 4 and "MemoryError: 7 asks for too much" in said[0]


def test_an_interrupt_keeps_what_is_done_and_one_before_anything_is_done_is_the_users():
    def interrupted(n):
        if n == 215:
            raise KeyboardInterrupt
        return n / 400

    with pytest.raises(
        rk.Interrupted, match=r"\d+ of 400 rollouts were scored"
    ) as raised:
        score(interrupted, rk.Component("share", share, group=True), rows=ROWS)
    kept = raised.value.scores
    assert 0 < len(kept) < 400 and raised.value.rows == 400
    assert (
        kept.table["n"].is_monotonic_increasing and 215 not in kept.table["n"].tolist()
    )
    assert kept.score("c").tolist() == [n / 400 for n in kept.table["n"]]
    assert np.isclose(kept.score("share").sum(), kept.table["prompt_id"].nunique())
    with pytest.raises(KeyboardInterrupt) as raised:
        score(interrupted, rows=[{"completion": "x", "n": 215}])
    assert not isinstance(raised.value, rk.Interrupted)


@pytest.mark.parametrize("options", [{}, {"ignore_gates": True}, {"force": True}])
def test_the_same_call_goes_on_with_what_an_interrupt_left_in_its_folder(
    tmp_path, options
):
    def stops(n):
        with (tmp_path / "calls").open("a") as file:
            file.write(f"{n}\n")
        if n == 215 and not (tmp_path / "again").exists():
            raise KeyboardInterrupt
        return n / 400

    with pytest.raises(rk.Interrupted) as raised:
        score(stops, rows=ROWS, to=tmp_path / "out")
    (tmp_path / "again").touch()
    (tmp_path / "calls").unlink()
    whole = score(stops, rows=ROWS, to=tmp_path / "out", **options)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 400 - (0 if options else len(raised.value.scores))
    assert whole.score("c").tolist() == [n / 400 for n in range(400)]
    saved = rk.load_scores(tmp_path / "out")
    assert len(saved) == 400 and not saved.rollouts.cautions


def test_an_interrupt_of_coroutines_keeps_the_shards_that_were_done():
    here = os.getpid()

    async def waits(n):
        if n == 300:
            os.kill(here, signal.SIGINT)
        await asyncio.sleep(0 if n < 290 else 10**6)
        return n / 400

    table = [{**row, "prompt_id": row["n"] // 8} for row in ROWS]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(rk.Interrupted) as raised:
            score(waits, rows=table)
    finally:
        signal.signal(signal.SIGINT, before)
    kept = raised.value.scores
    assert 256 <= len(kept) < 300
    assert kept.score("c").tolist() == [n / 400 for n in kept.table["n"]]


COMMAND = """
    import signal, sys, threading, time
    from pathlib import Path

    def reward(completion, n):
        if n == 215:
            Path("reached").touch()
            time.sleep(10**6)
        return 0.5

    if __name__ == "__main__":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may ignore
        import pyarrow.parquet
        writer, ends = pyarrow.parquet.ParquetWriter, [signal.SIGINT, signal.SIGTERM, signal.SIGINT]
        write = writer.write_table
        writer.write_table = lambda *table: [*map(signal.raise_signal, ends)] and write(*table)
        from rewardkit.__main__ import main
        main()
"""


@pytest.mark.parametrize(
    ("end", "options"),
    [
        (signal.SIGTERM, ["--timeout", "1000"]),
        (signal.SIGINT, ["--timeout", "0", "--workers", "2"]),
    ],
)
def test_the_command_writes_what_was_done_when_it_is_interrupted_also_while_it_writes(
    tmp_path, end, options
):
    (tmp_path / "mine.py").write_text(textwrap.dedent(COMMAND))
    rk.load_rollouts(ROWS).table.to_parquet(tmp_path / "log.parquet")
    command = [
        sys.executable,
        "mine.py",
        "score",
        "mine.py",
        "log.parquet",
        "-o",
        "out",
        *options,
    ]
    paths = {**os.environ, "PYTHONPATH": str(Path(rk.__file__).parent.parent)}
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    running = subprocess.Popen(command, cwd=tmp_path, text=True, env=paths, **pipes)
    while not (tmp_path / "reached").exists():
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.05)
    running.send_signal(end)
    said = running.communicate(timeout=60)[1]
    assert running.returncode == 128 + end and "Traceback" not in said
    assert "of 400 rollouts were scored, written to out" in said
    assert 0 < len(rk.load_scores(tmp_path / "out")) < 400


@pytest.mark.parametrize(
    ("option", "values", "said"),
    [
        ("workers", (0, 1.5, "2"), "is not a number of processes; give 1 or more"),
        ("memory", (0, 1.5, "much", "0"), "is no size; give one such as '2GB'"),
        (
            "timeout",
            (0, float("nan"), "soon"),
            "is not a time; give seconds above 0, or None",
        ),
    ],
)
def test_a_number_of_processes_or_a_time_that_is_none_is_refused(option, values, said):
    for value in values:
        with pytest.raises(rk.InputError, match=said):
            score(length, **{option: value})
