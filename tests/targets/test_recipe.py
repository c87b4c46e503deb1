"""What holds for every target that was added by the recipe: written without the trainer, and loaded back."""

import asyncio
import copy
from contextlib import nullcontext

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import TARGETS, exported, find_target
from rewardkit.targets.export import export
from rewardkit.targets.target import RewardPart, import_file, run_async

# OpenRLHF's file gives tensors, and so needs torch
WRITTEN = [
    target.name
    for target in TARGETS
    if target.functions is not None and target.name != "openrlhf"
]
KEPT = [target for target in WRITTEN if find_target(target).abilities.weights == "kept"]

GATED = """
import asyncio
import rewardkit as rk

async def judged(completion, ground_truth):
    await asyncio.sleep(0)
    return None if completion == "" else 1.5 * (ground_truth in completion) - 0.5

def length(completion): return float(len(completion))
paid = rk.Component("judged", judged, range=None, weight=2)
gated = rk.Component("length", length, range=None, weight=-0.1, gate=rk.gate("judged", at_least=1.0))
reward = rk.Reward("with-a-gate", components=[paid, gated])
"""


@pytest.fixture(scope="module")
def arithmetic():
    """Forty rollouts, the reward of the gallery, and its scores."""
    rollouts = rk.load_rollouts("gallery:arithmetic").select(range(40))
    reward = rk.load_reward("gallery:arithmetic")
    scores = rk.score(reward, rollouts)
    assert len(set(scores.rewards)) > 3
    return rollouts, reward, scores


@pytest.mark.parametrize(
    ("target", "separate"),
    [*((one, False) for one in WRITTEN), *((one, True) for one in KEPT)],
)
def test_a_file_can_be_written_and_loaded_back_where_the_trainer_is_not_installed(
    target, separate, arithmetic, tmp_path
):
    rollouts, reward, scores = arithmetic
    made = export(reward, to=target, path=tmp_path / "back.py", separate=separate)
    assert made.functions
    for name in made.functions:
        again = rk.load_reward(f"{made.path}:{name}", rollouts=rollouts)
        assert f"read as {find_target(target).title}: " in again.origin or target in (
            "siirl",
            "tunix",
        )
        ours = (
            np.nan_to_num(scores.score(name))
            if name in reward.names
            else scores.rewards
        )
        again = again.reweigh(reward.weights) if again.names == reward.names else again
        np.testing.assert_allclose(
            rk.score(again, rollouts).rewards, ours, rtol=1e-9, atol=0
        )


@pytest.mark.parametrize("target", WRITTEN)
def test_an_async_component_a_gate_and_what_is_not_judged_survive(
    target, load, rollouts, tmp_path
):
    reward = load(GATED, "reward")
    ours = rk.score(reward, rollouts).rewards
    assert (
        np.isnan(ours).sum() == 1 and (ours == -1).sum() == 1 and (ours > 0).sum() == 2
    )
    made = export(reward, to=target, path=tmp_path / "back.py", missing=-7.0)
    again = rk.load_reward(f"{made.path}:{made.functions[0]}", rollouts=rollouts)
    theirs = rk.score(again, rollouts).rewards
    needs_a_number = find_target(target).abilities.missing == "number"
    says_so = (
        "judged" in again.weights
    )  # a key beside the score, by which it is known to be missing
    expected = (
        np.where(np.isnan(ours), -7.0, ours) if needs_a_number and not says_so else ours
    )
    np.testing.assert_allclose(theirs, expected, rtol=1e-9, atol=0, equal_nan=True)
    assert ("one that is not judged gets -7" in " ".join(made.losses)) is needs_a_number
    blocks = find_target(target).abilities.waits != "each"
    assert (
        any("async components (judged)" in sentence for sentence in made.losses)
        is blocks
    )


@pytest.mark.parametrize("target", WRITTEN)
def test_a_transform_and_a_group_are_told_or_refused_where_siblings_are_not_seen(
    target, tmp_path
):
    reward = rk.load_reward("gallery:arithmetic")
    scaled = rk.Reward(
        "scaled", reward.fields, reward.components, transform=rk.weigh.rank()
    )
    made = export(scaled, to=target, path=tmp_path / "scaled.py")
    seen = find_target(target).abilities.siblings
    assert any("transform is left out" in sentence for sentence in made.losses) is (
        seen == "none"
    )
    grouped = rk.Reward("grouped", components=[rk.Component("best", alone, group=True)])
    refused = pytest.raises(
        rk.RewardError, match="'best' needs the siblings of a group"
    )
    with refused if seen == "none" else nullcontext():
        assert export(grouped, to=target, path=tmp_path / "grouped.py").functions


