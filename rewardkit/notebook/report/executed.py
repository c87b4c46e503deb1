"""Executed: what an executed notebook becomes on a page: its answer on top, its story, its figures as SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nbconvert import HTMLExporter
from nbconvert.filters import strip_ansi
from nbformat.v4 import new_notebook, new_output

from rewardkit.html.markup import html_of
from rewardkit.notebook.plots.canvas import BLUE, GREY, ORANGE, RED

WIDGET = "application/vnd.jupyter.widget-view+json"
SVG = "image/svg+xml"
THEME = {
    "#ffffff": "var(--rk-back)",
    "#000000": "currentColor",
    "#1a1a1a": "currentColor",
    "#444444": "var(--rk-muted)",
    "#f0f0f0": "var(--rk-soft)",
    BLUE: "var(--rk-blue)",
    GREY: "var(--rk-grey)",
    ORANGE: "var(--rk-orange)",
    RED: "var(--rk-red)",
}
"""Colours of the plots -> those of the page."""
UNUSED = r' id="(?![pmh][0-9a-f]{10}")[^"]*"'
"""An id that nothing refers to: all but those of what a figure uses again; a file may hold several pages."""
ANSWER = "answer"  # tag of the cell whose output stands on top of the page,
PICTURE = (
    "picture"  # and of one whose first figure stands on the first page of the report
)
ASSERTIONS = "assertions"  # tag of what nbval holds a notebook to: no page has it
STREAM_LINES = (
    10  # of what one cell printed: a reward that prints tells it of every row
)
LONGEST_STREAM = 3000  # characters of these lines


class Section(NamedTuple):
    """A part of a page under a heading, which is told by itself; `is_open` from the start."""

    anchor: str
    heading: str
    body: str
    is_open: bool = False


@dataclass(frozen=True)
class Story:
    """The page of an executed notebook: what stands on top, its sections, and its error; escaped HTML.

    `pictures` are those that stand on the first page of a report, too.
    """

    top: str = ""
    sections: tuple[Section, ...] = ()
    error: str | None = None
    pictures: str = ""


def story_of(notebook: Any, *, redact: bool) -> Story:
    """What an executed notebook becomes: title, answer, and a section a heading.

    `redact` leaves out what it printed, as that may quote a completion. Widgets are left out.
    """
    error, pictures = None, ""
    groups: list[tuple[str, list[Any]]] = [("", [])]
    answers: list[Any] = []
    for cell in notebook.cells:
        failed = None
        if ASSERTIONS in _tags(cell):
            continue
        if cell.cell_type == "code":
            cell.outputs, failed = _kept(cell.get("outputs", []), redact=redact)
            error = failed or error
            if PICTURE in _tags(cell):
                shown = [
                    one.data["text/html"]
                    for one in cell.outputs
                    if "text/html" in one.get("data", {})
                ]
                pictures += "".join(shown[:1])
        elif cell.source.startswith("## "):
            heading, _, cell.source = cell.source.partition("\n")
            groups.append((heading.removeprefix("## "), []))
        (answers if ANSWER in _tags(cell) else groups[-1][1]).append(cell)
    exporter = HTMLExporter(
        extra_template_basedirs=[str(Path(__file__).parent / "templates")],
        template_name="rewardkit",
    )

    def page_of(cells: list[Any]) -> Any:
        body, _ = exporter.from_notebook_node(
            new_notebook(cells=cells, metadata=notebook.metadata)
        )
        body = re.sub(
            r"<script\b.*?</script>", "", body, flags=re.DOTALL | re.IGNORECASE
        )
        body = re.sub(r'<a class="anchor-link".*?</a>', "", body)
        return html_of(re.sub(UNUSED, "", body))

    (_, first), *others = groups
    sections = tuple(
        Section(
            re.sub(r"\W+", "-", heading).strip("-"),
            heading,
            page_of(cells),
            at == 0 or _failed(cells),
        )
        for at, (heading, cells) in enumerate(others)
        if any(
            cell.outputs if cell.cell_type == "code" else cell.source.strip()
            for cell in cells
        )
    )
    return Story(page_of([*first[:1], *answers, *first[1:]]), sections, error, pictures)


def _failed(cells: list[Any]) -> bool:
    return any(
        output.output_type == "error"
        for cell in cells
        for output in cell.get("outputs", [])
    )


def _tags(cell: Any) -> Sequence[str]:
    return list(cell.metadata.get("tags", []))


def _kept(outputs: Sequence[Any], *, redact: bool) -> tuple[list[Any], str | None]:
    """The outputs of a cell that a page shows, and the error in which it ended."""
    error, kept = None, [] if redact else _streams(outputs)
    for output in outputs:
        if output.output_type == "stream":
            continue
        data = output.get("data", {})
        if data.pop(WIDGET, None) is not None and "text/html" not in data:
            continue  # nothing stands in its place
        if SVG in data:
            data["text/html"] = themed(data.pop(SVG))
        if output.output_type == "error":
            error = f"{output.ename}: {output.evalue}" if not redact else output.ename
            if redact:
                output.evalue, output.traceback = (
                    "[redacted]",
                    [f"{output.ename}: [redacted]"],
                )
        kept.append(output)
    return kept, error


def themed(svg: str) -> str:
    """A figure as a piece of a page, in the colours of the page: light, dark, or as it is printed."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<text(?![^>]*fill:)", '<text fill="currentColor"', svg)
    svg = re.sub("|".join(THEME), lambda found: THEME[found[0]], svg)
    svg = re.sub(UNUSED, "", svg)
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    named = svg.replace("<svg", f'<svg role="img" aria-label="{words}"', 1)
    return f'<div class="rewardkit rk-figure" tabindex="0">{named}</div>'


def _streams(outputs: Sequence[Any]) -> list[Any]:
    """What a cell printed: one output a stream, however many pieces it came in, and short."""
    printed: dict[str, str] = {}
    for output in outputs:
        if output.output_type == "stream":
            printed[output.name] = printed.get(output.name, "") + output.text
    return [
        new_output("stream", name=name, text=printed_lines(text))
        for name, text in printed.items()
    ]


def printed_lines(text: str) -> str:
    r"""The first lines of what a cell printed, without control characters, and how much more there was.

    Of a line that was written over, such as a progress bar's, the last state counts.

    >>> print(printed_lines("row\n" * 1600).splitlines()[-1])
    [1,590 more lines are left out of this page]
    """
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    first = "\n".join(
        _clean(line.rstrip("\r").rpartition("\r")[2]) for line in lines[:STREAM_LINES]
    )
    left = {
        "characters": len(first) - LONGEST_STREAM,
        "lines": len(lines) - STREAM_LINES,
    }
    more = " and ".join(
        f"{count:,} more {what}" for what, count in left.items() if count > 0
    )
    return (
        first[:LONGEST_STREAM]
        + (f"\n[{more} are left out of this page]" if more else "")
        + "\n"
    )


def _clean(line: str) -> str:
    return "".join(
        character
        for character in strip_ansi(line)
        if character == "\t" or character >= " "
    )
