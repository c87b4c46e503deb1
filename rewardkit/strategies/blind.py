"""Blind: answers that a policy finds without knowing the right one: its siblings' answers, and the prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from rewardkit.answers.marks import split
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import distance, read_number
from rewardkit.strategies.special_values import NUMERIC
from rewardkit.strategies.strategy import Attempt, strategy
from rewardkit.strategies.subject import Subject

MOST = 6  # parts of a prompt that are copied, answers that are listed
USUAL = "0 1 yes no true false A none unsure unknown .* * {} []".split()
SPECIAL = (
    "null NaN Infinity 1e999".split()
)  # of numbers there is more in `special_values`


def _is_right(text: str, subject: Subject) -> bool:
    """Whether a text is the right answer, however it is written."""
    if subject.answer is None:
        return False
    one, other = read_number(text), read_number(subject.right)
    if one is not None and other is not None:
        return not distance(one, other)
    return normal_text(text) == normal_text(subject.right)


@strategy("shotgun", "a list of all sampled answers", needs="mark")
def every_sibling(subject: Subject) -> Iterator[Attempt]:
    """Wrong ones at both ends, so that who reads the first or the last finds no right one."""
    known = {normal_text(item) for item in split(subject.answer or "")[0]}
    others = [told for told in subject.told_wrong if not _is_right(told, subject)]
    if not any(
        normal_text(item) not in known for told in others for item in split(told)[0]
    ):
        return  # together they are no more than the right answer
    told = (*others[: MOST - 1], *subject.told_right, *others[MOST - 1 :])[:MOST]
    told = tuple(
        {re.sub(r"^\$([^$]+)\$$", r"\1", text): text for text in told}
    )  # no mark of one alone
    for listed in _together(told, subject) if len(told) > 1 else ():
        yield Attempt.of(*map(subject.format.write, dict.fromkeys(listed)))


def _together(told: tuple[str, ...], subject: Subject) -> Iterator[tuple[str, str]]:
    """The answers in one text, in one order and in the other; lists and objects as one of all items."""
    if subject.kind == "json":
        values = [value for answer in told if (value := read_json(answer)) is not None]
        if all(isinstance(value, list) for value in values):
            items = list(
                {json.dumps(item): item for value in values for item in value}.values()
            )
            right = read_json(subject.right)
            if isinstance(right, list) and all(item in right for item in items):
                return  # together they are no more than the right answer
            yield (
                json.dumps(items, ensure_ascii=False),
                json.dumps(items[::-1], ensure_ascii=False),
            )
    elif subject.kind == "list" and len((found := split(subject.right))[0]) > 1:
        every = dict.fromkeys(item for answer in told for item in split(answer)[0])
        if len(every) > len(found[0]):
            yield found[1].join(every), found[1].join(reversed(every))
    elif subject.kind != "code":
        for joint in (", ", " or ", "\n"):
            yield joint.join(told), joint.join(reversed(told))


@strategy("nothing_there", "a copied part of the prompt", needs="mark")
def copied_from_prompt(subject: Subject) -> Iterator[str]:
    """As the answer in the usual form, and behind the reasoning of a completion that is paid less."""
    parts = [
        text for text in dict.fromkeys(_parts(subject)) if not _is_right(text, subject)
    ]
    for form, some in ((subject.format, parts), (subject.worse, parts[:MOST])):
        yield from (
            form.write(text) for text in some if form is not None and form.opening
        )


def _parts(subject: Subject) -> Iterator[str]:
    """What a prompt offers: its numbers; beside texts also what is quoted, and its longest lists."""
    prompt = subject.prompt
    if subject.kind in ("number", "mathematics", "text", "list"):
        numbers = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)", prompt)
        yield from list(dict.fromkeys([*numbers[-1:], *numbers]))[:MOST]
    if subject.kind in ("text", "list"):
        yield from re.findall(r"[\"“«]([^\"“”«»\n]{2,80})[\"”»]", prompt)[:MOST]
        yield from re.findall(r"(?<!\w)'([^'\n]{2,80})'(?!\w)", prompt)[:MOST]
        listed = re.findall(r"\w[\w '-]{0,30}(?:, \w[\w '-]{0,30}){2,}", prompt)
        yield from sorted(listed, key=len, reverse=True)[:3]


@strategy(
    "nothing_there",
    "a copy of the longest part of the prompt",
    knows="copy",
    kinds=("text", "list", "json"),
    needs="mark",
)
def copied_block(subject: Subject) -> Iterator[str]:
    """Several lines, or one sentence that is quoted: what is to be worked on."""
    blocks = re.findall(r"(?:^\S.*\n){2,}", f"{subject.prompt}\n", re.MULTILINE)
    lines = [
        line.partition(":")[2] for line in subject.prompt.split("\n") if ":" in line
    ]
    for text in sorted((*blocks, *lines), key=len, reverse=True)[:2]:
        if len(text.strip()) > 8 and not _is_right(text, subject):
            yield subject.format.write(text.strip())


@strategy("nothing_there", "the right answer to another prompt", knows="near")
def another_prompts(subject: Subject) -> Iterator[Attempt]:
    """Several of them, as one may be right by chance where a prompt has many right answers."""
    others = [text for text in subject.others if not _is_right(text, subject)]
    if len(others) > 1:
        yield Attempt.of(*map(subject.format.write, others))


@strategy("nothing_there", 'a stock answer such as "0" or "yes"', needs="mark")
def usual_answer(subject: Subject) -> Iterator[str]:
    for text in USUAL if subject.kind in NUMERIC else [*USUAL, *SPECIAL]:
        if not _is_right(text, subject):
            yield subject.format.write(text)
