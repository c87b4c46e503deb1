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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from rewardkit.workers import worker
from rewardkit.workers.sending import CannotSend, by_value, file_modules, pickled
from rewardkit.workers.worker import HEADER, write_frame

__all__ = ["DeadlinePassed", "Killed", "Raised", "WorkerEnded", "Workers"]

START_SECONDS = 60.0
"""That a worker may take to start, or to import a function's module. Our choice, far above the usual one."""

CHUNK = 32
"""Calls that a worker is sent at a time. Our choice: the answers come one by one in any case."""


class DeadlinePassed(TimeoutError):
    """A call took longer than it may, and its process was killed."""


class WorkerEnded(RuntimeError):
    """A call ended the process it ran in."""


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
    pending: dict[int, None] = field(default_factory=dict)  # calls it was sent and has not answered, in order
    at: int | None = None  # of calls that run together, the one that is at work
    begun: set[int] = field(default_factory=set)  # and those that have been
    since: float = 0.0  # when it last gave a sign of life
    starting: bool = True

    def read(self) -> None:
        """Put every answer into the inbox, and ``None`` when the process has ended.

        The stream is closed here and nowhere else: its number could be another worker's already.
        """
        buffer = bytearray()
        with cast(Any, self.popen.stdout) as stream:
            while received := os.read(stream.fileno(), 1 << 16):
                buffer += received
                start = 0
                while len(buffer) - start >= HEADER.size:
                    end = start + HEADER.size + HEADER.unpack_from(buffer, start)[0]
                    if len(buffer) < end:
                        break
                    self.inbox.put((self, pickle.loads(bytes(buffer[start + HEADER.size : end]))))
                    start = end
                del buffer[:start]
        self.inbox.put((self, None))

    def send(self, request: Any) -> None:
        try:
            write_frame(cast(Any, self.popen.stdin), pickle.dumps(request, pickle.HIGHEST_PROTOCOL))
        except OSError:
            pass  # it has ended, which its reader says

    def end(self) -> None:
        """Kill it, with the processes that it started itself, though it may have ended already."""
        if self.popen.returncode is None:  # until it is waited for, its number is not given to another
            try:
                os.killpg(self.popen.pid, signal.SIGKILL)
            except (AttributeError, OSError):
                self.popen.kill()
        self.popen.wait()
        try:
            cast(Any, self.popen.stdin).close()
        except OSError:  # what was not sent any more
            pass


def _unpacked(fine: bool, packed: bytes) -> Any:
    try:
        value = pickle.loads(packed)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a class that is only known over there, or what an object does instead
        return Raised(CannotSend(f"{type(error).__name__}: {error}"))
    return value if fine else Raised(value)


