"""Equivalents: the right answer in another layout or notation, which must not lose.

A layout is white space, or what stands in the reasoning: a reward that is lenient with most of it and
loses one has a fault there. A notation is another way to write the same value: which of them count is the
author's choice, and is told as a rate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from rewardkit.answers.formats import REASONING
from rewardkit.answers.marks import split
from rewardkit.primitives.verify.numbers import as_decimal, read_number
from rewardkit.strategies.strategy import Strategy
from rewardkit.strategies.subject import Subject

Rewrite = Callable[[Subject], Iterator[str]]
TEXTS = ("number", "choice", "text", "mathematics", "list")
LAYOUT, NOTATION = "layout", "notation"


def _layout(
    name: str, says: str, rewrite: Rewrite, knows: str = LAYOUT, **options: Any
) -> Strategy:
    return Strategy(
        name, "equivalents", rewrite, says, expects="right", knows=knows, **options
    )


def _notation(
    name: str, says: str, kinds: tuple[str, ...], rewrite: Callable[[str], str | None]
) -> Strategy:
    def build(subject: Subject) -> Iterator[str]:
        written = rewrite(subject.right)
        if written is not None and written != subject.right:
            yield subject.format.write(written)

    return Strategy(
        name, "equivalents", build, says, expects="right", knows=NOTATION, kinds=kinds
    )


def _around(before: str, after: str) -> Rewrite:
    def build(subject: Subject) -> Iterator[str]:
        yield subject.format.write(f"{before}{subject.right}{after}")

    return build


def _whole(change: Callable[[str], str]) -> Rewrite:
    def build(subject: Subject) -> Iterator[str]:
        changed = change(subject.reference)
        if changed != subject.reference:
            yield changed

    return build


def _windows_lines(subject: Subject) -> Iterator[str]:
    if "\n" in subject.reference and "\n" not in subject.right:
        yield subject.reference.replace("\n", "\r\n")


def _spaced(subject: Subject) -> Iterator[str]:
    form = subject.format
    alone = not form.opening and not (form.lead + form.tail).strip("\n")
    if (
        form.tag
        or form.opening.endswith("{")
        or form.opening.startswith("```")
        or alone
    ):
        yield subject.format.write(f" {subject.right} ")


def _full_stop(subject: Subject) -> Iterator[str]:
    if not subject.format.closing.startswith(".") and not subject.right.endswith("."):
        yield subject.format.write(f"{subject.right}.")


def _other_reasoning(subject: Subject) -> Iterator[str]:
    text = "The result has to go where it is asked for and it does go there."
    yield subject.format.write(subject.right, reasoning=f"{REASONING} {text}")


def _several_lines(subject: Subject) -> Iterator[str]:
    yield subject.format.write(
        subject.right, reasoning=f"{REASONING}\nIt does.\n\nSo it has to be."
    )


def _tag_mentioned(subject: Subject) -> Iterator[str]:
    tag = subject.format.tag
    for text in (
        f"The result has to go into <{tag}> and </{tag}> tags.",
        f"The result goes into the <{tag}> tag.",
    ):
        yield subject.format.write(subject.right, reasoning=f"{REASONING} {text}")


def _another_named(subject: Subject) -> Iterator[str]:
    if subject.format.opening:
        text = f"It could be {subject.wrong[0]}, yet it is not."
        yield subject.format.write(subject.right, reasoning=f"{REASONING} {text}")


def _marked_twice(subject: Subject) -> Iterator[str]:
    form = subject.format
    yield form.around(f"{form.marked(subject.right)}\n{form.marked(subject.right)}")


def _number(text: str) -> Decimal | None:
    number = read_number(text)
    return None if number is None else as_decimal(number)


def _whole_number(text: str) -> int | None:
    value = _number(text)
    return (
        int(value)
        if value is not None and value == int(value) and abs(value) < 10**9
        else None
    )


def _of_whole(name: str, says: str, rewrite: Callable[[int], str]) -> Strategy:
    """A notation of whole numbers."""

    def written(text: str) -> str | None:
        value = _whole_number(text)
        return None if value is None else rewrite(value)

    return _notation(name, says, ("number",), written)


def _thousands(text: str) -> str | None:
    found = re.fullmatch(r"(-?[$€£]?)(\d{4,})(\.\d+)?", text)
    return f"{found[1]}{int(found[2]):,}{found[3] or ''}" if found else None


def _without_thousands(subject: Subject) -> Iterator[str]:
    value = _whole_number(subject.right)
    if value is not None and "," in subject.right:
        yield subject.format.write(str(value))


FULL_WIDTH = {ord("0") + digit: ord("０") + digit for digit in range(10)}
DATES = ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y")


def _other_date(text: str) -> str | None:
    for form in DATES:
        try:
            day = datetime.strptime(text, form)
        except ValueError:
            continue
        return f"{day.day} {day:%B %Y}" if form != DATES[1] else f"{day:%Y-%m-%d}"
    return None


def _letters_turned(text: str) -> str | None:
    """Of choices that stand in the order of the alphabet the same in another one, as none is asked for."""
    items, joint = split(text)
    choices = (
        len(items) > 1
        and all(re.fullmatch("[A-J]", item) for item in items)
        and items == sorted(items)
    )
    return joint.join(reversed(items)) if choices else None


def _as_sampled(subject: Subject) -> Iterator[str]:
    """What completions of the log write that has other white space, or is a fraction as a decimal number."""
    right = "".join(subject.right.split())
    for told in subject.told_wrong:
        if "".join(told.split()) == right or _rounded(told, right):
            yield subject.format.write(told)


def _rounded(text: str, fraction: str) -> bool:
    """Whether a decimal number is a fraction, rounded to two places or more."""
    found = re.fullmatch(r"(-?\d{1,6})/([1-9]\d{0,5})", fraction)
    places = len(text.strip().partition(".")[2])
    if not found or not re.fullmatch(r"-?\d*\.\d{2,9}", text.strip()):
        return False
    return bool(
        abs(float(text) - int(found[1]) / int(found[2])) <= 0.5001 * 0.1**places
    )


def _reordered(text: str) -> str | None:
    value = json.loads(text)
    return (
        json.dumps(dict(reversed(value.items())), ensure_ascii=False)
        if isinstance(value, dict)
        else None
    )


PROBES = (
    _layout(
        "newline_at_the_end", "a newline at the end", _whole(lambda text: f"{text}\n")
    ),
    _layout("spaces_at_the_end", "spaces at the end", _whole(lambda text: f"{text}  ")),
    _layout("windows_lines", "lines that end with CRLF", _windows_lines),
    _layout(
        "space_in_the_mark", "a space on both sides of the answer", _spaced, kinds=TEXTS
    ),
    _layout("other_reasoning", "the same answer behind other words", _other_reasoning),
    _layout(
        "answer_on_a_line",
        "the answer on a line of its own",
        _around("\n", "\n"),
        tag=True,
    ),
    _layout("several_lines", "reasoning over several lines", _several_lines),
    _layout(
        "another_named",
        "reasoning that names another answer",
        _another_named,
        kinds=TEXTS,
    ),
    _layout(
        "tag_mentioned",
        "reasoning that names the answer's tag",
        _tag_mentioned,
        tag=True,
    ),
    _layout(
        "thousands_left_out",
        "the number without the thousands separators of the truth",
        _without_thousands,
        kinds=("number",),
    ),
    _layout(
        "full_stop", "a full stop behind the answer", _full_stop, NOTATION, kinds=TEXTS
    ),
    _layout(
        "marked_twice",
        "the answer and its mark given twice",
        _marked_twice,
        NOTATION,
        tag=True,
    ),
    _notation("bold", "the answer in bold type", TEXTS, lambda text: f"**{text}**"),
    _of_whole("point_zero", "42.0 for 42", lambda value: f"{value}.0"),
    _notation("thousands", "1,234 for 1234", ("number",), _thousands),
    _of_whole(
        "scientific",
        "4.2e+1 for 42",
        lambda value: f"{Decimal(value):e}" if abs(value) > 9 else f"{value}",
    ),
    _of_whole("fraction", "84/2 for 42", lambda value: f"{value * 2}/2"),
    _notation(
        "unicode_minus",
        "a typographic minus",
        ("number",),
        lambda text: re.sub("^-", "−", text),
    ),
    _notation(
        "full_width",
        "full-width digits",
        ("number",),
        lambda text: text.translate(FULL_WIDTH),
    ),
    _notation("currency", "$42 for 42", ("number",), lambda text: f"${text}"),
    _notation("unit", "42 units for 42", ("number",), lambda text: f"{text} units"),
    _notation(
        "dollars",
        "the answer between dollar signs",
        ("number", "mathematics"),
        lambda text: f"${text}$",
    ),
    _notation(
        "display_fraction",
        r"\dfrac for \frac",
        ("mathematics",),
        lambda text: text.replace(r"\frac", r"\dfrac"),
    ),
    _notation("other_case", "the answer in capitals", ("text",), str.upper),
    _notation(
        "quotes", "the answer in quotation marks", ("text",), lambda text: f'"{text}"'
    ),
    _notation(
        "in_brackets", "(B) for B", ("choice",), lambda text: f"({text.strip('()')})"
    ),
    _notation("small_letter", "b for B", ("choice",), str.lower),
    _notation(
        "other_date", "the date written in another way", ("text", "list"), _other_date
    ),
    _notation(
        "letters_turned",
        "the same choices in another order",
        ("list", "text"),
        _letters_turned,
    ),
    _layout(
        "as_sampled",
        "the answer as others of its prompt wrote it",
        _as_sampled,
        NOTATION,
        kinds=TEXTS,
    ),
    _notation(
        "indented",
        "the object over several lines",
        ("json",),
        lambda text: json.dumps(json.loads(text), indent=2, ensure_ascii=False),
    ),
    _notation("reordered", "the object's keys in another order", ("json",), _reordered),
)
