"""Rollouts of further kinds: moves, intervals, boxes, rankings, labels, YAML, citations, transcripts."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .data_numbers import problems
from .drawing import NO_TRUTH, PROMPTS, Task, made, rollouts
from .stock import CAPITALS
from .third_stock import (
    ACTS,
    DAYS,
    EVENTS,
    MOVES,
    PLACES,
    RANKED,
    REGEXES,
    REPORTS,
    REVIEWS,
    SLOGANS,
    TRANSLATIONS,
    UTTERANCES,
)


def last_line(label: str) -> Any:
    """The writer that puts the answer in a last line behind a label."""
    return functools.partial(lambda task, answer: f"{task.reasoning}\n{label}: {answer}")


def in_tag(tag: str) -> Any:
    """The writer that reasons in <think> and answers in a tag of that name."""
    return functools.partial(
        lambda task, answer: f"<think>{task.reasoning}</think>\n<{tag}>{answer}</{tag}>",
    )


def in_passing(task: Task, answer: str) -> str:
    """The right answer somewhere in a sentence, without the form."""
    return f"{task.reasoning} I would go with {answer} here."


# Games, numbers, places


@rollouts
def chess_moves(name, generator):
    """A chess move in algebraic notation: <move>Bxc6</move>; capitals matter."""
    ask = " Think in <think> tags, then give the move in <move> tags."
    tasks = [Task(question + ask, move, move, wrong, "I recall it.") for question, move, wrong in MOVES]
    return made(name, tasks, in_tag("move"), generator, in_passing)


@rollouts
def intervals(name, generator):
    """A last line Interval: [2, 5); which ends belong to it matters."""
    tasks = []
    for number in range(PROMPTS):
        low = int(generator.integers(-9, 9))
        high = low + int(generator.integers(2, 12))
        left, right = "[("[number % 2], "])"[number // 2 % 2]
        said = f"x {'>=' if left == '[' else '>'} {low} and x {'<=' if right == ']' else '<'} {high}"
        other = "(" if left == "[" else "["
        wrong = (
            f"{other}{low}, {high}{right}",
            f"{left}{low}, {high + 1}{right}",
            f"{left}{low - 2}, {high}{right}",
            f"{left}{low + 1}, {high + 3}{right}",
        )
        prompt = f'Write {said} as an interval. End with "Interval: ..."'
        truth = f"{left}{low}, {high}{right}"
        tasks.append(Task(prompt, truth, truth, wrong, "I look at both ends."))
    return made(name, tasks, last_line("Interval"), generator, in_passing)


@rollouts
def percentages(name, generator):
    """A last line Result: 35%; half of the truths have a decimal, as 12.5%."""
    tasks = []
    for number in range(PROMPTS):
        whole = (200, 80, 40, 400)[number % 4]
        part = int(generator.integers(whole // 8, whole - 5))
        while (part * 100 % whole == 0) is (number % 2 == 1):
            part += 1
        value = part / whole * 100
        truth = f"{value:g}%"
        steps = (7, -4, 11, 20)
        wrong = tuple(f"{value + step:g}%" for step in steps)
        prompt = f'{part} of {whole} people said yes. What share is that? End with "Result: ...%"'
        tasks.append(Task(prompt, truth, truth, wrong, f"I divide {part} by {whole}."))
    return made(name, tasks, last_line("Result"), generator, in_passing)


@rollouts
def boxes(name, generator):
    """A bounding box in a tag: <box>[10, 20, 110, 220]</box>; the truth is a list of four numbers."""
    tasks = []
    things = ("cup", "dog", "door", "lamp", "tree", "boat", "chair", "clock")
    for number in range(PROMPTS):
        x, y = (int(one) for one in generator.integers(40, 300, size=2))
        width, height = (int(one) for one in generator.integers(60, 140, size=2))
        truth = [x, y, x + width, y + height]
        shifts = ((width, 10), (-width // 2, height), (width * 3 // 4, -height // 2), (30, height))
        wrong = tuple(str([x + a, y + b, x + width + a, y + height + b]) for a, b in shifts)
        ask = "Think in <think> tags, then give [x1, y1, x2, y2] in <box> tags."
        prompt = f"<image {number}> Where is the {things[number % 8]}? {ask}"
        tasks.append(Task(prompt, truth, str(truth), wrong, "I look for its edges."))
    return made(name, tasks, in_tag("box"), generator, in_passing)


@rollouts
def clicks(name, generator):
    """A point on the screen: <click>120, 340</click>; the truth is a list of two numbers."""
    tasks = []
    buttons = ("Save", "Open", "Send", "Close", "Print", "Undo", "Help", "Search")
    for number in range(PROMPTS):
        x, y = (int(one) for one in generator.integers(120, 700, size=2))
        shifts = ((180, 60), (-110, 160), (40, -115 - x % 9), (230, 210))
        wrong = tuple(f"{x + a}, {y + b}" for a, b in shifts)
        ask = "Think in <think> tags, then give x, y in <click> tags."
        prompt = f"<screen {number}> Press the button {buttons[number % 8]}. {ask}"
        tasks.append(Task(prompt, [x, y], f"{x}, {y}", wrong, "It is in the bar."))
    return made(name, tasks, in_tag("click"), generator, in_passing)


@rollouts
def clock_times(name, generator):
    """A last line Arrival: 14:35."""
    tasks = []
    for number in range(PROMPTS):
        start, takes = int(generator.integers(7 * 60, 19 * 60)), 25 + 7 * number
        end = start + takes
        wrong = tuple(_clock(end + step) for step in (60, -10, 10, 25))
        prompt = (
            f"A train leaves at {_clock(start)} and takes {takes} minutes. When does it arrive? "
            'End with "Arrival: HH:MM".'
        )
        tasks.append(Task(prompt, _clock(end), _clock(end), wrong, "I add the minutes."))
    return made(name, tasks, last_line("Arrival"), generator, in_passing)


def _clock(minutes: int) -> str:
    """Minutes since midnight as a time of day."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


