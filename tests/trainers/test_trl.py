"""A real GRPOTrainer on the CPU: what it logs as rewards and advantages is what rewardkit computes."""

import asyncio
import importlib.util
import math
import pickle

import cloudpickle
import judging
import numpy as np
import pandas as pd
import pytest
import tiny
import waiting
from datasets import Dataset
from table import proved
from trl import GRPOConfig, GRPOTrainer
from waiting import tiny as reward

import rewardkit as rk
from rewardkit.analysis.statistics.advantages import batch, dr_grpo, gdpo, grpo
from rewardkit.targets import trl
from rewardkit.targets.export import export

GENERATIONS, PROMPTS = 4, 3


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trained(functions, folder, *, chat=False, **config):
    """Two steps; the completions that the trainer logged, as rollouts."""
    texts = ["count to 3", "say abc", "write xyz"]
    prompts = [[{"role": "user", "content": text}] for text in texts] if chat else texts
    arguments = GRPOConfig(
        output_dir=str(folder),
        max_steps=2,
        per_device_train_batch_size=GENERATIONS * PROMPTS,
        num_generations=GENERATIONS,
        max_completion_length=8,
        log_completions=True,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        seed=7,
        **config,
    )
    data = Dataset.from_dict({"prompt": prompts, "solution": ["123 count", "abc", "xyz"]})
    trainer = GRPOTrainer(
        tiny.model(),
        reward_funcs=functions,
        args=arguments,
        train_dataset=data,
        processing_class=tiny.tokenizer(),
    )
    trainer.train()
    files = sorted((folder / "completions").glob("*.parquet"))
    assert len(files) == 2
    table = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    truth = dict(zip(texts, data["solution"], strict=True))
    rows = []
    for prompt, completion, step in zip(table["prompt"], table["completion"], table["step"], strict=True):
        text = prompt[0]["content"] if chat else prompt
        said = completion[0]["content"] if chat else completion
        rows.append({"prompt": text, "completion": said, "ground_truth": truth[text], "step": int(step)})
    return table, rk.load_rollouts(rows), trainer


def single(values):
    """As the trainer holds rewards: float32."""
    return np.asarray(values, dtype=np.float32).astype(float)


ESTIMATORS = {"group": grpo, "batch": batch, "none": dr_grpo}


def check_advantages(table, ours, rollouts, scale):
    for step in sorted(set(table["step"])):
        rows = np.flatnonzero(table["step"] == step)
        groups = pd.factorize(rollouts.groups[rows])[0]
        expected = np.nan_to_num(ESTIMATORS[scale](ours[rows], groups))
        np.testing.assert_allclose(table["advantage"].to_numpy()[rows], expected, rtol=1e-4, atol=2e-5)
        assert np.abs(expected).max() > 0.1


@pytest.mark.parametrize(("scale", "chat"), [("group", False), ("batch", True), ("none", False)])
def test_a_trainer_logs_our_rewards_and_advantages_for_the_combined_function(scale, chat, tmp_path):
    functions = trl.functions(reward())
    table, rollouts, trainer = trained(functions, tmp_path, chat=chat, scale_rewards=scale)
    scores = rk.score(reward(), rollouts)
    assert np.isnan(scores.rewards).any() and not np.isnan(scores.rewards).all()
    np.testing.assert_allclose(table["tiny"].to_numpy(), single(scores.rewards), rtol=1e-6, equal_nan=True)
    check_advantages(table, single(scores.rewards), rollouts, scale)
    logged = [entry for entry in trainer.state.log_history if "reward" in entry]
    last = scores.rewards[table["step"].to_numpy() == table["step"].max()]
    assert math.isclose(logged[-1]["reward"], np.nanmean(last), rel_tol=1e-5)
    assert table["length"].tolist() == [len(text) for text in rollouts.table["completion"]]  # rk.note
    log = rk.load_rollouts(tmp_path / "completions")
    assert log.kind == "TRL completions" and len(log) == len(rollouts)
    alone = rk.score(rk.recorded(log), log)  # the log as it is, without the reward
    np.testing.assert_allclose(alone.rewards, single(scores.rewards), rtol=1e-6, equal_nan=True)
    proved("trl", "called", "GRPOTrainer of trl 1.16.0, two steps, plain and conversational")
    proved("trl", "equal")


