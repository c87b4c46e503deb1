"""Paths: bundled files, and files that are written whole or not at all."""

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
"""Name of the file that `Scores.save` writes into its folder."""

RECORDED_SCORES = "scores-*.parquet"
"""Names of the files that a recorder writes into its folder."""

PART_OF_SCORES = re.compile(r"scores-\d{6}-([0-9a-f]{6})[0-9a-f]{10}\.parquet")
"""Names of the parts in which a large log is scored: a number, and a hash.

The hash begins with the digits of the job, which all of its parts have.
"""

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
"""Errors of disks that have no locks, as Lustre where none are set up."""

FOLDER_LOCK = ".lock"
"""Name of the file that a process locks while it scores into a folder."""


def bundled(relative: str) -> Path:
    """Return the path of a bundled file, such as "notebooks/01_build.ipynb".

    It is in the wheel, or at the top of a checkout. InputError: there is none.
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

    `file` is "rollouts.jsonl" or "cases.jsonl". InputError: the gallery has none of
    that name.
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
    """Follow links to the file that a new file would replace.

    InputError: there is no such folder, or a null character in the path.
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
    """Write a file of these bytes, or of this text as UTF-8, see `write_whole`.

    Its folder is made where it is missing.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: file.write_bytes(data))


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place.

    A reader sees the old file or the new one; where `write` fails, nothing is left.
    OSError names the file, IsADirectoryError before anything is written.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        # made here, with the permissions that any new file of this process gets
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        write(temporary)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):  # not made, as on a disk that cannot be written
            temporary.unlink()
        names = (None, str(temporary))
        if isinstance(error, OSError) and error.errno and error.filename in names:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


def job_digits(path: Path) -> str:
    """Return the digits that all parts of a job have, "" of another file."""
    match = PART_OF_SCORES.fullmatch(path.name)
    return match[1] if match else ""


# --- one process a folder


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from scoring into a folder during the block.

    The system drops the lock when this process ends, however it ends.

    Raises:
        FolderInUse: another process has the lock.
    """
    path = folder / FOLDER_LOCK
    file = _open_locked(path)
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = f"process {os.getpid()} on {platform.node()} has been scoring into it"
    try:
        with suppress(OSError):  # a full disk, which writing the scores will say
            file.truncate(0)
            file.write(f"{holder} since {since}".encode())
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file
            path.unlink()
        file.close()


def _open_locked(path: Path) -> FileIO:
    """Open a file and lock it; FolderInUse: another process has."""
    while True:
        file = path.open("a+b", buffering=0)
        try:
            _lock(file)
            # the process that had it may have removed it since it was opened
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
    """Lock an open file; BlockingIOError or PermissionError: another process has."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(2**30)  # what is locked cannot be read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
