"""Calls that hang, exit or are killed in a pool of processes: ours, pebble and loky on the same ones.

    pip install pebble loky && python tests/bench_pools.py

Each pool has two processes. Printed: seconds for 5,000 calls of 50 microseconds; seconds until a hang in C
code with a deadline of 1 s is over, called from a thread; which of 20 calls have no value when the sixth
exits its process, and when it is killed with SIGKILL.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle

Call = Callable[[Callable[[int], Any], Sequence[int], float], list[Any]]
LOST = "lost"


def busy(number: int) -> int:
    """50 microseconds of work."""
    end = time.perf_counter() + 50e-6
    while time.perf_counter() < end:
        pass
    return number


def hangs(number: int) -> int:
    """The sixth hangs in C code, which looks at no signal."""
    return len(str(7 ** (10**8))) if number == 5 else number


def exits(number: int) -> int:
    """The sixth ends its process."""
    if number == 5:
        os._exit(1)
    return number


def killed(number: int) -> int:
    """The sixth is killed, as by the kernel where memory is short."""
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class Sent:
    """A function as cloudpickle sends it, which pebble needs where it is of `__main__`."""

    def __init__(self, function: Callable[[int], Any]) -> None:
        self.content = cloudpickle.dumps(function)

    def __call__(self, number: int) -> Any:
        return cloudpickle.loads(self.content)(number)


def ours() -> Call:
    """rewardkit's own."""
    from rewardkit.workers.pool import Lost, Workers

    def call(function: Callable[[int], Any], numbers: Sequence[int], seconds: float) -> list[Any]:
        with Workers(seconds=seconds, count=2) as workers:
            found = dict(workers.map(function, [(number,) for number in numbers]))
        return [LOST if isinstance(found[at], Lost) else found[at] for at in range(len(numbers))]

    return call


def of_pebble() -> Call:
    """pebble.ProcessPool, which has a timeout a call."""
    from multiprocessing import get_context

    from pebble import ProcessPool

    def call(function: Callable[[int], Any], numbers: Sequence[int], seconds: float) -> list[Any]:
        sent = Sent(function)
        with ProcessPool(max_workers=2, context=get_context("forkserver")) as pool:
            futures = [pool.schedule(sent, args=(number,), timeout=seconds) for number in numbers]
            return [_value(future) for future in futures]

    return call


def of_loky() -> Call:
    """loky's executor, which has no timeout a call: one is waited for."""
    from loky import get_reusable_executor

    def call(function: Callable[[int], Any], numbers: Sequence[int], seconds: float) -> list[Any]:
        pool = get_reusable_executor(max_workers=2, reuse=False)
        futures = [pool.submit(function, number) for number in numbers]
        try:
            return [_value(future, seconds if function is hangs else None) for future in futures]
        finally:
            pool.shutdown(wait=False, kill_workers=True)

    return call


def _value(future: Any, seconds: float | None = None) -> Any:
    try:
        return future.result(seconds)
    except Exception:
        return LOST


def measure(name: str, call: Call) -> None:
    """Print one pool's row."""
    call(busy, range(10), 60.0)
    began = time.perf_counter()
    call(busy, range(5000), 60.0)
    print(f"{name:9s} 5,000 calls of 50 us on two processes {time.perf_counter() - began:6.2f} s", flush=True)
    found: list[Any] = []
    began = time.perf_counter()
    thread = threading.Thread(target=lambda: found.extend(call(hangs, range(20), 1.0)), daemon=True)
    thread.start()
    thread.join(30)
    took = time.perf_counter() - began
    print(f"{name:9s} a hang in C, deadline 1 s {took:6.2f} s, lost {_lost(found)}", flush=True)
    for function in (exits, killed):
        found = call(function, range(20), 60.0)
        print(f"{name:9s} the sixth of 20 calls {function.__name__:6s} lost {_lost(found)}", flush=True)


def _lost(found: Sequence[Any]) -> str:
    lost = [at for at, value in enumerate(found) if value == LOST]
    return "everything: no answer" if not found else str(lost)


if __name__ == "__main__":
    for title, make in (("rewardkit", ours), ("pebble", of_pebble), ("loky", of_loky)):
        try:
            pool = make()
        except ImportError as missing:
            print(f"{title:9s} not installed ({missing.name})")
            continue
        measure(title, pool)
    sys.stdout.flush()
    os._exit(0)  # what still hangs is left behind
