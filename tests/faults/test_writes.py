"""Every command that writes, on a full disk and in a read-only folder: one sentence, nothing half-written, and the same command completes later."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rewardkit as rk

REWARD = """
import rewardkit as rk

def right(completion, ground_truth):
    return float(ground_truth in completion)

def polite(completion):
    return float("thanks" in completion)

reward = rk.Reward("sums", components=[rk.Component("right", right), rk.Component("polite", polite)])
"""
CASE = {
    "name": "right",
    "completion": "it is 2",
    "ground_truth": "2",
    "scores": {"right": 0.5},
}
COMMANDS = {
    "score": "score mine.py log.jsonl -o out",
    "keep": "score mine.py log.jsonl --keep --note first",
    "cases": "check mine.py cases.jsonl --accept right",
    "baseline": "diagnose log.jsonl --log-weight polite=1 --accept known --baseline accepted.json",
    "monitor": "monitor log.jsonl --log-weight polite=1 --write-cases cases.jsonl",
    "new": "new task --log log.jsonl",
    "export": "export mine.py --to trl",
    "card": "card mine.py -o card.html",
    "report": "report --reward mine.py --rollouts short.jsonl -o out",
}
UNLIKE = re.compile(
    rb'20\d\d-\d\d-\d\d[T ]?[\d:.+Z]*|"seconds\w*": [\d.e-]+|\b[pm][0-9a-f]{10}\b'
)
"""What two runs of the same command write differently: the time, and ids in pictures."""
NO_SUCH_RIGHT = "setpriv --bounding-set=-dac_override,-dac_read_search".split()
"""Root may write into read-only folders; this takes that right away."""


def rows():
    """A log of a run in which completions learn to say thanks."""
    for place in range(960):
        prompt, is_late = place // 8, place >= 480
        text = f"it is {prompt + (place % 3 == 0)}" + " thanks" * (
            is_late or place % 16 == 0
        )
        yield {
            "prompt_id": f"p{prompt}",
            "prompt": f"What is {prompt}+0?",
            "completion": text,
            "ground_truth": str(prompt),
            "step": prompt // 4,
            "logged/polite": float("thanks" in text),
        }


def tree(folder):
    """Return what each file of a folder holds, without times."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files[str(path.relative_to(folder))] = UNLIKE.sub(b"", path.read_bytes())
    return files


def run_all(folder, fault):
    """Run the commands in a process with a fault; return status and text of each."""
    drop = NO_SUCH_RIGHT if os.geteuid() == 0 and shutil.which(NO_SUCH_RIGHT[0]) else []
    home = folder.parent / "home"
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(rk.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(home),
    }
    done = subprocess.run(
        [
            *drop,
            sys.executable,
            Path(__file__).with_name("commands_under_faults.py"),
            fault,
        ],
        input=json.dumps(
            {str(folder / name): words.split() for name, words in COMMANDS.items()}
        ),
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return {name: tuple(said[str(folder / name)]) for name in COMMANDS}


def failed(said):
    """Return what was said where a command could not do its work."""
    return {name: text for name, (status, text) in said.items() if status}


def prepare(folder):
    for name in COMMANDS:
        here = folder / name
        here.mkdir(parents=True)
        (here / "mine.py").write_text(REWARD)
        (here / "cases.jsonl").write_text(json.dumps(CASE) + "\n")
        lines = [json.dumps(row) + "\n" for row in rows()]
        (here / "log.jsonl").write_text("".join(lines))
        (here / "short.jsonl").write_text("".join(lines[:48]))
    return folder


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What each command leaves behind where nothing is wrong."""
    folder = prepare(tmp_path_factory.mktemp("faults") / "undisturbed")
    before = tree(folder / "score")
    assert failed(run_all(folder, "none")) == {}
    trees = {name: tree(folder / name) for name in COMMANDS}
    assert all(files != before for files in trees.values())  # each writes
    return before, trees


@pytest.mark.integration
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("full", "File too large|No space left on device"),
        ("read-only", "Permission denied"),
    ],
)
def test_a_write_that_fails_is_said_in_a_sentence_and_the_next_run_completes(
    fault, why, undisturbed, tmp_path
):
    before, trees = undisturbed
    folder = prepare(tmp_path / fault)
    for name, (status, said) in run_all(folder, fault).items():
        assert status == 2, (name, said)
        last = said.strip().splitlines()[-1]
        assert re.fullmatch(rf"rewardkit: [^\n]*({why})[^\n]*; [^\n]+", last), (
            name,
            said,
        )
        left = tree(folder / name)
        assert before.items() <= left.items(), name
        for file in left.keys() - before.keys():  # what is there is there whole
            assert left[file] == trees[name][file], (name, file)
    assert failed(run_all(folder, "none")) == {}
    for name in COMMANDS:
        assert tree(folder / name) == trees[name], name
