"""Nothing there: completions without an answer, which must earn no more than a wrong one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rewardkit.strategies.strategy import Attempt, Strategy, strategy
from rewardkit.strategies.subject import Subject

NOISE = (
    "".join(map(chr, (0, 7, 27, 127, 160, 173, 8203, 8238, 65533))) + "§%&/=?*~#'|;:^°"
)


def _texts(name: str, says: str, *texts: str, marked: Sequence[str] = ()) -> Strategy:
    """A probe of texts as they are, and of others in the place of the answer."""

    def build(subject: Subject) -> Iterator[str]:
        yield from (*texts, *map(subject.format.write, marked))

    return Strategy(name, "nothing_there", build, says, needs="nothing")


REFUSAL = "I'm sorry, but I can't help with that."
TEXTS = (
    _texts("empty", "an empty completion", ""),
    _texts("white_space", "white space", " ", "\n\n", "\t\r\n \u00a0"),
    _texts("refusal", "a refusal", REFUSAL, marked=[REFUSAL]),
    _texts(
        "constant_text",
        "the same text for every prompt",
        "ok",
        "The answer is the answer to the question.",
        marked=["the answer"],
    ),
    _texts("random_bytes", "random characters", NOISE * 3, marked=[NOISE]),
)


@strategy("nothing_there", "an empty answer in the right form", needs="mark")
def empty_answer(subject: Subject) -> Iterator[str]:
    if subject.format.opening or subject.format.lead:
        yield subject.format.write("")
        yield subject.format.write(" ")


@strategy("nothing_there", "an object or list with nothing in it", kinds=("json",))
def empty_object(subject: Subject) -> Iterator[str]:
    whole = json.loads(subject.right)
    hollow = _hollow(whole)
    for value in (type(whole)(), hollow) if hollow != whole else ():
        yield subject.format.write(json.dumps(value))


def _hollow(value: Any) -> Any:
    """An object with its keys and nothing in them; nothing of everything else."""
    if isinstance(value, dict):
        return {key: type(item)() for key, item in value.items()}
    return type(value)()


@strategy("nothing_there", "tags with nothing in them", needs="nothing")
def empty_tags(subject: Subject) -> Iterator[str]:
    names = re.findall(r"<([A-Za-z_][\w.:-]{0,30})>", subject.reference)
    if names:
        yield "".join(f"<{name}></{name}>" for name in dict.fromkeys(names))


@strategy("nothing_there", "the prompt repeated", needs="nothing")
def prompt_echo(subject: Subject) -> Iterator[str]:
    if subject.prompt.strip():
        yield subject.prompt
        if subject.answer is None or subject.kind not in ("json", "code"):
            yield subject.format.write(subject.prompt)


@strategy("nothing_there", "the prompt's worked example repeated", needs="mark")
def example_echo(subject: Subject) -> Iterator[str | Attempt]:
    opening, closing = subject.format.opening.strip(), subject.format.closing.strip()
    if not opening:
        return
    expression = rf"{re.escape(opening)}\s*([^<>\n]{{1,80}}?)\s*{re.escape(closing) if closing else '$'}"
    for found in re.finditer(expression, subject.prompt, re.MULTILINE):
        shown = found.group(1).strip()
        if (
            re.search(r"\w", shown)
            and shown.casefold() != str(subject.answer).casefold()
            and "..." not in shown
        ):
            yield subject.format.write(shown)
            yield subject.prompt[: found.end()]
            return
