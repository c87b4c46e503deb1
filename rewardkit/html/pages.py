"""A page: what a record says, as data; written once as plain text and once as escaped HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rewardkit.html.excerpts import LINE, one_line
from rewardkit.html.markup import (
    aligned,
    card,
    code,
    escaped,
    folded,
    listed,
    paragraphs,
    table,
)

ROWS = 24  # of a table; the others are counted
CELL, SHORT = 200, 60  # characters of a cell in HTML, and in a terminal
LONGEST = 800
"""Characters of a line, which may quote what a completion made a component say."""
INDENT = 4 * " "  # before the second line of one that is broken


@dataclass(frozen=True)
class Code:
    """A line of code, whole, as it is copied."""

    line: str

    @property
    def text(self) -> str:
        """As plain text."""
        return f"  {self.line}"

    @property
    def html(self) -> str:
        """As escaped HTML."""
        return code(self.line)


@dataclass(frozen=True)
class Table:
    """Rows under a caption; the columns named in `numeric` are set flush right.

    An open one stands in the text too, another is folded behind its caption and in the HTML alone. Rows
    beyond `most` are counted, cells are cut at `limit` characters. A `stacked` one has a line a cell on a
    narrow page.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    numeric: Sequence[str] = ()
    is_open: bool = False
    most: int = ROWS
    limit: int = CELL
    stacked: bool = False

    @property
    def text(self) -> str:
        """As plain text, a row told in words where it is wider than a line; "" where folded or empty."""
        if not (self.is_open and self.rows):
            return ""
        head, *rows = cells = [
            [one_line(cell, SHORT) for cell in row] for row in (self.header, *self.rows)
        ]
        lines = aligned(cells)
        if max(map(len, lines)) > LINE.get() - len(INDENT):
            told = (
                (row[0], "; ".join(map(": ".join, zip(head[1:], row[1:], strict=True))))
                for row in rows
            )
            lines = [": ".join(filter(None, pair)) for pair in told]
        caption = [f"{self.caption}:"] if self.caption else []
        return "\n".join([*caption, *(f"  {line}" for line in lines)])

    @property
    def html(self) -> str:
        """As escaped HTML; nothing where it is empty."""
        if not self.rows:
            return ""
        body = table(
            self.header,
            self.rows,
            numeric=self.numeric,
            stacked=self.stacked,
            most=self.most,
            limit=self.limit,
        )
        above = paragraphs(self.caption and f"{self.caption}:")
        return f"{above}{body}" if self.is_open else folded(self.caption, body)


@dataclass(frozen=True)
class Page:
    """The verdict as `title` with what is `said` of it, then open tables, then `lines`, then folded tables.

    A line is plain text, code, a table, or a page of its own. Those in `more` stand only in the
    HTML, `foot` only in the text.
    """

    title: str
    lines: Sequence[Block]
    tables: Sequence[Table] = ()
    more: Sequence[Block] = ()
    said: str = ""
    foot: str = ""

    @property
    def text(self) -> str:
        """As plain text."""
        head = f"{self.title}: {self.said}" if self.said else self.title
        blocks = [*self.tables, *self.lines, *filter(None, [self.foot])]
        return "\n".join(
            [*_told(head), *(f"  {line}" for block in blocks for line in _told(block))]
        )

    @property
    def html(self) -> str:
        """As escaped HTML."""
        return card(self.title, self.body, said=self.said)

    @property
    def body(self) -> str:
        """What stands below its title, as escaped HTML; lines that follow each other are a list."""
        pieces = [item.html for item in self.tables if item.is_open]
        for is_line, some in groupby(
            [*self.lines, *self.more], lambda block: isinstance(block, str)
        ):
            shown = map(_shown, some)
            pieces.append(listed(shown) if is_line else "".join(shown))
        return "".join(
            [*pieces, *(item.html for item in self.tables if not item.is_open)]
        )


Block = str | Code | Table | Page


def _told(block: Block) -> list[str]:
    """The lines of a terminal that a block makes."""
    if not isinstance(block, str):
        return block.text.splitlines()
    first = block[: len(block) - len(block.lstrip(" "))]
    return textwrap.wrap(
        one_line(block, LONGEST), LINE.get() - 4, initial_indent=first, subsequent_indent=first + INDENT,
        break_on_hyphens=False,
    )  # fmt: skip


def _shown(block: Block) -> str:
    if isinstance(block, str):
        return escaped(block, limit=LONGEST)
    if isinstance(block, Page):  # in another
        said = f": {escaped(block.said, limit=LONGEST)}" if block.said else ""
        return f"<p><b>{escaped(block.title, limit=LONGEST)}</b>{said}</p>{block.body}"
    return block.html
