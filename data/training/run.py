"""One GRPO run of data/training: what was trained, and what became of it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from datasets import Dataset
from policy import LONGEST, tokenizer
from rewards import SETTINGS
from tasks import TASKS
from transformers import PreTrainedModel, PrinterCallback
from trl import GRPOConfig, GRPOTrainer

import rewardkit as rk

PROMPTS = 16
"""Prompts of a step."""
GENERATIONS = 8
EVERY = 10
"""Steps between two whose completions are kept."""


@dataclass(frozen=True)
class Run:
    """What is trained: a reward on a task, at a learning rate, with a seed."""

    task: str
    difficulty: str
    reward: str
    rate: float
    seed: int
    steps: int = 160

    @property
    def name(self) -> str:
        """The name of its files."""
        rate = f"{self.rate:.1e}".replace("e-0", "e-").replace(".0e", "e")
        return f"{self.task}-{self.difficulty}-{self.reward}-{rate}-{self.seed}"


class Recorder:
    """The reward function that the trainer calls; it keeps a line of each step.

    A function of TRL's form, given as one of `functions`, weighed 0: it gives no score.
    """

    __name__ = "recorder"

    def __init__(self, reward: rk.Reward) -> None:
        self.reward = reward
        self.steps: list[dict[str, Any]] = []
        self.completions: list[pd.DataFrame] = []

    def __call__(
        self,
        prompts: list[str],
        completions: list[str],
        ground_truth: list[str],
        completion_ids: list[list[int]],
        trainer_state: Any,
        **_columns: Any,
    ) -> list[float]:
        """Keep the figures of a step, and its completions every `EVERY` steps."""
        step = trainer_state.global_step
        table = pd.DataFrame(
            {
                "prompt": prompts,
                "completion": completions,
                "ground_truth": ground_truth,
                "step": step,
            }
        )
        scores = rk.score(self.reward, rk.load_rollouts(table))
        names = [f"score/{name}" for name in self.reward.names]
        means = scores.table[["reward", *names]].fillna(0.0).mean()
        cut = [len(ids) >= LONGEST for ids in completion_ids]
        self.steps.append(
            {
                "step": step,
                **means,
                "characters": table["completion"].str.len().mean(),
                "cut": sum(cut) / len(cut),
            }
        )
        if step % EVERY == 0:
            self.completions.append(table.assign(reward=scores.rewards))
        return [0.0] * len(completions)


def train(
    run: Run, base: PreTrainedModel, reward: rk.Reward
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train a base on a reward; a table of the steps, one of the kept completions.

    The first has the means over a step's completions: reward, score/<component>,
    characters, and the share that the limit of tokens cut.
    """
    settings = SETTINGS.get(reward.name, rk.Training())
    separate = settings.multi_objective_aggregation == "normalize_then_sum"
    functions = rk.targets.trl.functions(reward, separate=separate)
    weights = list(reward.weights.values()) if separate else [1.0]
    recorder = Recorder(reward)
    problems = TASKS[run.task].problems(
        run.difficulty, run.steps * PROMPTS, seed=1000 + run.seed
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            base,
            reward_funcs=[*functions, recorder],
            args=GRPOConfig(
                output_dir=str(Path(folder)),
                max_steps=run.steps,
                per_device_train_batch_size=PROMPTS * GENERATIONS,
                num_generations=GENERATIONS,
                max_completion_length=LONGEST,
                learning_rate=run.rate,
                lr_scheduler_type="constant",
                beta=0.0,
                scale_rewards=settings.scale_rewards,
                multi_objective_aggregation=settings.multi_objective_aggregation,
                reward_weights=[*weights, 0.0],
                gradient_checkpointing=False,
                report_to=[],
                use_cpu=True,
                bf16=False,
                save_strategy="no",
                logging_steps=run.steps,
                disable_tqdm=True,
                seed=run.seed,
            ),
            train_dataset=Dataset.from_dict(
                {
                    "prompt": [problem.prompt for problem in problems],
                    "ground_truth": [problem.truth for problem in problems],
                }
            ),
            processing_class=tokenizer(),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    steps = pd.DataFrame(recorder.steps)
    return steps, pd.concat(recorder.completions, ignore_index=True)
