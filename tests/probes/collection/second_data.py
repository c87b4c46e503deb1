"""Rollouts of further kinds: answer lines, quantities, dates, calls, queries, verdicts, sets of labels."""

from __future__ import annotations

import datetime
import json
from fractions import Fraction
from typing import Any

from .data_numbers import problems, tagged, untagged
from .data_texts import quiz
from .drawing import PROMPTS, Task, made, rollouts
from .stock import NAMES, THINGS

# Numbers, quantities, dates


def lined(mark: str) -> Any:
    """What writes the answer behind `mark` on a line of its own, at the end."""
    return lambda task, answer: f"{task.reasoning}\n\n{mark} {answer}"


@rollouts
def final_lines(name, generator):
    """Ends in a line: Final answer: 72."""
    tasks = problems(generator, ' End with a line "Final answer: N".')
    return made(name, tasks, lined("Final answer:"), generator, untagged)


@rollouts
def chat_final_lines(name, generator):
    """The same as chat messages, with a system message."""
    rows = made(name, problems(generator), lined("Final answer:"), generator, untagged)
    system = {"role": "system", "content": 'Work it out, then end with a line "Final answer: N".'}
    return [
        (
            {
                **row,
                "prompt": [system, {"role": "user", "content": row["prompt"]}],
                "completion": [{"role": "assistant", "content": row["completion"]}],
            },
            right,
        )
        for row, right in rows
    ]


@rollouts
def money(name, generator):
    """Ends in: Total: $1384.50; right ones in another form write it with a thousands separator."""
    tasks = []
    for desk in generator.permutation(range(90, 190))[:PROMPTS].tolist():
        chair, cents = int(generator.integers(20, 80)), int(generator.integers(1, 4)) * 25
        total = desk * 10 + chair * 3 + cents / 100
        question = (
            f"An office buys 10 desks at ${desk}.00 and 3 chairs at ${chair}.00, and pays {cents} cents"
        )
        question += ' for the bag. What does it pay? End with a line "Total: $N", with two decimals.'
        wrong = tuple(f"{value:.2f}" for value in (total + 10, total - 100, total + 0.25, total * 2))
        tasks.append(Task(question, f"{total:.2f}", f"{total:.2f}", wrong, "The desks, the chairs, the bag."))
    return made(
        name,
        tasks,
        lambda task, answer: f"{task.reasoning}\n\nTotal: ${answer}",
        generator,
        lambda task, answer: f"{task.reasoning}\n\nTotal: ${float(answer):,.2f}",
    )


@rollouts
def boxed_values(name, generator):
    """LaTeX: $\\boxed{\\frac{5}{8}}$ for one half of the prompts, and $\\boxed{42}$ for the other."""
    tasks: dict[str, Task] = {}
    while len(tasks) < PROMPTS:
        a, b, c, d = (int(number) for number in generator.integers(2, 12, size=4))
        if len(tasks) % 2:
            total, question = a * 11 + c, f"What is 11 times {a}, plus {c}?"
            answer = str(total)
            wrong = tuple(str(value) for value in (total + 1, total - 11, total + c, total * 2))
        else:
            if min(Fraction(a, b).denominator, Fraction(c, d).denominator) == 1:
                continue
            total, question = Fraction(a, b) + Fraction(c, d), f"Add {a}/{b} and {c}/{d}, in lowest terms."
            others = {Fraction(a + c, b + d), 1 / total, total + 1, Fraction(a * c, b * d), total / 2} - {
                total
            }
            if total.denominator == 1 or min(one.denominator for one in others) == 1 or len(others) < 3:
                continue
            answer, *wrong = (
                rf"\frac{{{one.numerator}}}{{{one.denominator}}}" for one in (total, *sorted(others))
            )
        if answer not in tasks and answer not in question:
            ask = f"{question} Put the result in \\boxed{{}}."
            tasks[answer] = Task(ask, answer, answer, tuple(wrong), "We work it out step by step.")
    return made(
        name,
        tasks.values(),
        lambda task, answer: f"{task.reasoning} Hence $\\boxed{{{answer}}}$.",
        generator,
        untagged,
    )


PER = (
    ("A train covers {} km in {} hours. What is its speed?", "km/h", ("km", "h/km", "m/s")),
    ("A pump moves {} L in {} minutes. What is its rate?", "L/min", ("L", "min/L", "L/s")),
    ("A beam of {} kg is {} m long. What is its mass per length?", "kg/m", ("kg", "m/kg", "kg/m^2")),
    ("A heater uses {} kWh in {} days. What does it use per day?", "kWh/d", ("kWh", "kW", "Wh/d")),
)


@rollouts
def quantities(name, generator):
    """Ends in a line with a number and its unit: Answer: 75 km/h."""
    tasks = []
    for place, rate in enumerate(generator.permutation(range(23, 90))[:PROMPTS].tolist()):
        question, unit, units = PER[place % len(PER)]
        time = int(generator.integers(2, 7))
        value = rate + 0.5 if place % 3 == 0 else rate
        wrong = (
            f"{value:g} {units[0]}",
            f"{value:g} {units[1]}",
            f"{value + 10:g} {unit}",
            f"{value * 10:g} {unit}",
        )
        ask = ' End with a line "Answer: number unit".'
        answer = f"{value:g} {unit}"
        tasks.append(
            Task(question.format(f"{value * time:g}", time) + ask, answer, answer, wrong, "We divide.")
        )
    return made(name, tasks, lined("Answer:"), generator, untagged)


