"""Worker processes that are killed when a call takes too long or ends them, and replaced."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import pytest

import rewardkit
from rewardkit.workers import worker
from rewardkit.workers.pool import (
    CannotSend,
    DeadlinePassed,
    Lost,
    WorkerEnded,
    Workers,
    pack_function,
)
from rewardkit.workers.worker import write_frame

SECONDS = 1.0


@pytest.fixture(scope="module")
def workers():
    with Workers(seconds=SECONDS) as shared:
        yield shared


def call(workers, function, *arguments):
    """What one call of the function returns; what became of it otherwise is raised."""
    ((_, value),) = workers.map(function, [arguments])
    if isinstance(value, Lost):
        raise value.error
    return value


def awkward(call):
    """What a call may do wrong, by name; else it gives the name back."""
    if call == "spin":
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
    if call == "sleep":
        time.sleep(10**6)
    if call == "backtrack":  # holds the interpreter's lock for ages
        re.match(r"(a+)+$", "a" * 64 + "b")
    if call == "exit":
        os._exit(7)
    if call == "leave":
        sys.exit(3)
    if call == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if call == "raise":
        raise KeyError("no such thing")
    if call == "interrupt":
        raise KeyboardInterrupt
    return call


@pytest.mark.parametrize("how", ["sleep", "backtrack"])
def test_a_call_that_takes_too_long_ends_within_twice_its_deadline_and_the_next_one_works(
    workers, how
):
    started = time.monotonic() if call(workers, awkward, "warm") else 0
    with pytest.raises(DeadlinePassed, match=r"^took longer than 1 s$"):
        call(workers, awkward, how)
    assert SECONDS <= time.monotonic() - started < 2 * SECONDS
    assert call(workers, awkward, "next") == "next"


def test_the_other_calls_of_a_pass_are_unharmed_and_each_is_told_how_it_ended(workers):
    calls = [
        "a",
        "sleep",
        "b",
        "exit",
        "raise",
        "interrupt",
        "c",
        "crash",
        "leave",
        "d",
    ]
    found = dict(workers.map(awkward, [(call,) for call in calls]))
    assert sorted(found) == list(range(10)) and [found[at] for at in (0, 2, 6, 9)] == [
        "a",
        "b",
        "c",
        "d",
    ]
    for place, kind in {1: DeadlinePassed, 4: KeyError, 5: KeyboardInterrupt}.items():
        assert isinstance(found[place].error, kind)
    for place, said in (
        (3, "exit status 7"),
        (7, "signal SIGSEGV"),
        (8, "exit status 3"),
    ):
        assert isinstance(found[place].error, WorkerEnded)
        assert f"ended its process ({said})" in str(found[place].error)


def test_a_function_that_cannot_be_sent_or_loaded_is_an_error_of_the_pass(workers):
    lock = threading.Lock()
    with pytest.raises(CannotSend, match="it cannot be pickled"):
        call(workers, lambda: lock)
    with pytest.raises(
        CannotSend, match="it cannot be loaded there: ValueError: invalid literal"
    ):
        call(workers, Unreadable())


def test_each_call_is_made_once_and_answered_in_its_own_place(module_off_the_path):
    with Workers(seconds=SECONDS, count=2) as two:
        found = dict(
            two.map(
                lambda number: (number * 2, os.getpid()), [(n,) for n in range(500)]
            )
        )
        assert (
            dict(two.map(module_off_the_path.add, [(n,) for n in range(100)]))[99]
            == 139
        )
    assert [found[n][0] for n in range(500)] == [n * 2 for n in range(500)]
    assert len({process for _, process in found.values()}) == 2


def test_processor_time_is_bounded_by_the_kernel_whatever_the_clock_says():
    with Workers(seconds=60.0, cpu_seconds=0.3) as bounded:
        assert call(bounded, awkward, "warm") == "warm"
        started = time.monotonic()
        with pytest.raises(
            DeadlinePassed, match=r"took longer than 0\.3 s of processor time"
        ):
            call(bounded, awkward, "backtrack")
        assert time.monotonic() - started < 20
        assert (
            call(bounded, time.sleep, 0.4) is None
        )  # sleeping costs no processor time
        assert [call(bounded, awkward, "spin") for _ in range(2)] == [
            "spin"
        ] * 2  # each call has its own


class Scaled:
    def __init__(self, by):
        self.by = by

    def __call__(self, number):
        return number * self.by


def test_functions_of_every_origin_can_be_called_and_values_of_their_classes_come_back(
    workers, module_off_the_path
):
    factor = 3

    class Local(Scaled):
        pass

    for function, argument, value in (
        (lambda number: number * factor, 2, 6),
        (partial(pow, 2), 5, 32),
        (str.upper, "a", "A"),
        (Scaled(4), 2, 8),
        (
            module_off_the_path.add,
            2,
            42,
        ),  # which no import would find: it is sent whole
    ):
        assert call(workers, function, argument) == value
    value = call(workers, lambda: Local(42))
    assert type(value) is Local and value.by == 42


@pytest.fixture
def module_off_the_path(tmp_path, monkeypatch):
    (tmp_path / "not_on_the_path.py").write_text(
        "BASE = 40\ndef add(number):\n    return BASE + number\n"
    )
    spec = importlib.util.spec_from_file_location(
        "not_on_the_path", tmp_path / "not_on_the_path.py"
    )
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "not_on_the_path", module)
    spec.loader.exec_module(module)
    return module


def test_modules_are_imported_from_where_this_process_would_import_them(
    tmp_path, monkeypatch
):
    """The second folder has a module of the name of one in the first."""
    files = {
        "first/pool_amount.py": "PAID = 1.0",
        "second/pool_amount.py": "PAID = 2.0",
        "second/pool_paying.py": "import pool_amount\ndef paid(): return pool_amount.PAID",
        "third/ool.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with Workers(seconds=60.0) as workers:
        assert call(workers, awkward, "warm") == "warm"
        for folder in ("third", "second", "first"):
            monkeypatch.syspath_prepend(tmp_path / folder)
        paying = importlib.import_module("pool_paying")
        importlib.import_module("ool")  # a part of a name is no name
        _, modules = pack_function(partial(paying.paid, rewardkit))
        assert modules == [("", str(tmp_path / "second"), b"")]
        assert call(workers, paying.paid) == 1.0


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")

    def __reduce__(self):
        raise TypeError("not to be pickled")


class Unreadable:
    def __call__(self):
        return None

    def __reduce__(self):
        return int, ("not a number",)


def made(kind):
    return kind and kind()


UNSENT = [
    (type, threading.Lock(), CannotSend, "an argument cannot be pickled"),
    (type, Unreadable(), ValueError, "not a number"),  # read there
    (made, threading.Lock, CannotSend, "lock"),  # sent back
    (made, Unprintable, CannotSend, "not to be pickled"),
]


@pytest.mark.parametrize(("function", "bad", "error", "said"), UNSENT)
def test_what_cannot_be_sent_costs_its_own_call_alone(
    workers, function, bad, error, said
):
    found = dict(workers.map(function, [(None,), (bad,), (None,)]))
    assert sorted(found) == [0, 1, 2] and found[0] is found[2] is function(None)
    assert isinstance(found[1].error, error) and said in str(found[1].error)


def test_calls_have_no_standard_input_and_what_they_print_does_not_disturb_their_answers(
    capfd, workers
):
    assert call(workers, lambda: sys.stdin.read()) == ""
    assert call(workers, lambda: print("from the worker", flush=True)) is None
    assert call(workers, lambda: os.write(1, b"raw bytes\n")) == 10
    assert capfd.readouterr().out == ""


def test_it_works_from_many_threads_at_once_and_under_a_running_event_loop(workers):
    async def inside():
        return call(workers, awkward, "inside")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: call(workers, awkward, n), range(50))) == list(
            range(50)
        )
        assert pool.submit(asyncio.run, inside()).result() == "inside"


def ends(process):
    """Whether a process ends in the next half minute; a zombie that nobody has waited for is not running."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            with open(f"/proc/{process}/stat") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def leaves_behind(path):
    """Start a process that outlives the call, and note its number."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)"]
    ).pid
    with open(path, "w") as file:
        file.write(str(child))
    time.sleep(1000)


def test_what_a_call_has_started_ends_with_its_worker(tmp_path):
    with Workers(seconds=SECONDS) as workers, pytest.raises(DeadlinePassed):
        call(workers, leaves_behind, str(tmp_path / "number"))
    assert ends(int((tmp_path / "number").read_text()))


DIES = """
from rewardkit.workers.pool import Workers
import os, re, signal, subprocess, sys, time
def call(how, parent):
    child = subprocess.Popen(["sleep", "1000"]).pid if how == "sleep" else os.getpid()
    print(os.getpid(), child, file=sys.stderr, flush=True)
    os.kill(parent, signal.SIGKILL)
    time.sleep(1000) if how == "sleep" else re.match("(a+)+$", "a" * 64 + "b")
