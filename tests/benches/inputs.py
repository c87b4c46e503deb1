"""What several benches score."""

from __future__ import annotations

import json
import random

import pandas as pd

import rewardkit as rk

SIBLINGS = 8
WORDS = (
    "so we add the two numbers and then carry the one to get what is asked for here "
    "next step is to check it again because it may be wrong"
).split()

PARTS = '''"""A right answer, in tags, in few words."""
import re

ANSWER = re.compile(r"<answer>(-?\\d+)</answer>")

def exact(completion, ground_truth):
    found = ANSWER.search(completion)
    return float(found is not None and found[1] == ground_truth)

def tagged(completion):
    return float(completion.startswith("<think>") and "</think>" in completion)

def brief(completion):
    return max(0.0, 1 - len(completion) / 1000)
'''

REWARD = f"""{PARTS}
import rewardkit as rk
components = [
    rk.Component("exact", exact),
    rk.Component("tagged", tagged, weight=0.2),
    rk.Component("brief", brief, weight=0.1),
]
reward = rk.Reward("sums", components=components)
"""


def repeated(rows):
    """Return the bundled arithmetic rollouts over and over; each copy has prompts, and so groups, of its own."""
    table = rk.load_rollouts("gallery:arithmetic").table
    copies = -(-rows // len(table))
    whole = pd.concat(
        [table.assign(prompt_id=table.prompt_id + f"-{copy}") for copy in range(copies)]
    )
    return rk.load_rollouts(whole.head(rows).drop(columns="rollout_id"))


def sums(rows, most_words=90):
    """Yield rollouts of sums in 20 words and more, of which a third are wrong."""
    draw = random.Random(0)
    for row in range(rows):
        group = row // SIBLINGS
        truth = 2 * group + 7
        answer = truth + (draw.random() < 1 / 3)
        words = " ".join(draw.choices(WORDS, k=draw.randint(20, most_words)))
        yield {
            "prompt": f"user\nWhat is {group} + {group + 7}? Think first, and put the number into <answer> tags.\nassistant\n",
            "completion": f"<think>{words}</think>\n<answer>{answer}</answer>",
            "ground_truth": str(truth),
        }


def size(path):
    """Return the megabytes of all files in a folder."""
    return sum(file.stat().st_size for file in path.rglob("*")) / 1e6


def write_verl_log(path, rows):
    """Write a log of sums as verl dumps its rollouts, 128 groups a step."""
    with path.open("w") as file:
        for place, row in enumerate(sums(rows)):
            score = float(f"<answer>{row['ground_truth']}<" in row["completion"])
            logged = {
                "input": row["prompt"],
                "output": row["completion"],
                "gts": row["ground_truth"],
                "score": score,
                "step": place // (128 * SIBLINGS),
                "acc": score,
            }
            file.write(json.dumps(logged) + "\n")