@rollouts
def checked_answers(name, generator):
    """Two last lines: Answer: 42, and what the writer says of it, Check: correct or Check: unsure."""
    tasks = problems(generator, ' End with "Answer: N" and, below, "Check: correct" or "Check: unsure".')

    def said(task: Task, answer: str) -> str:
        """The answer with a check, which most wrong answers do not pass."""
        sure = answer == task.answer or int(answer) % 4 == 0
        return f"{task.reasoning}\nAnswer: {answer}\nCheck: {'correct' if sure else 'unsure'}"

    return made(name, tasks, said, generator, in_passing)


# Labels and orders


@rollouts
def rankings(name, generator):
    """Four things in order in a last line: Ranking: Nile > Danube > Rhine > Thames."""
    tasks = []
    for how, things in RANKED:
        a, b, c, d = things
        wrong = tuple(" > ".join(one) for one in ((d, c, b, a), (b, d, a, c), (c, a, d, b), (d, a, c, b)))
        listed = ", ".join(generator.permutation(np.array(things)).tolist())
        prompt = f'Order from {how}: {listed}. End with "Ranking: ... > ... > ... > ..."'
        truth = " > ".join(things)
        tasks.append(Task(prompt, truth, truth, wrong, "I compare them two by two."))
    return made(name, tasks, last_line("Ranking"), generator)


@rollouts
def dialogue_acts(name, generator):
    """One label of eight in a last line: Act: request."""
    tasks = []
    for said, act in UTTERANCES:
        wrong = tuple(generator.permutation([one for one in ACTS if one != act])[:4].tolist())
        prompt = f'Label the dialogue act ({", ".join(ACTS)}): "{said}" End with "Act: ..."'
        tasks.append(Task(prompt, act, act, wrong, "I ask what the speaker wants."))
    return made(name, tasks, last_line("Act"), generator, in_passing)


@rollouts
def sentiments(name, generator):
    """One label of three in a last line: Sentiment: neutral."""
    tasks = []
    for review, label in REVIEWS:
        others = [one for one in ("positive", "negative", "neutral") if one != label]
        prompt = f'Is this review positive, negative or neutral? "{review}" End with "Sentiment: ..."'
        tasks.append(Task(prompt, label, label, tuple(others * 2), "I weigh the words."))
    return made(name, tasks, last_line("Sentiment"), generator, in_passing)


@rollouts
def cited_answers(name, generator):
    """A sentence with the numbers of its sources: ... [2][5]; the truth is the list of those numbers."""
    tasks = []
    for number, (country, city) in enumerate(CAPITALS[:PROMPTS]):
        first, second, *rest = generator.permutation(np.arange(1, 10)).tolist()
        truth = sorted([first, second])
        texts = {first: f"{city} is the capital of {country}.", second: f"Ministries sit in {city}."}
        fill = f"{country} has many rivers and a flag, says guide {number}."
        listed = "\n".join(f"[{place}] {texts.get(place, fill)}" for place in range(1, 10))
        wrong = (
            f"[{rest[0]}][{rest[1]}]",
            f"[{first}][{rest[2]}][{rest[0]}]",
            f"[{rest[3]}]",
            f"[{rest[1]}][{second}][{rest[3]}]",
        )
        prompt = f"What is the capital of {country}? Cite the sources that show it.\n{listed}"
        marks = "".join(f"[{place}]" for place in truth)
        tasks.append(Task(prompt, truth, marks, wrong, f"It is {city}"))
    return made(name, tasks, lambda task, answer: f"{task.reasoning} {answer}.", generator)


# Texts


