"""Worker processes that are killed when a call takes too long or ends them, and replaced."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from rewardkit.workers.pool import CannotSend, DeadlinePassed, WorkerEnded, Workers

SECONDS = 1.0


@pytest.fixture(scope="module")
def workers():
    with Workers(seconds=SECONDS) as shared:
        yield shared


def awkward(call):
    """What a call may do wrong, by name; else it gives the name back."""
    if call == "sleep":
        time.sleep(10**6)
    if call == "backtrack":  # holds the interpreter's lock for ages
        re.match(r"(a+)+$", "a" * 64 + "b")
    if call == "loop":
        while True:
            pass
    if call == "exit":
        os._exit(7)
    if call == "leave":
        sys.exit(3)
    if call == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if call == "raise":
        raise KeyError("no such thing")
    return call


@pytest.mark.parametrize("how", ["sleep", "backtrack", "loop"])
def test_a_call_that_takes_too_long_ends_within_twice_its_deadline_and_the_next_one_works(how):
    with Workers(seconds=2.0) as workers:
        workers.call(awkward, "warm")
        started = time.monotonic()
        with pytest.raises(DeadlinePassed, match=r"^took longer than 2 s$"):
            workers.call(awkward, how)
        assert 2.0 <= time.monotonic() - started < 4.0
        assert workers.call(awkward, "next") == "next"


@pytest.mark.parametrize(
    ("how", "said"),
    [("exit", "exit status 7"), ("leave", "exit status 3"), ("crash", "signal SIGSEGV")],
)
def test_a_call_that_ends_its_process_says_how(workers, how, said):
    with pytest.raises(WorkerEnded, match=re.escape(f"ended its process ({said})")):
        workers.call(awkward, how)
    assert workers.call(awkward, "next") == "next"


def test_what_a_call_raises_is_raised_here(workers):
    with pytest.raises(KeyError, match="no such thing"):
        workers.call(awkward, "raise")


def test_the_other_calls_of_a_pass_are_unharmed(workers):
    calls = ["a", "sleep", "b", "exit", "raise", "c", "crash", "d"]
    found = dict(workers.map(awkward, [(call,) for call in calls]))
    assert sorted(found) == list(range(8))
    assert [found[place] for place in (0, 2, 5, 7)] == ["a", "b", "c", "d"]
    assert isinstance(found[1].error, DeadlinePassed)
    assert isinstance(found[3].error, WorkerEnded) and isinstance(found[6].error, WorkerEnded)
    assert isinstance(found[4].error, KeyError)


def test_each_call_is_made_once_and_answered_in_its_own_place():
    with Workers(seconds=SECONDS, count=2) as two:
        found = dict(two.map(lambda number: (number * 2, os.getpid()), [(n,) for n in range(500)]))
    assert [found[n][0] for n in range(500)] == [n * 2 for n in range(500)]
    assert len({process for _, process in found.values()}) == 2


def test_the_deadline_is_one_call_s_and_not_the_pass_s(workers):
    calls = [(0.2,)] * 8  # 1.6 s together
    assert all(value is None for _, value in workers.map(time.sleep, calls))


def test_processor_time_is_bounded_by_the_kernel_whatever_the_clock_says():
    with Workers(seconds=60.0, cpu_seconds=0.3) as bounded:
        assert bounded.call(awkward, "warm") == "warm"
        started = time.monotonic()
        with pytest.raises(DeadlinePassed, match=r"took longer than 0\.3 s of processor time"):
            bounded.call(awkward, "backtrack")
        assert time.monotonic() - started < 20
        assert bounded.call(time.sleep, 0.6) is None  # sleeping costs no processor time
        assert all(bounded.call(spin, 0.2) for _ in range(3))  # each call has its own


def spin(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return True


def test_functions_of_every_origin_can_be_called(workers):
    factor = 3

    def closure(number):
        return number * factor

    assert workers.call(closure, 2) == 6
    assert workers.call(lambda number: -number, 2) == -2
    assert workers.call(partial(pow, 2), 5) == 32
    assert workers.call(str.upper, "a") == "A"
    assert workers.call(Scaled(4), 2) == 8


class Scaled:
    def __init__(self, by):
        self.by = by

    def __call__(self, number):
        return number * self.by


def test_a_function_that_holds_a_lock_cannot_be_sent(workers):
    lock = threading.Lock()
    with pytest.raises(CannotSend, match="it cannot be pickled"):
        workers.call(lambda: lock)


def test_an_argument_that_cannot_be_sent_is_the_fault_of_its_call_alone(workers):
    found = dict(workers.map(type, [(1,), (threading.Lock(),), (2,)]))
    assert found[0] is int and found[2] is int
    assert "an argument cannot be pickled" in str(found[1].error)


def test_a_value_that_cannot_be_sent_back_is_the_fault_of_its_call_alone(workers):
    found = dict(workers.map(lambda number: threading.Lock() if number else 0, [(0,), (1,), (0,)]))
    assert (found[0], found[2]) == (0, 0)
    assert isinstance(found[1].error, CannotSend)
    assert "lock" in str(found[1].error)


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")

    def __reduce__(self):
        raise TypeError("not to be pickled")


def test_a_value_that_can_neither_be_sent_nor_printed_does_no_harm(workers):
    found = dict(workers.map(lambda number: Unprintable() if number else 0, [(0,), (1,), (0,)]))
    assert (found[0], found[2], str(found[1].error)) == (0, 0, "not to be pickled")


def test_a_value_of_a_class_that_was_sent_with_the_function_comes_back_as_one(workers):
    class Local:
        def __init__(self, number):
            self.number = number

    value = workers.call(lambda: Local(42))
    assert type(value) is Local and value.number == 42


class Unreadable:
    def __reduce__(self):
        return int, ("not a number",)


def test_an_argument_that_cannot_be_read_there_costs_its_own_call(workers):
    found = dict(workers.map(type, [(1,), (Unreadable(),), (2,)]))
    assert found[0] is found[2] is int and isinstance(found[1].error, ValueError)


def leaves_behind(how, path):
    """Start a process that outlives the call, and note its number."""
    if how == "fork":
        child = os.fork()
        if child == 0:
            time.sleep(1000)
            os._exit(0)
    else:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]).pid
    with open(path, "w") as file:
        file.write(str(child))
    if how == "hang":
        time.sleep(1000)
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("how", ["hang", "exit", "fork"])
def test_what_a_call_has_started_ends_with_its_worker(tmp_path, how):
    with Workers(seconds=20.0 if how != "hang" else SECONDS) as workers:
        with pytest.raises(DeadlinePassed if how == "hang" else WorkerEnded):
            workers.call(leaves_behind, how, str(tmp_path / "number"))
    assert _ends(int((tmp_path / "number").read_text()))


def test_a_module_that_cannot_be_imported_there_is_sent_whole(tmp_path, workers):
    script = tmp_path / "not_on_the_path.py"
    script.write_text("BASE = 40\ndef add(number):\n    return BASE + number\n")
    import importlib.util

    spec = importlib.util.spec_from_file_location("not_on_the_path", script)
    module = importlib.util.module_from_spec(spec)
    sys.modules["not_on_the_path"] = module
    try:
        spec.loader.exec_module(module)
        assert workers.call(module.add, 2) == 42
        with Workers(seconds=SECONDS, count=2) as two:
            assert dict(two.map(module.add, [(n,) for n in range(100)]))[99] == 139
    finally:
        del sys.modules["not_on_the_path"]


def test_what_calls_print_does_not_disturb_their_answers(capfd, workers):
    assert workers.call(lambda: print("from the worker", flush=True)) is None
    assert workers.call(lambda: os.write(1, b"raw bytes\n")) == 10
    shown = capfd.readouterr()
    assert shown.out == ""


def test_a_call_finds_no_standard_input(workers):
    assert workers.call(lambda: sys.stdin.read()) == ""


def test_it_works_from_many_threads_at_once(workers):
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: workers.call(awkward, n), range(50))) == list(range(50))


def test_it_works_under_a_running_event_loop(workers):
    async def inside():
        return workers.call(awkward, "sleep")

    with ThreadPoolExecutor(1) as pool, pytest.raises(DeadlinePassed):
        pool.submit(asyncio.run, inside()).result()  # this thread may have a loop, of a browser's test


def test_a_pass_that_is_left_early_leaves_nothing_running():
    with Workers(seconds=60.0) as patient:
        for _ in patient.map(awkward, [("a",), ("sleep",)]):
            break
        started = time.monotonic()
        assert patient.call(awkward, "next") == "next"
        assert time.monotonic() - started < 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_of_the_process_has_workers_of_its_own(workers):
    before = workers.call(os.getpid)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(workers.call(os.getpid)).encode())
            workers.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 32)) != before
    assert workers.call(os.getpid) == before
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(("how", "seconds"), [("sleep", 1000), ("backtrack", 0.3)])
def test_a_process_that_is_killed_takes_its_workers_along(tmp_path, how, seconds):
    """A sleeping call ends at once, a busy one when the processor time of a lost worker is used up."""
    script = tmp_path / "asks.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, re, signal, subprocess, sys, time
            from rewardkit.workers.pool import Workers
            def call(how, parent):
                child = subprocess.Popen(["sleep", "1000"]).pid if how == "sleep" else os.getpid()
                print(os.getpid(), child, file=sys.stderr, flush=True)
                os.kill(parent, signal.SIGKILL)
                time.sleep(1000) if how == "sleep" else re.match("(a+)+$", "a" * 64 + "b")
            list(Workers(seconds={seconds}).map(call, [({how!r}, os.getpid())]))
            """
        )
    )
    asking = subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE, text=True)
    worker, child = map(int, asking.stderr.readline().split())
    assert asking.wait() == -signal.SIGKILL
    asking.stderr.close()
    assert _ends(worker) and _ends(child)


def _ends(process):
    """Whether a process ends in the next half minute."""
    until = time.monotonic() + 30
    while time.monotonic() < until and _runs(process):
        time.sleep(0.05)
    return not _runs(process)


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:  # a zombie that nobody has waited for is not running
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_script_without_a_main_guard_can_use_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from rewardkit.workers.pool import Workers\n"
        "def double(number):\n    return number * 2\n"
        "print(Workers(seconds=5).call(double, 21))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "42"), done.stderr


@pytest.mark.parametrize("seconds", [0, -1.0, float("inf"), float("nan")])
def test_what_is_no_time_is_refused(seconds):
    with pytest.raises(ValueError, match="give seconds above 0"):
        Workers(seconds=seconds)


def test_a_worker_that_cannot_start_is_an_error_and_not_a_wait(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Workers(seconds=1.0) as broken, pytest.raises(WorkerEnded, match="before its first call"):
        broken.call(awkward, "a")
