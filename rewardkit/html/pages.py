"""A page: what a record says, as data; written once as plain text and once as escaped HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.html.markup import aligned, card, escaped, folded, listed, table

__all__ = ["Page", "Table"]

ROWS = 24  # of a folded table; the others are counted
CELL = 200


@dataclass(frozen=True)
class Table:
    """Rows under a caption; the columns named in `numeric` are set flush right.

    An open one stands in the text too, another is folded behind its caption and in the HTML alone.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    numeric: Sequence[str] = ()
    is_open: bool = False


@dataclass(frozen=True)
class Page:
    """The verdict as `title`, then open tables, then `lines` of plain text; `more` lines only in the HTML."""

    title: str
    lines: Sequence[str]
    tables: Sequence[Table] = ()
    more: Sequence[str] = ()

    @property
    def text(self) -> str:
        """As plain text."""
        shown = [item for item in self.tables if item.is_open and item.rows]
        lines = [line for item in shown for line in (f"{item.caption}:", *_indented(_aligned(item)))]
        return "\n".join([self.title, *_indented([*lines, *self.lines])])

    @property
    def html(self) -> str:
        """As escaped HTML."""
        shown = [item for item in self.tables if item.rows]
        top = [f"<p>{escaped(item.caption)}:</p>{_html(item)}" for item in shown if item.is_open]
        below = [folded(item.caption, _html(item)) for item in shown if not item.is_open]
        lines = listed(escaped(line, limit=600) for line in [*self.lines, *self.more])
        return card(self.title[:1].upper() + self.title[1:], "".join([*top, lines, *below]))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _aligned(item: Table) -> list[str]:
    return aligned([list(item.header), *([str(cell) for cell in row] for row in item.rows)])


def _html(item: Table) -> str:
    return table(item.header, item.rows, numeric=item.numeric, most=ROWS, limit=CELL)
