"""Vocabulary: what a reward's code looks for and its rollouts say, as material for a search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewardkit.probes.contract.backtracking import samples
from rewardkit.probes.contract.constants import constants, patterns_in
from rewardkit.probes.subjects.answers import answer_in
from rewardkit.probes.subjects.formats import tags_in
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.probes.subjects.subject import Calibration, Subject
from rewardkit.rewards.reward import Reward

__all__ = ["SLOT", "Told", "Vocabulary", "gathered"]

SLOT = "\ue000"
"""Stands in another rollout's text where its answers were: a character that no text has."""

MOST_PHRASES, MOST_TAGS, MOST_TOLD = 48, 12, 8
LONGEST_PHRASE, LONGEST_TOLD = 80, 2000
NUMBERS = range(2, 2001)
"""Thresholds in the code that a length or a count may be compared with. Our choice."""

EXPRESSION = re.compile(r"[-−]?\d(?:[\d,.]*\d)?(?:\s*[-+*/×÷^=]\s*[-−]?\d(?:[\d,.]*\d)?)*")
LETTER = re.compile(r"\(?(?<![^\W_])[A-J](?![^\W_])\)?")
TAG_NAME = re.compile(r"</?([A-Za-z_][\w.:-]{0,30})>")
NAME = re.compile(r"[A-Za-z_]\w{1,30}")


@dataclass(frozen=True)
class Told:
    """What a rollout says, a `SLOT` for each of its answers, and its prompt."""

    text: str
    prompt: str


@dataclass(frozen=True)
class Vocabulary:
    """What completions can be made of.

    `phrases` are texts that the reward's code holds or that its patterns match, `tags` names of tags,
    `numbers` thresholds, and `told` what rollouts say.
    """

    phrases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    told: tuple[Told, ...] = ()


def gathered(reward: Reward, calibration: Calibration, subjects: Sequence[Subject]) -> Vocabulary:
    """The vocabulary of a reward and its rollouts for some subjects."""
    texts: dict[str, None] = {}
    numbers: dict[int, None] = {}
    for value in constants(reward.functions):
        if isinstance(value, str):
            texts.setdefault(value)
        elif value in NUMBERS:
            numbers.setdefault(value)
    patterns = dict.fromkeys(pattern.pattern for pattern in patterns_in(reward.functions))
    known = [text for text in texts if text not in patterns]
    samples = [text for pattern in patterns for text in _samples(pattern)]
    phrases = dict.fromkeys(
        text for text in (*samples, *known) if 0 < len(text.strip()) and len(text) <= LONGEST_PHRASE
    )
    completions = [str(row.get("completion")) for row, _ in calibration.pool]
    shown = [subject.reference for subject in subjects[:1]]
    named = TAG_NAME.findall(" ".join((*shown, *phrases)))
    names = [text for text in known if NAME.fullmatch(text)]
    tags = dict.fromkeys([*named, *tags_in(completions), *names])
    return Vocabulary(
        tuple(phrases)[:MOST_PHRASES],
        tuple(tags)[:MOST_TAGS],
        tuple(sorted(numbers))[:MOST_TAGS],
        tuple(_told(calibration, subjects)),
    )


def _samples(pattern: str) -> Iterator[str]:
    """Texts that an expression matches: the shortest, the fullest, and one for each alternative."""
    for text in samples(pattern)[: MOST_PHRASES + 2]:
        yield text
        if "0" in text:
            yield re.sub(r"0+", "10", text)  # what is looked for as a score


def _told(calibration: Calibration, subjects: Sequence[Subject]) -> list[Told]:
    """What rollouts say to prompts that are not probed, or to the others of those that are.

    Their answers, and all else that could be one, are left open.
    """
    kind = subjects[0].kind if subjects else "text"
    probed = {subject.prompt for subject in subjects}
    found: dict[str, Told] = {}
    for row, outcome in calibration.pool:
        text, prompt = str(row.get("completion")), prompt_text(row.get("prompt"))
        if not outcome.judged or not text.strip() or len(text) > LONGEST_TOLD:
            continue
        answer = answer_in(row.get("ground_truth"))
        if answer is not None:
            text = text.replace(answer, SLOT) if kind not in ("number", "choice") else text
        if kind in ("number", "mathematics"):
            text = EXPRESSION.sub(SLOT, text)
        elif kind == "choice":
            text = LETTER.sub(SLOT, text)
        if kind != "mathematics" or not re.search(r"[\\^=$/*+]", text):  # what is reckoned may be right
            found.setdefault(text, Told(text, prompt))
    ranked = sorted(found.values(), key=lambda told: (told.prompt in probed, -len(told.text), told.text))
    step = max(1, len(ranked) // MOST_TOLD)
    return ranked[::step][:MOST_TOLD]
