"""What a recorder costs a training: steps of TRL with it and without, in turn; no test.

A step is the call of the reward, as TRL makes it, and half a second of a trainer: half of it Python, which the
recorder's thread competes with, half waiting for a GPU. Processor time counts all threads of the process, and so is
the most that a step can lose; the clock on the wall also counts what else the machine does. The recorder's own
processor time, on the training thread and on its own, is counted apart, as a busy machine moves the other two by
more than the recorder does.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import rewardkit as rk
from rewardkit.history import part_writer
from rewardkit.targets import exported

STEPS, BLOCK, STEP_SECONDS = 200, 10, 0.5
PROMPTS, GENERATIONS, WORDS = 8, 8, 400


def count(rounds: int) -> int:
    """What a trainer does in Python."""
    total = 0
    for number in range(rounds):
        total += number % 7
    return total


def rounds_in(seconds: float) -> int:
    """Rounds of `count` that take so much processor time."""
    began = time.process_time()
    count(3_000_000)
    return int(3_000_000 * seconds / (time.process_time() - began))


def completions(draw: np.random.Generator) -> list[str]:
    """Texts of a batch, all different."""
    texts = []
    for _ in range(PROMPTS * GENERATIONS):
        words = [f"word{number}" for number in draw.integers(0, 5000, WORDS)]
        texts.append(f"<think>{' '.join(words)}</think><answer>4</answer>")
    return texts


def interval(values: np.ndarray, draw: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of a median, blocks drawn anew."""
    drawn = draw.choice(values, (2000, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(low), float(high)


def counted(function: Callable[..., None], seconds: list[float]) -> Callable[..., None]:
    """The function, with the processor time of its thread added to a list."""

    def call(*arguments: object, **options: object) -> None:
        began = time.thread_time()
        function(*arguments, **options)
        seconds.append(time.thread_time() - began)

    return call


def now() -> np.ndarray:
    """Seconds of the wall, and of this process."""
    return np.array([time.perf_counter(), time.process_time()])


def main() -> None:
    """Print the share of a step that the recorder takes, with its interval."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    draw = np.random.default_rng(0)
    here: list[float] = []
    beside: list[float] = []
    exported.record_batch = counted(exported.record_batch, here)
    part_writer.PartWriter.write = counted(part_writer.PartWriter.write, beside)  # type: ignore[method-assign]
    rounds = rounds_in(STEP_SECONDS / 2)
    reward = rk.load_reward("gallery:arithmetic")
    rows = PROMPTS * GENERATIONS
    prompts = [f"What is 2 + {row // GENERATIONS}?" for row in range(rows)]
    with tempfile.TemporaryDirectory() as folder:
        record = rk.Recorder(Path(folder, "run"))
        (with_it,) = rk.targets.trl.functions(reward, record=record)
        (without,) = rk.targets.trl.functions(reward)

        def block(function: Callable[..., list[float | None]], start: int) -> np.ndarray:  # fmt: skip
            """Seconds of a step, of a block of them: of the wall, and of this process."""
            seconds = np.zeros(2)
            for step in range(start, start + BLOCK):
                texts = completions(draw)
                began = now()
                function(
                    prompts,
                    texts,
                    ground_truth=["4"] * rows,
                    trainer_state=SimpleNamespace(global_step=step),
                )
                count(rounds)
                time.sleep(STEP_SECONDS / 2)
                seconds += now() - began
            began = now()
            record.flush()  # what the block has left to write is the block's
            return (seconds + now() - began) / BLOCK

        block(with_it, 0)  # imports what it writes with
        here.clear(), beside.clear()
        pairs = []
        for at in range(1, steps // BLOCK + 1):
            if at % 2:
                on, off = block(with_it, at * BLOCK), block(without, 0)
            else:
                off, on = block(without, 0), block(with_it, at * BLOCK)
            pairs.append((on, off))
        scores = rk.load_scores(Path(folder, "run"))
        size = sum(path.stat().st_size for path in Path(folder, "run").iterdir())
    on, off = np.array(pairs).transpose(1, 0, 2)  # (blocks, clocks) each
    print(f"{steps} steps with a recorder, {steps} without, in turn by {BLOCK}; "
          f"{rows} completions of about {len(completions(draw)[0]):,} characters a step")  # fmt: skip
    for clock, name in enumerate(("on the wall", "of the processor")):
        shares = (on - off)[:, clock] / STEP_SECONDS
        low, high = interval(shares, draw)
        print(f"{name}: a step without {np.median(off[:, clock]):.3f} s, the recorder {np.median(shares):+.2%} of "
              f"{STEP_SECONDS} s (median of {len(shares)} blocks; 95 % {low:+.2%} to {high:+.2%})")  # fmt: skip
    per_step = [sum(seconds) / steps for seconds in (here, beside)]
    print(f"its own processor time: {per_step[0] * 1e3:.2f} ms a step on the training thread, {per_step[1] * 1e3:.2f} ms "
          f"beside it: {sum(per_step) / STEP_SECONDS:.2%} of a step; the longest stay on the training thread {max(here) * 1e3:.1f} ms")  # fmt: skip
    left_out = scores.record["recorder"]["rows_left_out"]
    print(f"{len(scores):,} rows recorded, {left_out} left out, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
