"""`rewardkit export --verify` with TRL's and verl's own code: what it prints, and its exit code."""

import json
import subprocess
import sys

import pytest
from test_own_functions import BATCH, OWN, ROWS, written

import rewardkit as rk
from rewardkit.targets.export import export


def test_a_reading_that_the_trainer_would_not_follow_is_found_out(tmp_path):
    name = written(tmp_path, BATCH.replace("if", "if text and"))
    chosen = rk.load_reward(name, rollouts=ROWS, as_="trl:messages")
    proof = export(chosen, to="trl", path=tmp_path / "back.py", verify=ROWS).proof
    assert proof.original.differ > 0 and not proof.equal  # the rollouts are texts, and so it is called


@pytest.mark.parametrize("target", ["trl", "verl"])
@pytest.mark.parametrize("judged", [True, False], ids=["some are judged", "nothing is judged"])
def test_the_command_proves_and_its_exit_code_says_so(target, judged, tmp_path):
    source = OWN[target] if judged else OWN[target].replace("0.2 + (", "None and (")
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(json.dumps(row) for row in ROWS))
    command = ["export", written(tmp_path, source), "--to", target, "--verify", str(log)]
    done = subprocess.run(
        [sys.executable, "-m", "rewardkit", *command, "-o", str(tmp_path / "back.py")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == (0 if judged else 1), done.stderr
    assert f"written for {target}: " in done.stdout
    assert "on the function as it was found" in done.stdout
    assert ("NOTHING PROVED" in done.stdout) is not judged
