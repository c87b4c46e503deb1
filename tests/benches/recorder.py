"""What a recorder costs a training: steps of TRL with it and without, in turn.

A step is the call of the reward, as TRL makes it, and half a second of a trainer: half of it Python, which the
recorder's thread competes with, half waiting for a GPU. The recorder's own processor time, on the training thread
and on its own, is counted apart, as a busy machine moves a step by more than the recorder does.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from benches.table import Row

import rewardkit as rk
from rewardkit.history import part_writer
from rewardkit.targets import exported

BLOCKS_A_RUN, BLOCK, STEP_SECONDS = 4, 10, 0.5
PROMPTS, GENERATIONS, WORDS = 8, 8, 400
AIM = 2.0
"""Per cent of a step."""


def count(rounds):
    """Do what a trainer does in Python."""
    total = 0
    for number in range(rounds):
        total += number % 7
    return total


def rounds_in(seconds):
    """Return the rounds of `count` that take so much processor time."""
    began = time.process_time()
    count(3_000_000)
    return int(3_000_000 * seconds / (time.process_time() - began))


def completions(draw):
    """Return the texts of a batch, all different."""
    texts = []
    for _ in range(PROMPTS * GENERATIONS):
        words = [f"word{number}" for number in draw.integers(0, 5000, WORDS)]
        texts.append(f"<think>{' '.join(words)}</think><answer>4</answer>")
    return texts


def counted(function, seconds):
    """Return the function, with the processor time of its thread added to a list."""

    def call(*arguments, **options):
        began = time.thread_time()
        function(*arguments, **options)
        seconds.append(time.thread_time() - began)

    return call


def rows(runs):
    """Compare blocks of steps with the recorder and without."""
    here: list[float] = []
    beside: list[float] = []
    writer = part_writer.PartWriter
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(exported, "record_batch", counted(exported.record_batch, here)),
        patch.object(writer, "write", counted(writer.write, beside)),
    ):
        draw = np.random.default_rng(0)
        rounds = rounds_in(STEP_SECONDS / 2)
        reward = rk.load_reward("gallery:arithmetic")
        batch = PROMPTS * GENERATIONS
        prompts = [f"What is 2 + {row // GENERATIONS}?" for row in range(batch)]
        record = rk.Recorder(Path(folder, "run"))
        (with_it,) = rk.targets.trl.functions(reward, record=record)
        (without,) = rk.targets.trl.functions(reward)

        def block(function, start):
            """Return the seconds of a step, of a block of them."""
            seconds = 0.0
            for step in range(start, start + BLOCK):
                texts = completions(draw)
                began = time.perf_counter()
                function(
                    prompts,
                    texts,
                    ground_truth=["4"] * batch,
                    trainer_state=SimpleNamespace(global_step=step),
                )
                count(rounds)
                time.sleep(STEP_SECONDS / 2)
                seconds += time.perf_counter() - began
            began = time.perf_counter()
            record.flush()  # what the block has left to write is the block's
            return (seconds + time.perf_counter() - began) / BLOCK

        block(with_it, 0)  # imports what it writes with
        here.clear()
        beside.clear()
        on, off = [], []
        blocks = BLOCKS_A_RUN * runs
        for at in range(1, blocks + 1):
            if at % 2:
                on.append(block(with_it, at * BLOCK))
            off.append(block(without, 0))
            if not at % 2:
                on.append(block(with_it, at * BLOCK))
        scores = rk.load_scores(Path(folder, "run"))
        assert scores.record["recorder"]["rows_left_out"] == 0
    steps = blocks * BLOCK
    step = f"a step of {STEP_SECONDS} s, {batch} completions of 400 words"
    yield Row(f"recorder, {step}", on, "the same step without it", off)
    share = 100 * (sum(here) + sum(beside)) / steps / STEP_SECONDS
    yield Row("recorder, its own processor time in a step", [share], unit="%", aim=AIM)
