"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place.

    A reader sees the old file or the new one; where `write` fails, nothing is left. OSError names the file.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    # made here, with the permissions that any new file of this process gets
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        write(temporary)
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(temporary)):
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise
