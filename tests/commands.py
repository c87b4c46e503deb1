"""The command line as tests run it."""

import json
import shlex

import pytest
from click.testing import CliRunner

from rewardkit.cli import main


def run(line, **environment):
    """What becomes of a command line, which is split as a shell does."""
    return CliRunner(env=environment).invoke(main, shlex.split(line))


def record(line, status=0):
    """The one JSON object that a command prints."""
    done = run(f"{line} --json")
    assert done.exit_code == status, done.output
    return json.loads(
        done.stdout,
        parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"),
    )


def refused(line, said):
    """A command ends in one line that says this, and prints nothing else."""
    done = run(line)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), (
        done.stderr
    )
    assert done.stderr.startswith("rewardkit: ") and said in done.stderr, done.stderr


def write_rows(path, rows):
    """Write a JSONL file of rows."""
    path.write_text("\n".join(map(json.dumps, rows)))
