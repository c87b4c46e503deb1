"""Excerpts: a completion as a person can read it: short, nothing hidden in it, what fields took marked."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

Span = tuple[int, int]

LINE = ContextVar("LINE", default=110)
"""Characters of a line of plain text; the command line sets it to what its terminal has."""

LONGEST = 420  # characters of a completion that are shown, and of what a field took
AROUND = 60  # characters shown on both sides of what a field took


@dataclass(frozen=True)
class Shown:
    """A text to show, and the spans of each field in it."""

    text: str
    spans: Mapping[str, Sequence[Span]]

    def bracketed(self) -> str:
        """The text with what each field took in brackets that name it, for a terminal."""
        text, position = "", 0
        for start, end, name in sorted(
            (*span, name) for name, found in self.spans.items() for span in found
        ):
            if start >= position:  # one that begins inside another is left out
                text += f"{self.text[position:start]}⟦{name}: {self.text[start:end]}⟧"
                position = end
        return text + self.text[position:]


def shown(
    text: str,
    spans: Mapping[str, Sequence[Span]] | None = None,
    *,
    longest: int = LONGEST,
) -> Shown:
    """A text with what is hidden in it made visible, and what is long left out of its middle.

    What stands around the spans is kept; they are those of the text that is shown.

    >>> shown("0123456789" * 10, longest=30).text
    '01234567890123456789 ⟨70 characters⟩ 0123456789'
    """
    spans = spans or {}
    read, position = "", 0
    places: dict[int, int] = {}  # of characters that are kept, in what is shown
    kept = _kept(text, [span for found in spans.values() for span in found], longest)
    for start, end in [*kept, (len(text), len(text))]:
        if start > position:
            read += f" ⟨{start - position:,} characters⟩ "
        for place in range(start, end):
            places[place] = len(read)
            read += _seen(text[place])
        places[end], position = len(read), end
    return Shown(
        read,
        {
            name: [(places[a], places[b]) for a, b in found]
            for name, found in spans.items()
        },
    )


def _kept(text: str, spans: Sequence[Span], longest: int) -> list[Span]:
    """The pieces of a text that are shown: its beginning and end, and what stands around the spans."""
    if len(text) <= longest:
        return [(0, len(text))]
    wanted = [(0, 2 * longest // 3), (len(text) - longest // 3, len(text))]
    for start, end in spans:
        wanted += [
            (start - AROUND, min(end, start + longest // 2) + AROUND),
            (end - AROUND, end + AROUND),
        ]
    kept: list[Span] = []
    for start, end in sorted(
        (max(0, start), min(len(text), end)) for start, end in wanted
    ):
        if kept and start <= kept[-1][1] + AROUND // 2:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        else:
            kept.append((start, end))
    return kept


def visible(text: str) -> str:
    r"""Text in which every character can be seen: controls, what has no width, and half characters by name.

    Line breaks and tabs stay.

    >>> visible("a\x1b[2J\u200b\u202eb\r\n\ud800")
    'a␛[2J⟨U+200B⟩⟨U+202E⟩b␍\n⟨U+D800⟩'
    """
    return (
        "".join(map(_seen, text))
        if not text.isascii() or not text.isprintable()
        else text
    )


def _seen(character: str) -> str:
    code = ord(character)
    if (
        character in "\n\t"
        or character.isprintable()
        or unicodedata.category(character) == "Zs"
    ):
        return character
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"


def one_line(text: object, longest: int = 300) -> str:
    """Any text on one line, with nothing hidden in it."""
    line = " ".join(visible(str(text)).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."
