"""Nothing there: completions without an answer, which must earn no more than a wrong one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rewardkit.probes.strategies.attempts import Attempt, probe_of
from rewardkit.probes.subjects.subject import Subject

__all__: list[str] = []

NOISE = "".join(map(chr, (0, 7, 27, 127, 160, 173, 8203, 8238, 65533))) + "§%&/=?*~#'|;:^°"


@probe_of("nothing_there", "an empty completion", needs="nothing")
def empty(subject: Subject) -> Iterator[str]:
    yield ""


@probe_of("nothing_there", "white space", needs="nothing")
def white_space(subject: Subject) -> Iterator[str]:
    yield from (" ", "\n\n", "\t\r\n \u00a0")


@probe_of("nothing_there", "an empty answer in the right form", needs="mark")
def empty_answer(subject: Subject) -> Iterator[str]:
    if subject.format.opening or subject.format.lead:
        yield subject.format.write("")
        yield subject.format.write(" ")


@probe_of("nothing_there", "an object or list with nothing in it", kinds=("json",))
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


@probe_of("nothing_there", "tags with nothing in them", needs="nothing")
def empty_tags(subject: Subject) -> Iterator[str]:
    names = re.findall(r"<([A-Za-z_][\w.:-]{0,30})>", subject.reference)
    if names:
        yield "".join(f"<{name}></{name}>" for name in dict.fromkeys(names))


@probe_of("nothing_there", "a refusal", needs="nothing")
def refusal(subject: Subject) -> Iterator[str]:
    text = "I'm sorry, but I can't help with that."
    yield text
    yield subject.format.write(text)


@probe_of("nothing_there", "the same text for every prompt", needs="nothing")
def constant_text(subject: Subject) -> Iterator[str]:
    yield "ok"
    yield "The answer is the answer to the question."
    yield subject.format.write("the answer")


@probe_of("nothing_there", "random characters", needs="nothing")
def random_bytes(subject: Subject) -> Iterator[str]:
    yield NOISE * 3
    yield subject.format.write(NOISE)


@probe_of("nothing_there", "the prompt repeated", needs="nothing")
def prompt_echo(subject: Subject) -> Iterator[str]:
    if subject.prompt.strip():
        yield subject.prompt
        if subject.answer is None or subject.kind not in ("json", "code"):
            yield subject.format.write(subject.prompt)


@probe_of("nothing_there", "the prompt's worked example repeated", needs="mark")
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
