"""Hostile texts, made from a seed: what breaks patterns, parsers and whoever trusts in clean text."""

from __future__ import annotations

import random
from collections.abc import Iterator

PIECES = (
    # tags, boxes, markers
    *"<answer>|</answer>|<ANSWER x='1'>|<answer/>|<answer |<think>|</think>|<a><b>|<|>".split("|"),
    *"&lt;answer&gt;".split("|"),
    *"\\boxed{|\\fbox{|\\boxed|\\frac{1}{2}|\\dfrac|\\text{A}|\\sqrt{2}|{|}|[|]|(|)|$|$$".split("|"),
    *"\\(|\\)|\\".split("|"),
    *"####|#### 42|#### -1,234.50.|the answer is |Answer: |final answer|答案是|答案为：|答案:|。".split("|"),
    # numbers
    *"0|7|42|-|−|+|,234|1,234,567.89|.5|10.|3.14.15|1e9|1e999|6.02×10^23|3/4|1 1/2|½|50%|$5".split("|"),
    *"１２３|٣|1_000".split("|"),
    *"9" * 3,
    # choices, lists, JSON, code, calls
    *"(B)|B.|option C|A|[1, 2]|{1, 2}|{\"a\": 1, |\"b\": [true, null]}|'a'|\"|NaN|,|:".split("|"),
    *"{'a': (1,)}|\\u0041".split("|"),
    *"```\n|```json\n|~~~|`|[Source: a1, b2]|[Source: |<tool_call>".split("|"),
    *"{\"name\": \"f\", \"arguments\": {}}|</tool_call>".split("|"),
    # words and lines
    *"so|the the the|because |Step 1:|1. |- |\n|\n\n|\r\n|\t| |. |! |中文句子。|first, then ".split("|"),
    # what should not be there
    *(chr(code) for code in range(32)),
    *"\x7f|\x85|\u00a0|\u00ad|\u0301|\u0489|\u200b|\u200d|\u200f|\u202e|\u2028|\u2060".split("|"),
    *"\ufeff|\ufffd|\ufffe".split("|"),
    *"\ud800|\udfff|\U0001f600|\U0001f468\u200d\U0001f469\u200d\U0001f467|\U000e0041".split("|"),
    *"\u1100\u1161|ﬁ|İ|ß|ﷺ|שלום|مرحبا".split("|"),
)  # fmt: skip

UNITS = (
    *"a|A|9|9,|1.|-|.|,|<|>|<a>|<answer>|</answer>|<answer></answer>|<answer |<think><answer>".split("|"),
    *"{|}|[|]|(|()|{}|[]|{\"a\":|[[1],|\\boxed{|\\boxed{}|\\|\\frac{|$|$$|\"|\"a\",|'|`".split("|"),
    *"```\n|~~~\n|####|#### 1\n".split("|"),
    *"the answer is |答案是|的|中文。|(A)|A |A.\n|[Source: a]|[Source: |<tool_call>".split("|"),
    *"<tool_call>{}</tool_call>|1/|1e|-1 |½|１".split("|"),
    *"a b |the the |word, |Step 1: a\n|1. a\n|# a\n|a\n|\n|\r\n| |\t|\x00|\u0301|e\u0301".split("|"),
    *"\u200b|\u202e|\ud800|\U0001f600|ß|a. A! ".split("|"),
)  # fmt: skip
"""Texts that are repeated up to a length, to see how the time grows with it."""


def texts(seed: int, count: int, samples: list[str]) -> Iterator[str]:
    """`count` hostile texts: random runs of pieces, repeated pieces, and damaged samples of real completions.

    Most are short, one in a hundred has some thousand characters, one in ten thousand some hundred thousand.
    """
    chance = random.Random(seed)
    for _ in range(count):
        size = chance.random()
        kind = chance.random()
        if size < 0.0001:
            unit = "".join(chance.choices(PIECES, k=chance.randint(1, 4)))
            yield unit * (chance.randint(100_000, 1_000_000) // len(unit))
        elif size < 0.01:
            yield "".join(chance.choices(PIECES, k=chance.randint(200, 2000)))
        elif kind < 0.6:
            yield "".join(chance.choices(PIECES, k=chance.randint(0, 25)))
        elif kind < 0.8:
            unit = "".join(chance.choices(PIECES, k=chance.randint(1, 3)))
            tail = "".join(chance.choices(PIECES, k=3))
            yield unit * chance.randint(2, 60) + tail
        else:
            yield damaged(chance.choice(samples), chance)


def damaged(text: str, chance: random.Random) -> str:
    """The text with a few pieces put in, taken out, moved or doubled."""
    for _ in range(chance.randint(1, 4)):
        start, end = sorted(chance.choices(range(len(text) + 1), k=2))
        head, tail = text[:start], text[end:]
        changes = (
            head + chance.choice(PIECES) + text[start:],
            head + tail,
            text[:end] + text[start:],
        )
        text = chance.choice((*changes, tail + head, text[:end]))
    return text


def repeated(unit: str, length: int) -> str:
    """The unit again and again, `length` characters in all."""
    return (unit * (length // len(unit) + 1))[:length]
