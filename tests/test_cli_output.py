"""What commands print: hostile text made visible, colour on terminals only, helps whose examples run."""

import contextlib
import os
import pty
import re
import shlex
import subprocess
import sys
import unicodedata

import pytest
from click.shell_completion import ShellComplete
from commands import run, write_rows

from rewardkit.cli import main
from rewardkit.cli.command import JOBS
from rewardkit.cli.output import as_typed
from rewardkit.notebook import report

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("short_rehearsals")]

HOSTILE = (  # clears the screen, names the window, links, fills the clipboard, turns directions, hides
    "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\\x1b]52;c;eA==\x07\x9b31m\x9d0;owned\x9c"
    "\u202e\u2066\x00abc\b\b\b\r\u200b\ud83d"
)
ALL = f"{HOSTILE}[red]x[/red] [link=http://x]y[/link] :smile:"
NAME = ALL.replace("\0", "").replace(
    "\ud83d", ""
)  # what a column, a reward or an argument can be called
REWARD = """
import rewardkit as rk

def paid(completion, ground_truth):
    if "raise" in completion:
        raise ValueError(completion)
    return float(ground_truth in completion)

def long(completion):
    return len(completion) / 1000

parts = [rk.Component("paid", paid), rk.Component("long", long, weight=0.1)]
reward = rk.Reward("hostile", components=parts)
named = rk.Reward(NAME, components=parts)
"""


def raw(text):
    """The characters of a text that control a terminal or hide what stands there."""
    return {
        one for one in text if unicodedata.category(one)[0] == "C" and one not in "\n\t"
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A reward, a log, its cases and scores in which every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            "rollout_id": f"{NAME}{at}",
            "prompt": f"{ALL} {at // 4}",
            "completion": f"{ALL} {'raise' if at % 16 == 3 else ''} {at // 4 if at % 2 else 99}",
            "ground_truth": f"{ALL} {at // 4 if at % 2 else ''}",
            "data_source": f"{ALL}{at % 8 // 4}",
            f"other{NAME}": at % 2,
        }
        for at in range(64)
    ]
    cases = [
        {"name": f"{ALL}{row['rollout_id']}", **row, "reward": 7, "why": ALL}
        for row in rows[:20]
    ]
    write_rows(folder / "log.jsonl", rows)
    write_rows(folder / "cases.jsonl", cases)
    (folder / "own.py").write_text(REWARD.replace("NAME", repr(NAME)))
    (folder / "raises.py").write_text(f"raise ValueError({ALL!r})")
    (folder / "prints.py").write_text(
        f"print({NAME!r})\n" + REWARD.replace("NAME", "'n'")
    )
    with contextlib.chdir(folder):
        for name, reward in (("a", "own.py"), ("b", "own.py:named")):
            made = run(f"score {reward} log.jsonl -o {name}")
            assert made.exit_code == 0, made.output
        yield folder


SAID = [  # command, status
    ("score prints.py log.jsonl", 0),
    ("check own.py cases.jsonl", 1),
    ("check own.py cases.jsonl --verbose", 1),
    ("probe own.py:named log.jsonl --budget 10 --verbose", 0),
    ("diagnose a --verbose", 0),
    ("compare a b --cases cases.jsonl --reward own.py --reward own.py:named", 0),
    ("suspect b --pattern raise", 0),
    ("whatif b --weight long=3", 0),
    ("forecast b", 0),
    ("new {new} --log log.jsonl", 0),
    ("export own.py:named --to trl -o {new}.py", 0),
    ("--debug check raises.py cases.jsonl", 2),
    ("check own.py HOSTILE.jsonl", 2),
    ("score own.py log.jsonl --group HOSTILE", 2),
    ("diagnose a --training HOSTILE=1", 2),
    ("probe own.py log.jsonl --only HOSTILE", 2),
    ("HOSTILE", 2),
]
SHOWN = [(*said, True) for said in SAID]
SHOWN += [("check own.py cases.jsonl", 1, False), ("HOSTILE", 2, False)]


@pytest.mark.parametrize(("command", "status", "coloured"), SHOWN, ids=str)
def test_no_hostile_text_reaches_a_terminal_raw_and_none_is_read_as_markup(
    folder, monkeypatch, command, status, coloured
):
    monkeypatch.chdir(folder)
    line = command.format(new=f"n{coloured:d}").replace("HOSTILE", shlex.quote(NAME))
    done = run(line, FORCE_COLOR="1" if coloured else "")
    assert done.exit_code == status, done.output
    shown = re.sub(r"\x1b\[[0-9;]*m", "", done.output) if coloured else done.output
    assert raw(shown) == set()
    if status == 2 or "check" in command:
        assert "␛" in shown or "\\x1b" in shown  # it is there, and can be read


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
    ids=str,
)
def test_colour_is_for_terminals_and_those_who_ask(environment, coloured):
    done = run(
        "check gallery:gsm8k gallery:gsm8k",
        **{"NO_COLOR": "", "FORCE_COLOR": "", **environment},
    )
    assert ("\x1b[1;32m" in done.stdout) == coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).startswith("\u2713 43 of")