@pytest.mark.parametrize("target", WRITTEN)
def test_a_file_that_records_does_so_in_training_and_not_where_it_is_looked_at(
    target, load, rollouts, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    reward = load(GATED, "reward")
    made = export(reward, to=target, path=tmp_path / "back.py", record="run", timeout=5)
    assert "record='run', timeout=5" in made.path.read_text()
    again = rk.load_reward(f"{made.path}:{made.functions[0]}", rollouts=rollouts)
    with monkeypatch.context() as patch:
        patch.setattr(exported, "is_scoring", lambda: False)
        rk.score(again, rollouts)
    rk.Recorder("run").flush()
    scores = rk.load_scores("run")
    ours = rk.score(reward, rollouts)
    assert sorted(scores.table["completion"]) == sorted(ours.table["completion"])
    np.testing.assert_allclose(np.sort(scores.rewards), np.sort(ours.rewards))
    rk.score(again, rollouts)
    rk.Recorder("run").flush()
    assert len(rk.load_scores("run")) == len(rollouts)


def alone(completion):
    return [1.0 for _ in completion]


def test_an_awaited_function_of_a_file_does_not_block_its_loop(load, tmp_path):
    made = export(load(GATED, "reward"), to="eval-protocol", path=tmp_path / "back.py")
    function = getattr(import_file(made.path), made.functions[0])
    messages = [{"role": "assistant", "content": "4"}]

    async def two():
        return await asyncio.gather(function(messages, "4"), function(messages, "5"))

    assert [one["score"] for one in run_async(two())] == pytest.approx([1.9, -1.0])


def spoil(value):
    """Empty every list and dict in it."""
    inside = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    )
    for inner in list(inside):
        spoil(inner)
    if isinstance(value, dict | list):
        value.clear()


def rude(**methods):
    return type("Rude", (), methods)


ENVIRONMENT = rude(
    compute_reward=lambda self, rollout_id, messages, task: (
        spoil([messages, task]) or {"a": 1.0}
    )
)
DONE = {"reward": 1.0, "done": True}
RUDE = {
    "verl": lambda data_source, solution_str, ground_truth, extra_info: (
        spoil(extra_info) or 1.0
    ),
    "verifiers-rubric": lambda prompt, info, state: spoil([prompt, state]) or 1.0,
    "verifiers": lambda task, trace: spoil(vars(task)) or 1.0,
    "eval-protocol": lambda messages, **kwargs: (
        spoil([messages, kwargs]) or {"score": 1.0}
    ),
    "areal": lambda prompt, completions, prompt_ids, completion_ids, **kwargs: (
        spoil(kwargs) or 1.0
    ),
    "openai": lambda sample, item: spoil([sample, item]) or 1.0,
    "easyr1": lambda reward_inputs: spoil(reward_inputs[0]) or [{"overall": 1.0}],
    "inspect": lambda state, target: spoil(state.metadata) or 1.0,
    "benchmax": RewardPart(ENVIRONMENT(), "compute_reward"),
    "atropos": rude(compute=lambda self, completions, **kwargs: spoil(kwargs) or [1.0]),
    "skyrl-gym": rude(
        __init__=lambda self, extras: spoil(extras), step=lambda self, action: DONE
    ),
}


@pytest.mark.parametrize("kind", RUDE)
def test_a_function_that_changes_what_it_is_handed_does_not_change_the_rollout(kind):
    asked, answered = (
        [{"role": "user", "content": "2+2?"}],
        [{"role": "assistant", "content": "4"}],
    )
    row = {
        "prompt": asked,
        "completion": "4",
        "ground_truth": ["4", "four"],
        "extra_info": {"index": [1]},
    }
    row["messages"] = copy.deepcopy(asked + answered)
    before = copy.deepcopy(row)
    (reading, *_) = find_target(kind).readings(RUDE[kind], [row])
    reading.adapter([row] if reading.adapter.together else row)
    assert row == before
