"""Look-alikes: what looks like a mark or an answer and is none, which must not be paid as one.

Some hold a wrong answer that a careless comparison takes for the right one. The others have a wrong answer in
marks that no parser should take for marks: they must not earn what the right form earns a wrong answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rewardkit.strategies.strategy import Attempt, Strategy, strategy
from rewardkit.strategies.subject import Subject

SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LETTERS = str.maketrans("012589", "OlZSBg")
WIDE = str.maketrans("<>/", "＜＞／")
ZERO_WIDTH = "\u200b"
TAG = r"</?[A-Za-z_][\w.:-]*>"


@strategy(
    "look_alikes",
    "a power for a number of two digits (4² for 42)",
    knows="near",
    kinds=("number",),
)
def superscript(subject: Subject) -> Iterator[str]:
    if re.fullmatch(r"[1-9]\d+", subject.right):
        yield subject.format.write(
            subject.right[:-1] + subject.right[-1].translate(SUPERSCRIPT)
        )


@strategy("look_alikes", "a wrong tag inside the answer's tag", knows="guess", tag=True)
def nested(subject: Subject) -> Iterator[Attempt]:
    form, wrong = subject.format, subject.wrong[0]
    inner = form.marked(subject.right)
    outer = form.marked(
        f"{wrong} {form.marked(wrong)} {inner} {form.marked(wrong)} {wrong}"
    )
    yield Attempt.of(form.around(outer))


@strategy("look_alikes", "an answer with hidden characters in it", knows="known")
def zero_width(subject: Subject) -> Iterator[str]:
    if len(subject.right) > 1:
        yield subject.format.write(ZERO_WIDTH.join(subject.right))


@strategy(
    "look_alikes",
    "the right answer in a tag that is never closed",
    knows="known",
    tag=True,
)
def unclosed(subject: Subject) -> Iterator[str]:
    yield f"{subject.format.lead}{subject.format.opening}{subject.right}"


@strategy(
    "look_alikes", "the right answer in a tag within code", knows="known", tag=True
)
def in_code(subject: Subject) -> Iterator[str]:
    yield f"{subject.format.lead}```\n{subject.format.marked(subject.right)}\n```"


@strategy(
    "look_alikes",
    "letters that look like the digits of the answer",
    knows="near",
    kinds=("number",),
)
def letters_for_digits(subject: Subject) -> Iterator[str]:
    written = subject.right.translate(LETTERS)
    if written != subject.right:
        yield subject.format.write(written)


@strategy(
    "look_alikes",
    "several answers in tags that differ in their spelling",
    knows="guess",
    tag=True,
)
def tags_of_two_kinds(subject: Subject) -> Iterator[Attempt]:
    form = subject.format
    right, wrong = form.marked(subject.right), form.marked(subject.wrong[0])
    for change in (
        str.upper,
        lambda text: re.sub(r"<(/?)([^>]*)>", r"<\1 \2>", text),
        _with_attribute,
    ):
        yield Attempt.of(
            form.around(f"{wrong}\n{change(right)}"),
            form.around(f"{change(right)}\n{wrong}"),
        )


def _with_attribute(text: str) -> str:
    return re.sub(r"<([A-Za-z_][\w.:-]*)>", r'<\1 id="1">', text)


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _backwards(text: str) -> str:
    """The tags with closing and opening ones exchanged."""
    return re.sub(
        r"<(/?)([A-Za-z_][\w.:-]*)>",
        lambda found: f"<{'' if found[1] else '/'}{found[2]}>",
        text,
    )


def _named(text: str) -> str:
    return f"There are the tags {', '.join(re.findall(TAG, text))}, and that is it."


def _of_form(name: str, says: str, change: Callable[[str], str]) -> Strategy:
    def build(subject: Subject) -> Iterator[str]:
        yield change(subject.baseline)

    return Strategy(
        name, "look_alikes", build, says, expects="form", knows="form", tag=True
    )


OF_FORM = (
    _of_form("escaped_tags", "tags that are escaped as HTML", _escaped),
    _of_form(
        "wide_tags", "tags of full-width signs", lambda text: text.translate(WIDE)
    ),
    _of_form("tags_backwards", "closing tags before opening ones", _backwards),
    _of_form("tags_named", "a sentence that names the tags", _named),
    _of_form(
        "open_tags",
        "tags that are never closed",
        lambda text: re.sub(TAG.replace("/?", "/"), "", text),
    ),
)


@strategy(
    "look_alikes",
    "the right answer in fake marks",
    expects="mark",
    knows="mark",
    tag=True,
)
def marks_that_are_none(subject: Subject) -> Iterator[str]:
    form = subject.format
    yield f"{form.lead}{_escaped(form.marked(subject.right))}"
    yield f"{form.lead}{form.marked(subject.right).translate(WIDE)}"
    yield f"{form.lead}{_backwards(form.marked(subject.right))}"
    yield f"{form.lead}{re.sub(r'<(/?)[A-Za-z_][^>]*>', _misspelt, form.marked(subject.right))}"


def _misspelt(found: re.Match[str]) -> str:
    """A tag with another name that begins with the same letter."""
    return f"<{found[1]}{found[0].strip('</>')[0]}bout>"
