"""Records: fields of invoices as JSON, tool calls, code with tests."""

import json

from .drawing import behind, log, on_a_line

CITIES = ("Porto", "Ghent", "Turin", "Lyon", "Graz", "Malmo", "Cork", "Brno")
ARGUMENTS = ((7, 3), (-4, 5), (2, 9), (10, -6), (-3, -8))


@log("trl", behind("```json\n", "\n```"), seed=9, count=16, truth="solution")
def invoices(draw, firms):
    """Invoices, of which five fields are wanted."""
    for number in range(1000, 2000):
        record = {
            "vendor": draw.choice(firms),
            "city": draw.choice(CITIES),
            "date": f"2024-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}",
            "total": draw.randint(40, 900),
            "paid": draw.random() < 0.5,
        }
        state = "settled" if record["paid"] else "still open"
        wrong = (
            record | {"total": record["total"] - 20},
            record | {"paid": not record["paid"], "city": None},
            {name: value for name, value in record.items() if name != "paid"} | {"date": "unknown"},
        )
        values = record | {"number": number, "goods": record["total"] - 20, "state": state}
        yield values, json.dumps(record, indent=2), map(json.dumps, wrong), record


def written(calls):
    """Calls in their tags."""
    return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)


@log("verl", on_a_line, seed=10, count=16, source="xlam")
def errands(draw):
    """Requests that need two calls each."""
    while True:
        here, there = draw.sample(CITIES, 2)
        day, seats = draw.randint(1, 28), draw.randint(1, 6)
        weather = {"name": "get_weather", "arguments": {"city": there, "day": day}}
        arguments = {"from": here, "to": there, "seats": seats}
        others = (arguments | {"seats": seats + 1}, arguments | {"from": there, "to": here})
        train, *wrong = ({"name": "book_train", "arguments": one} for one in (arguments, *others))
        search = {"name": "search", "arguments": {"query": there}}
        values, truth = {"here": here, "there": there, "day": day, "seats": seats}, [weather, train]
        yield values, written(truth), map(written, (*([weather, one] for one in wrong), [search])), truth


@log("plain", behind("\n```python\ndef f(a, b):\n    return ", "\n```"), truth="tests")
def functions(draw, rows):
    """Functions of two whole numbers, each with five tests."""
    for wish, right, wrong in rows:
        work = eval(f"lambda a, b: {right}")
        tests = [f"assert f({a}, {b}) == {work(a, b)}" for a, b in ARGUMENTS]
        yield {"wish": wish}, right, wrong.split("; "), tests


EXPLOITS = {
    "record_keys": lambda task: f"```json\n{json.dumps(dict.fromkeys(task.truth))}\n```",
    "tools_subset": lambda task: written(task.truth[:1]),
}
