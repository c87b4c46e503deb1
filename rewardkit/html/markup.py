"""Escaped HTML for pages, cards and widgets, from the templates beside this; and tables in plain text.

Completions are hostile text: whatever is shown of one in HTML goes through `escaped`, in templates too.
"""

from __future__ import annotations

import functools
import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rewardkit.html.excerpts import visible

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST_SHOWN = (
    4000  # characters of one text; a page with a 1 MB completion is no use to a person
)
COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#0072b2")
"""Okabe and Ito's, for colour-blind readers."""

# --- texts


def escaped(text: object, *, limit: int | None = LONGEST_SHOWN) -> str:
    """Text as harmless HTML: control characters and lone surrogates made visible.

    Cut at `limit` with a word on what is left.
    """
    shown = str(text)
    left = len(shown) - limit if limit is not None else 0
    shown = _INVISIBLE.sub(
        lambda found: visible(found[0]), shown[:limit] if left > 0 else shown
    )
    return html.escape(shown) + (
        f"<em> ... {left:,} more characters</em>" if left > 0 else ""
    )


_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
    "\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # would reorder what stands around
)


def number(value: float | str) -> str:
    """A score or reward as it is shown: four digits, "-" where it is missing; words as they are."""
    return (
        value
        if isinstance(value, str)
        else "-"
        if math.isnan(value)
        else f"{value + 0.0:.4g}"
    )


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of plain text in which the columns of the rows stand below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


# --- templates


@functools.cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def cut(text: object, limit: int | None = LONGEST_SHOWN) -> Markup:
        shown = number(text) if isinstance(text, float) else text
        return (
            shown if isinstance(shown, Markup) else Markup(escaped(shown, limit=limit))
        )

    made = Environment(
        loader=PackageLoader("rewardkit.html"),
        autoescape=True,
        finalize=cut,
        undefined=StrictUndefined,
    )
    made.filters |= {"cut": cut, "number": number}
    made.globals |= {"filled": _filled, "style": style}
    return made


@functools.cache
def style(*sheets: str) -> Any:
    """The style sheet of all cards as a piece of HTML; and those of "page" or "workbench" that need it."""
    return html_of(
        "".join(
            f"<style>{_packed(_source(f'{name}.css'))}</style>"
            for name in ("style", *sheets)
        )
    )


def page(title: str, body: str, pages: Sequence[tuple[str, str, bool]] = ()) -> str:
    """A whole page around a body of escaped HTML, which brings its style sheet and script.

    `pages` are the pages of a report beside each other: name, address, and whether it is this one.
    """
    for sheets in (("workbench",), ()):  # which stand once, in the head
        body = body.replace(style(*sheets), "")
    script = html_of(_source("page.js"))
    return render("page", title=title, body=html_of(body), pages=pages, script=script)


def _source(name: str) -> str:
    return (files("rewardkit.html") / "templates" / name).read_text(encoding="utf-8")


def _packed(css: str) -> str:
    """A style sheet without comments and needless white space, as each card brings it."""
    return re.sub(
        r"\s*([{};])\s*", r"\1", re.sub(r"/\*.*?\*/", "", " ".join(css.split()))
    )


def render(template: str, **values: Any) -> str:
    """The HTML that a template makes of plain values; those that `html_of` marks are HTML already."""
    return _templates().get_template(f"{template}.html").render(values)


def html_of(body: str) -> Any:
    """A piece of HTML that a template takes as it is."""
    from markupsafe import Markup

    return Markup(body)


def part(template: str, macro: str, *values: Any, **shared: Any) -> str:
    """The HTML that a macro of a template makes; `shared` values are seen by all of its macros."""
    return str(getattr(macros(template, **shared), macro)(*values))


def macros(template: str, **shared: Any) -> Any:
    """The macros of a template, to be called often; `shared` values are seen by all of them."""
    return _templates().get_template(f"{template}.html").make_module(shared)


def _part(name: str, *values: Any) -> str:
    return str(getattr(_templates().get_template("parts.html").module, name)(*values))


def _filled(
    header: Sequence[str], rows: Sequence[Sequence[object]]
) -> tuple[list[str], list[list[object]]]:
    """A table without its empty columns."""
    kept = [
        place for place in range(len(header)) if any(row[place] != "" for row in rows)
    ]
    return [header[place] for place in kept], [
        [row[place] for place in kept] for row in rows
    ]


def card(title: str, body: str = "", *, said: str = "") -> str:
    """What a record shows of itself on a page: its title with what is `said` behind it, then its body.

    Title and `said` are plain text, the body is escaped HTML.
    """
    return _part("card", title[:1].upper() + title[1:], said, html_of(body))


def folded(summary: str, body: str, *, is_open: bool = False) -> str:
    """A part of a page that opens and closes on a click, without a script; the summary is plain text."""
    return _part("folded", summary, html_of(body), is_open)


def listed(items: Iterable[str], *, numbered: bool = False) -> str:
    """A list of pieces of HTML; nothing where there are none."""
    return _part(
        "listed", [html_of(item) for item in items], "ol" if numbered else "ul"
    )


def paragraphs(*lines: object) -> str:
    """Lines of plain text, those that are empty left out."""
    return "".join(f"<p>{escaped(line)}</p>" for line in lines if line != "")


def code(lines: object) -> str:
    """Lines of code, to be copied."""
    return _part("code", lines)


def quoted(body: str) -> str:
    """A piece of HTML that is to be read, set off from what is said of it."""
    return _part("quoted", html_of(body))


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    numeric: Sequence[str] = (),
    stacked: bool = False,
    most: int | None = None,
    limit: int = LONGEST_SHOWN,
) -> str:
    """An HTML table of escaped cells; the columns named in `numeric` are set flush right.

    It scrolls by itself where it is wider than the page; a head of empty names is left out. A `stacked` one
    has a line a cell on a narrow page. Rows beyond `most` are counted, cells are
    cut at `limit` characters.
    """
    return _part("table", header, rows, numeric, stacked, most, limit)


def marked(
    text: str,
    spans: Mapping[str, Sequence[tuple[int, int]]],
    *,
    limit: int = LONGEST_SHOWN,
) -> str:
    """The text with the spans of each name marked in a colour of its own, and labelled with it.

    One that begins inside another is named behind it.
    """
    shown = text[:limit]
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(spans)}
    edges = [
        (start, -end, name)
        for name, found in spans.items()
        for start, end in found
        if start < limit
    ]
    pieces: list[tuple[str | None, str, str]] = []
    position = 0
    for start, end, name in sorted(edges):
        if start < position:
            pieces.append((None, name, colours[name]))
            continue
        pieces += [
            (shown[position:start], "", ""),
            (shown[start:-end], name, colours[name]),
        ]
        position = min(-end, limit)
    pieces.append((shown[position:], "", ""))
    return _part("marked", pieces, len(text) - len(shown))
