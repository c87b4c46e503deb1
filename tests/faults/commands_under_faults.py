"""Run commands, each in a folder of its own, and print what each said; by test_writes.py, in a process with a fault.

python commands_under_faults.py none|full|read-only < {"folder": ["score", ...], ...}
"""

import contextlib
import io
import json
import os
import resource
import sys
from pathlib import Path

from rewardkit.__main__ import main
from rewardkit.analysis.rehearsal import rehearsal

ROOM = 16
"""Bytes that fit into a file on the full disk: those by which Python tries a temporary folder."""


@contextlib.contextmanager
def fault_in(folder, fault):
    """Let nothing be written: anywhere where the disk is full, in a folder where that is read-only."""
    if fault == "full":
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, limits[1]))
        yield
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        return
    paths = [*folder.rglob("*"), folder] if fault == "read-only" else []
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)


def run(words, folder, fault):
    """Return the exit status of a command and what it printed to people."""
    os.chdir(folder)
    sys.argv = ["rewardkit", *words]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        fault_in(folder, fault),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code
    return status, err.getvalue()


if __name__ == "__main__":  # stdout is a pipe, which no limit on files touches
    fault = sys.argv[1]
    rehearsal.LEARNERS, rehearsal.STEPS = 2, 40  # what is forecast is not at issue
    said = {}
    for name, words in json.load(sys.stdin).items():
        said[name] = run(words, Path(name), fault)
    sys.stdout.write(json.dumps(said))
