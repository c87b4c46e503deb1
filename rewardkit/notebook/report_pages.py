"""Make the pages of a report: executed notebooks, the first page, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from nbconvert import HTMLExporter
from nbformat.v4 import new_notebook

from rewardkit.findings import SEVERITIES, counted, describe_size
from rewardkit.history.card import Card
from rewardkit.html import cards, markup
from rewardkit.html.markup import html_of
from rewardkit.html.pages import Point
from rewardkit.notebook.plots.canvas import BLUE, GREY, ORANGE, RED
from rewardkit.notebook.scorecard import Scorecard, Short
from rewardkit.notebook.tiles import (
    CASES,
    CONTRACT,
    HOLES,
    RUN,
    SIGNAL,
    TRAINED,
    Tile,
    cases_tile,
    contract_on_log,
    unknown,
)
from rewardkit.reasons import HIDDEN
from rewardkit.rewards.recorded import has_only_records, is_recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.table import Rollouts

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
"""Colour in the plots -> colour of the page."""
UNUSED_ID = r' id="(?![pmh][0-9a-f]{10}")[^"]*"'
"""An id without references: all except those that matplotlib reuses in a figure.

They are removed, as a file with several pages must not repeat an id.
"""
ANSWER_TAG = "answer"  # a cell whose output is shown at the top of the page
PICTURE_TAG = "picture"  # a cell whose first figure is on the report's first page
ASSERTIONS_TAG = "assertions"  # a cell of checks for nbval, left out of the page


class Section(NamedTuple):
    """A part of a page under a heading; unfolded at first if `is_open`."""

    anchor: str
    heading: str
    body: str
    is_open: bool = False


@dataclass(frozen=True)
class NotebookPage:
    """An executed notebook of a report as escaped HTML: its top and its sections.

    `error` is why it failed. `short` is its result, None if it has none. `pictures` and
    their text version `markdown` are repeated on the first page of the report.
    """

    title: str
    file: str
    top: str = ""
    sections: tuple[Section, ...] = ()
    pictures: str = ""
    markdown: str = ""
    error: str | None = None
    short: Short | None = None

    @property
    def anchor(self) -> str:
        """Return its anchor in a file with several pages."""
        return re.sub(r"\W+", "-", self.file.removesuffix(".html"))


def page_of(
    title: str, file: str, notebook: Any, *, failure: str | None, redact: bool
) -> NotebookPage:
    """Return the page of an executed notebook: title, answer, a section per heading.

    Widgets and printed text are left out: a reward that prints does so for every row.
    `redact` leaves out error messages, which may quote a completion.
    """
    error = None
    pictures = markdown = ""
    answers: list[Any] = []
    groups: list[tuple[str, list[Any]]] = [("", [])]  # heading, cells
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if ASSERTIONS_TAG in tags:
            continue
        if cell.cell_type == "code":
            cell.outputs, raised = _select_outputs(cell.get("outputs", []), redact)
            error = raised or error
            if PICTURE_TAG in tags:
                pictures += _first(cell.outputs, "text/html")
                markdown += _first(cell.outputs, "text/markdown")
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
            body = _export_cells(exporter, cells, notebook.metadata)
            sections.append(Section(anchor, heading, body, is_open))
    first = groups[0][1]
    cells = [*first[:1], *answers, *first[1:]]
    top = _export_cells(exporter, cells, notebook.metadata)
    short = Short.from_notebook(notebook)
    parts = (top, tuple(sections), pictures, markdown)
    return NotebookPage(title, file, *parts, failure or error, short)


def card_page(card: Card, file: str) -> NotebookPage:
    """Return the card of a reward as a page of the report."""
    page = card.page()
    top = f"<h1>{markup.escaped(page.title)}</h1>{page.body}"
    return NotebookPage("Card", file, html_of(f'<div class="rewardkit">{top}</div>'))


def _export_cells(exporter: HTMLExporter, cells: list[Any], metadata: Any) -> Any:
    """Return cells as HTML without scripts, anchor links and unused ids."""
    notebook = new_notebook(cells=cells, metadata=metadata)
    body, _ = exporter.from_notebook_node(notebook)
    body = re.sub(r"<script\b.*?</script>", "", body, flags=re.DOTALL | re.IGNORECASE)
    body = re.sub(r'<a class="anchor-link".*?</a>', "", body)
    return html_of(re.sub(UNUSED_ID, "", body))


def _has_content(cell: Any) -> bool:
    content = cell.outputs if cell.cell_type == "code" else cell.source.strip()
    return bool(content)


def _is_failed(cell: Any) -> bool:
    return any(output.output_type == "error" for output in cell.get("outputs", []))


def _first(outputs: Sequence[Any], form: str) -> str:
    """Return the first output of this MIME type, or ""."""
    for output in outputs:
        if form in output.get("data", {}):
            return str(output.data[form])
    return ""


def _select_outputs(
    outputs: Sequence[Any], redact: bool
) -> tuple[list[Any], str | None]:
    """Return the outputs of a cell for a page, and its error, or None."""
    error = None
    selected = []
    for output in outputs:
        if output.output_type == "stream":
            continue
        data = output.get("data", {})
        if data.pop(WIDGET, None) is not None and "text/html" not in data:
            continue
        if SVG in data:
            data["text/html"] = apply_theme(data.pop(SVG))
        if output.output_type == "error":
            error = f"{output.ename}: {output.evalue}"
            if redact:
                error = output.ename
                output.evalue = HIDDEN
                output.traceback = [f"{output.ename}: {HIDDEN}"]
        selected.append(output)
    return selected, error


def apply_theme(svg: str) -> str:
    """Return a figure as HTML in the colours of the page: light, dark or print."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<text(?![^>]*fill:)", '<text fill="currentColor"', svg)
    svg = re.sub("|".join(THEME), lambda match: THEME[match[0]], svg)
    svg = re.sub(UNUSED_ID, "", svg)
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{words}"', 1)
    return f'<div class="rewardkit rk-figure" tabindex="0">{svg}</div>'


