"""Look-alikes: what looks like a mark or an answer and is none, and must not be paid.

Some hold a wrong answer that a careless comparison takes for the right one. The others
have a wrong answer in false marks: they must not earn what the format earns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rewardkit.strategies.strategy import Attempt, Strategy, Subject, strategy

SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LIKE_DIGITS = str.maketrans("012589", "OlZSBg")
FULL_WIDTH_SIGNS = str.maketrans("<>/", "＜＞／")
ZERO_WIDTH = "\u200b"
ANY_TAG = r"</?[A-Za-z_][\w.:-]*>"
TAG_PARTS = re.compile(r"<(/?)([A-Za-z_][\w.:-]*)>")


@strategy(
    "look_alikes",
    "a power for a number of two digits (4² for 42)",
    knows="near",
    kinds=("number",),
)
def superscript(subject: Subject) -> Iterator[str]:
    right = subject.right
    if re.fullmatch(r"[1-9]\d+", right):
        yield subject.format.write(right[:-1] + right[-1].translate(SUPERSCRIPT))


@strategy("look_alikes", "a wrong tag inside the answer's tag", knows="guess", tag=True)
def nested(subject: Subject) -> Iterator[Attempt]:
    form, wrong = subject.format, subject.wrong[0]
    wrong_mark, right_mark = form.marked(wrong), form.marked(subject.right)
    inner = f"{wrong} {wrong_mark} {right_mark} {wrong_mark} {wrong}"
    yield Attempt.of(form.around(form.marked(inner)))


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
    written = subject.right.translate(LIKE_DIGITS)
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
    spaced = re.sub(r"<(/?)([^>]*)>", r"<\1 \2>", right)
    for other in (right.upper(), spaced, _with_attribute(right)):
        wrong_first = form.around(f"{wrong}\n{other}")
        yield Attempt.of(wrong_first, form.around(f"{other}\n{wrong}"))


def _with_attribute(text: str) -> str:
    return re.sub(r"<([A-Za-z_][\w.:-]*)>", r'<\1 id="1">', text)


# --- false marks


def false_marks(says: str) -> Callable[[Callable[[str], str]], Strategy]:
    """Make a strategy of a function that makes the tags of a text false ones."""

    def decorate(change: Callable[[str], str]) -> Strategy:
        def build(subject: Subject) -> Iterator[str]:
            yield change(subject.baseline)

        name = change.__name__
        return Strategy(name, "look_alikes", build, says, "form", "form", tag=True)

    return decorate


def _escape_tags(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _widen_tags(text: str) -> str:
    return text.translate(FULL_WIDTH_SIGNS)


def _turn_tags(text: str) -> str:
    """Exchange opening and closing tags."""
    return TAG_PARTS.sub(_turn_tag, text)


def _turn_tag(tag: re.Match[str]) -> str:
    return f"<{tag[2]}>" if tag[1] else f"</{tag[2]}>"


@false_marks("tags that are escaped as HTML")
def escaped_tags(text: str) -> str:
    return _escape_tags(text)


@false_marks("tags of full-width signs")
def wide_tags(text: str) -> str:
    return _widen_tags(text)


@false_marks("closing tags before opening ones")
def tags_backwards(text: str) -> str:
    return _turn_tags(text)


@false_marks("a sentence that names the tags")
def tags_named(text: str) -> str:
    return f"There are the tags {', '.join(re.findall(ANY_TAG, text))}, and that is it."


@false_marks("tags that are never closed")
def open_tags(text: str) -> str:
    return re.sub(r"</[A-Za-z_][\w.:-]*>", "", text)


@strategy(
    "look_alikes",
    "the right answer in fake marks",
    expects="mark",
    knows="mark",
    tag=True,
)
def marks_that_are_none(subject: Subject) -> Iterator[str]:
    marked = subject.format.marked(subject.right)
    for change in (_escape_tags, _widen_tags, _turn_tags, _misspell_tags):
        yield f"{subject.format.lead}{change(marked)}"


def _misspell_tags(text: str) -> str:
    """Give tags another name that begins with the same letter."""
    return re.sub(r"<(/?)([A-Za-z_])[^>]*>", r"<\1\2bout>", text)
