"""Train Gemma 3 270M on a reward of data/arithmetic: GRPO on the CPU, by TRL.

    python data/training/gemma_runs.py OUTPUT gallery:arithmetic --rate 1e-5

Writes OUTPUT.csv, a row a step, and OUTPUT.completions.parquet, as the run goes.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from datasets import Dataset
from gemma import ARITHMETIC, QUESTION, Copies, load_base
from sample_rollouts import ITEMS, NAMES, TASKS
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

import rewardkit as rk

PROMPTS, GENERATIONS = 4, 8
LONGEST = 64
"""Tokens of a completion; a right one of the log has 23 words at most."""
START = "<think>"
"""What ends a prompt, and begins a completion when it is scored, as in the log."""


class Recorder:
    """A function for the trainer that gives no score and writes down each step."""

    __name__ = "recorder"

    def __init__(self, reward: rk.Reward, output: Path) -> None:
        self.reward, self.output = reward, output
        self.task = rk.load_reward("gallery:arithmetic")
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
    ) -> list[None]:
        """Add a step to both files; the task is `correct` of the sound reward."""
        step = trainer_state.global_step
        table = pd.DataFrame(
            {
                "prompt": [prompt.removesuffix(START) for prompt in prompts],
                "completion": completions,
                "ground_truth": ground_truth,
                "step": step,
            }
        )
        rollouts = rk.load_rollouts(table)
        scores = rk.score(self.reward, rollouts)
        task = rk.score(self.task, rollouts).score("correct") == 1
        names = [f"score/{name}" for name in self.reward.names]
        cut = [len(ids) >= LONGEST for ids in completion_ids]
        self.steps.append(
            {
                "step": step,
                "task": task.mean(),
                **scores.table[["reward", *names]].mean(),
                "unscored": scores.table["reward"].isna().mean(),
                "words": table["completion"].str.split().str.len().mean(),
                "characters": table["completion"].str.len().mean(),
                "cut": sum(cut) / len(cut),
            }
        )
        self.completions.append(table.assign(right=task, reward=scores.rewards))
        steps = pd.DataFrame(self.steps)
        steps.to_csv(f"{self.output}.csv", index=False, float_format="%.4g")
        pd.concat(self.completions).to_parquet(f"{self.output}.completions.parquet")
        return [None] * len(completions)


def with_start(function: Any) -> Any:
    """Return a reward function that gets completions as they are in the log."""

    def restored(*, completions: list[str], **columns: Any) -> Any:
        texts = [f"{START}{text}".rstrip() for text in completions]
        return function(completions=texts, **columns)

    restored.__name__ = function.__name__
    return restored


def problems(seed: int | None, count: int) -> list[dict[str, str]]:
    """Return prompts with their truths: the log's, or others by a seed."""
    if seed is None:
        log = pd.read_json(ARITHMETIC / "rollouts.jsonl", lines=True, dtype=False)
        log = log.drop_duplicates("prompt_id")
        questions = log["prompt"].str.split("Question: ").str[1]
        pairs = [*zip(questions, log["ground_truth"], strict=True)]
    else:
        draw, pairs = random.Random(seed), []
        for place in range(count):
            template, answer = TASKS[place % len(TASKS)][1](draw)
            question = template.format(n=draw.choice(NAMES), i=draw.choice(ITEMS))
            pairs.append((question, str(answer)))
    return [
        {"prompt": f"Question: {question}{QUESTION}", "ground_truth": truth}
        for question, truth in pairs
    ]


def main() -> None:
    """Train, and write both files at each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("reward")
    parser.add_argument("--rate", type=float, default=1e-5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--others", type=int, help="seed of problems not of the log")
    parser.add_argument("--base", type=Path, default=Path("gemma-cut"))
    options = parser.parse_args()
    model, tokenizer = load_base(options.base)
    reward = rk.load_reward(options.reward)
    functions = [*rk.targets.trl.functions(reward), Recorder(reward, options.output)]
    optimizer = Copies(model, options.rate)
    trainer = GRPOTrainer(
        model,
        reward_funcs=[with_start(function) for function in functions],
        args=GRPOConfig(
            output_dir=f"{options.output}.trainer",
            max_steps=options.steps,
            per_device_train_batch_size=PROMPTS * GENERATIONS,
            num_generations=GENERATIONS,
            max_completion_length=LONGEST,
            temperature=0.8,
            beta=0.0,
            reward_weights=[1.0, 0.0],
            gradient_checkpointing=False,
            report_to=[],
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_steps=options.steps,
            disable_tqdm=True,
            seed=0,
        ),
        train_dataset=Dataset.from_list(
            problems(options.others, options.steps * PROMPTS)
        ),
        processing_class=tokenizer,
        optimizers=(optimizer, torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()


if __name__ == "__main__":
    main()
