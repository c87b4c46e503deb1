"""Write transcripts of agents with a tool, by scripts and not by a model. Usage: python write_tool_use.py OUT.jsonl

Each rollout follows one of the habits below; harder questions draw the worse ones more often.
"""

import json
import random
import sys
from pathlib import Path

PRICES = {"pen": 2, "mug": 7, "lamp": 23, "book": 11, "bag": 34, "clock": 18, "chair": 45, "plant": 9}
PROMPTS, SIBLINGS, SEED = 40, 8, 20261125
TASK = (
    "You are the till of a small shop. The tool price(item) knows what one piece costs; item is a word in the singular. "
    "End with the total in <answer> tags.\n\n"
)


def call(turns, item):
    """A call of the tool and what it gives: a plural is not known."""
    name = f"c{len(turns)}"
    function = {"name": "price", "arguments": json.dumps({"item": item})}
    turns.append({"role": "assistant", "content": None, "tool_calls": [{"id": name, "type": "function", "function": function}]})
    told = {"item": item, "price": PRICES[item]} if item in PRICES else {"error": f"no item {item!r}"}
    turns.append({"role": "tool", "tool_call_id": name, "name": "price", "content": json.dumps(told)})


def careful(r, turns, basket, total):
    for item in basket:
        call(turns, item)
    return f"{' + '.join(f'{n} x {PRICES[item]}' for item, n in basket.items())} = {total}. <answer>{total}</answer>"


def careless(r, turns, basket, total):
    for item in basket:
        call(turns, item)
    return f"Together that is <answer>{total + r.choice([-10, -1, 1, 10])}</answer>"


def forgetful(r, turns, basket, total):
    for item in basket:
        call(turns, item)
    total = sum(PRICES[item] for item in basket)
    return f"The prices add up to <answer>{total}</answer>"


def plural(r, turns, basket, total):
    for item, n in basket.items():
        if n > 1:
            call(turns, f"{item}s")
        call(turns, item)
    return f"<answer>{total}</answer>"


def guessing(r, turns, basket, total):
    return f"That should be around <answer>{total + r.randint(1, 30)}</answer>"


def remembering(r, turns, basket, total):
    return f"I know these prices. <answer>{total}</answer>"


def busy(r, turns, basket, total):
    for _ in range(r.randint(2, 4)):
        for item in basket:
            call(turns, item)
    return f"After checking everything again: <answer>{total + r.choice([0, 3, -4])}</answer>"


def lost(r, turns, basket, total):
    for item in basket:
        call(turns, f"{item}s")
    return "The tool does not know these items, so I cannot say."


HABITS = {careful: (8, 3), careless: (1, 3), forgetful: (1, 3), plural: (2, 2), guessing: (1, 3), remembering: (1, 1), busy: (1, 2), lost: (1, 2)}


def rows():
    r = random.Random(SEED)
    for number in range(PROMPTS):
        items = r.sample(sorted(PRICES), 2 + number % 2)
        basket = {item: r.randint(1, 4) for item in items}
        asked = " and ".join(f"{n} {item}{'s' * (n > 1)}" for item, n in basket.items())
        total = sum(PRICES[item] * n for item, n in basket.items())
        weights = [weight[number % 2] for weight in HABITS.values()]
        for generation in range(SIBLINGS):
            turns = [{"role": "user", "content": f"{TASK}What do {asked} cost together?"}]
            (habit,) = r.choices([*HABITS], weights)
            turns.append({"role": "assistant", "content": habit(r, turns, basket, total)})
            about = {"prompt_id": f"shop-{number:02}", "generation": generation, "items": len(basket)}
            yield {**about, "messages": turns, "ground_truth": str(total)}


if __name__ == "__main__":
    lines = [json.dumps(row, ensure_ascii=False) for row in rows()]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
