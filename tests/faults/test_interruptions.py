"""Scoring a log in parts under each fault: what a person sees, what is on disk, and that the next run completes."""

import json
import random
import textwrap

REWARD = """
    import time
    from pathlib import Path

    def right(completion, ground_truth):
        {fault}
        return float(ground_truth in completion)
"""
WAITS = 'if Path("wait").exists() and "WAIT" in completion: Path("reached").touch(); time.sleep(1000)'
"""A reward that stops at some row, where it is interrupted; the next run does not wait."""
GOES_BACK = "before = time.time(); time.time = lambda: before - 9"
"""A reward that turns the clock back with each call."""
NO_MEMORY = 'if "WAIT" in completion: raise MemoryError'
PRINTS = 'while "WAIT" in completion: print("and so on " * 1000)'
GROWS = 'while "WAIT" in completion: completion += completion'


def rows(is_scattered=False):
    """Sixty groups of four, in twelve parts or so; the reward may wait in the middle."""
    table = []
    for place in range(240):
        prompt = place // 4
        text = f"it is {prompt + place % 2}, " + "so " * (place % 30)
        text += "WAIT" * (place == 150)
        row = {"prompt": f"What is {prompt}+0?", "completion": text}
        table.append({**row, "ground_truth": str(prompt), "step": prompt // 6})
    if is_scattered:
        random.Random(1).shuffle(table)
    return table


def write(folder, *, is_scattered=False, fault=WAITS):
    folder.mkdir()
    (folder / "mine.py").write_text(textwrap.dedent(REWARD).format(fault=fault))
    lines = [json.dumps(row) + "\n" for row in rows(is_scattered)]
    (folder / "log.jsonl").write_text("".join(lines))
