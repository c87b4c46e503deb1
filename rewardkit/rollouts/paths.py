"""Paths: bundled files, and writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from rewardkit.errors import FolderInUse, InputError, did_you_mean

GALLERY_PREFIX = "gallery:"

SAVED_SCORES = "scores.parquet"
"""Name of the file that `Scores.save` writes."""

RECORDED_SCORES = "scores-*.parquet"
"""Names of the files that a recorder writes."""

PART_OF_SCORES = re.compile(r"scores-\d{6}-([0-9a-f]{6})[0-9a-f]{10}\.parquet")
"""Names of the parts of a large log: a number, and a hash.

The hash begins with the digits of the job, which all its parts share.
"""

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
"""Errors of file systems without locks, such as some Lustre."""

FOLDER_LOCK = ".lock"
"""Name of the file that a process locks while it scores into a folder."""


def bundled(relative: str) -> Path:
    """Return the path of a bundled file, such as "notebooks/01_build.ipynb".

    It is in the wheel, or at the top of a checkout. InputError: it does not exist.
    """
    package = Path(__file__).parent.parent
    for folder in (package / "bundled", package.parent):
        if (folder / relative).exists():
            return folder / relative
    raise InputError(
        f"rewardkit comes without {relative!r}; install it from its wheel or from a "
        "whole checkout"
    )


def resolve(source: str | Path, file: str) -> Path:
    """Return a path as it is, or for "gallery:arithmetic" the bundled `file`.

    `file` is "rollouts.jsonl" or "cases.jsonl". InputError: the gallery lacks the name.
    """
    if not isinstance(source, str) or not source.startswith(GALLERY_PREFIX):
        return Path(source)
    name = source.removeprefix(GALLERY_PREFIX).partition(".")[0]
    files = files_of(file)
    if name in files:
        return files[name]
    raise InputError(
        f"the gallery has no {file.removesuffix('.jsonl')} for {name!r}; it has "
        f"{list(files)}{did_you_mean(name, list(files))}"
    )


def files_of(file: str) -> dict[str, Path]:
    """List the names of the gallery's bundled "rollouts.jsonl" or "cases.jsonl"."""
    data = bundled("data")
    files = {path.parent.name: path for path in sorted(data.glob(f"*/{file}"))}
    if file == "cases.jsonl":
        files |= {path.stem: path for path in sorted(data.glob("gallery/*.jsonl"))}
    return files


def place_to_write(path: str | Path) -> Path:
    """Return the file to replace, with links followed.

    InputError: the folder does not exist, or the path has a null character.
    """
    if "\0" in str(path):
        raise InputError(
            f"{str(path)!r} is no path: it has a null character; give one such as "
            "cases.jsonl"
        )
    file = Path(path).resolve()
    if not file.parent.is_dir():
        raise InputError(
            f"there is no folder {str(file.parent)!r} to write {file.name!r} to; make "
            "it first"
        )
    return file


def write_content(path: Path, content: str | bytes) -> None:
    """Write bytes, or a text as UTF-8, to a file; see `write_whole`.

    The folder is created if it is missing.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: file.write_bytes(data))


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a temporary file next to `path`, then rename it to `path`.

    A reader sees the old file or the new one. If `write` fails, nothing is left over.
    OSError names `path`. IsADirectoryError is raised before `write` is called.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        # created here to get the default permissions of this process
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        write(temporary)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):  # not created, such as on a read-only disk
            temporary.unlink()
        names = (None, str(temporary))
        if isinstance(error, OSError) and error.errno and error.filename in names:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


def job_digits(path: Path) -> str:
    """Return the digits that all parts of a job share, "" for another file."""
    match = PART_OF_SCORES.fullmatch(path.name)
    return match[1] if match else ""


# --- one process per folder


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from scoring into a folder during the block.

    The system releases the lock when this process ends, even if it is killed.

    Raises:
        FolderInUse: Another process holds the lock.
    """
    path = folder / FOLDER_LOCK
    file = _open_locked(path)
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = f"process {os.getpid()} on {platform.node()} has been scoring into it"
    try:
        with suppress(OSError):  # a full disk is reported when scores are written
            file.truncate(0)
            file.write(f"{holder} since {since}".encode())
        yield
    finally:
        with suppress(OSError):  # Windows does not remove open files
            path.unlink()
        file.close()


def _open_locked(path: Path) -> FileIO:
    """Open a file and lock it; FolderInUse: another process has locked it."""
    while True:
        file = path.open("a+b", buffering=0)
        try:
            _lock(file)
            # the previous holder may have removed the file since it was opened
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except (BlockingIOError, PermissionError):
            file.seek(0)
            holder = file.read().decode() or "another process is scoring into it"
            file.close()
            raise FolderInUse(
                f"{str(path.parent)!r} is in use: {holder}; wait until it ends, or "
                "give another folder"
            ) from None
        file.close()


def _lock(file: FileIO) -> None:
    """Lock an open file; BlockingIOError or PermissionError: it is locked already."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(2**30)  # locked bytes cannot be read, so lock one past the text
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
