"""Mathematics: GSM8K with the tutorial's functions, large numbers in a box, units."""

from __future__ import annotations

import random

from .drawing import Log, Task, behind
from .entry import Fault, family

__all__ = ["ENTRIES"]

SYSTEM = """Respond in the following format, and write nothing after it:
<reasoning>
...
</reasoning>
<answer>
...
</answer>"""

THINGS = ("pencils", "apples", "tickets", "stamps", "marbles", "books", "cards", "tiles")

UNITS = (  # from, to, factor
    ("miles", "km", 1.609344),
    ("kg", "pounds", 2.20462),
    ("inches", "cm", 2.54),
    ("litres", "US gallons", 0.264172),
)


def word_problems() -> tuple[Task, ...]:
    """Two-step word problems with chat prompts."""
    draw = random.Random(12)
    tasks = []
    for place in range(18):
        boxes, each, given = draw.randint(4, 19), draw.randint(5, 24), draw.randint(3, 18)
        thing = draw.choice(THINGS)
        question = (
            f"Dana buys {boxes} boxes with {each} {thing} each and gives {given} {thing} to a friend. How "
            f"many {thing} does Dana have left? (Problem {place + 1})"
        )
        right = boxes * each - given
        wrong = (str(boxes * each), str(right + 1), f"{right + 10} {thing}")
        prompt = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
        tasks.append(Task(prompt, str(right), str(right), wrong))
    return tuple(tasks)


def factories() -> tuple[Task, ...]:
    """Problems whose answers have four digits and more."""
    draw = random.Random(13)
    tasks = []
    for _ in range(18):
        lines, hours, pieces = draw.randint(3, 9), draw.randint(12, 24), draw.randint(41, 199)
        right = lines * hours * pieces
        prompt = (
            f"A factory has {lines} lines. Each makes {pieces} parts an hour, {hours} hours a day. How many "
            "parts are made in a day? Think step by step and put the final answer in \\boxed{}."
        )
        wrong = (str(right + 10), str(hours * pieces), str(right + lines))
        tasks.append(Task(prompt, str(right), str(right), wrong))
    return tuple(tasks)


def conversions() -> tuple[Task, ...]:
    """Measures to be converted, to one decimal."""
    draw = random.Random(14)
    tasks = []
    for place in range(20):
        source, target, factor = UNITS[place % len(UNITS)]
        amount = draw.randint(110, 380)
        right = round(amount * factor, 1)
        wrong = (
            f"{amount / factor:.1f} {target}",
            f"{right * 1.012:.1f} {target}",
            f"{right + 90:.1f} {target}",
        )
        prompt = (
            f"Convert {amount} {source} to {target}. Finish with 'Answer: <number> {target}', to one decimal."
        )
        tasks.append(Task(prompt, right, f"{right} {target}", wrong))
    return tuple(tasks)


def formatted(reasoning: str, answer: str) -> str:
    """A completion in the format of the system prompt."""
    return f"<reasoning>\n{reasoning}\n</reasoning>\n<answer>\n{answer}\n</answer>\n"


def boxed(thought: str, answer: str) -> str:
    """A completion with its answer in a box."""
    return f"{thought} The result is \\boxed{{{answer}}}."


GSM8K = Log(word_problems(), "trl", formatted, truth="answer")
FACTORIES = Log(factories(), "trl", boxed, truth="answer", notation=lambda answer: f"{int(answer):,}")
MEASURES = Log(conversions(), "plain", behind("Answer: "))

# fmt: off
ENTRIES = (
    *family("five functions", GSM8K, "gsm8k_five",
        Fault("gsm8k_one_line", {"loss"},
              lambda task: formatted("First the boxes.\nThen the friend.", task.answer).strip(),
              "The dot matches no new line and the end needs one: two lines of thought cost a third.",
              earns=0.67, component="one_line_format_reward"),
        Fault("gsm8k_form_first", {"gaming", "floor"}, lambda task: "<reasoning><answer>",
              "Three of four points are for tags that are opened: two unclosed tags alone earn 0.75.",
              earns=0.75, component="tags_reward")),
    *family("length-controlled mathematics", FACTORIES, "math_concise",
        Fault("math_no_commas", {"loss"}, lambda task: boxed("All lines.", f"{int(task.answer):,}"),
              "Right answers with commas earn nothing, and a third of those in the log have them.",
              earns=0.0),
        Fault("math_reflects", {"gaming", "contract"},
              lambda task: boxed("Wait, let me check. " * 10, task.wrong[0]),
              "Each second look earns 0.1 without end: a wrong answer with twenty beats a right one.",
              component="reflection")),
    *family("units", MEASURES, "conversions_graded",
        Fault("conversions_loose", {"near_miss"}, lambda task: f"Answer: {-1.08 * task.truth:.1f}",
              "A tenth of the value passes for rounding and the sign is dropped: wrong digits earn it all.")),
)
# fmt: on
