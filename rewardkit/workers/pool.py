"""Make calls in worker processes that are killed when they are late, and replaced.

It works from any thread, under a running event loop and in a notebook: workers are
fresh interpreters, not forks, and do not import the caller's main module. Functions are
sent with cloudpickle, arguments and results with pickle.

Why not pebble 5.2 or loky 3.7, measured on two cores with Python 3.11: 5,000 calls of
50 microseconds take two workers 0.50 s, pebble 0.93 s, loky 1.56 s; one call takes 0.09
ms, with pebble 0.19 ms. A hang in C code under a deadline of 1 s ends after 1.1 s, with
pebble after 1.4 s. If one of 20 calls exits its process, only that call is lost; loky
also loses the 14 after it. pebble needs ``if __name__ == "__main__"``, which most
scripts that score a reward lack.
"""

from __future__ import annotations

import math
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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import cloudpickle

from rewardkit.workers import worker
from rewardkit.workers.worker import (
    import_folders,
    is_installed,
    read_frames,
    write_frame,
)

OUR_PACKAGE = "rewardkit"
"""The package that every worker can import."""

MODULE_SOURCE = "__rewardkit_source__"
"""Attribute of a module that was run from a file and cannot be imported: its source."""

NAMESAKES = "__rewardkit_namesakes__"
"""Attribute of such a module: its imports whose names others have in `sys.modules`."""

START_SECONDS = 60.0
"""Seconds for a worker to start, or to import a module. Our choice: far above usual."""

STARTS = 3
"""Failed starts in a row per worker after which a pass fails. Our choice."""

CHUNK = 32
"""Calls sent to a worker at a time. Our choice: answers still come one by one."""


class DeadlinePassed(TimeoutError):
    """A call took too long, and its process was killed."""


class WorkerEnded(RuntimeError):
    """A call ended its process; `ending` is the exit status or signal."""

    def __init__(self, message: str, ending: str = "") -> None:
        super().__init__(message)
        self.ending = ending


class CannotSend(TypeError):
    """A function, an argument or a result cannot be sent to another process."""


@dataclass(frozen=True)
class Lost:
    """The value of a call that raised an error or was lost."""

    error: Exception


def pickled(value: Any, label: str = "it") -> bytes:
    """Pickle a value; CannotSend: it cannot be pickled. `label` names it then."""
    try:
        if isinstance(value, tuple) and PLAIN_TYPES.issuperset(map(type, value)):
            return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return cast(bytes, cloudpickle.dumps(value))
    except Exception as error:  # an object may raise any error when it is pickled
        raise CannotSend(f"{label} cannot be pickled: {error}") from error


PLAIN_TYPES = {str, int, float, bool, type(None)}


@contextmanager
def by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    """Let cloudpickle send the definitions of these modules by value."""
    registered = cloudpickle.list_registry_pickle_by_value()
    added = [module for module in modules if module.__name__ not in registered]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)


def is_importable(module: ModuleType) -> bool:
    """Return whether a process with the same `sys.path` would import this very module.

    A file of the same name in another folder is another module.
    """
    top = module.__name__.partition(".")[0]
    spec = PathFinder.find_spec(top)
    if spec is None:
        return False
    file = getattr(sys.modules.get(top), "__file__", None)
    if not file or not spec.has_location:
        return True
    return bool(os.path.realpath(file) == os.path.realpath(str(spec.origin)))


def namesakes() -> dict[str, list[ModuleType]]:
    """Return the modules of reward files that share their names with others."""
    modules: dict[str, list[ModuleType]] = {}
    for file_module in list(sys.modules.values()):
        names = getattr(file_module, "__dict__", {})
        for name, module in names.get(NAMESAKES, {}).items():
            modules.setdefault(name, []).append(module)
    return modules


def pack_function(
    function: Callable[..., Any],
    is_there: Callable[[ModuleType], bool] = is_importable,
) -> tuple[bytes, list[tuple[str, str, bytes]]]:
    """Pickle a function, with the modules that another process cannot import.

    Definitions are pickled by value if their module is not `is_there`, or if several
    modules have its name.

    Args:
        function: The function.
        is_there: Whether the receiving process can import a module.

    Returns:
        The pickle, and a list of (name, path, source) of modules that were run from
        files. Entries without name and source come first: folders to import the user's
        modules from, in reverse order of `sys.path`.

    Raises:
        CannotSend: The function cannot be pickled.
    """
    files: dict[str, tuple[str, str, bytes]] = {}
    roots: set[str] = set()
    by_value_modules: dict[str, ModuleType] = {}
    shared_names = namesakes()
    while True:
        count = len(by_value_modules)
        files.clear()
        roots.clear()
        with by_value([*by_value_modules.values()]):
            content = pickled(function)
        for name, module in list(sys.modules.items()):
            if not _is_named(name, content) or not getattr(module, "__file__", None):
                continue
            file = str(module.__file__)
            if MODULE_SOURCE in vars(module):
                files[name] = name, file, vars(module)[MODULE_SOURCE]
            elif name in shared_names or not is_there(module):
                by_value_modules[name] = module
            elif not is_installed(file) and name.partition(".")[0] != OUR_PACKAGE:
                roots.add(import_folders(file)[-1])
        if len(by_value_modules) == count:  # else their content may name others
            break
    path = [os.path.abspath(folder) for folder in sys.path]
    folders = sorted(roots.difference(path))
    folders += sorted(roots.intersection(path), key=path.index, reverse=True)
    return content, [*(("", folder, b"") for folder in folders), *files.values()]


