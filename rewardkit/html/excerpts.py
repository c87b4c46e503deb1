"""Make users' and models' texts readable, in a terminal and as Markdown.

An excerpt is short, shows invisible characters, and marks what fields extracted. The
switch `hide_user_texts` hides all users' texts.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from html import escape

from rewardkit.reasons import Reason

Span = tuple[int, int]

LINE = ContextVar("LINE", default=110)
"""Characters in a line of text; the command line sets it to the terminal's width."""

LONGEST_EXCERPT = 420  # characters of an excerpt
AROUND = 60  # characters shown on both sides of a span
WORD_END_WITHIN = 16  # characters to move a cut to the end of a word
LONGEST_LINE = 800
"""Most characters of a line, which may quote messages of a user's function."""
INDENT = 4 * " "  # before the continuation lines of a wrapped line


# --- texts of users


class _Switch:
    """The state of the process: whether users' texts are hidden."""

    hides_texts = False


def hide_user_texts(hidden: bool = True) -> None:
    """Hide every `UserText` that is rendered from now on, or show them again.

    A report with ``redact=True`` calls this in its first cell. The switch is global,
    not a context variable, because a kernel runs each cell in a new context.
    """
    _Switch.hides_texts = hidden


@contextmanager
def hidden_user_texts(hidden: bool = True) -> Iterator[None]:
    """Hide user texts inside a ``with`` block; with False change nothing."""
    before = user_texts_are_hidden()
    hide_user_texts(before or hidden)
    try:
        yield
    finally:
        hide_user_texts(before)


def user_texts_are_hidden() -> bool:
    """Return whether users' texts are hidden."""
    return _Switch.hides_texts


@dataclass(frozen=True)
class UserText:
    """A text that quotes a user or a model: a prompt, completion, truth or error.

    A page accepts it wherever it accepts a text. ``str()`` returns the text; while user
    texts are hidden, `instead`, by default the number of hidden words.
    """

    text: object
    instead: str | None = None

    def __str__(self) -> str:
        if not user_texts_are_hidden():
            return "-" if self.text is None else str(self.text)
        if self.instead is not None:
            return self.instead
        if self.text is None:
            return "-"
        words = len(str(self.text).split())
        return f"[redacted, {words} word{'' if words == 1 else 's'}]"


Text = str | UserText


def quote_reason(reason: Reason, *, before: str = "") -> UserText:
    """Return a reason after the text `before`; its quotes can be hidden."""
    return UserText(f"{before}{reason}", f"{before}{reason.redacted()}")


# --- excerpts


@dataclass(frozen=True)
class Excerpt:
    """A text to show, and the spans of each field in it."""

    text: str
    spans: Mapping[str, Sequence[Span]]

    def bracketed(self) -> str:
        """Return the text for a terminal, with extractions in brackets."""
        spans = []
        for name, places in self.spans.items():
            spans += [(start, end, name) for start, end in places]
        text = ""
        position = 0
        for start, end, name in sorted(spans):
            if start >= position:  # skip a span that begins inside another
                text += f"{self.text[position:start]}⟦{name}: {self.text[start:end]}⟧"
                position = end
        return text + self.text[position:]


def make_excerpt(
    text: str,
    spans: Mapping[str, Sequence[Span]] | None = None,
    *,
    longest: int = LONGEST_EXCERPT,
) -> Excerpt:
    """Return a text with visible characters only; a long one without its middle.

    The surroundings of spans are kept. The spans of the result refer to the excerpt.

    >>> make_excerpt("0123456789" * 10, longest=30).text
    '01234567890123456789 ⟨70 characters⟩ 0123456789'
    """
    spans = spans or {}
    excerpt = ""
    position = 0
    places: dict[int, int] = {}  # place in the text -> place in the excerpt
    pieces = _choose_pieces(text, spans, longest)
    for start, end in [*pieces, (len(text), len(text))]:
        if start > position:
            excerpt += f" ⟨{start - position:,} characters⟩ "
        for place in range(start, end):
            places[place] = len(excerpt)
            excerpt += _make_character_visible(text[place])
        places[end] = len(excerpt)
        position = end
    moved_spans = {}
    for name, ends in spans.items():
        moved_spans[name] = [(places[start], places[end]) for start, end in ends]
    return Excerpt(excerpt, moved_spans)


def _choose_pieces(
    text: str, spans: Mapping[str, Sequence[Span]], longest: int
) -> list[Span]:
    """Choose the parts to show: start, end, and the surroundings of each span."""
    if len(text) <= 5 * longest // 4:  # the note on a cut would be as long
        return [(0, len(text))]
    head = 2 * longest // 3
    tail = len(text) - longest // 3
    last_blank = text.rfind(" ", head - WORD_END_WITHIN, head)
    next_blank = text.find(" ", tail, tail + WORD_END_WITHIN)
    if last_blank > 0:
        head = last_blank
    if next_blank > 0:
        tail = next_blank + 1
    wanted = [(0, head), (tail, len(text))]
    for ends in spans.values():
        for start, end in ends:
            last = min(end, start + longest // 2)  # only the start of a long span
            wanted.append((start - AROUND, last + AROUND))
            wanted.append((end - AROUND, end + AROUND))
    pieces: list[Span] = []
    for start, end in sorted(wanted, key=lambda piece: max(0, piece[0])):
        start = max(0, start)
        end = min(len(text), end)
        if pieces and start <= pieces[-1][1] + AROUND // 2:
            start, last = pieces.pop()
            end = max(end, last)
        pieces.append((start, end))
    return pieces


def visible(text: str) -> str:
    r"""Replace controls, zero-width characters and lone surrogates by visible names.

    Line breaks and tabs are kept.

    >>> visible("a\x1b[2J\u200b\u202eb\r\n\ud800")
    'a␛[2J⟨U+200B⟩⟨U+202E⟩b␍\n⟨U+D800⟩'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_make_character_visible, text))


def _make_character_visible(character: str) -> str:
    if character in "\n\t" or character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"


def one_line(text: object, longest: int = 300) -> str:
    """Return a text on one line, with visible characters only."""
    line = " ".join(visible(str(text)).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


# --- lines of a terminal and of Markdown


def wrap_line(text: Text, *, indent: str = INDENT) -> list[str]:
    """Break a line at the width of the terminal, keeping its leading blanks."""
    line = str(text)
    blanks = line[: len(line) - len(line.lstrip(" "))]
    return textwrap.wrap(
        one_line(line, LONGEST_LINE),
        LINE.get() - 4,
        initial_indent=blanks,
        subsequent_indent=blanks + indent,
        break_on_hyphens=False,
    )


def prefix_lines(prefix: str, lines: Sequence[str]) -> list[str]:
    """Put a prefix, such as blanks, before each line."""
    return [prefix + line for line in lines]


def escape_markdown(text: object, longest: int = LONGEST_LINE) -> str:
    """Return text as Markdown that shows it literally."""
    line = escape(one_line(text, longest), quote=False)
    return re.sub(r"([\\`*_\[\]#+!|~$]|^-)", r"\\\1", line)


def fence(text: str) -> str:
    """Return a text as a Markdown code block that the text itself cannot close."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
