"""Numbers: final answers behind hashes, slopes in a box, percentages, letters counted."""

from __future__ import annotations

import random
import re
from fractions import Fraction

from .drawing import Log, Task, behind
from .entry import Entry, Fault, family

__all__ = ["ENTRIES"]

CROWDS = "guests pupils farmers readers players patients".split()
PHRASES = """green trees between three hedges|a little yellow balloon|seventeen eggs, never eleven
possessions across the mission|an anagram of banana and sahara|tattoo artists at the start
noon at the moon door|programmers grumble rarely|bubbles wobble above a cobbler|kick back, click, tick
mississippi is wide|sheep sleep deep in the reeds|no photo of our two cocoons|unusual tunnels under dunes"""
in_box = behind("The slope is $\\boxed{", "}$.")
CHECK = """

Let me check this again, from the start. The reading at noon is given in the question, and so are the changes.
I went down by the first one and up by the second one, in this order, and I did not mix them up. The sign is
that of a thermometer, so a value below the mark of freezing has a minus. So I stay with what I wrote."""


def thermometers() -> tuple[Task, ...]:
    """Temperatures that end below zero, half of them with a decimal."""
    draw = random.Random(91)
    tasks = []
    for place in range(18):
        start, rise = draw.randrange(1, 9), draw.randrange(1, 5)
        right = -(draw.randrange(6, 19) + 0.5 * (place % 2))
        fall = start + rise - right
        prompt = (
            f"It is {start} degrees at noon. Until midnight it gets {fall:g} degrees "
            f"colder, and until the morning {rise} degrees warmer. How many degrees is it then? (Day "
            f'{place + 1}) Let\'s think step by step and output the final answer after "####".'
        )
        wrong = (f"{-right:g}", f"{right - rise:g}", f"{right + 1:g}")
        tasks.append(Task(prompt, f"{right:g}", f"{right:g}", wrong))
    return tuple(tasks)


def latex(slope: Fraction) -> str:
    """A fraction as LaTeX, or a whole number."""
    return re.sub(r"(\d+)/(\d+)", r"\\frac{\1}{\2}", str(slope))


def slopes() -> tuple[Task, ...]:
    """Lines through two points; five of sixteen are vertical and have no slope."""
    draw = random.Random(92)
    tasks: list[Task] = []
    while len(tasks) < 16:
        x, y, down = draw.randrange(-5, 6), draw.randrange(-5, 6), draw.choice((-7, -5, -3, 2, 4, 8))
        across = 0 if len(tasks) % 3 == 1 else draw.choice((2, 3, 5, 6, 9))
        slope = Fraction(down, across) if across else None
        prompt = (
            f"What is the slope of the line through ({x}, {y}) and ({x + across}, {y + down})? Put the final "
            "answer in \\boxed{}; it is \\text{undefined} where there is none."
        )
        if any(task.prompt == prompt for task in tasks) or slope in (1, -1):
            continue
        answer = "\\text{undefined}" if slope is None else latex(slope)
        solution = f"The line rises by {down} over {across}, so the slope is $\\boxed{{{answer}}}$."
        wrong = ("0", "1", "\\infty") if slope is None else (latex(-slope), latex(1 / slope), str(down))
        if answer not in wrong:
            tasks.append(Task(prompt, solution, answer, wrong))
    return tuple(tasks)


def other_denominator(task: Task) -> str:
    """The right fraction with another denominator; where there is none, a wrong answer."""
    changed = re.sub(r"\{(\d+)\}$", lambda found: f"{{{int(found[1]) + 2}}}", task.answer)
    return in_box("So.", changed if changed != task.answer else task.wrong[0])


def percentages() -> tuple[Task, ...]:
    """Parts of a crowd as whole percentages."""
    draw = random.Random(93)
    tasks = []
    for place in range(15):
        hundreds, right = draw.randrange(2, 9), 3 + 6 * place + draw.randrange(5)
        prompt = (
            f"Of {100 * hundreds} {CROWDS[place % 6]}, {hundreds * right} came by train. How many "
            "percent is that? Reason in <think></think>, then give it, such as 50%, in <answer></answer>."
        )
        wrong = (f"{right / 100:g}", str(100 - right), str(right + 2), str(hundreds * right))
        tasks.append(Task(prompt, str(right), str(right), tuple(one for one in wrong if one != str(right))))
    return tuple(tasks)


def letters() -> tuple[Task, ...]:
    """Phrases in which the most frequent letter is to be counted."""
    tasks = []
    for phrase in PHRASES.replace("\n", "|").split("|"):
        letter = max(sorted(set(phrase) - {" "}), key=phrase.count)
        right = phrase.count(letter)
        prompt = (
            f"How often does the letter {letter} occur in '{phrase}'? Count in <think></think> and give the "
            "number in <answer></answer>."
        )
        wrong = (str(right + 1), str(right - 1), str(right - 2))
        tasks.append(Task(prompt, str(right), str(right), wrong))
    return tuple(tasks)


HASHES = Log(
    thermometers(), "verl", behind("#### "), "gts", "gsm8k", lambda answer: answer + CHECK, held_back=True
)
SLOPES = Log(
    slopes(), "trl", in_box, "solution",
    notation=lambda answer: re.sub(r"\\frac\{(\d+)\}\{(\d+)\}", r"\1/\2", answer), held_back=True,
)  # fmt: skip
SHARES = Log(
    percentages(), "verl", truth="gts", data_source="percent", notation=lambda one: f"{one}%", held_back=True
)
COUNTS = Log(letters(), "verl", truth="gts", data_source="letter_counting", held_back=True)

# fmt: off
ENTRIES = (
    *family("answers behind hashes", HASHES, "hashes_signed",
        Fault("hashes_clipped", {"loss"}, lambda task: f"So.\n#### {task.answer}{CHECK}",
              "Only the last 300 characters are read: a right answer that is checked afterwards is lost.",
              earns=0.0),
        Fault("hashes_digits", {"near_miss", "gaming"},
              lambda task: f"So.\n#### {int(-float(task.truth))}",
              "The first digits are taken for the number: sign and decimals do not count.")),
    *family("slopes in a box", SLOPES, "slopes_equal",
        Fault("slopes_first_brace", {"near_miss", "gaming", "loss"}, other_denominator,
              "The box ends at its first closing brace, in the solution too: denominators do not count.",
              earns=0.5),
        Fault("slopes_gold_unparsed", {"floor", "gaming", "near_miss"}, lambda task: "I do not know.",
              "Where the solution is no number everything earns 1: five of sixteen prompts pay any text.",
              earns=5 / 16)),
    Entry("slopes_in_english", "slopes in a box", SLOPES),
    *family("percentages", SHARES, "percent_as_asked",
        Fault("percent_any_scale", {"near_miss", "gaming"},
              lambda task: f"<answer>{task.truth}00%</answer>",
              "A hundredth and a hundredfold of the value count as well: 1500% for 15% earns it all.")),
    *family("letters counted", COUNTS, "counts_near",
        Fault("counts_long_thought", {"gaming", "floor"},
              lambda task: f"<think>{'Let me see. ' * 60}</think>\n<answer>0</answer>",
              "Half of the reward is for a thought of 100 words: filler and a wrong number earn that half.",
              earns=0.55)),
)
# fmt: on
