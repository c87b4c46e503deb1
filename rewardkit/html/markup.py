"""Make escaped HTML from templates, and tables of plain text.

Completions are hostile text: HTML contains them only through `escaped`, also in
templates.
"""

from __future__ import annotations

import functools
import html
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import compress, cycle
from typing import TYPE_CHECKING, Any

from rewardkit.findings import short_number
from rewardkit.html.excerpts import visible

if TYPE_CHECKING:
    from jinja2 import Environment, Template

LONGEST_ESCAPED = 4000
"""Most characters of one text: nobody can read a page with a completion of 1 MB."""
SPAN_COLOURS = (
    "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#0072b2"
)  # fmt: skip
"""Okabe and Ito's palette, for colour-blind readers."""
GRADE_WORDS = {
    "high": "not ready",
    "warn": "to be read",
    "info": "not known",
    "good": "good",
}
"""Grade of an answer or finding -> words for screen readers."""
GRADE_MARKS = {
    "high": "\u25cf",
    "warn": "\u25b2",
    "info": "\u25cb",
    "good": "\u2713",
}
"""Grade -> its shape, for reading without colour."""

# --- texts


def escaped(text: object, *, limit: int | None = LONGEST_ESCAPED) -> str:
    """Return text as harmless HTML, with controls and lone surrogates made visible.

    It is cut at `limit` characters, with a note that counts the others.
    """
    line = str(text)
    note = ""
    if limit is not None and len(line) > limit:
        note = f"<em> ... {len(line) - limit:,} more characters</em>"
        line = line[:limit]
    return html.escape(_INVISIBLE.sub(lambda match: visible(match[0]), line)) + note


_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\u2060\ufeff"
    "\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # these reorder the text around them
)


def number(value: float | str) -> str:
    """Return a number with a few digits, "-" for NaN; texts are returned as is."""
    if isinstance(value, str):
        return value
    return "-" if math.isnan(value) else short_number(value)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines of plain text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = map(str.ljust, row, widths)
        lines.append("  ".join(cells).rstrip())
    return lines


def wrap_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[str],
    width: int,
) -> list[str]:
    """Return a table as lines of at most this width, with cells broken between words.

    Columns named in `numeric` are right-aligned, and only their header is broken; a
    date has two lines. [] if the words of the header do not fit.
    """
    # slow to import, and few tables are so wide
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    layout = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in header:
        if name in numeric:
            title = Text(name.replace(" ", "\n"))
            layout.add_column(title, justify="right", no_wrap=True)
        else:
            layout.add_column(Text(name), overflow="fold", no_wrap=name == "date")
    words = sum(max(map(len, name.split())) + 2 for name in header)
    if words > width:
        return []
    for row in rows:
        cells = []
        for name, cell in zip(header, row, strict=True):
            text = cell.replace(" ", "\n") if name == "date" else cell
            cells.append(Text(text))
        layout.add_row(*cells)
    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(layout)
    return [line.rstrip() for line in capture.get().splitlines()]


@dataclass(frozen=True)
class Bar:
    """A number in a cell of a table, with a bar in front of it in HTML.

    `share` is from -50 to 50: percent of the bar's full width, with 0 in the middle.
    """

    value: str
    share: float

    def __str__(self) -> str:
        return self.value

    @property
    def html(self) -> str:
        """Return it as HTML."""
        kind = ""
        side = "left"
        if self.share < 0:
            kind = ' class="rk-less"'
            side = "right"
        style = f"width:{abs(self.share)}%;{side}:50%"
        return (
            f'<span class="rk-adds" aria-hidden="true"><i{kind} style="{style}"></i>'
            f'</span><span class="rk-added">{escaped(self.value)}</span>'
        )


# --- templates


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def cut(text: object, limit: int | None = LONGEST_ESCAPED) -> Markup:
        if isinstance(text, Markup):
            return text
        if isinstance(text, Bar):
            return Markup(text.html)
        line = number(text) if isinstance(text, float) else text
        return Markup(escaped(line, limit=limit))

    environment = Environment(
        loader=PackageLoader("rewardkit.html"),
        autoescape=True,
        finalize=cut,
        undefined=StrictUndefined,
    )
    environment.filters |= {"cut": cut, "number": number, "html_of": Markup}
    environment.globals |= {
        "style": style,
        "marks": GRADE_MARKS,
        "grades": GRADE_WORDS,
    }
    return environment


def _template(name: str) -> Template:
    return _environment().get_template(f"{name}.html")