def _is_named(module: str, content: bytes) -> bool:
    """Return whether a pickle contains the name of a module as a text."""
    name = module.encode()
    if len(name) > 255:
        return False
    return pickle.SHORT_BINUNICODE + bytes([len(name)]) + name in content


@dataclass(eq=False)
class _Process:
    """A worker process and its state."""

    popen: subprocess.Popen[bytes]
    inbox: queue.SimpleQueue[tuple[_Process, tuple[Any, ...] | None]]
    functions: set[int] = field(default_factory=set)  # keys of the functions it has
    pending: deque[int] = field(default_factory=deque)  # calls without an answer
    since: float = 0.0  # time of its last answer or request
    starting: bool = True

    def forward_answers(self) -> None:
        """Put every answer into the inbox, and ``None`` when the process has ended.

        The stream is closed only here, as its descriptor could be reused by another
        worker.
        """
        with cast(Any, self.popen.stdout) as stream, suppress(OSError):
            for frame in read_frames(stream):
                self.inbox.put((self, frame))
        self.inbox.put((self, None))

    def send(self, request: Any) -> None:
        with suppress(OSError):  # if it has ended, its reader reports that
            write_frame(cast(Any, self.popen.stdin), request)

    def end(self) -> None:
        """Kill the process with its children; it may have ended already."""
        # its id is not reused before `wait`
        if self.popen.returncode is None:
            try:
                os.killpg(self.popen.pid, signal.SIGKILL)
            except (AttributeError, OSError):
                self.popen.kill()
        self.popen.wait()
        with suppress(OSError):  # a request may not have been flushed
            cast(Any, self.popen.stdin).close()


