"""The other side of `pool`: a process that makes the calls it is sent, in turn.

Run as a script by path, so that a worker starts without importing rewardkit; only the
standard library here. Frames in both directions are a length and a pickle. To the
worker: first its ``sys.path``, then ``("load", key, function, modules, path)`` and
``("run", key, [(index, arguments)], cpu_seconds)``. From it: ``("loaded",)`` or
``("refused", why)``, and for each call ``(kind, index, value)``: "returned", "raised",
or "unsendable" with the reason.
"""

from __future__ import annotations

import ast
import hashlib
import os
import pickle
import queue
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from types import ModuleType
from typing import Any, BinaryIO

PACKAGE = "reward_folder_"
"""Start of the name of a package that is made for the relative imports of a file."""
START_ERROR = "__rewardkit_error__"
"""The name under which such a package holds the error of its ``__init__.py``."""
INSTALLED = {"site-packages", "dist-packages"}
"""Folders of what is installed, and no source of the user's."""
FRAME_LENGTH = struct.Struct("!Q")


def write_frame(stream: BinaryIO, frame: Any) -> None:
    """Write one frame and send it off."""
    content = pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
    stream.write(FRAME_LENGTH.pack(len(content)) + content)
    stream.flush()


def read_frames(stream: BinaryIO) -> Iterator[Any]:
    """Yield frames as they come, until the other side has gone."""
    while True:
        header = stream.read(FRAME_LENGTH.size)
        if len(header) < FRAME_LENGTH.size:
            return
        (length,) = FRAME_LENGTH.unpack(header)
        content = stream.read(length)
        if len(content) == length:
            yield pickle.loads(content)