@pytest.mark.parametrize("chat", [False, True], ids=["plain", "conversational"])
def test_a_trainer_waits_for_the_async_function_of_a_file(chat, tmp_path):
    made = export(rk.load_reward(f"{waiting.__file__}:tiny"), to="trl", path=tmp_path / "tiny_trl.py")
    function = module_of(made.path).tiny
    assert asyncio.iscoroutinefunction(function)
    table, rollouts, _ = trained([function], tmp_path, chat=chat)
    scores = rk.score(reward(), rollouts)
    np.testing.assert_allclose(table["tiny"].to_numpy(), single(scores.rewards), rtol=1e-6, equal_nan=True)
    proved("trl", "written")


def test_a_file_with_a_judge_and_with_siblings_is_awaited_and_gives_our_numbers(monkeypatch, tmp_path):
    with judging.at_work(monkeypatch) as (judged, server):
        made = export(judged, to="trl", path=tmp_path / "judged_trl.py")
        table, rollouts, _ = trained([module_of(made.path).judged], tmp_path)
        asked = len(server.asked)
        scores = rk.score(judged, rollouts)
    assert asked and len(set(scores.rewards.round(6))) > GENERATIONS
    np.testing.assert_allclose(table["judged"].to_numpy(), single(scores.rewards), rtol=1e-6)


@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
def test_separate_functions_with_reward_weights_give_our_scores_and_both_aggregations(aggregation, tmp_path):
    mine = reward()
    functions = trl.functions(mine, separate=True)
    table, rollouts, _ = trained(
        functions,
        tmp_path,
        reward_weights=list(mine.weights.values()),
        multi_objective_aggregation=aggregation,
    )
    scores = rk.score(mine, rollouts)
    parts = np.column_stack([single(scores.score(name)) for name in mine.names])
    for at, name in enumerate(mine.names):
        np.testing.assert_allclose(table[name].to_numpy(), parts[:, at], rtol=1e-6, equal_nan=True)
    for step in sorted(set(table["step"])):
        rows = np.flatnonzero(table["step"] == step)
        groups = pd.factorize(rollouts.groups[rows])[0]
        weights = np.array(list(mine.weights.values()))
        if aggregation == "normalize_then_sum":
            expected = gdpo(parts[rows], weights, groups)
        else:  # a partial None counts 0 there: the loss that export prints
            expected = grpo(np.nansum(parts[rows] * weights, axis=1), groups)
        np.testing.assert_allclose(
            table["advantage"].to_numpy()[rows], np.nan_to_num(expected), rtol=1e-3, atol=2e-4
        )


def accuracy(completions, solution, **kwargs):
    """A function as TRL documents it: columns of the data set as lists."""
    return [
        None if not text else float(text[0] in truth)
        for text, truth in zip(completions, solution, strict=True)
    ]


async def polite(prompts, completions, **kwargs):
    """A true coroutine function over conversations."""
    await asyncio.sleep(0)
    return [float(len(turns[-1]["content"]) % 2) for turns in completions]


@pytest.mark.parametrize(("name", "chat"), [("accuracy", False), ("polite", True)])
def test_a_function_that_the_trainer_calls_is_read_and_gives_the_same(name, chat, tmp_path):
    function = globals()[name]
    table, rollouts, _ = trained([function], tmp_path, chat=chat)
    read = rk.load_reward(f"{__file__}:{name}", rollouts=rollouts)
    assert "read as TRL" in read.origin
    scores = rk.score(read, rollouts)
    np.testing.assert_allclose(table[name].to_numpy(), scores.score(name), rtol=1e-6, equal_nan=True)
    proved("trl", "recognised")
    proved("trl", "read")


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_functions_survive_pickling(dumps):
    combined = pickle.loads(dumps(trl.functions(rk.load_reward("gallery:arithmetic"))))[0]
    texts = ["<think>1</think><answer>4</answer>", "4"]
    given = combined(prompts=["p", "p"], completions=texts, answer=["4", "4"])
    assert given[0] > 1 > given[1]
