"""What an executed notebook becomes on a page: its answer on top, then its sections."""

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
from rewardkit.reasons import HIDDEN

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
UNUSED_ID = r' id="(?![pmh][0-9a-f]{10}")[^"]*"'
"""An id that nothing refers to: all but those of what a figure uses again.

A file may hold several pages, in which an id may stand once.
"""
ANSWER_TAG = "answer"  # of the cell whose output stands on top of the page
PICTURE_TAG = "picture"  # its first figure stands on the first page of the report
ASSERTIONS_TAG = "assertions"  # what nbval holds a notebook to: no page has it
STREAM_LINES = 10
"""Lines of what one cell printed: a reward that prints does it for every row."""
LONGEST_STREAM = 3000  # characters of these lines


class Section(NamedTuple):
    """A part of a page under a heading; `is_open` from the start."""

    anchor: str
    heading: str
    body: str
    is_open: bool = False


@dataclass(frozen=True)
class Story:
    """The page of an executed notebook, as escaped HTML: its top and its sections.

    `error` is the one that it ended with. `pictures` stand on the first page of a
    report, too.
    """

    top: str = ""
    sections: tuple[Section, ...] = ()
    error: str | None = None
    pictures: str = ""


def story_of(notebook: Any, *, redact: bool) -> Story:
    """Return what an executed notebook becomes: title, answer, a section a heading.

    `redact` leaves out what it printed, as that may quote a completion. Widgets are
    left out.
    """
    error, pictures = None, ""
    answers: list[Any] = []
    groups: list[tuple[str, list[Any]]] = [("", [])]  # heading, cells
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if ASSERTIONS_TAG in tags:
            continue
        if cell.cell_type == "code":
            cell.outputs, failure = _select_outputs(cell.get("outputs", []), redact)
            error = failure or error
            if PICTURE_TAG in tags:
                pictures += _first_html(cell.outputs)
        elif cell.source.startswith("## "):
            heading, _, cell.source = cell.source.partition("\n")
            groups.append((heading.removeprefix("## "), []))
        cells = answers if ANSWER_TAG in tags else groups[-1][1]
        cells.append(cell)
    templates = str(Path(__file__).parent / "templates")
    options = {"extra_template_basedirs": [templates], "template_name": "rewardkit"}
    exporter = HTMLExporter(**options)
    sections = []
    for at, (heading, cells) in enumerate(groups[1:]):
        if any(map(_has_content, cells)):
            anchor = re.sub(r"\W+", "-", heading).strip("-")
            is_open = at == 0 or any(map(_is_failed, cells))
            body = _render(exporter, cells, notebook.metadata)
            sections.append(Section(anchor, heading, body, is_open))
    first = groups[0][1]
    cells = [*first[:1], *answers, *first[1:]]
    top = _render(exporter, cells, notebook.metadata)
    return Story(top, tuple(sections), error, pictures)


def _render(exporter: HTMLExporter, cells: list[Any], metadata: Any) -> Any:
    """Return cells as HTML without scripts, anchors and ids that nothing refers to."""
    notebook = new_notebook(cells=cells, metadata=metadata)
    body, _ = exporter.from_notebook_node(notebook)
    body = re.sub(r"<script\b.*?</script>", "", body, flags=re.DOTALL | re.IGNORECASE)
    body = re.sub(r'<a class="anchor-link".*?</a>', "", body)
    return html_of(re.sub(UNUSED_ID, "", body))


def _has_content(cell: Any) -> bool:
    return bool(cell.outputs if cell.cell_type == "code" else cell.source.strip())


def _is_failed(cell: Any) -> bool:
    return any(output.output_type == "error" for output in cell.get("outputs", []))


def _first_html(outputs: Sequence[Any]) -> str:
    for output in outputs:
        if "text/html" in output.get("data", {}):
            return str(output.data["text/html"])
    return ""


def _select_outputs(
    outputs: Sequence[Any], redact: bool
) -> tuple[list[Any], str | None]:
    """Return the outputs of a cell for a page, and the error in which it ended."""
    error = None
    selected = [] if redact else _join_streams(outputs)
    for output in outputs:
        if output.output_type == "stream":
            continue
        data = output.get("data", {})
        if data.pop(WIDGET, None) is not None and "text/html" not in data:
            continue
        if SVG in data:
            data["text/html"] = themed(data.pop(SVG))
        if output.output_type == "error":
            error = f"{output.ename}: {output.evalue}"
            if redact:
                error, output.evalue = output.ename, HIDDEN
                output.traceback = [f"{output.ename}: {HIDDEN}"]
        selected.append(output)
    return selected, error


def themed(svg: str) -> str:
    """Return a figure as HTML in the colours of the page: light, dark, or printed."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<text(?![^>]*fill:)", '<text fill="currentColor"', svg)
    svg = re.sub("|".join(THEME), lambda match: THEME[match[0]], svg)
    svg = re.sub(UNUSED_ID, "", svg)
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{words}"', 1)
    return f'<div class="rewardkit rk-figure" tabindex="0">{svg}</div>'


def _join_streams(outputs: Sequence[Any]) -> list[Any]:
    """Return what a cell printed, short, as one output a stream."""
    texts: dict[str, str] = {}
    for output in outputs:
        if output.output_type == "stream":
            texts[output.name] = texts.get(output.name, "") + output.text
    streams = []
    for name, text in texts.items():
        streams.append(new_output("stream", name=name, text=printed_lines(text)))
    return streams


def printed_lines(text: str) -> str:
    r"""Return the first lines of what a cell printed, and how much is left out.

    There are no control characters in them. Of a line that was written over, such as a
    progress bar's, the last state counts.

    >>> print(printed_lines("row\n" * 1600).splitlines()[-1])
    [1,590 more lines are left out of this page]
    """
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    first = "\n".join(map(_last_state, lines[:STREAM_LINES]))
    counts = []
    if len(first) > LONGEST_STREAM:
        counts.append(f"{len(first) - LONGEST_STREAM:,} more characters")
    if len(lines) > STREAM_LINES:
        counts.append(f"{len(lines) - STREAM_LINES:,} more lines")
    note = f"\n[{' and '.join(counts)} are left out of this page]" if counts else ""
    return f"{first[:LONGEST_STREAM]}{note}\n"


def _last_state(line: str) -> str:
    """Return what a terminal would show of a line in the end, without escapes."""
    text = strip_ansi(line.rstrip("\r").rpartition("\r")[2])
    return "".join(sign for sign in text if sign == "\t" or sign >= " ")
