"""Rollouts whose answers are letters, names, texts, mathematics, JSON or code."""

from __future__ import annotations

import functools
import json
from typing import Any

from .data_numbers import marked, problems, tagged, untagged
from .drawing import NO_TRUTH, PROMPTS, Task, made, rollouts
from .stock import ALIASES, CAPITALS, EXPRESSIONS, NAMES, SETS, THINGS
from .stock_texts import CODE, ESSAYS, SENTENCES, SUMMARIES

# Choices


def quiz(generator: Any, ask: str) -> list[Task]:
    """A country, four cities, one of them its capital."""
    tasks = []
    cities = [city for _, city in CAPITALS]
    for country, city in CAPITALS[:PROMPTS]:
        three = generator.permutation([other for other in cities if other != city])[:3].tolist()
        options = generator.permutation([city, *three]).tolist()
        right = "ABCD"[options.index(city)]
        listed = "\n".join(f"({letter}) {option}" for letter, option in zip("ABCD", options, strict=True))
        prompt = f"What is the capital of {country}?\n{listed}\n{ask}"
        wrong = tuple(letter for letter in "ABCD" if letter != right)
        tasks.append(Task(prompt, right, right, wrong, f"{country} has one seat of government."))
    return tasks


@rollouts
def choices(name, generator):
    """Options A to D in the prompt; The answer is (B)."""
    tasks = quiz(generator, 'End with "The answer is (X)."')
    return made(
        name,
        tasks,
        lambda task, answer: f"{task.reasoning} The answer is ({answer}).",
        generator,
        lambda task, answer: f"{task.reasoning} I take {answer}",
    )


@rollouts
def tagged_choices(name, generator):
    """Options A to D in the prompt; <answer>B</answer>."""
    return made(
        name, quiz(generator, "Answer with the letter in <answer> tags."), tagged, generator, untagged
    )


# Text


def capitals(ask: str) -> list[Task]:
    tasks = []
    cities = [city for _, city in CAPITALS]
    for place, (country, city) in enumerate(CAPITALS[:PROMPTS]):
        wrong = tuple(cities[(place + step) % len(cities)] for step in (1, 2, 3, 5))
        tasks.append(
            Task(
                f"What is the capital of {country}?{ask}",
                city,
                city,
                wrong,
                f"{country} is a country I know.",
            )
        )
    return tasks


@rollouts
def short_texts(name, generator):
    """A name in the tag: <answer>Paris</answer>."""
    ask = " Think in <think> tags, then give the name in <answer> tags."
    return made(name, capitals(ask), tagged, generator, untagged)


@rollouts
def bare_texts(name, generator):
    """The completion is the name alone."""
    return made(name, capitals(" Answer with the name only."), lambda task, answer: answer, generator)


@rollouts
def aliases(name, generator):
    """A name in the tag; the truth is a list of names that are all right."""
    tasks = [
        Task(
            f"Which country is meant by {hint}? Give the name in <answer> tags.",
            list(names),
            names[0],
            wrong,
            "I know it.",
        )
        for hint, names, wrong in ALIASES
    ]
    return made(name, tasks, tagged, generator, untagged)


@rollouts
def item_lists(name, generator):
    """Names in any order in the tag: <answer>red, yellow, blue</answer>."""
    tasks = [
        Task(f"{question} Give them in <answer> tags, with commas.", truth, truth, wrong, "There are three.")
        for question, truth, wrong in SETS
    ]
    return made(name, tasks, tagged, generator, untagged)


@rollouts
def summaries(name, generator):
    """Free text; the truth is a reference text, and no completion is the same."""
    texts = [said for _, _, said in SUMMARIES]
    tasks = []
    for place, (article, reference, said) in enumerate(SUMMARIES):
        wrong = tuple(texts[(place + step) % len(texts)] for step in (1, 2, 3, 4))
        tasks.append(Task(f"Summarise in one sentence: {article}", reference, said, wrong))
    return made(name, tasks, lambda task, answer: answer, generator)