@rollouts
def yaml_records(name, generator):
    """Four fields in a fence of YAML; the truth is the YAML."""
    tasks = []
    for number in range(PROMPTS):
        fields = {
            "event": EVENTS[number % 6],
            "place": PLACES[(number + number // 6) % 6],
            "day": DAYS[number % 5],
            "seats": int(generator.integers(20, 300)),
        }
        text = (
            f"The {fields['event']} is on {fields['day']} at the {fields['place']}; {fields['seats']} seats."
        )
        slips = (
            {"seats": fields["seats"] + 10, "place": "Park"},
            {"day": "Sunday", "event": "Party"},
            {"place": "Park", "day": "Sunday"},
            {"event": "Party", "seats": 12, "day": "Sunday"},
        )
        wrong = tuple(_yaml({**fields, **slip}) for slip in slips)
        prompt = f"Extract event, place, day and seats as YAML: {text}"
        tasks.append(Task(prompt, _yaml(fields), _yaml(fields), wrong, "Here is the record:"))
    return made(name, tasks, lambda task, answer: f"{task.reasoning}\n```yaml\n{answer}\n```", generator)


def _yaml(fields: dict[str, Any]) -> str:
    """Plain fields as YAML."""
    return "\n".join(f"{key}: {value}" for key, value in fields.items())


@rollouts
def translations(name, generator):
    """A French sentence; the truth is a reference that no completion equals."""
    said = [variant for _, _, variant in TRANSLATIONS]
    tasks = []
    for place, (english, reference, variant) in enumerate(TRANSLATIONS):
        wrong = tuple(said[(place + step) % len(said)] for step in (1, 3, 4, 6))
        tasks.append(Task(f"Translate into French: {english}", reference, variant, wrong))
    return made(name, tasks, lambda task, answer: answer, generator)


@rollouts
def slogans(name, generator):
    """No truth: a slogan without commas and of few words, with a word that a column names."""
    tasks = []
    for keyword, text in SLOGANS:
        words = text.split()
        wrong = (
            f"{words[0]}, {' '.join(words[1:])}",
            f"{text} And there is a lot more that we could tell you about it.",
            ", ".join(words[:4]) + ", and so on.",
            f"Well, {text}",
        )
        prompt = f"Write a slogan about {keyword}, of at most {len(words) + 2} words, without commas."
        columns = {"at_most": len(words) + 2, "keyword": keyword}
        tasks.append(Task(prompt, NO_TRUTH, text, wrong, "", columns))
    return made(name, tasks, lambda task, answer: answer, generator)


@rollouts
def transcripts(name, generator):
    """An agent's steps, each line with its label, and Finish[Paris] in the last."""
    cities = [city for _, city in CAPITALS]
    tasks = []
    for place, (country, city) in enumerate(CAPITALS[4:]):
        wrong = tuple(cities[(place + step) % len(cities)] for step in (1, 2, 6, 9))
        ask = "Use lines of Thought:, Action: search[...], Observation:, and end with Finish[...]."
        prompt = f"Which city is the capital of {country}? {ask}"
        tasks.append(Task(prompt, city, city, wrong, "I search for it.", {"country": country}))
    return made(name, tasks, steps, generator, in_passing)


def steps(task: Task, answer: str) -> str:
    """A transcript with one search and its result."""
    country = task.prompt.partition(" of ")[2].partition("?")[0]
    return (
        f"Thought: {task.reasoning}\nAction: search[capital of {country}]\n"
        f"Observation: {answer} is the seat of government.\nThought: That settles it.\nFinish[{answer}]"
    )


@rollouts
def regexes(name, generator):
    """No truth: a regular expression in a tag; columns hold what it shall accept and reject."""
    ask = "Think in <think> tags, then give it in <regex> tags."
    tasks = []
    for what, pattern, wrong, accept, reject in REGEXES:
        columns = {"accept": list(accept), "reject": list(reject)}
        prompt = f"Write a regular expression for {what}. {ask}"
        tasks.append(Task(prompt, NO_TRUTH, pattern, wrong, "It has to match the whole text.", columns))
    return made(name, tasks, in_tag("regex"), generator)


@rollouts
def reports(name, generator):
    """No truth: a short report with the headings that a column names."""
    body = "Several people looked at this in the last week and agree on it."
    tasks = []
    for subject, sections in REPORTS:
        whole = "\n\n".join(f"## {section}\n{body}" for section in sections)
        wrong = (
            f"## Report\n{body}",
            f"{body} {body}",
            f"## {sections[0]}\n{body}",
            f"This is about {subject}. {body}",
        )
        prompt = f"Report on {subject} with the headings ## {', ## '.join(sections)}."
        columns = {"sections": list(sections)}
        tasks.append(Task(prompt, NO_TRUTH, whole, wrong, "", columns))
    return made(name, tasks, lambda task, answer: answer, generator)