QUESTIONS = (CASES, SIGNAL, HOLES, CONTRACT, TRAINED)


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary of one reward on the first page of a report, from its `pages`.

    `redact` leaves users' texts out.
    """

    name: str
    reward: Reward
    rollouts: Rollouts
    training: Training
    pages: tuple[NotebookPage, ...]
    redact: bool = False

    @cached_property
    def scorecard(self) -> Scorecard:
        """Return its verdict, tiles and points, worst first."""
        tiles: dict[str, Tile] = {}
        points: list[Point] = []
        for short in self._shorts():
            codes = {point.code for point in points}  # each cause is shown once
            points += [point for point in short.points if point.code not in codes]
            for tile in short.tiles:
                tiles[tile.question] = tile
        points.sort(key=lambda point: SEVERITIES.index(point.severity))
        reason = "its page failed"
        if is_recorded(self.reward) or has_only_records(self.reward):
            reason = "scores of a log"
            tiles[CASES] = cases_tile(None, recorded=True)
        if CONTRACT in tiles:
            tiles[CONTRACT] = contract_on_log(tiles[CONTRACT], points)
        in_order = [tiles[RUN]] if RUN in tiles else []
        for question in QUESTIONS:
            in_order.append(tiles.get(question) or unknown(question, reason))
        failed = tuple(page.title for page in self.pages if page.error)
        return Scorecard(self.name, tuple(in_order), tuple(points), failed)

    @property
    def verdict(self) -> str:
        """Say whether the reward is ready, and why."""
        return self.scorecard.verdict

    @property
    def size(self) -> str:
        """Return the numbers of rollouts and groups, in words."""
        about = self.rollouts.summary()
        rows = describe_size(about["rows"], about["sampled_from"])
        groups = about["groups"]
        return f"{rows} in {counted(groups, 'group')}"

    @property
    def facts(self) -> dict[str, str]:
        """Return further facts from its pages, by name."""
        facts: dict[str, str] = {}
        for short in self._shorts():
            facts |= short.facts
        return facts

    @property
    def pictures(self) -> Any:
        """Return the pictures of its pages for the first page, as HTML."""
        return markup.html_of("".join(page.pictures for page in self.pages))

    def _shorts(self) -> Iterator[Short]:
        for page in self.pages:
            if page.short is not None:
                yield page.short


# --- the first page


def index_page(
    summaries: Sequence[Summary],
    compared: NotebookPage | None = None,
    *,
    inline: bool = False,
) -> str:
    """Return the first page, with scorecards side by side; `inline` adds all pages.

    The result of the comparison of several rewards is above the scorecards.
    """
    first = summaries[0]
    title = "Reward report"
    if len(summaries) == 1:
        title += f": {first.name}"
    scorecards = []
    stories = ""
    for summary in summaries:
        card = summary.scorecard
        links = []
        for page in summary.pages:
            links.append((f"#{page.anchor}-top" if inline else page.file, page))
            if inline:
                stories += _render("story", summary.name, page, f"{page.anchor}-")
        scorecards.append((card, summary.pictures, links))
    comparison: Any = ""
    if compared is not None:
        address = f"#{compared.anchor}-top" if inline else compared.file
        comparison = html_of(_render("compared", compared, address))
        if inline:
            stories += _render("story", ALL_REWARDS, compared, f"{compared.anchor}-")
    about = f"{first.size}, {first.training}"
    facts = _list_facts(summaries)
    body = _render("first", title, about, facts, comparison, scorecards)
    return markup.page(title, body + stories)


def _render(macro: str, *values: Any) -> str:
    return markup.part("report", macro, *values)


def _list_facts(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Return the inputs of the report: the rollouts, and how rewards were read."""
    first = summaries[0]
    facts = cards.describe_reading(first.rollouts.summary())
    for summary in summaries:
        if summary.reward.origin and not summary.redact:
            facts.append(("Reward", summary.reward.origin.replace("; ", ";\n")))
    facts.append(("Advantages", f"{first.training}, which all figures are for"))
    facts += [(name, text) for name, text in first.facts.items() if name != "Log"]
    for summary in summaries:
        if "Log" in summary.facts:
            facts.append(("Log", f"{summary.name}: {summary.facts['Log']}"))
    return facts


