"""Escaped HTML fragments, and tables in plain text.

Completions are hostile text: whatever is shown of one in HTML goes through here.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "STACKED",
    "aligned",
    "card",
    "code",
    "escaped",
    "folded",
    "listed",
    "marked",
    "outlined",
    "quoted",
    "table",
]

LONG_CELL = 30  # characters of HTML
LONGEST_SHOWN = 4000  # characters of one text; a page with a 1 MB completion is no use to a person
COLOURS = (
    "#56b4e9",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#f0e442",
    "#d55e00",
    "#0072b2",
)  # Okabe and Ito's, for colour-blind readers

LOOK = "max-width:70em;line-height:1.45"
LINE = "rgba(127,127,127,.3)"  # seen on a light and on a dark page
EDGE = "rgba(127,127,127,.6)"
CODE = "white-space:pre-wrap;overflow-wrap:anywhere;font-family:monospace;margin:.3em 0 .6em"
OUTLINED, LONGEST_LINE = 60, 600  # lines of a text that is shown as a list, and characters of one

STACKED = """
@media (max-width: 40rem) { .stacked, .stacked tbody, .stacked tr, .stacked td { display: block; }
.stacked thead, .stacked td:empty { display: none; } .stacked tr { border-bottom: 1px solid #ddd;
padding: .3rem 0; } .stacked td { border: 0; padding: 0 !important; text-align: left !important; }
.stacked td::before { content: attr(data-name) ": "; color: #555; font-weight: 600; }
.stacked td > div { min-width: 0 !important; } }
"""
"""The style of a page on which tables that are `stacked` have a line a cell where it is narrow."""


def escaped(text: object, *, limit: int | None = LONGEST_SHOWN) -> str:
    """Text as harmless HTML: control characters and lone surrogates made visible.

    Cut at `limit` with a word on what is left.
    """
    shown = str(text)
    left = len(shown) - limit if limit is not None else 0
    shown = shown[:limit] if left > 0 else shown
    visible = "".join(_visible(character) for character in shown)
    return html.escape(visible) + (f"<em> ... {left:,} more characters</em>" if left > 0 else "")


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20 and character not in "\n\t":
        return chr(0x2400 + code)
    if code == 0x7F or 0x80 <= code < 0xA0 or 0xD800 <= code < 0xE000 or code in _BIDI:
        return f"\u27e8U+{code:04X}\u27e9"
    return character


_BIDI = {
    0x200E,
    0x200F,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
}  # would reorder what stands around them


def marked(text: str, spans: Mapping[str, Sequence[tuple[int, int]]], *, limit: int = LONGEST_SHOWN) -> str:
    """The text with the spans of each name marked in a colour of its own.

    Each is labelled too, so that it reads without colour.
    """
    shown = text[:limit]
    edges: list[tuple[int, int, str]] = []
    for name, found in spans.items():
        edges += [(start, min(end, limit), name) for start, end in found if start < limit]
    edges.sort(key=lambda edge: (edge[0], -edge[1]))
    names = list(spans)
    pieces, position = [], 0
    for start, end, name in edges:
        if start < position:  # inside one that is marked already: name it behind, do not nest
            pieces.append(_label(name, names))
            continue
        pieces.append(escaped(shown[position:start], limit=None))
        colour = COLOURS[names.index(name) % len(COLOURS)]
        inner = escaped(shown[start:end], limit=None) or "&#8709;"
        style = f"background:{colour}55;border-bottom:2px solid {colour};color:inherit"
        pieces.append(f'<mark style="{style}">{inner}</mark>{_label(name, names)}')
        position = end
    rest = escaped(shown[position:], limit=None)
    left = len(text) - len(shown)
    more = f"<em> ... {left:,} more characters</em>" if left > 0 else ""
    style = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate"
    return f'<div dir="auto" style="{style}">{"".join(pieces)}{rest}{more}</div>'


def _label(name: str, names: Sequence[str]) -> str:
    colour = COLOURS[names.index(name) % len(COLOURS)]
    return f'<sup style="border-left:3px solid {colour};padding:0 3px;user-select:none">{escaped(name)}</sup>'


def card(title: str, body: str = "", *, said: str = "") -> str:
    """What a record shows of itself on a page: its title with what is `said` behind it, then its body.

    Title and `said` are plain text, the body is escaped HTML. The one look of all records: it takes colours
    from the page around it, and has none of its own but translucent ones, so that it reads on a light and on
    a dark page.
    """
    told = f": {escaped(said, limit=LONGEST_LINE)}" if said else ""
    head = f"<p><b>{escaped(title, limit=LONGEST_LINE)}</b>{told}</p>" if title else ""
    return f'<div class="rewardkit" style="{LOOK}">{head}{body}</div>'


def outlined(text: str) -> str:
    r"""A card of the lines that a record prints: the first is its title, those that are indented are lists.

    >>> outlined("two rows:\n  one\n    of it\n  two").partition("</p>")[2]
    '<ul><li>one<ul><li>of it</li></ul></li><li>two</li></ul></div>'
    """
    title, *lines = text.split("\n")
    pieces, depth = [], 0
    for line in lines[:OUTLINED]:
        content = line.lstrip(" ")
        level = min(max(1, (len(line) - len(content)) // 2), depth + 1)
        pieces.append("<ul>" if level > depth else "</li>" + "</ul></li>" * (depth - level))
        pieces.append(f"<li>{escaped(content, limit=LONGEST_LINE)}")
        depth = level
    pieces.append("</li></ul>" * depth)
    return card(title[:1].upper() + title[1:], "".join(pieces) + _left(len(lines) - OUTLINED))


def folded(summary: str, body: str, *, is_open: bool = False) -> str:
    """A part of a page that opens and closes on a click, without a script; the summary is plain text."""
    opened = " open" * is_open
    return f'<details{opened} style="margin:.3em 0"><summary>{escaped(summary)}</summary>{body}</details>'


def listed(items: Iterable[str]) -> str:
    """A list of pieces of HTML; nothing where there are none."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{lines}</ul>" if lines else ""


def code(lines: object) -> str:
    """Lines of code, to be copied."""
    return f'<pre style="{CODE}">{escaped(lines)}</pre>'


def quoted(body: str) -> str:
    """A piece of HTML that is to be read, set off from what is said of it."""
    style = f"margin:.2em 0 .6em;padding-left:.8em;border-left:3px solid {EDGE};max-width:60em"
    return f'<div style="{style}">{body}</div>'


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
    has a line a cell on a narrow page that has the style `STACKED`. Rows beyond `most` are counted, cells are
    cut at `limit` characters.
    """
    right = [name in numeric for name in header]
    style = "text-align:{};vertical-align:top;padding:2px 12px 2px 0"
    names = [f' data-name="{escaped(name)}"' if stacked else "" for name in header]

    def line(cells: Sequence[object], tag: str) -> str:
        made = (
            f'<{tag} style="{style.format("right" if flush else "left")}"{name if tag == "td" else ""}>'
            f"{_cell(escaped(cell, limit=limit))}</{tag}>"
            for cell, flush, name in zip(cells, right, names, strict=True)
        )
        return f'<tr style="border-bottom:1px solid {LINE}">{"".join(made)}</tr>'

    body = "".join(line(row, "td") for row in rows[:most])
    kind = ' class="stacked"' if stacked else ""
    head = f"<thead>{line(header, 'th')}</thead>" if any(header) else ""
    made = f'<table{kind} style="border-collapse:collapse">{head}<tbody>{body}</tbody></table>'
    return f'<div style="overflow-x:auto">{made}</div>' + _left(len(rows) - most if most is not None else 0)


def _left(count: int) -> str:
    return f"<p>and {count:,} more</p>" if count > 0 else ""


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of plain text in which the columns of the rows stand below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _cell(content: str) -> str:
    """Long content in a box of readable width, so that short columns keep theirs."""
    if len(content) <= LONG_CELL:
        return content
    style = "min-width:13em;max-width:38em;overflow-wrap:anywhere;white-space:pre-line"
    return f'<div style="{style}">{content}</div>'
