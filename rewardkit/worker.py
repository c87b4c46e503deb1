"""The other side of `deadlines`: a process that makes the calls it is sent, one after the other.

Run as a script by path, so that a worker starts without importing rewardkit; only the standard library here.
Frames in both directions are a length and a pickle. To the worker: first its ``sys.path``, then
``("load", key, function, modules)`` and ``("run", key, [(index, arguments)], cpu_seconds)``. From it:
``("loaded", key)`` or ``("refused", key, why, module)``, and for each call ``("done", index, fine, value)``.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, BinaryIO

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
            calls, cpu_seconds = rest
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
        try:
            answer("done", index, fine, value)
        except Exception as error:  # the value cannot be pickled
            text = f"{value!r:.80}" if fine else f"{type(value).__name__}: {value}"
            answer("done", index, False, TypeError(f"{text} cannot be sent between processes ({error})"))


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
    be sleeping.
    """
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        while (frame := read_frame(stream)) is not None:
            frames.put(frame)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield frames.get()


def main() -> None:
    """Serve on what were standard input and output; what the calls print goes to standard error."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    frames = _arriving(requests)
    sys.path[:] = pickle.loads(next(frames))
    serve(frames, answers)


if __name__ == "__main__":
    main()