def serve(requests: Iterable[Any], answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    functions: dict[int, Callable[..., Any]] = {}
    for kind, key, *rest in requests:
        if kind == "load":
            try:
                functions[key] = load_function(*rest)
            # whatever the user's module raises while it is imported
            except BaseException as error:
                write_frame(answers, ("refused", f"{type(error).__name__}: {error}"))
            else:
                write_frame(answers, ("loaded",))
        elif key in functions:
            calls, cpu_seconds = rest
            for index, arguments in calls:
                _cpu_timer(cpu_seconds)
                kind, value = answer_call(functions[key], arguments)
                _cpu_timer(0)
                write_frame(answers, (kind, index, value))


def load_function(
    content: bytes,
    modules: Iterable[tuple[str, str, bytes]],
    path: Sequence[str] = (),
) -> Callable[..., Any]:
    """Return a function that `pool.pack_function` packed.

    What it imports is looked for on the `path` of the other side, if that is of this
    machine. Its calls look into the folders of files that were run here before that.
    """
    before = [*sys.path]
    front: list[str] = []
    # what a module prints was seen on the other side, where it ran first
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        try:
            sys.path[:] = path or before
            for module in modules:
                front[:0] = _make_module(*module)
            sys.path[:] = path or sys.path
            function: Callable[..., Any] = pickle.loads(content)
        finally:
            sys.path[:] = dict.fromkeys([*front, *before, *sys.path])
        for handler in handlers_on(nowhere):
            handler.setStream(sys.__stderr__)
    return function


def handlers_on(*streams: Any) -> Iterator[Any]:
    """Yield the handlers of all loggers that write to one of these streams."""
    logging = sys.modules.get("logging")  # whose import would take time
    if logging is not None:
        root = logging.root
        for logger in (root, *root.manager.loggerDict.values()):
            for handler in getattr(logger, "handlers", ()):  # a placeholder has none
                is_stream = isinstance(handler, logging.StreamHandler)
                # some look up stderr each time, and have no stream to be set
                if is_stream and vars(handler).get("stream") in streams:
                    yield handler


def answer_call(function: Callable[..., Any], arguments: bytes) -> tuple[str, bytes]:
    """Return what a call returned or raised, or why that cannot be sent."""
    try:
        kind, value = "returned", function(*pickle.loads(arguments))
    # all else ends the process, which is what it means
    except (Exception, KeyboardInterrupt) as error:
        kind, value = "raised", error
    try:
        return kind, pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        try:
            import cloudpickle  # can send what is of a class that was itself sent here

            return kind, cloudpickle.dumps(value)
        except Exception as error:
            why = str(error)
            if kind == "raised":
                why = f"what it raised is a {type(value).__name__}"
            return "unsendable", pickle.dumps(why)


def _cpu_timer(seconds: float) -> None:
    """Let the kernel end this process after seconds of work; 0 takes it back."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _make_module(name: str, path: str, source: bytes) -> list[str]:
    """Run the source of a reward file under the name it has on the other side, once.

    Without a name it is a folder to import from. Return the folders of the file.
    """
    if not name:
        forget_others(path)
        if path not in map(os.path.abspath, sys.path):
            sys.path.insert(0, path)
        return []
    folders = import_folders(path)
    if name in sys.modules:
        return folders
    module = ModuleType(name)
    module.__file__ = path
    module.__package__ = make_package(path, source)
    sys.modules[name] = module
    forget_others(os.path.dirname(path))
    sys.path[:0] = folders
    # their bytecode would take two edits within one second for one
    sys.dont_write_bytecode = True
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return folders


def forget_others(folder: str) -> dict[str, ModuleType]:
    """Forget modules of other folders that have the names of files in this one.

    So that a file imports its own neighbours, and not what the working folder or
    another reward has of their names. What Python or pip installed stays. Return what
    was forgotten, by name.
    """
    others: dict[str, ModuleType] = {}
    names = set()
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():
        if entry.name.endswith(".py"):
            names.add(entry.name.removesuffix(".py"))
        elif entry.is_dir() and os.path.isfile(os.path.join(entry, "__init__.py")):
            names.add(entry.name)
    names -= {"__main__", "rewardkit"}
    for name, module in sys.modules.copy().items():
        top = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if top in names and file and not is_installed(file):
            beside = os.path.join(os.path.realpath(folder), top)
            if not os.path.realpath(file).startswith((f"{beside}.", beside + os.sep)):
                others[name] = sys.modules.pop(name)
    return others


def is_installed(file: str) -> bool:
    """Return whether a file is of Python, or of what pip installs."""
    python = os.path.join(os.path.dirname(os.__file__), "")
    return file.startswith(python) or bool(INSTALLED & {*file.split(os.sep)})


def import_folders(path: str) -> list[str]:
    """Return the folders from which a file imports: its own, and its package's."""
    folder = root = os.path.dirname(path)
    while os.path.isfile(os.path.join(root, "__init__.py")):
        root = os.path.dirname(root)
    return [folder] if root == folder else [folder, root]


def make_package(path: str, source: bytes) -> str:
    """Make the package in which a file's relative imports are; "" where it has none.

    Of a name of its own: another one may be called like the folder.
    """
    level = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            level = max(level, node.level)
    if not level:
        return ""
    folders = [os.path.dirname(path)]
    for _ in range(level - 1):
        folders.insert(0, os.path.dirname(folders[0]))
    name = PACKAGE + hashlib.sha256(folders[0].encode()).hexdigest()[:8]
    for place in folders:
        if place != folders[0]:
            name = f"{name}.{os.path.basename(place)}"
        if name not in sys.modules:
            _make_one_package(name, place)
    return name


def _make_one_package(name: str, folder: str) -> None:
    """Make a package of a folder; a start of it that fails is left out.

    What a file then imports from it, and what is not there, says so, with its error.
    """
    package = ModuleType(name)
    package.__package__, package.__path__ = name, [folder]
    sys.modules[name] = package
    start = os.path.join(folder, "__init__.py")
    if os.path.isfile(start):
        package.__file__ = start
        try:
            with open(start, "rb") as stream:
                exec(compile(stream.read(), start, "exec"), package.__dict__)
        except Exception as error:
            vars(package)[START_ERROR] = f"{type(error).__name__}: {error}"


def _arriving(stream: BinaryIO) -> Iterator[Any]:
    """Yield frames as they come, read in a thread of their own.

    When the process that started this one has gone or let go of it, this one ends at
    once, though a call may be sleeping, and takes along what its calls have started.
    """
    frames: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def forward_frames() -> None:
        for frame in read_frames(stream):
            frames.put(frame)
        _end()

    threading.Thread(target=forward_frames, daemon=True).start()
    while True:
        yield frames.get()


def _end() -> None:
    """End this process with what its calls have started."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def main() -> None:
    """Answer requests on standard input; what calls print goes to standard error."""
    input_end, output_end = os.dup(0), os.dup(1)
    # only the end of the process is the end of its answers
    answers = os.fdopen(output_end, "wb", closefd=False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    # a process that a call forks must not hold our end open
    if hasattr(os, "register_at_fork"):
        first, last = sorted((input_end, output_end))
        os.register_at_fork(after_in_child=lambda: os.closerange(first, last + 1))
    requests = _arriving(os.fdopen(input_end, "rb"))
    sys.path[:] = next(requests)
    try:
        serve(requests, answers)
    except BrokenPipeError:  # nobody waits for answers any more
        _end()


if __name__ == "__main__":
    main()