list(Workers(seconds=float(sys.argv[2])).map(call, [(sys.argv[1], os.getpid())]))
"""


@pytest.mark.parametrize(("how", "seconds"), [("sleep", "1000"), ("backtrack", "0.3")])
def test_a_process_that_is_killed_takes_its_workers_along(tmp_path, how, seconds):
    """A sleeping call ends at once, a busy one when the processor time of a lost worker is used up."""
    (tmp_path / "script.py").write_text(DIES)
    command = [sys.executable, str(tmp_path / "script.py"), how, seconds]
    asking = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    worker, child = map(int, asking.stderr.readline().split())
    assert asking.wait() == -signal.SIGKILL
    asking.stderr.close()
    assert ends(worker) and ends(child)


def test_a_worker_whose_answers_nobody_reads_ends_without_a_word():
    process = subprocess.Popen(
        [sys.executable, "-P", worker.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    for frame in (list(sys.path), ("load", 0, *pack_function(awkward))):
        write_frame(process.stdin, frame)
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()
    assert process.wait(60) == 0


@pytest.mark.parametrize("lives", [5, 1000])
def test_workers_killed_while_they_start_are_replaced_up_to_a_limit_and_no_call_is_lost(
    tmp_path, lives
):
    """Found in the wild, where the kernel was out of memory."""
    said = r"killed while they start \(signal SIGKILL; out of memory\?\); use fewer workers"
    refused = pytest.raises(WorkerEnded, match=said) if lives > 5 else nullcontext()
    with Workers(seconds=60.0, count=2) as workers, refused:
        found = dict(workers.map(Killed(tmp_path, lives), [(n,) for n in range(100)]))
        assert found == {n: n for n in range(100)}
    assert (
        lives == len(list(tmp_path.iterdir())) or 6 <= len(list(tmp_path.iterdir())) < 8
    )


class Killed:
    """A function whose loading is killed the first times, each of which leaves a file in the folder."""

    def __init__(self, folder, times):
        self.folder, self.times = folder, times

    def __call__(self, number):
        return number

    def __reduce__(self):
        return _killed, (self.folder, self.times)


def _killed(folder, times):
    for number in range(times):
        try:
            (folder / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)
    return int


def test_a_worker_that_cannot_start_is_an_error_and_not_a_wait(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        Workers(seconds=1.0) as broken,
        pytest.raises(WorkerEnded, match=r"start \(exit status 1\)"),
    ):
        call(broken, awkward, "a")
