"""Records: fields of invoices as JSON, tool calls, code with tests."""

from __future__ import annotations

import json
import random
from typing import Any

from .drawing import Log, Task, behind
from .entry import Fault, family

__all__ = ["ENTRIES"]

FIRMS = ("Alder & Sons", "Birch Ltd", "Cedar GmbH", "Dogwood Inc", "Elm Works", "Fir Studio", "Gorse Foods")
CITIES = ("Porto", "Ghent", "Turin", "Lyon", "Graz", "Malmo", "Cork", "Brno")

FUNCTIONS = (  # what f is to do; the right expression; wrong ones
    ("the double of a, plus b", "2 * a + b", "2 * (a + b)|a * a + b"),
    ("the larger of a and b, minus 1", "max(a, b) - 1", "min(a, b) - 1|max(a, b)"),
    ("the distance between a and b", "abs(a - b)", "a - b|abs(a) - abs(b)"),
    ("a modulo 3, plus b", "a % 3 + b", "a // 3 + b|a % 3"),
    ("1 where a is even, else b", "1 if a % 2 == 0 else b", "b if a % 2 == 0 else 1|1 if a % 2 == 1 else b"),
    ("a squared minus b squared", "a * a - b * b", "(a - b) * (a - b)|a * 2 - b * 2"),
    ("a where a is above b, else 0", "a if a > b else 0", "b if a > b else 0|a if a < b else 0"),
    ("half of the sum of a and b, rounded down", "(a + b) // 2", "a + b // 2|(a - b) // 2"),
    ("the negative of a times b", "-a * b", "a * b|-a - b"),
    ("a limited to the range from 0 to b", "max(0, min(a, b))", "min(0, max(a, b))|min(a, b)"),
    ("three times b, less a", "3 * b - a", "3 * (b - a)|3 * a - b"),
    ("the sum of a, b and their product", "a + b + a * b", "a + b * a|a * b"),
)
ARGUMENTS = ((7, 3), (-4, 5), (2, 9), (10, -6), (-3, -8))


def invoices() -> tuple[Task, ...]:
    """Invoices, of which five fields are wanted."""
    draw = random.Random(9)
    tasks = []
    for place in range(16):
        record: dict[str, Any] = {
            "vendor": draw.choice(FIRMS),
            "city": draw.choice(CITIES),
            "date": f"2024-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}",
            "total": draw.randint(40, 900),
            "paid": draw.random() < 0.5,
        }
        prompt = (
            f"Invoice no. {1000 + place} of {record['vendor']}, {record['city']}, issued on "
            f"{record['date']}: {record['total'] - 20} for goods and 20 for delivery, "
            f"{'settled' if record['paid'] else 'still open'}. Give vendor, city, date, total (a whole "
            "number) and paid (true or false) as a JSON object in a ```json block."
        )
        wrong = (
            record | {"total": record["total"] - 20},
            record | {"paid": not record["paid"], "city": None},
            {name: value for name, value in record.items() if name != "paid"} | {"date": "unknown"},
        )
        tasks.append(Task(prompt, record, json.dumps(record, indent=2), tuple(map(json.dumps, wrong))))
    return tuple(tasks)


def written(calls: list[dict[str, Any]]) -> str:
    """Calls in their tags."""
    return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)


def errands() -> tuple[Task, ...]:
    """Requests that need two calls each."""
    draw = random.Random(10)
    tasks = []
    for _ in range(16):
        here, there = draw.sample(CITIES, 2)
        day, seats = draw.randint(1, 28), draw.randint(1, 6)
        truth = [
            {"name": "get_weather", "arguments": {"city": there, "day": day}},
            {"name": "book_train", "arguments": {"from": here, "to": there, "seats": seats}},
        ]
        weather, train = truth
        other = {**train, "arguments": train["arguments"] | {"seats": seats + 1}}
        turned = {**train, "arguments": train["arguments"] | {"from": there, "to": here}}
        wrong = ([weather, other], [weather, turned], [{"name": "search", "arguments": {"query": there}}])
        prompt = (
            f"On day {day} I travel from {here} to {there}: how will the weather be there? And book {seats} "
            "seats. Tools: get_weather(city, day), book_train(from, to, seats). Write each call as a JSON "
            "object with name and arguments in <tool_call> </tool_call>."
        )
        tasks.append(Task(prompt, truth, written(truth), tuple(map(written, wrong))))
    return tuple(tasks)


def functions() -> tuple[Task, ...]:
    """Functions of two whole numbers, each with five tests."""
    tasks = []
    for wish, right, wrong in FUNCTIONS:
        work = eval(f"lambda a, b: {right}")
        tests = [f"assert f({a}, {b}) == {work(a, b)}" for a, b in ARGUMENTS]
        prompt = f"Write a function f(a, b) that returns {wish}: one return statement, in a ```python block."
        tasks.append(Task(prompt, tests, right, tuple(wrong.split("|"))))
    return tuple(tasks)


INVOICES = Log(invoices(), "trl", behind("```json\n", "\n```"), truth="solution")
ERRANDS = Log(errands(), "verl", behind(""), truth="gts", data_source="xlam", mark=False)
CODE = Log(functions(), "plain", behind("\n```python\ndef f(a, b):\n    return ", "\n```"), truth="tests")

# fmt: off
ENTRIES = (
    *family("structured extraction", INVOICES, "record_fields",
        Fault("record_keys", {"gaming", "near_miss"},
              lambda task: f"```json\n{json.dumps(dict.fromkeys(task.truth))}\n```",
              "Only the keys are looked at: an object with every key and no value earns it all.")),
    *family("tool calls", ERRANDS, "tools_sound",
        Fault("tools_subset", {"gaming", "near_miss"}, lambda task: written(task.truth[:1]),
              "Each call only has to be a wanted one: one of two calls earns it all, and so does no call.")),
    *family("code with tests", CODE, "code_tests",
        Fault("code_flat", {"floor", "gaming"}, lambda task: "Sorry, no.",
              "Any text earns 0.4 of 1, code or none.", earns=0.4)),
)
# fmt: on