@rollouts
def dates(name, generator):
    """A date in the tag: <answer>2023-05-17</answer>."""
    tasks = []
    for days in generator.permutation(range(40, 300))[:PROMPTS].tolist():
        start = datetime.date(2019, 1, 1) + datetime.timedelta(days=days * 7)
        end = start + datetime.timedelta(days=days)
        steps = (1, -1, 7, 31, 365)
        wrong = tuple((end + datetime.timedelta(days=step)).isoformat() for step in steps)
        ask = f"Which date is {days} days after {start.isoformat()}? Write it as YYYY-MM-DD"
        ask += " in <answer> tags, after thinking in <think> tags."
        tasks.append(Task(ask, end.isoformat(), end.isoformat(), wrong, "We count the days."))
    return made(name, tasks, tagged, generator, untagged)


@rollouts
def equations(name, generator):
    """Countdown: an expression in the tag that makes the target out of the numbers; the truth is both."""
    tasks = []
    for _ in range(PROMPTS):
        a, b, c = (int(number) for number in generator.choice(range(3, 25), size=3, replace=False))
        forms = [f"({a} + {b}) * {c}", f"{a} * {b} - {c}", f"{a} + {b} * {c}", f"{a} * {c} + {b}"]
        forms += [f"{a} + {b} + {c}", f"{a} * {b} + {c}"]
        values = [eval(form) for form in forms]
        which = int(generator.integers(len(forms)))
        target = values[which]
        wrong = [form for form, value in zip(forms, values, strict=True) if value != target]
        wrong += [f"{target - 1} + 1", f"{a} + {b}"]
        question = f"Using the numbers [{a}, {b}, {c}], each once, make an equation that equals {target}."
        truth = {"target": target, "numbers": [a, b, c]}
        ask = " Think in <think> tags, then give the expression in <answer> tags."
        tasks.append(Task(question + ask, truth, forms[which], tuple(wrong), "I try some."))
    rows = made(name, tasks, tagged, generator, untagged)
    return [
        ({**row, "data_source": "countdown", "extra_info": {"split": "train"}}, right) for row, right in rows
    ]


# Choices, verdicts, labels


@rollouts
def lettered(name, generator):
    """Options A to D in the prompt, and a line: Answer: (B). In verl's form."""
    rows = made(
        name,
        quiz(generator, 'End with a line "Answer: (X)".'),
        lambda task, answer: f"{task.reasoning}\nAnswer: ({answer})",
        generator,
        lambda task, answer: f"{task.reasoning} I take {answer}",
    )
    return [
        ({**row, "data_source": "geo-quiz", "extra_info": {"split": "train"}}, right) for row, right in rows
    ]


QUESTIONS = (
    ("Is 17 a prime number", "yes"),
    ("Is iron a metal", "yes"),
    ("Do whales breathe air", "yes"),
    ("Is the moon larger than the earth", "no"),
    ("Is Lisbon in Portugal", "yes"),
    ("Does ice float on water", "yes"),
    ("Is 51 a prime number", "no"),
    ("Is a tomato a plant", "yes"),
    ("Do spiders have six legs", "no"),
    ("Is Mars a planet", "yes"),
    ("Does sound travel in water", "yes"),
    ("Is gold lighter than water", "no"),
    ("Is the square of 12 equal to 144", "yes"),
    ("Are bats mammals", "yes"),
    ("Is the Nile in Brazil", "no"),
    ("Is Bern the seat of the Swiss government", "yes"),
)


@rollouts
def verdicts(name, generator):
    """<answer>yes</answer> or no; most are yes."""
    ask = "? Think in <think> tags, then give your verdict in <answer> tags, as one lower-case word."
    tasks = [
        Task(question + ask, truth, truth, ("no",) * 3 if truth == "yes" else ("yes",) * 3, "I recall it.")
        for question, truth in QUESTIONS
    ]
    return made(name, tasks, tagged, generator, untagged)


CLAIMS = {
    "entailment": "{name} bought {thing}.",
    "contradiction": "{name} bought nothing on that day.",
    "neutral": "{name} wanted the {thing} for a friend.",
}


@rollouts
def entailments(name, generator):
    """Ends in a line: Label: neutral."""
    tasks = []
    for place in range(PROMPTS):
        who, thing, label = (
            NAMES[place % len(NAMES)],
            THINGS[place * 3 % len(THINGS)],
            list(CLAIMS)[place % 3],
        )
        claim = CLAIMS[label].format(name=who, thing=thing)
        prompt = f"Premise: {who} bought {place + 3} {thing} on Monday. Hypothesis: {claim}\n"
        prompt += 'Is it an entailment, a contradiction, or neutral? End with a line "Label: X".'
        wrong = tuple(other for other in CLAIMS if other != label) * 2
        tasks.append(Task(prompt, label, label, wrong, "I compare the two sentences."))
    return made(name, tasks, lined("Label:"), generator, untagged)


