"""A trainer's own function back to that trainer: proved on the function as it was found, too."""

import os
import textwrap

import pytest

import rewardkit as rk
from rewardkit.targets.export import export

TARGETS = os.environ.get("REWARDKIT_TARGETS", "").split()
ROWS = rk.load_rollouts("gallery:arithmetic").select(range(48))

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
    assert proof.equal and proof.not_original == "" and proof.original.compared == len(ROWS)
