"""Measures: times of the clock, probabilities, boxes in a picture."""

from __future__ import annotations

import random
from fractions import Fraction

from .drawing import Log, Task
from .entry import Entry, Fault, family

__all__ = ["ENTRIES"]

STATIONS = "Ghent Lyon Turin Graz Brno Porto Malmo Cork".split()
OBJECTS = "a cup|a dog|a lamp|a plant|a clock|a shoe|a bowl|a book".split("|")
WIDTH, HEIGHT = 1280, 960


def day_time(minutes: int) -> str:
    """A time in 24 hours, such as 01:05."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def half_day_time(time: str) -> str:
    """A time with am or pm, such as 1:05 am."""
    hour, minute = map(int, time.split(":"))
    return f"{(hour - 1) % 12 + 1}:{minute:02d} {'am' if hour < 12 else 'pm'}"


def arrivals() -> tuple[Task, ...]:
    """Trains that leave in the evening and arrive at night or in the morning."""
    draw = random.Random(61)
    tasks = []
    for place in range(14):
        start, hours, rest = draw.randrange(1020, 1420), draw.randrange(3, 12), draw.randrange(5, 59)
        right = start + 60 * hours + rest
        prompt = (
            f"Train {410 + place} leaves {draw.choice(STATIONS)} at {half_day_time(day_time(start))} and "
            f"takes {hours} hours and {rest} minutes. At what time of day does it arrive? Give it, such as "
            "14:05 or 2:05 pm, in <answer></answer>."
        )
        wrong = tuple(day_time(right + error) for error in (60, -60, 100))
        tasks.append(Task(prompt, day_time(right), day_time(right), wrong))
    return tuple(tasks)


def urns() -> tuple[Task, ...]:
    """Chances of two red balls from an urn."""
    draw = random.Random(62)
    tasks: list[Task] = []
    while len(tasks) < 18:
        red, blue = draw.randrange(4, 12), draw.randrange(3, 9)
        total = red + blue
        right = Fraction(red * (red - 1), total * (total - 1))
        asked = (
            f"An urn holds {red} red and {blue} blue balls. Two are drawn, and neither is put back. How "
            "likely is it that both are red? Give a fraction or three decimals, and end with: The final "
            "answer is 1/3. I hope it is correct."
        )
        prompt = [{"role": "user", "content": asked}]
        wrong = (str(Fraction(red, total) ** 2), str(Fraction(red, total)), f"{float(1 - right):.3f}")
        if right not in (Fraction(1, 2), Fraction(1, 3)) and all(task.prompt != prompt for task in tasks):
            tasks.append(Task(prompt, str(right), str(right), wrong))
    return tuple(tasks)


def minerva(thought: str, answer: str) -> str:
    """A completion that ends as Minerva's examples do."""
    return f"{thought}\nFinal Answer: The final answer is {answer}. I hope it is correct."


def pictures() -> tuple[Task, ...]:
    """Pictures in words with three things, of which one is to be boxed."""
    draw = random.Random(63)
    tasks = []
    for _ in range(16):
        boxes = []
        for left in (0, 420, 840):
            x, y = left + draw.randrange(10, 120), draw.randrange(10, 500)
            boxes.append([x, y, x + draw.randrange(120, 300), y + draw.randrange(120, 400)])
        things = draw.sample(OBJECTS, 3)
        seen = "; ".join(
            f"{thing}, {x2 - x} wide and {y2 - y} high, whose upper left corner is at ({x}, {y})"
            for thing, (x, y, x2, y2) in zip(things, boxes, strict=True)
        )
        asked, *others = draw.sample(range(3), 3)
        x, y, x2, y2 = boxes[asked]
        prompt = (
            f"A picture of {WIDTH} x {HEIGHT} pixels shows {seen}. Box {things[asked]}: give corners as "
            "<answer>[x1, y1, x2, y2]</answer>."
        )
        wrong = (str(boxes[others[0]]), str(boxes[others[1]]), str([x, y, x2 - x, y2 - y]), str([x, y]))
        tasks.append(Task(prompt, boxes[asked], str(boxes[asked]), wrong))
    return tuple(tasks)


def diagonal(task: Task) -> str:
    """A dot to the lower right of the box, most of its width and all of its height away."""
    x, y, x2, y2 = task.truth
    x, y = x2 + (x2 - x) * 3 // 4, y2 + (y2 - y)
    return f"<answer>[{x}, {y}, {x + 1}, {y + 1}]</answer>"


def half_a_day_later(task: Task) -> str:
    """The right minute of the wrong half of the day."""
    hour, minute = task.truth.split(":")
    return f"<answer>{(int(hour) + 12) % 24:02d}:{minute}</answer>"


CLOCK = Log(arrivals(), "trl", truth="arrival", notation=half_day_time)
CHANCES = Log(
    urns(),
    "trl",
    minerva,
    truth="answer",
    notation=lambda answer: f"{float(Fraction(answer)):.3f}",
)
BOXES = Log(
    pictures(),
    "verl",
    truth="gts",
    data_source="grounding",
    notation=lambda box: box.replace(" ", ""),
)

# fmt: off
ENTRIES = (
    *family("clock times", CLOCK, "clock_any_form",
        Fault("clock_half_day", {"near_miss"}, half_a_day_later,
              "Hours count modulo twelve: the right time in the wrong half of the day earns it all.")),
    Entry("clock_with_closeness", "clock times", CLOCK),
    *family("probabilities", CHANCES, "chances_equal",
        Fault("chances_as_text", {"loss"}, lambda task: minerva("So.", f"{float(Fraction(task.truth)):.3f}"),
              "The prompt allows three decimals, yet only the fraction of the data set earns anything.",
              earns=0.0),
        Fault("chances_tolerant", {"near_miss", "gaming"},
              lambda task: minerva("So.", f"{float(Fraction(task.truth)) - 0.07:.3f}"),
              "A tolerance of 0.1 is wide for numbers between 0 and 1: 0.07 too little earns it all.")),
    Entry("chances_with_bonuses", "probabilities", CHANCES),
    *family("boxes in pictures", BOXES, "boxes_iou",
        Fault("boxes_unclamped", {"gaming", "contract"}, diagonal,
              "Two negative overlaps multiply to a positive one: a dot far off the box beats the box.",
              missed="Boxes are tried far away, where the areas no longer fit; these are near.")),
)
# fmt: on