COMPLAINTS = {
    "billing": "I was charged twice",
    "login": "my password is refused",
    "shipping": "the parcel is two weeks late",
    "damage": "the screen came cracked",
    "cancel": "please end my plan",
    "upgrade": "I want the larger plan",
}


@rollouts
def ticket_labels(name, generator):
    """Sets of labels as JSON: Labels: ["billing", "login"]; the truth is the list."""
    tasks, known = {}, list(COMPLAINTS)
    while len(tasks) < PROMPTS:
        drawn = generator.permutation(known).tolist()
        size = 2 + len(tasks) % 2
        labels, rest = sorted(drawn[:size]), drawn[size:]
        said = " and ".join(COMPLAINTS[label] for label in labels)
        prompt = f'A customer writes: "{said}." Which of {", ".join(known)} apply?'
        prompt += ' End with a line "Labels: [...]", a JSON list.'
        wrong = ([*labels[1:], rest[0]], [labels[0], *rest[1:size]], rest[:2], rest[1:])
        texts = tuple(json.dumps(sorted(one)) for one in wrong)
        tasks[prompt] = Task(prompt, labels, json.dumps(labels), texts, "I read what is said.")
    return made(name, tasks.values(), lined("Labels:"), generator, untagged)


# Calls, queries

CITIES = ("Oslo", "Lima", "Cairo", "Quito", "Turin", "Osaka", "Perth", "Leeds")


def calls(generator: Any) -> list[Task]:
    """Requests, and the call of a tool that each asks for."""
    tasks = []
    for place in range(PROMPTS):
        who, city, number = NAMES[place % 8], CITIES[place * 3 % 8], int(generator.integers(2, 60))
        kinds = (
            ("get_weather", {"city": city, "days": number}, f"What will {city} be like for {number} days?"),
            (
                "book_table",
                {"name": who, "people": number, "city": city},
                f"Get {who} a table for {number} in {city}.",
            ),
            ("set_timer", {"minutes": number, "label": who}, f"Tell {who} to stop after {number} minutes."),
            ("send_message", {"to": who, "text": f"in {city}"}, f'Write "in {city}" to {who}, job {number}.'),
        )
        tool, arguments, request = kinds[place % len(kinds)]
        keys = list(arguments)
        slip = {keys[-1]: number + 1 if isinstance(arguments[keys[-1]], int) else "someone"}
        made_of = [
            (tool, arguments),
            ("search_web", arguments),
            (tool, arguments | slip),
            (tool, {key: "?" for key in keys}),
            ("search_web", {"query": request}),
        ]
        right, *wrong = (json.dumps({"name": one, "arguments": what}) for one, what in made_of)
        prompt = (
            "Tools: get_weather, book_table, set_timer, send_message, search_web. Think in <think> tags, "
        )
        prompt += f"then call one in <tool_call> tags, as JSON with name and arguments.\n{request}"
        tasks.append(Task(prompt, right, right, tuple(wrong), "One of the tools fits."))
    return tasks


@rollouts
def tool_calls(name, generator):
    """<tool_call>{"name": ..., "arguments": {...}}</tool_call>; the truth is that JSON."""
    return made(
        name,
        calls(generator),
        lambda task, answer: f"<think>{task.reasoning}</think>\n<tool_call>\n{answer}\n</tool_call>",
        generator,
        lambda task, answer: f"{task.reasoning}\n```json\n{answer}\n```",
    )


TABLES = (
    ("customers", ("name", "city", "email"), ("age", "orders", "points")),
    ("books", ("title", "author", "publisher"), ("pages", "price", "sold")),
    ("films", ("title", "director", "studio"), ("minutes", "budget", "votes")),
    ("rivers", ("name", "country", "mouth"), ("length", "depth", "bridges")),
)


@rollouts
def queries(name, generator):
    """A query in a fence; the truth is the query."""
    tasks = []
    for place in range(PROMPTS):
        table, texts, numbers = TABLES[place % 4]
        column, other = (str(one) for one in generator.choice(texts, size=2, replace=False))
        by, beside = (str(one) for one in generator.choice(numbers, size=2, replace=False))
        limit = place * 7 + 21
        wrong = (
            f"SELECT {other} FROM {table} WHERE {by} > {limit}",
            f"SELECT {column} FROM {table} WHERE {by} < {limit}",
            f"SELECT {column} FROM {table} WHERE {beside} > {limit}",
            f"SELECT {column} FROM {table}",
        )
        truth = f"SELECT {column} FROM {table} WHERE {by} > {limit}"
        prompt = (
            f"Table {table} has the columns {', '.join(texts + numbers)}. Write a query for the {column} of "
        )
        prompt += f"the {table} whose {by} is more than {limit}, in a ```sql fence."
        tasks.append(Task(prompt, truth, truth, wrong, "One table is enough:"))
    return made(name, tasks, lambda task, answer: f"{task.reasoning}\n```sql\n{answer}\n```", generator)
