"""A real GRPOTrainer on the CPU: what it logs as rewards and advantages is what rewardkit computes."""

import asyncio
import math

import judging
import numpy as np
import pandas as pd
import pytest
import tiny
import waiting
from datasets import Dataset
from table import proved
from trl import GRPOConfig, GRPOTrainer

import rewardkit as rk
from rewardkit.analysis.statistics.advantages import batch, dr_grpo, gdpo, grpo
from rewardkit.targets import trl
from rewardkit.targets.export import export
from rewardkit.targets.target import import_file

GENERATIONS = 4
TRUTHS = {"count to 3": "123 count", "say abc": "abc", "write xyz": "xyz"}
SETUP = {
    "max_steps": 2,
    "per_device_train_batch_size": GENERATIONS * len(TRUTHS),
    "num_generations": GENERATIONS,
    "max_completion_length": 8,
    "log_completions": True,
    "logging_steps": 1,
    "report_to": [],
    "use_cpu": True,
    "bf16": False,
    "save_strategy": "no",
    "seed": 7,
}


def trained(functions, folder, *, chat=False, **config):
    """Two steps; the completions that the trainer logged, as a table and as rollouts."""
    prompts = (
        [[{"role": "user", "content": text}] for text in TRUTHS] if chat else [*TRUTHS]
    )
    trainer = GRPOTrainer(
        tiny.model(),
        reward_funcs=functions,
        args=GRPOConfig(output_dir=str(folder), **SETUP, **config),
        train_dataset=Dataset.from_dict(
            {"prompt": prompts, "solution": [*TRUTHS.values()]}
        ),
        processing_class=tiny.tokenizer(),
    )
    trainer.train()
    files = sorted((folder / "completions").glob("*.parquet"))
    assert len(files) == 2
    table = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    rows = table[["prompt", "completion", "step"]]
    for name in ("prompt", "completion") if chat else ():
        rows = rows.assign(**{name: rows[name].map(lambda turns: turns[0]["content"])})
    rows = rows.assign(ground_truth=rows["prompt"].map(TRUTHS))
    return table, rk.load_rollouts(rows.to_dict("records")), trainer


def single(values):
    """As the trainer holds rewards: float32."""
    return np.asarray(values, dtype=np.float32).astype(float)


def same(logged, ours):
    np.testing.assert_allclose(
        logged.to_numpy(), single(ours), rtol=1e-6, equal_nan=True
    )


def check_advantages(table, rollouts, estimate, rtol, atol):
    """Those of each step against an estimator of its rows and their groups."""
    for step in sorted(set(table["step"])):
        rows = np.flatnonzero(table["step"] == step)
        expected = np.nan_to_num(estimate(rows, pd.factorize(rollouts.groups[rows])[0]))
        np.testing.assert_allclose(
            table["advantage"].to_numpy()[rows], expected, rtol=rtol, atol=atol
        )
        assert np.abs(expected).max() > 0.1


ESTIMATORS = {"group": grpo, "batch": batch, "none": dr_grpo}


@pytest.mark.parametrize(
    ("scale", "chat"), [("group", False), ("batch", True), ("none", False)]
)
def test_a_trainer_logs_our_rewards_and_advantages_for_the_combined_function(
    scale, chat, tmp_path
):
    functions = trl.functions(waiting.tiny())
    table, rollouts, trainer = trained(
        functions, tmp_path, chat=chat, scale_rewards=scale
    )
    rewards = rk.score(waiting.tiny(), rollouts).rewards
    assert np.isnan(rewards).any() and not np.isnan(rewards).all()
    same(table["tiny"], rewards)
    ours = single(rewards)
    check_advantages(
        table,
        rollouts,
        lambda rows, groups: ESTIMATORS[scale](ours[rows], groups),
        1e-4,
        2e-5,
    )
    logged = [entry for entry in trainer.state.log_history if "reward" in entry]
    last = rewards[table["step"].to_numpy() == table["step"].max()]
    assert math.isclose(logged[-1]["reward"], np.nanmean(last), rel_tol=1e-5)
    assert table["length"].tolist() == [
        len(text) for text in rollouts.table["completion"]
    ]  # rk.note
    log = rk.load_rollouts(tmp_path / "completions")
    assert log.kind == "TRL completions" and len(log) == len(rollouts)
    same(
        pd.Series(rk.score(rk.recorded(log), log).rewards), rewards
    )  # the log as it is, without the reward
    proved(
        "trl",
        "called",
        "equal",
        by="GRPOTrainer of trl 1.16.0, two steps, plain and conversational",
    )


