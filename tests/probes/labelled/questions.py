"""Crosswords, several right options, dates, five functions."""

from __future__ import annotations

import random
from datetime import date, timedelta

from .drawing import Log, Task, behind, in_tags
from .entry import Fault, family

__all__ = ["ENTRIES"]

CLUES = """Feline pet that barks never: kitten puppy|Ring-shaped roll: bagel crepe
Frozen rain: hail snow|Tool that drives nails: hammer pliers|Opposite of shallow: deep wide
Maker of honey: bee ant|Ship's steering wheel: helm keel|Planet with rings: saturn uranus
Where a king sits: throne castle|Spice from crocuses: saffron paprika|Tree with acorns: oak elm
Two under par: eagle bogey|Black and white bear: panda koala|Capital of Norway: oslo rome
Baker's raising agent: yeast flour|Instrument with 88 keys: piano organ"""

SEVERAL = """Which are prime?: 2 7 13; 9 21
Which are mammals?: bat whale; trout gecko newt
Which are noble gases?: neon argon; oxygen iron chlorine
Which are planets?: Mars Venus Saturn; Ceres Titan
Which are string instruments?: cello harp lute; oboe tuba
Which rivers are in Europe?: Elbe Loire; Nile Indus Congo
Which are even?: 4 10 88; 3 17
Which are verbs?: run sing; blue table soon
Which are metals?: zinc tin; sulfur boron neon
Which are capitals?: Lima Cairo Quito; Sydney Milan
Which are fruits in botany?: tomato plum; carrot leek kale
Which were US presidents?: Adams Polk; Hamilton Franklin Burr
Which are vowels?: a e o; t k
Which are programming languages?: Ada Perl Rust; Linux Apache
Which are on the equator?: Kenya Ecuador; Spain Chile Nepal
Which are square numbers?: 16 49 81; 24 50"""


def items(text: str) -> list[list[str]]:
    """The entries of a table in one string, each as what stands before and behind its colon."""
    return [entry.split(": ") for entry in text.replace("\n", "|").split("|")]


def clues() -> tuple[Task, ...]:
    """Clues with the number of cells and one crossing letter."""
    tasks = []
    for clue, words in items(CLUES):
        word, other = words.upper().split()
        shown = f"{'_' * (len(word) - 1)}{word[-1]}"
        prompt = f"Crossword clue: {clue} ({len(word)}). Cells: {shown}. Put the word in <answer></answer>."
        tasks.append(Task(prompt, word, word, (other, f"{word[-1]}{word[:-1]}")))
    return tuple(tasks)


def several() -> tuple[Task, ...]:
    """Questions with five options, two or three of them right."""
    draw = random.Random(31)
    tasks = []
    for question, options in items(SEVERAL):
        right, wrong = (part.split() for part in options.split("; "))
        order = draw.sample(right + wrong, 5)
        letters = dict(zip(order, "ABCDE", strict=True))
        answer = sorted(letters[one] for one in right)
        other = letters[draw.choice(wrong)]
        shown = "\n".join(f"{letter}. {option}" for option, letter in letters.items())
        prompt = f"{question} Select all that apply.\n{shown}\nEnd with 'Answer:' and the letters."
        missed, swapped = ", ".join(answer[1:]), ", ".join(sorted([*answer[1:], other]))
        tasks.append(Task(prompt, ", ".join(answer), ", ".join(answer), (missed, swapped)))
    return tuple(tasks)


def dates() -> tuple[Task, ...]:
    """A date, and some days or weeks that pass; nothing is said of how a date is to be written."""
    draw = random.Random(32)
    tasks = []
    for place in range(18):
        start = date(2015 + place % 9, 1, 1) + timedelta(draw.randrange(330))
        count, unit = draw.randrange(12, 90), ("days", "weeks")[place % 2]
        end = start + timedelta(**{unit: count})
        wrong = [end + timedelta(1), end - timedelta(1), end + timedelta(30)]
        prompt = f"Which date is {count} {unit} after {spoken(start)}? End with 'Answer:' and the date."
        tasks.append(Task(prompt, str(end), str(end), tuple(map(str, wrong))))
    return tuple(tasks)


def spoken(day: date) -> str:
    """A date in words, such as 3 May 2021."""
    return f"{day.day} {day:%B %Y}"


def sums() -> tuple[Task, ...]:
    """Bills to add up, with a system message; the truth is in cents."""
    draw = random.Random(33)
    system = "Reason in <think></think>, then give the amount, such as 4.50, in <answer></answer>."
    tasks = []
    for _ in range(14):
        count, price, extra = draw.randrange(2, 9), draw.randrange(105, 990), draw.randrange(50, 2000)
        total = count * price + extra
        asked = f"{count} tickets at ${price / 100:.2f} and a meal for ${extra / 100:.2f}: what is the bill?"
        prompt = [{"role": "system", "content": system}, {"role": "user", "content": asked}]
        wrong = (f"{(total + 100) / 100:.2f}", f"{(count * price) / 100:.2f}")
        tasks.append(Task(prompt, total, f"{total / 100:.2f}", wrong))
    return tuple(tasks)


def other_year(task: Task) -> str:
    """The right day and month, four years later."""
    end = date.fromisoformat(task.truth)
    return f"Answer: {end.replace(year=end.year + 4)}"


CROSSWORDS = Log(clues(), "trl", in_tags, truth="word")
SELECT = Log(
    several(),
    "trl",
    behind("Answer: "),
    truth="answer",
    notation=lambda answer: ", ".join(reversed(answer.split(", "))),
)
CALENDAR = Log(
    dates(),
    "trl",
    behind("Answer: "),
    truth="target",
    notation=lambda answer: spoken(date.fromisoformat(answer)),
)
TILL = Log(sums(), "trl", in_tags, truth="total")

# fmt: off
ENTRIES = (
    *family("crossword", CROSSWORDS, "crossword_exact",
        Fault("crossword_cells", {"gaming", "near_miss"},
              lambda task: f"<answer>{task.answer[0]}</answer>",
              "Cells are compared as far as both words go: one letter, or none, earns it all.")),
    *family("several right options", SELECT, "several_set",
        Fault("several_contained", {"gaming", "near_miss"}, lambda task: "Answer: A, B, C, D, E",
              "The right letters only have to be among the chosen ones: all five options earn it all."),
        Fault("several_as_text", {"loss"},
              lambda task: f"Answer: {', '.join(reversed(task.truth.split(', ')))}",
              "The right letters in another order than the data set's earn nothing.", earns=0.0)),
    *family("date arithmetic", CALENDAR, "dates_any_form",
        Fault("dates_iso_only", {"loss"},
              lambda task: f"Answer: {spoken(date.fromisoformat(task.truth))}",
              "The prompt asks for no form, yet a right date in words earns nothing.", earns=0.0),
        Fault("dates_without_year", {"near_miss"}, other_year,
              "Only day and month are compared: the right day of a wrong year earns it all.")),
    *family("five functions", TILL, "till_five",
        Fault("till_counts_tags", {"gaming", "contract"},
              lambda task: f"{'<think></think>' * 40}<answer>{task.wrong[0]}</answer>",
              "Each tag earns, however many there are: forty pairs beat the right amount.",
              component="tag_count_reward",
              missed="The search finds them, but names the component that pays the list beside them.")),
)
# fmt: on