# --- the page of a notebook


ALL_REWARDS = "all rewards"
"""The subject of a page that compares rewards."""


def notebook_page(
    page: NotebookPage, name: str, siblings: Sequence[NotebookPage]
) -> str:
    """Return the page of one notebook on a reward, with links to its siblings."""
    root = "../" * page.file.count("/")
    pages = [("All results", f"{root or './'}index.html", False)]
    for other in siblings:
        pages.append((other.title, root + other.file, other is page))
    body = _render("story", name, page, "")
    return markup.page(f"{page.title}: {name}", body, pages)


# --- Markdown


def summary_markdown(
    summaries: Sequence[Summary], compared: NotebookPage | None = None
) -> str:
    """Return the report in a few lines of Markdown, short enough for a pull request."""
    first = summaries[0]
    advantages = f"advantages as of {_plain(str(first.training))}"
    lines = ["## Reward report", "", f"{first.size}, {advantages}.", ""]
    for sentence in first.rollouts.summary()["warnings"]:
        lines.append(f"- note: {_plain(sentence)}")
    if compared is not None:
        lines += ["", "### Compared", "", compared.markdown]
        if compared.error:
            lines.append(f"- page failed: {compared.title} ({_plain(compared.error)})")
    for summary in summaries:
        verdict = f"**{_plain(summary.verdict)}**"
        lines += ["", f"### {_plain(summary.name)}", "", verdict, ""]
        lines += _list_results(summary)
    return "\n".join([*lines, ""])


def _list_results(summary: Summary) -> list[str]:
    lines = []
    card = summary.scorecard
    for tile in card.tiles:
        line = f"- {markup.GRADE_MARKS[tile.grade]} {tile.question}: "
        line += _plain(tile.figure)
        if tile.ends:
            line += f" ({tile.ends})"
        lines.append(f"{line} ({_plain(tile.words)})")
    if "Log" in summary.facts:
        lines.append(f"- Log: {summary.facts['Log']}")
    for point in card.worst:
        mark = f"{markup.GRADE_MARKS[point.severity]} {point.severity}"
        sentences = _plain(f"{point.sentence} {point.advice}")
        lines.append(f"- {mark}: `{point.code}` {sentences}")
    if card.rest:
        lines.append(f"- and {card.rest}")
    for page in summary.pages:
        if page.error:
            lines.append(f"- page failed: {page.title} ({_plain(page.error)})")
    return lines


def _plain(text: str) -> str:
    """Return a text as one line, with Markdown characters escaped."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", " ".join(text.split()))