def test_a_trainer_pays_the_weights_of_its_step(tmp_path):
    switch = rk.schedule({0: 1.0, 1: -3.0}, between="step")
    mine = waiting.made("stepped", {waiting.share: switch}, on_missing="skip")
    made = export(mine, to="trl", path=tmp_path / "stepped.py")
    function = getattr(import_file(made.path), made.functions[0])
    table, rollouts, _ = trained([function], tmp_path)
    shares = rk.score(mine, rollouts).score("share")
    # TRL logs a batch of step 0 as step 1
    weights = np.where(table["step"] == 1, 1.0, -3.0)
    assert set(weights) == {1.0, -3.0} and np.nanmax(shares) > 0
    same(table["stepped"], weights * shares)


@pytest.mark.parametrize("separate", [False, True])
def test_what_a_trainer_pays_is_recorded_by_its_steps_and_shown_by_component(
    separate, tmp_path
):
    mine = waiting.tiny()
    record = rk.Recorder(tmp_path / "run")
    functions = trl.functions(mine, separate=separate, record=record, timeout=20.0)
    table, _, trainer = trained(functions, tmp_path, chat=not separate)
    record.flush()
    scores = rk.load_scores(tmp_path / "run")
    # TRL logs a batch of step 0 as step 1
    recorded = scores.table.assign(step=scores.table["step"] + 1)
    assert recorded["step"].tolist() == table["step"].tolist()
    texts = table["completion"]
    if not separate:
        texts = texts.map(lambda turns: turns[0]["content"])
        same(table["tiny"], recorded["reward"])
    assert recorded["completion"].tolist() == texts.tolist()
    assert scores.rollouts.group_key == ("prompt", "step")
    assert scores.rollouts.group_sizes == {GENERATIONS: 2 * len(TRUTHS)}
    logged = [entry for entry in trainer.state.log_history if "reward" in entry][-1]
    last = recorded[recorded["step"] == 2]
    for name in mine.names:
        expected = last[f"score/{name}"].mean()
        assert math.isclose(
            logged[f"components/{name}/mean"], expected, rel_tol=1e-5
        ), name
        assert logged[f"components/{name}/seconds"] > 0
    same_again = rk.score(mine, scores.rollouts)
    np.testing.assert_allclose(same_again.rewards, scores.rewards)


def test_a_trainer_waits_for_the_async_function_of_a_file(tmp_path):
    made = export(
        rk.load_reward(f"{waiting.__file__}:tiny"),
        to="trl",
        path=tmp_path / "tiny_trl.py",
    )
    function = import_file(made.path).tiny
    assert asyncio.iscoroutinefunction(function)
    table, rollouts, _ = trained([function], tmp_path, chat=True)
    same(table["tiny"], rk.score(waiting.tiny(), rollouts).rewards)
    proved("trl", "written")


def test_a_file_with_a_judge_and_with_siblings_is_awaited_and_gives_our_numbers(
    monkeypatch, tmp_path
):
    with judging.at_work(monkeypatch) as (judged, server):
        made = export(judged, to="trl", path=tmp_path / "judged_trl.py")
        table, rollouts, _ = trained([import_file(made.path).judged], tmp_path)
        asked, rewards = len(server.asked), rk.score(judged, rollouts).rewards
    assert asked and len(set(rewards.round(6))) > GENERATIONS
    same(table["judged"], rewards)


@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
def test_separate_functions_with_reward_weights_give_our_scores_and_both_aggregations(
    aggregation, tmp_path
):
    mine = waiting.tiny()
    weights = np.array([*mine.weights.values()])
    how = {
        "reward_weights": weights.tolist(),
        "multi_objective_aggregation": aggregation,
    }
    table, rollouts, _ = trained(trl.functions(mine, separate=True), tmp_path, **how)
    scores = rk.score(mine, rollouts)
    for name in mine.names:
        same(table[name], scores.score(name))
    parts = np.column_stack([single(scores.score(name)) for name in mine.names])

    def estimate(rows, groups):
        if aggregation == "normalize_then_sum":
            return gdpo(parts[rows], weights, groups)
        # None counts 0: the loss that export prints
        return grpo(np.nansum(parts[rows] * weights, axis=1), groups)

    check_advantages(table, rollouts, estimate, 1e-3, 2e-4)


def accuracy(completions, solution, **kwargs):
    """A function as TRL documents it: columns of the data set as lists."""
    pairs = zip(completions, solution, strict=True)
    return [float(text[0] in truth) if text else None for text, truth in pairs]


async def polite(prompts, completions, **kwargs):
    """A true coroutine function over conversations."""
    await asyncio.sleep(0)
    return [float(len(turns[-1]["content"]) % 2) for turns in completions]


@pytest.mark.parametrize(("function", "chat"), [(accuracy, False), (polite, True)])
def test_a_function_that_the_trainer_calls_is_read_and_gives_the_same(
    function, chat, tmp_path
):
    name = function.__name__
    table, rollouts, _ = trained([function], tmp_path, chat=chat)
    read = rk.load_reward(f"{__file__}:{name}", rollouts=rollouts)
    assert "read as TRL" in read.origin
    same(table[name], rk.score(read, rollouts).score(name))
    proved("trl", "recognised", "read")
