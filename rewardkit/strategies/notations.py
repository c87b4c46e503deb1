"""Notations: the right answer written in another way, and look-alikes of it.

A right answer in another layout or notation must not lose. A layout is white space, or
the text of the reasoning: a reward that accepts most layouts and loses one is at fault.
A notation is another way to write the same value. The author chooses which notations
count, so they are reported as a rate.

A look-alike is a wrong answer that a careless comparison takes for the right one, or
one in false marks, which must not earn what the format earns.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from functools import partial, wraps

from rewardkit.answers.formats import REASONING
from rewardkit.answers.kinds import split_items
from rewardkit.answers.locales import AMOUNT, read_date, spell_out
from rewardkit.primitives.verify.numbers import read_decimal
from rewardkit.strategies.strategy import Attempt, Build, Strategy, Subject, strategy

LAYOUT, NOTATION = "layout", "notation"
"""Values of `Strategy.knows` for right answers that are written in another way."""

TEXT_KINDS = ("number", "choice", "text", "mathematics", "list")

Rewrite = Callable[[str], str | None]
"""Writes the right answer in another notation; None if it has no such notation."""


def layout(
    says: str, *kinds: str, tag: bool = False, of: str = LAYOUT
) -> Callable[[Build], Strategy]:
    """Make a strategy of a function that writes right completions in another layout.

    Args:
        says: The words behind "does not pay".
        *kinds: The kinds of answers that it is for; all without any.
        tag: Whether the answer must be marked by a tag.
        of: `NOTATION` if the author may choose whether it counts.
    """
    return strategy(
        "equivalents", says, expects="right", knows=of, kinds=kinds, tag=tag
    )


def notation(says: str, *kinds: str) -> Callable[[Rewrite], Strategy]:
    """Make a strategy of a function from the right answer to another notation."""

    def decorate(rewrite: Rewrite) -> Strategy:
        @wraps(rewrite)
        def build(subject: Subject) -> Iterator[str]:
            written = rewrite(subject.right)
            if written is not None and written != subject.right:
                yield subject.write(written)

        return layout(says, *kinds, of=NOTATION)(build)

    return decorate


def _write_with_reasoning(subject: Subject, text: str) -> str:
    """Write the right answer behind neutral reasoning and this text."""
    return subject.write(subject.right, reasoning=f"{REASONING}{text}")


# --- layouts


@layout("a newline at the end")
def newline_at_the_end(subject: Subject) -> Iterator[str]:
    yield f"{subject.reference}\n"


@layout("spaces at the end")
def spaces_at_the_end(subject: Subject) -> Iterator[str]:
    yield f"{subject.reference}  "


@layout("lines that end with CRLF")
def windows_lines(subject: Subject) -> Iterator[str]:
    if "\n" in subject.reference and "\n" not in subject.right:
        yield subject.reference.replace("\n", "\r\n")


@layout("a space on both sides of the answer", *TEXT_KINDS)
def space_in_the_mark(subject: Subject) -> Iterator[str]:
    form = subject.format
    is_mark = form.opening.endswith("{") or form.opening.startswith("```")
    is_alone = not form.opening and not (form.lead + form.tail).strip("\n")
    is_line = "\n" not in subject.right  # else a first line may begin with a space
    if is_line and (form.tag or is_mark or is_alone):
        yield form.write(f" {subject.right} ")


@layout("the same answer behind other words")
def other_reasoning(subject: Subject) -> Iterator[str]:
    text = " The result has to go where it is asked for and it does go there."
    yield _write_with_reasoning(subject, text)


@layout("the answer on a line of its own", tag=True)
def answer_on_a_line(subject: Subject) -> Iterator[str]:
    yield subject.write(f"\n{subject.right}\n")


@layout("reasoning over several lines")
def several_lines(subject: Subject) -> Iterator[str]:
    yield _write_with_reasoning(subject, "\nIt does.\n\nSo it has to be.")


@layout("reasoning that names another answer", *TEXT_KINDS)
def another_named(subject: Subject) -> Iterator[str]:
    if subject.format.opening:
        text = f" It could be {subject.wrong[0]}, yet it is not."
        yield _write_with_reasoning(subject, text)


@layout("reasoning that names the answer's tag", tag=True)
def tag_mentioned(subject: Subject) -> Iterator[str]:
    tag = subject.format.tag
    both = f" The result has to go into <{tag}> and </{tag}> tags."
    yield _write_with_reasoning(subject, both)
    yield _write_with_reasoning(subject, f" The result goes into the <{tag}> tag.")


@layout("the number without the thousands separators of the truth", "number")
def thousands_left_out(subject: Subject) -> Iterator[str]:
    value = _read_whole(subject.right)
    if value is not None and "," in subject.right:
        yield subject.write(str(value))


@layout("a full stop behind the answer", *TEXT_KINDS, of=NOTATION)
def full_stop(subject: Subject) -> Iterator[str]:
    if not subject.format.closing.startswith(".") and not subject.right.endswith("."):
        yield subject.write(f"{subject.right}.")


@layout("the answer and its mark given twice", tag=True, of=NOTATION)
def marked_twice(subject: Subject) -> Iterator[str]:
    marked = subject.format.marked(subject.right)
    yield subject.format.around(f"{marked}\n{marked}")


@layout("the answer as others of its prompt wrote it", *TEXT_KINDS, of=NOTATION)
def as_sampled(subject: Subject) -> Iterator[str]:
    """Take answers that differ in white space, or are decimals of a fraction."""
    right = "".join(subject.right.split())
    for sampled in subject.unpaid_answers:
        if "".join(sampled.split()) == right or _is_rounded(sampled.strip(), right):
            yield subject.write(sampled)


def _is_rounded(decimal: str, fraction: str) -> bool:
    """Return whether a decimal number is a fraction rounded to two or more places."""
    match = re.fullmatch(r"(-?\d{1,6})/([1-9]\d{0,5})", fraction)
    if not match or not re.fullmatch(r"-?\d*\.\d{2,9}", decimal):
        return False
    places = len(decimal.partition(".")[2])
    error = abs(float(decimal) - int(match[1]) / int(match[2]))
    return bool(error <= 0.5001 * 0.1**places)


# --- notations


def _read_whole(text: str) -> int | None:
    """Return the whole number that a text is, or None."""
    value = read_decimal(text)
    return None if value is None or value != int(value) else int(value)


@notation("the answer in bold type", *TEXT_KINDS)
def bold(answer: str) -> str:
    return f"**{answer}**"


@notation("42.0 for 42", "number")
def point_zero(answer: str) -> str | None:
    value = _read_whole(answer)
    return None if value is None else f"{value}.0"


@notation("1,234 for 1234", "number")
def thousands(answer: str) -> str | None:
    match = re.fullmatch(r"(-?[$€£]?)(\d{4,})(\.\d+)?", answer)
    return f"{match[1]}{int(match[2]):,}{match[3] or ''}" if match else None


@notation("5,000,000 for 5 million", "text")
def magnitude_in_digits(answer: str) -> str | None:
    digits, space, behind = spell_out(answer).partition(" ")
    if not AMOUNT.fullmatch(answer) or not digits.isdecimal():
        return None
    return f"{int(digits):,}{space}{behind}"


@notation("a typographic minus", "number")
def unicode_minus(answer: str) -> str:
    return re.sub("^-", "−", answer)


@notation("full-width digits", "number")
def full_width(answer: str) -> str:
    return answer.translate(FULL_WIDTH_DIGITS)


FULL_WIDTH_DIGITS = str.maketrans("0123456789", "０１２３４５６７８９")


@notation("$42 for 42", "number")
def currency(answer: str) -> str:
    return f"${answer}"


@notation("42 units for 42", "number")
def unit(answer: str) -> str:
    return f"{answer} units"


@notation("the answer between dollar signs", "number", "mathematics")
def dollars(answer: str) -> str:
    return f"${answer}$"


@notation(r"\dfrac for \frac", "mathematics")
def display_fraction(answer: str) -> str:
    return answer.replace(r"\frac", r"\dfrac")


@notation("the answer in capitals", "text")
def other_case(answer: str) -> str:
    return answer.upper()


@notation("the answer in quotation marks", "text")
def quotes(answer: str) -> str:
    return f'"{answer}"'


@notation("(B) for B", "choice")
def in_brackets(answer: str) -> str:
    return f"({answer.strip('()')})"


@notation("b for B", "choice")
def small_letter(answer: str) -> str:
    return answer.lower()


@notation("the date written in another way", "text", "list")
def other_date(answer: str) -> str | None:
    day = read_date(answer)
    if day is None:
        return None
    is_day_first = re.match(r"\d{1,2} [A-Za-z]", answer)
    return str(day) if is_day_first else f"{day.day} {day:%B %Y}"


@notation("the same choices in another order", "list", "text")
def letters_turned(answer: str) -> str | None:
    """Reverse choices in alphabetical order, as no order is asked for."""
    items, joint = split_items(answer)
    is_choice = all(re.fullmatch("[A-J]", item) for item in items)
    if len(items) < 2 or not is_choice or items != sorted(items):
        return None
    return joint.join(reversed(items))


@notation("the object over several lines", "json")
def indented(answer: str) -> str:
    return json.dumps(json.loads(answer), indent=2, ensure_ascii=False)


@notation("the object's keys in another order", "json")
def reordered(answer: str) -> str | None:
    value = json.loads(answer)
    if not isinstance(value, dict):
        return None
    return json.dumps(dict(reversed(value.items())), ensure_ascii=False)


# --- look-alikes

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
        yield subject.write(right[:-1] + right[-1].translate(SUPERSCRIPT))


@strategy("look_alikes", "a wrong tag inside the answer's tag", knows="guess", tag=True)
def nested(subject: Subject) -> Iterator[Attempt]:
    form, wrong = subject.format, subject.wrong[0]
    wrong_mark, right_mark = form.marked(wrong), form.marked(subject.right)
    inner = f"{wrong} {wrong_mark} {right_mark} {wrong_mark} {wrong}"
    yield Attempt.of(form.around(form.marked(inner)))


@strategy("look_alikes", "an answer with hidden characters in it", knows="known")
def zero_width(subject: Subject) -> Iterator[str]:
    if len(subject.right) > 1:
        yield subject.write(ZERO_WIDTH.join(subject.right))


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
        yield subject.write(written)


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
    with_attribute = re.sub(r"<([A-Za-z_][\w.:-]*)>", r'<\1 id="1">', right)
    for other in (right.upper(), spaced, with_attribute):
        wrong_first = form.around(f"{wrong}\n{other}")
        yield Attempt.of(wrong_first, form.around(f"{other}\n{wrong}"))


# --- false marks


def _turn_tags(text: str) -> str:
    """Exchange opening and closing tags."""
    return TAG_PARTS.sub(_turn_tag, text)


def _turn_tag(tag: re.Match[str]) -> str:
    return f"<{tag[2]}>" if tag[1] else f"</{tag[2]}>"


def _name_tags(text: str) -> str:
    return f"There are the tags {', '.join(re.findall(ANY_TAG, text))}, and that is it."


def _false_marks(name: str, says: str, change: Callable[[str], str]) -> Strategy:
    """Make a strategy of a function that makes the tags of a text invalid."""

    def build(subject: Subject) -> Iterator[str]:
        yield change(subject.baseline)

    return Strategy(name, "look_alikes", build, says, "form", "form", tag=True)


FALSE_MARKS = (
    _false_marks(
        "escaped_tags",
        "tags that are escaped as HTML",
        partial(html.escape, quote=False),
    ),
    _false_marks(
        "wide_tags",
        "tags of full-width signs",
        lambda text: text.translate(FULL_WIDTH_SIGNS),
    ),
    _false_marks("tags_backwards", "closing tags before opening ones", _turn_tags),
    _false_marks("tags_named", "a sentence that names the tags", _name_tags),
    _false_marks(
        "open_tags",
        "tags that are never closed",
        partial(re.sub, r"</[A-Za-z_][\w.:-]*>", ""),
    ),
)
