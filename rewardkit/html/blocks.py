"""Blocks: the pieces of a page, each with HTML, Markdown and plain text.

Users' texts are `UserText` or `Quote`; `excerpts.hide_user_texts()` hides them all in
every form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from rewardkit.html.excerpts import (
    LINE,
    LONGEST_EXCERPT,
    LONGEST_LINE,
    Excerpt,
    Span,
    Text,
    escape_markdown,
    fence,
    make_excerpt,
    one_line,
    prefix_lines,
    user_texts_are_hidden,
    wrap_line,
)
from rewardkit.html.markup import (
    aligned,
    drop_empty_columns,
    escaped,
    folded,
    html_of,
    listed,
    marked,
    number,
    paragraphs,
    part,
    table,
    wrap_table,
)

MOST_ROWS = 24  # rows of a table; further rows are counted
LONGEST_HTML_CELL = 200  # characters, in HTML and Markdown
LONGEST_TEXT_CELL = 60  # characters, in a terminal
LONGEST_IN_SENTENCE = 80  # characters of a cell, in a row written as a sentence
LONGEST_IN_LINE = 70  # characters of a completion in a short text


class Piece:
    """A block of a page; each form is empty by default."""

    def lines(self, verbose: bool) -> list[str]:
        """Return its lines for a terminal; folded parts only if `verbose`."""
        return []

    @property
    def html(self) -> str:
        """Return it as escaped HTML."""
        return ""

    @property
    def inner_html(self) -> str:
        """Return it as escaped HTML inside a page."""
        return self.html

    @property
    def markdown(self) -> str:
        """Return it as Markdown."""
        return ""


Block = Text | Piece


@dataclass(frozen=True)
class TextLine(Piece):
    """A line of text; consecutive lines become a list."""

    text: Text

    def lines(self, verbose: bool) -> list[str]:
        return wrap_line(self.text)

    @property
    def html(self) -> str:
        return escaped(self.text, limit=LONGEST_LINE)

    @property
    def markdown(self) -> str:
        return escape_markdown(self.text)


@dataclass(frozen=True)
class Code(Piece):
    """A line of code, uncut so that it can be copied."""

    line: Text

    def lines(self, verbose: bool) -> list[str]:
        return f"  {self.line}".splitlines()

    @property
    def html(self) -> str:
        return part("parts", "code", str(self.line))

    @property
    def markdown(self) -> str:
        return fence(str(self.line))


@dataclass(frozen=True)
class Table(Piece):
    """Rows under a caption; columns named in `numeric` are right-aligned.

    A table with a caption is folded in HTML and left out of a short text, unless
    `is_open`. Columns that are "" in every row are left out, rows beyond `most` are
    counted, cells are cut at `limit` characters. On a narrow page, a `stacked` table
    has one line per cell. In a narrow terminal, a table that `wraps` breaks its cells
    between words; the rows of others become sentences.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    numeric: Sequence[str] = ()
    is_open: bool = False
    most: int = MOST_ROWS
    limit: int = LONGEST_HTML_CELL
    stacked: bool = False
    wraps: bool = False

    def lines(self, verbose: bool) -> list[str]:
        """Return its lines for a terminal; rows too wide for it become sentences."""
        if not self.rows or (self._is_folded and not verbose):
            return []
        header, rows = drop_empty_columns(self.header, self.rows)
        rows = rows[: self.most]
        cells = [_text_cells(row, LONGEST_TEXT_CELL) for row in rows]
        lines = aligned([_text_cells(header, LONGEST_TEXT_CELL), *cells])
        if max(map(len, lines)) > LINE.get() - 4:
            lines = []
            if self.wraps:
                cells = [_text_cells(row, LONGEST_IN_SENTENCE) for row in rows]
                lines = wrap_table(header, cells, self.numeric, LINE.get())
        if not lines:
            longest = self.limit if verbose else LONGEST_IN_SENTENCE
            for row in rows:
                texts = _text_cells(row, longest)
                lines += wrap_line(_row_as_sentence(header, texts))
        lines = prefix_lines("  ", [*lines, *self._count_hidden()])
        if self.caption:
            lines.insert(0, f"{self.caption}:")
        return lines

    @property
    def html(self) -> str:
        if not self.rows:
            return ""
        header, rows = drop_empty_columns(self.header, self.rows)
        body = table(
            header,
            rows,
            numeric=self.numeric,
            stacked=self.stacked,
            most=self.most,
            limit=self.limit,
        )
        if self._is_folded:
            return folded(self.caption, body)
        if not self.caption:
            return body
        return paragraphs(f"{self.caption}:") + body

    @property
    def markdown(self) -> str:
        if not self.rows:
            return ""
        header, rows = drop_empty_columns(self.header, self.rows)
        lines = [self._markdown_row(header), "| --- " * len(header) + "|"]
        lines += map(self._markdown_row, rows[: self.most])
        lines += prefix_lines("\n", self._count_hidden())
        body = "\n".join(lines)
        if not self.caption:
            return body
        return f"{escape_markdown(self.caption)}:\n\n{body}"

    @property
    def _is_folded(self) -> bool:
        return self.caption != "" and not self.is_open

    def _markdown_row(self, row: Sequence[object]) -> str:
        cells = [escape_markdown(_format_cell(cell), self.limit) for cell in row]
        return f"| {' | '.join(cells)} |"

    def _count_hidden(self) -> list[str]:
        hidden = len(self.rows) - self.most
        return [f"and {hidden:,} more"] if hidden > 0 else []


