"""What a prompt asks of the form of its answers: a mark, a length, nothing else."""

from __future__ import annotations

import re

from rewardkit.answers.formats import TAG
from rewardkit.answers.logged import Answers

ASKS_FOR_NOTHING_ELSE = re.compile(
    r"(?i)\bnothing (?:but|else)\b|\bno other text\b"
    r"|\b(?:reply|answer|respond|output|return|write) (?:with |in )?only\b"
)
"""What a prompt says that wants an answer with no text beside it."""
AMOUNTS = {
    **{"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"},
    **{"ten": "10", "twenty": "20", "fifty": "50", "hundred": "100"},
}
"""Number words of the lengths that prompts ask for, in digits."""
ASKS_FOR_LENGTH = re.compile(
    r"(?ix) \b(?:at\ most|at\ least|than|under|below|within|up\ to|max|maximum|limit"
    r"|exceed|exactly|between|in|single) \W+ (?:\w+\W+){0,3}?"
    rf"(?:\d+|a|{'|'.join(AMOUNTS)}) [\ -]"
    r"(words?|characters?|letters?|tokens?|sentences?|lines?|paragraphs?)\b"
    r"| \b\d+ [\ -] (words?|characters?|tokens?|sentences?)"
    r"\W+ (?:or\ (?:less|fewer|more)|at\ most|at\ least|max|maximum|limit|long)\b"
)
"""What a prompt says that wants so many words, or sentences; its groups, the unit."""
WRITTEN_MARKS = {"box": r"\boxed", "####": "####"}
"""Name of a mark -> how a prompt writes it that asks for it."""
LONGEST_BAN = 40
FORBIDS = re.compile(r"(?i)(?:\b(?:not|never|without|no)|n't)\b[^.\n]*\Z")
"""Characters before a mark, and what stands there where a prompt does not want it."""


def read_length_asked(prompt: str) -> str:
    """Return the amounts and the unit of the length that a prompt asks for, or "".

    >>> read_length_asked("Use at most 50 words."), read_length_asked("Name two words.")
    ('50 word', '')
    >>> read_length_asked("Keep it under one hundred WORDS.")
    '100 word'
    >>> read_length_asked("Write between 500 and 1,000 characters.")
    '500 1000 character'
    """
    match = ASKS_FOR_LENGTH.search(prompt)
    if match is None:
        return ""
    amounts: list[str] = []
    for word in re.findall(r"\d+|[a-z]+", match[0].lower().replace(",", "")):
        if word == "hundred" and amounts:  # one hundred
            amounts[-1] += "00"
        elif word in AMOUNTS or word.isdecimal():
            amounts.append(AMOUNTS.get(word, word))
    unit = (match[1] or match[2]).lower().removesuffix("s")
    return " ".join([*(amounts or ["1"]), unit])


def find_marks_asked_for(answers: Answers) -> set[str]:
    """Find the marks of answers for which their own prompts ask."""
    marks = set()
    for answer in answers:
        mark, written = answer.statement.mark, WRITTEN_MARKS.get(answer.statement.mark)
        if mark == "tag":
            tags = TAG.findall(answer.completion[: answer.statement.before])
            written = f"<{tags[-1]}>" if tags else None
        before, sign, _ = answer.prompt[0].partition(written or " ")
        if written and sign and not FORBIDS.search(before[-LONGEST_BAN:]):
            marks.add(mark)
    return marks
