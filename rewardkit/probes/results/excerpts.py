"""Shown: a completion as a person can read it: short, nothing hidden in it, what fields took marked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.primitives.extract import Extractor, Span
from rewardkit.rewards.reward import Reward

__all__ = ["Shown", "field_spans", "one_line", "shown", "visible"]

LONGEST = 420  # characters of a completion that are shown, and of what a field took
AROUND = 60  # characters shown on both sides of what a field took
EXTRACTED = 20_000  # characters of a completion up to which fields are shown
MARKED = 4  # spans of a field
WORD = 20  # characters that a gap is moved by, so that it does not part a word
RUN = 8  # characters that are shown of a run of one
RUNS = re.compile(rf"(.)\1{{{2 * RUN},}}", re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """A text to show, and the spans of each field in it."""

    text: str
    spans: Mapping[str, Sequence[Span]]

    def bracketed(self) -> str:
        """The text with what each field took in brackets that name it, for a terminal."""
        edges = [(span, name) for name, found in self.spans.items() for span in found]
        opened = sorted(edges, key=lambda edge: (edge[0][0], -edge[0][1]))
        pieces: list[str] = []
        stack: list[int] = []
        for at in range(len(self.text) + 1):
            while stack and stack[-1] <= at:
                stack.pop()
                pieces.append("⟧")
            while opened and opened[0][0][0] == at:
                (_, end), name = opened.pop(0)
                pieces.append(f"⟦{name}: ")
                stack.append(min(end, *stack) if stack else end)
            while stack and stack[-1] <= at:  # an empty span
                stack.pop()
                pieces.append("⟧")
            pieces.append(self.text[at : at + 1])
        return "".join(pieces)


def field_spans(reward: Reward, columns: Mapping[str, Any]) -> dict[str, list[Span]]:
    """Where the fields stand that extractors take from the completion; of a very long one nothing."""
    completion = columns.get("completion")
    if not isinstance(completion, str) or len(completion) > EXTRACTED:
        return {}
    found: dict[str, list[Span]] = {}
    for part in reward.parts({name: [value] for name, value in columns.items()}, 1):
        for name, function in part.reward.fields.items():
            if isinstance(function, Extractor):
                try:
                    found[name] = function.spans(completion)[:MARKED]
                except TimeoutError:  # a pattern that took too long found nothing
                    continue
    return {name: spans for name, spans in found.items() if spans}


def shown(text: str, spans: Mapping[str, Sequence[Span]] | None = None, *, longest: int = LONGEST) -> Shown:
    """A text with what is hidden in it made visible, and what is long left out of its middle.

    What stands around the spans is kept; they are those of the text that is shown.

    >>> shown("0123456789" * 10, longest=30).text, shown("a" * 1000 + "!").text
    ('01234567890123456789 ⟨70 characters⟩ 0123456789', 'aaaaaaaa ⟨992 characters⟩ !')
    """
    spans = spans or {}
    pieces, places, length = [], [], 0
    position = 0
    kept = _kept(text, [span for found in spans.values() for span in found], longest)
    for start, end in [*kept, (len(text), len(text))]:
        if start > position:
            gap = f" ⟨{start - position:,} characters⟩ "
            pieces.append(gap)
            length += len(gap)
        places.append((start, end, length))
        seen = visible(text[start:end])
        pieces.append(seen)
        length += len(seen)
        position = end

    def moved(at: int) -> int:
        start, end, before = next(place for place in places if at <= place[1])
        return before + len(visible(text[start : max(start, min(at, end))]))

    return Shown(
        "".join(pieces),
        {name: [(moved(start), moved(end)) for start, end in found] for name, found in spans.items()},
    )


def _kept(text: str, spans: Sequence[Span], longest: int) -> list[Span]:
    """The pieces of a text that are shown: its beginning and end, and what stands around the spans.

    Of one character again and again only the first few.
    """
    runs = [(found.start() + RUN, found.end()) for found in RUNS.finditer(text)]
    length = len(text) - sum(end - start for start, end in runs)
    if length <= longest:
        return _without(runs, [(0, len(text))])
    wanted = [
        (0, _word_end(text, 2 * longest // 3)),
        (_word_start(text, len(text) - longest // 3), len(text)),
    ]
    for start, end in spans:
        wanted.append((start - AROUND, min(end, start + longest // 2) + AROUND))
        wanted.append((end - AROUND, end + AROUND))
    kept: list[Span] = []
    for start, end in sorted((max(0, start), min(len(text), end)) for start, end in wanted):
        if kept and start <= kept[-1][1] + AROUND // 2:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        else:
            kept.append((start, end))
    return _without(runs, kept)


def _word_end(text: str, at: int) -> int:
    """The end of the last whole word before a place, if one ends near it."""
    space = max(text.rfind(sign, at - WORD, at) for sign in " \n")
    return space if space > 0 else at


def _word_start(text: str, at: int) -> int:
    """The start of the first whole word behind a place, if one starts near it."""
    spaces = [space for sign in " \n" if (space := text.find(sign, at, at + WORD)) >= 0]
    return min(spaces) + 1 if spaces else at


def _without(runs: Sequence[Span], kept: Sequence[Span]) -> list[Span]:
    """The pieces without the runs."""
    pieces: list[Span] = []
    for start, end in kept:
        for low, high in runs:
            if low < end and high > start:
                pieces.append((start, low))
                start = high
        pieces.append((start, end))
    return [(start, end) for start, end in pieces if start < end]


def visible(text: str) -> str:
    r"""Text in which every character can be seen: controls, what has no width, and half characters by name.

    Line breaks and tabs stay.

    >>> visible("a\x1b[2J\u200b\u202eb\r\n\ud800")
    'a␛[2J⟨U+200B⟩⟨U+202E⟩b␍\n⟨U+D800⟩'
    """
    return "".join(map(_seen, text)) if not text.isascii() or not text.isprintable() else text


def _seen(character: str) -> str:
    code = ord(character)
    if character in "\n\t" or character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"


def one_line(text: object, longest: int = 300) -> str:
    """Any text on one line, with nothing hidden in it."""
    line = " ".join(visible(str(text)).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."