@rollouts
def essays(name, generator):
    """No truth: an explanation in tags."""
    ask = " Think in <think> tags, then explain it in <answer> tags. Be clear, accurate and complete."
    tasks = [
        Task(f"Why {question}?{ask}", NO_TRUTH, text, (text, text, text), "There is a short way to say this.")
        for question, text in ESSAYS
    ]
    rows = made(name, tasks, tagged, generator, lambda task, answer: answer)
    return [(row, "</answer>" in row["completion"]) for row, _ in rows]


@rollouts
def constraints(name, generator):
    """No truth: a sentence of so many words with a certain word, which the columns name."""
    tasks = []
    for sentence, word in SENTENCES:
        words = sentence.split()
        wrong = (" ".join(words[:-1]), " ".join([*words, "today"]), sentence.replace(word, "it"), words[0])
        prompt = (
            f'Write a sentence of exactly {len(words)} words with the word "{word}" in it, and nothing else.'
        )
        tasks.append(Task(prompt, NO_TRUTH, sentence, wrong, "", {"words": len(words), "must": word}))
    return made(name, tasks, lambda task, answer: answer, generator)


# Mathematics, JSON, code


@rollouts
def mathematics(name, generator):
    """Fractions and expressions in LaTeX, boxed."""
    tasks = [
        Task(f"{question} Put the result in \\boxed{{}}.", truth, truth, wrong, "We simplify step by step.")
        for question, truth, wrong in EXPRESSIONS
    ]
    return made(
        name,
        tasks,
        lambda task, answer: f"{task.reasoning} Hence $\\boxed{{{answer}}}$.",
        generator,
        untagged,
    )


@rollouts
def invoices(name, generator):
    """A JSON object in a fence; the truth is the object as JSON."""
    tasks = []
    for place in range(PROMPTS):
        vendor, thing = f"{NAMES[place % len(NAMES)]} & Sons", THINGS[place % len(THINGS)]
        total, paid = int(generator.integers(100, 999)), bool(generator.integers(2))
        truth = {"vendor": vendor, "number": f"R-{place + 21}", "total": total, "paid": paid, "item": thing}
        slips = (
            {"total": total + 10},
            {"vendor": "Unknown"},
            {"item": "stamps", "paid": not paid},
            {"number": "R-7"},
        )
        text = f"{vendor} bill you {total} euro for {thing}, invoice R-{place + 21}" + (
            ", paid." if paid else ", open."
        )
        prompt = f"Extract vendor, number, total, paid and item as JSON: {text}"
        wrong = tuple(json.dumps(truth | slip) for slip in slips)
        tasks.append(Task(prompt, json.dumps(truth), json.dumps(truth), wrong, "Here it is:"))
    fenced = functools.partial(lambda task, answer: f"{task.reasoning}\n```json\n{answer}\n```")
    return made(name, tasks, fenced, generator)


@rollouts
def code(name, generator):
    """A Python function in a fence; the truth is the expected source."""
    tasks = [
        Task(f"Write a Python function {question}", truth, truth, wrong, "This does it:")
        for question, truth, wrong in CODE
    ]
    return made(name, tasks, lambda task, answer: f"{task.reasoning}\n```python\n{answer}\n```", generator)


@rollouts
def mixed_sources(name, generator):
    """Two data sources in one table: numbers behind ####, and letters in a sentence."""
    numbers = made("gsm8k", problems(generator, " End with #### and the number.")[:8], marked, generator)
    letters = made(
        "mmlu",
        quiz(generator, 'End with "The answer is (X)."')[:8],
        lambda task, answer: f"{task.reasoning} The answer is ({answer}).",
        generator,
    )
    tables = (("gsm8k", numbers), ("mmlu", letters))
    return [({**row, "data_source": source}, right) for source, rows in tables for row, right in rows]