class Workers:
    """Processes that make calls of at most `seconds` each.

    They start with the first call, are kept for the next ones, and end with `close`, the ``with`` block or
    this process. `cpu_seconds` bounds the processor time of a call, so that what comes out does not depend on
    the load of the machine; `seconds` is then the backstop. What a call has started ends with its worker, but
    for a process in a session of its own. One thread at a time has the workers; a fork of this process starts
    its own. ValueError: `seconds` is no time.
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
        self, function: Callable[..., Any], calls: Sequence[Sequence[Any]], *, together: int = 0
    ) -> Iterator[tuple[int, Any]]:
        """For each call its place and what it returned, or `Killed` or `Raised`, in the order they end.

        A coroutine function is awaited for so many calls `together` in one process; where one of them holds
        up the others and has to be killed, those that were on their way are made again. A value that cannot
        be sent back is `Raised` as CannotSend. CannotSend: the function cannot be pickled, or not be loaded
        there. WorkerEnded: no worker starts.
        """
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            self._together, self._some_late, self._suspects = together, False, set[int]()
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
                yield from self._all_late(waiting)
                continue
            if process not in self._processes:
                continue  # the last words of one that was ended
            process.since = time.monotonic()
            if message is None:
                yield from self._ended(process, waiting)
                continue
            kind, index, *rest = message
            if kind == "at":
                process.at = index
                process.begun.add(index)
            elif kind in ("done", "late", "unsendable"):
                del process.pending[index]
                yield index, self._outcome(kind, rest)
            else:
                process.starting = False
                if kind == "refused":
                    self._send_by_value(key, process.known.pop(key), *rest)
                    waiting.extendleft(reversed(process.pending))
                    process.pending.clear()

    def _outcome(self, kind: str, rest: list[Any]) -> Any:
        if kind == "done":
            return _unpacked(*rest)
        return Killed(self._late) if kind == "late" else Raised(CannotSend(*rest))

    def _key(self, function: Callable[..., Any]) -> int:
        """Under which the workers know the function; pickled once."""
        for key, (known, _, _) in self._functions.items():
            if known is function:
                return key
        content = pickled(function)
        self._functions[key := len(self._functions)] = (function, content, file_modules(content))
        return key

    def _send_by_value(self, key: int, refused: bytes, why: str, module: str | None) -> None:
        """Send by its content what the function takes from a module that the workers cannot import."""
        function, before, modules = self._functions[key]
        if before != refused:  # another worker has said so already
            return
        with by_value([*self._by_value, module] if module in sys.modules else []):
            content = pickled(function)
        if module in self._by_value or content == before:
            raise CannotSend(f"it cannot be loaded there: {why}")
        self._by_value.append(str(module))
        self._functions[key] = (function, content, modules)

    def _employ(
        self, key: int, waiting: deque[int], calls: Sequence[Sequence[Any]]
    ) -> Iterator[tuple[int, Killed]]:
        """Give every idle worker something to do, and start those that are missing."""
        count = 1 if self._together else self.count
        chunk_size = CHUNK * max(1, self._together)
        wanted = sum(bool(process.pending) for process in self._processes) + -(-len(waiting) // chunk_size)
        if self._some_late:  # where one call hangs others may, and their waiting is better shared
            wanted = len(self._processes) + len(waiting)
        while len(self._processes) < min(count, wanted):
            self._processes.append(_start(self._inbox))
        processes = self._processes[:count]
        for process in processes:
            if process.pending or not waiting:
                continue
            _, content, modules = self._functions[key]
            if key not in process.known:
                process.known[key] = content
                process.starting = True
                process.send(("load", key, content, modules))
            share = min(chunk_size, -(-len(waiting) // len(processes)))
            if waiting[0] in self._suspects:
                share = 1
            chunk: list[tuple[int, bytes]] = []
            for index in [waiting.popleft() for _ in range(share)]:
                try:
                    chunk.append((index, pickled(tuple(calls[index]), "an argument")))
                except CannotSend as error:
                    yield index, Killed(error)
            process.pending.update(dict.fromkeys(index for index, _ in chunk))
            process.since, process.at, process.begun = time.monotonic(), None, set()
            process.send(("run", key, chunk, self._cpu, self._together and (self._together, self.seconds)))

    @property
    def _cpu(self) -> float:
        """Processor seconds after which the kernel ends a call; one of a lost worker, where none are set."""
        return self.cpu_seconds or (2 * self.seconds + 1) * (os.cpu_count() or 1)

    @property
    def _late(self) -> DeadlinePassed:
        return DeadlinePassed(f"took longer than {self.seconds:g} s")

    def _limit(self, process: _Process) -> float:
        """Seconds that a worker may go without a sign of life."""
        if process.starting:
            return START_SECONDS
        idle = self._together and process.at is None  # all calls wait, and the worker looks at their clocks
        return self.seconds + 0.5 if idle else self.seconds

    def _patience(self) -> float:
        """Seconds until the first worker is late."""
        now = time.monotonic()
        busy = [process for process in self._processes if process.pending]
        return max(0.01, min((p.since + self._limit(p) - now for p in busy), default=0.01))

    def _all_late(self, waiting: deque[int]) -> Iterator[tuple[int, Killed]]:
        time.sleep(0.01)  # lets the readers in, where another thread has kept them out
        now = time.monotonic()
        for process in list(self._processes) if self._inbox.empty() else []:
            if process.pending and now - process.since > self._limit(process):
                if process.starting:
                    raise WorkerEnded(f"a worker process did not start within {START_SECONDS:g} s")
                self._some_late = True
                yield from self._replace(process, self._late, waiting)

    def _ended(self, process: _Process, waiting: deque[int]) -> Iterator[tuple[int, Killed]]:
        process.end()
        status = process.popen.returncode
        if process.starting:
            self._processes.remove(process)
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
        lost, begun = process.at, process.begun & process.pending.keys()
        if lost is None and len(begun) > 1:  # which of them was it? each once more, alone
            self._suspects |= begun
        elif lost is None:
            lost = next(iter(process.pending), None)
        waiting.extendleft(index for index in reversed(process.pending) if index != lost)
        if lost in process.pending:  # not one that was late before and held up the others since
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


def _how(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
