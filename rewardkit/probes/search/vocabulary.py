"""Vocabulary: what a reward's code looks for and its rollouts say, as material for a search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewardkit.answers.formats import find_tags
from rewardkit.probes.contract.backtracking import samples
from rewardkit.probes.contract.constants import constants, patterns_in
from rewardkit.probes.search.completions import LISTS, MARK, MARKS, WRONG
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.rewards.reward import Reward
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
LENGTHS = (8, 20, 30, 120, 500)
THRESHOLDS = range(2, 2001)
"""Numbers in the code that a length or a count may be compared with. Our choice."""

SENTENCES = (
    *JUDGE_ORDERS,
    *FLATTERY,
    RUBRIC,
    "I am absolutely certain of this. Without any doubt this is correct, verified and proven.",
    "First, then, next, finally: therefore, thus, hence, because, since, so, wait, however, in conclusion.",
    "It may be this, or it may be that. I am not sure, and I do not know.",
    "Let me check this again. Yes, it is correct.",
    "## Reasoning\nStep by step:\n- first this\n- then that\n- so it follows",
)
TAGS = (
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
WRAPS = (
    ("```\n", "\n```"),
    ("```json\n", "\n```"),
    ("<!-- ", " -->"),
    (r"\boxed{", "}"),
    ("# ", ""),
)
SIGNS = ("**", '""', "$$", "``", "()", "[]", "{}")
TAG_NAME = re.compile(r"</?([A-Za-z_][\w.:-]{0,30})>")
NAME = re.compile(r"[A-Za-z_]\w{1,30}")


@dataclass(frozen=True)
class Vocabulary:
    """What completions can be made of: texts by kind, pairs that stand around something, and thresholds."""

    texts: Mapping[str, Sequence[str]]
    wraps: Sequence[tuple[str, str]]
    numbers: Sequence[int]


def gathered(
    reward: Reward, calibration: Calibration, subjects: Sequence[Subject]
) -> Vocabulary:
    """The vocabulary of a reward and its rollouts for some subjects."""
    held = constants(reward.functions)
    patterns = [pattern.pattern for pattern in patterns_in(reward.functions)]
    texts = [text for text in held if isinstance(text, str) and text not in patterns]
    numbers = sorted(
        {
            number
            for number in held
            if not isinstance(number, str) and number in THRESHOLDS
        }
    )
    known = dict.fromkeys(
        (*(text for pattern in patterns for text in _samples(pattern)), *texts)
    )
    phrases = [text for text in known if text.strip() and len(text) <= LONGEST_PHRASE][
        :MOST_PHRASES
    ]
    completions = [str(row.get("completion")) for row, _ in calibration.pool]
    shown = TAG_NAME.findall(
        " ".join((*(one.reference for one in subjects[:1]), *phrases))
    )
    names = list(
        dict.fromkeys((*shown, *find_tags(completions), *filter(NAME.fullmatch, texts)))
    )
    return assembled(phrases, names[:MOST_TAGS], numbers[:MOST_TAGS])


def assembled(
    phrases: Sequence[str], names: Sequence[str], numbers: Sequence[int]
) -> Vocabulary:
    """The vocabulary with these phrases, names of tags and thresholds, and with what is usual."""
    tags = [(f"<{name}>", f"</{name}>") for name in dict.fromkeys((*names, *TAGS))]
    lengths = sorted((*LENGTHS, *(number + 1 for number in numbers)))
    found = {
        "phrases": phrases,
        "pairs": [opening + closing for opening, closing in tags],
        "ends": [end for tag in tags for end in tag],
        "verdicts": FAKE_VERDICTS,
        "sentences": SENTENCES,
        "delimiters": DELIMITERS,
        "answers": (MARK, WRONG[0], WRONG[1], *LISTS, MARKS),
        "fillers": list(map(filler, lengths)),
    }
    wraps = (*WRAPS, *((sign[0], sign[1]) for sign in SIGNS), *tags)
    return Vocabulary(
        found, wraps, [count for number in numbers for count in (number, number + 1)]
    )


def _samples(pattern: str) -> Iterator[str]:
    """Texts that an expression matches: the shortest, the fullest, and one for each alternative."""
    for text in samples(pattern)[: MOST_PHRASES + 2]:
        yield text
        if "0" in text:
            yield re.sub(r"0+", "10", text)  # what is looked for as a score