def test_on_a_terminal_lines_are_as_wide_as_it_is_and_progress_tells_rate_and_time(
    folder,
):
    """A terminal of 60 columns, on which a probe is run."""
    leader, follower = pty.openpty()
    subprocess.run(["stty", "cols", "60", "rows", "30"], stdin=follower, check=True)
    command = [
        sys.executable,
        "-m",
        "rewardkit",
        *"probe own.py log.jsonl --only contract".split(),
    ]
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(
        command, stdout=follower, stderr=follower, cwd=folder, env=environment
    ) as running:
        os.close(follower)
        shown = b""
        while True:
            try:
                shown += os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
    text = shown.decode()
    assert running.returncode == 0, text
    assert re.search(r"probing: +\d+ %\|.*\d\d:\d\d<.*%/s", text), text
    printed = re.sub(
        r"\x1b\[[0-9;]*[mA]", "", text.split("\r")[-1] if "\n" not in text else text
    )
    lines = [line.split("\r")[-1] for line in printed.replace("\r\n", "\n").split("\n")]
    assert [line for line in lines if len(line) > 60] == [] and "\x1b[1;31m" in text


def test_the_commands_are_grouped_by_job_each_on_one_line():
    listed = run("--help").stdout
    assert [name for names in JOBS.values() for name in names] == re.findall(
        r"^  (\w+) +[A-Z]", listed, re.M
    )
    assert sorted(main.commands) == sorted(main.list_commands(None))
    assert re.findall(r"^(\w+):$", listed, re.M) == ["Options", *JOBS]
    assert max(map(len, listed.splitlines())) <= 80


def test_a_redacted_report_prints_no_text_of_a_completion_either(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "NOTEBOOKS", report.NOTEBOOKS[:0])
    (tmp_path / "own.py").write_text(
        "def reward(completion, ground_truth):\n    print(completion)\n"
        "    if completion[-1] in '02': raise ValueError(completion)\n    return 1.0\n"
    )
    rows = [
        {"prompt": f"p{at // 4}", "completion": f"SECRET {at}", "ground_truth": "1"}
        for at in range(16)
    ]
    write_rows(tmp_path / "log.jsonl", rows)
    line = "report --reward own.py --rollouts log.jsonl"
    for option, is_told in (("", True), ("--redact", False)):
        done = run(f"{line} {option}")
        assert done.exit_code == 0 and "printed 16 lines" in done.stderr
        assert ("SECRET" in done.stdout, "SECRET" in done.stderr) == (is_told, is_told)


DONE = {}  # the folder of the examples, and the lines that have run


@pytest.mark.parametrize("name", [name for names in JOBS.values() for name in names])
def test_the_example_of_each_help_runs_as_it_is(tmp_path_factory, monkeypatch, name):
    monkeypatch.chdir(DONE.setdefault("folder", tmp_path_factory.mktemp("examples")))
    monkeypatch.setattr(
        subprocess, "call", lambda *_, **__: 0
    )  # as JupyterLab is started
    monkeypatch.setattr(report, "NOTEBOOKS", report.NOTEBOOKS[:0])
    _, _, example = run(f"{name} --help").stdout.partition("Example:\n")
    lines = example.rstrip().splitlines()
    assert lines and all(line.startswith("    rewardkit ") for line in lines)
    for line in lines:
        if line not in DONE:
            DONE[line] = run(line.strip().removeprefix("rewardkit "))
        assert DONE[line].exit_code == 2 * (name == "sample"), DONE[
            line
        ].output  # where no server answers


COMPLETED = [
    (["check"], "own.py:re", ["own.py:re"]),  # which the shell takes for a file
    (["diagnose", "--fail-on"], "w", ["warn"]),
    ([], "dia", ["diagnose"]),
]


@pytest.mark.parametrize(("words", "begun", "expected"), COMPLETED, ids=str)
def test_a_shell_completes_commands_choices_and_files(
    folder, monkeypatch, words, begun, expected
):
    monkeypatch.chdir(folder)
    found = ShellComplete(main, {}, "rewardkit", "_REWARDKIT_COMPLETE").get_completions(
        words, begun
    )
    assert [item.value for item in found] == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_printed(shell):
    script = run(f"completion {shell}").stdout
    assert "_REWARDKIT_COMPLETE" in script and f"{shell}_complete" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


TYPED = """
score    | columns={'completion': ...} (known         | --column completion=... (known
score    | load_rollouts(..., columns={...}) or join=... | --column NAME=SOURCE or --join TRAIN
sample   | name it with columns={'prompt': ...} (known | name it with --prompt COLUMN (known
diagnose | group= asks for 'x'; name weights={...}    | --group asks for 'x'; name --log-weight NAME=NUMBER
diagnose | label='x y' is no column                   | --label 'x y' is no column
diagnose | All: diagnosis.text(verbose=True).         | All: --verbose.
whatif   | All: diagnosis.text(verbose=True).         | All: --verbose.
whatif   | give run=True to score it                  | give --reward REWARD to score it
forecast | rk.suggest(rk.diagnose(scores)) measures | rewardkit diagnose SCORES measures
probe    | leakage=..., expects_partial=True, budget=90 | --leakage SHARE, --expects-partial, --budget 90
probe    | engine= makes calls where they can be ended | --engine makes calls where they can be ended
probe    | rk.Component(..., columns={"a": "b"}, timeout=...) |
check    | label=... is no option of this command     |
"""
TYPED = [
    [cell.strip() for cell in line.split("|")] for line in TYPED.strip().splitlines()
]
TYPED += [["probe", "       | label=... is what the completion says", ""]]


@pytest.mark.parametrize(("command", "said", "typed"), TYPED)
def test_what_a_sentence_names_as_python_has_it_is_written_as_the_option_and_code_stays(
    command, said, typed
):
    asked, diagnose = (main.get_command(None, name) for name in (command, "diagnose"))
    assert as_typed(said, asked, in_full=True) == (typed or said)
    assert as_typed("<a label='x'>", diagnose) == "<a label='x'>"  # of a completion