class Workers:
    """Processes that make calls of at most `seconds` each.

    They start with the first call, are kept for later ones, and end with `close`, the
    ``with`` block or this process. A call's child processes end with its worker, except
    those in a session of their own. One thread at a time can use the workers. A fork of
    this process starts its own.

    Args:
        seconds: Most seconds of a call.
        cpu_seconds: Most processor seconds of a call, so that results do not depend on
            the load of the machine; `seconds` is then the backstop.
        count: Most processes.

    Raises:
        ValueError: `seconds` is not above 0.
    """

    def __init__(
        self, *, seconds: float, cpu_seconds: float | None = None, count: int = 1
    ) -> None:
        if not 0 < seconds < threading.TIMEOUT_MAX:
            raise ValueError(f"timeout={seconds!r} is not a time; give seconds above 0")
        self.seconds, self.cpu_seconds, self.count = seconds, cpu_seconds, count
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._processes: list[_Process] = []
        # id -> function and its packed form
        self._functions: dict[int, tuple[Callable[..., Any], Any]] = {}
        self._extra, self._failed_starts = 0.0, 0
        self._pid = os.getpid()
        weakref.finalize(self, _end, self._processes, self._pid)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        _end(self._processes, self._pid)

    def map(
        self,
        function: Callable[..., Any],
        calls: Sequence[Sequence[Any]],
        *,
        chunk: int = CHUNK,
        extra: float = 0,
    ) -> Iterator[tuple[int, Any]]:
        """Yield the place of each call and its value, or `Lost`, in the order they end.

        A value that cannot be sent back is `Lost` with CannotSend.

        Args:
            function: The function.
            calls: The arguments of each call.
            chunk: Most calls sent to a worker at a time.
            extra: Seconds added to the limit of each call.

        Raises:
            CannotSend: The function cannot be pickled, or not be loaded in a worker.
            WorkerEnded: A worker does not start, or workers end during their start
                (`STARTS`).
        """
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            self._extra, self._failed_starts = extra, 0
            try:
                if id(function) not in self._functions:
                    self._functions[id(function)] = function, pack_function(function)
                yield from self._run(id(function), calls, chunk)
            # the caller stopped or was interrupted: discard unfinished calls
            except BaseException:
                self.close()
                raise

    def _run(
        self, key: int, calls: Sequence[Sequence[Any]], chunk: int
    ) -> Iterator[tuple[int, Any]]:
        waiting = deque(range(len(calls)))
        while waiting or any(process.pending for process in self._processes):
            yield from self._employ(key, waiting, calls, chunk)
            now = time.monotonic()
            waits = []
            for process in self._processes:
                if process.pending:
                    waits.append(process.since + self._limit(process) - now)
            first_wait = max(0.01, min(waits, default=0.01))
            try:
                process, answer = self._inbox.get(timeout=first_wait)
            except queue.Empty:
                yield from self._late(waiting)
                continue
            if process not in self._processes:
                continue  # the last answer of a process that was ended
            process.since = time.monotonic()
            if answer is None:
                yield from self._lose(process, None, waiting)
                continue
            self._failed_starts = 0
            if answer[0] == "loaded":
                process.starting = False
            elif answer[0] == "refused":
                raise CannotSend(f"it cannot be loaded there: {answer[1]}")
            else:
                process.pending.remove(answer[1])
                yield answer[1], unpack_answer(answer[0], answer[2])

    def _employ(
        self, key: int, waiting: deque[int], calls: Sequence[Sequence[Any]], chunk: int
    ) -> Iterator[tuple[int, Lost]]:
        """Start missing workers and give calls to idle ones; yield unsendable calls."""
        busy = sum(bool(process.pending) for process in self._processes)
        wanted = busy + math.ceil(len(waiting) / chunk)
        while len(self._processes) < min(self.count, wanted):
            self._processes.append(_start(self._inbox))
        share = min(chunk, math.ceil(len(waiting) / len(self._processes)))
        for process in self._processes:
            if process.pending or not waiting:
                continue
            if key not in process.functions:
                process.functions.add(key)
                process.starting = True
                packed_function = self._functions[key][1]
                process.send(("load", key, *packed_function, list(sys.path)))
            packed: list[tuple[int, bytes]] = []
            for _ in range(min(share, len(waiting))):
                index = waiting.popleft()
                try:
                    packed.append((index, pickled(tuple(calls[index]), "an argument")))
                except CannotSend as error:
                    yield index, Lost(error)
            process.pending.extend(index for index, _ in packed)
            process.since = time.monotonic()
            process.send(("run", key, packed, self._cpu))

    @property
    def _cpu(self) -> float:
        """Processor seconds after which the kernel ends a call.

        Without `cpu_seconds` only an abandoned worker can reach the bound.
        """
        return self.cpu_seconds or (2 * self.seconds + 1) * (os.cpu_count() or 1)

    def _limit(self, process: _Process) -> float:
        """Most seconds of a worker without an answer."""
        return START_SECONDS if process.starting else self.seconds + self._extra

    def _late(self, waiting: deque[int]) -> Iterator[tuple[int, Lost]]:
        time.sleep(0.01)  # let readers run that another thread has blocked
        now = time.monotonic()
        for process in list(self._processes) if self._inbox.empty() else []:
            if process.pending and now - process.since > self._limit(process):
                if process.starting:
                    raise WorkerEnded(
                        f"a worker process did not start within {START_SECONDS:g} s"
                    )
                error = DeadlinePassed(f"took longer than {self.seconds:g} s")
                yield from self._lose(process, error, waiting)

    def _lose(
        self, process: _Process, error: Exception | None, waiting: deque[int]
    ) -> Iterator[tuple[int, Lost]]:
        """End a worker that is late (`error`) or has ended.

        Its first pending call is lost, unless the worker was starting. Other calls
        return to `waiting`.
        """
        self._processes.remove(process)
        process.end()
        if error is None:
            status = process.popen.returncode
            names = {-number: f"signal {number.name}" for number in signal.Signals}
            how = names.get(status, f"exit status {status}")
            if process.starting:
                self._failed_starts += 1
                if self._failed_starts >= STARTS * self.count:
                    raise WorkerEnded(_no_start(how))
                waiting.extendleft(reversed(process.pending))
                return
            error = WorkerEnded(f"ended its process ({how})", how)
            if how == "signal SIGPROF":
                error = DeadlinePassed(
                    f"took longer than {self._cpu:g} s of processor time"
                )
        waiting.extendleft(list(process.pending)[:0:-1])
        if process.pending:
            yield process.pending[0], Lost(error)


def _no_start(how: str) -> str:
    """Say why no worker starts and what to do."""
    if how == "signal SIGKILL":
        return (
            f"worker processes are killed while they start ({how}; out of memory?); "
            "use fewer workers"
        )
    return (
        f"worker processes end while they start ({how}); "
        "see whether importing its file ends Python"
    )


def unpack_answer(kind: str, packed: bytes) -> Any:
    """Return the value of a call, or `Lost`; see `worker.answer_call`."""
    try:
        value = pickle.loads(packed)
    except KeyboardInterrupt:
        raise
    # such as a class that only the worker has; unpickling may run any code
    except BaseException as error:
        return Lost(CannotSend(f"{type(error).__name__}: {error}"))
    if kind == "returned":
        return value
    return Lost(value if kind == "raised" else CannotSend(value))


def _end(processes: list[_Process], owner: int) -> None:
    """End processes unless this process is a fork of their owner."""
    while owner == os.getpid() and processes:
        processes.pop().end()


def _start(inbox: queue.SimpleQueue[Any]) -> _Process:
    popen = subprocess.Popen(
        [sys.executable, "-P", str(Path(worker.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # only this process should receive an interrupt from the keyboard
        start_new_session=True,
    )
    process = _Process(popen, inbox, since=time.monotonic())
    threading.Thread(
        target=process.forward_answers, name="rewardkit-worker", daemon=True
    ).start()
    process.send(list(sys.path))
    return process
