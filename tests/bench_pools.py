"""Calls that hang, exit or are killed in a pool of processes: ours, pebble and loky on the same ones.

    pip install pebble loky && python tests/bench_pools.py

Each pool has two processes. Printed: seconds for 5,000 calls of 50 microseconds; seconds until a hang in C
code with a deadline of 1 s is over, called from a thread; which of 20 calls have no value when the sixth
exits its process, and when it is killed with SIGKILL.
"""

import os
import signal
import sys
import threading
import time
from functools import partial
from multiprocessing import get_context

import cloudpickle

LOST = "lost"


def busy(number):
    end = time.perf_counter() + 50e-6
    while time.perf_counter() < end:
        pass
    return number


def hangs(number):
    return len(str(7 ** (10**8))) if number == 5 else number


def exits(number):
    return os._exit(1) if number == 5 else number


def killed(number):
    return os.kill(os.getpid(), signal.SIGKILL) if number == 5 else number


def unpickled(content, number):
    """Call a function as cloudpickle sends it, which pebble needs where it is of `__main__`."""
    return cloudpickle.loads(content)(number)


def value(future, seconds=None):
    try:
        return future.result(seconds)
    except Exception:
        return LOST


def of_rewardkit(function, numbers, seconds):
    from rewardkit.workers.pool import Lost, Workers

    with Workers(seconds=seconds, count=2) as workers:
        found = dict(workers.map(function, [(number,) for number in numbers]))
    return [
        LOST if isinstance(found[at], Lost) else found[at] for at in range(len(numbers))
    ]


def of_pebble(function, numbers, seconds):
    """It has a timeout a call."""
    from pebble import ProcessPool

    sent = partial(unpickled, cloudpickle.dumps(function))
    with ProcessPool(max_workers=2, context=get_context("forkserver")) as pool:
        futures = [
            pool.schedule(sent, args=(number,), timeout=seconds) for number in numbers
        ]
        return [value(future) for future in futures]


def of_loky(function, numbers, seconds):
    """It has no timeout a call: one is waited for."""
    from loky import get_reusable_executor

    pool = get_reusable_executor(max_workers=2, reuse=False)
    futures = [pool.submit(function, number) for number in numbers]
    try:
        return [
            value(future, seconds if function is hangs else None) for future in futures
        ]
    finally:
        pool.shutdown(wait=False, kill_workers=True)


def measure(name, call):
    """Print one pool's row."""
    call(busy, range(10), 60.0)
    began = time.perf_counter()
    call(busy, range(5000), 60.0)
    print(
        f"{name:9s} 5,000 calls of 50 us on two processes {time.perf_counter() - began:6.2f} s",
        flush=True,
    )
    found, began = [], time.perf_counter()
    thread = threading.Thread(
        target=lambda: found.extend(call(hangs, range(20), 1.0)), daemon=True
    )
    thread.start()
    thread.join(30)
    took = time.perf_counter() - began
    print(
        f"{name:9s} a hang in C, deadline 1 s {took:6.2f} s, lost {lost(found)}",
        flush=True,
    )
    for function in (exits, killed):
        found = call(function, range(20), 60.0)
        print(
            f"{name:9s} the sixth of 20 calls {function.__name__:6s} lost {lost(found)}",
            flush=True,
        )


def lost(found):
    return (
        [at for at, one in enumerate(found) if one == LOST]
        if found
        else "everything: no answer"
    )


if __name__ == "__main__":
    for pool in (of_rewardkit, of_pebble, of_loky):
        try:
            measure(pool.__name__.removeprefix("of_"), pool)
        except ImportError as missing:
            print(f"{missing.name} is not installed")
    sys.stdout.flush()
    os._exit(0)  # what still hangs is left behind
