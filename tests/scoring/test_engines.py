"""Runs in shards: here and in workers, to the same bit; interrupted, and after a worker's death."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from scored import reasons, score, statuses

import rewardkit as rk

ROWS = [{"prompt_id": f"p{at % 40}", "completion": "x" * (at % 7), "n": at} for at in range(400)]


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
    how = {"rows": ROWS, "fields": {"field": lambda n: n}, "notes": True, "reward": ranked}
    parts = PARTS if "timeout" in options else [part for part in PARTS if part.function is not awaited]
    here, there = score(*parts, **how), score(*parts, **how, **options)
    assert here.table.equals(there.table)
    assert there.table["n"].tolist() == list(range(400)) and there.status("noted")[13] == 3


@pytest.mark.parametrize("options", [{"workers": 2}, {"timeout": 30.0}], ids=str)
def test_a_call_that_ends_its_worker_costs_its_own_row(options, capfd):
    def deadly(n):
        if n == 115:
            os._exit(7)
        if n == 215:
            os.kill(os.getpid(), signal.SIGKILL)
        if n == 315:
            raise KeyboardInterrupt
        return 0.5

    scores = score(deadly, rk.Component("other", lambda n: 1.0), rows=ROWS, **options)
    said = {115: "ended its process (exit status 7)", 215: "ended its process (signal SIGKILL)"}
    said[315] = "KeyboardInterrupt"
    assert reasons(scores) == [said.get(at) for at in range(400)]
    assert set(statuses(scores, "other")) == {"scored"}
    assert capfd.readouterr().err == ""


def test_an_interrupt_keeps_what_is_done_and_one_before_anything_is_done_is_the_users():
    def interrupted(n):
        if n == 215:
            raise KeyboardInterrupt
        return n / 400

    with pytest.raises(rk.Interrupted, match=r"\d+ of 400 rollouts were scored") as raised:
        score(interrupted, rk.Component("share", share, group=True), rows=ROWS)
    kept = raised.value.scores
    assert 0 < len(kept) < 400 and raised.value.rows == 400
    assert kept.table["n"].is_monotonic_increasing and 215 not in kept.table["n"].tolist()
    assert kept.score("c").tolist() == [n / 400 for n in kept.table["n"]]
    assert np.isclose(kept.score("share").sum(), kept.table["prompt_id"].nunique())
    with pytest.raises(KeyboardInterrupt) as raised:
        score(interrupted, rows=[{"completion": "x", "n": 215}])
    assert not isinstance(raised.value, rk.Interrupted)


async def never_asked(n):
    return n / 400


@pytest.mark.parametrize(
    ("timeout", "after", "raises"),
    [(None, length, rk.Interrupted), (60.0, length, rk.Interrupted), (None, never_asked, KeyboardInterrupt)],
)
def test_an_interrupt_keeps_the_rows_whose_coroutines_were_done(timeout, after, raises):
    here = os.getpid()

    async def waits(n):
        if n == 110:
            await asyncio.sleep(1 if timeout else 0)  # until the answers of the process have arrived
            os.kill(here, signal.SIGINT)
        await asyncio.sleep(0 if n < 100 else 10**6)
        return n / 400

    table = [{**row, "prompt_id": "p"} for row in ROWS[:200]]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            score(waits, rk.Component("next", after), rows=table, timeout=timeout)
    finally:
        signal.signal(signal.SIGINT, before)
    assert type(raised.value) is raises
    if after is never_asked:
        return  # no row is whole
    kept = raised.value.scores
    rows = kept.table["n"].tolist()
    assert set(range(16 if timeout else 80)) <= set(rows) <= set(range(100))  # of the last some may not be
    assert kept.score("c").tolist() == [n / 400 for n in rows]
    assert set(statuses(kept, "next")) == {"scored", "abstained"}


COMMAND = """
    import sys, threading, time
    from pathlib import Path

    def reward(completion, n):
        if n == 215:
            Path("reached").touch()
            time.sleep(10**6)
        return 0.5
"""


@pytest.mark.parametrize(
    ("end", "options"),
    [
        (signal.SIGTERM, ["--timeout", "1000"]),
        (signal.SIGINT, ["--timeout", "0", "--workers", "2"]),
    ],
)
def test_the_command_writes_what_was_done_when_it_is_interrupted(tmp_path, end, options):
    (tmp_path / "mine.py").write_text(textwrap.dedent(COMMAND))
    rk.load_rollouts(ROWS).table.to_parquet(tmp_path / "log.parquet")
    start = START.partition("import pyarrow")[0] + "from rewardkit.__main__ import main; main()"
    command = [sys.executable, "-c", textwrap.dedent(start), "score", "mine.py", "log.parquet", "-o", "out"]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    running = subprocess.Popen([*command, *options], cwd=tmp_path, text=True, **pipes)
    while not (tmp_path / "reached").exists():
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.05)
    running.send_signal(end)
    said = running.communicate(timeout=60)[1]
    assert running.returncode == 130 and "Traceback" not in said
    assert "of 400 rollouts were scored, written to out" in said
    assert 0 < len(rk.load_scores(tmp_path / "out")) < 400


START = """
    import signal
    from signal import SIGINT, SIGTERM
    signal.signal(SIGINT, signal.default_int_handler)  # which a shell may ignore
    import pyarrow.parquet
    write = pyarrow.parquet.write_table
    def interrupted(*given):
        for number in (SIGINT, SIGTERM, SIGINT):
            signal.raise_signal(number)
        write(*given)
    pyarrow.parquet.write_table = interrupted
    from rewardkit.__main__ import main
    main()
"""


@pytest.mark.parametrize(
    ("option", "values", "said"),
    [
        ("workers", (0, 1.5, "2"), "is not a number of processes; give 1 or more"),
        ("timeout", (0, float("nan"), "soon"), "is not a time; give seconds above 0, or None"),
    ],
)
def test_a_number_of_processes_or_a_time_that_is_none_is_refused(option, values, said):
    for value in values:
        with pytest.raises(rk.RewardError, match=said):
            score(length, **{option: value})
