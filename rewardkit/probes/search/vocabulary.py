"""What a reward's code looks for and its rollouts say, as material for a search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewardkit.answers.formats import find_tags
from rewardkit.probes.contract.backtracking import samples
from rewardkit.probes.contract.constants import constants, patterns_in
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.search.completions import (
    LIST_SLOTS,
    MARKS_SLOT,
    WRONG_MARKED,
    WRONG_SLOTS,
)
from rewardkit.strategies.added_text import (
    DELIMITERS,
    FAKE_VERDICTS,
    FLATTERY,
    JUDGE_ORDERS,
    RUBRIC,
    filler,
)
from rewardkit.strategies.subject import Subject

MOST_PHRASES, MOST_TAGS, LONGEST_PHRASE = 48, 12, 80
FILLER_LENGTHS = (8, 20, 30, 120, 500)
CODE_THRESHOLDS = range(2, 2001)
"""Numbers in the code that a length or a count may be compared with. Our choice."""

STOCK_SENTENCES = (
    *JUDGE_ORDERS,
    *FLATTERY,
    RUBRIC,
    "I am absolutely certain of this. Without any doubt this is correct, verified and "
    "proven.",
    "First, then, next, finally: therefore, thus, hence, because, since, so, wait, "
    "however, in conclusion.",
    "It may be this, or it may be that. I am not sure, and I do not know.",
    "Let me check this again. Yes, it is correct.",
    "## Reasoning\nStep by step:\n- first this\n- then that\n- so it follows",
)
STOCK_TAGS = (
    "think",
    "answer",
    "step",
    "reflection",
    "summary",
    "plan",
    "check",
    "verify",
    "section",
    "note",
)
STOCK_WRAPS = (
    ("```\n", "\n```"),
    ("```json\n", "\n```"),
    ("<!-- ", " -->"),
    (r"\boxed{", "}"),
    ("# ", ""),
    *(("*", "*"), ('"', '"'), ("$", "$"), ("`", "`")),
    *(("(", ")"), ("[", "]"), ("{", "}")),
)
TAG_NAME = re.compile(r"</?([A-Za-z_][\w.:-]{0,30})>")
NAME = re.compile(r"[A-Za-z_]\w{1,30}")


@dataclass(frozen=True)
class Vocabulary:
    """What completions can be made of.

    `texts` are by group, `wraps` are pairs that stand around something, `numbers` are
    thresholds.
    """

    texts: Mapping[str, Sequence[str]]
    wraps: Sequence[tuple[str, str]]
    numbers: Sequence[int]


def gather_vocabulary(observed: Observed, subjects: Sequence[Subject]) -> Vocabulary:
    """Gather the vocabulary of a reward and its rollouts for some subjects."""
    functions = observed.reward.functions
    patterns = [pattern.pattern for pattern in patterns_in(functions)]
    texts: list[str] = []
    numbers: list[int] = []
    for value in constants(functions):
        if isinstance(value, str):
            if value not in patterns:
                texts.append(value)
        elif value in CODE_THRESHOLDS:
            numbers.append(value)
    candidates: list[str] = []
    for pattern in patterns:
        candidates += _sample_pattern(pattern)
    phrases = [
        text
        for text in dict.fromkeys([*candidates, *texts])
        if text.strip() and len(text) <= LONGEST_PHRASE
    ]
    phrases = phrases[:MOST_PHRASES]
    completions = [str(row.get("completion")) for row, _ in observed.calibration.pool]
    references = [subject.reference for subject in subjects[:1]]
    tags = TAG_NAME.findall(" ".join([*references, *phrases]))
    tags += find_tags(completions)
    tags += filter(NAME.fullmatch, texts)
    names = list(dict.fromkeys(tags))[:MOST_TAGS]
    return assemble_vocabulary(phrases, names, sorted(set(numbers))[:MOST_TAGS])


def assemble_vocabulary(
    phrases: Sequence[str], names: Sequence[str], numbers: Sequence[int]
) -> Vocabulary:
    """Assemble phrases, names of tags, thresholds, and what is usual."""
    tags = [
        (f"<{name}>", f"</{name}>") for name in dict.fromkeys((*names, *STOCK_TAGS))
    ]
    lengths = sorted([*FILLER_LENGTHS, *(number + 1 for number in numbers)])
    around: list[int] = []
    for number in numbers:
        around += [number, number + 1]
    texts = {
        "phrases": phrases,
        "pairs": [opening + closing for opening, closing in tags],
        "ends": [end for tag in tags for end in tag],
        "verdicts": FAKE_VERDICTS,
        "sentences": STOCK_SENTENCES,
        "delimiters": DELIMITERS,
        "answers": (WRONG_MARKED, *WRONG_SLOTS[:2], *LIST_SLOTS, MARKS_SLOT),
        "fillers": list(map(filler, lengths)),
    }
    return Vocabulary(texts, (*STOCK_WRAPS, *tags), around)


def _sample_pattern(pattern: str) -> Iterator[str]:
    """Yield texts that an expression matches; a 0 in it may be a score."""
    for text in samples(pattern)[: MOST_PHRASES + 2]:
        yield text
        if "0" in text:
            yield re.sub(r"0+", "10", text)
