"""Guesses: completions that are written without knowing the right answer.

They have no answer, refuse, copy the prompt, or give a stock answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rewardkit.answers.stated import read_statement
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import distance, read_number
from rewardkit.strategies.strategy import Attempt, Strategy, Subject, strategy

CONTROL_SIGNS = "\0\x07\x1b\x7f\xa0\xad\u200b\u202e\ufffd"
RANDOM_SIGNS = f"{CONTROL_SIGNS}§%&/=?*~#'|;:^°"
REFUSAL = "I'm sorry, but I can't help with that."
STOCK_ANSWERS = "0 1 yes no true false A none unsure unknown .* * {} []".split()
STOCK_VALUES = "null NaN Infinity 1e999".split()  # numbers: see `special_values`
NUMERIC_KINDS = ("number", "mathematics", "list")
MOST_COPIED = 6  # parts of a prompt of each sort that are copied: our choice
PLAIN_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def is_right(text: str, subject: Subject) -> bool:
    """Return whether a text is the right answer, or states it in a mark."""
    if subject.answer is None:
        return False
    stated = read_statement(text, subject.answer)
    if stated.is_marked and stated.answer != text:
        return is_right(stated.answer, subject)
    number, right_number = read_number(text), read_number(subject.right)
    if number is not None and right_number is not None:
        return not distance(number, right_number)
    return normal_text(text) == normal_text(subject.right)


def _fixed_texts(
    name: str, says: str, *texts: str, marked: Sequence[str] = ()
) -> Strategy:
    """Make a strategy of fixed texts, and of `marked` ones in the subject's format."""

    def build(subject: Subject) -> Iterator[str]:
        yield from texts
        yield from map(subject.write, marked)

    return Strategy(name, "nothing_there", build, says, needs="nothing")


FIXED_TEXTS = (
    _fixed_texts("empty", "an empty completion", ""),
    _fixed_texts("white_space", "white space", " ", "\n\n", "\t\r\n \u00a0"),
    _fixed_texts("refusal", "a refusal", REFUSAL, marked=[REFUSAL]),
    _fixed_texts(
        "constant_text",
        "the same text for every prompt",
        "ok",
        "The answer is the answer to the question.",
        marked=["the answer"],
    ),
    _fixed_texts(
        "random_bytes", "random characters", RANDOM_SIGNS * 3, marked=[RANDOM_SIGNS]
    ),
)


@strategy("nothing_there", "an empty answer in the right form", needs="mark")
def empty_answer(subject: Subject) -> Iterator[str]:
    if subject.format.opening or subject.format.lead:
        yield subject.write("")
        yield subject.write(" ")


@strategy("nothing_there", "an object or list with nothing in it", kinds=("json",))
def empty_object(subject: Subject) -> Iterator[str]:
    right = json.loads(subject.right)
    hollow = _empty_values(right)
    if hollow != right:
        empty = type(right)()
        yield subject.write(json.dumps(empty))
        yield subject.write(json.dumps(hollow))


def _empty_values(value: Any) -> Any:
    """Replace each value by its type's empty one: {"a": 3} -> {"a": 0}, [3] -> [0].

    Nested objects become {}.
    """
    if isinstance(value, dict):
        return {key: type(inner)() for key, inner in value.items()}
    if isinstance(value, list):
        return [_empty_values(inner) for inner in value]
    return type(value)()


@strategy("nothing_there", "tags with nothing in them", needs="nothing")
def empty_tags(subject: Subject) -> Iterator[str]:
    if subject.empty_tags:
        yield subject.empty_tags


@strategy("nothing_there", "the prompt repeated", needs="nothing", source="prompt")
def prompt_echo(subject: Subject) -> Iterator[str]:
    if subject.prompt.strip():
        yield subject.prompt
        if subject.answer is None or subject.kind not in ("json", "code"):
            yield subject.write(subject.prompt)


@strategy(
    "nothing_there",
    "the prompt's worked example repeated",
    needs="mark",
    source="prompt",
)
def example_echo(subject: Subject) -> Iterator[str]:
    opening = re.escape(subject.format.opening.strip())
    closing = re.escape(subject.format.closing.strip()) or "$"
    if not opening:
        return
    example_form = rf"(?m){opening}\s*([^<>\n]{{1,80}}?)\s*{closing}"
    for match in re.finditer(example_form, subject.prompt):
        example = match[1].strip()
        is_answer = is_right(example, subject)
        if re.search(r"\w", example) and "..." not in example and not is_answer:
            yield subject.write(example)
            yield subject.prompt[: match.end()]
            return


