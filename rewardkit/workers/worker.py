"""The other side of `deadlines`: a process that makes the calls it is sent, one after the other.

Run as a script by path, so that a worker starts without importing rewardkit; only the standard library here.
Frames in both directions are a length and a pickle. To the worker: first its ``sys.path``, then
``("load", key, function, modules)`` and ``("run", key, [(index, arguments)], cpu_seconds, together)``. From
it: ``("loaded", key)`` or ``("refused", key, why, module)``, and for each call
``("done", index, fine, value)``, ``("late", index)`` or ``("unsendable", index, why)``; where calls run
together, ``("at", index)`` and ``("at", None)`` around each step of one.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import struct
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from types import ModuleType, coroutine
from typing import Any, BinaryIO

LATE = -1
"""Stands for a call whose time was up but which goes on."""

HEADER = struct.Struct("!Q")


def write_frame(stream: BinaryIO, frame: bytes) -> None:
    """Write one frame and send it off."""
    stream.write(HEADER.pack(len(frame)) + frame)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame; ``None`` where the other side has gone."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    frame = stream.read(HEADER.unpack(header)[0])
    return frame if len(frame) == HEADER.unpack(header)[0] else None


def serve(requests: Iterable[bytes], answers: BinaryIO) -> None:
    """Answer requests until there are no more."""

    def answer(*frame: Any) -> None:
        write_frame(answers, pickle.dumps(frame, pickle.HIGHEST_PROTOCOL))

    functions: dict[int, Callable[..., Any]] = {}
    for request in requests:
        kind, key, *rest = pickle.loads(request)
        if kind == "load":
            try:
                for name, path, source in rest[1]:
                    _make_module(name, path, source)
                functions[key] = pickle.loads(rest[0])
            except BaseException as error:  # whatever the user's module raises while it is imported
                answer("refused", key, f"{type(error).__name__}: {error}", _module_of(error))
            else:
                answer("loaded", key)
        elif key in functions:
            calls, cpu_seconds, together = rest
            if together:
                _run_together(functions[key], calls, cpu_seconds, together, answer)
            else:
                _run(functions[key], calls, cpu_seconds, answer)


def _module_of(error: BaseException) -> str | None:
    """Name of the module that is not here, or not whole."""
    if isinstance(error, ModuleNotFoundError):
        return error.name
    return getattr(error.obj, "__name__", None) if isinstance(error, AttributeError) else None


def _run(
    function: Callable[..., Any],
    calls: Sequence[tuple[int, bytes]],
    cpu_seconds: float,
    answer: Callable[..., None],
) -> None:
    """Make the calls, and answer each as soon as it is done."""
    for index, arguments in calls:
        _cpu_timer(cpu_seconds)
        try:
            fine, value = True, function(*pickle.loads(arguments))
        except Exception as error:
            fine, value = False, error
        _cpu_timer(0)
        _answer(answer, index, fine, value)


def _run_together(
    function: Callable[..., Any],
    calls: Sequence[tuple[int, bytes]],
    cpu_seconds: float,
    together: tuple[int, float],
    answer: Callable[..., None],
) -> None:
    """The same for a coroutine function, so many calls at a time, each for at most so many seconds.

    A call's time is what it waits and what it computes, not what its neighbours compute meanwhile. Says
    before and after each step of a call which one is at work, so that the other side knows whose fault it is
    when nothing more comes.
    """
    import asyncio
    from time import monotonic

    at_once, seconds = together
    working = 0.0  # seconds, all calls together

    async def one(index: int, arguments: bytes) -> None:
        own, before, started, late = 0.0, working, monotonic(), False

        def at_work(step: Callable[[], Any]) -> Any:
            nonlocal own, working
            answer("at", LATE if late else index)
            _cpu_timer(cpu_seconds)
            began = monotonic()
            try:
                return step()
            finally:
                took = monotonic() - began
                own, working = own + took, working + took
                _cpu_timer(0)
                answer("at", None)

        def left() -> float:
            return seconds - (monotonic() - started) + (working - before - own)

        task = asyncio.ensure_future(_stepped(_called(function, arguments), at_work))
        while not task.done() and left() > 0:
            await asyncio.wait([task], timeout=left())
        if left() <= 0:
            late = True
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            task.cancel()
            answer("late", index)
        elif task.cancelled():
            _answer(answer, index, False, RuntimeError("it cancelled itself"))
        elif error := task.exception():
            _answer(answer, index, False, error)
        else:
            _answer(answer, index, True, task.result())

    async def every() -> None:
        free = asyncio.Semaphore(at_once)

        async def when_free(index: int, arguments: bytes) -> None:
            async with free:
                await one(index, arguments)

        await asyncio.gather(*(when_free(*call) for call in calls))

    _loop().run(every())


async def _called(function: Callable[..., Any], arguments: bytes) -> Any:
    return await function(*pickle.loads(arguments))


@coroutine
def _stepped(awaited: Any, at_work: Callable[[Callable[[], Any]], Any]) -> Generator[Any, Any, Any]:
    """Await a coroutine, with each of its steps made by `at_work`."""
    step = partial(awaited.send, None)
    while True:
        try:
            waits_for = at_work(step)
        except StopIteration as ended:
            return ended.value
        try:
            yield waits_for
            step = partial(awaited.send, None)
        except BaseException as error:  # it is cancelled
            step = partial(awaited.throw, error)


@lru_cache(maxsize=1)
def _loop() -> Any:
    """One event loop a worker: a client that the function keeps belongs to the loop it was first used in."""
    import asyncio

    return asyncio.Runner()


def _answer(answer: Callable[..., None], index: int, fine: bool, value: Any) -> None:
    """Send what a call gave, or why it cannot be sent."""
    try:
        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        try:
            import cloudpickle  # can send what is of a class that was itself sent here

            packed = cloudpickle.dumps(value)
        except Exception as error:
            why = str(error) if fine else f"what it raised is a {type(value).__name__}"
            return answer("unsendable", index, why)
    answer("done", index, fine, packed)


def _cpu_timer(seconds: float) -> None:
    """Let the kernel end this process after so many seconds of its own work; 0 takes that back."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _make_module(name: str, path: str, source: bytes) -> None:
    """Run the source of a reward file under the name it has on the other side, once."""
    if name in sys.modules:
        return
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(path))  # for the modules beside it
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise


def _arriving(stream: BinaryIO) -> Iterator[bytes]:
    """Frames as they come, read in a thread of their own.

    When the process that started this one has gone or let go of it, this one ends at once, though a call may
    be sleeping, and takes along what its calls have started.
    """
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        while (frame := read_frame(stream)) is not None:
            frames.put(frame)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield frames.get()


def main() -> None:
    """Serve on what were standard input and output; what the calls print goes to standard error."""
    asked, told = os.dup(0), os.dup(1)
    requests = os.fdopen(asked, "rb")
    answers = os.fdopen(told, "wb", closefd=False)  # only the end of the process is the end of its answers
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    if hasattr(os, "register_at_fork"):  # a process that a call forks must not hold our end open
        os.register_at_fork(after_in_child=lambda: os.closerange(min(asked, told), max(asked, told) + 1))
    frames = _arriving(requests)
    sys.path[:] = pickle.loads(next(frames))
    serve(frames, answers)


if __name__ == "__main__":
    main()
