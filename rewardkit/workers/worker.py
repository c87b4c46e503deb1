"""The worker process of `pool`: it makes the calls that it receives, in turn.

It is run as a script by its path and uses only the standard library, so that a worker
starts without importing rewardkit. A frame is a length and a pickle. The worker
receives its ``sys.path``, then ``("load", key, function, modules, path)`` and ``("run",
key, [(index, arguments)], cpu_seconds)``. It sends ``("loaded",)`` or ``("refused",
reason)``, and for each call ``(kind, index, value)``, where `kind` is "returned",
"raised", or "unsendable" with the reason as value.
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
"""Prefix of the name of a package created for the relative imports of a file."""
START_ERROR = "__rewardkit_error__"
"""Attribute of such a package: the error of its ``__init__.py``."""
INSTALLED = {"site-packages", "dist-packages"}
"""Names of folders of installed packages."""
FRAME_LENGTH = struct.Struct("!Q")


def write_frame(stream: BinaryIO, frame: Any) -> None:
    """Write one frame and flush it."""
    content = pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
    stream.write(FRAME_LENGTH.pack(len(content)) + content)
    stream.flush()


def read_frames(stream: BinaryIO) -> Iterator[Any]:
    """Yield frames as they arrive, until the stream ends."""
    while True:
        header = stream.read(FRAME_LENGTH.size)
        if len(header) < FRAME_LENGTH.size:
            return
        (length,) = FRAME_LENGTH.unpack(header)
        content = stream.read(length)
        if len(content) == length:
            yield pickle.loads(content)


def serve(requests: Iterable[Any], answers: BinaryIO) -> None:
    """Answer requests until they end."""
    functions: dict[int, Callable[..., Any]] = {}
    for kind, key, *parameters in requests:
        if kind == "load":
            try:
                functions[key] = load_function(*parameters)
            # importing the user's module may raise any error
            except BaseException as error:
                write_frame(answers, ("refused", f"{type(error).__name__}: {error}"))
            else:
                write_frame(answers, ("loaded",))
        elif key in functions:
            calls, cpu_seconds = parameters
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

    Imports are resolved on `path`, the sender's `sys.path`, if both are on one machine.
    Later calls also search the folders of the files that were run here, and first.
    """
    own_path = [*sys.path]
    file_folders: list[str] = []
    # the sender has already shown what modules print
    with (
        open(os.devnull, "w") as null,
        redirect_stdout(null),
        redirect_stderr(null),
    ):
        try:
            sys.path[:] = path or own_path
            for module in modules:
                file_folders[:0] = _make_module(*module)
            sys.path[:] = path or sys.path
            function: Callable[..., Any] = pickle.loads(content)
        finally:
            sys.path[:] = dict.fromkeys([*file_folders, *own_path, *sys.path])
        for handler in handlers_on(null):
            handler.setStream(sys.__stderr__)
    return function


def handlers_on(*streams: Any) -> Iterator[Any]:
    """Yield the handlers of all loggers that write to one of these streams."""
    logging = sys.modules.get("logging")  # slow to import
    if logging is not None:
        root = logging.root
        for logger in (root, *root.manager.loggerDict.values()):
            for handler in getattr(logger, "handlers", ()):  # a placeholder has none
                is_stream = isinstance(handler, logging.StreamHandler)
                # some handlers look up stderr each time and have no stream
                if is_stream and vars(handler).get("stream") in streams:
                    yield handler


def answer_call(function: Callable[..., Any], arguments: bytes) -> tuple[str, bytes]:
    """Make a call; return its kind and its pickled value, see the module."""
    try:
        kind, value = "returned", function(*pickle.loads(arguments))
    # SystemExit ends the process, as the user's code asks
    except (Exception, KeyboardInterrupt) as error:
        kind, value = "raised", error
    try:
        return kind, pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        try:
            import cloudpickle  # can pickle objects of classes that were sent here

            return kind, cloudpickle.dumps(value)
        except Exception as error:
            why = str(error)
            if kind == "raised":
                why = f"what it raised is a {type(value).__name__}"
            return "unsendable", pickle.dumps(why)


def _cpu_timer(seconds: float) -> None:
    """Let the kernel end this process after seconds of work; 0 cancels that."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _make_module(name: str, path: str, source: bytes) -> list[str]:
    """Run the source of a reward file once, as a module of the sender's name.

    Without a name, add the path to `sys.path` as a folder to import from.

    Returns:
        The folders that the file imports from.
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
    # bytecode files do not distinguish two edits within one second
    sys.dont_write_bytecode = True
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return folders


def forget_others(folder: str) -> dict[str, ModuleType]:
    """Remove modules of other folders whose names are those of files in this folder.

    A file then imports its neighbours, not modules of the working folder or of another
    reward with their names. Installed modules stay.

    Returns:
        The modules removed from `sys.modules`, by name.
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
            neighbour = os.path.join(os.path.realpath(folder), top)
            prefixes = (f"{neighbour}.", neighbour + os.sep)
            if not os.path.realpath(file).startswith(prefixes):
                others[name] = sys.modules.pop(name)
    return others


def is_installed(file: str) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    python = os.path.join(os.path.dirname(os.__file__), "")
    return file.startswith(python) or bool(INSTALLED & {*file.split(os.sep)})


def import_folders(path: str) -> list[str]:
    """Return the folders a file imports from: its own and that of its package."""
    folder = root = os.path.dirname(path)
    while os.path.isfile(os.path.join(root, "__init__.py")):
        root = os.path.dirname(root)
    return [folder] if root == folder else [folder, root]


def make_package(path: str, source: bytes) -> str:
    """Create the package for the relative imports of a file; return its name.

    The name is unique, as another package may have the folder's name. "" if the file
    has no relative imports.
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
    """Create a package from a folder, even if its ``__init__.py`` fails.

    The error is stored in the package, for the message of an import that fails.
    """
    package = ModuleType(name)
    package.__package__, package.__path__ = name, [folder]
    sys.modules[name] = package
    path = os.path.join(folder, "__init__.py")
    if os.path.isfile(path):
        package.__file__ = path
        try:
            with open(path, "rb") as stream:
                exec(compile(stream.read(), path, "exec"), package.__dict__)
        except Exception as error:
            vars(package)[START_ERROR] = f"{type(error).__name__}: {error}"


def _arriving(stream: BinaryIO) -> Iterator[Any]:
    """Yield frames as they arrive, read by a thread.

    When the parent process ends or closes the stream, this process ends at once with
    all children of its calls, even during a call.
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
    """End this process with all children of its calls."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def main() -> None:
    """Answer requests on standard input; send the output of calls to standard error."""
    input_end, output_end = os.dup(0), os.dup(1)
    # only the end of the process may close the answers
    answers = os.fdopen(output_end, "wb", closefd=False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    # a fork in a call must not keep our pipes open
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