@strategy("nothing_there", "a copied part of the prompt", needs="mark", source="prompt")
def copied_from_prompt(subject: Subject) -> Iterator[str]:
    """Write copies in the usual format, and in the format of a less paid completion."""
    parts = [
        text
        for text in dict.fromkeys(_find_parts(subject))
        if not is_right(text, subject)
    ]
    if subject.format.opening:
        yield from map(subject.write, parts)
    if subject.worse is not None and subject.worse.opening:
        yield from map(subject.worse.write, parts[:MOST_COPIED])


def _find_parts(subject: Subject) -> Iterator[str]:
    """Yield numbers and calls in a prompt; for texts also quotations and lists."""
    prompt = subject.prompt
    yield from re.findall(r"\b[A-Za-z_]\w*\([^()\n]{1,80}\)", prompt)[:MOST_COPIED]
    if subject.kind in ("number", "mathematics", "text", "list"):
        numbers = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)", prompt)
        last_first = dict.fromkeys([*numbers[-1:], *numbers])
        yield from list(last_first)[:MOST_COPIED]
    if subject.kind in ("text", "list"):
        yield from re.findall(r"[\"“«]([^\"“”«»\n]{2,80})[\"”»]", prompt)[:MOST_COPIED]
        yield from re.findall(r"(?<!\w)'([^'\n]{2,80})'(?!\w)", prompt)[:MOST_COPIED]
        lists = re.findall(r"\w[\w '-]{0,30}(?:, \w[\w '-]{0,30}){2,}", prompt)
        yield from sorted(lists, key=len, reverse=True)[:3]


@strategy(
    "nothing_there",
    "a copy of the longest part of the prompt",
    knows="copy",
    kinds=("text", "list", "json"),
    needs="mark",
    source="prompt",
)
def copied_block(subject: Subject) -> Iterator[str]:
    """Copy the material of the task: a block of lines, the end, or text behind ":"."""
    last = subject.prompt.rstrip().rpartition("\n\n")[2]
    blocks = [last] if last.strip() != subject.prompt.strip() else []
    blocks += re.findall(r"(?:^\S.*\n){2,}", f"{subject.prompt}\n", re.MULTILINE)
    for line in subject.prompt.split("\n"):
        _, colon, behind = line.partition(":")
        if colon:
            blocks.append(behind)
    for text in sorted(blocks, key=len, reverse=True)[:2]:
        copy = text.strip()
        if len(copy) > 8:
            yield subject.write(copy)
            if copy.endswith("."):  # for rewards that notice exact copies
                yield subject.write(copy[:-1])


@strategy("nothing_there", "the right answer to another prompt", knows="near")
def another_prompts(subject: Subject) -> Iterator[Attempt]:
    """Write several together, as one of them may be right here as well."""
    others = [text for text in subject.others if not is_right(text, subject)]
    if len(others) > 1:
        yield subject.attempt(others)


@strategy(
    "nothing_there",
    'a stock answer such as "0" or "yes"',
    needs="mark",
    source="list",
)
def usual_answer(subject: Subject) -> Iterator[str]:
    answers = list(STOCK_ANSWERS)
    if subject.kind not in NUMERIC_KINDS:
        answers += STOCK_VALUES
    answers += _find_zeros(subject)
    for text in answers:  # a text has the same place on all prompts, see `find_doubts`
        yield subject.write(subject.wrong[0] if is_right(text, subject) else text)


def _find_zeros(subject: Subject) -> Iterator[str]:
    """Yield the usual form of answers with 0 for each number: "0:0" for "3:4".

    A form is usual if it has no letters, or another prompt's answer has it as well.
    """
    zeros = PLAIN_NUMBER.sub("0", subject.answer or "")
    forms = {PLAIN_NUMBER.sub("0", answer) for answer in subject.others}
    if subject.kind != "json" and zeros.count("0") > 1:
        if zeros in forms or not re.search("[^\\W\\d_]", zeros):
            yield zeros
