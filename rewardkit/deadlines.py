"""Calls that can be ended: worker processes that are killed when their time is up, and replaced.

Works from any thread, under a running event loop and in a notebook: workers are fresh interpreters, not
forks, and do not import the caller's main module. Functions are sent by cloudpickle, arguments and results by
pickle.
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import cloudpickle

from rewardkit import worker
from rewardkit.worker import HEADER, write_frame

__all__ = ["CannotSend", "DeadlinePassed", "Killed", "WorkerEnded", "Workers", "pickled"]

START_SECONDS = 60.0
"""That a worker may take to start, or to import a function's module. Our choice, far above the usual one."""

CHUNK = 32
"""Calls that a worker is sent at a time. Our choice: the answers come one by one in any case."""

MODULE_SOURCE = "__rewardkit_source__"
"""Under this name a module that was run from a file, and cannot be imported by name, holds its source."""


class DeadlinePassed(TimeoutError):
    """A call took longer than it may, and its process was killed."""


class WorkerEnded(RuntimeError):
    """A call ended the process it ran in."""


class CannotSend(TypeError):
    """A function or its arguments cannot be sent to another process."""


@dataclass(frozen=True)
class Killed:
    """Stands for the value of a call that did not come back."""

    error: DeadlinePassed | WorkerEnded | CannotSend


@dataclass(frozen=True)
class Raised:
    """Stands for the value of a call that raised."""

    error: Exception


@dataclass(eq=False)
class _Process:
    """A worker and what it is doing."""

    popen: subprocess.Popen[bytes]
    inbox: queue.SimpleQueue[tuple[_Process, tuple[Any, ...] | None]]
    known: dict[int, bytes] = field(default_factory=dict)  # functions it was sent, as they were pickled
    pending: deque[int] = field(default_factory=deque)  # calls it was sent and has not answered, in order
    since: float = 0.0  # when it last gave a sign of life
    starting: bool = True

    def read(self) -> None:
        """Put every answer into the inbox, and ``None`` when the process has ended."""
        stream = cast(Any, self.popen.stdout)
        buffer = bytearray()
        try:
            while received := os.read(stream.fileno(), 1 << 16):
                buffer += received
                start = 0
                while len(buffer) - start >= HEADER.size:
                    end = start + HEADER.size + HEADER.unpack_from(buffer, start)[0]
                    if len(buffer) < end:
                        break
                    self.inbox.put((self, _unpickled(bytes(buffer[start + HEADER.size : end]))))
                    start = end
                del buffer[:start]
        except (OSError, ValueError):  # closed on this side
            pass
        self.inbox.put((self, None))

    def send(self, request: Any) -> None:
        try:
            write_frame(cast(Any, self.popen.stdin), pickle.dumps(request, pickle.HIGHEST_PROTOCOL))
        except OSError:
            pass  # it has ended, which its reader says

    def end(self) -> None:
        """Kill it, with the processes that it started itself."""
        if self.popen.poll() is None:
            try:
                os.killpg(self.popen.pid, signal.SIGKILL)
            except (AttributeError, OSError):
                self.popen.kill()
        self.popen.wait()
        for stream in (self.popen.stdin, self.popen.stdout):
            try:
                cast(Any, stream).close()
            except OSError:  # what was not sent any more
                pass


def _unpickled(frame: bytes) -> tuple[Any, ...]:
    try:
        return cast(tuple[Any, ...], pickle.loads(frame))
    except Exception as error:  # a class that is only known over there
        return ("unreadable", f"{type(error).__name__}: {error}")


