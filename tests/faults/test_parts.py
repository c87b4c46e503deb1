"""A log that is scored in parts, under each fault: what a person sees, what is on disk, what the next run leaves."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from commands import run

import rewardkit as rk

REWARD = """
    import os, time
    from pathlib import Path

    def right(completion, ground_truth):
        while Path("fault").exists() and "HERE" in completion:
            {fault}
        return float(ground_truth in completion)
"""
WAITS = 'Path("reached").touch(); time.sleep(0.01)'


@dataclass(frozen=True)
class Fault:
    """A fault, and what comes of it.

    It is a signal while the reward is at the completion in the middle of the log, or what the reward does there, or a bound of
    the process, or in the log. A person sees the exit status and a pattern in the last line. In the folder are then "nothing",
    whole "parts", or "all" of them, with an error in a row. The next run may have other options.
    """

    status: int
    seen: str
    leaves: str
    ends_by: int = 0
    reward: str = WAITS
    bound: tuple[int, int] | None = None
    log: str = "log.jsonl"
    options: str = "--timeout 0"


STOPPED = (
    r"interrupted; \d+ rollouts were scored, written to out; the same command goes on"
)
FULL = "File too large: 'out/{}'; free some space, then run the same command again"
PART = r"scores-\d{6}-\w{16}.parquet"
AN_ERROR = r"1 error, most often {}\n.*written to out in \d+ parts"
WORKERS = "--timeout 0 --workers 2"
FAULTS = {
    "Ctrl-C": Fault(130, STOPPED, "parts", signal.SIGINT),
    "SIGTERM": Fault(143, STOPPED, "parts", signal.SIGTERM),
    "SIGHUP, workers": Fault(129, STOPPED, "parts", signal.SIGHUP, options=WORKERS),
    "Ctrl-C, scattered": Fault(
        130, STOPPED, "parts", signal.SIGINT, log="scattered.jsonl"
    ),
    "kill -9": Fault(-9, "^$", "parts", signal.SIGKILL),
    "kill -9, workers": Fault(-9, "^$", "parts", signal.SIGKILL, options=WORKERS),
    "kill -9, scattered": Fault(
        -9, "into order on the disk", "parts", signal.SIGKILL, log="scattered.jsonl"
    ),
    "full disk, a part": Fault(
        2, FULL.format(PART), "parts", bound=(resource.RLIMIT_FSIZE, 13_000)
    ),
    "full disk, groups are sorted": Fault(
        2,
        FULL.format(r".scores-groups/\d{6}.rows"),
        "parts",
        bound=(resource.RLIMIT_FSIZE, 1_000),
        log="scattered.jsonl",
    ),
    "full disk, the run record": Fault(
        2, FULL.format("run.json"), "parts", bound=(resource.RLIMIT_FSIZE, 16)
    ),
    "a worker is killed": Fault(
        0,
        AN_ERROR.format(r"ended its process \(signal SIGKILL\)"),
        "all",
        reward="os.kill(os.getpid(), 9)",
        options="--timeout 9",
    ),
    "a text that grows without end": Fault(
        0,
        AN_ERROR.format(r"MemoryError \(mine.py:7\)"),
        "all",
        reward="completion += completion",
        bound=(resource.RLIMIT_DATA, 1_800_000_000),
        options="--timeout 60",
    ),
    "output without end": Fault(
        0,
        AN_ERROR.format("took longer than 1 s"),
        "all",
        reward='print("and so on")',
        options="--timeout 1",
    ),
    "a clock that goes back": Fault(
        0,
        "mean reward",
        "parts",
        reward="before = time.time(); time.time = lambda: before - 9; break",
    ),
    "half a line": Fault(
        0, r"1 of 240 rows kept out \(line 240: broken JSON", "parts", log="half.jsonl"
    ),
    "a truncated file": Fault(
        2, "is not a .parquet file that can be read", "nothing", log="cut.parquet"
    ),
    "other columns later on": Fault(
        2, "'step'.*first rows", "nothing", log="mixed.jsonl"
    ),
}


def write_log(path, *, is_whole=True):
    """Sixty groups of four, a long completion for faults in the middle, in some ten parts; or the same with its fault."""
    rows, draw = [], random.Random(1)
    for place in range(240):
        prompt = place // 4
        text = f"it is {prompt + place % 2}" + " so" * (place % 50)
        if place == 150:
            text = f"HERE {draw.getrandbits(16_000):x}"
        row = {"prompt": f"What is {prompt}+0?", "ground_truth": str(prompt)}
        rows.append({**row, "completion": text})
    if path.stem == "scattered":
        draw.shuffle(rows)
    if path.stem == "mixed" and not is_whole:
        for row in rows[120:]:
            row["step"] = 7
    if path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if path.stem in ("cut", "half") and not is_whole:
        path.write_bytes(path.read_bytes()[:-20])


def command(log, folder, options):
    return f"score mine.py {log} --memory 160KB -o {folder} {options}"


def start(line, bound=None):
    """Start a command in a process of its own."""

    def prepare_process():
        for number in (
            signal.SIGINT,
            signal.SIGHUP,
        ):  # nohup and a shell's & ignore them
            signal.signal(number, signal.SIG_DFL)
        if bound:
            resource.setrlimit(bound[0], (bound[1], bound[1]))

    return subprocess.Popen(
        [sys.executable, "-m", "rewardkit", *line.split()],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(rk.__file__).parent.parent),
            "OPENBLAS_NUM_THREADS": "1",  # each takes memory, which may be bounded
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare_process,
    )


def wait_for_reward(running):
    """Wait until the reward of a process is at its completion."""
    deadline = time.monotonic() + 60
    while not Path("reached").exists():
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)


def files_of(folder):
    """The bytes of each file in a folder and below."""
    paths = filter(Path.is_file, Path(folder).rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def prepare(log, reward=WAITS, options="--timeout 0"):
    """Write a reward and a log; return what scoring leaves where there is no fault."""
    Path("mine.py").write_text(textwrap.dedent(REWARD).format(fault=reward))
    write_log(log)
    assert run(command(log, "whole", options)).exit_code == 0
    return files_of("whole")


@pytest.mark.integration
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_said_leaves_whole_parts_and_the_next_run_leaves_what_one_without_it_does(
    name, tmp_path, monkeypatch
):
    fault = FAULTS[name]
    monkeypatch.chdir(tmp_path)
    log, out = Path(fault.log), Path("out")
    whole = prepare(log, fault.reward, fault.options.replace(WORKERS, "--timeout 0"))
    parts = sorted(whole.keys() - {"run.json"})
    assert len(parts) > 5
    out.mkdir()
    if name == "full disk, groups are sorted":  # known to be scattered
        shutil.copy(Path("whole", parts[-1]), out)
    if name == "full disk, the run record":
        for part in parts:
            shutil.copy(Path("whole", part), out)
    write_log(log, is_whole=False)
    if fault.ends_by or fault.reward != WAITS:
        Path("fault").touch()
    running = start(command(log, "out", fault.options), fault.bound)
    if fault.ends_by:
        wait_for_reward(running)
        running.send_signal(fault.ends_by)
    printed, said = running.communicate(timeout=60)  # which its workers keep open
    assert running.returncode == fault.status, said
    assert re.search(fault.seen, (printed + said).strip()), said + printed
    assert "Traceback" not in said
    left = files_of("out")
    for file in left:
        assert fault.status == -9 or not file.startswith("."), file
    written = [part for part in parts if part in left]
    others = [part for part in written if left[part] != whole[part]]
    assert bool(written) == (fault.leaves != "nothing")
    if name != "half a line":  # whose part has another content
        assert {"run.json", *written} >= {file for file in left if file[0] != "."}
    assert len(others) == (fault.leaves == "all") and len(written) >= len(others)
    if written:
        assert rk.load_scores("out").table["rollout_id"].is_unique
    Path("fault").unlink(missing_ok=True)
    write_log(log)
    again = run(command(log, "out", "--timeout 0" if fault.status else fault.options))
    assert again.exit_code == 0, again.output
    assert files_of("out") == (left if fault.leaves == "all" else whole)
    names = {"fault", "mine.py", "out", "reached", "whole", "__pycache__", fault.log}
    assert {path.name for path in tmp_path.iterdir()} <= names


@pytest.mark.integration
@pytest.mark.parametrize(
    ("reward", "options"),
    [
        ("mine.py", "--timeout 0"),
        ("mine.py", "--timeout 0 --workers 2 --memory 1GB"),
        ("other.py", "--timeout 0 --force"),
    ],
)
def test_a_second_process_is_told_of_the_first_and_changes_nothing(
    reward, options, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    log = Path("log.jsonl")
    whole = prepare(log)
    shutil.copy("mine.py", "other.py")
    Path("fault").touch()
    first = start(command(log, "out", "--timeout 0"))
    wait_for_reward(first)
    before = files_of("out")
    line = command(log, "out", options).replace("mine.py", reward)
    second = start(line)
    printed, said = second.communicate(timeout=60)
    assert (second.returncode, printed, files_of("out")) == (1, "", before)
    assert re.fullmatch(
        rf"rewardkit: 'out' is in use: process {first.pid} on .* has been scoring into it since "
        r"[\d: -]+; wait until it ends, or give another folder\n",
        said,
    )
    Path("fault").unlink()
    first.communicate(timeout=60)
    assert (first.returncode, files_of("out")) == (0, whole)