@dataclass(frozen=True)
class Facts(Piece):
    """Named values, one per line."""

    rows: Sequence[tuple[str, object]]

    def lines(self, verbose: bool) -> list[str]:
        lines = []
        for name, value in self.rows:
            lines += wrap_line(f"{name}: {value}")
        return lines

    @property
    def html(self) -> str:
        return table(("", ""), self.rows, limit=600) if self.rows else ""

    @property
    def markdown(self) -> str:
        lines = []
        for name, value in self.rows:
            lines.append(f"- {escape_markdown(name)}: {escape_markdown(value)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Picture(Piece):
    """A picture as SVG, left out of text and Markdown."""

    svg: str

    @property
    def html(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Quote(Piece):
    """A completion with its fields marked, below a line about its origin.

    A page with hidden user texts shows only the line. `values` are the rewards of this
    and other answers, drawn as bars in HTML.
    """

    about: Text
    text: str | None
    """The completion; None for only the line."""
    spans: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    longest: int = LONGEST_EXCERPT
    values: Sequence[tuple[str, float]] = ()

    def lines(self, verbose: bool) -> list[str]:
        """Return its lines for a terminal; without `verbose`, one of the completion."""
        lines = wrap_line(self.heading) if self.heading else []
        longest = self.longest if verbose else LONGEST_IN_LINE
        excerpt = self._make_excerpt(longest)
        if excerpt is None:
            return lines
        if not verbose:
            return [*lines, f"| {one_line(excerpt.text)}"]
        return [*lines, *prefix_lines("| ", excerpt.bracketed().split("\n"))]

    @property
    def html(self) -> str:
        excerpt = self._make_excerpt(self.longest)
        body = ""
        if excerpt is not None:
            longest = 2 * len(excerpt.text) + 1
            body = marked(excerpt.text, excerpt.spans, limit=longest)
        return part("parts", "quote", str(self.about), self._bars(), html_of(body))

    @property
    def markdown(self) -> str:
        excerpt = self._make_excerpt(self.longest)
        pieces = [escape_markdown(self.heading)]
        if excerpt is not None:
            pieces.append(fence(excerpt.bracketed()))
        return "\n\n".join(filter(None, pieces))

    @property
    def heading(self) -> str:
        """Its reward beside those of other answers, and its origin, in one line."""
        if not self.values:
            return str(self.about)
        (_, earned), *others = self.values
        figures = [f"earns {number(earned)}"]
        figures += [f"{name} {number(value)}" for name, value in others]
        return "; ".join(filter(None, [", ".join(figures), str(self.about)]))

    def _bars(self) -> list[tuple[str, float, float]]:
        """Return name, number and width of the bar, in percent, of each value."""
        numbers = [0.0, *(value for _, value in self.values)]
        low = min(numbers)
        scale = 100 / ((max(numbers) - low) or 1.0)
        return [(name, value, scale * (value - low)) for name, value in self.values]

    def _make_excerpt(self, longest: int) -> Excerpt | None:
        if self.text is None or user_texts_are_hidden():
            return None
        if self.text.strip():
            return make_excerpt(self.text, self.spans, longest=longest)
        note = "(nothing)"
        if self.text:
            note = f"(white space: {one_line(repr(self.text), 60)})"
        return Excerpt(note, {})


@dataclass(frozen=True)
class Action(Piece):
    """A button of the workbench: a label, and the command that it sends."""

    label: str
    command: Sequence[Any]
    title: str = ""
    about: str = ""
    """Description of its effect, shown beside the button."""

    @property
    def html(self) -> str:
        return part("parts", "actions", [self])


# --- sequences of blocks


def make_pieces(blocks: Sequence[Block]) -> list[Piece]:
    """Return blocks as pieces, with each text as a `TextLine`."""
    return [block if isinstance(block, Piece) else TextLine(block) for block in blocks]


def join_lines(blocks: Sequence[Block], verbose: bool) -> list[str]:
    """Return the lines of blocks for a terminal."""
    lines = []
    for piece in make_pieces(blocks):
        lines += piece.lines(verbose)
    return lines


def join_html(blocks: Sequence[Block]) -> str:
    """Return blocks as HTML; consecutive lines of text become a list."""
    body = ""
    for is_text, run in groupby(make_pieces(blocks), _is_line):
        pieces = [piece.inner_html for piece in run]
        body += listed(pieces) if is_text else "".join(pieces)
    return body


def join_markdown(blocks: Sequence[Block]) -> str:
    """Return blocks as Markdown; consecutive lines of text become a list."""
    paragraphs = []
    for is_text, run in groupby(make_pieces(blocks), _is_line):
        pieces = [piece.markdown for piece in run]
        if is_text:
            paragraphs.append("\n".join(prefix_lines("- ", pieces)))
        else:
            paragraphs += filter(None, pieces)
    return "\n\n".join(paragraphs)


def _is_line(piece: Piece) -> bool:
    return isinstance(piece, TextLine)


# --- cells


def _text_cells(row: Sequence[object], longest: int) -> list[str]:
    return [one_line(_format_cell(cell), longest) for cell in row]


def _format_cell(cell: object) -> object:
    return number(cell) if isinstance(cell, float) else cell


def _row_as_sentence(header: Sequence[str], row: Sequence[str]) -> str:
    cells = zip(header[1:], row[1:], strict=True)
    sentence = "; ".join(f"{name}: {cell}" for name, cell in cells if cell)
    return ": ".join(filter(None, (row[0], sentence)))