class Workers:
    """Processes that make calls of at most `seconds` each.

    They start with the first call, are kept for the next ones, and end with `close`, the ``with`` block or
    this process. `cpu_seconds` bounds the processor time of a call, so that what comes out does not depend on
    the load of the machine; `seconds` is then the backstop. One thread at a time has the workers; a fork of
    this process starts its own. ValueError: `seconds` is no time.
    """

    def __init__(self, *, seconds: float, cpu_seconds: float | None = None, count: int = 1) -> None:
        if not 0 < seconds < threading.TIMEOUT_MAX:
            raise ValueError(f"timeout={seconds!r} is not a time; give seconds above 0")
        self.seconds, self.cpu_seconds, self.count = seconds, cpu_seconds, count
        self._forget()
        _ALL.add(self)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._processes: list[_Process] = []
        self._functions: dict[int, tuple[Callable[..., Any], bytes, list[Any]]] = {}
        self._by_value: list[str] = []
        self._seconds = self.seconds
        self._pid = os.getpid()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        if self._pid == os.getpid():  # not those of the process that this one is a fork of
            for process in self._processes:
                process.end()
        self._processes = []

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function returns; what it raises is raised here.

        DeadlinePassed: it took too long. WorkerEnded: it ended its process. CannotSend: it cannot be pickled.
        """
        ((_, value),) = self.map(function, [arguments])
        if isinstance(value, Killed | Raised):
            raise value.error
        return value

    def map(
        self, function: Callable[..., Any], calls: Sequence[Sequence[Any]], *, seconds: float | None = None
    ) -> Iterator[tuple[int, Any]]:
        """For each call its place and what it returned, or `Killed` or `Raised`, in the order they end.

        `seconds` stands in for the usual limit. CannotSend: the function cannot be pickled, or not be loaded
        there. WorkerEnded: no worker starts.
        """
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            self._seconds = seconds or self.seconds
            try:
                yield from self._run(function, calls)
            except BaseException:  # the caller has left, or was interrupted: nothing half-done stays behind
                self.close()
                raise

    def _run(self, function: Callable[..., Any], calls: Sequence[Sequence[Any]]) -> Iterator[tuple[int, Any]]:
        key = self._key(function)
        waiting = deque(range(len(calls)))
        while waiting or any(process.pending for process in self._processes):
            yield from self._employ(key, waiting, calls)
            try:
                process, message = self._inbox.get(timeout=self._patience())
            except queue.Empty:
                yield from self._late(waiting)
                continue
            if process not in self._processes:
                continue  # the last words of one that was ended
            process.since = time.monotonic()
            if message is None:
                yield from self._ended(process, waiting)
            elif message[0] == "done":
                yield process.pending.popleft(), message[3] if message[2] else Raised(message[3])
            elif message[0] == "unreadable":
                why = f"returned what cannot be read in this process ({message[1]})"
                yield process.pending.popleft(), Raised(TypeError(why))
            else:
                process.starting = False
                if message[0] == "refused":
                    self._send_by_value(key, process.known.pop(key), *message[2:])
                    waiting.extendleft(reversed(process.pending))
                    process.pending.clear()

    def _key(self, function: Callable[..., Any]) -> int:
        """Under which the workers know the function; pickled once."""
        for key, (known, _, _) in self._functions.items():
            if known is function:
                return key
        content = pickled(function)
        self._functions[key := len(self._functions)] = (function, content, _file_modules(content))
        return key

    def _send_by_value(self, key: int, refused: bytes, why: str, module: str | None) -> None:
        """Send by its content what the function takes from a module that the workers cannot import."""
        function, before, file_modules = self._functions[key]
        if before != refused:  # another worker has said so already
            return
        with _by_value([*self._by_value, module] if module in sys.modules else []):
            content = pickled(function)
        if module in self._by_value or content == before:
            raise CannotSend(f"it cannot be loaded there: {why}")
        self._by_value.append(str(module))
        self._functions[key] = (function, content, file_modules)

    def _employ(
        self, key: int, waiting: deque[int], calls: Sequence[Sequence[Any]]
    ) -> Iterator[tuple[int, Killed]]:
        """Give every idle worker something to do, and start those that are missing."""
        busy = sum(bool(process.pending) for process in self._processes)
        while len(self._processes) < min(self.count, busy + -(-len(waiting) // CHUNK)):
            self._processes.append(_start(self._inbox))
        for process in self._processes:
            if process.pending or not waiting:
                continue
            _, content, modules = self._functions[key]
            if key not in process.known:
                process.known[key] = content
                process.starting = True
                process.send(("load", key, content, modules))
            share = min(CHUNK, -(-len(waiting) // len(self._processes)))
            chunk: list[tuple[int, bytes]] = []
            for index in [waiting.popleft() for _ in range(share)]:
                try:
                    chunk.append((index, pickled(tuple(calls[index]), "an argument")))
                except CannotSend as error:
                    yield index, Killed(error)
            process.pending.extend(index for index, _ in chunk)
            process.since = time.monotonic()
            process.send(("run", key, chunk, self._cpu))

    @property
    def _cpu(self) -> float:
        """Processor seconds after which the kernel ends a call; one of a lost worker, where none are set."""
        return self.cpu_seconds or (2 * self._seconds + 1) * (os.cpu_count() or 1)

    def _limit(self, process: _Process) -> float:
        return START_SECONDS if process.starting else self._seconds

    def _patience(self) -> float:
        """Seconds until the first worker is late."""
        now = time.monotonic()
        busy = [process for process in self._processes if process.pending]
        return max(0.01, min((p.since + self._limit(p) - now for p in busy), default=0.01))

    def _late(self, waiting: deque[int]) -> Iterator[tuple[int, Killed]]:
        time.sleep(0.01)  # lets the readers in, where another thread has kept them out
        now = time.monotonic()
        for process in list(self._processes) if self._inbox.empty() else []:
            if process.pending and now - process.since > self._limit(process):
                if process.starting:
                    raise WorkerEnded(f"a worker process did not start within {START_SECONDS:g} s")
                late = DeadlinePassed(f"took longer than {self._seconds:g} s")
                yield from self._replace(process, late, waiting)

    def _ended(self, process: _Process, waiting: deque[int]) -> Iterator[tuple[int, Killed]]:
        status = process.popen.wait()
        if process.starting:
            self._processes.remove(process)
            process.end()
            raise WorkerEnded(f"a worker process ended before its first call ({_how(status)})")
        error: DeadlinePassed | WorkerEnded = WorkerEnded(f"ended its process ({_how(status)})")
        if status == -getattr(signal, "SIGPROF", 0):
            error = DeadlinePassed(f"took longer than {self._cpu:g} s of processor time")
        yield from self._replace(process, error, waiting)

    def _replace(
        self, process: _Process, error: DeadlinePassed | WorkerEnded, waiting: deque[int]
    ) -> Iterator[tuple[int, Killed]]:
        """End a worker; the call it was at is lost, those behind it go back to the others."""
        self._processes.remove(process)
        process.end()
        if process.pending:
            lost = process.pending.popleft()
            waiting.extendleft(reversed(process.pending))
            yield lost, Killed(error)


_ALL: weakref.WeakSet[Workers] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for workers in list(_ALL):
        workers.close()


def _start(inbox: queue.SimpleQueue[Any]) -> _Process:
    popen = subprocess.Popen(
        [sys.executable, "-P", str(Path(worker.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # an interrupt from the keyboard is this process's to handle
    )
    process = _Process(popen, inbox, since=time.monotonic())
    threading.Thread(target=process.read, name="rewardkit-worker", daemon=True).start()
    process.send(list(sys.path))
    return process


_PLAIN = {str, int, float, bool, type(None)}


def pickled(value: Any, what: str = "it") -> bytes:
    """A value as it is sent; CannotSend: it cannot be."""
    try:
        if isinstance(value, tuple) and _PLAIN.issuperset(map(type, value)):
            return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return cast(bytes, cloudpickle.dumps(value))
    except Exception as error:  # whatever an object raises when it is pickled
        raise CannotSend(f"{what} cannot be pickled: {error}") from error


@contextmanager
def _by_value(names: Sequence[str | None]) -> Iterator[None]:
    """Let cloudpickle send what is defined in these modules whole, instead of the name to import."""
    modules = [sys.modules[str(name)] for name in names]
    added = [m for m in modules if m.__name__ not in cloudpickle.list_registry_pickle_by_value()]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)


def _file_modules(content: bytes) -> list[tuple[str, str, bytes]]:
    """Name, path and source of the modules that a pickled function needs and that no import would find."""
    return [
        (name, str(module.__file__), vars(module)[MODULE_SOURCE])
        for name, module in list(sys.modules.items())
        if MODULE_SOURCE in getattr(module, "__dict__", {}) and name.encode() in content
    ]


def _how(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
