"""A trainer's own function back to that trainer: proved on the function as it was found, too."""

import json
import os
import textwrap

import pytest
from commands import run
from table import arithmetic

import rewardkit as rk
from rewardkit.targets.export import export

TARGETS = os.environ.get("REWARDKIT_TARGETS", "").split()
ROWS = arithmetic(48)

BATCH = """
    def right(completions, ground_truth, **kwargs):
        return [None if "<" not in text else 0.2 + (f"<answer>{truth}</answer>" in text)
                for text, truth in zip(completions, ground_truth)]
"""
COMPUTE_SCORE = """
    def right(data_source, solution_str, ground_truth, extra_info=None):
        return {"score": 0.2 + (f"<answer>{ground_truth}</answer>" in solution_str), "said": solution_str}
"""
QUERIES = """
    def right(queries, prompts, labels):
        import torch
        found = torch.tensor([0.2 + (f"<answer>{label}</answer>" in query)
                              for query, label in zip(queries, labels)])
        return {"rewards": found, "scores": found, "extra_logs": {"right": found}}
"""
OWN = {
    "trl": BATCH,
    "tunix": BATCH.replace("None if", "0.0 if"),
    "verl": COMPUTE_SCORE,
    "siirl": COMPUTE_SCORE,
    "openrlhf": QUERIES,
}
HERE = [target for target in OWN if target in TARGETS]


def written(folder, source):
    (folder / "mine.py").write_text(textwrap.dedent(source))
    return f"{folder / 'mine.py'}:right"


@pytest.mark.parametrize("target", HERE)
def test_a_function_of_the_trainer_gives_there_what_its_reading_gives(target, tmp_path):
    reward = rk.load_reward(written(tmp_path, OWN[target]), rollouts=ROWS)
    proof = export(reward, to=target, path=tmp_path / "back.py", verify=ROWS).proof
    assert (
        proof.equal
        and proof.not_original == ""
        and proof.original.compared == len(ROWS)
    )


@pytest.mark.skipif("trl" not in TARGETS, reason="needs TRL")
def test_a_reading_that_the_trainer_would_not_follow_is_found_out(tmp_path):
    name = written(tmp_path, BATCH.replace("if", "if text and"))
    chosen = rk.load_reward(name, rollouts=ROWS, as_="trl:messages")
    proof = export(chosen, to="trl", path=tmp_path / "back.py", verify=ROWS).proof
    assert (
        proof.original.differ > 0 and not proof.equal
    )  # the rollouts are texts, and so it is called


@pytest.mark.parametrize(
    "target", [target for target in HERE if target in ("trl", "verl")]
)
@pytest.mark.parametrize(
    "judged", [True, False], ids=["some are judged", "nothing is judged"]
)
def test_the_command_proves_and_its_exit_code_says_so(target, judged, tmp_path):
    source = OWN[target] if judged else OWN[target].replace("0.2 + (", "None and (")
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(json.dumps(row) for row in ROWS))
    name, back = written(tmp_path, source), tmp_path / "back.py"
    done = run(f"export {name} --to {target} --verify {log} -o {back}")
    assert done.exit_code == (0 if judged else 1), done.stderr
    assert f"written for {target}: " in done.stdout
    assert "on the function as it was found" in done.stdout
    assert ("NOTHING PROVED" in done.stdout) is not judged
