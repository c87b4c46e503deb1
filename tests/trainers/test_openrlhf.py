"""OpenRLHF's own executor, with letters for tokens and what was logged for what the model says."""

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from openrlhf.utils.agent import SingleTurnAgentExecutor
from table import arithmetic, read_as

import rewardkit as rk
from rewardkit.targets.export import export

END = "<|im_end|>"
ROLLOUTS = arithmetic()


class Tokenizer:
    """A token a letter; the last token ends a turn."""

    def __call__(self, text, add_special_tokens, return_tensors):
        return {"input_ids": torch.tensor([[ord(letter) for letter in text]])}

    def decode(self, tokens, skip_special_tokens):
        assert skip_special_tokens is False
        return "".join(END if token < 0 else chr(token) for token in tokens)


class Engine:
    """Says what was logged."""

    def __init__(self, said):
        self.said = said

    async def generate(self, tokens, params, multi_modal_data=None):
        given = [*map(ord, self.said), -1]
        output = SimpleNamespace(token_ids=given, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


def executed(path, row, length=100_000):
    """What the trainer's loop keeps of one completion."""
    executor, engine = SingleTurnAgentExecutor(str(path)), Engine(row["completion"])
    params = SimpleNamespace(max_tokens=50, logprobs=None)
    run = executor.execute(
        row["prompt"], row["ground_truth"], params, length, Tokenizer(), engine
    )
    found = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(run)))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def made(tmp_path):
    return export(
        rk.load_reward("gallery:arithmetic"), to="openrlhf", path=tmp_path / "out.py"
    )


def test_rewards_and_components_of_the_whole_loop_are_ours(made):
    scores = rk.score(rk.load_reward("gallery:arithmetic"), ROLLOUTS)
    found = [executed(made.path, row) for row in ROLLOUTS]
    theirs = [torch.tensor([one["reward"]]).item() for one in found]
    np.testing.assert_allclose(theirs, scores.rewards.astype(np.float32), rtol=1e-6)
    logs = [one["extra_logs"] for one in found]
    assert len(set(theirs)) > 3 and all(one["judged"].item() == 1 for one in logs)
    np.testing.assert_array_equal(
        [one["correct"].item() for one in logs], scores.score("correct")
    )


def test_a_prompt_that_was_cut_to_fit_is_found_and_one_that_was_not_handed_over_is_not_judged(
    made,
):
    row = dict(ROLLOUTS[0])
    whole = executed(made.path, row)
    cut = executed(made.path, row, length=50 + len(row["prompt"]) - 7)
    assert len(cut["observation_tokens"]) == len(whole["observation_tokens"]) - 7
    assert cut["reward"].item() == whole["reward"].item()
    lost = executed(made.path, row, length=50 + 9)
    assert lost["extra_logs"]["judged"].item() == 0.0 == lost["reward"].item()


THEIRS = """
import torch

def reward_func(queries, prompts, labels, **kwargs):
    said = [query[len(prompt):] for query, prompt in zip(queries, prompts)]
    right = torch.tensor([float(label in text) for text, label in zip(said, labels)])
    return {"rewards": 2 * right - 1, "scores": right, "extra_logs": {"length": float(len(queries[0]))}}
"""


def test_a_function_of_ones_own_is_scored_as_there(tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(THEIRS)
    reward, ours = read_as("OpenRLHF", "openrlhf", f"{path}:reward_func", ROLLOUTS)
    assert reward.weights == {"rewards": 1.0, "scores": 0.0, "length": 0.0}
    found = [executed(path, row) for row in ROLLOUTS]
    assert ours == [one["reward"].item() for one in found]
    ended = rk.score(reward, ROLLOUTS).score("length") + len(END)
    np.testing.assert_array_equal(ended, [one["extra_logs"]["length"] for one in found])