def render(template: str, **values: Any) -> str:
    """Render a template with plain values and `html_of` pieces as HTML."""
    return _template(template).render(values)


def part(template: str, macro: str, *values: Any) -> str:
    """Render a macro of a template as HTML."""
    return str(getattr(_template(template).module, macro)(*values))


def html_of(body: str) -> Any:
    """Mark a text as HTML, so that templates do not escape it."""
    from markupsafe import Markup

    return Markup(body)


def read_asset(name: str) -> str:
    """Read a style sheet or script from the folder of the templates."""
    return (files("rewardkit.html") / "templates" / name).read_text(encoding="utf-8")


@functools.cache
def style(*sheets: str) -> Any:
    """Return the style sheet of all cards, and further `sheets`, as HTML."""
    packed = [_pack(read_asset(f"{name}.css")) for name in ("style", *sheets)]
    return html_of("".join(f"<style>{css}</style>" for css in packed))


def _pack(css: str) -> str:
    """Remove comments and white space from a style sheet, which each card repeats."""
    css = re.sub(r"/\*.*?\*/", "", " ".join(css.split()))
    return re.sub(r"\s*([{};])\s*", r"\1", css)


def page(title: str, body: str, pages: Sequence[tuple[str, str, bool]] = ()) -> str:
    """Return an HTML page around a body of escaped HTML, with style and script.

    `pages` are the pages of a report: name, address, and whether it is this page.
    """
    for sheets in (("workbench",), ()):  # the head has them once
        body = body.replace(style(*sheets), "")
    script = html_of(read_asset("page.js"))
    return render("page", title=title, body=html_of(body), pages=pages, script=script)


# --- pieces


def drop_empty_columns(
    header: Sequence[str], rows: Sequence[Sequence[object]]
) -> tuple[list[str], list[list[object]]]:
    """Remove the columns of a table that are "" in every row."""
    has_text = []
    for cells in zip(*rows, strict=True):
        has_text.append(any(cell != "" for cell in cells))
    names = list(compress(header, has_text))
    return names, [list(compress(row, has_text)) for row in rows]


def card(title: str, body: str = "", *, summary: str = "") -> str:
    """Return a record's HTML from title and summary, plain texts, and its body."""
    return part("parts", "card", title, summary, html_of(body))


def folded(summary: str, body: str, *, is_open: bool = False) -> str:
    """Return HTML that unfolds on a click; the summary is plain text."""
    return part("parts", "folded", summary, html_of(body), is_open)


def listed(items: Iterable[str]) -> str:
    """Return pieces of HTML as a list; "" without any."""
    return part("parts", "listed", [html_of(item) for item in items])


def paragraphs(*lines: object) -> str:
    """Return lines of plain text as HTML paragraphs, without empty lines."""
    return "".join(f"<p>{escaped(line)}</p>" for line in lines if line != "")


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    numeric: Sequence[str] = (),
    stacked: bool = False,
    most: int | None = None,
    limit: int = LONGEST_ESCAPED,
) -> str:
    """Return an HTML table of escaped cells; `numeric` columns are right-aligned.

    A table wider than the page scrolls. A header of empty names is left out. A
    `stacked` table has one line per cell on a narrow page. Rows beyond `most` are
    counted, cells are cut at `limit` characters.
    """
    return part("parts", "table", header, rows, numeric, stacked, most, limit)


def marked(
    text: str,
    spans: Mapping[str, Sequence[tuple[int, int]]],
    *,
    limit: int = LONGEST_ESCAPED,
) -> str:
    """Return a text as HTML with the spans of each name coloured and labelled.

    A span that begins inside another is labelled after it.
    """
    start_of_text = text[:limit]
    colours = {}
    edges = []
    for name, colour in zip(spans, cycle(SPAN_COLOURS), strict=False):
        colours[name] = colour
        edges += [(start, -end, name) for start, end in spans[name] if start < limit]
    pieces: list[tuple[str | None, str, str]] = []
    position = 0
    for start, negative_end, name in sorted(edges):  # of equal starts, longest first
        if start < position:
            pieces.append((None, name, colours[name]))
            continue
        pieces.append((start_of_text[position:start], "", ""))
        pieces.append((start_of_text[start:-negative_end], name, colours[name]))
        position = min(-negative_end, limit)
    pieces.append((start_of_text[position:], "", ""))
    return part("parts", "marked", pieces, len(text) - len(start_of_text))
